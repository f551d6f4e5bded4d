//===- IntegerTiles.cpp - Products by tile registers ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Intel AMX has eight tile registers of 16 rows by 64 bytes. Up to four of them hold two by two blocks of 16 x 16 sums,
// two hold tiles of B, and one holds a tile of A. LLVM configures the registers at the start of the function, from the
// shapes that the intrinsics name. These shapes are the same for all rows and columns of a product, so that no register
// is spilled. The sums are written to memory, and the sink reads them there.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/IntegerProductIr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace sluice::emit {
using namespace detail;

namespace {

class TileEmitter {
public:
  TileEmitter(Ir &ir, const IntegerSpec &spec, const VectorTarget &target, const IntegerOperands &operands, SinkFn sink)
      : ir(ir), spec(spec), panels(spec.panels), operands(operands), sink(sink), extents(operands.extents),
        blocking(chooseBlocking(spec, target)), lanes(std::min<int64_t>(target.lanesF32, kTileColumns)),
        rows(blocking.tile.rows), tileRows(std::min(rows, kTileRows)), rowTiles(rows / tileRows),
        columnTiles(panels.panel / kTileColumns), byte(ir.b.getI8Type()),
        tileType(LLVM::LLVMX86AMXType::get(ir.b.getContext())) {}

  void emit(Value begin, Value end);

private:
  void emitRun();
  /// Rows [row, row + rows); the sink has those before `fresh` already.
  void emitBlock(Value row, Value fresh, Value last);
  Accumulators emitTaps(Value lhs, Accumulators sums);
  void emitSink(Value row, Value fresh, Value last);

  Value number(int64_t value) { return arith::ConstantOp::create(ir.b, ir.loc, ir.b.getI16IntegerAttr(value)); }
  Value call(StringRef name, Type type, ValueRange arguments) {
    return LLVM::CallIntrinsicOp::create(ir.b, ir.loc, type, ir.b.getStringAttr(name), arguments)->getResult(0);
  }
  Value loadTile(int64_t height, Value pointer, int64_t stride) {
    return call("llvm.x86.tileloadd64.internal", tileType,
                {number(height), number(kTileBytes), pointer, ir.constant(stride)});
  }
  Value loadColumns(int64_t v) {
    Value at = ir.at(panelPointer, panels.weightBytes() + 4 * v * lanes, byte);
    return LLVM::LoadOp::create(ir.b, ir.loc, ir.vectorOf(lanes), at, /*alignment=*/1);
  }

  Ir &ir;
  const IntegerSpec &spec;
  const IntegerPanels &panels;
  const IntegerOperands &operands;
  SinkFn sink;
  const IntegerExtents &extents;
  IntegerBlocking blocking;
  int64_t lanes;
  int64_t rows, tileRows, rowTiles, columnTiles;
  Type byte, tileType;

