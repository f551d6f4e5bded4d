//===- Linear.h - Products shared by converters -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_LINEAR_H
#define SLUICE_LIB_ONNX_IMPORT_LINEAR_H

#include "NodeContext.h"

namespace sluice::onnximport {

/// numpy.matmul: each side may be a vector, and batch dimensions are broadcast.
mlir::Value numpyMatmul(NodeContext &node, mlir::Value lhs, mlir::Value rhs);

/// Applies the activation that is fused into an operator of ONNX Runtime, by its name and parameters. An empty name
/// means no activation. Null, with a report, if the name is unknown.
mlir::Value activate(NodeContext &node, mlir::Value x, llvm::StringRef activation, double first, double second);

/// Bytes with their zero points, which are null or of the bytes' type: one, or one per row (lhs) or column (rhs).
struct ByteOperand {
  mlir::Value bytes, zeroPoint;
};
/// numpy.matmul of numbers minus their zero points. The result is i32 for bytes, or `otherwise` for other numbers and
/// for zero points of a form that the operator lacks.
mlir::Value integerMatmul(NodeContext &node, ByteOperand lhs, ByteOperand rhs, mlir::Type otherwise);

/// The sums of products as f32 numbers, multiplied by the scale of lhs, which is one number, and by that of rhs, which
/// is one number or one per column.
mlir::Value scaledProduct(NodeContext &node, ByteOperand lhs, ByteOperand rhs, mlir::Value lhsScale,
                          mlir::Value rhsScale);

/// Whether the tensors have bytes as elements, signed or not.
bool isBytes(mlir::Value value);

/// The bytes that a value of f32 was dequantized from, with one scale and zero point for all or one for each position
/// of `axis`. Null if it was not dequantized, or in another way.
const Dequantized *dequantizedBytes(NodeContext &node, mlir::Value value, int64_t axis);

/// Adds a bias of f32 along `axis`, in i32, to sums that `scale` multiplies, if the bias was dequantized by the same
/// scale. Null otherwise.
mlir::Value addIntegerBias(NodeContext &node, mlir::Value sums, mlir::Value bias, mlir::Value scale, int64_t axis);

/// A quantization parameter in a shape that broadcasts to a tensor of rank `rank`. It has one value for all, or one for
/// each position of `axis`.
mlir::Value alongAxis(NodeContext &node, mlir::Value parameter, int64_t rank, int64_t axis);

/// x - zeroPoint in `type`; a missing (null) zero point is 0.
mlir::Value centered(NodeContext &node, mlir::Value x, mlir::Value zeroPoint, mlir::Type type, int64_t axis);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_LINEAR_H
