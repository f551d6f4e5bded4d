//===- IntegerProduct.cpp - Emits products of bytes -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/IntegerProductIr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace sluice::emit {
using namespace detail;

static Value callIntrinsic(OpBuilder &b, Location loc, StringRef name, Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, loc, result, b.getStringAttr(name), operands)->getResult(0);
}

/// sums + the products of two lanes of 16 bits each: even and odd elements apart, which LLVM multiplies, widens and
/// adds in one instruction where there is one.
static Value emitPairs(OpBuilder &b, Location loc, Value sums, Value lhs, Value rhs) {
  auto left = vector::DeinterleaveOp::create(b, loc, lhs), right = vector::DeinterleaveOp::create(b, loc, rhs);
  for (unsigned half = 0; half < 2; ++half) {
    Value a = arith::ExtSIOp::create(b, loc, sums.getType(), left.getResult(half));
    Value c = arith::ExtSIOp::create(b, loc, sums.getType(), right.getResult(half));
    sums = arith::AddIOp::create(b, loc, sums, arith::MulIOp::create(b, loc, a, c));
  }
  return sums;
}

/// sums + the products of four unsigned and signed bytes each, of NEON. sdot takes signed bytes only: with a - 128 in
/// the place of a, 128 times the sum of B is missing. That is -sdot(B, -128), which all rows of a tile share.
static Value emitNeonQuads(OpBuilder &b, Location loc, bool isMixed, Value sums, Value lhs, Value rhs) {
  Type type = sums.getType();
  if (isMixed)
    return callIntrinsic(b, loc, "llvm.aarch64.neon.usdot.v4i32.v16i8", type, {sums, lhs, rhs});
  auto dot = [&](Value from, Value left) {
    return callIntrinsic(b, loc, "llvm.aarch64.neon.sdot.v4i32.v16i8", type, {from, left, rhs});
  };
  auto bytes = cast<VectorType>(lhs.getType());
  Value least = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(bytes, static_cast<int8_t>(-128)));
  Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  Value products = dot(sums, arith::XOrIOp::create(b, loc, lhs, least));
  return arith::SubIOp::create(b, loc, products, dot(zeros, least));
}

Value emitIntegerDot(OpBuilder &b, Location loc, ByteInstructions instructions, IntegerDot dot, Value sums, Value lhs,
                     Value rhs) {
  auto type = cast<VectorType>(sums.getType());
  const int64_t lanes = type.getNumElements();
  if (isa<FloatType>(type.getElementType())) {
    Type pairs = VectorType::get(2 * lanes, b.getBF16Type());
    Value left = vector::BitCastOp::create(b, loc, pairs, lhs), right = vector::BitCastOp::create(b, loc, pairs, rhs);
    return callIntrinsic(b, loc, "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(32 * lanes), type,
                         {sums, left, right});
  }
  if (dot == IntegerDot::Quads && instructions != ByteInstructions::X86)
    return emitNeonQuads(b, loc, instructions == ByteInstructions::NeonMixed, sums, lhs, rhs);
  if (dot == IntegerDot::Quads)
    return callIntrinsic(b, loc, "llvm.x86.avx512.vpdpbusd." + std::to_string(32 * lanes), type, {sums, lhs, rhs});
  Value wide;
  if (dot == IntegerDot::Pairs) {
    rhs = arith::ExtSIOp::create(b, loc, lhs.getType(), rhs);
    if (instructions != ByteInstructions::X86)
      return emitPairs(b, loc, sums, lhs, rhs);
    StringRef name = lanes == 16  ? "llvm.x86.avx512.pmaddw.d.512"
                     : lanes == 8 ? "llvm.x86.avx2.pmadd.wd"
                                  : "llvm.x86.sse2.pmadd.wd";
    wide = callIntrinsic(b, loc, name, type, {lhs, rhs});
  } else {
    lhs = arith::ExtUIOp::create(b, loc, type, lhs);
    rhs = arith::ExtSIOp::create(b, loc, type, rhs);
    wide = arith::MulIOp::create(b, loc, lhs, rhs);
  }
  return arith::AddIOp::create(b, loc, sums, wide);
}

