//===- ConvertMl.cpp - Operators of ai.onnx.ml ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeContext.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

LogicalResult arrayFeatureExtractor(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0), columns = node.input(1);
  if (rankOf(x) < 1)
    return node.invalid("its input is a scalar");
  Value list = node.reshape(columns, {elementCount(columns.getType())});
  Value y = node.create<GatherOp>({x, list}, node.integer("axis", rankOf(x) - 1));
  if (y && rankOf(y) == 1)
    y = node.reshape(y, {1, shapeOf(y)[0]});
  return node.result(y);
}

LogicalResult binarizer(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  Value limit = node.splat(elementTypeOf(x), node.numberOr("threshold", 0));
  return node.result(node.cast(node.compare(ComparePredicate::gt, x, limit), elementTypeOf(x)));
}

LogicalResult scaler(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Type type = Float32Type::get(node.context());
  auto list = [&](StringRef name) -> Value {
    SmallVector<Value> entries;
    for (double value : node.numbersAt(name).value_or(SmallVector<double>()))
      entries.push_back(node.splat(type, value, {1}));
    return entries.empty() ? Value() : node.concat(entries, 0);
  };
  Value x = node.cast(node.input(0), type);
  if (Value offset = list("offset"))
    x = node.sub(x, offset);
  if (Value scale = list("scale"))
    x = node.mul(x, scale);
  return node.result(x);
}

constexpr OperatorEntry kOperators[] = {
    {"ai.onnx.ml", "ArrayFeatureExtractor", 1, arrayFeatureExtractor},
    {"ai.onnx.ml", "Binarizer", 1, binarizer},
    {"ai.onnx.ml", "Scaler", 1, scaler},
};

} // namespace

ArrayRef<OperatorEntry> mlOperators() { return kOperators; }

} // namespace sluice::onnximport
