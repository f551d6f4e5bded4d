//===- Linear.h - Products shared by converters -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_LINEAR_H
#define SLUICE_LIB_ONNX_IMPORT_LINEAR_H

#include "NodeContext.h"

namespace sluice::onnximport {

/// numpy.matmul: vectors on either side, batch dimensions broadcast.
mlir::Value numpyMatmul(NodeContext &node, mlir::Value lhs, mlir::Value rhs);

/// The activation that an operator of ONNX Runtime has fused behind it, by its name and parameters; none where the name
/// is empty. Null, with a report, where it is not known.
mlir::Value activate(NodeContext &node, mlir::Value x, llvm::StringRef activation, double first, double second);

/// Bytes with their zero points, null or of the bytes' type: one, or one a row (lhs) or column (rhs).
struct ByteOperand {
  mlir::Value bytes, zeroPoint;
};
/// numpy.matmul of numbers less their zero points: of bytes in i32; of others, or where zero points are of a form that
/// the operator lacks, in `otherwise`.
mlir::Value integerMatmul(NodeContext &node, ByteOperand lhs, ByteOperand rhs, mlir::Type otherwise);

/// The products' sums as f32 numbers, multiplied by the scale of lhs, one number, and that of rhs, one number or one a
/// column.
mlir::Value scaledProduct(NodeContext &node, ByteOperand lhs, ByteOperand rhs, mlir::Value lhsScale,
                          mlir::Value rhsScale);

/// Tensors of bytes, signed or not.
bool isBytes(mlir::Value value);

/// What a value of f32 was dequantized from: bytes, whose scales and zero points are one for all or one for each
/// position of `axis`. Null where it was not, or otherwise.
const Dequantized *dequantizedBytes(NodeContext &node, mlir::Value value, int64_t axis);

/// Adds a bias of f32 along `axis` to sums that `scale` multiplies, in i32, where it was dequantized by that same
/// scale. Null otherwise.
mlir::Value addIntegerBias(NodeContext &node, mlir::Value sums, mlir::Value bias, mlir::Value scale, int64_t axis);

/// A quantization parameter as it broadcasts against a tensor of `rank`: one value for all, or one for each position
/// of `axis`.
mlir::Value alongAxis(NodeContext &node, mlir::Value parameter, int64_t rank, int64_t axis);

/// x - zeroPoint in `type`; a missing (null) zero point is 0.
mlir::Value centered(NodeContext &node, mlir::Value x, mlir::Value zeroPoint, mlir::Type type, int64_t axis);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_LINEAR_H
