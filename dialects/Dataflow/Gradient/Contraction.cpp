//===- Contraction.cpp - Gradients of matmul and the convolutions ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Gradient/Models.h"

using namespace mlir;
using namespace sluice::dataflow;

/// All but the last dimension as one.
static Value asMatrix(TensorBuilder &build, Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return build.reshape(x, {product(shape.drop_back()), shape.back()});
}

static LogicalResult differentiateMatmul(MatmulOp op, TensorBuilder &build, ArrayRef<Value> results,
                                         ArrayRef<bool> wanted, Gradients operands) {
  Value a = op.getLhs(), c = op.getRhs(), g = results[0];
  bool ta = op.getTransposeLhs(), tc = op.getTransposeRhs();
  if (op.getPackedN())
    return op.emitOpError("has a packed operand and therefore no gradient, differentiate before layouts are assigned");
  // The rows of all batches times one matrix: one product, no sum over batches after it.
  if (typeOf(c).getRank() == 2 && typeOf(a).getRank() > 2 && !ta) {
    a = asMatrix(build, a);
    g = asMatrix(build, g);
  }
  if (wanted[0]) {
    Value byA = ta ? build.matmul(c, g, tc, true) : build.matmul(g, c, false, !tc);
    operands[0] = a == op.getLhs() ? sumTo(build, byA, shapeOf(a)) : build.reshape(byA, shapeOf(op.getLhs()));
  }
  if (wanted[1])
    operands[1] = sumTo(build, tc ? build.matmul(g, a, true, ta) : build.matmul(a, g, !ta, false), shapeOf(c));
  return success();
}

namespace {
/// What a convolution and its two adjoints have in common.
struct ConvGeometry {
  ArrayRef<int64_t> strides, padsLow, dilations;
  int64_t groups;
};
} // namespace

/// A ConvTransposeOp or ConvWeightGradientOp.
template <typename Op>
static Value adjointOfConv(TensorBuilder &build, Value first, Value second, const ConvGeometry &conv, Type type) {
  return build.create<Op>({first, second},
                          {build.list("strides", conv.strides), build.list("pads_low", conv.padsLow),
                           build.list("dilations", conv.dilations), build.integer("groups", conv.groups)},
                          {type});
}

/// The convolution whose result has the spatial extents of `like`: padded at the
/// high end, or its input cut there, as that takes.
static Value convLike(TensorBuilder &build, Value input, Value weight, const ConvGeometry &conv, Value like) {
  Dims pads(conv.padsLow), cut(shapeOf(input));
  bool cuts = false;
  for (size_t d = 0; d < conv.strides.size(); ++d) {
    int64_t reach = (shapeOf(like)[d + 2] - 1) * conv.strides[d] + conv.dilations[d] * (shapeOf(weight)[d + 2] - 1) + 1;
    int64_t high = reach - conv.padsLow[d] - cut[d + 2];
    if (high < 0) {
      cut[d + 2] += high;
      cuts = true;
    }
    pads.push_back(std::max<int64_t>(high, 0));
  }
  if (cuts)
    input = build.slice(input, Dims(cut.size(), 0), Dims(cut.size(), 1), cut);
  return build.create<ConvOp>({input, weight},
                              {build.list("strides", conv.strides), build.list("pads", pads),
                               build.list("dilations", conv.dilations), build.integer("groups", conv.groups)});
}

static LogicalResult differentiateConv(ConvOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool> wanted,
                                       Gradients operands) {
  if (op.isLaidOut())
    return op.emitOpError(
        "has a layout for a device and therefore no gradient, differentiate before assigning layouts");
  const ConvGeometry conv{op.getStrides(), op.getPads().take_front(op.getStrides().size()), op.getDilations(),
                          static_cast<int64_t>(op.getGroups())};
  if (wanted[0])
    operands[0] = adjointOfConv<ConvTransposeOp>(build, results[0], op.getWeight(), conv, op.getInput().getType());
  if (wanted[1])
    operands[1] = adjointOfConv<ConvWeightGradientOp>(build, op.getInput(), results[0], conv, op.getWeight().getType());
  return success();
}

static LogicalResult differentiateConvTranspose(ConvTransposeOp op, TensorBuilder &build, ArrayRef<Value> results,
                                                ArrayRef<bool> wanted, Gradients operands) {
  const ConvGeometry conv{op.getStrides(), op.getPadsLow(), op.getDilations(), static_cast<int64_t>(op.getGroups())};
  if (wanted[0])
    operands[0] = convLike(build, results[0], op.getWeight(), conv, op.getInput());
  if (wanted[1])
    operands[1] = adjointOfConv<ConvWeightGradientOp>(build, results[0], op.getInput(), conv, op.getWeight().getType());
  return success();
}

/// It is linear in each operand.
static LogicalResult differentiateConvWeightGradient(ConvWeightGradientOp op, TensorBuilder &build,
                                                     ArrayRef<Value> results, ArrayRef<bool> wanted,
                                                     Gradients operands) {
  const ConvGeometry conv{op.getStrides(), op.getPadsLow(), op.getDilations(), static_cast<int64_t>(op.getGroups())};
  if (wanted[0])
    operands[0] = adjointOfConv<ConvTransposeOp>(build, op.getGradient(), results[0], conv, op.getInput().getType());
  if (wanted[1])
    operands[1] = convLike(build, op.getInput(), results[0], conv, op.getGradient());
  return success();
}

void sluice::dataflow::attachContractionGradients(MLIRContext *context) {
  attach<GradientModel<differentiateMatmul>, GradientModel<differentiateConv>,
         GradientModel<differentiateConvTranspose>, GradientModel<differentiateConvWeightGradient>>(context);
}
