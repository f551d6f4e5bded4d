//===- ContractionMatmul.cpp - Emits matrix products ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The kernel follows Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), and is adapted
// to weights that are packed ahead of time. A panel of B is read from the second-level cache while a register tile of C
// collects the sums. Elements of A are read in place and broadcast.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/ContractionIr.h"
#include "dialects/Dataflow/Emit/Shuffles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace sluice::emit {
using namespace detail;

namespace {

class MatmulEmitter {
public:
  MatmulEmitter(Ir &ir, const MatmulSpec &spec, const VectorTarget &target, const MatmulOperands &operands, SinkFn sink,
                const MatmulBlocking &blocking, bool readsInPlace)
      : ir(ir), spec(spec), lhs(operands.lhs), rhs(operands.rhs), readPanel(operands.readPanel), sink(sink),
        extents(operands.extents), blocking(blocking), tile(blocking.tile), vectorLanes(target.lanesF32),
        isUnrolledLater(target.isUnrolledLater), panel(tile.block()), lastPanel(spec.n - (blocking.panels - 1) * panel),
        inlineSink(spec.sinkStyle == SinkStyle::Inline && blocking.depthBlocks == 1 && !extents.m && !extents.n &&
                   (blocking.panels == 1 || lastPanel == panel)),
        inlineWholeTiles(spec.sinkStyle == SinkStyle::Inline && blocking.depthBlocks == 1 && (extents.m || extents.n)),
        readsInPlace(readsInPlace),
        widens(lhs.elementType != ir.elementType && !lhs.load && !spec.transposeA &&
               tile.rows * blocking.depthBlock * (spec.elementBits / 8) <= widenedBytes(lhs.elementType)),
        widensPanel(spec.packedB && rhs.elementType != ir.elementType && !rhs.load && spec.m > tile.rows &&
                    panel * blocking.depthBlock * (spec.elementBits / 8) <= widenedBytes(rhs.elementType)) {}

  void emit(Value begin, Value end);

private:
  void emitItem(Value item);
  void emitDepthBlock(Value depthBegin);
  void emitTile(int64_t rows, Value row, Value depthBegin, bool isInline);
  /// The depth of the block that begins there.
  Value depthFrom(Value depthBegin) {
    Value depth = sizeK();
    return blocking.depthBlocks == 1 ? depth : ir.min(ir.constant(blocking.depthBlock), ir.sub(depth, depthBegin));
  }
  void packPanel(Value depthBegin, Value depth);
  /// Columns of the last panel where the step gives them; else the number.
  struct Columns {
    int64_t number;
    Value value = {};
  };
  void packColumns(Value depth, Value source, Columns columns);
  void emitSinkLoop(Value firstRow);
  /// Calls `emit` for the columns that the work item's panel has.
  void emitPanelWidths(llvm::function_ref<void(Columns)> emit);
  void emitTiles(Value depthBegin);
  /// Tiles of `tile.rows` rows from rowBegin to `end`.
  void emitWholeTiles(Value end, Value depthBegin, bool isInline) {
    ir.loop(rowBegin, end, tile.rows, [&](Value row) { emitTile(tile.rows, row, depthBegin, isInline); });
  }

  /// Columns of the work item's panel.
  Value panelWidth() { return ir.min(ir.sub(extents.n, ir.mul(panelIndex, panel)), ir.constant(panel)); }
  Value sizeM() { return extents.m ? extents.m : ir.constant(spec.m); }
  Value sizeK() { return extents.k ? extents.k : ir.constant(spec.k); }
  /// Times a stride, a number or a value.
  Value timesLda(Value a) { return extents.lda ? ir.mul(a, extents.lda) : ir.mul(a, spec.lda); }
  Value timesLdb(Value a) { return extents.ldb ? ir.mul(a, extents.ldb) : ir.mul(a, spec.ldb); }
  Value timesStrideM(Value a) { return spec.transposeA ? a : timesLda(a); }
  Value timesStrideK(Value a) { return spec.transposeA ? timesLda(a) : a; }
  /// `count` rows of B further, as it lies in memory.
  Value rowOfB(Value from, int64_t count) {
    return extents.ldb && count ? ir.at(from, timesLdb(ir.constant(count)), rhs.elementType)
                                : ir.at(from, count * spec.ldb, rhs.elementType);
  }

