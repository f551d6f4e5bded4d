//===- SingleAccelerator.cpp ----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SingleAccelerator.h"

using namespace sluice;

Expected<MemoryId> swap::singleAccelerator(const SwapProblem &problem, const char *planner) {
  const MemoryId memory = problem.order.empty()
                              ? Machine::hostMemory()
                              : problem.machine.device(problem.placement[problem.order.front().index()]).memory;
  for (OperatorId op : problem.order)
    if (const Device &device = problem.machine.device(problem.placement[op.index()]);
        device.memory == Machine::hostMemory() || device.memory != memory)
      return makeError(ErrorCode::Unsupported, "operator '", problem.graph.op(op).name, "' is on device '", device.name,
                       "', and ", planner,
                       " supports a single accelerator only, place all operators on one accelerator");
  return memory;
}
