//===- Ranks.cpp - Ranks that only the data says --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Ranks.h"

#include "lib/Onnx/TensorTypes.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

using onnxtensor::rankOf;

int64_t Ranks::leastOf(Value value) const {
  auto found = least.find(value);
  return found == least.end() ? rankOf(value) : found->second;
}

void Ranks::set(Value value, int64_t smallest) {
  if (smallest < rankOf(value))
    least[value] = smallest;
}

LogicalResult Ranks::follow(Operation *op) {
  // Alternatives say what their results have.
  if (llvm::none_of(op->getOperands(), [&](Value operand) { return vary(operand); }) ||
      llvm::any_of(op->getResults(), [&](Value result) { return vary(result); }))
    return success();
  if (!isa<ElementwiseOpInterface>(op))
    return failure();
  // The result has at least the rank that each of the operands has in all steps.
  int64_t smallest = 0;
  for (Value operand : op->getOperands())
    smallest = std::max(smallest, leastOf(operand));
  set(op->getResult(0), smallest);
  return success();
}

} // namespace sluice::onnximport