void detail::sinkColumns(Ir &ir, Size valid, int64_t lanes, Value sums, ValueRange outer, Value first, SinkFn sink) {
  if (!valid.value)
    return sinkRow(
        ir, valid.number, lanes, [&](int64_t offset, int64_t width) { return ir.load(ir.at(sums, offset), width); },
        outer, first, sink);
  SmallVector<Value> indices;
  for (Value index : outer)
    indices.push_back(ir.toIndex(index));
  indices.push_back(nullptr);
  ir.forLanes(valid.value, lanes, [&](Value offset, int64_t width) {
    indices.back() = ir.toIndex(ir.add(first, offset));
    sink(ir.b, ir.loc, ir.load(ir.at(sums, offset), width), indices, width);
  });
}

void detail::emitPanelWidths(Ir &ir, const IntegerPanels &panels, const IntegerExtents &extents, Value index,
                             function_ref<void(Size)> emit) {
  if (!extents.columns) {
    const int64_t last = panels.n - (panels.numPanels() - 1) * panels.panel;
    return emitBlockWidths(ir, index, panels.numPanels(), panels.panel, last, [&](int64_t valid) { emit({valid}); });
  }
  Value whole = ir.constant(panels.panel);
  Value valid = ir.min(ir.sub(extents.columns, ir.mul(index, panels.panel)), whole);
  ir.ifElse(
      ir.isEqual(valid, whole), [&] { emit({panels.panel}); },
      [&] {
        emit({panels.panel, valid});
      });
}

void detail::forEachRun(Ir &ir, const IntegerSpec &spec, const IntegerBlocking &blocking,
                        const IntegerOperands &operands, WorkItems items, function_ref<void(const IntegerRun &)> body) {
  const IntegerExtents &extents = operands.extents;
  const IntegerPanels &panels = spec.panels;
  const Size rows{spec.rows, extents.rows}, runs{spec.runs, extents.runs};
  const Size runsTogether{spec.runsTogether, extents.runsTogether};
  const Size outerStride{spec.outerStride, extents.outerStride}, runStride{spec.runStride, extents.runStride};
  const Size numPanels = Size{panels.n, extents.columns}.parts(ir, panels.panel);
  const Size rowBlocks = extents.rows ? rows.parts(ir, blocking.rowBlock) : Size{blocking.rowBlocks};
  Type byte = ir.b.getI8Type(), lhsType = lhsBytes(panels.dot) == 2 ? ir.b.getI16Type() : ir.b.getI8Type();
  ir.loop(items.begin, items.end, 1, [&](Value item) {
    IntegerRun at;
    at.panelIndex = numPanels.remainder(ir, item);
    Value block = numPanels.quotient(ir, item);
    at.hasNewRows =
        arith::OrIOp::create(ir.b, ir.loc, ir.isEqual(item, items.begin), ir.isEqual(at.panelIndex, ir.constant(0)));
    at.panelPointer = ir.at(operands.rhs, ir.mul(at.panelIndex, panels.panelBytes()), byte);
    at.rowBegin = ir.mul(rowBlocks.remainder(ir, block), blocking.rowBlock);
    at.rowEnd = ir.min(ir.add(at.rowBegin, blocking.rowBlock), rows.in(ir));
    if (spec.runs == 1) {
      at.run = at.firstRun = ir.constant(0);
      at.runPointer = operands.lhs;
      return body(at);
    }
    at.firstRun = ir.mul(rowBlocks.quotient(ir, block), blocking.runBlock);
    Value last = ir.min(ir.add(at.firstRun, blocking.runBlock), runs.in(ir));
    ir.loop(at.firstRun, last, 1, [&](Value run) {
      at.run = run;
      Value outer = outerStride.times(ir, runsTogether.quotient(ir, run));
      Value inner = runStride.times(ir, runsTogether.remainder(ir, run));
      at.runPointer = ir.at(operands.lhs, ir.add(outer, inner), lhsType);
      body(at);
    });
  });
}

Accumulators detail::forEachTap(Ir &ir, const IntegerSpec &spec, const IntegerExtents &extents, Value lhs, Value panel,
                                ValueRange sums, function_ref<Accumulators(Value, Value, ValueRange)> segment) {
  Type byte = ir.b.getI8Type(), lhsType = lhsBytes(spec.panels.dot) == 2 ? ir.b.getI16Type() : ir.b.getI8Type();
  const int64_t segmentBytes = spec.panels.weightBytes() / spec.panels.segments;
  auto loopOver = [&](int64_t taps, Value from, Size stride, Value weights, int64_t bytes, ValueRange values,
                      function_ref<Accumulators(Value, Value, ValueRange)> body) {
    if (taps == 1)
      return body(from, weights, values);
    return ir.loop(ir.constant(0), ir.constant(taps), 1, values, [&](Value tap, ValueRange carried) {
      return body(ir.at(from, stride.times(ir, tap), lhsType), ir.at(weights, ir.mul(tap, bytes), byte), carried);
    });
  };
  return loopOver(spec.tapsH, lhs, {spec.strideH, extents.strideH}, panel, spec.tapsW * segmentBytes, sums,
                  [&](Value rowFrom, Value rowWeights, ValueRange values) {
                    return loopOver(spec.tapsW, rowFrom, {spec.strideW}, rowWeights, segmentBytes, values, segment);
                  });
}

