//===- ReferenceControl.cpp - Branches and loops --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Reference.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

/// What a program yields of arguments; each run has values of its own.
static std::vector<Tensor> runProgram(Block &program, ArrayRef<Tensor> arguments) {
  Environment own;
  for (auto [argument, value] : llvm::zip(program.getArguments(), arguments))
    own.insert({argument, value});
  for (Operation &member : program.without_terminator())
    interpret(&member, own);
  std::vector<Tensor> yielded;
  for (Value value : program.getTerminator()->getOperands())
    yielded.push_back(own.at(value));
  return yielded;
}

static void interpretIf(IfOp op, Environment &values) {
  std::vector<Tensor> arguments;
  for (Value value : op.getCaptured())
    arguments.push_back(values.at(value));
  Region &chosen = values.at(op.getCondition()).get(0) != 0 ? op.getThen() : op.getOtherwise();
  std::vector<Tensor> yielded = runProgram(chosen.front(), arguments);
  for (auto [result, value] : llvm::zip(op.getResults(), yielded))
    values.insert({result, std::move(value)});
}

static void interpretLoop(LoopOp op, Environment &values) {
  std::vector<Tensor> state, stacked;
  for (Value value : op.getCarried())
    state.push_back(values.at(value));
  const size_t carried = state.size(), stacks = op.getNumStacked();
  for (size_t i = 0; i < stacks; ++i)
    stacked.emplace_back(op.getResult(carried + i).getType());
  bool goesOn = values.at(op.getCondition()).get(0) != 0;
  const double trips = values.at(op.getTrips()).get(0);
  int64_t trip = 0;
  for (; goesOn && static_cast<double>(trip) < trips; ++trip) {
    REQUIRE(trip < static_cast<int64_t>(op.getMost()));
    std::vector<Tensor> arguments;
    arguments.emplace_back(op.getTrips().getType()).set(0, static_cast<double>(trip));
    arguments.insert(arguments.end(), state.begin(), state.end());
    for (Value value : op.getCaptured())
      arguments.push_back(values.at(value));
    std::vector<Tensor> yielded = runProgram(op.getBody().front(), arguments);
    goesOn = yielded[0].get(0) != 0;
    state.assign(yielded.begin() + 1, yielded.begin() + 1 + static_cast<ptrdiff_t>(carried));
    for (size_t i = 0; i < stacks; ++i) {
      const std::vector<char> &slab = yielded[1 + carried + i].bytes;
      std::copy(slab.begin(), slab.end(), stacked[i].bytes.begin() + trip * static_cast<int64_t>(slab.size()));
    }
  }
  for (size_t i = 0; i < carried; ++i)
    values.insert({op.getResult(i), std::move(state[i])});
  for (size_t i = 0; i < stacks; ++i)
    values.insert({op.getResult(carried + i), std::move(stacked[i])});
  Tensor count(op.getTrips().getType());
  count.set(0, static_cast<double>(trip));
  values.insert({op.getResult(carried + stacks), std::move(count)});
}

static void interpretConcurrent(ConcurrentOp op, Environment &values) {
  std::vector<Tensor> arguments;
  for (Value value : op.getCaptured())
    arguments.push_back(values.at(value));
  std::vector<Tensor> yielded = runProgram(op.getBody().front(), arguments);
  for (auto [result, value] : llvm::zip(op.getResults(), yielded))
    values.insert({result, std::move(value)});
}

bool interpretControl(Operation *op, Environment &values) {
  if (auto choice = dyn_cast<IfOp>(op))
    interpretIf(choice, values);
  else if (auto loop = dyn_cast<LoopOp>(op))
    interpretLoop(loop, values);
  else if (auto group = dyn_cast<ConcurrentOp>(op))
    interpretConcurrent(group, values);
  else
    return false;
  return true;
}

} // namespace sluice::test
