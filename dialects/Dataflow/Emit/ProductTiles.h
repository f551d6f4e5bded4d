//===- ProductTiles.h - Tiles of operands in shared memory ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_PRODUCTTILES_H
#define SLUICE_DATAFLOW_EMIT_PRODUCTTILES_H

#include "dialects/Dataflow/Emit/GridProduct.h"

namespace sluice::dataflow {

/// Threads of a block: kTileSide x kTileSide, where each has elements of its own.
inline constexpr int64_t kTileSide = 16, kTileThreads = kTileSide * kTileSide;
/// Words of a tile along k.
inline constexpr int64_t kTileDepth = 16;
/// Words read from shared memory at once.
inline constexpr int64_t kChunk = 4;

/// The part of an operand's own direction that a block computes: `extent` of `bound`, from `first` on.
struct TileSpan {
  Extent bound;
  int64_t extent;
  mlir::Value first;
};

/// What a kernel for some architectures does.
struct TileForm {
  bool copies = false; ///< Asynchronously, where operands allow.
  MatmulPrecision precision = MatmulPrecision::F32;
};

/// A word of shared memory is an element of the product's type at F32, one of
/// tf32, or two neighbours in k of 16 bits.
inline int64_t elementsOfWord(MatmulPrecision precision) {
  return precision == MatmulPrecision::F32 || precision == MatmulPrecision::TF32 ? 1 : 2;
}

/// Tiles of one operand on their way to shared memory, where there are two: as
/// they are in memory, [extent][kTileDepth] or [kTileDepth][extent] words, with a
/// few empty ones behind each row so that what threads read together is in
/// different banks.
class OperandTiles {
public:
  /// Both tiles' shared memory.
  static mlir::Value allocate(KernelEmitter &kernel, const GridProduct &product, const ProductOperand &operand,
                              int64_t extent);
  /// Whether words are in memory as in shared memory.
  static bool canCopy(KernelEmitter &kernel, const GridProduct &product, const ProductOperand &operand, TileForm form);

  OperandTiles(KernelEmitter &kernel, const GridProduct &product, const ProductOperand &operand, const TileSpan &span,
               TileForm form, mlir::Value shared, mlir::Value batch);

  /// Begins to read this thread's part of the tile at `k`, zero outside of the
  /// matrix, for tile `stage` (0 or 1): returns what finish() takes.
  llvm::SmallVector<mlir::Value> begin(mlir::Value k, mlir::Value stage) const;
  int64_t numValues() const;
  void finish(mlir::ValueRange values, mlir::Value stage) const;
  bool copies() const { return isCopied; }

  /// F32: the elements of one thread, of kTileSide that share the tile, at kChunk
  /// depths from `depth` (a multiple of it) on.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> columns(mlir::Value stage, mlir::Value depth,
                                                            mlir::Value side) const;
  /// Neighbours among a thread's elements.
  int64_t chunk() const { return operand.alongK ? 1 : std::min(kChunk, extent / kTileSide); }
  /// Where element i of the thread of `side` is, in the operand's own direction.
  static mlir::Value positionOf(KernelEmitter &kernel, int64_t chunk, mlir::Value side, mlir::Value i);
  /// Below F32: a word as i32.
  mlir::Value word(mlir::Value stage, mlir::Value along, mlir::Value depth) const;

private:
  /// Rows of the tile in shared memory.
  static int64_t pitchOf(const ProductOperand &operand, int64_t extent);
  static int64_t wordsOf(const ProductOperand &operand, int64_t extent);
  mlir::Value indexOf(mlir::Value stage, mlir::Value along, mlir::Value depth) const;
  /// (along, depth) of unit i of this thread.
  std::pair<mlir::Value, mlir::Value> place(int64_t i) const;
  int64_t numUnits() const { return extent * kTileDepth / unit / kTileThreads; }
  struct Read {
    ProductOperand::Place place;
    mlir::Value inside;   ///< Null: always.
    mlir::Value along, k; ///< In range.
  };
  /// `count` elements from there on, which are in range together.
  Read locate(mlir::Value along, mlir::Value k, int64_t count) const;
  mlir::Value read(mlir::Value along, mlir::Value k, int64_t count) const;
  void copy(mlir::Value along, mlir::Value depth, mlir::Value k, mlir::Value stage) const;
  /// A unit's words, from the values it was read as.
  mlir::Value pack(mlir::ValueRange values) const;

  KernelEmitter &kernel;
  const GridProduct &product;
  const ProductOperand &operand;
  Extent bound;
  int64_t extent;
  MatmulPrecision precision;
  bool isCopied;
  mlir::Value shared, batch, first;
  mlir::Type wordType;
  int64_t perWord, run;
  int64_t unit; ///< Words a thread moves at once.
  mlir::Value low, high;
  int64_t step;
};

/// Closes the group of copies begun since the last; waits for all of them.
void emitCommitCopies(KernelEmitter &kernel, const OperandTiles &lhs, const OperandTiles &rhs);
void emitAwaitCopies(KernelEmitter &kernel, const OperandTiles &lhs, const OperandTiles &rhs);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_PRODUCTTILES_H