  /// Row k + u of the panel that tiles read.
  Value rowOfPanel(Value k, int64_t u) {
    if (!readsInPlace)
      return ir.at(ir.at(panelSource.pointer, ir.mul(k, panel), panelSource.elementType), u * panel,
                   panelSource.elementType);
    return rowOfB(ir.at(panelSource.pointer, timesLdb(k), panelSource.elementType), u);
  }
  /// Rows of B in kStreamedAhead.
  int64_t streamedRows() const {
    return std::max<int64_t>(kStreamedAhead / std::max<int64_t>(spec.ldb * (spec.elementBits / 8), 1), 1);
  }

  Ir &ir;
  const MatmulSpec &spec;
  const Source &lhs, &rhs;
  const PanelFn &readPanel;
  SinkFn sink;
  const MatmulExtents &extents;
  MatmulBlocking blocking;
  RegisterTile tile;
  int64_t vectorLanes; ///< The target's, also where a tile is narrower.
  bool isUnrolledLater;
  int64_t panel, lastPanel; ///< Columns of a panel; valid columns of the last one.
  bool inlineSink;
  /// Where the step gives rows or columns, whole tiles have the sink inline, and the sums of others go to the scratch.
  bool inlineWholeTiles;
  bool readsInPlace; ///< B is read where it lies: a panel's copy would be read by one tile only.
  bool widens;       ///< The rows of a tile are copied to lhsScratch first,
  bool widensPanel;  ///< and a panel that several tiles read to panelScratch.

