//===- Window.cpp - Gradients of pooling ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Gradient/Models.h"

using namespace mlir;
using namespace sluice::dataflow;

static LogicalResult differentiatePool(PoolOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                       Gradients operands) {
  if (op.getLayout() != Layout::channels_first)
    return op.emitOpError(
        "has a layout for a device and therefore no gradient, differentiate before layouts are assigned");
  // Each element of the gradient looks at every tap, and at every other one where a maximum is chosen.
  constexpr int64_t kMostTaps = 1 << 24;
  if (product(op.getKernel()) > kMostTaps)
    return op.emitOpError("has windows of more than ") << kMostTaps << " elements, whose gradient is not supported";
  SmallVector<Value> inputs{results[0]};
  if (op.getKind() != PoolKind::average)
    inputs.push_back(op.getInput());
  if (op.getKind() == PoolKind::lp)
    inputs.push_back(op.getResult());
  operands[0] = build.create<PoolGradientOp>(
      inputs,
      {build.attribute("kind", op.getKindAttr()), build.list("kernel", op.getKernel()),
       build.list("strides", op.getStrides()), build.list("pads_low", op.getPadsLow()),
       build.list("pads_high", op.getPadsHigh()), build.list("dilations", op.getDilations()),
       build.flag("count_include_pad", op.getCountIncludePad()), build.integer("p", op.getP())},
      {op.getInput().getType()});
  return success();
}

void sluice::dataflow::attachWindowGradients(MLIRContext *context) {
  attach<GradientModel<differentiatePool>>(context);
}
