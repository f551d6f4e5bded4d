//===- ContractionShiftAdd.cpp - Convolutions to few channels -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// If a convolution has only three output channels, most lanes of a vector of output channels would be empty. This
// kernel fills the vector with the taps of a kernel's row. For a block of rows, it first computes a convolution of
// width 1 whose channels are pairs of a tap and an output channel, and stores the sums at each column in scratch
// memory. An output is then the sum over the taps of its window, where the sum for tap k is read k * dilation columns
// further on.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/ContractionIr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <bit>

using namespace mlir;

namespace sluice::emit {
using namespace detail;

namespace {

class ShiftAddEmitter {
public:
  ShiftAddEmitter(Ir &ir, const ShiftAddSpec &spec, const VectorTarget &target, const Operands &operands, SinkFn sink,
                  const ConvExtents &extents)
      : ir(ir), spec(spec.image), taps(spec.taps()), target(target), operands(operands), sink(sink), extents(extents),
        lanes(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(this->spec.outC)))),
        rowBlock(convRowBlock(taps)), rowBlocks((taps.outH + rowBlock - 1) / rowBlock),
        channelBlock(convOutputBlock(taps, target)), channelBlocks((taps.outC + channelBlock - 1) / channelBlock),
        pitch(shiftAddPitch(spec, target)) {}

  void emit(Value begin, Value end);

private:
  void emitTaps(Value item);
  void emitSums(Value row, Value column);
  /// Of the first channel at a column of the block's row.
  Value scratchAt(Value row, Value column) {
    return ir.at(scratch, ir.mul(ir.add(ir.mul(row, taps.outW), column), pitch));
  }

  Ir &ir;
  const ConvSpec &spec;
  const ConvSpec taps;
  const VectorTarget &target;
  const Operands &operands;
  SinkFn sink;
  const ConvExtents &extents;
  int64_t lanes; ///< That an output's channels are read as.
  int64_t rowBlock, rowBlocks;
  int64_t channelBlock, channelBlocks; ///< Of the taps' convolution, whose work items they are.
  int64_t pitch;
  Value scratch; ///< [rowBlock][taps.outW][pitch], and what a last vector reads beyond it.
  // Of the work item being emitted.
  Value image, rowBegin;
};

void ShiftAddEmitter::emit(Value begin, Value end) {
  scratch = ir.scratch(rowBlock * taps.outW * pitch + lanes);
  ir.loop(begin, end, 1, [&](Value item) {
    Value stepBlocks = extents.outH ? ir.div(ir.add(extents.outH, rowBlock - 1), rowBlock) : Value();
    image = stepBlocks ? ir.div(item, stepBlocks) : ir.div(item, rowBlocks);
    rowBegin = ir.mul(stepBlocks ? ir.rem(item, stepBlocks) : ir.rem(item, rowBlocks), rowBlock);
    emitTaps(item);
    Value rowEnd = ir.min(ir.add(rowBegin, rowBlock), extents.outH ? extents.outH : ir.constant(spec.outH));
    Value columns = extents.outW ? extents.outW : ir.constant(spec.outW);
    ir.loop(rowBegin, rowEnd, 1,
            [&](Value row) { ir.loop(ir.constant(0), columns, 1, [&](Value column) { emitSums(row, column); }); });
  });
}

void ShiftAddEmitter::emitTaps(Value item) {
  Value first = ir.mul(item, channelBlocks);
  ConvExtents shifted = extents;
  if (extents.outW)
    shifted.outW = ir.add(extents.outW, taps.outW - spec.outW);
  emitDirect(
      ir, taps, target, operands, {first, ir.add(first, channelBlocks)},
      [&](OpBuilder &, Location, Value value, ValueRange indices, int64_t) {
        Value row = ir.sub(ir.fromIndex(indices[1]), rowBegin);
        ir.store(value, ir.at(scratchAt(row, ir.fromIndex(indices[2])), ir.fromIndex(indices[3])));
      },
      shifted);
}

void ShiftAddEmitter::emitSums(Value row, Value column) {
  Value source = scratchAt(ir.sub(row, rowBegin), column);
  Value sum;
  for (int64_t tap = 0; tap < spec.kernelW; ++tap) {
    Value shifted = ir.load(ir.at(source, tap * (spec.dilationW * pitch + spec.outC)), lanes);
    sum = tap == 0 ? shifted : arith::AddFOp::create(ir.b, ir.loc, sum, shifted).getResult();
  }
  sinkRow(
      ir, spec.outC, lanes, [&](int64_t offset, int64_t count) { return sliceRow(ir, sum, lanes, offset, count); },
      {image, row, column}, ir.constant(0), sink);
}

} // namespace

void emitShiftAdd(OpBuilder &b, Location loc, const ShiftAddSpec &spec, const VectorTarget &target,
                  const ConvOperands &operands, WorkItems items, SinkFn sink) {
  Ir ir(b, loc, b.getF32Type());
  ShiftAddEmitter(ir, spec, target, operands.sources(), sink, operands.extents)
      .emit(ir.fromIndex(items.begin), ir.fromIndex(items.end));
}

} // namespace sluice::emit
