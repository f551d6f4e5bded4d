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

/// An initializer that does not contain its data yet.
struct PendingWeight {
  /// An initializer of the model that is written. It gets its raw data, or the place of the data.
  ::onnx::TensorProto *initializer = nullptr;
  int64_t bytes = 0;
  /// The data: a view, or a copy in `storage`.
  std::function<Expected<std::span<const char>>(std::vector<char> &storage)> data;
};

/// The serialized model with all weights inside. Fails beyond 2 GiB.
Expected<std::string> modelBytes(::onnx::ModelProto &model, const std::vector<PendingWeight> &weights);

/// Writes the model, and its weights to the place that the options choose. Both files are complete before either gets
/// its name. Fails if a file cannot be written, or if the model must be a single file and is too large for it.
Status writeModelFiles(::onnx::ModelProto &model, const std::vector<PendingWeight> &weights, const std::string &path,
                       const ExportOptions &options);

} // namespace sluice

#endif // SLUICE_LIB_ONNX_WEIGHTFILES_H
