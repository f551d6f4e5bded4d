//===- ContractionWinograd.cpp - Emits Winograd convolutions --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A work item computes the outputs of a block of tiles for some panels of channels. Transformed inputs and sums are on
// the stack, and fit into the second-level cache. Lanes of the transforms run along the channels. Tiles at a border are
// first copied, with zeros around them, so that the same code computes all tiles and reads nothing outside of the
// image.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/ContractionIr.h"
#include "dialects/Dataflow/Emit/WinogradSpec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace sluice::emit {
using namespace detail;

namespace {

/// The one-dimensional transforms of F(m, 3), of scalars or vectors.
class Transforms {
public:
  Transforms(Ir &ir, int64_t outputs) : ir(ir), outputs(outputs) {}

  /// B^T d.
  SmallVector<Value, 6> input(ArrayRef<Value> d) {
    if (outputs == 2)
      return {sub(d[0], d[2]), add(d[1], d[2]), sub(d[2], d[1]), sub(d[3], d[1])};
    SmallVector<Value, 6> result{outer(d[0], d[2], d[4])};
    appendPair(kNearPoint, kFarPoint, d, result);
    appendPair(kFarPoint, kNearPoint, d, result);
    result.push_back(outer(d[1], d[3], d[5]));
    return result;
  }

  /// A^T s.
  SmallVector<Value, 4> output(ArrayRef<Value> s) {
    if (outputs == 2)
      return {add(add(s[0], s[1]), s[2]), add(sub(s[1], s[2]), s[3])};
    constexpr double a = kNearPoint, b = kFarPoint;
    Value nearSum = add(s[1], s[2]), nearDifference = sub(s[1], s[2]);
    Value farSum = add(s[3], s[4]), farDifference = sub(s[3], s[4]);
    return {add(add(s[0], nearSum), farSum), fma(nearDifference, a, mul(farDifference, b)),
            fma(nearSum, a * a, mul(farSum, b * b)),
            fma(nearDifference, a * a * a, fma(farDifference, b * b * b, s[5]))};
  }

private:
  Value add(Value x, Value y) { return arith::AddFOp::create(ir.b, ir.loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(ir.b, ir.loc, x, y); }
  Value mul(Value x, double y) { return arith::MulFOp::create(ir.b, ir.loc, x, constant(y, x.getType())); }
  Value fma(Value x, double y, Value z) { return ir.multiplyAdd(x, constant(y, x.getType()), z); }
  Value constant(double value, Type type) {
    auto element = ir.b.getFloatAttr(ir.elementType, value);
    auto vector = dyn_cast<VectorType>(type);
    TypedAttr attribute = vector ? TypedAttr(DenseElementsAttr::get(vector, element)) : TypedAttr(element);
    return arith::ConstantOp::create(ir.b, ir.loc, attribute);
  }
  /// The rows of 0 and of infinity: the polynomial of the other four points.
  Value outer(Value low, Value middle, Value high) {
    constexpr double a = kNearPoint * kNearPoint, b = kFarPoint * kFarPoint;
    return fma(low, a * b, fma(middle, -(a + b), high));
  }
  /// The rows of +point and -point: their even and odd terms are alike.
  void appendPair(double point, double other, ArrayRef<Value> d, SmallVectorImpl<Value> &result) {
    Value even = fma(d[2], -other * other, d[4]), odd = fma(d[1], -other * other, d[3]);
    result.push_back(fma(odd, point, even));
    result.push_back(fma(odd, -point, even));
  }

  Ir &ir;
  int64_t outputs;
};

class WinogradEmitter {
public:
  WinogradEmitter(Ir &ir, const WinogradSpec &spec, const VectorTarget &target, const Operands &operands, SinkFn sink,
                  const ConvExtents &extents)
      : ir(ir), spec(spec), image(spec.image), target(target), input(operands.lhs), weights(operands.rhs), sink(sink),
        extents(extents), transforms(ir, spec.outputs), blocking(chooseBlocking(spec, target)), lanes(target.lanesF32),
        inputStride(winogradInputStride(spec, blocking)), sumStride(winogradSumStride(spec, blocking)),
        lastPanel(image.outC - (spec.panels() - 1) * spec.panel) {}

