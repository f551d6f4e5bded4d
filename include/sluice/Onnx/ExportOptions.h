//===- ExportOptions.h - Where a written model's weights go -----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_ONNX_EXPORTOPTIONS_H
#define SLUICE_ONNX_EXPORTOPTIONS_H

#include <cstdint>

namespace sluice {

/// Where constants beyond a few hundred bytes go.
enum class WeightStorage {
  Auto,     ///< Into the model; into a file beside it where they exceed ExportOptions::inlineLimitBytes.
  Inline,   ///< Into the model, which protobuf limits to 2 GiB.
  External, ///< Into a file beside the model, named as the model with ".data" added.
  Omit,     ///< Nowhere: a model to look at, not to run.
};

struct ExportOptions {
  WeightStorage weights = WeightStorage::Auto;
  int64_t inlineLimitBytes = int64_t(1) << 30;
};

} // namespace sluice

#endif // SLUICE_ONNX_EXPORTOPTIONS_H
