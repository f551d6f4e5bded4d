//===- ContractionDepthwise.cpp - Emits depthwise convolutions ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Vector lanes run along the channels. A tile covers up to eight output columns. The loop over channels is inside the
// loop over tiles, so that the input rows of a tile stay in the first-level cache. If the width is known only in the
// step, tiles at a border read zeros for pixels outside of the image.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/ContractionIr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace sluice::emit {
using namespace detail;

namespace {

/// Taps of a row up to which they are unrolled, sharing the inputs of neighbouring columns.
constexpr int64_t maxUnrolledTaps = 7;

class DepthwiseEmitter {
public:
  DepthwiseEmitter(Ir &ir, const ConvSpec &spec, const VectorTarget &target, const Source &input, const Source &weights,
                   SinkFn sink, const ConvExtents &extents)
      : ir(ir), spec(spec), input(input), weights(weights), sink(sink), extents(extents),
        lanes(convOutputBlock(spec, target)), paddedChannels((spec.outC + lanes - 1) / lanes * lanes) {
    int64_t tiles = (spec.outW + 7) / 8;
    columns = (spec.outW + tiles - 1) / tiles;
  }

  void emit(Value begin, Value end);

private:
  void emitRow();
  /// All columns of a row whose width the step gives.
  void emitStepColumns();
  /// A tile for all channels. With `checks`, each of its pixels may be outside of the image.
  void emitTiles(const ColumnRun &run, Value column, bool checks = false);
  void emitTile(const ColumnRun &run, Value column, Value channel, int64_t width);
  void emitColumns(int64_t begin, int64_t end);
  Accumulators emitKernelRow(const ColumnRun &run, Value source, Value taps, int64_t width, Accumulators values);
  /// Where to read a pixel: at zeros where it is not in the image.
  Value orZeros(Value isThere, Value pixel) {
    return arith::SelectOp::create(ir.b, ir.loc, isThere, pixel, zeros).getResult();
  }
  Value isInRow(Value inColumn) { return ir.isLess(inColumn, inW(), /*isSigned=*/false); }
  void emitSink(ArrayRef<Value> values, Value column, Value channel, int64_t width);
  Value sourceAt(Value kh, Value inColumn, Value channel) {
    Value row = ir.add(inRow, ir.mul(kh, spec.dilationH));
    Value before = extents.inW ? ir.mul(row, extents.inW) : ir.mul(row, spec.inW);
    Value pixel = ir.mul(ir.add(before, inColumn), spec.inC);
    return ir.at(imageBase, ir.add(pixel, channel), input.elementType);
  }
  Value tapsAt(Value kh, Value channel) {
    return ir.at(weights.pointer, ir.add(ir.mul(kh, spec.kernelW * paddedChannels), channel), weights.elementType);
  }

  Value inH() { return extents.inH ? extents.inH : ir.constant(spec.inH); }
  Value inW() { return extents.inW ? extents.inW : ir.constant(spec.inW); }
  Value outW() { return extents.outW ? extents.outW : ir.constant(spec.outW); }
  bool hasStepWidth() const { return extents.inW || extents.outW; }

  Ir &ir;
  const ConvSpec &spec;
  const Source &input, &weights;
  SinkFn sink;
  const ConvExtents &extents;
  int64_t lanes, paddedChannels;
  int64_t columns; ///< Of a tile.

