//===- Window.cpp - pool, resize, conv_transpose --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/ConvShape.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sluice::dataflow;

/// The first of some strides, pads, dilations and kernel extents that exceeds 32 bits: positions that are computed from
/// it could overflow.
static std::optional<int64_t> findTooLarge(std::initializer_list<ArrayRef<int64_t>> lists) {
  for (ArrayRef<int64_t> list : lists)
    for (int64_t value : list)
      if (!llvm::isInt<32>(value))
        return value;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// pool
//===----------------------------------------------------------------------===//

LogicalResult PoolOp::verify() {
  ArrayRef<int64_t> in = shapeOf(getInput()), out = shapeOf(getResult());
  size_t spatial = getKernel().size();
  if (in.size() != spatial + 2 || out.size() != in.size() || getStrides().size() != spatial ||
      getPadsLow().size() != spatial || getPadsHigh().size() != spatial || getDilations().size() != spatial)
    return emitOpError("kernel, strides, pads, dilations, input and result differ in rank: ")
           << spatial << ", " << getStrides().size() << ", " << getPadsLow().size() << ", " << getPadsHigh().size()
           << " and " << getDilations().size() << " entries for tensors of " << in.size() << " and " << out.size()
           << " dimensions, give tensors of one rank and two entries fewer";
  if (auto value = findTooLarge({getKernel(), getStrides(), getPadsLow(), getPadsHigh(), getDilations()}))
    return emitOpError("kernel, strides, pads or dilations do not fit 32 bits: ")
           << *value << ", give a smaller number";
  if (product(getKernel()).isSaturated())
    return emitOpError("has windows of more elements than 64 bits can count");
  if (typeOf(getInput()).getElementType() != getType().getElementType())
    return emitOpError("changes the element type");
  // Powers are products, written out.
  constexpr int64_t kMaxPower = 64;
  auto p = static_cast<int64_t>(getP());
  if (getKind() == PoolKind::lp && (p < 1 || p > kMaxPower))
    return emitOpError("p is ") << p << ", and must be from 1 to " << kMaxPower;
  if (getKind() == PoolKind::lp && !isa<FloatType>(getType().getElementType()))
    return emitOpError("'lp' needs float elements, got ") << getType().getElementType();
  bool last = getLayout() == Layout::channels_last;
  size_t channel = last ? spatial + 1 : 1;
  if (in[0] != out[0] || in[channel] != out[channel])
    return emitOpError("must keep batch and channels");
  for (size_t d = 0; d < spatial; ++d) {
    if (getKernel()[d] < 1 || getStrides()[d] < 1 || getDilations()[d] < 1 || getPadsLow()[d] < 0 ||
        getPadsHigh()[d] < 0)
      return emitOpError("kernel, strides and dilations must be at least 1 and pads at least 0");
    size_t at = d + (last ? 1 : 2);
    // The last window has to begin before the padded input ends.
    if (out[at] > 0 && static_cast<__int128>(out[at] - 1) * getStrides()[d] >=
                           static_cast<__int128>(in[at]) + getPadsLow()[d] + getPadsHigh()[d])
      return emitOpError("has windows that begin past the end of spatial dimension ") << d;
  }
  return success();
}

int64_t PoolOp::getFlops() { return elementCount(getType()) * product(getKernel()); }
bool PoolOp::allowsPrologue(unsigned) { return false; }

FailureOr<Operation *> PoolOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  SmallVector<int64_t> toLast{0, 2, 3, 1}, toFirst{0, 3, 1, 2};
  Layout layout;
  if (getLayout() == Layout::channels_first && permutation == ArrayRef(toLast))
    layout = Layout::channels_last;
  else if (getLayout() == Layout::channels_last && permutation == ArrayRef(toFirst))
    layout = Layout::channels_first;
  else
    return failure();
  auto type = permutedType(getType(), permutation);
  return PoolOp::create(builder, getLoc(), type, getKind(), operands[0], getKernel(), getStrides(), getPadsLow(),
                        getPadsHigh(), getDilations(), getCountIncludePad(), getP(), layout)
      .getOperation();
}

//===----------------------------------------------------------------------===//
// resize
//===----------------------------------------------------------------------===//

