//===- Parameters.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Parameters.h"

#include "dialects/Dataflow/Dataflow.h"
#include "passes/Bridge/GraphBridge.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace sluice {

using namespace dataflow;

namespace {
/// A value's data while an expression is evaluated.
struct Held {
  TensorView view;
  std::vector<char> storage;
  unsigned usesLeft = 0;
};
} // namespace

/// The data of a constant, or of a state before the first step.
static Expected<Held> load(ElementsAttr value, Location loc) {
  Held held;
  bool isSplat;
  if (getConstantBytes(value, held.view, isSplat) && !isSplat)
    return held;
  held.storage.resize(tensorBytes(value.getType()));
  held.view = {cast<RankedTensorType>(value.getType()), held.storage.data()};
  if (failed(copyConstant(value, held.storage.data())))
    return makeError(ErrorCode::InvalidInput, "the data of weight '", nodeName(loc),
                     "' is missing, supply the model's external data");
  return held;
}

std::vector<Operation *> expressionOf(ArrayRef<Value> values) {
  llvm::SetVector<Operation *> members;
  for (Value value : values)
    members.insert(value.getDefiningOp());
  for (size_t i = 0; i < members.size(); ++i)
    for (Value operand : members[i]->getOperands())
      members.insert(operand.getDefiningOp());
  std::vector<Operation *> order(members.begin(), members.end());
  llvm::sort(order, [](Operation *a, Operation *c) { return a->isBeforeInBlock(c); });
  return order;
}

static Expected<Held> evaluate(Value value) {
  llvm::DenseMap<Value, Held> values;
  std::vector<Operation *> members = expressionOf(value);
  llvm::DenseMap<Value, unsigned> uses;
  for (Operation *op : members)
    for (Value operand : op->getOperands())
      ++uses[operand];
  for (Operation *op : members) {
    auto constant = dyn_cast<ConstantOp>(op);
    if (auto state = dyn_cast<StateOp>(op); state || constant) {
      Expected<Held> held = load(state ? state.getValue() : constant.getValue(), op->getLoc());
      if (!held)
        return held;
      held->usesLeft = uses[op->getResult(0)];
      values[op->getResult(0)] = std::move(*held);
      continue;
    }
    SmallVector<TensorView> operands;
    for (Value operand : op->getOperands())
      operands.push_back(values[operand].view);
    SmallVector<MutableTensorView> results;
    SmallVector<Held> made(op->getNumResults());
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      auto type = cast<RankedTensorType>(result.getType());
      made[i].storage.resize(tensorBytes(type));
      made[i].view = {type, made[i].storage.data()};
      made[i].usesLeft = uses[result];
      results.push_back({type, made[i].storage.data()});
    }
    if (failed(cast<EvaluateOpInterface>(op).evaluate(operands, results)))
      return makeError(ErrorCode::InvalidInput, "constant '", nodeName(op->getLoc()), "' (",
                       op->getName().getStringRef().str(), ") cannot be computed, check its operands' values");
    for (auto [result, held] : llvm::zip(op->getResults(), made))
      values[result] = std::move(held);
    for (Value operand : op->getOperands())
      if (--values[operand].usesLeft == 0 && operand != value)
        values.erase(operand);
  }
  return std::move(values[value]);
}

Expected<std::vector<int64_t>> writeParameters(ArrayRef<Value> values, ParameterFileWriter &writer) {
  std::vector<int64_t> offsets;
  for (Value value : values) {
    Expected<Held> held = evaluate(value);
    if (!held)
      return propagate(held);
    auto size = static_cast<size_t>(tensorBytes(value.getType()));
    Expected<int64_t> offset = writer.append(std::as_bytes(std::span<const char>(held->view.data, size)));
    if (!offset)
      return propagate(offset);
    offsets.push_back(*offset);
  }
  return offsets;
}

} // namespace sluice