  Value lhsScratch;         ///< [tile.rows][depthBlock]
  Value accumulatorScratch; ///< [rowBlock][panel], unless the sink is inline.
  Value panelScratch;       ///< [depthBlock][panel], unless B is read where it lies.
  // Of the work item being emitted.
  Value panelIndex, rowBegin, rowEnd;
  Value firstInScratch; ///< The first row that has its sums in the scratch, and those after it.
  Source panelSource;   ///< The depth block of the panel tiles read.
};

void MatmulEmitter::emit(Value begin, Value end) {
  if (!inlineSink)
    accumulatorScratch = ir.scratch(blocking.rowBlock * panel);
  if ((!spec.packedB && !readsInPlace) || widensPanel)
    panelScratch = ir.scratch((blocking.depthBlock + spec.depthStep - 1) / spec.depthStep * spec.depthStep * panel);
  if (widens)
    lhsScratch = ir.scratch(tile.rows * blocking.depthBlock);
  ir.loop(begin, end, 1, [&](Value item) { emitItem(item); });
}

void MatmulEmitter::emitItem(Value item) {
  if (extents.n) {
    Value panels = ir.div(ir.add(extents.n, panel - 1), panel);
    panelIndex = ir.rem(item, panels);
    rowBegin = ir.mul(ir.div(item, panels), blocking.rowBlock);
  } else {
    panelIndex = ir.rem(item, blocking.panels);
    rowBegin = ir.mul(ir.div(item, blocking.panels), blocking.rowBlock);
  }
  rowEnd = ir.min(ir.add(rowBegin, blocking.rowBlock), sizeM());
  Value zero = ir.constant(0);
  if (blocking.depthBlocks == 1) {
    emitDepthBlock(zero);
  } else {
    ir.loop(zero, ir.constant(blocking.rowBlock * panel), tile.lanes,
            [&](Value i) { ir.store(ir.zero(tile.lanes), ir.at(accumulatorScratch, i)); });
    ir.loop(zero, sizeK(), blocking.depthBlock, [&](Value depthBegin) { emitDepthBlock(depthBegin); });
  }
  if (!inlineSink && !inlineWholeTiles)
    emitSinkLoop(rowBegin);
}

void MatmulEmitter::emitDepthBlock(Value depthBegin) {
  if (readsInPlace) {
    Value offset = ir.add(timesLdb(depthBegin), ir.mul(panelIndex, panel));
    panelSource = {ir.at(rhs.pointer, offset, rhs.elementType), rhs.elementType};
  } else if (spec.packedB) {
    Value offset = ir.mul(ir.add(ir.mul(panelIndex, spec.k), depthBegin), panel);
    panelSource = {ir.at(rhs.pointer, offset, rhs.elementType), rhs.elementType, rhs.load};
    if (widensPanel) {
      ir.widen(rhs, panelSource.pointer, panelScratch, ir.mul(depthFrom(depthBegin), panel), tile.lanes);
      panelSource = {panelScratch, ir.elementType, nullptr};
    }
  } else {
    if (readPanel)
      readPanel(ir.b, ir.loc, panelIndex, depthBegin, depthFrom(depthBegin), panelScratch);
    else
      packPanel(depthBegin, depthFrom(depthBegin));
    panelSource = {panelScratch, ir.elementType, nullptr};
  }
  emitTiles(depthBegin);
}

void MatmulEmitter::emitTiles(Value depthBegin) {
  // As many whole tiles as there are, then one of the rows that are left.
  int64_t rest = spec.m % tile.rows;
  Value wholeEnd;
  if (extents.m)
    wholeEnd = ir.add(rowBegin, ir.mul(ir.div(ir.sub(rowEnd, rowBegin), tile.rows), tile.rows));
  else
    wholeEnd = rest ? ir.min(rowEnd, ir.constant(spec.m - rest)) : rowEnd;
  if (inlineWholeTiles) {
    Value isWhole;
    if (extents.n)
      isWhole = ir.isEqual(panelWidth(), ir.constant(panel));
    else if (blocking.panels > 1 && lastPanel < panel)
      isWhole =
          arith::CmpIOp::create(ir.b, ir.loc, arith::CmpIPredicate::ne, panelIndex, ir.constant(blocking.panels - 1));
    if (isWhole)
      ir.ifElse(
          isWhole, [&] { emitWholeTiles(wholeEnd, depthBegin, true); },
          [&] { emitWholeTiles(wholeEnd, depthBegin, false); });
    else
      emitWholeTiles(wholeEnd, depthBegin, true);
    firstInScratch =
        isWhole ? arith::SelectOp::create(ir.b, ir.loc, isWhole, wholeEnd, rowBegin).getResult() : wholeEnd;
  } else if (!extents.m && spec.m == tile.rows) {
    emitTile(tile.rows, rowBegin, depthBegin, inlineSink);
  } else {
    emitWholeTiles(wholeEnd, depthBegin, inlineSink);
  }
  if (extents.m) {
    ir.choose(ir.sub(rowEnd, wholeEnd), tile.rows, [&](int64_t rows) {
      if (rows > 0)
        emitTile(rows, wholeEnd, depthBegin, false);
    });
  } else if (rest) {
    auto emitRest = [&] { emitTile(rest, wholeEnd, depthBegin, inlineSink); };
    if (blocking.rowBlocks == 1)
      emitRest();
    else
      ir.ifElse(ir.isEqual(rowEnd, ir.constant(spec.m)), emitRest);
  }
  if (inlineWholeTiles)
    emitSinkLoop(firstInScratch);
}

void MatmulEmitter::emitTile(int64_t rows, Value row, Value depthBegin, bool isInline) {
  RegisterTile shape = tile;
  shape.rows = rows;
  int64_t count = rows * tile.vectors;
  int64_t chains = reductionChains(shape, spec.k);
  Value scratchRow;
  if (!isInline)
    scratchRow = ir.at(accumulatorScratch, ir.mul(ir.sub(row, rowBegin), panel));

  Accumulators values;
  for (int64_t i = 0; i < count * chains; ++i)
    values.push_back(blocking.depthBlocks > 1 && i < count ? ir.load(ir.at(scratchRow, i * tile.lanes), tile.lanes)
                                                           : ir.zero(tile.lanes));
  Source left = lhs;
  left.pointer = ir.at(lhs.pointer, ir.add(timesStrideM(row), timesStrideK(depthBegin)), lhs.elementType);
  int64_t rowStride = spec.transposeA ? 1 : spec.lda;
  bool hasRowPointers = extents.lda && !spec.transposeA;
  if (widens) {
    Value depth = depthFrom(depthBegin);
    ir.loop(ir.constant(0), ir.constant(rows), 1, [&](Value r) {
      Value from = ir.at(left.pointer, timesStrideM(r), lhs.elementType);
      Value to = ir.at(lhsScratch, ir.mul(r, blocking.depthBlock));
      if (blocking.depthBlocks == 1 && !extents.k)
        ir.widen(lhs, from, to, spec.k, vectorLanes);
      else
        ir.widen(lhs, from, to, depth, vectorLanes);
    });
    left = {lhsScratch, ir.elementType};
    rowStride = blocking.depthBlock;
    hasRowPointers = false;
  }
  SmallVector<Value, 16> rowPointers;
  for (int64_t r = 0; r < rows && hasRowPointers; ++r)
    rowPointers.push_back(r ? ir.at(left.pointer, timesLda(ir.constant(r)), left.elementType) : left.pointer);
  // Step k + u of row r, from `a`, step k of row 0.
  auto locate = [&](Value a, Value k, int64_t r, int64_t u) {
    if (hasRowPointers)
      return ir.at(ir.at(rowPointers[r], k, left.elementType), u, left.elementType);
    if (extents.lda && spec.transposeA && u)
      return ir.at(ir.at(a, timesLda(ir.constant(u)), left.elementType), r, left.elementType);
    return ir.at(a, r * rowStride + u * (spec.transposeA ? spec.lda : 1), left.elementType);
  };
  auto step = [&](Value k, int64_t u, MutableArrayRef<Value> sums) {
    Value a = hasRowPointers ? Value() : ir.at(left.pointer, timesStrideK(k), left.elementType);
    Value w = rowOfPanel(k, u);
    SmallVector<Value, 2> weights;
    for (int64_t v = 0; v < tile.vectors; ++v)
      weights.push_back(ir.load(panelSource, ir.at(w, v * tile.lanes, panelSource.elementType), tile.lanes));
    if (readsInPlace)
      ir.prefetch(rowOfPanel(k, u + streamedRows()), 0, panel, panelSource.elementType, CacheLevel::Second);
    else
      ir.prefetch(w, prefetchSteps * panel, panel, panelSource.elementType);
    int64_t chain = u % chains * count;
    for (int64_t r = 0; r < rows; ++r) {
      Value scalar = ir.load(left, locate(a, k, r, u), 1);
      Value wide = ir.broadcast(scalar, tile.lanes);
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = sums[chain + r * tile.vectors + v];
        sum = ir.multiplyAdd(wide, weights[v], sum);
      }
    }
  };
  int64_t unroll = reductionUnroll(count, spec.k, isUnrolledLater);
  if (extents.k) {
    values = emitAnyReduction(ir, depthFrom(depthBegin), blocking.depthBlock, unroll, std::move(values), step);
  } else if (blocking.depthBlocks == 1) {
    values = emitReduction(ir, spec.k, unroll, std::move(values), step);
  } else {
    // The last block may be shorter; it is a multiple of four where k is.
    unroll = spec.k % 4 == 0 ? unroll : 1;
    values = emitReduction(ir, depthFrom(depthBegin), blocking.depthBlock, unroll, std::move(values), step);
  }
  for (int64_t chain = 1; chain < chains; ++chain)
    for (int64_t i = 0; i < count; ++i)
      values[i] = arith::AddFOp::create(ir.b, ir.loc, values[i], values[chain * count + i]);

