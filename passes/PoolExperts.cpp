//===- PoolExperts.cpp - Slots for the weights of experts -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Experts.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_POOLEXPERTSPASS
#include "passes/Passes.h.inc"
} // namespace sluice

namespace {
struct PoolExperts : sluice::impl::PoolExpertsPassBase<PoolExperts> {
  using PoolExpertsPassBase::PoolExpertsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (slots < 1 || slots > INT32_MAX || !(hitRate >= 0 && hitRate <= 1)) {
      function.emitError() << "experts have " << slots.getValue() << " slots and a hit rate of " << hitRate.getValue()
                           << ", options 'slots' and 'hit-rate' of dataflow-pool-experts, give at least 1 slot and a "
                              "rate from 0 to 1";
      return signalPassFailure();
    }
    if (function.isExternal())
      return;
    const std::vector<ExpertGroup> groups = findExperts(function.getBody().front());
    if (groups.empty())
      return;
    Builder b(function.getContext());
    for (const ExpertGroup &group : groups)
      for (const Expert &expert : group.members) {
        DataflowDialect::ExpertAttrHelper(b.getContext()).setAttr(expert.op, b.getUnitAttr());
        // The runtime sees from it which other experts the step has chosen.
        if (!llvm::is_contained(expert.op->getOperands(), group.mask))
          cast<ProgramsOpInterface>(expert.op).capture(group.mask);
      }
    DataflowDialect::ExpertSlotsAttrHelper(b.getContext()).setAttr(function, b.getI64IntegerAttr(slots));
    DataflowDialect::ExpertHitRateAttrHelper(b.getContext()).setAttr(function, b.getF64FloatAttr(hitRate));
  }
};
} // namespace
