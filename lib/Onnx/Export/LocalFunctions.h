//===- LocalFunctions.h - Operators of ours, by ONNX's ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An operator whose result has room for all there can be, and a count, is none of
// ONNX's. An exported model says what it is by a function of its own, in domain
// "sluice", which any runtime can run. The importer knows these by name.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_EXPORT_LOCALFUNCTIONS_H
#define SLUICE_LIB_ONNX_EXPORT_LOCALFUNCTIONS_H

#include "llvm/ADT/StringRef.h"

#include <onnx/onnx_pb.h>

namespace sluice::onnxexport {

inline constexpr llvm::StringLiteral kOwnDomain = "sluice";
inline constexpr int64_t kOwnVersion = 1;

/// Adds the function of this name to a model that does not have it, and the domain to what the model imports.
void addLocalFunction(::onnx::ModelProto &model, llvm::StringRef name, int64_t opset);

} // namespace sluice::onnxexport

#endif // SLUICE_LIB_ONNX_EXPORT_LOCALFUNCTIONS_H
