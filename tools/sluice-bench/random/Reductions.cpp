//===- Reductions.cpp - Random nodes along axes ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <algorithm>
#include <cmath>

namespace sluice::bench {
namespace {

/// Axes that a reduction removes, or keeps as ones.
struct Axes {
  std::vector<int64_t> axes;
  bool keeps = true;
  int64_t reduced = 1; ///< Elements that become one.
  Shape shape;
};

Axes chooseAxes(ModelWriter &w, const Value &x) {
  Axes chosen;
  chosen.keeps = w.random().chance(0.5);
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t extent = x.shape[static_cast<size_t>(axis)];
    if (w.random().chance(0.5)) {
      chosen.axes.push_back(w.random().chance(0.3) ? axis - x.rank() : axis);
      chosen.reduced *= extent;
      if (chosen.keeps)
        chosen.shape.push_back(1);
    } else {
      chosen.shape.push_back(extent);
    }
  }
  w.random().shuffle(chosen.axes);
  return chosen;
}

void makeReduction(ModelWriter &w) {
  static const std::vector<const char *> kOperators = {"ReduceSum", "ReduceMean",      "ReduceMax", "ReduceMin",
                                                       "ReduceL1",  "ReduceSumSquare", "ReduceL2"};
  const Value x = w.takeFloat(1, 5, 30);
  const Axes chosen = chooseAxes(w, x);
  if (chosen.axes.empty())
    return;
  const std::string op = w.oneOf(kOperators);
  const auto count = static_cast<double>(chosen.reduced);
  const double most = x.largest();
  Result result = ModelWriter::moved(x, chosen.shape);
  if (op == "ReduceSum" || op == "ReduceL1") {
    result.low = op == "ReduceL1" ? 0 : x.low * count;
    result.high = op == "ReduceL1" ? most * count : x.high * count;
    result.error = x.error * count + roundingOf(x.type, most * count);
  } else if (op == "ReduceMean") {
    result.error = x.error + roundingOf(x.type, most);
  } else if (op == "ReduceSumSquare") {
    result.low = 0;
    result.high = most * most * count;
    result.error = 2 * x.error * most * count + roundingOf(x.type, result.high);
  } else if (op == "ReduceL2") {
    result.low = 0;
    result.high = most * std::sqrt(count);
    result.error = x.error * std::sqrt(count) + 4 * roundingOf(x.type, result.high);
  }
  if (op != "ReduceMax" && op != "ReduceMin") {
    result.low -= result.error;
    result.high += result.error;
  }
  const bool asOperand = w.opset() >= 18 || op == "ReduceSum";
  std::vector<Value> operands = {x};
  if (asOperand)
    operands.push_back(w.numbers(chosen.axes));
  ::onnx::NodeProto &node = w.node(op, operands);
  if (!asOperand)
    ModelWriter::set(node, "axes", chosen.axes);
  ModelWriter::set(node, "keepdims", static_cast<int64_t>(chosen.keeps));
  w.finish(node, result);
}

void makeArg(ModelWriter &w) {
  const Value x = w.takeExactFloat(1, 4);
  const int64_t axis = w.between(0, x.rank() - 1);
  const bool keeps = w.random().chance(0.5);
  Shape shape = x.shape;
  if (keeps)
    shape[static_cast<size_t>(axis)] = 1;
  else
    shape.erase(shape.begin() + axis);
  ::onnx::NodeProto &node = w.node(w.random().chance(0.5) ? "ArgMax" : "ArgMin", {x});
  ModelWriter::set(node, "axis", axis);
  ModelWriter::set(node, "keepdims", static_cast<int64_t>(keeps));
  ModelWriter::set(node, "select_last_index", w.between(0, 1));
  w.finish(node, {ElementType::Int64, shape, 0, static_cast<double>(x.shape[static_cast<size_t>(axis)] - 1), 0});
}

void makeSoftmax(ModelWriter &w) {
  const Value x = w.takeFloat(1, 4, 50);
  const bool isLog = w.random().chance(0.3);
  ::onnx::NodeProto &node = w.node(isLog ? "LogSoftmax" : "Softmax", {x});
  ModelWriter::set(node, "axis", w.between(-x.rank(), x.rank() - 1));
  const double least = isLog ? x.low - x.high - 8 : 0;
  w.finish(node,
           {x.type, x.shape, least, isLog ? 0.0 : 1.0, 2 * x.error + 20 * roundingOf(x.type, isLog ? -least : 1)});
}

void makeCumSum(ModelWriter &w) {
  const Value x = w.takeFloat(1, 4, 20);
  const int64_t axis = w.between(0, x.rank() - 1);
  const auto count = static_cast<double>(x.shape[static_cast<size_t>(axis)]);
  ::onnx::NodeProto &node = w.node("CumSum", {x, w.number(w.random().chance(0.3) ? axis - x.rank() : axis)});
  ModelWriter::set(node, "exclusive", w.between(0, 1));
  ModelWriter::set(node, "reverse", w.between(0, 1));
  const double most = x.largest() * count;
  w.finish(node, {x.type, x.shape, -most, most, x.error * count + roundingOf(x.type, most)});
}

/// The result of a division by a deviation that is at least the root of 0.01.
Result normalized(const Value &x, int64_t count) {
  const double bound = std::sqrt(static_cast<double>(count)) + 1;
  return {x.type, x.shape, -2 * bound, 2 * bound, 40 * (x.error + 4 * roundingOf(x.type, std::max(x.largest(), 1.0)))};
}

constexpr double kEpsilon = 0.01;

void makeLayerNormalization(ModelWriter &w) {
  if (w.opset() < 17)
    return;
  const Value x = w.takeFloat(1, 4, 30);
  if (x.type != ElementType::Float32)
    return;
  const int64_t axis = w.between(0, x.rank() - 1);
  const Shape tail(x.shape.begin() + axis, x.shape.end());
  std::vector<Value> operands = {x, w.source(x.type, tail, -1, 1)};
  if (w.random().chance(0.5))
    operands.push_back(w.source(x.type, tail, -1, 1));
  ::onnx::NodeProto &node = w.node("LayerNormalization", operands);
  ModelWriter::set(node, "axis", w.random().chance(0.3) ? axis - x.rank() : axis);
  ModelWriter::set(node, "epsilon", kEpsilon);
  w.finish(node, normalized(x, elementsOf(tail)));
}

void makeBatchNormalization(ModelWriter &w) {
  const Value x = w.takeFloat(2, 4, 30);
  if (x.type != ElementType::Float32)
    return;
  const Shape channels = {x.shape[1]};
  std::vector<Value> operands = {x};
  operands.push_back(w.constant(x.type, channels, -1, 1));
  operands.push_back(w.constant(x.type, channels, -1, 1));
  operands.push_back(w.constant(x.type, channels, -1, 1));
  operands.push_back(w.constant(x.type, channels, 0.5, 2));
  ::onnx::NodeProto &node = w.node("BatchNormalization", operands);
  ModelWriter::set(node, "epsilon", kEpsilon);
  const double most = (x.largest() + 1) * 1.5 + 1;
  w.finish(node, {x.type, x.shape, -most, most, 1.5 * x.error + 8 * roundingOf(x.type, most)});
}

void makeInstanceNormalization(ModelWriter &w) {
  const Value x = w.takeFloat(3, 4, 30);
  if (x.type != ElementType::Float32)
    return;
  const Shape channels = {x.shape[1]};
  std::vector<Value> operands = {x};
  operands.push_back(w.source(x.type, channels, -1, 1));
  operands.push_back(w.source(x.type, channels, -1, 1));
  ::onnx::NodeProto &node = w.node("InstanceNormalization", operands);
  ModelWriter::set(node, "epsilon", kEpsilon);
  w.finish(node, normalized(x, x.elements() / (x.shape[0] * x.shape[1])));
}

void makeTopK(ModelWriter &w) {
  const Value x = w.takeExactFloat(1, 4);
  const int64_t axis = w.between(0, x.rank() - 1), count = w.between(1, x.shape[static_cast<size_t>(axis)]);
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] = count;
  ::onnx::NodeProto &node = w.node("TopK", {x, w.numbers({count})});
  ModelWriter::set(node, "axis", w.random().chance(0.3) ? axis - x.rank() : axis);
  ModelWriter::set(node, "largest", w.between(0, 1));
  w.finish(node, ModelWriter::moved(x, shape));
  w.finish(node, {ElementType::Int64, shape, 0, static_cast<double>(x.shape[static_cast<size_t>(axis)] - 1), 0});
}

