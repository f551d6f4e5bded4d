//===- ContractionDepthwise.cpp - Emits depthwise convolutions ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Lanes run along the channels, a tile covers up to eight output columns, and
// channels are innermost, so that a tile's input rows stay in L1.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/ContractionIr.h"
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
                   SinkFn sink)
      : ir(ir), spec(spec), input(input), weights(weights), sink(sink), lanes(convOutputBlock(spec, target)),
        paddedChannels((spec.outC + lanes - 1) / lanes * lanes) {
    int64_t tiles = (spec.outW + 7) / 8;
    columns = (spec.outW + tiles - 1) / tiles;
  }

  void emit(Value begin, Value end);

private:
  void emitRow();
  void emitTile(const ColumnRun &run, Value column, Value channel, int64_t width);
  void emitColumns(int64_t begin, int64_t end);
  Accumulators emitKernelRow(const ColumnRun &run, Value source, Value taps, int64_t width, Accumulators values);
  void emitSink(ArrayRef<Value> values, Value column, Value channel, int64_t width);
  Value sourceAt(Value kh, Value inColumn, Value channel) {
    Value row = ir.add(inRow, ir.mul(kh, spec.dilationH));
    Value pixel = ir.mul(ir.add(ir.mul(row, spec.inW), inColumn), spec.inC);
    return ir.at(imageBase, ir.add(pixel, channel), input.elementType);
  }
  Value tapsAt(Value kh, Value channel) {
    return ir.at(weights.pointer, ir.add(ir.mul(kh, spec.kernelW * paddedChannels), channel), weights.elementType);
  }

  Ir &ir;
  const ConvSpec &spec;
  const Source &input, &weights;
  SinkFn sink;
  int64_t lanes, paddedChannels;
  int64_t columns; ///< Of a tile.

  Value sinkScratch; ///< [columns][lanes], unless the sink is inline.
  // Of the row being emitted.
  Value image, outRow, inRow, tapBegin, tapEnd, imageBase;
};

void DepthwiseEmitter::emit(Value begin, Value end) {
  if (spec.sinkStyle == SinkStyle::Looped)
    sinkScratch = ir.scratch(columns * lanes);
  ir.loop(begin, end, 1, [&](Value item) {
    image = ir.div(item, spec.outH);
    outRow = ir.rem(item, spec.outH);
    emitRow();
  });
}

void DepthwiseEmitter::emitRow() {
  imageBase = ir.at(input.pointer, ir.mul(image, spec.inH * spec.inW * spec.inC), input.elementType);
  inRow = ir.add(ir.mul(outRow, spec.strideH), -spec.padTop);
  std::tie(tapBegin, tapEnd) = clipTaps(ir, inRow, spec.kernelH, spec.dilationH, spec.inH);
  ColumnPlan plan = planColumns(spec, columns);
  emitColumns(0, plan.leftEnd);
  for (const ColumnRun &run : plan.runs) {
    int64_t end = run.first + run.count * run.columns;
    ir.loop(ir.constant(run.first), ir.constant(end), run.columns, [&](Value column) {
      ir.forLanes(spec.outC, lanes, [&](Value channel, int64_t width) { emitTile(run, column, channel, width); });
    });
  }
  emitColumns(plan.rightBegin, spec.outW);
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
  auto inputAt = [&](Value base, int64_t column) {
    return ir.load(input, ir.at(base, column * spec.inC, input.elementType), width);
  };
  if (run.inside() && spec.kernelW > maxUnrolledTaps)
    return ir.loop(ir.constant(0), ir.constant(spec.kernelW), 1, values, [&](Value kw, ValueRange carried) {
      Accumulators sums(carried);
      Value base = ir.at(source, ir.mul(kw, spec.dilationW * spec.inC), input.elementType);
      Value tap = ir.load(weights, ir.at(taps, ir.mul(kw, paddedChannels), weights.elementType), width);
      for (int64_t c = 0; c < run.columns; ++c)
        sums[c] = ir.multiplyAdd(inputAt(base, c * spec.strideW), tap, sums[c]);
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
        pixel = inputAt(source, column);
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
    std::pair<Value, Value> range = clipTaps(ir, inColumn, spec.kernelW, spec.dilationW, spec.inW);
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
                           WorkItems items, SinkFn sink) {
  DepthwiseEmitter(ir, spec, target, operands.lhs, operands.rhs, sink).emit(items.begin, items.end);
}

} // namespace sluice::emit
