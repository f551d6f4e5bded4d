//===- ContractionConv.cpp - Emits direct convolutions --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Direct convolution after Georganas et al., "Anatomy of High-Performance Deep Learning Convolutions on SIMD
// Architectures" (SC 2018), for NHWC input. A register tile covers some output columns and output channels, and each
// input element is broadcast to a vector. Padding is never stored. Near the upper and lower border, a loop over rows
// leaves out the taps outside of the image. Columns near the left and right border have tiles of their own, whose taps
// outside of the image are left out at compile time. If the width is known only in the step, tiles at these borders
// copy their pixels, with zeros around them.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/ContractionIr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/Sequence.h"
#include <algorithm>

using namespace mlir;

namespace sluice::emit {
using namespace detail;

bool detail::ColumnRun::inside() const {
  return llvm::all_of(from, [](int64_t first) { return first == 0; }) &&
         llvm::all_of(to, [&](int64_t last) { return last == columns; });
}

static ColumnRun describeTile(const ConvSpec &spec, int64_t first, int64_t columns) {
  ColumnRun run;
  run.first = first;
  run.columns = columns;
  for (int64_t kw = 0; kw < spec.kernelW; ++kw) {
    int64_t start = first * spec.strideW - spec.padLeft + kw * spec.dilationW;
    int64_t from = start >= 0 ? 0 : (-start + spec.strideW - 1) / spec.strideW;
    int64_t to = start >= spec.inW ? 0 : (spec.inW - start + spec.strideW - 1) / spec.strideW;
    from = std::min(from, columns);
    run.from.push_back(from);
    run.to.push_back(std::clamp(to, from, columns));
  }
  return run;
}

/// Columns with taps left of the image. Pads below zero crop it.
static int64_t leftBorder(const ConvSpec &spec) {
  return std::max<int64_t>((spec.padLeft + spec.strideW - 1) / spec.strideW, 0);
}

ColumnPlan detail::planColumns(const ConvSpec &spec, int64_t columns) {
  // Multiplications border tiles may be unrolled to, by one vector of channels: keeps compiling below some 50 ms.
  constexpr int64_t maxBorderSteps = 160;
  // Columns all of whose taps are inside: [insideBegin, insideEnd).
  int64_t slack = spec.inW - 1 - (spec.kernelW - 1) * spec.dilationW + spec.padLeft;
  int64_t insideBegin = std::min(leftBorder(spec), spec.outW);
  int64_t insideEnd = slack < 0 ? insideBegin : std::clamp(slack / spec.strideW + 1, insideBegin, spec.outW);
  ColumnPlan plan;
  plan.rightBegin = spec.outW;
  auto addTiles = [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end;) {
      ColumnRun run = describeTile(spec, first, std::min(columns, end - first));
      if (run.columns == columns && run.inside())
        run.count = std::max<int64_t>((std::min(insideEnd, end) - first) / columns, 1);
      first += run.count * run.columns;
      ColumnRun *previous = plan.runs.empty() ? nullptr : &plan.runs.back();
      if (previous && previous->columns == run.columns && previous->from == run.from && previous->to == run.to)
        previous->count += run.count;
      else
        plan.runs.push_back(std::move(run));
    }
  };
  addTiles(0, spec.outW);
  int64_t borderSteps = 0;
  for (const ColumnRun &run : plan.runs)
    if (!run.inside())
      for (int64_t kw = 0; kw < spec.kernelW; ++kw)
        borderSteps += run.to[kw] - run.from[kw];
  if (borderSteps <= maxBorderSteps)
    return plan;
  plan.runs.clear();
  plan.leftEnd = insideBegin;
  plan.rightBegin = insideEnd;
  addTiles(insideBegin, insideEnd);
  return plan;
}

ColumnRun detail::insideTile(const ConvSpec &spec, int64_t columns) {
  ColumnRun run;
  run.columns = columns;
  run.from.assign(spec.kernelW, 0);
  run.to.assign(spec.kernelW, columns);
  return run;
}

