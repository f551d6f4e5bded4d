//===- Quantize.h - Quantization shared by converters -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_QUANTIZE_H
#define SLUICE_LIB_ONNX_IMPORT_QUANTIZE_H

#include "NodeContext.h"

namespace sluice::onnximport {

/// A scale or zero point given per block along an axis, repeated to one value an element. Without blocks (0): as
/// alongAxis does.
mlir::Value perElement(NodeContext &node, mlir::Value parameter, llvm::ArrayRef<int64_t> shape, int64_t axis,
                       int64_t block);

/// What DynamicQuantizeLinear returns: bytes without sign, one scale and one zero point.
struct DynamicBytes {
  mlir::Value bytes, scale, zeroPoint;
};
DynamicBytes quantizeDynamically(NodeContext &node, mlir::Value x);

/// Numbers of 2, 4 or 8 bits that lie in bytes along the last dimension, the lowest bits first: as many times longer.
mlir::Value unpackBits(NodeContext &node, mlir::Value bytes, int64_t bits);

/// Whether elements are of a type that the product by weights in blocks takes as its input and as scales.
bool isBlockFloat(mlir::Value value);
/// Whether block_matmul reads weights in blocks of so many.
bool isBlockLength(int64_t block);
/// The product of a matrix, or a batch of them, by a constant one that a DequantizeLinear made by blocks along the
/// contracted dimension; it reads the integers. Null where the right-hand side was not made so.
mlir::Value blockMatmul(NodeContext &node, mlir::Value lhs, mlir::Value rhs, bool transposeRhs);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_QUANTIZE_H