  void emit(Value begin, Value end);

private:
  void emitItem(Value item);
  /// Transforms `depth` input channels of all tiles and multiplies them by the weights of this block of channels.
  void emitDepthBlock(Value depthBlock, int64_t depth);
  void emitInputTile(Value local, Value firstChannel, int64_t depth);
  /// Copies `depth` channels of a tile that is not inside of the image, with zeros where there is none.
  void emitPatch(Value row, Value column, Value source, int64_t depth);
  void emitProducts(Value depthBlock, Value panel, int64_t depth);
  void emitOutputs(Value panel);
  void emitOutputTile(Value local, Value panel);
  void emitSink(Value panel);

  /// Coordinates of a tile by its number: one behind the last is as the last.
  void locateTile(Value local);
  /// The first element of the sums of a panel.
  Value sumsOf(Value panel) {
    return spec.depthBlocks() == 1 ? sumScratch
                                   : ir.at(sumScratch, ir.mul(ir.sub(panel, panelBegin), spec.points() * sumStride));
  }
  bool isAlwaysInside() const {
    if (extents.inH || extents.inW || extents.outH || extents.outW)
      return false;
    auto fits = [&](int64_t pad, int64_t tiles, int64_t in) {
      return pad <= 0 && tiles * spec.outputs + 2 - pad <= in;
    };
    return fits(image.padTop, spec.tileRows(), image.inH) && fits(image.padLeft, spec.tileColumns(), image.inW);
  }

  bool hasSteps() const { return extents.batch || extents.outH || extents.outW; }
  Value inH() { return extents.inH ? extents.inH : ir.constant(image.inH); }
  Value inW() { return extents.inW ? extents.inW : ir.constant(image.inW); }
  Value outH() { return extents.outH ? extents.outH : ir.constant(image.outH); }
  Value outW() { return extents.outW ? extents.outW : ir.constant(image.outW); }
  /// Tiles of so many outputs.
  Value tilesOf(Value outputs) { return ir.div(ir.add(outputs, spec.outputs - 1), spec.outputs); }
  Value timesInW(Value a) { return extents.inW ? ir.mul(a, extents.inW) : ir.mul(a, image.inW); }

  Ir &ir;
  const WinogradSpec &spec;
  const ConvSpec &image;
  const VectorTarget &target;
  const Source &input, &weights;
  SinkFn sink;
  const ConvExtents &extents;
  Transforms transforms;
  WinogradBlocking blocking;
  int64_t lanes, inputStride, sumStride; ///< Strides between points.
  int64_t lastPanel;                     ///< Channels of the last panel.