Accumulators detail::forEachPart(Ir &ir, const IntegerSpec &spec, const IntegerOperands &operands, Value lhs,
                                 Value weights, ValueRange sums,
                                 function_ref<Accumulators(Value, Value, ValueRange)> products) {
  const int64_t parts = spec.panels.parts;
  if (parts <= 1)
    return products(lhs, weights, sums);
  // A loop, for copies of its body would share loads and keep more tiles than there are registers.
  Type byte = ir.b.getI8Type();
  return ir.loop(ir.constant(0), ir.constant(parts * parts), 1, sums, [&](Value pair, ValueRange carried) {
    Value left = ir.at(lhs, ir.mul(ir.rem(pair, parts), operands.lhsPartBytes), byte);
    Value right = ir.at(weights, ir.mul(ir.div(pair, parts), spec.panels.weightBytes()), byte);
    return products(left, right, carried);
  });
}

namespace {

class IntegerEmitter {
public:
  IntegerEmitter(Ir &ir, const IntegerSpec &spec, const VectorTarget &target, const IntegerOperands &operands,
                 SinkFn sink)
      : ir(ir), spec(spec), panels(spec.panels), operands(operands), sink(sink), extents(operands.extents),
        blocking(chooseBlocking(spec, target)), tile(blocking.tile), instructions(target.bytes),
        isUnrolledLater(target.isUnrolledLater), dot(spec.quadRows ? IntegerDot::Quads : panels.dot),
        depth(depthOf(dot)), byte(ir.b.getI8Type()), lhsType(lhsBytes(dot) == 2 ? ir.b.getI16Type() : ir.b.getI8Type()),
        lastPanel(panels.n - (panels.numPanels() - 1) * panels.panel),
        sumsRows(panels.hasZeroPoints && !spec.isDepthwise),
        inlineSink(spec.sinkStyle == SinkStyle::Inline && !extents.rows && !extents.columns &&
                   (panels.numPanels() == 1 || lastPanel == panels.panel)) {}

  void emit(Value begin, Value end);

private:
  void emitRun();
  /// Fills rowSums for the rows of the run.
  void emitRowSums();
  /// `sums` + the elements of a segment of A.
  Accumulators addElements(Value from, Accumulators sums);
  /// Where the sum of A over row `row` of the run is kept.
  Value rowSum(Value row) {
    return ir.at(rowSums, ir.add(ir.mul(ir.sub(run, firstRun), blocking.rowBlock), ir.sub(row, rowBegin)));
  }
  void emitTile(int64_t rows, Value row);
  /// Of a segment.
  int64_t steps() const { return spec.quadRows ? (panels.length + depth - 1) / depth : panels.steps(); }
  /// The sums of a tile before any product.
  Accumulators start(int64_t rows, int64_t chains);
  Accumulators emitTaps(Value lhs, int64_t rows, int64_t chains, Accumulators sums);
  /// One step of every row.
  void emitStep(Value lhs, Value rhs, int64_t rows, MutableArrayRef<Value> sums);
  void emitSink(ArrayRef<Value> values, int64_t rows, Value row);
  Value loadVector(Value pointer, int64_t elements, Type type) {
    return LLVM::LoadOp::create(ir.b, ir.loc, VectorType::get(elements, type), pointer, /*alignment=*/1);
  }
  /// Vector `v` of the columns' sums (0) or zero points (1).
  Value loadColumns(int64_t which, int64_t v) {
    int64_t at = panels.weightBytes() + 4 * (which * panels.panel + v * tile.lanes);
    return loadVector(ir.at(panelPointer, at, byte), tile.lanes, ir.elementType);
  }
  /// Accumulators of a row: its outputs, then, where each sees its own elements of A, their sums.
  int64_t perRow() const { return panels.hasZeroPoints && spec.isDepthwise ? 2 * tile.vectors : tile.vectors; }
  /// Ones for the first `valid` elements of each lane's, zeros for the others.
  Value onesFor(int64_t valid) {
    SmallVector<int8_t> pattern;
    for (int64_t i = 0; i < tile.lanes * depth; ++i)
      pattern.push_back(i % depth < valid ? 1 : 0);
    return arith::ConstantOp::create(
        ir.b, ir.loc, DenseElementsAttr::get(VectorType::get(tile.lanes * depth, byte), ArrayRef<int8_t>(pattern)));
  }