void makeLrn(ModelWriter &w) {
  const Value x = w.takeFloat(4, 4, 10);
  if (x.type != ElementType::Float32)
    return;
  ::onnx::NodeProto &node = w.node("LRN", {x});
  ModelWriter::set(node, "size", 2 * w.between(0, 2) + 1);
  ModelWriter::set(node, "bias", 1.0);
  ModelWriter::set(node, "alpha", 0.01);
  const double most = x.largest();
  w.finish(node, {x.type, x.shape, -most, most, 3 * x.error + 20 * roundingOf(x.type, most)});
}

/// The sum of functions of `x` along an axis of unknown extent, at most `count`.
void sumFound(ModelWriter &w, Value x, int64_t axis, const Shape &shape, double count, bool isWhole) {
  static const std::vector<const char *> kFunctions = {"Neg", "Abs", "Relu"};
  for (int64_t more = w.between(0, 2); more > 0; --more) {
    x = w.add(w.oneOf(kFunctions), {x}, {x.type, x.shape, -x.largest(), x.largest(), x.error});
    w.forget(x);
  }
  const double most = x.largest() * count;
  // Single precision has all whole numbers up to this one.
  constexpr double kMostWhole = 1 << 24;
  const double error = isWhole && most < kMostWhole ? 0 : x.error * count + roundingOf(x.type, most);
  ::onnx::NodeProto &node = w.node("ReduceSum", {x, w.numbers({axis})});
  ModelWriter::set(node, "keepdims", 0);
  w.finish(node, {x.type, shape, -most - error, most + error, error});
}