ColumnRun detail::leftTile(const ConvSpec &spec, int64_t columns) {
  ConvSpec wide = spec;
  wide.inW = columns * spec.strideW + spec.kernelW * spec.dilationW;
  return describeTile(wide, 0, columns);
}

ColumnRange detail::insideColumns(Ir &ir, const ConvSpec &spec, Value inW, Value outW) {
  Value zero = ir.constant(0);
  Value begin = ir.min(ir.constant(leftBorder(spec)), outW);
  Value reach = ir.add(inW, spec.padLeft - 1 - (spec.kernelW - 1) * spec.dilationW + spec.strideW);
  Value end = ir.min(ir.div(ir.max(reach, zero), spec.strideW), outW);
  return {begin, ir.max(begin, end)};
}

std::pair<Value, Value> detail::clipTaps(Ir &ir, Value start, int64_t taps, int64_t dilation, Value extent) {
  Value zero = ir.constant(0);
  Value before = ir.max(ir.sub(zero, start), zero);
  Value inside = ir.max(ir.sub(extent, start), zero);
  Value from = ir.div(ir.add(before, dilation - 1), dilation);
  Value to = ir.div(ir.add(inside, dilation - 1), dilation);
  return {from, ir.min(to, ir.constant(taps))};
}

namespace {

class ConvEmitter {
public:
  ConvEmitter(Ir &ir, const ConvSpec &spec, const VectorTarget &target, const Source &input, const Source &weights,
              SinkFn sink, const ConvExtents &extents)
      : ir(ir), spec(spec), input(input), weights(weights), sink(sink), extents(extents),
        together(convGroupsTogether(spec, target)),
        tile(chooseTile(spec.outW, spec.groupOutC() * together, 32, target, spec.tuning)), block(tile.block()),
        blocks((spec.groupOutC() * together + block - 1) / block),
        lastBlock(spec.groupOutC() * together - (blocks - 1) * block), rowBlock(convRowBlock(spec)),
        rowBlocks((spec.outH + rowBlock - 1) / rowBlock), weightBlock(convOutputBlock(spec, target)),
        tapSize(spec.groupInC() * weightBlock), blockSize(spec.kernelH * spec.kernelW * tapSize),
        inlineSink(spec.sinkStyle == SinkStyle::Inline && (blocks == 1 || lastBlock == block)),
        vectorLanes(target.lanesF32), isUnrolledLater(target.isUnrolledLater), pixels(input), pixelStride(spec.inC),
        widens(input.elementType != ir.elementType && !input.load && together == 1 &&
               spanOf(tile.rows) * spec.groupInC() * 4 <= widenedBytes(input.elementType)),
        copies(hasStepWidth() && spanOf(tile.rows) * copiedPitch() * 4 <= widenedBytes(input.elementType)) {}