  Ir &ir;
  const IntegerSpec &spec;
  const IntegerPanels &panels;
  const IntegerOperands &operands;
  SinkFn sink;
  const IntegerExtents &extents;
  IntegerBlocking blocking;
  RegisterTile tile;
  ByteInstructions instructions;
  bool isUnrolledLater;
  IntegerDot dot;
  int64_t depth;
  Type byte, lhsType;
  int64_t lastPanel; ///< Valid columns of the last panel.
  bool sumsRows;     ///< The sums of A's rows are taken for all panels at once.
  bool inlineSink;

  Value scratch; ///< [tile.rows][panel], unless the sink is inline.
  Value rowSums; ///< [runBlock][rowBlock], where sumsRows.
  // The work item and the run that are being emitted.
  Value panelIndex, panelPointer, rowBegin, rowEnd, run, firstRun, runPointer;
};

void IntegerEmitter::emit(Value begin, Value end) {
  if (!inlineSink)
    scratch = ir.scratch(tile.rows * panels.panel);
  if (sumsRows)
    rowSums = ir.scratch(blocking.runBlock * blocking.rowBlock);
  forEachRun(ir, spec, blocking, operands, {begin, end}, [&](const IntegerRun &at) {
    panelIndex = at.panelIndex, panelPointer = at.panelPointer, rowBegin = at.rowBegin, rowEnd = at.rowEnd;
    run = at.run, firstRun = at.firstRun, runPointer = at.runPointer;
    if (sumsRows)
      ir.ifElse(at.hasNewRows, [&] { emitRowSums(); });
    emitRun();
  });
}

void IntegerEmitter::emitRowSums() {
  ir.loop(rowBegin, rowEnd, 1, [&](Value row) {
    Value lhs = ir.at(runPointer, ir.mul(row, spec.rowStride), lhsType);
    Accumulators sums =
        forEachTap(ir, spec, extents, lhs, panelPointer, ir.zero(tile.lanes),
                   [&](Value from, Value, ValueRange values) { return addElements(from, Accumulators(values)); });
    ir.store(tile.lanes == 1
                 ? sums[0]
                 : vector::ReductionOp::create(ir.b, ir.loc, vector::CombiningKind::ADD, sums[0]).getResult(),
             rowSum(row));
  });
}

Accumulators IntegerEmitter::addElements(Value from, Accumulators sums) {
  // The elements that a lane adds at a time are one number: reading whole ones stays inside what may be read.
  Type number = ir.b.getIntegerType(static_cast<unsigned>(8 * lhsBytes(dot) * depth));
  auto numbers = VectorType::get(tile.lanes, number);
  auto add = [&](Value sum, Value read, int64_t valid) {
    Value elements = read;
    if (depth > 1)
      elements = vector::BitCastOp::create(ir.b, ir.loc, VectorType::get(tile.lanes * depth, lhsType), read);
    return emitIntegerDot(ir.b, ir.loc, instructions, dot, sum, elements, onesFor(valid));
  };
  auto addVector = [&](Value sum, Value at) {
    return add(sum, LLVM::LoadOp::create(ir.b, ir.loc, numbers, ir.at(from, ir.mul(at, depth), lhsType), 1), depth);
  };
  auto addMasked = [&](Value sum, Value at, Value count, int64_t valid) {
    auto type = VectorType::get(tile.lanes, count.getType());
    SmallVector<int64_t> lanes = llvm::to_vector(llvm::seq<int64_t>(0, tile.lanes));
    Value lane = arith::ConstantOp::create(ir.b, ir.loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(lanes)));
    Value mask = ir.isLess(lane, vector::BroadcastOp::create(ir.b, ir.loc, type, count));
    Value zeros = arith::ConstantOp::create(ir.b, ir.loc, ir.b.getZeroAttr(numbers));
    Value read = LLVM::MaskedLoadOp::create(ir.b, ir.loc, numbers, ir.at(from, ir.mul(at, depth), lhsType), mask, zeros,
                                            /*alignment=*/1);
    return add(sum, read, valid);
  };
  const int64_t rest = panels.length % depth;
  Value count = extents.length ? ir.div(ir.add(extents.length, depth - 1), depth) : ir.constant(panels.length / depth);
  Value whole = ir.mul(ir.div(count, tile.lanes), tile.lanes);
  if (panels.length >= tile.lanes * depth)
    sums = ir.loop(ir.constant(0), whole, tile.lanes, sums,
                   [&](Value at, ValueRange carried) { return Accumulators{addVector(carried[0], at)}; });
  if (extents.length || panels.length / depth % tile.lanes)
    sums[0] = addMasked(sums[0], whole, ir.sub(count, whole), depth);
  // What follows a row's last element is anything; rows of a length that a step gives end in zeros.
  if (rest && !extents.length)
    sums[0] = addMasked(sums[0], count, ir.constant(1), rest);
  return sums;
}

