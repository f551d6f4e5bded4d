//===- ConvShape.h - Shapes and cost classes of convolutions ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_CONVSHAPE_H
#define SLUICE_DATAFLOW_IR_CONVSHAPE_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

namespace sluice::dataflow {

/// The window and the channels of a convolution. Lists have one entry per spatial dimension; pads = [low..., high...].
struct ConvWindow {
  llvm::ArrayRef<int64_t> kernel, strides, pads, dilations;
  int64_t groups, outChannels;
  bool last; ///< Whether the channels of the image and of the result come last.
};

/// Whether Winograd's algorithm takes images of this element type. It computes in f32.
inline bool isWinogradElement(mlir::Type type) { return type.isF32() || type.isF16() || type.isBF16(); }

/// The shape of the result for an input of shape `input`. Emits the reason and fails if they do not fit. The caller
/// must check the weight's channels.
inline llvm::FailureOr<llvm::SmallVector<int64_t>> convShape(std::optional<mlir::Location> loc,
                                                             llvm::ArrayRef<int64_t> input, const ConvWindow &window) {
  const auto spatial = static_cast<int64_t>(input.size()) - 2;
  llvm::ArrayRef<int64_t> kernel = window.kernel, strides = window.strides, pads = window.pads,
                          dilations = window.dilations;
  if (static_cast<int64_t>(strides.size()) != spatial || static_cast<int64_t>(dilations.size()) != spatial ||
      static_cast<int64_t>(pads.size()) != 2 * spatial)
    return mlir::emitOptionalError(loc, "strides and dilations need one entry and pads two for each of the ", spatial,
                                   " spatial dimensions");
  for (llvm::ArrayRef<int64_t> list : {kernel, strides, pads, dilations})
    if (!llvm::all_of(list, [](int64_t value) { return llvm::isInt<32>(value); }))
      return mlir::emitOptionalError(loc, "conv kernel, strides, pads or dilations do not fit 32 bits");
  const int64_t channels = input[window.last ? spatial + 1 : 1];
  if (window.groups < 1 || channels % window.groups || window.outChannels < 0 || window.outChannels % window.groups)
    return mlir::emitOptionalError(loc, "conv of ", channels, " to ", window.outChannels, " channels in ",
                                   window.groups, " groups does not match the shape of the weight");
  llvm::SmallVector<int64_t> shape{input[0]};
  if (!window.last)
    shape.push_back(window.outChannels);
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t extent = input[i + (window.last ? 1 : 2)];
    if (strides[i] < 1 || dilations[i] < 1 || kernel[i] < 1)
      return mlir::emitOptionalError(loc, "conv strides, dilations and kernel extents must be at least 1");
    // Below 2^62, so that with an extent of the same size nothing overflows.
    int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
    if (extent > (int64_t(1) << 60))
      return mlir::emitOptionalError(loc, "conv input of ", extent, " elements in spatial dimension ", i,
                                     " exceeds 2^60");
    int64_t room = extent + pads[i] + pads[spatial + i] - reach;
    if (room < 0)
      return mlir::emitOptionalError(loc, "conv kernel reaches over ", reach, " elements of spatial dimension ", i,
                                     ", and the padded input has only ", room + reach, " elements there");
    shape.push_back(room / strides[i] + 1);
  }
  if (window.last)
    shape.push_back(window.outChannels);
  return shape;
}

/// The names of the cost classes of one kind of convolution. The classes differ in the rate that libraries reach: a
/// pointwise convolution is a matrix product, Winograd's algorithm needs fewer operations for a 3x3 window, and a
/// depthwise one has no channels to sum over.
struct ConvClasses {
  llvm::StringRef general, pointwise, depthwise, threeByThree;
};

/// `channels` are those of the image. A window of 3x3 has stride 1, dilation 1 and one group.
inline llvm::StringRef convCostClass(const ConvClasses &classes, llvm::ArrayRef<int64_t> kernel,
                                     llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> dilations, int64_t groups,
                                     int64_t channels) {
  auto areAll = [](llvm::ArrayRef<int64_t> values, int64_t wanted) {
    return llvm::all_of(values, [wanted](int64_t value) { return value == wanted; });
  };
  if (groups > 1)
    return groups == channels ? classes.depthwise : classes.general;
  if (areAll(kernel, 1))
    return classes.pointwise;
  const bool isDense = areAll(strides, 1) && areAll(dilations, 1);
  return isDense && kernel.size() == 2 && areAll(kernel, 3) ? classes.threeByThree : classes.general;
}

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_CONVSHAPE_H
