//===- Vision.cpp - grid_sample, roi_align, pool_index --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include <algorithm>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// grid_sample
//===----------------------------------------------------------------------===//

LogicalResult GridSampleOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                             SmallVectorImpl<Type> &results) {
  auto input = typeOf(adaptor.getInput()), positions = typeOf(adaptor.getPositions());
  int64_t spatial = input.getRank() - 2;
  if (spatial < 1 || positions.getRank() < 2 || positions.getShape().back() != spatial ||
      positions.getDimSize(0) != input.getDimSize(0))
    return emitOptionalError(loc, "positions of ", positions, " do not match an input of ", input);
  SmallVector<int64_t> shape(input.getShape().take_front(2));
  llvm::append_range(shape, positions.getShape().drop_front().drop_back());
  results.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult GridSampleOp::verify() {
  ArrayRef<int64_t> spatial = shapeOf(getInput()).drop_front(2);
  if (llvm::is_contained(spatial, 0) && elementCount(getType()) != 0)
    return emitOpError("samples an empty input");
  // Taps are unrolled: 64 at most.
  if (spatial.size() > (getMode() == ResizeMode::cubic ? 3U : 6U))
    return emitOpError("has too many spatial dimensions, ") << spatial.size();
  return success();
}

int64_t GridSampleOp::getFlops() { return elementCount(getType()) * (getMode() == ResizeMode::cubic ? 64 : 16); }

//===----------------------------------------------------------------------===//
// roi_align
//===----------------------------------------------------------------------===//

LogicalResult RoiAlignOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                           SmallVectorImpl<Type> &results) {
  auto input = typeOf(adaptor.getInput()), rois = typeOf(adaptor.getRois()), images = typeOf(adaptor.getImages());
  if (input.getRank() != 4 || rois.getRank() != 2 || rois.getDimSize(1) != 4 ||
      images.getShape() != ArrayRef<int64_t>(rois.getDimSize(0)))
    return emitOptionalError(loc, "rois of ", rois, " and images of ", images, " do not match an input of ", input);
  results.push_back(
      RankedTensorType::get({rois.getDimSize(0), input.getDimSize(1), static_cast<int64_t>(adaptor.getHeight()),
                             static_cast<int64_t>(adaptor.getWidth())},
                            input.getElementType()));
  return success();
}

LogicalResult RoiAlignOp::verify() {
  constexpr int64_t kMost = 1 << 20;
  auto fits = [](int64_t value, int64_t least, int64_t most) { return value >= least && value <= most; };
  if (!fits(getHeight(), 1, kMost) || !fits(getWidth(), 1, kMost) || !fits(getSamplingRatio(), 0, kMostSamples))
    return emitOpError("height, width or sampling_ratio is out of range");
  if (elementCount(getInput().getType()) == 0 && elementCount(getType()) != 0)
    return emitOpError("samples an empty input");
  return success();
}

int64_t RoiAlignOp::getFlops() {
  int64_t side = std::max<int64_t>(getSamplingRatio(), 2);
  return elementCount(getType()) * side * side * 16;
}

//===----------------------------------------------------------------------===//
// pool_index
//===----------------------------------------------------------------------===//

LogicalResult PoolIndexOp::verify() {
  ArrayRef<int64_t> in = shapeOf(getInput()), out = shapeOf(getResult());
  size_t spatial = in.size() < 2 ? 0 : in.size() - 2;
  if (spatial < 1 || out.size() != in.size() || out.take_front(2) != in.take_front(2) ||
      getKernel().size() != spatial || getStrides().size() != spatial || getPadsLow().size() != spatial ||
      getDilations().size() != spatial)
    return emitOpError("kernel, strides, pads, dilations, input and result differ in rank");
  auto fits = [](int64_t least) {
    return [least](int64_t value) { return value >= least && value < (int64_t(1) << 31); };
  };
  if (!llvm::all_of(getKernel(), fits(1)) || !llvm::all_of(getStrides(), fits(1)) ||
      !llvm::all_of(getDilations(), fits(1)) || !llvm::all_of(getPadsLow(), fits(0)))
    return emitOpError("kernel, strides, pads or dilations are out of range");
  return success();
}

int64_t PoolIndexOp::getFlops() { return elementCount(getType()) * product(getKernel()); }
