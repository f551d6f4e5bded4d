//===- Quantize.h - Quantization shared by converters -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_QUANTIZE_H
#define SLUICE_LIB_ONNX_IMPORT_QUANTIZE_H

#include "NodeContext.h"

namespace sluice::onnximport {

/// Repeats a scale or zero point of blocks along an axis to one value per element. Without blocks (0), does what
/// alongAxis does.
mlir::Value perElement(NodeContext &node, mlir::Value parameter, llvm::ArrayRef<int64_t> shape, int64_t axis,
                       int64_t block);

/// The results of DynamicQuantizeLinear: unsigned bytes, one scale and one zero point.
struct DynamicBytes {
  mlir::Value bytes, scale, zeroPoint;
};
DynamicBytes quantizeDynamically(NodeContext &node, mlir::Value x);

/// Unpacks numbers of 2, 4 or 8 bits that are packed in bytes along the last dimension, the lowest bits first. That
/// dimension becomes 4, 2 or 1 times as long.
mlir::Value unpackBits(NodeContext &node, mlir::Value bytes, int64_t bits);

/// Whether the product by weights in blocks accepts elements of this type as input and as scales.
bool isBlockFloat(mlir::Value value);
/// Whether block_matmul reads weights in blocks of this length.
bool isBlockLength(int64_t block);
/// The product of a matrix, or a batch of them, by a constant one that a DequantizeLinear made by blocks along the
/// contracted dimension; it reads the integers. Null if the right-hand side was made in another way.
mlir::Value blockMatmul(NodeContext &node, mlir::Value lhs, mlir::Value rhs, bool transposeRhs);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_QUANTIZE_H