  if (!isInline) {
    for (int64_t i = 0; i < count; ++i)
      ir.store(values[i], ir.at(scratchRow, i * tile.lanes));
    return;
  }
  int64_t valid = blocking.panels == 1 && !extents.n ? lastPanel : panel;
  Value column = ir.mul(panelIndex, panel);
  for (int64_t r = 0; r < rows; ++r) {
    ArrayRef<Value> sums = ArrayRef<Value>(values).slice(r * tile.vectors, tile.vectors);
    sinkRow(
        ir, valid, tile.lanes,
        [&](int64_t offset, int64_t lanes) { return sliceRow(ir, sums, tile.lanes, offset, lanes); }, {ir.add(row, r)},
        column, sink);
  }
}

void MatmulEmitter::emitPanelWidths(function_ref<void(Columns)> emit) {
  if (!extents.n)
    return emitBlockWidths(ir, panelIndex, blocking.panels, panel, lastPanel, [&](int64_t valid) { emit({valid}); });
  Value valid = panelWidth();
  ir.ifElse(
      ir.isEqual(valid, ir.constant(panel)), [&] { emit({panel}); },
      [&] {
        emit({panel, valid});
      });
}

void MatmulEmitter::emitSinkLoop(Value firstRow) {
  Value column = ir.mul(panelIndex, panel);
  auto emitRows = [&](Columns valid) {
    ir.loop(firstRow, rowEnd, 1, [&](Value row) {
      Value sums = ir.at(accumulatorScratch, ir.mul(ir.sub(row, rowBegin), panel));
      if (!valid.value) {
        sinkRow(
            ir, valid.number, tile.lanes,
            [&](int64_t offset, int64_t lanes) { return ir.load(ir.at(sums, offset), lanes); }, {row}, column, sink);
        return;
      }
      ir.forLanes(valid.value, tile.lanes, [&](Value first, int64_t width) {
        SmallVector<Value> indices = {ir.toIndex(row), ir.toIndex(ir.add(column, first))};
        sink(ir.b, ir.loc, ir.load(ir.at(sums, first), width), indices, width);
      });
    });
  };
  emitPanelWidths(emitRows);
}