void IntegerEmitter::emitRun() {
  if (extents.rows && tile.rows > 1) {
    // As few tiles as the rows need, all but the last of the same height.
    Value count = ir.sub(rowEnd, rowBegin), tiles = ir.div(ir.add(count, tile.rows - 1), tile.rows);
    Value height = ir.div(ir.add(count, ir.sub(tiles, ir.constant(1))), tiles);
    ir.loop(ir.constant(0), tiles, 1, [&](Value number) {
      Value row = ir.add(rowBegin, ir.mul(number, height));
      ir.choose(ir.min(height, ir.sub(rowEnd, row)), tile.rows + 1, [&](int64_t rows) {
        if (rows > 0)
          emitTile(rows, row);
      });
    });
    return;
  }
  int64_t rest = spec.rows % tile.rows;
  if (spec.rows == tile.rows)
    return emitTile(tile.rows, rowBegin);
  Value wholeEnd = rest ? ir.min(rowEnd, ir.constant(spec.rows - rest)) : rowEnd;
  ir.loop(rowBegin, wholeEnd, tile.rows, [&](Value row) { emitTile(tile.rows, row); });
  if (!rest)
    return;
  auto emitRest = [&] { emitTile(rest, wholeEnd); };
  if (blocking.rowBlocks == 1)
    emitRest();
  else
    ir.ifElse(ir.isEqual(rowEnd, ir.constant(spec.rows)), emitRest);
}

Accumulators IntegerEmitter::start(int64_t rows, int64_t chains) {
  Accumulators sums(rows * perRow() * chains, ir.zero(tile.lanes));
  if (!operands.lhsZero || operands.isZeroPerRow)
    return sums;
  Value zero = operands.lhsZero(ir.b, ir.loc, run, Value());
  Value negative = ir.broadcast(arith::SubIOp::create(ir.b, ir.loc, ir.zero(1), zero), tile.lanes);
  for (int64_t v = 0; v < tile.vectors; ++v) {
    Value first = arith::MulIOp::create(ir.b, ir.loc, negative, loadColumns(0, v));
    for (int64_t r = 0; r < rows; ++r)
      sums[r * perRow() + v] = first;
  }
  return sums;
}

void IntegerEmitter::emitStep(Value lhs, Value rhs, int64_t rows, MutableArrayRef<Value> sums) {
  const int64_t width = tile.lanes * depth;
  SmallVector<Value, 4> weights;
  for (int64_t v = 0; v < tile.vectors; ++v)
    weights.push_back(loadVector(ir.at(rhs, v * width, byte), width, byte));
  auto add = [&](Value &sum, Value factor, Value weight) {
    sum = emitIntegerDot(ir.b, ir.loc, instructions, dot, sum, factor, weight);
  };
  if (spec.isDepthwise) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value own = loadVector(ir.at(lhs, r * spec.rowStride + v * tile.lanes, lhsType), width, lhsType);
        add(sums[r * perRow() + v], own, weights[v]);
        if (panels.hasZeroPoints)
          add(sums[r * perRow() + tile.vectors + v], own, onesFor(depth));
      }
    return;
  }
  // The elements of a step are one number, which goes to all lanes.
  Type whole = ir.b.getIntegerType(static_cast<unsigned>(8 * lhsBytes(dot) * depth));
  for (int64_t r = 0; r < rows; ++r) {
    Value scalar = LLVM::LoadOp::create(ir.b, ir.loc, whole, ir.at(lhs, r * spec.rowStride, lhsType), /*alignment=*/1);
    Value wide = vector::BroadcastOp::create(ir.b, ir.loc, VectorType::get(tile.lanes, whole), scalar);
    if (depth > 1)
      wide = vector::BitCastOp::create(ir.b, ir.loc, VectorType::get(width, lhsType), wide);
    for (int64_t v = 0; v < tile.vectors; ++v)
      add(sums[r * perRow() + v], wide, weights[v]);
  }
}

