//===- Elementwise.cpp - Gradients of unary, binary, select, cast, copy ---===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Functions.h"

using namespace mlir;
using namespace sluice::dataflow;

LogicalResult UnaryOp::buildGradient(TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                     Gradients operands) {
  // In half precision the square of 256 is infinite already, and infinity by zero no number: as kernels do, a
  // derivative computes in f32.
  Type element = elementOf(getInput());
  Type wide = element.getIntOrFloatBitWidth() < 32 ? Type(build.mlir().getF32Type()) : element;
  Value g = build.cast(results[0], wide), x = build.cast(getInput(), wide), y = build.cast(getResult(), wide);
  if (!g || !x || !y)
    return failure();
  auto derivative = functionOf(getKind()).derivative;
  if (!derivative)
    return success();
  Algebra algebra{build, getAlpha().convertToDouble(), getBeta().convertToDouble()};
  Value product = build.mul(g, derivative(algebra, x, y));
  operands[0] = product ? build.cast(product, element) : product;
  return success(operands[0] != nullptr);
}

LogicalResult BinaryOp::buildGradient(TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool> wanted,
                                      Gradients operands) {
  const BinaryFunction &function = functionOf(getKind());
  if (!function.byLhs || !function.byRhs)
    return emitOpError("'") << stringifyBinaryKind(getKind()) << "' has no gradient";
  // As for unary operators; derivatives of the other kinds have no values on the way that could overflow.
  Type element = elementOf(getLhs());
  const bool hasIntermediates =
      llvm::is_contained({BinaryKind::div, BinaryKind::pow, BinaryKind::mod, BinaryKind::fmod}, getKind());
  Type wide = hasIntermediates && element.getIntOrFloatBitWidth() < 32 ? Type(build.mlir().getF32Type()) : element;
  auto widened = [&](Value value) -> Value {
    // The derivative by a constant exponent's base depends on the constant.
    std::optional<double> splat = wide == element ? std::nullopt : getSplat(value);
    return splat ? build.expand(build.splat(wide, *splat), shapeOf(value)) : build.cast(value, wide);
  };
  Value g = build.cast(results[0], wide), a = widened(getLhs()), c = widened(getRhs()),
        y = build.cast(getResult(), wide);
  if (!g || !a || !c || !y)
    return failure();
  Algebra algebra{build};
  BinaryPoint point{algebra, g, a, c, y, algebra.like(g, 0)};
  auto narrowed = [&](Value gradient, Value operand) {
    Value sum = sumTo(build, gradient, shapeOf(operand));
    return sum ? build.cast(sum, element) : sum;
  };
  if (wanted[0])
    operands[0] = narrowed(function.byLhs(point), getLhs());
  if (wanted[1])
    operands[1] = narrowed(function.byRhs(point), getRhs());
  return success((!wanted[0] || operands[0]) && (!wanted[1] || operands[1]));
}

LogicalResult SelectOp::buildGradient(TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool> wanted,
                                      Gradients operands) {
  Value g = results[0], zero = number(build, g, 0);
  if (wanted[1])
    operands[1] = sumTo(build, build.select(getCondition(), g, zero), shapeOf(getOnTrue()));
  if (wanted[2])
    operands[2] = sumTo(build, build.select(getCondition(), zero, g), shapeOf(getOnFalse()));
  return success();
}

LogicalResult CastOp::buildGradient(TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>, Gradients operands) {
  operands[0] = build.cast(results[0], elementOf(getInput()));
  return success();
}

LogicalResult CopyOp::buildGradient(TensorBuilder &, ArrayRef<Value> results, ArrayRef<bool>, Gradients operands) {
  operands[0] = results[0];
  return success();
}
