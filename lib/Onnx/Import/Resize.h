//===- Resize.h - What resampling nodes ask for -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_RESIZE_H
#define SLUICE_LIB_ONNX_IMPORT_RESIZE_H

#include "NodeContext.h"

namespace sluice::onnximport {

/// How sizes are read: each exactly, or as limits that one scale for all axes must not exceed, or must reach.
enum class AspectPolicy { stretch, notLarger, notSmaller };

/// The parameters except the numbers. Either scales or sizes are given. Lists have one entry for each of `axes`, and
/// the region has two.
struct ResizeForm {
  dataflow::ResizeMode mode = dataflow::ResizeMode::nearest;
  dataflow::CoordinateMode coordinates = dataflow::CoordinateMode::asymmetric;
  dataflow::NearestMode nearest = dataflow::NearestMode::floor;
  /// Whether the rules before opset 11 hold: `nearest` is ceil if a scale is below 1.
  bool shrinksUp = false;
  AspectPolicy policy = AspectPolicy::stretch;
  Dims axes;
  /// The inputs' numbers. There is a region only if the coordinates need it.
  std::optional<size_t> region, scales, sizes;

  bool crops() const { return coordinates == dataflow::CoordinateMode::tf_crop_and_resize; }
};

/// Resamples by scales, sizes or a region of which some are known only at run time.
llvm::LogicalResult resizeInStep(NodeContext &node, const ResizeForm &form);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_RESIZE_H