Accumulators IntegerEmitter::emitTaps(Value lhs, int64_t rows, int64_t chains, Accumulators sums) {
  const int64_t count = rows * perRow(), stepBytes = panels.panel * depth;
  const int64_t steps = this->steps();
  auto emitPart = [&](Value from, Value weights, ValueRange values) {
    Accumulators next(values);
    auto step = [&](Value i, int64_t u) {
      Value at = ir.at(from, ir.mul(i, depth), lhsType), w = ir.at(weights, ir.mul(i, stepBytes), byte);
      Value ahead = ir.at(w, u * stepBytes, byte);
      if (steps > prefetchSteps)
        ir.prefetch(ahead, prefetchSteps * stepBytes, stepBytes, byte);
      emitStep(ir.at(at, u * depth, lhsType), ahead, rows,
               MutableArrayRef<Value>(next).slice(u % chains * count, count));
    };
    int64_t unroll = std::max(chains, reductionUnroll(count, steps, isUnrolledLater)), whole = steps / unroll * unroll;
    if (extents.length) {
      // No sum is cut: integers have no rounding errors.
      Value least = ir.div(ir.add(extents.length, depth - 1), depth), end = ir.mul(ir.div(least, unroll), unroll);
      for (auto [from, to, by] : {std::tuple(ir.constant(0), end, unroll), std::tuple(end, least, int64_t(1))})
        next = ir.loop(from, to, by, next, [&, by = by](Value i, ValueRange carried) {
          next = Accumulators(carried);
          for (int64_t u = 0; u < by; ++u)
            step(i, u);
          return next;
        });
      return next;
    }
    if (whole > unroll)
      next = ir.loop(ir.constant(0), ir.constant(whole), unroll, next, [&](Value i, ValueRange carried) {
        next = Accumulators(carried);
        for (int64_t u = 0; u < unroll; ++u)
          step(i, u);
        return next;
      });
    else
      whole = 0;
    for (int64_t i = whole; i < steps; ++i)
      step(ir.constant(i), 0);
    return next;
  };
  auto emitSegment = [&](Value from, Value weights, ValueRange values) {
    return forEachPart(ir, spec, operands, from, weights, values, emitPart);
  };
  return forEachTap(ir, spec, extents, lhs, panelPointer, sums, emitSegment);
}

void IntegerEmitter::emitTile(int64_t rows, Value row) {
  const int64_t count = rows * perRow();
  // A product waits some five cycles for the last one's sum, and two begin in each.
  const int64_t chains = steps() < 16 || count > 8 ? 1 : count > 4 ? 2 : 4;
  Value lhs = ir.at(runPointer, ir.mul(row, spec.rowStride), lhsType);
  if (spec.isDepthwise)
    lhs = ir.at(lhs, ir.mul(panelIndex, panels.panel), lhsType);
  Accumulators sums = emitTaps(lhs, rows, chains, start(rows, chains));
  for (int64_t chain = 1; chain < chains; ++chain)
    for (int64_t i = 0; i < count; ++i)
      sums[i] = panels.parts ? arith::AddFOp::create(ir.b, ir.loc, sums[i], sums[chain * count + i]).getResult()
                             : arith::AddIOp::create(ir.b, ir.loc, sums[i], sums[chain * count + i]).getResult();
  SmallVector<Value, 32> values;
  for (int64_t r = 0; r < rows; ++r) {
    Value ofRow = sumsRows ? ir.broadcast(ir.load(rowSum(ir.add(row, r)), 1), tile.lanes) : Value();
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value value = sums[r * perRow() + v];
      auto subtract = [&](Value factor, Value columns) {
        value = arith::SubIOp::create(ir.b, ir.loc, value, arith::MulIOp::create(ir.b, ir.loc, factor, columns));
      };
      if (panels.hasZeroPoints)
        subtract(sumsRows ? ofRow : sums[r * perRow() + tile.vectors + v], loadColumns(1, v));
      if (operands.isZeroPerRow)
        subtract(ir.broadcast(operands.lhsZero(ir.b, ir.loc, run, ir.add(row, r)), tile.lanes), loadColumns(0, v));
      values.push_back(value);
    }
  }
  emitSink(values, rows, row);
}

