//===- Reduction.cpp - Gradients of reduce, cumsum, topk ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Gradient/Models.h"

using namespace mlir;
using namespace sluice::dataflow;

static LogicalResult differentiateReduce(ReduceOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                         Gradients operands) {
  Value x = op.getInput();
  ArrayRef<int64_t> shape = shapeOf(x);
  Dims kept(shape);
  int64_t count = 1;
  for (int64_t axis : op.getAxes()) {
    count *= shape[axis];
    kept[axis] = 1;
  }
  // With the reduced dimensions kept, both broadcast to the input.
  Value g = build.reshape(results[0], kept), y = build.reshape(op.getResult(), kept);
  auto sum = [&](Value value) { return build.reduce(ReduceKind::sum, value, op.getAxes(), /*keepDims=*/true); };
  Value zero = number(build, x, 0);
  switch (op.getKind()) {
  case ReduceKind::sum:
    operands[0] = build.expand(g, shape);
    break;
  case ReduceKind::mean:
    operands[0] = build.expand(build.mul(g, number(build, x, 1.0 / static_cast<double>(count))), shape);
    break;
  case ReduceKind::max:
  case ReduceKind::min: {
    // Equals share it.
    Value mask = build.cast(build.compare(ComparePredicate::eq, x, y), elementOf(x));
    operands[0] = build.mul(mask, build.div(g, sum(mask)));
    break;
  }
  case ReduceKind::prod: {
    // The product of the others: y / x, unless x is the only zero.
    Value isZero = build.compare(ComparePredicate::eq, x, zero);
    Value safe = build.select(isZero, number(build, x, 1), x);
    Value numZeros = sum(build.cast(isZero, elementOf(x)));
    Value others = build.reduce(ReduceKind::prod, safe, op.getAxes(), /*keepDims=*/true);
    Value isOnly = build.compare(ComparePredicate::eq, numZeros, number(build, x, 1));
    Value byZero = build.select(isOnly, others, zero);
    operands[0] = build.mul(g, build.select(isZero, byZero, build.div(y, safe)));
    break;
  }
  case ReduceKind::l1:
    operands[0] = build.mul(g, build.unary(UnaryKind::sign, x));
    break;
  case ReduceKind::l2: {
    Value isZero = build.compare(ComparePredicate::eq, y, zero);
    operands[0] = build.mul(x, build.div(g, build.select(isZero, number(build, x, 1), y)));
    break;
  }
  case ReduceKind::log_sum:
    operands[0] = build.expand(build.div(g, build.unary(UnaryKind::exp, y)), shape);
    break;
  case ReduceKind::log_sum_exp:
    operands[0] = build.mul(g, build.unary(UnaryKind::exp, build.sub(x, y)));
    break;
  case ReduceKind::sum_square:
    operands[0] = build.mul(build.mul(g, number(build, x, 2)), x);
    break;
  }
  return success();
}

static LogicalResult differentiateCumsum(CumsumOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                         Gradients operands) {
  operands[0] = build.create<CumsumOp>({results[0]},
                                       {build.integer("axis", op.getAxis()), build.flag("exclusive", op.getExclusive()),
                                        build.flag("reverse", !op.getReverse())});
  return success();
}

static LogicalResult differentiateTopk(TopkOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                       Gradients operands) {
  if (!results[0])
    return success();
  operands[0] = build.create<ScatterElementsOp>(
      {zeros(build, typeOf(op.getInput())), op.getIndices(), results[0]},
      {build.attribute("kind", ScatterKindAttr::get(build.context(), ScatterKind::none)),
       build.integer("axis", op.getAxis())});
  return success();
}

void sluice::dataflow::attachReductionGradients(MLIRContext *context) {
  attach<GradientModel<differentiateReduce>, GradientModel<differentiateCumsum>, GradientModel<differentiateTopk>>(
      context);
}
