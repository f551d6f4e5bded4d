//===- HalfPacking.h - Weights of half-precision products -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Splits floats into numbers of bf16 and packs constant weights when a model
// is linked. Plain C++.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_HALFPACKING_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_HALFPACKING_H

#include "dialects/Dataflow/IR/IntegerPanels.h"
#include <bit>
#include <cstring>

namespace sluice::emit {

/// The bits of the bf16 numbers whose sum is an element.
struct HalfParts {
  uint16_t first = 0, second = 0;
};

/// Rounds to nearest even; a NaN stays a NaN.
inline uint16_t roundToBf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (x != x)
    return static_cast<uint16_t>((bits | 0x400000U) >> 16);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/// Splits an f16 exactly. The first part is the greatest number of smaller magnitude, and the second has four bits.
/// Neither part is zero unless x is, so that an infinity of the other operand is never multiplied by a zero part.
inline HalfParts splitHalf(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t magnitude = bits & 0x7fffffffU;
  const uint32_t first = (bits & 0x80000000U) | ((magnitude ? magnitude - 1 : 0) & 0xffff0000U);
  const float rest = x - std::bit_cast<float>(first);
  return {static_cast<uint16_t>(first >> 16), static_cast<uint16_t>(std::bit_cast<uint32_t>(rest) >> 16)};
}

/// Packs a matrix [segments * length][n] of floats into panels.bytes() bytes. `element(k, n)` returns an element as a
/// float; the calls are row by row.
template <typename Element>
void packHalfPanels(const IntegerPanels &panels, Element element, char *packed) {
  constexpr int64_t depth = 2, bytes = 2;
  const int64_t length = panels.length / bytes, width = panels.panel;
  std::memset(packed, 0, panels.bytes());
  for (int64_t segment = 0; segment < panels.segments; ++segment)
    for (int64_t k = 0; k < length; ++k)
      for (int64_t n = 0; n < panels.n; ++n) {
        const float value = element(segment * length + k, n);
        const HalfParts parts = panels.parts == 2 ? splitHalf(value) : HalfParts{roundToBf16(value), 0};
        const int64_t step = segment * panels.steps() + k / depth;
        char *at = packed + n / width * panels.panelBytes() + ((step * width + n % width) * depth + k % depth) * bytes;
        std::memcpy(at, &parts.first, bytes);
        if (panels.parts == 2)
          std::memcpy(at + panels.weightBytes(), &parts.second, bytes);
      }
}

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_HALFPACKING_H
