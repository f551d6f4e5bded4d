//===- Integers.cpp - Random quantized nodes ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <algorithm>
#include <cmath>

namespace sluice::bench {
namespace {

double leastOf(ElementType type) { return type == ElementType::UInt8 ? 0 : -128; }
double mostOf(ElementType type) { return type == ElementType::UInt8 ? 255 : 127; }
ElementType anyByte(ModelWriter &w) { return w.random().chance(0.5) ? ElementType::UInt8 : ElementType::Int8; }

/// A power of two, so that a division by it is exact and rounds alike everywhere.
double exactScale(ModelWriter &w) { return std::ldexp(1.0, static_cast<int>(w.between(-7, -4))); }

Value zeroPoint(ModelWriter &w, ElementType type) {
  return w.constant(type, {}, type == ElementType::UInt8 ? 120 : -5, type == ElementType::UInt8 ? 132 : 5);
}

Value takeBytes(ModelWriter &w, ElementType type, int64_t leastRank, int64_t mostRank) {
  return w.take(
      [&](const Value &value) {
        return value.type == type && value.isExact() && value.rank() >= leastRank && value.rank() <= mostRank &&
               value.elements() <= 1500 && value.elements() > 0;
      },
      type, w.between(leastRank, mostRank));
}

Value quantize(ModelWriter &w, const Value &x, ElementType type) {
  const Value scale = w.scalar(exactScale(w), ElementType::Float32);
  return w.add("QuantizeLinear", {x, scale, zeroPoint(w, type)}, {type, x.shape, leastOf(type), mostOf(type), 0});
}

Value dequantize(ModelWriter &w, const Value &x) {
  const double step = exactScale(w);
  const Value scale = w.scalar(step, ElementType::Float32);
  return w.add("DequantizeLinear", {x, scale, zeroPoint(w, x.type)},
               {ElementType::Float32, x.shape, -260 * step, 260 * step, 0});
}

void makeQuantize(ModelWriter &w) {
  const Value x = w.takeExactFloat(0, 4);
  quantize(w, x, anyByte(w));
}

void makeDequantize(ModelWriter &w) { dequantize(w, takeBytes(w, anyByte(w), 0, 4)); }

/// Values through bytes and back, around an operator: what quantized models consist of.
void makeQuantizedPair(ModelWriter &w) {
  const Value x = w.takeExactFloat(1, 4);
  dequantize(w, quantize(w, x, anyByte(w)));
}

void makeMatMulInteger(ModelWriter &w) {
  const ElementType left = anyByte(w), right = anyByte(w);
  const Value a = takeBytes(w, left, 2, 4);
  const Value b = w.source(right, {a.shape.back(), w.between(1, 20)}, leastOf(right), mostOf(right));
  std::vector<Value> operands = {a, b};
  if (w.random().chance(0.7)) {
    operands.push_back(zeroPoint(w, left));
    if (w.random().chance(0.7))
      operands.push_back(zeroPoint(w, right));
  }
  Shape shape = a.shape;
  shape.back() = b.shape.back();
  const double most = static_cast<double>(a.shape.back()) * 256 * 256;
  w.add("MatMulInteger", operands, {ElementType::Int32, shape, -most, most, 0});
}

void makeConvInteger(ModelWriter &w) {
  const ElementType left = anyByte(w);
  const Value x =
      w.source(left, {w.between(1, 2), w.between(1, 6), w.between(3, 8), w.between(3, 8)}, leastOf(left), mostOf(left));
  const int64_t taps = w.between(1, 3), filters = w.between(1, 9);
  const ElementType right = anyByte(w);
  const Value filter = w.constant(right, {filters, x.shape[1], taps, taps}, leastOf(right), mostOf(right));
  std::vector<Value> operands = {x, filter};
  if (w.random().chance(0.7)) {
    operands.push_back(zeroPoint(w, left));
    if (w.random().chance(0.7))
      operands.push_back(zeroPoint(w, right));
  }
  ::onnx::NodeProto &node = w.node("ConvInteger", operands);
  const double most = static_cast<double>(x.shape[1] * taps * taps) * 256 * 256;
  w.finish(node,
           {ElementType::Int32, {x.shape[0], filters, x.shape[2] - taps + 1, x.shape[3] - taps + 1}, -most, most, 0});
}

/// Requantization rounds a product that implementations compute in floating point: by exact scales it is exact.
void makeQLinearMatMul(ModelWriter &w) {
  const ElementType left = ElementType::UInt8, right = anyByte(w);
  const Value a = takeBytes(w, left, 2, 3);
  const Value b = w.constant(right, {a.shape.back(), w.between(1, 20)}, leastOf(right), mostOf(right));
  std::vector<Value> operands = {a, w.scalar(exactScale(w), ElementType::Float32)};
  operands.push_back(zeroPoint(w, left));
  operands.push_back(b);
  operands.push_back(w.scalar(exactScale(w), ElementType::Float32));
  operands.push_back(zeroPoint(w, right));
  operands.push_back(w.scalar(1, ElementType::Float32));
  operands.push_back(zeroPoint(w, left));
  Shape shape = a.shape;
  shape.back() = b.shape.back();
  w.add("QLinearMatMul", operands, {left, shape, leastOf(left), mostOf(left), 0});
}

void makeQLinearConv(ModelWriter &w) {
  const ElementType type = ElementType::UInt8, weights = anyByte(w);
  const Value x = w.source(type, {1, w.between(1, 6), w.between(3, 8), w.between(3, 8)}, leastOf(type), mostOf(type));
  const int64_t taps = w.between(1, 3), filters = w.between(1, 9);
  const Value filter = w.constant(weights, {filters, x.shape[1], taps, taps}, leastOf(weights), mostOf(weights));
  std::vector<Value> operands = {x, w.scalar(exactScale(w), ElementType::Float32)};
  operands.push_back(zeroPoint(w, type));
  operands.push_back(filter);
  operands.push_back(w.scalar(exactScale(w), ElementType::Float32));
  operands.push_back(zeroPoint(w, weights));
  operands.push_back(w.scalar(1, ElementType::Float32));
  operands.push_back(zeroPoint(w, type));
  if (w.random().chance(0.5))
    operands.push_back(w.constant(ElementType::Int32, {filters}, -500, 500));
  w.add("QLinearConv", operands,
        {type, {1, filters, x.shape[2] - taps + 1, x.shape[3] - taps + 1}, leastOf(type), mostOf(type), 0});
}

/// The dynamic form: quantize by the data's own range, multiply, scale back.
void makeDynamicProduct(ModelWriter &w) {
  const Value x = w.source(ElementType::Float32, {w.between(1, 9), w.between(1, 40)}, -1, 1);
  ::onnx::NodeProto &quantized = w.node("DynamicQuantizeLinear", {x});
  const Value bytes = w.finish(quantized, {ElementType::UInt8, x.shape, 0, 255, 0});
  const Value scale = w.finish(quantized, {ElementType::Float32, {}, 0, 0.01, 0});
  const Value zero = w.finish(quantized, {ElementType::UInt8, {}, 0, 255, 0});
  // Bytes round by a scale that is not exact; what is between two of them may go either way.
  w.forget(bytes);
  w.forget(zero);
  w.forget(scale);
  const ElementType type = anyByte(w);
  const Value b = w.constant(type, {x.shape[1], w.between(1, 20)}, leastOf(type), mostOf(type));
  const Value product = w.add("MatMulInteger", {bytes, b, zero, zeroPoint(w, type)},
                              {ElementType::Int32, {x.shape[0], b.shape[1]}, -1e7, 1e7, 0});
  w.forget(product);
  ::onnx::NodeProto &cast = w.node("Cast", {product});
  ModelWriter::set(cast, "to", static_cast<int64_t>(ElementType::Float32));
  const Value asFloat = w.finish(cast, {ElementType::Float32, product.shape, -1e7, 1e7, 0});
  w.forget(asFloat);
  const double most = 256 * static_cast<double>(x.shape[1]) * 2;
  // A byte that rounds the other way changes a result by a weight times the scale.
  w.add("Mul", {asFloat, scale}, {ElementType::Float32, product.shape, -most, most, 0.01 * 260 * 3});
}

} // namespace

std::vector<OperatorMaker> integerMakers() {
  return {{"quantize", 2, makeQuantize},
          {"dequantize", 2, makeDequantize},
          {"quantized pair", 2, makeQuantizedPair},
          {"integer matrix product", 2, makeMatMulInteger},
          {"integer convolution", 1, makeConvInteger},
          {"quantized matrix product", 1, makeQLinearMatMul},
          {"quantized convolution", 1, makeQLinearConv},
          {"dynamic product", 1, makeDynamicProduct}};
}

} // namespace sluice::bench