  Value inputScratch; ///< [points][tiles][depth], points inputStride apart.
  Value sumScratch;   ///< [panels][points][tiles][panel], points sumStride apart; one panel where inputs are one block.
  Value patchScratch; ///< [extent][extent][depth].
  Value outputScratch; ///< [outputs][outputs][panel].
  // Of all work items.
  Value tileRows, tileColumns, tiles; ///< Where the step gives one of them.
  // The work item that is being emitted, and its tile.
  Value tileBegin, tileCount, panelBegin, panelEnd;
  Value imageIndex, outRow, outColumn;
};

void WinogradEmitter::emit(Value begin, Value end) {
  const int64_t heldPanels = spec.depthBlocks() > 1 ? blocking.panels : 1;
  inputScratch = ir.scratch(spec.points() * inputStride);
  sumScratch = ir.scratch(heldPanels * spec.points() * sumStride);
  patchScratch = ir.scratch(spec.points() * spec.depth);
  outputScratch = ir.scratch(spec.outputs * spec.outputs * spec.panel);
  if (hasSteps()) {
    tileRows = tilesOf(outH());
    tileColumns = tilesOf(outW());
    tiles = ir.mul(ir.mul(extents.batch ? extents.batch : ir.constant(image.batch), tileRows), tileColumns);
  }
  ir.loop(begin, end, 1, [&](Value item) { emitItem(item); });
}

void WinogradEmitter::emitItem(Value item) {
  if (hasSteps()) {
    Value blocks = ir.div(ir.add(tiles, blocking.tiles - 1), blocking.tiles);
    tileBegin = ir.mul(ir.rem(item, blocks), blocking.tiles);
    tileCount = ir.min(ir.constant(blocking.tiles), ir.sub(tiles, tileBegin));
    panelBegin = ir.mul(ir.div(item, blocks), blocking.panels);
  } else {
    tileBegin = ir.mul(ir.rem(item, blocking.blocks), blocking.tiles);
    tileCount = ir.min(ir.constant(blocking.tiles), ir.sub(ir.constant(spec.tiles()), tileBegin));
    panelBegin = ir.mul(ir.div(item, blocking.blocks), blocking.panels);
  }
  panelEnd = ir.min(ir.add(panelBegin, blocking.panels), ir.constant(spec.panels()));
  const int64_t whole = image.inC / spec.depth, rest = image.inC % spec.depth;
  if (spec.depthBlocks() == 1)
    return emitDepthBlock(ir.constant(0), image.inC);
  ir.forLanes(blocking.panels * spec.points() * sumStride, lanes,
              [&](Value i, int64_t width) { ir.store(ir.zero(width), ir.at(sumScratch, i)); });
  ir.loop(ir.constant(0), ir.constant(whole), 1, [&](Value block) { emitDepthBlock(block, spec.depth); });
  if (rest)
    emitDepthBlock(ir.constant(whole), rest);
  ir.loop(panelBegin, panelEnd, 1, [&](Value panel) { emitOutputs(panel); });
}

void WinogradEmitter::emitDepthBlock(Value depthBlock, int64_t depth) {
  Value firstChannel = ir.mul(depthBlock, spec.depth);
  ir.loop(ir.constant(0), hasSteps() ? tileCount : ir.constant(blocking.tiles), 1,
          [&](Value local) { emitInputTile(local, firstChannel, depth); });
  ir.loop(panelBegin, panelEnd, 1, [&](Value panel) {
    emitProducts(depthBlock, panel, depth);
    if (spec.depthBlocks() == 1)
      emitOutputs(panel);
  });
}

void WinogradEmitter::locateTile(Value local) {
  if (hasSteps()) {
    Value tile = ir.add(tileBegin, local), row = ir.div(tile, tileColumns);
    imageIndex = ir.div(row, tileRows);
    outRow = ir.mul(ir.rem(row, tileRows), spec.outputs);
    outColumn = ir.mul(ir.rem(tile, tileColumns), spec.outputs);
    return;
  }
  Value tile = ir.min(ir.add(tileBegin, local), ir.constant(spec.tiles() - 1));
  Value row = ir.div(tile, spec.tileColumns());
  imageIndex = ir.div(row, spec.tileRows());
  outRow = ir.mul(ir.rem(row, spec.tileRows()), spec.outputs);
  outColumn = ir.mul(ir.rem(tile, spec.tileColumns()), spec.outputs);
}

void WinogradEmitter::emitInputTile(Value local, Value firstChannel, int64_t depth) {
  const int64_t extent = spec.extent();
  locateTile(local);
  Value row = ir.add(outRow, -image.padTop), column = ir.add(outColumn, -image.padLeft);
  Value firstRow = extents.inH ? ir.mul(imageIndex, extents.inH) : ir.mul(imageIndex, image.inH);
  Value pixel = ir.add(timesInW(ir.add(firstRow, row)), column);
  Value source = ir.at(input.pointer, ir.add(ir.mul(pixel, image.inC), firstChannel), input.elementType);
  Value rowStride = timesInW(ir.constant(image.inC)), columnStride = ir.constant(image.inC);
  if (!isAlwaysInside()) {
    // Unsigned: a row above the image is far below it.
    auto isInside = [&](Value first, int64_t length, Value ofStep) -> Value {
      if (ofStep)
        return ir.isLess(first, ir.max(ir.add(ofStep, 1 - extent), ir.constant(0)), /*isSigned=*/false);
      if (length < extent)
        return arith::ConstantOp::create(ir.b, ir.loc, ir.b.getBoolAttr(false));
      return arith::CmpIOp::create(ir.b, ir.loc, arith::CmpIPredicate::ule, first, ir.constant(length - extent));
    };
    Value rowsInside = isInside(row, image.inH, extents.inH), columnsInside = isInside(column, image.inW, extents.inW);
    Value inside = arith::AndIOp::create(ir.b, ir.loc, rowsInside, columnsInside);
    ir.ifElse(
        inside, [] {}, [&] { emitPatch(row, column, source, depth); });
    auto choose = [&](Value whole, Value patch) -> Value {
      return arith::SelectOp::create(ir.b, ir.loc, inside, whole, patch);
    };
    source = choose(source, patchScratch);
    rowStride = choose(rowStride, ir.constant(extent * spec.depth));
    columnStride = choose(columnStride, ir.constant(spec.depth));
  }
  Value destination = ir.at(inputScratch, ir.mul(local, spec.depth));
  SmallVector<Value, 6> rows, columns;
  for (int64_t i = 0; i < extent; ++i) {
    rows.push_back(ir.at(source, ir.mul(rowStride, i), input.elementType));
    columns.push_back(ir.mul(columnStride, i));
  }
  ir.forLanes(depth, lanes, [&](Value channel, int64_t width) {
    SmallVector<SmallVector<Value, 6>, 6> half; // By column.
    for (int64_t j = 0; j < extent; ++j) {
      Value offset = ir.add(columns[j], channel);
      SmallVector<Value, 6> pixels;
      for (int64_t i = 0; i < extent; ++i)
        pixels.push_back(ir.load(input, ir.at(rows[i], offset, input.elementType), width));
      half.push_back(transforms.input(pixels));
    }
    Value to = ir.at(destination, channel);
    for (int64_t i = 0; i < extent; ++i) {
      SmallVector<Value, 6> row;
      for (int64_t j = 0; j < extent; ++j)
        row.push_back(half[j][i]);
      for (auto [j, value] : llvm::enumerate(transforms.input(row)))
        ir.store(value, ir.at(to, (i * extent + static_cast<int64_t>(j)) * inputStride));
    }
  });
}

void WinogradEmitter::emitPatch(Value row, Value column, Value source, int64_t depth) {
  const int64_t extent = spec.extent();
  // The patch is read as the image is: its elements have the image's type.
  const Type element = input.elementType;
  ir.loop(ir.constant(0), ir.constant(spec.points()), 1, [&](Value point) {
    Value to = ir.at(patchScratch, ir.mul(point, spec.depth), element);
    ir.forLanes(depth, lanes,
                [&](Value c, int64_t width) { ir.store(ir.zero(element, width), ir.at(to, c, element)); });
  });
  auto [rowBegin, rowEnd] = clipTaps(ir, row, extent, 1, inH());
  auto [columnBegin, columnEnd] = clipTaps(ir, column, extent, 1, inW());
  ir.loop(rowBegin, rowEnd, 1, [&, first = columnBegin, last = columnEnd](Value i) {
    ir.loop(first, last, 1, [&](Value j) {
      Value from = ir.at(source, ir.mul(ir.add(timesInW(i), j), image.inC), element);
      Value to = ir.at(patchScratch, ir.mul(ir.add(ir.mul(i, extent), j), spec.depth), element);
      ir.forLanes(depth, lanes, [&](Value c, int64_t width) {
        ir.store(ir.load(element, ir.at(from, c, element), width), ir.at(to, c, element));
      });
    });
  });
}

void WinogradEmitter::emitProducts(Value depthBlock, Value panel, int64_t depth) {
  MatmulSpec product;
  product.m = blocking.tiles;
  product.n = spec.panel;
  product.k = depth;
  product.lda = spec.depth;
  product.packedB = true;
  MatmulExtents sizes;
  if (hasSteps())
    sizes.m = tileCount;
  Value sums = sumsOf(panel);
  Value packed = ir.add(ir.mul(depthBlock, spec.panels()), panel);
  packed = ir.at(weights.pointer, ir.mul(packed, spec.points() * spec.depth * spec.panel), weights.elementType);
  ir.loop(ir.constant(0), ir.constant(spec.points()), 1, [&](Value point) {
    Source transformed{ir.at(inputScratch, ir.mul(point, inputStride)), ir.elementType};
    Source panelWeights{ir.at(packed, ir.mul(point, spec.depth * spec.panel), weights.elementType),
                        weights.elementType};
    Value pointSums = ir.at(sums, ir.mul(point, sumStride));
    emitMatmul(ir.b, ir.loc, product, target, {transformed, panelWeights, sizes},
               {ir.constant(0), ir.constant(parallelExtent(product, target))},
               [&](OpBuilder &, Location, Value value, ValueRange at, int64_t) {
                 Value tile = ir.fromIndex(at[0]), channel = ir.fromIndex(at[1]);
                 Value to = ir.at(pointSums, ir.add(ir.mul(tile, spec.panel), channel));
                 if (spec.depthBlocks() > 1) {
                   Value before = LLVM::LoadOp::create(ir.b, ir.loc, value.getType(), to, 4);
                   value = arith::AddFOp::create(ir.b, ir.loc, before, value);
                 }
                 ir.store(value, to);
               });
  });
}

void WinogradEmitter::emitOutputs(Value panel) {
  ir.loop(ir.constant(0), tileCount, 1, [&](Value local) { emitOutputTile(local, panel); });
}

void WinogradEmitter::emitOutputTile(Value local, Value panel) {
  const int64_t extent = spec.extent(), outputs = spec.outputs;
  locateTile(local);
  Value sums = ir.at(sumsOf(panel), ir.mul(local, spec.panel));
  ir.forLanes(spec.panel, lanes, [&](Value channel, int64_t width) {
    Value from = ir.at(sums, channel), to = ir.at(outputScratch, channel);
    SmallVector<SmallVector<Value, 4>, 6> half; // By column.
    for (int64_t j = 0; j < extent; ++j) {
      SmallVector<Value, 6> column;
      for (int64_t i = 0; i < extent; ++i)
        column.push_back(ir.load(ir.at(from, (i * extent + j) * sumStride), width));
      half.push_back(transforms.output(column));
    }
    for (int64_t i = 0; i < outputs; ++i) {
      SmallVector<Value, 6> row;
      for (int64_t j = 0; j < extent; ++j)
        row.push_back(half[j][i]);
      for (auto [j, value] : llvm::enumerate(transforms.output(row)))
        ir.store(value, ir.at(to, (i * outputs + static_cast<int64_t>(j)) * spec.panel));
    }
  });
  emitSink(panel);
}

void WinogradEmitter::emitSink(Value panel) {
  auto remaining = [&](Value first, Value extent) { return ir.min(ir.constant(spec.outputs), ir.sub(extent, first)); };
  Value rows = remaining(outRow, outH()), columns = remaining(outColumn, outW());
  Value firstChannel = ir.mul(panel, spec.panel);
  auto emitValid = [&](int64_t valid) {
    ir.loop(ir.constant(0), rows, 1, [&](Value i) {
      ir.loop(ir.constant(0), columns, 1, [&](Value j) {
        Value values = ir.at(outputScratch, ir.mul(ir.add(ir.mul(i, spec.outputs), j), spec.panel));
        sinkRow(
            ir, valid, std::min(lanes, spec.panel),
            [&](int64_t offset, int64_t width) { return ir.load(ir.at(values, offset), width); },
            {imageIndex, ir.add(outRow, i), ir.add(outColumn, j)}, firstChannel, sink);
      });
    });
  };
  emitBlockWidths(ir, panel, spec.panels(), spec.panel, lastPanel, emitValid);
}

} // namespace

void emitWinograd(OpBuilder &b, Location loc, const WinogradSpec &spec, const VectorTarget &target,
                  const ConvOperands &operands, WorkItems items, SinkFn sink) {
  Ir ir(b, loc, b.getF32Type());
  WinogradEmitter(ir, spec, target, operands.sources(), sink, operands.extents)
      .emit(ir.fromIndex(items.begin), ir.fromIndex(items.end));
}

} // namespace sluice::emit