/// Tensors whose number of elements the data says.
void makeSelection(ModelWriter &w) {
  const Value x = w.takeExactFloat(1, 3);
  if (w.random().chance(0.5)) {
    const int64_t axis = w.between(0, x.rank() - 1), extent = x.shape[static_cast<size_t>(axis)];
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < extent; ++i)
      if (w.random().chance(0.6) || (i + 1 == extent && kept.empty()))
        kept.push_back(i);
    // The condition is a constant, so the shape of the result is known.
    const Value at = w.numbers(kept);
    Shape shape = x.shape;
    shape[static_cast<size_t>(axis)] = static_cast<int64_t>(kept.size());
    ::onnx::NodeProto &node = w.node("Gather", {x, at});
    ModelWriter::set(node, "axis", axis);
    w.finish(node, ModelWriter::moved(x, shape));
    return;
  }
  // Positions of elements, or of those that meet a condition, summed up: a tensor of unknown extent comes between.
  const auto count = static_cast<double>(x.elements());
  const double last = static_cast<double>(*std::max_element(x.shape.begin(), x.shape.end())) - 1;
  const Value chosen = [&] {
    if (w.random().chance(0.4))
      return x;
    static const std::vector<const char *> kConditions = {"Less", "Greater", "Equal"};
    const Value limit = w.constant(x.type, {}, x.low, x.high);
    return w.add(w.oneOf(kConditions), {x, limit}, {ElementType::Bool, x.shape, 0, 1, 0});
  }();
  const Value nonZero = w.add("NonZero", {chosen}, {ElementType::Int64, {x.rank(), 0}, 0, last, 0});
  w.forget(nonZero);
  ::onnx::NodeProto &cast = w.node("Cast", {nonZero});
  ModelWriter::set(cast, "to", static_cast<int64_t>(ElementType::Float32));
  const Value positions = w.finish(cast, {ElementType::Float32, {x.rank(), 0}, 0, last, 0});
  w.forget(positions);
  sumFound(w, positions, 1, {x.rank()}, count, /*isWhole=*/true);
}

/// Rows of a tensor that a mask chooses, and their sum.
void makeCompression(ModelWriter &w) {
  const Value x = w.takeFloat(1, 4, 30);
  if (x.type != ElementType::Float32)
    return;
  const int64_t axis = w.between(0, x.rank() - 1), extent = x.shape[static_cast<size_t>(axis)];
  const Value mask = w.source(ElementType::Bool, {extent}, 0, 1);
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] = 0;
  ::onnx::NodeProto &node = w.node("Compress", {x, mask});
  ModelWriter::set(node, "axis", axis);
  const Value rows = w.finish(node, ModelWriter::moved(x, shape));
  w.forget(rows);
  shape.erase(shape.begin() + axis);
  sumFound(w, rows, axis, shape, static_cast<double>(extent), /*isWhole=*/false);
}

} // namespace

std::vector<OperatorMaker> reductionMakers() {
  return {{"reduction", 6, makeReduction},
          {"arg", 1, makeArg},
          {"softmax", 3, makeSoftmax},
          {"cumulative sum", 1, makeCumSum},
          {"layer normalization", 2, makeLayerNormalization},
          {"batch normalization", 2, makeBatchNormalization},
          {"instance normalization", 1, makeInstanceNormalization},
          {"top-k", 1, makeTopK},
          {"local response", 1, makeLrn},
          {"selection", 2, makeSelection},
          {"compression", 1, makeCompression}};
}

} // namespace sluice::bench