  void emit(Value begin, Value end);

private:
  void emitRow(Value row);
  void emitTile(const ColumnRun &run, Value column);
  void emitColumns(int64_t begin, int64_t end);
  void emitColumns(Value begin, Value end);
  /// All columns of a row whose width the step gives.
  void emitStepColumns();
  /// The sums of a tile, whose pixels are copied where it is not `isInside`.
  Accumulators emitStepTile(int64_t columns, Value column, Value isInside);
  /// Copies the pixels of a tile from column inColumn of the image on to pixelScratch, zeros where there are none.
  void emitCopy(int64_t columns, Value inColumn, Value source);
  /// Sums the taps of one kernel row; `source` is the pixel tap 0 of the tile's column 0 reads, `taps` its weights.
  Accumulators emitKernelRow(const ColumnRun &run, Value source, Value taps, Accumulators values);
  /// Sums `count` neighbouring taps that all columns of the tile have.
  Accumulators emitTaps(int64_t count, Value source, Value taps, int64_t columns, Accumulators values);
  /// Sums `depth` consecutive input values of the columns [from, to).
  Accumulators emitDepth(int64_t depth, Value source, Value taps, int64_t from, int64_t to, int64_t chains,
                         Accumulators values);
  /// The same for one tap of groups together.
  Accumulators emitGroups(Value source, Value taps, int64_t from, int64_t to, Accumulators values);
  Accumulators sumChains(Accumulators values, int64_t count, int64_t chains);
  void emitSink(ArrayRef<Value> values, int64_t columns, Value column);
  void storeSums(ArrayRef<Value> values);
  void emitSinkLoop(Value columns, Value column);
  /// Pixels of an input row that a tile of so many columns reads.
  int64_t spanOf(int64_t columns) const {
    return (columns - 1) * spec.strideW + (spec.kernelW - 1) * spec.dilationW + 1;
  }
  /// Whether it is known when compiling which of a tile's pixels are inside the input: only those are copied.
  bool canWiden(const ColumnRun &run) const { return widens && (run.inside() || run.count == 1); }
  /// Copies the pixels of a tile, whose first one is at `source`, to pixelScratch.
  void emitWiden(const ColumnRun &run, Value source);
  Value pixelOffset(Value row, Value column) {
    Value before = extents.inW ? ir.mul(row, extents.inW) : ir.mul(row, spec.inW);
    return ir.mul(ir.add(before, column), spec.inC);
  }
  bool hasStepWidth() const { return extents.inW || extents.outW; }
  Value inH() { return extents.inH ? extents.inH : ir.constant(spec.inH); }
  Value inW() { return extents.inW ? extents.inW : ir.constant(spec.inW); }
  Value outH() { return extents.outH ? extents.outH : ir.constant(spec.outH); }
  Value outW() { return extents.outW ? extents.outW : ir.constant(spec.outW); }
  /// The pixels that tiles copy become f32, or are as far apart as in the image: one code reads both.
  bool isWidened() const { return input.elementType != ir.elementType; }
  int64_t copiedPitch() const { return isWidened() ? spec.groupInC() * together : spec.inC; }

  Ir &ir;
  const ConvSpec &spec;
  const Source &input, &weights;
  SinkFn sink;
  const ConvExtents &extents;
  int64_t together; ///< Groups computed as one.
  RegisterTile tile;
  /// Output channels of a tile; tiles of a group or of those together; valid channels of the last one.
  int64_t block, blocks, lastBlock;
  int64_t rowBlock, rowBlocks;
  int64_t weightBlock;        ///< Output channels of a block of weights: of a tile, or of one of the groups together.
  int64_t tapSize, blockSize; ///< Weights of one tap, and of all taps, of a block.
  bool inlineSink;
  int64_t vectorLanes;
  bool isUnrolledLater;
  Source pixels;       ///< What tiles read: the input, or pixelScratch.
  int64_t pixelStride; ///< There, in elements.
  bool widens;         ///< Input rows of a tile are copied first, as f32.
  bool copies;         ///< The same where the step gives the width: at borders, and wherever they are no f32.