  Value sinkScratch; ///< [columns][lanes], unless the sink is inline.
  Value zeros;       ///< [lanes], where the step gives the width.
  // Of the row being emitted.
  Value image, outRow, inRow, tapBegin, tapEnd, imageBase;
  // Of the tile being emitted, where its pixels may be outside: its first column in the image, and whether pixels from
  // there on are in it.
  Value checkedColumn;
  llvm::SmallDenseMap<int64_t, Value> isThere;
};

void DepthwiseEmitter::emit(Value begin, Value end) {
  if (spec.sinkStyle == SinkStyle::Looped)
    sinkScratch = ir.scratch(columns * lanes);
  if (hasStepWidth()) {
    zeros = ir.scratch(lanes);
    ir.store(ir.zero(lanes), zeros);
  }
  ir.loop(begin, end, 1, [&](Value item) {
    image = extents.outH ? ir.div(item, extents.outH) : ir.div(item, spec.outH);
    outRow = extents.outH ? ir.rem(item, extents.outH) : ir.rem(item, spec.outH);
    emitRow();
  });
}

void DepthwiseEmitter::emitRow() {
  Value imageOffset = extents.inH || extents.inW ? ir.mul(ir.mul(ir.mul(image, inH()), inW()), spec.inC)
                                                 : ir.mul(image, spec.inH * spec.inW * spec.inC);
  imageBase = ir.at(input.pointer, imageOffset, input.elementType);
  inRow = ir.add(ir.mul(outRow, spec.strideH), -spec.padTop);
  std::tie(tapBegin, tapEnd) = clipTaps(ir, inRow, spec.kernelH, spec.dilationH, inH());
  if (hasStepWidth())
    return emitStepColumns();
  ColumnPlan plan = planColumns(spec, columns);
  emitColumns(0, plan.leftEnd);
  for (const ColumnRun &run : plan.runs) {
    int64_t end = run.first + run.count * run.columns;
    ir.loop(ir.constant(run.first), ir.constant(end), run.columns, [&](Value column) { emitTiles(run, column); });
  }
  emitColumns(plan.rightBegin, spec.outW);
}

/// Tiles that are as wide as at the upper bounds, then one of what is left.
void DepthwiseEmitter::emitStepColumns() {
  const ColumnRange inside = insideColumns(ir, spec, inW(), outW());
  const ColumnRun whole = insideTile(spec, columns);
  Value zero = ir.constant(0), wholeEnd = ir.mul(ir.div(outW(), columns), columns);
  ir.loop(zero, wholeEnd, columns, [&](Value column) {
    auto emitBorder = [&] { emitTiles(whole, column, /*checks=*/true); };
    auto emitLeftOrRight = [&] {
      if (spec.padLeft <= 0)
        return emitBorder();
      // Most rows have padding on the left at their first tile, and nothing else.
      Value isPast = ir.isLess(inside.end, ir.add(column, columns));
      Value isRight = arith::OrIOp::create(ir.b, ir.loc, isPast, ir.isLess(zero, column));
      ir.ifElse(isRight, emitBorder, [&] { emitTiles(leftTile(spec, columns), column); });
    };
    Value isLeft = ir.isLess(column, inside.begin), isRight = ir.isLess(inside.end, ir.add(column, columns));
    ir.ifElse(arith::OrIOp::create(ir.b, ir.loc, isLeft, isRight), emitLeftOrRight, [&] { emitTiles(whole, column); });
  });
  ir.choose(ir.sub(outW(), wholeEnd), columns, [&](int64_t rest) {
    if (rest > 0)
      emitTiles(insideTile(spec, rest), wholeEnd, /*checks=*/true);
  });
}

void DepthwiseEmitter::emitTiles(const ColumnRun &run, Value column, bool checks) {
  if (checks)
    checkedColumn = ir.add(ir.mul(column, spec.strideW), -spec.padLeft);
  if (checks && spec.kernelW <= maxUnrolledTaps)
    for (int64_t c = 0; c < run.columns; ++c)
      for (int64_t kw = 0; kw < spec.kernelW; ++kw) {
        const int64_t at = c * spec.strideW + kw * spec.dilationW;
        if (Value &there = isThere[at]; !there)
          there = isInRow(ir.add(checkedColumn, at));
      }
  ir.forLanes(spec.outC, lanes, [&](Value channel, int64_t width) { emitTile(run, column, channel, width); });
  checkedColumn = Value();
  isThere.clear();
}

void DepthwiseEmitter::emitTile(const ColumnRun &run, Value column, Value channel, int64_t width) {
  Value inColumn = ir.add(ir.mul(column, spec.strideW), -spec.padLeft);
  Accumulators values(run.columns, ir.zero(width));
  values = ir.loop(tapBegin, tapEnd, 1, values, [&](Value kh, ValueRange sums) {
    return emitKernelRow(run, sourceAt(kh, inColumn, channel), tapsAt(kh, channel), width, Accumulators(sums));
  });
  emitSink(values, column, channel, width);
}

Accumulators DepthwiseEmitter::emitKernelRow(const ColumnRun &run, Value source, Value taps, int64_t width,
                                             Accumulators values) {
  auto inputAt = [&](Value base, int64_t column, Value there = {}) {
    Value pixel = ir.at(base, column * spec.inC, input.elementType);
    return ir.load(input, there ? orZeros(there, pixel) : pixel, width);
  };
  if (run.inside() && spec.kernelW > maxUnrolledTaps)
    return ir.loop(ir.constant(0), ir.constant(spec.kernelW), 1, values, [&](Value kw, ValueRange carried) {
      Accumulators sums(carried);
      Value base = ir.at(source, ir.mul(kw, spec.dilationW * spec.inC), input.elementType);
      Value tap = ir.load(weights, ir.at(taps, ir.mul(kw, paddedChannels), weights.elementType), width);
      for (int64_t c = 0; c < run.columns; ++c) {
        Value there;
        if (checkedColumn)
          there = isInRow(ir.add(ir.add(checkedColumn, c * spec.strideW), ir.mul(kw, spec.dilationW)));
        sums[c] = ir.multiplyAdd(inputAt(base, c * spec.strideW, there), tap, sums[c]);
      }
      return sums;
    });
  llvm::SmallDenseMap<int64_t, Value> inputs; // By input column from the tile's first.
  for (int64_t kw = 0; kw < spec.kernelW; ++kw) {
    if (run.from[kw] == run.to[kw])
      continue;
    Value tap = ir.load(weights, ir.at(taps, kw * paddedChannels, weights.elementType), width);
    for (int64_t c = run.from[kw]; c < run.to[kw]; ++c) {
      int64_t column = c * spec.strideW + kw * spec.dilationW;
      Value &pixel = inputs[column];
      if (!pixel)
        pixel = inputAt(source, column, isThere.lookup(column));
      values[c] = ir.multiplyAdd(pixel, tap, values[c]);
    }
  }
  return values;
}

/// Columns [begin, end), one at a time, with the taps that read inside the input.
void DepthwiseEmitter::emitColumns(int64_t begin, int64_t end) {
  if (begin == end)
    return;
  ir.loop(ir.constant(begin), ir.constant(end), 1, [&](Value column) {
    Value inColumn = ir.add(ir.mul(column, spec.strideW), -spec.padLeft);
    std::pair<Value, Value> range = clipTaps(ir, inColumn, spec.kernelW, spec.dilationW, inW());
    ir.forLanes(spec.outC, lanes, [&](Value channel, int64_t width) {
      Accumulators values(1, ir.zero(width));
      values = ir.loop(tapBegin, tapEnd, 1, values, [&](Value kh, ValueRange outer) {
        Value source = sourceAt(kh, inColumn, channel), taps = tapsAt(kh, channel);
        return ir.loop(range.first, range.second, 1, outer, [&](Value kw, ValueRange sums) {
          Value pixel = ir.load(input, ir.at(source, ir.mul(kw, spec.dilationW * spec.inC), input.elementType), width);
          Value tap = ir.load(weights, ir.at(taps, ir.mul(kw, paddedChannels), weights.elementType), width);
          return Accumulators{ir.multiplyAdd(pixel, tap, sums[0])};
        });
      });
      emitSink(values, column, channel, width);
    });
  });
}

void DepthwiseEmitter::emitSink(ArrayRef<Value> values, Value column, Value channel, int64_t width) {
  auto emitOne = [&](Value value, Value at) {
    sinkRow(
        ir, width, width, [&](int64_t, int64_t) { return value; }, {image, outRow, at}, channel, sink);
  };
  if (!sinkScratch) {
    for (auto [c, value] : llvm::enumerate(values))
      emitOne(value, ir.add(column, c));
    return;
  }
  for (auto [c, value] : llvm::enumerate(values))
    ir.store(value, ir.at(sinkScratch, static_cast<int64_t>(c) * width));
  ir.loop(ir.constant(0), ir.constant(values.size()), 1,
          [&](Value c) { emitOne(ir.load(ir.at(sinkScratch, ir.mul(c, width)), width), ir.add(column, c)); });
}

} // namespace

void detail::emitDepthwise(Ir &ir, const ConvSpec &spec, const VectorTarget &target, const Operands &operands,
                           WorkItems items, SinkFn sink, const ConvExtents &extents) {
  DepthwiseEmitter(ir, spec, target, operands.lhs, operands.rhs, sink, extents).emit(items.begin, items.end);
}

} // namespace sluice::emit