LogicalResult ResizeOp::verify() {
  ArrayRef<int64_t> in = shapeOf(getInput()), out = shapeOf(getResult());
  if (in.size() != out.size() || getScales().size() != in.size())
    return emitOpError("scales, input and result differ in rank");
  if (typeOf(getInput()).getElementType() != getType().getElementType())
    return emitOpError("changes the element type");
  for (size_t d = 0; d < in.size(); ++d) {
    if (!(getScales()[d] > 0) || std::isinf(getScales()[d]))
      return emitOpError("must have positive, finite scales, and has another scale in dimension ") << d;
    if (in[d] == 0 && out[d] != 0)
      return emitOpError("must not resample an empty dimension, got dimension ") << d;
  }
  if (getRoi() && getRoi()->size() != 2 * in.size())
    return emitOpError("must have two entries of roi for each dimension");
  if (getCoordinates() == CoordinateMode::tf_crop_and_resize && !getRoi())
    return emitOpError("tf_crop_and_resize needs a roi");
  if (getAntialias())
    return emitOpError("antialiasing is not supported");
  if (getMode() != ResizeMode::nearest && !isa<FloatType>(getType().getElementType()))
    return emitOpError("interpolation needs float elements");
  return success();
}

int64_t ResizeOp::getFlops() { return elementCount(getType()) * (getMode() == ResizeMode::cubic ? 64 : 16); }

FailureOr<Operation *> ResizeOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  auto type = permutedType(getType(), permutation);
  DenseF64ArrayAttr roi;
  if (getRoi()) {
    size_t rank = permutation.size();
    SmallVector<double> both = permuted(getRoi()->take_front(rank), permutation);
    both.append(permuted(getRoi()->drop_front(rank), permutation));
    roi = builder.getDenseF64ArrayAttr(both);
  }
  return ResizeOp::create(builder, getLoc(), type, ResizeModeAttr::get(getContext(), getMode()), operands[0],
                          builder.getDenseF64ArrayAttr(permuted(getScales(), permutation)),
                          CoordinateModeAttr::get(getContext(), getCoordinates()),
                          NearestModeAttr::get(getContext(), getNearest()), getCubicCoeffAttr(),
                          getExcludeOutsideAttr(), getAntialiasAttr(), getExtrapolationAttr(), roi)
      .getOperation();
}

//===----------------------------------------------------------------------===//
// conv_transpose
//===----------------------------------------------------------------------===//

LogicalResult ConvTransposeOp::verify() {
  ArrayRef<int64_t> in = shapeOf(getInput()), weight = shapeOf(getWeight()), out = shapeOf(getResult());
  size_t spatial = in.size() < 2 ? 0 : in.size() - 2;
  if (spatial < 1 || weight.size() != in.size() || out.size() != in.size() || getStrides().size() != spatial ||
      getPadsLow().size() != spatial || getDilations().size() != spatial)
    return emitOpError("strides, pads_low, dilations, input, weight and result differ in rank: ")
           << getStrides().size() << ", " << getPadsLow().size() << " and " << getDilations().size()
           << " entries for tensors of " << in.size() << ", " << weight.size() << " and " << out.size()
           << " dimensions, give tensors of one rank and two entries fewer";
  if (auto value = findTooLarge({getStrides(), getPadsLow(), getDilations()}))
    return emitOpError("strides, pads_low or dilations do not fit 32 bits: ") << *value << ", give a smaller number";
  int64_t groups = getGroups();
  if (groups < 1 || in[1] % groups || weight[0] != in[1] || out[1] != weight[1] * groups || out[0] != in[0])
    return emitOpError(
        "channels, groups and weight do not match, give a weight of C x M x extents for C input channels "
        "and M result channels in each group");
  Type element = getType().getElementType();
  if (typeOf(getInput()).getElementType() != element || typeOf(getWeight()).getElementType() != element)
    return emitOpError("operands and result differ in element type");
  for (size_t d = 0; d < spatial; ++d)
    if (getStrides()[d] < 1 || getDilations()[d] < 1)
      return emitOpError("strides and dilations must be at least 1");
  return success();
}

StringRef ConvTransposeOp::getCostClass() {
  static constexpr ConvClasses kClasses = {"conv_transpose", "conv_transpose.pointwise", "conv_transpose.depthwise",
                                           "conv_transpose.3x3"};
  return convCostClass(kClasses, shapeOf(getWeight()).drop_front(2), getStrides(), getDilations(),
                       static_cast<int64_t>(getGroups()), shapeOf(getInput())[1]);
}

int64_t ConvTransposeOp::getFlops() {
  ArrayRef<int64_t> weight = shapeOf(getWeight());
  return 2 * elementCount(getInput().getType()) * product(weight.drop_front(1));
}