/// Copies rows [depthBegin, depthBegin + depth) of the panel's columns to panelScratch.
void MatmulEmitter::packPanel(Value depthBegin, Value depth) {
  Value column = ir.mul(panelIndex, panel);
  Value offset = spec.transposeB ? ir.add(timesLdb(column), depthBegin) : ir.add(timesLdb(depthBegin), column);
  Value source = ir.at(rhs.pointer, offset, rhs.elementType);
  emitPanelWidths([&](Columns valid) { packColumns(depth, source, valid); });
}

void MatmulEmitter::packColumns(Value depth, Value source, Columns columns) {
  Value zero = ir.constant(0);
  if (columns.value || columns.number < panel)
    ir.loop(zero, ir.mul(depth, panel), tile.lanes,
            [&](Value i) { ir.store(ir.zero(tile.lanes), ir.at(panelScratch, i)); });
  if (!spec.transposeB && columns.value) {
    ir.forLanes(columns.value, tile.lanes, [&](Value first, int64_t width) {
      ir.loop(zero, depth, 1, [&](Value k) {
        Value from = ir.at(source, ir.add(timesLdb(k), first), rhs.elementType);
        ir.store(ir.load(rhs, from, width), ir.at(panelScratch, ir.add(ir.mul(k, panel), first)));
      });
    });
    return;
  }
  if (!spec.transposeB) {
    ir.loop(zero, depth, 1, [&](Value k) {
      Value from = ir.at(source, timesLdb(k), rhs.elementType);
      Value to = ir.at(panelScratch, ir.mul(k, panel));
      for (int64_t offset = 0, lanes = tile.lanes; offset < columns.number; offset += lanes) {
        while (lanes > columns.number - offset)
          lanes /= 2;
        ir.store(ir.load(rhs, ir.at(from, offset, rhs.elementType), lanes), ir.at(to, offset));
      }
    });
    return;
  }
  // Squares first, then what is left by elements.
  int64_t whole = columns.number / tile.lanes * tile.lanes;
  Value squareColumns = columns.value ? ir.mul(ir.div(columns.value, tile.lanes), tile.lanes) : Value();
  Value squareDepth = zero;
  if (whole && tile.lanes > 1) {
    squareDepth = ir.mul(ir.div(depth, tile.lanes), tile.lanes);
    ir.loop(zero, squareColumns ? squareColumns : ir.constant(whole), tile.lanes, [&](Value column) {
      ir.loop(zero, squareDepth, tile.lanes, [&](Value k) {
        Value from = ir.at(source, ir.add(timesLdb(column), k), rhs.elementType);
        Value to = ir.at(panelScratch, ir.add(ir.mul(k, panel), column));
        SmallVector<Value, 16> rows;
        for (int64_t r = 0; r < tile.lanes; ++r) {
          rows.push_back(ir.load(rhs, rowOfB(from, r), tile.lanes));
          // The hardware does not see that each square begins new lines of all its rows.
          if (streamedRows() >= tile.lanes)
            ir.prefetch(rowOfB(from, r + streamedRows()), 0, tile.lanes, rhs.elementType, CacheLevel::Second);
        }
        rows = transposeSquare(ir.b, ir.loc, std::move(rows));
        for (int64_t r = 0; r < tile.lanes; ++r)
          ir.store(rows[r], ir.at(to, r * panel));
      });
    });
  }
  auto copyElements = [&](Value columnBegin, Value columnEnd, Value depthFrom) {
    ir.loop(columnBegin, columnEnd, 1, [&](Value column) {
      ir.loop(depthFrom, depth, 1, [&](Value k) {
        Value from = ir.at(source, ir.add(timesLdb(column), k), rhs.elementType);
        ir.store(ir.load(rhs, from, 1), ir.at(panelScratch, ir.add(ir.mul(k, panel), column)));
      });
    });
  };
  if (columns.value) {
    copyElements(zero, squareColumns, squareDepth);
    copyElements(squareColumns, columns.value, zero);
    return;
  }
  if (whole)
    copyElements(ir.constant(0), ir.constant(whole), squareDepth);
  if (whole < columns.number)
    copyElements(ir.constant(whole), ir.constant(columns.number), zero);
}

} // namespace