  Value sinkScratch;  ///< [tile.rows][block], unless the sink is inline.
  Value pixelScratch; ///< [pixels of a tile's row][inC of a group, or copiedPitch()]
  // Of the work item and row being emitted.
  Value image, blockIndex, channel, outRow, inRow, tapBegin, tapEnd;
  Value imageBase, blockWeights;
};

void ConvEmitter::emit(Value begin, Value end) {
  if (!inlineSink || hasStepWidth())
    sinkScratch = ir.scratch(tile.rows * block);
  if (copies)
    pixelScratch = ir.scratch(spanOf(tile.rows) * copiedPitch());
  else if (widens && !hasStepWidth())
    pixelScratch = ir.scratch(spanOf(tile.rows) * spec.groupInC());
  ir.loop(begin, end, 1, [&](Value item) {
    blockIndex = ir.rem(item, blocks);
    int64_t tiles = blocks * (spec.groups / together);
    Value filters = ir.rem(item, tiles);
    Value group = ir.mul(ir.div(filters, blocks), together);
    Value rest = ir.div(item, tiles);
    Value stepBlocks = extents.outH ? ir.div(ir.add(extents.outH, rowBlock - 1), rowBlock) : Value();
    image = stepBlocks ? ir.div(rest, stepBlocks) : ir.div(rest, rowBlocks);
    channel = ir.add(ir.mul(group, spec.groupOutC()), ir.mul(blockIndex, block));
    blockWeights = ir.at(weights.pointer, ir.mul(filters, together * blockSize), weights.elementType);
    Value imageOffset = extents.inH || extents.inW ? pixelOffset(ir.mul(image, inH()), ir.constant(0))
                                                   : ir.mul(image, spec.inH * spec.inW * spec.inC);
    imageBase = ir.at(input.pointer, ir.add(imageOffset, ir.mul(group, spec.groupInC())), input.elementType);
    Value rowBegin = ir.mul(stepBlocks ? ir.rem(rest, stepBlocks) : ir.rem(rest, rowBlocks), rowBlock);
    Value rowEnd = ir.min(ir.add(rowBegin, rowBlock), outH());
    ir.loop(rowBegin, rowEnd, 1, [&](Value row) { emitRow(row); });
  });
}

void ConvEmitter::emitRow(Value row) {
  outRow = row;
  inRow = ir.add(ir.mul(row, spec.strideH), -spec.padTop);
  bool clipped = spec.padTop > 0 || extents.inH || extents.outH ||
                 (spec.outH - 1) * spec.strideH + (spec.kernelH - 1) * spec.dilationH >= spec.inH;
  tapBegin = ir.constant(0);
  tapEnd = ir.constant(spec.kernelH);
  if (clipped)
    std::tie(tapBegin, tapEnd) = clipTaps(ir, inRow, spec.kernelH, spec.dilationH, inH());
  if (hasStepWidth())
    return emitStepColumns();
  ColumnPlan plan = planColumns(spec, tile.rows);
  emitColumns(0, plan.leftEnd);
  for (const ColumnRun &run : plan.runs) {
    if (run.count == 1)
      emitTile(run, ir.constant(run.first));
    else
      ir.loop(ir.constant(run.first), ir.constant(run.first + run.count * run.columns), run.columns,
              [&](Value column) { emitTile(run, column); });
  }
  emitColumns(plan.rightBegin, spec.outW);
}

/// Tiles that are as wide as at the upper bounds, then one of what is left.
void ConvEmitter::emitStepColumns() {
  const ColumnRange inside = insideColumns(ir, spec, inW(), outW());
  // Where tiles do not copy, columns at a border go one at a time.
  Value zero = ir.constant(0), begin = copies ? zero : inside.begin, end = copies ? outW() : inside.end;
  auto isInside = [&](Value column, int64_t columns) -> Value {
    if (!copies || isWidened())
      return {};
    Value isLeft = ir.isLess(column, inside.begin), isRight = ir.isLess(inside.end, ir.add(column, columns));
    Value isOutside = arith::OrIOp::create(ir.b, ir.loc, isLeft, isRight);
    return arith::XOrIOp::create(ir.b, ir.loc, isOutside,
                                 arith::ConstantOp::create(ir.b, ir.loc, ir.b.getBoolAttr(true)));
  };
  if (!copies)
    emitColumns(zero, begin);
  Value wholeEnd = ir.add(begin, ir.mul(ir.div(ir.sub(end, begin), tile.rows), tile.rows));
  ir.loop(begin, wholeEnd, tile.rows, [&](Value column) {
    emitSink(emitStepTile(tile.rows, column, isInside(column, tile.rows)), tile.rows, column);
  });
  Value rest = ir.sub(end, wholeEnd);
  ir.choose(rest, tile.rows, [&](int64_t columns) {
    if (columns > 0)
      storeSums(emitStepTile(columns, wholeEnd, isInside(wholeEnd, columns)));
  });
  emitSinkLoop(rest, wholeEnd);
  if (!copies)
    emitColumns(end, outW());
}

Accumulators ConvEmitter::emitStepTile(int64_t columns, Value column, Value isInside) {
  const ColumnRun run = insideTile(spec, columns);
  Accumulators values(columns * tile.vectors, ir.zero(tile.lanes));
  Value inColumn = ir.add(ir.mul(column, spec.strideW), -spec.padLeft);
  return ir.loop(tapBegin, tapEnd, 1, values, [&](Value kh, ValueRange sums) {
    Value source =
        ir.at(imageBase, pixelOffset(ir.add(inRow, ir.mul(kh, spec.dilationH)), inColumn), input.elementType);
    Value taps = ir.at(blockWeights, ir.mul(kh, spec.kernelW * tapSize), weights.elementType);
    if (!copies)
      return emitKernelRow(run, source, taps, Accumulators(sums));
    if (isInside) {
      ir.ifElse(
          isInside, [] {}, [&] { emitCopy(columns, inColumn, source); });
      source = arith::SelectOp::create(ir.b, ir.loc, isInside, source, pixelScratch);
    } else {
      emitCopy(columns, inColumn, source);
      source = pixelScratch;
    }
    pixels = {pixelScratch, ir.elementType};
    pixelStride = copiedPitch();
    Accumulators next = emitKernelRow(run, source, taps, Accumulators(sums));
    pixels = input;
    pixelStride = spec.inC;
    return next;
  });
}

void ConvEmitter::emitCopy(int64_t columns, Value inColumn, Value source) {
  const int64_t depth = spec.groupInC() * together;
  Value zero = ir.constant(0), span = ir.constant(spanOf(columns));
  Value from = ir.min(ir.max(ir.sub(zero, inColumn), zero), span);
  Value to = ir.min(ir.max(ir.sub(inW(), inColumn), from), span);
  auto forPixels = [&](Value begin, Value end, function_ref<Value(Value pixel, Value channel, int64_t width)> value) {
    ir.loop(begin, end, 1, [&](Value pixel) {
      ir.forLanes(depth, vectorLanes, [&](Value channel, int64_t width) {
        ir.store(value(pixel, channel, width), ir.at(pixelScratch, ir.add(ir.mul(pixel, copiedPitch()), channel)));
      });
    });
  };
  auto none = [&](Value, Value, int64_t width) { return ir.zero(width); };
  forPixels(zero, from, none);
  forPixels(from, to, [&](Value pixel, Value channel, int64_t width) {
    return ir.load(input, ir.at(source, ir.add(ir.mul(pixel, spec.inC), channel), input.elementType), width);
  });
  forPixels(to, span, none);
}

void ConvEmitter::emitTile(const ColumnRun &run, Value column) {
  Accumulators values(run.columns * tile.vectors, ir.zero(tile.lanes));
  Value inColumn = ir.add(ir.mul(column, spec.strideW), -spec.padLeft);
  auto emitTap = [&](Value kh, Accumulators sums) {
    Value source =
        ir.at(imageBase, pixelOffset(ir.add(inRow, ir.mul(kh, spec.dilationH)), inColumn), input.elementType);
    Value taps = ir.at(blockWeights, ir.mul(kh, spec.kernelW * tapSize), weights.elementType);
    if (!canWiden(run))
      return emitKernelRow(run, source, taps, std::move(sums));
    emitWiden(run, source);
    pixels = {pixelScratch, ir.elementType};
    pixelStride = spec.groupInC();
    sums = emitKernelRow(run, pixelScratch, taps, std::move(sums));
    pixels = input;
    pixelStride = spec.inC;
    return sums;
  };
  values =
      ir.loop(tapBegin, tapEnd, 1, values, [&](Value kh, ValueRange sums) { return emitTap(kh, Accumulators(sums)); });
  emitSink(values, run.columns, column);
}

void ConvEmitter::emitWiden(const ColumnRun &run, Value source) {
  const int64_t start = run.first * spec.strideW - spec.padLeft, span = spanOf(run.columns);
  const int64_t from = run.inside() ? 0 : std::clamp<int64_t>(-start, 0, span);
  const int64_t to = run.inside() ? span : std::clamp<int64_t>(spec.inW - start, from, span);
  const int64_t depth = spec.groupInC();
  if (from == to)
    return;
  if (spec.groups == 1)
    return ir.widen(input, ir.at(source, from * depth, input.elementType), ir.at(pixelScratch, from * depth),
                    (to - from) * depth, vectorLanes);
  ir.loop(ir.constant(from), ir.constant(to), 1, [&](Value pixel) {
    ir.widen(input, ir.at(source, ir.mul(pixel, spec.inC), input.elementType),
             ir.at(pixelScratch, ir.mul(pixel, depth)), depth, vectorLanes);
  });
}

Accumulators ConvEmitter::emitKernelRow(const ColumnRun &run, Value source, Value taps, Accumulators values) {
  for (int64_t kw = 0, next; kw < spec.kernelW; kw = next) {
    auto isWhole = [&](int64_t tap) { return run.from[tap] == 0 && run.to[tap] == run.columns; };
    next = kw + 1;
    while (isWhole(kw) && next < spec.kernelW && isWhole(next))
      ++next;
    Value first = ir.at(source, kw * spec.dilationW * pixelStride, pixels.elementType);
    Value weight = ir.at(taps, kw * tapSize, weights.elementType);
    if (isWhole(kw))
      values = emitTaps(next - kw, first, weight, run.columns, std::move(values));
    else if (run.from[kw] < run.to[kw])
      values = emitDepth(spec.groupInC(), first, weight, run.from[kw], run.to[kw], 1, std::move(values));
  }
  return values;
}

Accumulators ConvEmitter::emitTaps(int64_t count, Value source, Value taps, int64_t columns, Accumulators values) {
  int64_t depth = spec.groupInC();
  RegisterTile shape = tile;
  shape.rows = columns;
  // Neighbouring taps of one group and dilation 1 are one run of consecutive input values.
  if (count == 1 || (spec.dilationW == 1 && spec.groups == 1))
    return emitDepth(count * depth, source, taps, 0, columns, reductionChains(shape, count * depth), std::move(values));
  return ir.loop(ir.constant(0), ir.constant(count), 1, values, [&](Value kw, ValueRange sums) {
    return emitDepth(depth, ir.at(source, ir.mul(kw, spec.dilationW * pixelStride), pixels.elementType),
                     ir.at(taps, ir.mul(kw, tapSize), weights.elementType), 0, columns, reductionChains(shape, depth),
                     Accumulators(sums));
  });
}

Accumulators ConvEmitter::emitDepth(int64_t depth, Value source, Value taps, int64_t from, int64_t to, int64_t chains,
                                    Accumulators values) {
  if (together > 1)
    return emitGroups(source, taps, from, to, std::move(values));
  int64_t count = values.size();
  for (int64_t i = count; i < count * chains; ++i)
    values.push_back(ir.zero(tile.lanes));
  int64_t unroll = reductionUnroll((to - from) * tile.vectors, depth, isUnrolledLater);
  values = emitReduction(ir, depth, unroll, std::move(values), [&](Value k, int64_t u, MutableArrayRef<Value> sums) {
    Value a = ir.at(source, k, pixels.elementType);
    Value w = ir.at(taps, ir.mul(k, block), weights.elementType);
    SmallVector<Value, 2> vectors;
    for (int64_t v = 0; v < tile.vectors; ++v)
      vectors.push_back(ir.load(weights, ir.at(w, u * block + v * tile.lanes, weights.elementType), tile.lanes));
    ir.prefetch(w, (u + prefetchSteps) * block, block, weights.elementType);
    for (int64_t column = from; column < to; ++column) {
      Value scalar = ir.load(pixels, ir.at(a, column * spec.strideW * pixelStride + u, pixels.elementType), 1);
      Value wide = ir.broadcast(scalar, tile.lanes);
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = sums[u % chains * count + column * tile.vectors + v];
        sum = ir.multiplyAdd(wide, vectors[v], sum);
      }
    }
  });
  return sumChains(std::move(values), count, chains);
}

