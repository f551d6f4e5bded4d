//===- PlanPrograms.cpp - Memory of programs within kernels ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/ProgramMemory.h"
#include "passes/Passes.h"
#include "sluice/Memory/Offsets.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_PLANPROGRAMSPASS
#include "passes/Passes.h.inc"
} // namespace sluice

static Expected<std::vector<int64_t>> solve(const ProgramMemory &memory) {
  OffsetProblem problem;
  for (const ProgramBuffer &buffer : memory.buffers)
    problem.buffers.push_back({buffer.lower, buffer.upper, buffer.bytes, kProgramAlignment});
  // The budget bounds the time for a program of many tensors.
  constexpr int64_t kSteps = 20'000;
  OffsetParams params;
  params.budget.evaluations = kSteps;
  SLUICE_ASSIGN_OR_RETURN(OffsetSolution solution, solveOffsets(problem, params));
  SLUICE_RETURN_IF_ERROR(validate(problem, solution));
  return std::move(solution.offsets);
}

namespace {
struct PlanPrograms : sluice::impl::PlanProgramsPassBase<PlanPrograms> {
  void runOnOperation() override {
    // Inner programs come first, because their workspaces are buffers of the outer ones.
    WalkResult planned = getOperation().walk<WalkOrder::PostOrder>([](ProgramsOpInterface op) -> WalkResult {
      SmallVector<int64_t> offsets;
      for (Region &region : op->getRegions()) {
        Expected<std::vector<int64_t>> program = solve(describeProgram(op, region.front()));
        if (!program) {
          emitError(op, program.error());
          return WalkResult::interrupt();
        }
        llvm::append_range(offsets, *program);
      }
      op.setBufferOffsets(offsets);
      return WalkResult::advance();
    });
    if (planned.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
