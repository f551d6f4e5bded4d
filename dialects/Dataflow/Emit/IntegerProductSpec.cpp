//===- IntegerProductSpec.cpp - Shapes of integer products ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/IntegerProductSpec.h"
#include <algorithm>

namespace sluice::emit {

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool supportsDot(IntegerDot dot, int64_t lanes) {
  if (dot == IntegerDot::Tiles)
    return lanes == kTileColumns;
  return dot == IntegerDot::Plain || lanes == 4 || lanes == 8 || lanes == 16;
}

int64_t integerPanel(int64_t n, const VectorTarget &target) {
  return n > target.lanesF32 ? 2 * target.lanesF32 : target.lanesF32;
}

IntegerDot chooseDot(IntegerDot wanted, int64_t rows, int64_t length, bool hasZeroPoints) {
  constexpr int64_t leastLength = kTileBytes / 2;
  return wanted != IntegerDot::Tiles || (rows >= kLeastTileRows && length >= leastLength && !hasZeroPoints)
             ? wanted
             : IntegerDot::Quads;
}

/// Sums are two by two tiles. The rows of A wait in the first-level cache while B streams past them, where B stays in
/// the second-level one; else a panel of B waits for more rows.
static IntegerBlocking chooseTileBlocking(const IntegerSpec &spec, const VectorTarget &target) {
  const IntegerPanels &panels = spec.panels;
  IntegerBlocking blocking;
  blocking.tile = {spec.rows >= 2 * kTileRows ? 2 * kTileRows : std::min(spec.rows, kTileRows),
                   panels.panel / target.lanesF32, target.lanesF32};
  const int64_t rows = blocking.tile.rows;
  const bool fits = panels.bytes() <= target.l2Bytes;
  // Numbers of bf16 take more bytes and more time: more rows pay for one reading of a panel.
  const int64_t blocksOfLarge = panels.parts ? 8 : 4;
  blocking.rowBlock = fits ? rows : std::min(ceilDiv(spec.rows, rows), blocksOfLarge) * rows;
  blocking.rowBlocks = ceilDiv(spec.rows, blocking.rowBlock);
  constexpr int64_t rowsWanted = 32, rowsOfLarge = 128;
  blocking.runBlock =
      blocking.rowBlocks > 1 ? 1 : std::clamp<int64_t>((fits ? rowsWanted : rowsOfLarge) / spec.rows, 1, spec.runs);
  blocking.runBlocks = ceilDiv(spec.runs, blocking.runBlock);
  return blocking;
}

/// Besides the accumulators: the weights of one step, a broadcast, and the products where they are no accumulators.
static int64_t reservedRegisters(bool isQuads, int64_t vectors, ByteInstructions instructions) {
  if (instructions == ByteInstructions::X86 || instructions == ByteInstructions::NeonMixed)
    return vectors + (isQuads ? 1 : 2);
  // Of pairs even and odd elements are apart; of quads each vector of weights has a correction, and 128 is a constant.
  return 2 * vectors + (isQuads ? 3 : 2);
}

IntegerBlocking chooseBlocking(const IntegerSpec &spec, const VectorTarget &target) {
  const IntegerPanels &panels = spec.panels;
  if (panels.dot == IntegerDot::Tiles && !spec.quadRows)
    return chooseTileBlocking(spec, target);
  IntegerBlocking blocking;
  RegisterTile &tile = blocking.tile;
  tile.lanes = target.lanesF32;
  tile.vectors = panels.panel / tile.lanes;
  const bool isQuads = panels.dot == IntegerDot::Quads || spec.quadRows;
  int64_t reserved = reservedRegisters(isQuads, tile.vectors, target.bytes);
  // Where columns have zero points and see elements of their own, their sums are kept too.
  int64_t columns = panels.hasZeroPoints && spec.isDepthwise ? 2 * tile.vectors : tile.vectors;
  int64_t maxRows = std::clamp<int64_t>((target.registers - reserved) / columns, 1, 14);
  tile.rows = spec.hasAnyRows ? std::min(spec.rows, maxRows) : ceilDiv(spec.rows, ceilDiv(spec.rows, maxRows));
  if (spec.quadRows) {
    // Work items are those of tiles.
    blocking = chooseTileBlocking(spec, target);
    blocking.tile = {std::min(spec.quadRows, maxRows), panels.panel / target.lanesF32, target.lanesF32};
    return blocking;
  }
  // Some 100 rows hide what reading a panel costs, fewer where there would be too few work items.
  constexpr int64_t minRows = 64, maxBlock = 192, itemsWanted = 16;
  int64_t rows = std::clamp(spec.runs * spec.rows * panels.numPanels() / itemsWanted, minRows, maxBlock);
  blocking.rowBlocks = ceilDiv(spec.rows, rows);
  blocking.rowBlock = ceilDiv(ceilDiv(spec.rows, blocking.rowBlocks), tile.rows) * tile.rows;
  blocking.rowBlocks = ceilDiv(spec.rows, blocking.rowBlock);
  blocking.runBlock = blocking.rowBlocks > 1 ? 1 : std::clamp<int64_t>(rows / spec.rows, 1, spec.runs);
  blocking.runBlocks = ceilDiv(spec.runs, blocking.runBlock);
  return blocking;
}

int64_t parallelExtent(const IntegerSpec &spec, const VectorTarget &target) {
  IntegerBlocking blocking = chooseBlocking(spec, target);
  return blocking.runBlocks * blocking.rowBlocks * spec.panels.numPanels();
}

} // namespace sluice::emit
