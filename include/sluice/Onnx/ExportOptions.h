//===- ExportOptions.h - Options for writing ONNX models --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_ONNX_EXPORTOPTIONS_H
#define SLUICE_ONNX_EXPORTOPTIONS_H

#include <cstdint>

namespace sluice {

/// Where constants of more than a few hundred bytes are stored.
enum class WeightStorage {
  Auto,     ///< In the model, or in a file beside it if they exceed ExportOptions::inlineLimitBytes.
  Inline,   ///< In the model, which protobuf limits to 2 GiB.
  External, ///< In a file beside the model, with the model's name and ".data" added.
  Omit,     ///< They are not stored. The model can be inspected but not run.
};

struct ExportOptions {
  WeightStorage weights = WeightStorage::Auto;
  int64_t inlineLimitBytes = int64_t(1) << 30;
};

} // namespace sluice

#endif // SLUICE_ONNX_EXPORTOPTIONS_H