Accumulators ConvEmitter::emitGroups(Value source, Value taps, int64_t from, int64_t to, Accumulators values) {
  int64_t depth = spec.groupInC();
  SmallVector<Value> vectors;
  for (int64_t k = 0; k < depth; ++k) {
    SmallVector<Value> parts;
    for (int64_t group = 0; group < together; ++group)
      parts.push_back(
          ir.load(weights, ir.at(taps, group * blockSize + k * weightBlock, weights.elementType), weightBlock));
    for (int64_t lanes = weightBlock; parts.size() > 1; lanes *= 2) {
      for (size_t i = 0; i < parts.size() / 2; ++i)
        parts[i] = vector::ShuffleOp::create(ir.b, ir.loc, parts[2 * i], parts[2 * i + 1],
                                             llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes)));
      parts.truncate(parts.size() / 2);
    }
    vectors.push_back(parts[0]);
  }
  for (int64_t column = from; column < to; ++column) {
    Value pixel = ir.load(pixels, ir.at(source, column * spec.strideW * pixelStride, pixels.elementType), tile.lanes);
    for (int64_t k = 0; k < depth; ++k) {
      // Every lane reads input k of its own group.
      SmallVector<int64_t> lanes;
      for (int64_t lane = 0; lane < tile.lanes; ++lane)
        lanes.push_back(lane / depth * depth + k);
      Value wide = vector::ShuffleOp::create(ir.b, ir.loc, pixel, pixel, lanes);
      values[column] = ir.multiplyAdd(wide, vectors[k], values[column]);
    }
  }
  return values;
}

