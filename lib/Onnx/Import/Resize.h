//===- Resize.h - What resampling nodes ask for -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_RESIZE_H
#define SLUICE_LIB_ONNX_IMPORT_RESIZE_H

#include "NodeContext.h"

namespace sluice::onnximport {

/// How sizes are read: each as it is, or as what one scale for all axes stays within, or reaches.
enum class AspectPolicy { stretch, notLarger, notSmaller };

/// All but the numbers. Of scales and sizes, one is given; lists have an entry for each of `axes`, the region two.
struct ResizeForm {
  dataflow::ResizeMode mode = dataflow::ResizeMode::nearest;
  dataflow::CoordinateMode coordinates = dataflow::CoordinateMode::asymmetric;
  dataflow::NearestMode nearest = dataflow::NearestMode::floor;
  /// As before opset 11: `nearest` is ceil where a scale is below 1.
  bool shrinksUp = false;
  AspectPolicy policy = AspectPolicy::stretch;
  Dims axes;
  std::optional<size_t> region, scales, sizes; ///< Inputs; a region only where the coordinates need it.

  bool crops() const { return coordinates == dataflow::CoordinateMode::tf_crop_and_resize; }
};

/// Resampling by scales, sizes or a region of which some are known only when the model runs.
llvm::LogicalResult resizeInStep(NodeContext &node, const ResizeForm &form);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_RESIZE_H
