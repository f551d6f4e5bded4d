//===- BlockPacking.h - Packs weights quantized in blocks -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Packs weights that are quantized in blocks, when a model is linked. Plain C++.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_BLOCKPACKING_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_BLOCKPACKING_H

#include "dialects/Dataflow/IR/BlockPanels.h"
#include <cstring>

namespace sluice::emit {

/// Weights [n][blocks * block * bits / 8], scales [n][blocks] and zero points, [n][ceil(blocks * bits / 8)] packed
/// bytes (of BlockZeros::Bytes) or given by `zero(n, block)` as a float -> panels.bytes() bytes. On little-endian
/// machines, a word of a panel is four unchanged bytes of a row.
template <typename Zero>
void packBlockPanels(const BlockPanels &panels, const char *weights, const char *scales, const char *packedZeros,
                     Zero zero, char *packed) {
  constexpr int64_t word = 4;
  const int64_t blocks = panels.blocks(), words = panels.block / panels.rowsOfWord();
  const int64_t rowBytes = blocks * words * word, zeroRow = (blocks * panels.bits + 7) / 8, each = 8 / panels.bits;
  std::memset(packed, 0, panels.bytes());
  for (int64_t n = 0; n < panels.n; ++n) {
    char *panel = packed + n / panels.panel * panels.panelBytes();
    const int64_t lane = n % panels.panel;
    for (int64_t b = 0; b < blocks; ++b) {
      char *to = panel + b * panels.blockBytes();
      std::memcpy(to + lane * panels.scaleBytes, scales + (n * blocks + b) * panels.scaleBytes, panels.scaleBytes);
      if (panels.zeros == BlockZeros::Bytes) {
        const auto byte = static_cast<unsigned char>(packedZeros[n * zeroRow + b / each]);
        to[panels.zerosAt() + lane] = static_cast<char>((byte >> (b % each * panels.bits)) & ((1 << panels.bits) - 1));
      } else if (panels.zeros == BlockZeros::Floats) {
        const float value = zero(n, b);
        std::memcpy(to + panels.zerosAt() + lane * word, &value, word);
      }
      const char *from = weights + n * rowBytes + b * words * word;
      for (int64_t w = 0; w < words; ++w)
        std::memcpy(to + panels.wordsAt() + (w * panels.panel + lane) * word, from + w * word, word);
    }
  }
}

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_BLOCKPACKING_H