Accumulators ConvEmitter::sumChains(Accumulators values, int64_t count, int64_t chains) {
  for (int64_t chain = 1; chain < chains; ++chain)
    for (int64_t i = 0; i < count; ++i)
      values[i] = arith::AddFOp::create(ir.b, ir.loc, values[i], values[chain * count + i]);
  values.truncate(count);
  return values;
}

/// Columns [begin, end), one at a time, with the taps that read inside the input.
void ConvEmitter::emitColumns(int64_t begin, int64_t end) {
  if (begin != end)
    emitColumns(ir.constant(begin), ir.constant(end));
}

void ConvEmitter::emitColumns(Value begin, Value end) {
  ir.loop(begin, end, 1, [&](Value column) {
    Accumulators values(tile.vectors, ir.zero(tile.lanes));
    RegisterTile shape = tile;
    shape.rows = 1;
    Value inColumn = ir.add(ir.mul(column, spec.strideW), -spec.padLeft);
    std::pair<Value, Value> taps = clipTaps(ir, inColumn, spec.kernelW, spec.dilationW, inW());
    values = ir.loop(tapBegin, tapEnd, 1, values, [&](Value kh, ValueRange outer) {
      Value source =
          ir.at(imageBase, pixelOffset(ir.add(inRow, ir.mul(kh, spec.dilationH)), inColumn), input.elementType);
      Value rowTaps = ir.at(blockWeights, ir.mul(kh, spec.kernelW * tapSize), weights.elementType);
      return ir.loop(taps.first, taps.second, 1, outer, [&](Value kw, ValueRange sums) {
        return emitDepth(spec.groupInC(), ir.at(source, ir.mul(kw, spec.dilationW * spec.inC), input.elementType),
                         ir.at(rowTaps, ir.mul(kw, tapSize), weights.elementType), 0, 1,
                         reductionChains(shape, spec.groupInC()), Accumulators(sums));
      });
    });
    emitSink(values, 1, column);
  });
}

