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

/// A quantization parameter as it broadcasts against a tensor of `rank`: one value for all, or one for each position
/// of `axis`.
mlir::Value alongAxis(NodeContext &node, mlir::Value parameter, int64_t rank, int64_t axis);

/// x - zeroPoint in `type`; a missing (null) zero point is 0.
mlir::Value centered(NodeContext &node, mlir::Value x, mlir::Value zeroPoint, mlir::Type type, int64_t axis);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_LINEAR_H
