//===- IntegerPanels.h - Right-hand sides of products of bytes --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The layout that the dialect's verifiers, the packer and the emitters of
// products of bytes agree on. Plain C++.
//
// All forms multiply an unsigned byte of A by a signed byte of B. Signed bytes
// of A and unsigned bytes of B become these by adding or subtracting 128, which
// moves the zero point by as much: (a + 128) - (za + 128) = a - za.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_INTEGERPANELS_H
#define SLUICE_DATAFLOW_IR_INTEGERPANELS_H

#include <cstdint>

namespace sluice::emit {

/// How bytes are multiplied and added to sums of 32 bits, exact modulo 2^32.
enum class IntegerDot : uint8_t {
  Plain, ///< One product a lane, of numbers of 32 bits: on any target.
  Pairs, ///< x86 pmaddwd: two products of 16 bits a lane. A is in 16 bits.
  Quads, ///< x86 vpdpbusd: four products a lane.
  Tiles, ///< AMX: 64 products a lane, of tile registers of 16 rows of 64 bytes. Needs columns without zero points.
};
/// Bytes of a tile register's row, rows of one, and sums of 32 bits in a row.
inline constexpr int64_t kTileBytes = 64, kTileRows = 16, kTileColumns = 16;

/// Neighbours along k that lie side by side in B: what one lane adds at a time.
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
/// Elements of k that a kernel takes at once: segments are padded to a multiple of them.
inline int64_t stepOf(IntegerDot dot) { return dot == IntegerDot::Tiles ? kTileBytes : depthOf(dot); }
/// Bytes of an element of A.
inline int64_t lhsBytes(IntegerDot dot) { return dot == IntegerDot::Pairs ? 2 : 1; }

/// Elements between rows of A in bf16 that have so many, where they are copied: rows a multiple of 512 bytes apart
/// share few sets of a first-level cache, and tiles load 32 of them.
inline int64_t halfPitch(int64_t elements) { return elements % 256 == 0 ? elements + 32 : elements; }

/// How B lies in memory: [ceil(n/panel)] panels, each of [segments][steps][panel][depth] signed bytes, zero padded,
/// then for each column, in 32 bits, the sum over k of (b - zb); then, with zero points, each column's zb. k is
/// `segments` times `length`: segments are padded one by one.
struct IntegerPanels {
  IntegerDot dot = IntegerDot::Plain;
  int64_t n = 1;
  int64_t segments = 1, length = 1;
  int64_t panel = 1;          ///< Columns.
  bool hasZeroPoints = false; ///< Some column's zb, less 128 where B is unsigned, may be other than 0.
  /// Other than 0: elements are floats, each the sum of so many numbers of bf16, and `length` counts the bytes of one
  /// of them. A panel then holds these numbers one after the other, without sums.
  int64_t parts = 0;

  int64_t numPanels() const { return (n + panel - 1) / panel; }
  /// Steps of a segment, each of `depth` elements of k.
  int64_t steps() const { return (length + stepOf(dot) - 1) / stepOf(dot) * (stepOf(dot) / depthOf(dot)); }
  /// Bytes of a panel before its sums, of floats those of one part; and in all.
  int64_t weightBytes() const { return segments * steps() * depthOf(dot) * panel; }
  int64_t panelBytes() const {
    return parts ? parts * weightBytes() : weightBytes() + 4 * panel * (hasZeroPoints ? 2 : 1);
  }
  int64_t bytes() const { return numPanels() * panelBytes(); }
};

} // namespace sluice::emit

#endif // SLUICE_DATAFLOW_IR_INTEGERPANELS_H