void IntegerEmitter::emitSink(ArrayRef<Value> values, int64_t rows, Value row) {
  Value column = ir.mul(panelIndex, panels.panel);
  if (inlineSink) {
    for (int64_t r = 0; r < rows; ++r)
      sinkRow(
          ir, panels.numPanels() == 1 ? lastPanel : panels.panel, tile.lanes,
          [&](int64_t offset, int64_t lanes) {
            return sliceRow(ir, values.slice(r * tile.vectors, tile.vectors), tile.lanes, offset, lanes);
          },
          {run, ir.add(row, r)}, column, sink);
    return;
  }
  for (auto [i, value] : llvm::enumerate(values))
    ir.store(value, ir.at(scratch, static_cast<int64_t>(i) * tile.lanes));
  emitPanelWidths(ir, panels, extents, panelIndex, [&](Size valid) {
    ir.loop(ir.constant(0), ir.constant(rows), 1, [&](Value r) {
      sinkColumns(ir, valid, tile.lanes, ir.at(scratch, ir.mul(r, panels.panel)), {run, ir.add(row, r)}, column, sink);
    });
  });
}

} // namespace

/// emitIntegerTiles for rows that a step gives. Few rows are multiplied by the instructions of IntegerDot::Quads.
static void emitTilesOfStep(Ir &ir, const IntegerSpec &spec, const VectorTarget &target,
                            const IntegerOperands &operands, WorkItems items, SinkFn sink) {
  constexpr int64_t mostRoom = 65536;
  const IntegerExtents &extents = operands.extents;
  const int64_t tileRows = std::min(spec.rows, kTileRows), room = tileRows * spec.rowStride;
  const bool makesRoom = !operands.hasRoomForTiles && spec.runs == 1 && room <= mostRoom;
  // Numbers of bf16 gain more by tiles than bytes do; in parts, they have no faster form for any number of rows.
  const int64_t leastRows = spec.panels.parts > 1 ? 1 : spec.panels.parts ? 3 : kLeastTileRows;
  IntegerSpec few = spec;
  few.quadRows = std::min(operands.hasRoomForTiles || makesRoom ? leastRows : tileRows, tileRows) - 1;
  auto emitTiles = [&] {
    IntegerOperands own = operands;
    if (makesRoom) {
      // The rows are copied to where as many as a tile has can be read.
      Value isFew = ir.isLess(extents.rows, ir.constant(tileRows)), copy = ir.scratch((room + 3) / 4);
      ir.ifElse(isFew, [&] {
        Value bytes = ir.mul(extents.rows, spec.rowStride);
        LLVM::MemcpyOp::create(ir.b, ir.loc, copy, operands.lhs, bytes, /*isVolatile=*/false);
      });
      own.lhs = arith::SelectOp::create(ir.b, ir.loc, isFew, copy, operands.lhs);
    }
    emitIntegerTiles(ir, spec, target, own, items, sink);
  };
  if (few.quadRows == 0)
    return emitTiles();
  ir.ifElse(
      ir.isLess(extents.rows, ir.constant(few.quadRows + 1)),
      [&] { IntegerEmitter(ir, few, target, operands, sink).emit(items.begin, items.end); }, emitTiles);
}

void emitIntegerProduct(OpBuilder &b, Location loc, const IntegerSpec &spec, const VectorTarget &target,
                        const IntegerOperands &operands, WorkItems items, SinkFn sink) {
  Ir ir(b, loc, spec.panels.parts ? Type(b.getF32Type()) : Type(b.getI32Type()));
  items = {ir.fromIndex(items.begin), ir.fromIndex(items.end)};
  if (spec.panels.dot != IntegerDot::Tiles)
    return IntegerEmitter(ir, spec, target, operands, sink).emit(items.begin, items.end);
  if (!operands.extents.rows)
    return emitIntegerTiles(ir, spec, target, operands, items, sink);
  emitTilesOfStep(ir, spec, target, operands, items, sink);
}

} // namespace sluice::emit
