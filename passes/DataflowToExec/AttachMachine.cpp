//===- AttachMachine.cpp - The machine of a module ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Bridge/PlanAttributes.h"
#include "passes/DataflowToExec/Passes.h"
#include "sluice/Machine/RankMachine.h"

using namespace mlir;

namespace sluice {
#define GEN_PASS_DEF_ATTACHMACHINEPASS
#include "passes/DataflowToExec/Passes.h.inc"
} // namespace sluice

namespace {
struct AttachMachine : sluice::impl::AttachMachinePassBase<AttachMachine> {
  using AttachMachinePassBase::AttachMachinePassBase;

  void runOnOperation() override {
    sluice::Expected<sluice::Machine> described = sluice::loadMachine(machine);
    if (!described || ranks < 1) {
      getOperation().emitError() << (described ? "a machine has 1 rank or more" : described.error().message);
      return signalPassFailure();
    }
    if (ranks > 1)
      described = sluice::machineOfRank(*described, ranks);
    sluice::exec::ExecDialect::MachineAttrHelper(&getContext())
        .setAttr(getOperation(), sluice::machineToAttribute(&getContext(), *described));
  }
};
} // namespace