void emitMatmul(OpBuilder &b, Location loc, const MatmulSpec &spec, const VectorTarget &target,
                const MatmulOperands &operands, WorkItems items, SinkFn sink) {
  Type accumulator = spec.elementBits == 64 ? b.getF64Type() : b.getF32Type();
  Ir ir(b, loc, accumulator);
  const MatmulBlocking blocking = chooseBlocking(spec, target);
  Value begin = ir.fromIndex(items.begin), end = ir.fromIndex(items.end);
  auto emitBy = [&](const MatmulBlocking &by, bool inPlace) {
    MatmulEmitter(ir, spec, target, operands, sink, by, inPlace).emit(begin, end);
  };
  const MatmulExtents &extents = operands.extents;
  const int64_t panel = blocking.tile.block();
  // One tile reads each panel once, and copying the panel first would take longer than the product.
  const bool mayReadInPlace = !spec.packedB && !spec.transposeB && !operands.readPanel && !operands.rhs.load &&
                              operands.rhs.elementType == accumulator && !extents.n && spec.n % panel == 0;
  if (mayReadInPlace && extents.m) {
    Value isOneTile = ir.isLess(extents.m, ir.constant(blocking.tile.rows + 1));
    return ir.ifElse(
        isOneTile, [&] { emitBy(blocking, true); }, [&] { emitBy(blocking, false); });
  }
  // A decoder's first steps have a few keys, where a panel has room for many: packing it would take most of the time.
  constexpr int64_t kFew = 4;
  if (!extents.n || spec.packedB || panel <= kFew)
    return emitBy(blocking, mayReadInPlace && spec.m <= blocking.tile.rows);
  MatmulBlocking narrow = blocking;
  narrow.tile.vectors = 1;
  narrow.tile.lanes = kFew;
  narrow.panels = 1;
  ir.ifElse(
      ir.isLess(extents.n, ir.constant(kFew + 1)), [&] { emitBy(narrow, false); }, [&] { emitBy(blocking, false); });
}

} // namespace sluice::emit
