//===- IntegerProductSpec.h - Shapes of integer products --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The layout and blocking that the emitter of products of bytes, the packer of their weights and the runtime's
// parallel-for share. Plain C++.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTSPEC_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTSPEC_H

#include "dialects/Dataflow/Emit/ContractionSpec.h"
#include "dialects/Dataflow/IR/IntegerPanels.h"

namespace sluice::emit {

/// Whether there are instructions of that form for vectors of so many lanes of 32 bits.
bool supportsDot(IntegerDot dot, int64_t lanes);

/// The columns of a panel for `n` columns in all.
int64_t integerPanel(int64_t n, const VectorTarget &target);
/// The form to use for `rows` rows: Quads in the place of Tiles if tiles would be mostly padding, or if columns have
/// zero points.
IntegerDot chooseDot(IntegerDot wanted, int64_t rows, int64_t length, bool hasZeroPoints);

/// Tiles are faster from this many rows on.
inline constexpr int64_t kLeastTileRows = kTileRows / 2;

/// C[run][row][n] = sum over taps (h, w) and k of A * B. Row `row` of run `run` begins in A at
/// (run / runsTogether) * outerStride + (run % runsTogether) * runStride + row * rowStride; its tap (h, w) is the
/// `length` elements from h * strideH + w * strideW on. Strides are in elements. A matrix is one run, one tap.
struct IntegerSpec {
  IntegerPanels panels; ///< Its `segments` are tapsH * tapsW.
  int64_t runs = 1, rows = 1;
  int64_t runsTogether = 1;
  int64_t outerStride = 0, runStride = 0, rowStride = 0;
  int64_t tapsH = 1, tapsW = 1;
  int64_t strideH = 0, strideW = 0;
  /// Whether column n multiplies only element n of A: a tap has n elements, one for each column. Requires
  /// IntegerDot::Plain and length 1. A can be read up to a whole panel.
  bool isDepthwise = false;
  /// Whether a step may have fewer than `rows` rows, which needs other heights of tiles.
  bool hasAnyRows = false;
  /// If not 0: steps have at most this many rows, and multiply panels for tiles by the instructions of
  /// IntegerDot::Quads, whose panels differ only in padding.
  int64_t quadRows = 0;
  SinkStyle sinkStyle = SinkStyle::Inline;
};

/// How an integer product is cut. A work item is runBlock runs by rowBlock rows by one panel, panels innermost.
struct IntegerBlocking {
  RegisterTile tile;
  int64_t rowBlock = 1, runBlock = 1;
  int64_t rowBlocks = 1, runBlocks = 1;
};
IntegerBlocking chooseBlocking(const IntegerSpec &spec, const VectorTarget &target);

/// The number of work items, which may be split among threads in any way.
int64_t parallelExtent(const IntegerSpec &spec, const VectorTarget &target);

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTSPEC_H
