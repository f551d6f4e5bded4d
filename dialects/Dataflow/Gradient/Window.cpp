//===- Window.cpp - Gradients of pooling ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Gradient/Gradient.h"

using namespace mlir;
using namespace sluice::dataflow;

LogicalResult PoolOp::buildGradient(TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>, Gradients operands) {
  if (getLayout() != Layout::channels_first)
    return emitOpError("is laid out for a device, and has no gradient then: differentiate before layouts are assigned");
  // Each element of the gradient looks at every tap, and at every other one where a maximum is chosen.
  constexpr int64_t kMostTaps = 1 << 24;
  if (product(getKernel()) > kMostTaps)
    return emitOpError("has windows of more than ") << kMostTaps << " elements, whose gradient is not supported";
  SmallVector<Value> inputs{results[0]};
  if (getKind() != PoolKind::average)
    inputs.push_back(getInput());
  if (getKind() == PoolKind::lp)
    inputs.push_back(getResult());
  operands[0] =
      build.create<PoolGradientOp>(inputs,
                                   {build.attribute("kind", getKindAttr()), build.list("kernel", getKernel()),
                                    build.list("strides", getStrides()), build.list("pads_low", getPadsLow()),
                                    build.list("pads_high", getPadsHigh()), build.list("dilations", getDilations()),
                                    build.flag("count_include_pad", getCountIncludePad()), build.integer("p", getP())},
                                   {getInput().getType()});
  return success();
}