  Value scratch; ///< [rows][panel]
  Value panelIndex, panelPointer, rowBegin, rowEnd, run, runPointer;
};

void TileEmitter::emit(Value begin, Value end) {
  scratch = ir.scratch(rows * panels.panel);
  const int64_t mostTiles = rowTiles;
  auto emitWith = [&](int64_t tiles) {
    rowTiles = tiles, rows = tiles * tileRows;
    emitRun();
  };
  forEachRun(ir, spec, blocking, operands, {begin, end}, [&](const IntegerRun &at) {
    panelIndex = at.panelIndex, panelPointer = at.panelPointer, rowBegin = at.rowBegin, rowEnd = at.rowEnd;
    run = at.run, runPointer = at.runPointer;
    if (!extents.rows || mostTiles == 1)
      return emitWith(mostTiles);
    ir.ifElse(
        ir.isLess(extents.rows, ir.constant(mostTiles * tileRows)), [&] { emitWith(1); }, [&] { emitWith(mostTiles); });
  });
}

void TileEmitter::emitRun() {
  // The last rows go with some that come before them: all blocks have the same shape.
  ir.loop(rowBegin, rowEnd, rows, [&](Value row) {
    Value lastBlock = ir.constant(spec.rows - rows), zero = ir.constant(0);
    // Where a step has fewer rows than a tile, what follows them in A is multiplied too, and its sums are left.
    if (extents.rows)
      lastBlock = ir.max(ir.sub(extents.rows, ir.constant(rows)), zero);
    Value first = ir.min(row, lastBlock);
    emitBlock(first, ir.sub(row, first), ir.min(ir.constant(rows), ir.sub(rowEnd, first)));
  });
}

Accumulators TileEmitter::emitTaps(Value lhs, Accumulators sums) {
  const int64_t stepBytes = panels.panel * depthOf(panels.dot), tileSteps = kTileBytes / depthOf(panels.dot);
  const StringRef product = panels.parts ? "llvm.x86.tdpbf16ps.internal" : "llvm.x86.tdpbusd.internal";
  const int64_t bytes = panels.steps() * depthOf(panels.dot);
  auto emitRange = [&](Value from, Value weights, Value begin, Value end, ValueRange values) {
    auto step = [&](Value at, ValueRange carried) {
      Accumulators next(carried);
      // Offsets in A and in a panel's column are bytes.
      Value a = ir.at(from, at, byte), w = ir.at(weights, ir.mul(at, panels.panel), byte);
      SmallVector<Value, 2> right;
      for (int64_t t = 0; t < columnTiles; ++t)
        right.push_back(loadTile(tileSteps, ir.at(w, t * kTileBytes, byte), stepBytes));
      for (int64_t r = 0; r < rowTiles; ++r) {
        Value left = loadTile(tileRows, ir.at(a, r * tileRows * spec.rowStride, byte), spec.rowStride);
        for (int64_t t = 0; t < columnTiles; ++t) {
          Value &sum = next[r * columnTiles + t];
          sum =
              call(product, tileType, {number(tileRows), number(kTileBytes), number(kTileBytes), sum, left, right[t]});
        }
      }
      return next;
    };
    if (bytes == kTileBytes && !extents.length)
      return step(begin, values);
    return ir.loop(begin, end, kTileBytes, values, step);
  };
  auto emitSegment = [&](Value from, Value weights, ValueRange values) {
    auto emitParts = [&](Value begin, Value end, ValueRange sums) {
      return forEachPart(ir, spec, operands, from, weights, sums, [&](Value left, Value right, ValueRange carried) {
        return emitRange(left, right, begin, end, carried);
      });
    };
    // Both parts of a range are read twice: the second time from the first-level cache.
    constexpr int64_t range = 4 * kTileBytes;
    if (extents.length) {
      Value end = ir.mul(ir.div(ir.add(extents.length, kTileBytes - 1), kTileBytes), kTileBytes);
      return emitParts(ir.constant(0), end, values);
    }
    if (panels.parts <= 1 || bytes <= range)
      return emitParts(ir.constant(0), ir.constant(bytes), values);
    return ir.loop(ir.constant(0), ir.constant(bytes), range, values, [&](Value begin, ValueRange carried) {
      return emitParts(begin, ir.min(ir.add(begin, range), ir.constant(bytes)), carried);
    });
  };
  return forEachTap(ir, spec, extents, lhs, panelPointer, sums, emitSegment);
}

void TileEmitter::emitBlock(Value row, Value fresh, Value last) {
  Accumulators sums;
  for (int64_t i = 0; i < rowTiles * columnTiles; ++i)
    sums.push_back(call("llvm.x86.tilezero.internal", tileType, {number(tileRows), number(kTileBytes)}));
  sums = emitTaps(ir.at(runPointer, ir.mul(row, spec.rowStride), byte), sums);
  for (int64_t r = 0; r < rowTiles; ++r)
    for (int64_t t = 0; t < columnTiles; ++t) {
      Value to = ir.at(scratch, r * tileRows * panels.panel + t * kTileColumns);
      LLVM::CallIntrinsicOp::create(ir.b, ir.loc, ir.b.getStringAttr("llvm.x86.tilestored64.internal"),
                                    ValueRange{number(tileRows), number(kTileBytes), to, ir.constant(4 * panels.panel),
                                               sums[r * columnTiles + t]});
    }
  emitSink(row, fresh, last);
}

void TileEmitter::emitSink(Value row, Value fresh, Value last) {
  Value column = ir.mul(panelIndex, panels.panel);
  auto emitRows = [&](Size valid) {
    SmallVector<Value> start;
    if (operands.lhsZero && !operands.isZeroPerRow) {
      Value zero = ir.broadcast(operands.lhsZero(ir.b, ir.loc, run, Value()), lanes);
      for (int64_t v = 0; v < panels.panel / lanes; ++v)
        start.push_back(arith::MulIOp::create(ir.b, ir.loc, zero, loadColumns(v)));
    }
    ir.loop(fresh, last, 1, [&](Value r) {
      Value sums = ir.at(scratch, ir.mul(r, panels.panel)), at = ir.add(row, r), zero;
      if (operands.isZeroPerRow)
        zero = ir.broadcast(operands.lhsZero(ir.b, ir.loc, run, at), lanes);
      // Whole vectors, less their zero points; the last one's parts are cut from it.
      SmallVector<Value> whole;
      for (int64_t v = 0; v * lanes < valid.number; ++v) {
        Value value = ir.load(ir.at(sums, v * lanes), lanes);
        Value less = zero            ? arith::MulIOp::create(ir.b, ir.loc, zero, loadColumns(v)).getResult()
                     : start.empty() ? Value()
                                     : start[v];
        whole.push_back(less ? arith::SubIOp::create(ir.b, ir.loc, value, less).getResult() : value);
      }
      if (valid.value) {
        for (auto [v, value] : llvm::enumerate(whole))
          ir.store(value, ir.at(sums, static_cast<int64_t>(v) * lanes));
        return sinkColumns(ir, valid, lanes, sums, {run, at}, column, sink);
      }
      sinkRow(
          ir, valid.number, lanes,
          [&](int64_t offset, int64_t count) { return sliceRow(ir, whole, lanes, offset, count); }, {run, at}, column,
          sink);
    });
  };
  emitPanelWidths(ir, panels, extents, panelIndex, emitRows);
}

} // namespace

void detail::emitIntegerTiles(Ir &ir, const IntegerSpec &spec, const VectorTarget &target,
                              const IntegerOperands &operands, WorkItems items, SinkFn sink) {
  TileEmitter(ir, spec, target, operands, sink).emit(items.begin, items.end);
}

} // namespace sluice::emit
