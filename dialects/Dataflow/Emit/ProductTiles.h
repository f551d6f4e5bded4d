//===- ProductTiles.h - Tiles of operands in shared memory ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_PRODUCTTILES_H
#define SLUICE_DATAFLOW_EMIT_PRODUCTTILES_H

#include "dialects/Dataflow/Emit/GridProduct.h"

namespace sluice::dataflow {

/// The threads of a block: kTileSide x kTileSide, each with its own elements.
inline constexpr int64_t kTileSide = 16, kTileThreads = kTileSide * kTileSide;
/// The words of a tile along k.
inline constexpr int64_t kTileDepth = 16;
/// Words read from shared memory at once.
inline constexpr int64_t kChunk = 4;

/// The part that a block computes of an operand's own direction (m or n): `extent` of `bound` indices, from `first` on.
struct TileSpan {
  Extent bound;
  int64_t extent;
  mlir::Value first;
};

/// The form of a kernel for some architectures.
struct TileForm {
  bool copies = false; ///< Whether it copies to shared memory asynchronously, if operands allow it.
  MatmulPrecision precision = MatmulPrecision::F32;
};

/// The elements of a word of shared memory: at F32 one of the product's type, else one of tf32 or two neighbours in k
/// of 16 bits.
inline int64_t elementsOfWord(MatmulPrecision precision) {
  return precision == MatmulPrecision::F32 || precision == MatmulPrecision::TF32 ? 1 : 2;
}

/// The two tiles of one operand in shared memory, and the code that fills them. A tile is laid out like the operand:
/// [extent][kTileDepth] or [kTileDepth][extent] words. A few empty words after each row put words that threads read
/// together into different banks.
class OperandTiles {
public:
  /// Allocates the shared memory of both tiles.
  static mlir::Value allocate(KernelEmitter &kernel, const GridProduct &product, const ProductOperand &operand,
                              int64_t extent);
  /// Whether words are the same in memory and in shared memory.
  static bool canCopy(KernelEmitter &kernel, const GridProduct &product, const ProductOperand &operand, TileForm form);

  OperandTiles(KernelEmitter &kernel, const GridProduct &product, const ProductOperand &operand, const TileSpan &span,
               TileForm form, mlir::Value shared, mlir::Value batch);

  /// Begins to read this thread's part of the tile at `k`, zero outside the matrix, for tile `stage` (0 or 1). Returns
  /// the values for finish().
  llvm::SmallVector<mlir::Value> begin(mlir::Value k, mlir::Value stage) const;
  int64_t numValues() const;
  void finish(mlir::ValueRange values, mlir::Value stage) const;
  bool copies() const { return isCopied; }

  /// At F32: the elements of one of the kTileSide threads that share the tile, at kChunk depths from `depth` (a
  /// multiple of kChunk) on.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> columns(mlir::Value stage, mlir::Value depth,
                                                            mlir::Value side) const;
  /// How many elements of a thread are neighbours.
  int64_t chunk() const { return operand.alongK ? 1 : std::min(kChunk, extent / kTileSide); }
  /// The position of element i of the thread of `side` in the operand's own direction.
  static mlir::Value positionOf(KernelEmitter &kernel, int64_t chunk, mlir::Value side, mlir::Value i);
  /// At lower precision than F32: a word as i32.
  mlir::Value word(mlir::Value stage, mlir::Value along, mlir::Value depth) const;

private:
  /// The words of a row of the tile in shared memory, with the empty ones.
  static int64_t pitchOf(const ProductOperand &operand, int64_t extent);
  static int64_t wordsOf(const ProductOperand &operand, int64_t extent);
  mlir::Value indexOf(mlir::Value stage, mlir::Value along, mlir::Value depth) const;
  /// (along, depth) of unit i of this thread.
  std::pair<mlir::Value, mlir::Value> place(int64_t i) const;
  int64_t numUnits() const { return extent * kTileDepth / unit / kTileThreads; }
  struct Read {
    ProductOperand::Place place;
    mlir::Value inside;   ///< Null means true.
    mlir::Value along, k; ///< Indices in range.
  };
  /// Locates `count` elements from (along, k) on, which are all in range or all not.
  Read locate(mlir::Value along, mlir::Value k, int64_t count) const;
  mlir::Value read(mlir::Value along, mlir::Value k, int64_t count) const;
  void copy(mlir::Value along, mlir::Value depth, mlir::Value k, mlir::Value stage) const;
  /// The words of a unit, from the values that were read.
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
  int64_t unit; ///< The words that a thread moves at once.
  mlir::Value low, high;
  int64_t step;
};

/// emitCommitCopies() closes the group of copies that began since the last call; emitAwaitCopies() waits for all
/// groups.
void emitCommitCopies(KernelEmitter &kernel, const OperandTiles &lhs, const OperandTiles &rhs);
void emitAwaitCopies(KernelEmitter &kernel, const OperandTiles &lhs, const OperandTiles &rhs);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_PRODUCTTILES_H