void ConvEmitter::emitSink(ArrayRef<Value> values, int64_t columns, Value column) {
  if (inlineSink) {
    for (int64_t c = 0; c < columns; ++c) {
      ArrayRef<Value> sums = values.slice(c * tile.vectors, tile.vectors);
      sinkRow(
          ir, lastBlock, tile.lanes,
          [&](int64_t offset, int64_t lanes) { return sliceRow(ir, sums, tile.lanes, offset, lanes); },
          {image, outRow, ir.add(column, c)}, channel, sink);
    }
    return;
  }
  storeSums(values);
  emitSinkLoop(ir.constant(columns), column);
}

void ConvEmitter::storeSums(ArrayRef<Value> values) {
  for (auto [i, value] : llvm::enumerate(values))
    ir.store(value, ir.at(sinkScratch, static_cast<int64_t>(i) * tile.lanes));
}

void ConvEmitter::emitSinkLoop(Value columns, Value column) {
  auto emitLoop = [&](int64_t valid) {
    ir.loop(ir.constant(0), columns, 1, [&](Value c) {
      Value sums = ir.at(sinkScratch, ir.mul(c, block));
      sinkRow(
          ir, valid, tile.lanes, [&](int64_t offset, int64_t lanes) { return ir.load(ir.at(sums, offset), lanes); },
          {image, outRow, ir.add(column, c)}, channel, sink);
    });
  };
  emitBlockWidths(ir, blockIndex, blocks, block, lastBlock, emitLoop);
}

} // namespace

