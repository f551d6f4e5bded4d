//===- LocalFunctions.h - Operators of ours, by ONNX's ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// ONNX has no operators whose result has room for the greatest extent, with a count of the valid elements. An exported
// model defines such an operator by a function in domain "sluice", which any runtime can run. The importer knows these
// functions by name.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_EXPORT_LOCALFUNCTIONS_H
#define SLUICE_LIB_ONNX_EXPORT_LOCALFUNCTIONS_H

#include "llvm/ADT/StringRef.h"

#include <onnx/onnx_pb.h>

namespace sluice::onnxexport {

inline constexpr llvm::StringLiteral kOwnDomain = "sluice";
inline constexpr int64_t kOwnVersion = 1;

/// Adds the function of this name, if the model does not have it, and its domain to the model's imports.
void addLocalFunction(::onnx::ModelProto &model, llvm::StringRef name, int64_t opset);

} // namespace sluice::onnxexport

#endif // SLUICE_LIB_ONNX_EXPORT_LOCALFUNCTIONS_H
