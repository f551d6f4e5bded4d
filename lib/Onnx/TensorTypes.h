//===- TensorTypes.h - ONNX tensors in the dialect's types ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Conversions between the dialect's types and ONNX's element types, and shapes of values, for the importer and the
// exporter.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_TENSORTYPES_H
#define SLUICE_LIB_ONNX_TENSORTYPES_H

#include "dialects/Dataflow/IR/Dataflow.h"

namespace sluice::onnxtensor {

/// The importer evaluates operators on constants whose results have at most this many elements.
inline constexpr int64_t kFoldElements = 4096;

/// Constants of more bytes are resources, which refer to the model's data instead of copying it.
inline constexpr int64_t kInlineBytes = 1024;

mlir::RankedTensorType tensorType(mlir::Value value);
/// Empty for no value: a conversion goes on after an error that it has reported.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
inline int64_t rankOf(mlir::Value value) { return static_cast<int64_t>(shapeOf(value).size()); }
mlir::Type elementTypeOf(mlir::Value value);
/// The dialect's type for an ONNX element type; null if the dialect has no such type.
mlir::Type elementTypeFromOnnx(mlir::MLIRContext *context, int64_t onnxType);
/// The inverse of elementTypeFromOnnx; onnxtype::Undefined if ONNX has no such type.
int32_t elementTypeToOnnx(mlir::Type elementType);

/// Whether every element is known to be a whole number, NaN or an infinity, for all inputs of the model.
bool isIntegral(mlir::Value value);

} // namespace sluice::onnxtensor

#endif // SLUICE_LIB_ONNX_TENSORTYPES_H
