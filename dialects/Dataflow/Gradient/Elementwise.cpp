//===- Elementwise.cpp - Gradients of unary, binary, select, cast, copy ---===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Functions.h"
#include "dialects/Dataflow/Gradient/Models.h"
#include "dialects/Dataflow/IR/Refuse.h"

using namespace mlir;
using namespace sluice::dataflow;

static LogicalResult differentiateUnary(UnaryOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                        Gradients operands) {
  // In half precision the square of 256 is infinite already, and infinity by zero no number: as kernels do, a
  // derivative computes in f32.
  Type element = elementOf(op.getInput());
  Type wide = element.getIntOrFloatBitWidth() < 32 ? Type(build.mlir().getF32Type()) : element;
  Value g = build.cast(results[0], wide), x = build.cast(op.getInput(), wide), y = build.cast(op.getResult(), wide);
  if (!g || !x || !y)
    return failure();
  auto derivative = functionOf(op.getKind()).derivative;
  if (!derivative)
    return success();
  Algebra algebra{build, op.getAlpha().convertToDouble(), op.getBeta().convertToDouble()};
  Value product = build.mul(g, derivative(algebra, x, y));
  operands[0] = product ? build.cast(product, element) : product;
  return success(operands[0] != nullptr);
}

static LogicalResult differentiateBinary(BinaryOp op, TensorBuilder &build, ArrayRef<Value> results,
                                         ArrayRef<bool> wanted, Gradients operands) {
  const BinaryFunction &function = functionOf(op.getKind());
  if (!function.byLhs || !function.byRhs)
    return sluice::refuseUnsupported(op) << "'" << stringifyBinaryKind(op.getKind()) << "' has no gradient";
  // As for unary operators; derivatives of the other kinds have no values on the way that could overflow.
  Type element = elementOf(op.getLhs());
  const bool hasIntermediates =
      llvm::is_contained({BinaryKind::div, BinaryKind::pow, BinaryKind::mod, BinaryKind::fmod}, op.getKind());
  Type wide = hasIntermediates && element.getIntOrFloatBitWidth() < 32 ? Type(build.mlir().getF32Type()) : element;
  auto widened = [&](Value value) -> Value {
    // The derivative by a constant exponent's base depends on the constant.
    std::optional<double> splat = wide == element ? std::nullopt : getSplat(value);
    return splat ? build.expand(build.splat(wide, *splat), shapeOf(value)) : build.cast(value, wide);
  };
  Value g = build.cast(results[0], wide), a = widened(op.getLhs()), c = widened(op.getRhs()),
        y = build.cast(op.getResult(), wide);
  if (!g || !a || !c || !y)
    return failure();
  Algebra algebra{build};
  BinaryPoint point{algebra, g, a, c, y, algebra.like(g, 0)};
  auto narrowed = [&](Value gradient, Value operand) {
    Value sum = sumTo(build, gradient, shapeOf(operand));
    return sum ? build.cast(sum, element) : sum;
  };
  if (wanted[0])
    operands[0] = narrowed(function.byLhs(point), op.getLhs());
  if (wanted[1])
    operands[1] = narrowed(function.byRhs(point), op.getRhs());
  return success((!wanted[0] || operands[0]) && (!wanted[1] || operands[1]));
}

static LogicalResult differentiateSelect(SelectOp op, TensorBuilder &build, ArrayRef<Value> results,
                                         ArrayRef<bool> wanted, Gradients operands) {
  Value g = results[0], zero = number(build, g, 0);
  if (wanted[1])
    operands[1] = sumTo(build, build.select(op.getCondition(), g, zero), shapeOf(op.getOnTrue()));
  if (wanted[2])
    operands[2] = sumTo(build, build.select(op.getCondition(), zero, g), shapeOf(op.getOnFalse()));
  return success();
}

static LogicalResult differentiateCast(CastOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                       Gradients operands) {
  operands[0] = build.cast(results[0], elementOf(op.getInput()));
  return success();
}

static LogicalResult differentiateCopy(CopyOp, TensorBuilder &, ArrayRef<Value> results, ArrayRef<bool>,
                                       Gradients operands) {
  operands[0] = results[0];
  return success();
}

void sluice::dataflow::attachElementwiseGradients(MLIRContext *context) {
  attach<GradientModel<differentiateUnary>, GradientModel<differentiateBinary>, GradientModel<differentiateSelect>,
         GradientModel<differentiateCast>, GradientModel<differentiateCopy>>(context);
}
