//===- Elementwise.cpp - Values of unary, binary, compare, select, cast, copy ===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Functions.h"
#include "dialects/Dataflow/Evaluate/Models.h"
#include "dialects/Dataflow/IR/HostElements.h"

#include <algorithm>

using namespace mlir;
using namespace sluice::dataflow;

/// Runs fn(first, count) over [0, total) in runs of at most kRun.
template <typename Fn>
static void forRuns(int64_t total, Fn fn) {
  for (int64_t start = 0; start < total; start += kRun)
    fn(start, std::min(kRun, total - start));
}

//===----------------------------------------------------------------------===//
// unary
//===----------------------------------------------------------------------===//

static LogicalResult evaluateUnary(UnaryOp op, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ElementReader input(operands[0], operands[0].type.getShape());
  Type element = operands[0].type.getElementType();
  const UnaryFunction &function = functionOf(op.getKind());
  Parameters parameters{op.getAlpha().convertToDouble(), op.getBeta().convertToDouble()};
  forRuns(elementCount(operands[0].type), [&](int64_t start, int64_t count) {
    if (isa<FloatType>(element)) {
      double run[kRun];
      input.read(start, count, run);
      for (int64_t i = 0; i < count; ++i)
        run[i] = function.evaluate(run[i], parameters);
      writeElements(results[0], start, count, run);
    } else {
      int64_t run[kRun];
      input.read(start, count, run);
      for (int64_t i = 0; i < count; ++i)
        run[i] = function.evaluateInteger(run[i], isUnsignedElement(element));
      writeElements(results[0], start, count, run);
    }
  });
  return success();
}

//===----------------------------------------------------------------------===//
// binary
//===----------------------------------------------------------------------===//

static LogicalResult evaluateBinary(BinaryOp op, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = results[0].type.getShape();
  ElementReader lhs(operands[0], shape), rhs(operands[1], shape);
  Type element = operands[0].type.getElementType();
  const BinaryFunction &function = functionOf(op.getKind());
  forRuns(elementCount(results[0].type), [&](int64_t start, int64_t count) {
    if (isa<FloatType>(element)) {
      double x[kRun], y[kRun];
      lhs.read(start, count, x);
      rhs.read(start, count, y);
      function.evaluate(x, y, x, count);
      writeElements(results[0], start, count, x);
      return;
    }
    int64_t x[kRun], y[kRun];
    lhs.read(start, count, x);
    rhs.read(start, count, y);
    for (int64_t i = 0; i < count; ++i)
      x[i] = function.evaluateInteger(x[i], y[i], isUnsignedElement(element), element.getIntOrFloatBitWidth());
    writeElements(results[0], start, count, x);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// compare
//===----------------------------------------------------------------------===//

template <typename T>
static bool compare(ComparePredicate predicate, T a, T c) {
  switch (predicate) {
  case ComparePredicate::eq:
    return a == c;
  case ComparePredicate::ne:
    return a != c;
  case ComparePredicate::lt:
    return a < c;
  case ComparePredicate::le:
    return a <= c;
  case ComparePredicate::gt:
    return a > c;
  case ComparePredicate::ge:
    return a >= c;
  }
  llvm_unreachable("unknown predicate");
}

static LogicalResult evaluateCompare(CompareOp op, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = results[0].type.getShape();
  ElementReader lhs(operands[0], shape), rhs(operands[1], shape);
  Type element = operands[0].type.getElementType();
  forRuns(elementCount(results[0].type), [&](int64_t start, int64_t count) {
    int64_t out[kRun];
    if (isa<FloatType>(element)) {
      double x[kRun], y[kRun];
      lhs.read(start, count, x);
      rhs.read(start, count, y);
      for (int64_t i = 0; i < count; ++i)
        out[i] = compare(op.getPredicate(), x[i], y[i]);
    } else {
      int64_t x[kRun], y[kRun];
      lhs.read(start, count, x);
      rhs.read(start, count, y);
      for (int64_t i = 0; i < count; ++i)
        out[i] = isUnsignedElement(element)
                     ? compare(op.getPredicate(), static_cast<uint64_t>(x[i]), static_cast<uint64_t>(y[i]))
                     : compare(op.getPredicate(), x[i], y[i]);
    }
    writeElements(results[0], start, count, out);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// select
//===----------------------------------------------------------------------===//

static LogicalResult evaluateSelect(SelectOp, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = results[0].type.getShape();
  ElementReader condition(operands[0], shape), onTrue(operands[1], shape), onFalse(operands[2], shape);
  auto run = [&](auto sample) {
    forRuns(elementCount(results[0].type), [&](int64_t start, int64_t count) {
      int64_t mask[kRun];
      decltype(sample) x[kRun], y[kRun];
      condition.read(start, count, mask);
      onTrue.read(start, count, x);
      onFalse.read(start, count, y);
      for (int64_t i = 0; i < count; ++i)
        x[i] = mask[i] ? x[i] : y[i];
      writeElements(results[0], start, count, x);
    });
  };
  if (isa<FloatType>(results[0].type.getElementType()))
    run(double());
  else
    run(int64_t());
  return success();
}

//===----------------------------------------------------------------------===//
// cast
//===----------------------------------------------------------------------===//

/// As emitCast's float to integer: clamps to the range, or wraps through 64 bits.
static int64_t toInteger(double x, Type to, bool saturate) {
  unsigned width = to.getIntOrFloatBitWidth();
  if (!saturate && width < 64)
    return clampToInteger(x, 64, /*isUnsigned=*/false);
  return clampToInteger(x, width, to.isUnsignedInteger());
}

/// NaN stays.
static double clampToFloat(double x, Type to) {
  APFloat most = APFloat::getLargest(cast<FloatType>(to).getFloatSemantics());
  bool loses;
  most.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  double limit = most.convertToDouble();
  return x > limit ? limit : x < -limit ? -limit : x;
}

static LogicalResult evaluateCast(CastOp op, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ElementReader input(operands[0], operands[0].type.getShape());
  Type from = operands[0].type.getElementType(), to = results[0].type.getElementType();
  forRuns(elementCount(results[0].type), [&](int64_t start, int64_t count) {
    double floats[kRun];
    int64_t integers[kRun];
    if (isa<FloatType>(from)) {
      input.read(start, count, floats);
      if (isa<FloatType>(to)) {
        if (op.getSaturate() && isSmallFloat(to))
          for (int64_t i = 0; i < count; ++i)
            floats[i] = clampToFloat(floats[i], to);
        return writeElements(results[0], start, count, floats);
      }
      for (int64_t i = 0; i < count; ++i)
        integers[i] = to.isInteger(1) ? floats[i] != 0 : toInteger(floats[i], to, op.getSaturate());
      return writeElements(results[0], start, count, integers);
    }
    input.read(start, count, integers);
    if (isa<FloatType>(to) && from.isUnsignedInteger(64)) {
      for (int64_t i = 0; i < count; ++i)
        floats[i] = static_cast<double>(static_cast<uint64_t>(integers[i]));
      return writeElements(results[0], start, count, floats);
    }
    if (to.isInteger(1))
      for (int64_t i = 0; i < count; ++i)
        integers[i] = integers[i] != 0;
    writeElements(results[0], start, count, integers);
  });
  return success();
}

void sluice::dataflow::attachElementwiseValues(MLIRContext *context) {
  attach<EvaluateModel<evaluateUnary>, EvaluateModel<evaluateBinary>, EvaluateModel<evaluateCompare>,
         EvaluateModel<evaluateSelect>, EvaluateModel<evaluateCast>>(context);
}