void detail::emitPointwise(Ir &ir, const ConvSpec &spec, const VectorTarget &target, const Operands &operands,
                           WorkItems items, SinkFn sink) {
  emitMatmul(ir.b, ir.loc, pointwiseMatmul(spec), target, {operands.lhs, operands.rhs}, items,
             [&](OpBuilder &, Location, Value value, ValueRange indices, int64_t lanes) {
               Value pixel = ir.fromIndex(indices[0]);
               Value row = ir.div(pixel, spec.outW);
               sink(ir.b, ir.loc, value,
                    {ir.toIndex(ir.div(row, spec.outH)), ir.toIndex(ir.rem(row, spec.outH)),
                     ir.toIndex(ir.rem(pixel, spec.outW)), indices[1]},
                    lanes);
             });
}

void detail::emitDirect(Ir &ir, const ConvSpec &spec, const VectorTarget &target, const Operands &operands,
                        WorkItems items, SinkFn sink, const ConvExtents &extents) {
  ConvEmitter(ir, spec, target, operands.lhs, operands.rhs, sink, extents).emit(items.begin, items.end);
}

void emitConv2d(OpBuilder &b, Location loc, const ConvSpec &spec, const VectorTarget &target,
                const ConvOperands &operands, WorkItems items, SinkFn sink) {
  auto turned = [&](OpBuilder &inner, Location at, Value value, ValueRange indices, int64_t lanes) {
    sink(inner, at, value, {indices[0], indices[2], indices[1], indices[3]}, lanes);
  };
  if (spec.isTurned) {
    ConvSpec row = spec;
    row.isTurned = false;
    return emitConv2d(b, loc, row, target, operands, items, turned);
  }
  Ir ir(b, loc, b.getF32Type());
  items = {ir.fromIndex(items.begin), ir.fromIndex(items.end)};
  if (isPointwise(spec))
    return emitPointwise(ir, spec, target, operands.sources(), items, sink);
  if (isDepthwise(spec))
    return emitDepthwise(ir, spec, target, operands.sources(), items, sink, operands.extents);
  emitDirect(ir, spec, target, operands.sources(), items, sink, operands.extents);
}

} // namespace sluice::emit
