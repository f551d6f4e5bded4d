//===- Windows.h - Geometry of convolutions and pools -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_WINDOWS_H
#define SLUICE_LIB_ONNX_IMPORT_WINDOWS_H

#include "NodeContext.h"

namespace sluice::onnximport {

/// Lists have one entry per spatial dimension.
struct Windows {
  Dims kernel, strides, dilations, padsLow, padsHigh;
  /// Result extents.
  Dims output;
};

/// The strides, dilations and explicit pads of a node, checked: extents up to 2^30, strides and dilations at least 1.
llvm::FailureOr<Windows> windowAttributes(NodeContext &node, llvm::ArrayRef<int64_t> kernel);

/// Does what windowAttributes() does, and applies auto_pad and ceil_mode for an input of `spatial` extents.
llvm::FailureOr<Windows> windowsOf(NodeContext &node, llvm::ArrayRef<int64_t> spatial, llvm::ArrayRef<int64_t> kernel);

/// Adds a bias of [C] to dimension 1; returns `x` itself if there is none.
mlir::Value addChannelBias(NodeContext &node, mlir::Value x, mlir::Value bias);

/// conv with the node's attributes, without its bias.
mlir::Value convolution(NodeContext &node, mlir::Value x, mlir::Value weight);

/// The same for bytes minus their zero points (null for 0), in i32. The input has one zero point; the weight has one,
/// or one per filter.
mlir::Value integerConvolution(NodeContext &node, mlir::Value x, mlir::Value xZero, mlir::Value weight,
                               mlir::Value weightZero);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_WINDOWS_H
