//===- WeightFiles.h - Models written with their weights --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_WEIGHTFILES_H
#define SLUICE_LIB_ONNX_WEIGHTFILES_H

#include "sluice/Onnx/ExportOptions.h"
#include "sluice/Support/Error.h"

#include <functional>
#include <onnx/onnx_pb.h>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// An initializer whose data is not in it yet.
struct PendingWeight {
  ::onnx::TensorProto *initializer = nullptr; ///< Of the model that is written; gets raw data, or its place.
  int64_t bytes = 0;
  /// The data: a view, or a copy in `storage`.
  std::function<Expected<std::span<const char>>(std::vector<char> &storage)> data;
};

/// The serialized model with all weights inside. Fails beyond 2 GiB.
Expected<std::string> modelBytes(::onnx::ModelProto &model, const std::vector<PendingWeight> &weights);

/// Writes the model, and its weights where the options say. Both files are whole before either gets its name. Fails
/// where a file cannot be written, and where the model is too large for a single file and has to be one.
Status writeModelFiles(::onnx::ModelProto &model, const std::vector<PendingWeight> &weights, const std::string &path,
                       const ExportOptions &options);

} // namespace sluice

#endif // SLUICE_LIB_ONNX_WEIGHTFILES_H
