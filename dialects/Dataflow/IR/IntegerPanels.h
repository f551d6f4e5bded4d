//===- IntegerPanels.h - Right-hand sides of products of bytes --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The layout that the dialect's verifiers, the packer and the emitters of
// products of bytes agree on. Plain C++.
//
// All forms multiply an unsigned byte of A by a signed byte of B. Signed bytes of A become unsigned by adding 128, and
// unsigned bytes of B become signed by subtracting 128. The zero point changes by the same number: (a + 128) - (za +
// 128) = a - za.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_INTEGERPANELS_H
#define SLUICE_DATAFLOW_IR_INTEGERPANELS_H

#include <cstdint>

namespace sluice::emit {

/// The form in which bytes are multiplied and added to sums of 32 bits, exact modulo 2^32.
enum class IntegerDot : uint8_t {
  Plain, ///< One product of 32-bit numbers per lane, on any target.
  Pairs, ///< x86 pmaddwd: two products of 16-bit numbers per lane. Elements of A have 16 bits.
  Quads, ///< x86 vpdpbusd: four products per lane.
  Tiles, ///< AMX: 64 products per lane, in tile registers of 16 rows of 64 bytes. Columns must have no zero points.
};
/// The bytes of a row of a tile register, its rows, and the sums of 32 bits in a row.
inline constexpr int64_t kTileBytes = 64, kTileRows = 16, kTileColumns = 16;

/// The number of neighbours along k that are side by side in B: as many as one lane adds at a time.
inline int64_t depthOf(IntegerDot dot) {
  switch (dot) {
  case IntegerDot::Plain:
    return 1;
  case IntegerDot::Pairs:
    return 2;
  case IntegerDot::Quads:
  case IntegerDot::Tiles:
    return 4;
  }
  return 1;
}
/// The elements of k that a kernel takes at once. Segments are padded to a multiple of them.
inline int64_t stepOf(IntegerDot dot) { return dot == IntegerDot::Tiles ? kTileBytes : depthOf(dot); }
/// /// The bytes of an element of A.
inline int64_t lhsBytes(IntegerDot dot) { return dot == IntegerDot::Pairs ? 2 : 1; }

/// The distance between copied rows of A of `elements` bf16 elements, in elements. Rows at multiples of 512 bytes would
/// share few sets of a first-level cache, and tiles load 32 rows.
inline int64_t halfPitch(int64_t elements) { return elements % 256 == 0 ? elements + 32 : elements; }

/// How B lies in memory: [ceil(n/panel)] panels, each of [segments][steps][panel][depth] signed bytes, zero padded,
/// then for each column the sum over k of (b - zb) in 32 bits, and then, with zero points, each column's zb. k is
/// `segments` * `length`; each segment is padded separately.
struct IntegerPanels {
  IntegerDot dot = IntegerDot::Plain;
  int64_t n = 1;
  int64_t segments = 1, length = 1;
  int64_t panel = 1;          ///< The columns of a panel.
  bool hasZeroPoints = false; ///< Whether some column's zb, minus 128 if B is unsigned, may differ from 0.
  /// If not 0, elements are floats, each the sum of `parts` bf16 numbers, and `length` counts the bytes of one part. A
  /// panel then holds the parts one after the other, without sums.
  int64_t parts = 0;

  int64_t numPanels() const { return (n + panel - 1) / panel; }
  /// The steps of a segment, each of `depth` elements of k.
  int64_t steps() const { return (length + stepOf(dot) - 1) / stepOf(dot) * (stepOf(dot) / depthOf(dot)); }
  /// The bytes of a panel before its sums, or of one part for floats; and all bytes of a panel.
  int64_t weightBytes() const { return segments * steps() * depthOf(dot) * panel; }
  int64_t panelBytes() const {
    return parts ? parts * weightBytes() : weightBytes() + 4 * panel * (hasZeroPoints ? 2 : 1);
  }
  int64_t bytes() const { return numPanels() * panelBytes(); }
};

} // namespace sluice::emit

#endif // SLUICE_DATAFLOW_IR_INTEGERPANELS_H
