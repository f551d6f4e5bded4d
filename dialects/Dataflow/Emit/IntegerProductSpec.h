//===- IntegerProductSpec.h - Shapes of integer products --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the emitter of products of bytes, the packer of their weights and the
// runtime's parallel-for must agree on. Plain C++.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTSPEC_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTSPEC_H

#include "dialects/Dataflow/Emit/ContractionSpec.h"
#include "dialects/Dataflow/IR/IntegerPanels.h"

namespace sluice::emit {

/// Whether there are instructions of that form for vectors of so many lanes of 32 bits.
bool supportsDot(IntegerDot dot, int64_t lanes);

/// Columns of a panel for `n` columns.
int64_t integerPanel(int64_t n, const VectorTarget &target);
/// The form for `rows` rows: Tiles become Quads where they would be mostly padding, or where columns have zero points.
IntegerDot chooseDot(IntegerDot wanted, int64_t rows, int64_t length, bool hasZeroPoints);

/// Tiles pay from so many rows on.
inline constexpr int64_t kLeastTileRows = kTileRows / 2;

/// C[run][row][n] = sum over taps (h, w) and k of A * B. Row `row` of run `run` begins in A at
/// (run / runsTogether) * outerStride + (run % runsTogether) * runStride + row * rowStride; its tap (h, w) is the
/// `length` elements from h * strideH + w * strideW on. Strides are in elements. A matrix is one run, one tap.
struct IntegerSpec {
  IntegerPanels panels; ///< segments = tapsH * tapsW.
  int64_t runs = 1, rows = 1;
  int64_t runsTogether = 1;
  int64_t outerStride = 0, runStride = 0, rowStride = 0;
  int64_t tapsH = 1, tapsW = 1;
  int64_t strideH = 0, strideW = 0;
  /// Column n multiplies element n of A alone: taps have n elements, of which each column sees one. For
  /// IntegerDot::Plain, length 1. A is readable up to a whole panel.
  bool isDepthwise = false;
  /// A step may have fewer rows than `rows`, and then needs other heights of tiles.
  bool hasAnyRows = false;
  /// Other than 0: panels for tiles are multiplied by the instructions of IntegerDot::Quads, whose panels differ in
  /// padding alone, because a step has at most so many rows.
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

/// Work items, to split among threads at will.
int64_t parallelExtent(const IntegerSpec &spec, const VectorTarget &target);

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTSPEC_H
