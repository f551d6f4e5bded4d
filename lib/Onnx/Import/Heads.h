//===- Heads.h - Attention's heads ------------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_HEADS_H
#define SLUICE_LIB_ONNX_IMPORT_HEADS_H

#include "NodeContext.h"

namespace sluice::onnximport {

/// [batch, sequence, heads * size] -> [batch, heads, sequence, size]. Null, with a report, if the operand cannot be
/// divided into the heads.
mlir::Value splitHeads(NodeContext &node, mlir::Value x, int64_t heads);
/// The inverse.
mlir::Value joinHeads(NodeContext &node, mlir::Value x);
/// [batch, heads, sequence, size] with each head repeated `times` times, one after the other.
mlir::Value repeatHeads(NodeContext &node, mlir::Value x, int64_t times);
/// Rotates the first elements of each head, [batch, heads, sequence, size], in pairs: neighbours if they are
/// interleaved, else elements of the first half with those of the second. The cosines and sines of the pairs' angles
/// are [batch or 1, sequence, pairs].
mlir::Value rotateHeads(NodeContext &node, mlir::Value x, mlir::Value cosine, mlir::Value sine, bool interleaved);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_HEADS_H
