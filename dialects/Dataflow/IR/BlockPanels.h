//===- BlockPanels.h - Weights that are quantized in blocks -----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The layout that the dialect's verifiers, the packer and the emitters of
// products by weights of 2, 4 and 8 bits agree on. Plain C++.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_BLOCKPANELS_H
#define SLUICE_DATAFLOW_IR_BLOCKPANELS_H

#include <cstdint>

namespace sluice::emit {

/// The zero points of blocks. Without them, every block has half of the range, 2^(bits - 1).
enum class BlockZeros : uint8_t { None, Bytes, Floats };

/// The lengths of blocks are multiples of this many elements of k.
inline constexpr int64_t kBlockStep = 16;

/// How a row of k elements that are rounded to bytes in blocks lies in memory: each block has its scale (f32), the
/// negated sum of its bytes (i32), and the bytes. Elements beyond k are zero. A word of a weight of `bits` bits, masked
/// to one field in each of its four bytes, is multiplied by four consecutive bytes of the row. Therefore the elements
/// of a word are in this order: first those in the lowest bits of the word's bytes.
struct RoundedRows {
  int64_t bits = 4, block = 32;
  int64_t k = 1;

  static constexpr int64_t kSumAt = 4, kBytesAt = 8;
  /// The sums of the products of longer blocks may exceed 32 bits.
  static constexpr int64_t kMostBlock = 1 << 15;
  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t blockBytes() const { return kBytesAt + block; }
  int64_t rowBytes() const { return blocks() * blockBytes(); }
  /// The position of an element of a word among the row's bytes for that word.
  int64_t placeOf(int64_t element) const { return element % (8 / bits) * 4 + element / (8 / bits); }
};

/// How a matrix [k][n] lies in memory: [ceil(n/panel)] panels, each of [ceil(k/block)] blocks. A block has a scale for
/// each column of the panel, then the columns' zero points, if there are any, then words [block/rowsOfWord][panel] of
/// 32 bits: a word has consecutive elements of one column along k, the first in its lowest bits. Columns beyond n are
/// zero.
struct BlockPanels {
  int64_t bits = 4, block = 32;
  int64_t n = 1, k = 1;
  int64_t panel = 1;      ///< The columns of a panel.
  int64_t scaleBytes = 4; ///< The bytes of one scale.
  BlockZeros zeros = BlockZeros::None;

  int64_t numPanels() const { return (n + panel - 1) / panel; }
  int64_t blocks() const { return (k + block - 1) / block; }
  /// /// The number of elements of a word.
  int64_t rowsOfWord() const { return 32 / bits; }
  /// /// The bytes of a zero point.
  int64_t zeroBytes() const { return zeros == BlockZeros::None ? 0 : zeros == BlockZeros::Bytes ? 1 : 4; }
  /// The offsets of a block's zero points and words.
  int64_t zerosAt() const { return panel * scaleBytes; }
  int64_t wordsAt() const { return zerosAt() + panel * zeroBytes(); }
  int64_t blockBytes() const { return wordsAt() + panel * (block / 8 * bits); }
  int64_t panelBytes() const { return blocks() * blockBytes(); }
  int64_t bytes() const { return numPanels() * panelBytes(); }
  /// The layout of rows that the matrix multiplies, if they are rounded.
  RoundedRows roundedRows() const { return {bits, block, k}; }
};

} // namespace sluice::emit

#endif // SLUICE_DATAFLOW_IR_BLOCKPANELS_H
