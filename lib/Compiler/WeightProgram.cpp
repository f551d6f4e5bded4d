//===- WeightProgram.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WeightProgram.h"

#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "passes/Bridge/ParameterLayout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace sluice {

using namespace dataflow;

/// Of an argument; larger constants stay where they are.
static constexpr int64_t kArgumentBytes = 1024;

static bool isArgument(Operation *op) {
  return isa<ConstantOp>(op) && tensorBytes(op->getResult(0).getType()) <= kArgumentBytes;
}

static bool followsFromLittle(Value value) {
  constexpr int64_t kLarge = 64 << 10, kLittle = 16;
  const int64_t bytes = tensorBytes(value.getType());
  if (bytes < kLarge)
    return false;
  int64_t from = 0;
  bool hasArgument = false;
  for (Operation *op : expressionOf(value)) {
    if (isa<ConstantOp>(op))
      from += tensorBytes(op->getResult(0).getType());
    else if (!isa<ElementwiseOpInterface, ElementalOpInterface, KernelOpInterface>(op))
      return false; // The host alone evaluates it.
    hasArgument |= isArgument(op);
  }
  return hasArgument && from <= bytes / kLittle;
}

std::optional<WeightModule> buildWeightModule(ArrayRef<Value> values) {
  constexpr int64_t kLeastBytes = 1 << 20;
  WeightModule made;
  SmallVector<Value> weights;
  int64_t bytes = 0;
  for (auto [i, value] : llvm::enumerate(values))
    if (followsFromLittle(value)) {
      made.weights.push_back(i);
      weights.push_back(value);
      bytes += tensorBytes(value.getType());
    }
  if (bytes < kLeastBytes)
    return std::nullopt;
  const std::vector<Operation *> members = expressionOf(weights);
  MLIRContext *context = weights.front().getContext();
  Location loc = UnknownLoc::get(context);
  made.module = ModuleOp::create(loc);
  OpBuilder b = OpBuilder::atBlockEnd(made.module->getBody());
  SmallVector<Type> arguments;
  for (Operation *op : members)
    if (isArgument(op))
      arguments.push_back(op->getResult(0).getType());
  auto function = func::FuncOp::create(b, loc, "main", b.getFunctionType(arguments, ValueRange(weights).getTypes()));
  b.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  for (Operation *op : members) {
    if (!isArgument(op)) {
      b.clone(*op, mapping);
      continue;
    }
    auto index = static_cast<unsigned>(made.arguments.size());
    std::vector<char> &data = made.arguments.emplace_back(tensorBytes(op->getResult(0).getType()));
    if (failed(copyConstant(cast<ConstantOp>(op).getValue(), data.data())))
      return std::nullopt; // Whoever writes the weights says which is missing.
    setInputName(function, index, "constant" + Twine(index));
    mapping.map(op->getResult(0), function.getArgument(index));
  }
  SmallVector<Value> results;
  for (auto [i, weight] : llvm::enumerate(weights)) {
    results.push_back(mapping.lookup(weight));
    setOutputName(function, static_cast<unsigned>(i), "weight" + Twine(i));
  }
  func::ReturnOp::create(b, loc, results);
  return made;
}

} // namespace sluice
