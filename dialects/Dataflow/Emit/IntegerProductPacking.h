//===- IntegerProductPacking.h - Weights of integer products ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Packs constant weights and their sums when a model is linked. Plain C++.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTPACKING_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTPACKING_H

#include "dialects/Dataflow/Emit/IntegerProductSpec.h"
#include <cstring>

namespace sluice::emit {

/// Packs a matrix [segments * length][n] of bytes into panels.bytes() bytes. `zeroPoint(column)` is the column's zero
/// point, in the type of the bytes, which `isUnsigned` gives.
template <typename ZeroPoint>
void packIntegerPanels(const IntegerPanels &panels, bool isUnsigned, const unsigned char *matrix, ZeroPoint zeroPoint,
                       char *packed) {
  const int64_t depth = depthOf(panels.dot), width = panels.panel;
  const int32_t shift = isUnsigned ? 128 : 0;
  for (int64_t start = 0; start < panels.n; start += width) {
    char *bytes = packed + start / width * panels.panelBytes();
    std::memset(bytes, 0, panels.panelBytes());
    char *sums = bytes + panels.weightBytes();
    for (int64_t lane = 0; lane < width && start + lane < panels.n; ++lane) {
      uint32_t sum = 0;
      for (int64_t segment = 0; segment < panels.segments; ++segment)
        for (int64_t k = 0; k < panels.length; ++k) {
          unsigned char byte = matrix[(segment * panels.length + k) * panels.n + start + lane];
          const auto value = static_cast<signed char>(isUnsigned ? byte ^ 0x80U : byte);
          int64_t step = segment * panels.steps() + k / depth;
          bytes[(step * width + lane) * depth + k % depth] = static_cast<char>(value);
          sum += static_cast<uint32_t>(static_cast<int32_t>(value));
        }
      auto zero = static_cast<uint32_t>(static_cast<int32_t>(zeroPoint(start + lane)) - shift);
      sum -= static_cast<uint32_t>(panels.segments * panels.length) * zero;
      std::memcpy(sums + 4 * lane, &sum, 4);
      if (panels.hasZeroPoints)
        std::memcpy(sums + 4 * (width + lane), &zero, 4);
    }
  }
}

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTPACKING_H
