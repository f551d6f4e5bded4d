//===- Vision.cpp - Kernels of grid_sample, roi_align, pool_index ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/Coordinates.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <algorithm>
#include <functional>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// grid_sample
//===----------------------------------------------------------------------===//

/// An extent as a coordinate.
static Value numberOf(const Coordinates &f, const Extent &extent) { return f.kernel.number(f.b.getF32Type(), extent); }

namespace {
/// Where samples along a dimension may lie, and the elements there.
struct Span {
  Extent extent;
  bool atEdges; ///< From the outer edge of the first element to that of the last; else between their centres.

  double low() const { return atEdges ? -0.5 : 0; }
  Value high(const Coordinates &f) const {
    const double beyond = atEdges ? 0.5 : 1;
    return extent.isConstant() ? f.c(static_cast<double>(extent.most()) - beyond)
                               : f.sub(numberOf(f, extent), f.c(beyond));
  }
  Value range(const Coordinates &f) const {
    const double less = atEdges ? 0 : 1;
    return extent.isConstant() ? f.c(static_cast<double>(extent.most()) - less) : f.sub(numberOf(f, extent), f.c(less));
  }
};
} // namespace

/// Mirrors x at the ends of a span until it lies between.
static Value reflect(const Coordinates &f, Value x, const Span &span) {
  const bool isPoint = !span.atEdges && span.extent.is(1);
  if (isPoint)
    return f.c(span.low());
  Value bottom = f.c(span.low()), top = span.high(f), range = span.range(f);
  Value isBelow = f.lt(x, bottom), isAbove = f.lt(top, x);
  Value distance = f.select(isBelow, f.sub(bottom, x), f.sub(x, top));
  Value turns = f.floor(f.div(distance, range));
  Value rest = f.sub(distance, f.mul(turns, range));
  Value half = f.mul(turns, f.c(0.5));
  Value isEven = f.sub(half, f.floor(half));
  Value even = f.lt(isEven, f.c(0.25));
  Value upward = f.add(bottom, rest), downward = f.sub(top, rest);
  Value mirrored = f.select(isBelow, f.select(even, upward, downward), f.select(even, downward, upward));
  Value inside = f.select(arith::OrIOp::create(f.b, f.loc, isBelow, isAbove), mirrored, x);
  if (span.atEdges || span.extent.isConstant())
    return inside;
  // A step's only element: the span is a point.
  return f.select(f.lt(f.c(0), range), inside, bottom);
}

namespace {
/// One element that a sample is made of, along one dimension.
struct Tap {
  Value index, weight, isInside; ///< The last two may be null.
};
} // namespace

/// The elements along a dimension of `extent` that a sample at x is made of.
static SmallVector<Tap> tapsAt(GridSampleOp op, const Coordinates &f, Value x, const Extent &extent) {
  SamplePadding padding = op.getPadding();
  const Span span{extent, op.getAtEdges()};
  bool isNearest = op.getMode() == ResizeMode::nearest;
  if (isNearest)
    x = math::RoundEvenOp::create(f.b, f.loc, x);
  if (padding == SamplePadding::border) {
    x = f.select(f.lt(x, f.c(span.low())), f.c(0), x);
    x = f.select(f.lt(span.high(f), x), Span{extent, /*atEdges=*/false}.high(f), x);
  } else if (padding == SamplePadding::reflection) {
    x = reflect(f, x, span);
  }
  auto tap = [&](Value position, Value weight) {
    if (padding == SamplePadding::reflection)
      position = reflect(f, position, span);
    Value i = f.toIndex(position), inside;
    if (padding == SamplePadding::zeros)
      inside = arith::CmpIOp::create(f.b, f.loc, arith::CmpIPredicate::ult, i, f.kernel.index(extent));
    return Tap{f.clamp(i, extent), weight, inside};
  };
  if (isNearest)
    return {tap(x, Value())};
  Value base = f.floor(x), fraction = f.sub(x, base);
  if (op.getMode() == ResizeMode::linear)
    return {tap(base, f.sub(f.c(1), fraction)), tap(f.add(base, f.c(1)), fraction)};
  constexpr double kCoefficient = -0.75;
  SmallVector<Tap> taps;
  for (auto [k, weight] : llvm::enumerate(cubicWeights(f, fraction, kCoefficient)))
    taps.push_back(tap(f.add(base, f.c(static_cast<double>(k) - 1)), weight));
  return taps;
}

static Value emitGridSampleElement(GridSampleOp op, KernelEmitter &kernel, ValueRange indices) {
  Coordinates f{kernel};
  OpBuilder &b = f.b;
  Location loc = f.loc;
  const Extents in = extentsOf(op.getInput());
  const ArrayRef<Extent> spatial = ArrayRef(in).drop_front(2);
  Type element = op.getType().getElementType(), compute = computeType(element);
  SmallVector<SmallVector<Tap>> taps;
  for (size_t d = 0; d < spatial.size(); ++d) {
    SmallVector<Value> at{indices[0]};
    llvm::append_range(at, indices.drop_front(2));
    at.push_back(kernel.index(static_cast<int64_t>(spatial.size() - 1 - d)));
    Value raw = kernel.element(op.getPositions(), at);
    taps.push_back(tapsAt(op, f, emitCast(b, loc, raw, raw.getType(), b.getF32Type(), false), spatial[d]));
  }
  SmallVector<Value> at(indices.take_front(2));
  std::function<Value(size_t)> level = [&](size_t d) -> Value {
    if (d == spatial.size())
      return kernel.element(op.getInput(), at);
    Value sum;
    for (const Tap &tap : taps[d]) {
      at.push_back(tap.index);
      Value value = level(d + 1);
      at.pop_back();
      if (tap.weight)
        value = arith::MulFOp::create(b, loc, value, emitCast(b, loc, tap.weight, b.getF32Type(), compute, false));
      if (tap.isInside)
        value = arith::SelectOp::create(b, loc, tap.isInside, value, emitConstant(b, loc, compute, 0));
      sum = sum ? arith::AddFOp::create(b, loc, sum, value).getResult() : value;
    }
    return sum;
  };
  return emitRoundTrip(b, loc, element, level(0));
}

//===----------------------------------------------------------------------===//
// roi_align
//===----------------------------------------------------------------------===//

namespace {
/// Where one roi's bins lie along one dimension, and how many samples a bin takes.
struct RoiBins {
  Value start, binSize, samples, samplesAsFloat;
};

/// A bilinear sample along one dimension.
struct RoiTap {
  Value low, high, lowWeight, highWeight, isOutside;
};
} // namespace

static RoiBins roiBins(RoiAlignOp op, const Coordinates &f, Value roi, int64_t dimension) {
  KernelEmitter &kernel = f.kernel;
  auto corner = [&](int64_t column) {
    Value raw = kernel.element(op.getRois(), {roi, kernel.index(column)});
    Value x = emitCast(f.b, f.loc, raw, raw.getType(), f.b.getF32Type(), false);
    x = f.mul(x, f.c(op.getSpatialScale().convertToDouble()));
    return op.getHalfPixel() ? f.sub(x, f.c(0.5)) : x;
  };
  // Columns are x1, y1, x2, y2; dimension 0 is y.
  int64_t bins = dimension == 0 ? op.getHeight() : op.getWidth();
  Value start = corner(1 - dimension), size = f.sub(corner(3 - dimension), start);
  if (!op.getHalfPixel())
    size = f.select(f.lt(size, f.c(1)), f.c(1), size);
  Value binSize = f.div(size, f.c(static_cast<double>(bins)));
  if (int64_t ratio = op.getSamplingRatio())
    return {start, binSize, kernel.index(ratio), f.c(static_cast<double>(ratio))};
  Value samples = f.ceil(binSize);
  samples = f.select(f.lt(samples, f.c(RoiAlignOp::kMostSamples)), samples, f.c(RoiAlignOp::kMostSamples));
  samples = f.select(f.lt(f.c(0), samples), samples, f.c(0));
  return {start, binSize, f.toIndex(samples), samples};
}

static RoiTap roiTap(const Coordinates &f, const RoiBins &bins, Value bin, Value sample, const Extent &extent) {
  Value offset = f.div(f.mul(f.add(f.fromIndex(sample), f.c(0.5)), bins.binSize), bins.samplesAsFloat);
  Value x = f.add(f.add(bins.start, f.mul(f.fromIndex(bin), bins.binSize)), offset);
  Value last = numberOf(f, extent - 1), all = numberOf(f, extent);
  Value isOutside = arith::OrIOp::create(f.b, f.loc, f.lt(x, f.c(-1)), f.lt(all, x));
  x = f.select(f.lt(x, f.c(0)), f.c(0), x);
  x = f.select(f.lt(x, last), x, last);
  Value base = f.floor(x), fraction = f.sub(x, base), low = f.clamp(f.toIndex(base), extent);
  Value high = f.clamp(f.kernel.add(low, f.kernel.index(1)), extent);
  return {low, high, f.sub(f.c(1), fraction), fraction, isOutside};
}

static Value emitRoiAlignElement(RoiAlignOp op, KernelEmitter &kernel, ValueRange indices) {
  Coordinates f{kernel};
  OpBuilder &b = f.b;
  Location loc = f.loc;
  const Extents in = extentsOf(op.getInput());
  Type element = op.getType().getElementType();
  Value image = arith::IndexCastOp::create(b, loc, b.getIndexType(), kernel.element(op.getImages(), indices[0]));
  image = f.clamp(image, in[0]);
  RoiBins rows = roiBins(op, f, indices[0], 0), columns = roiBins(op, f, indices[0], 1);
  auto pixel = [&](Value y, Value x) {
    Value raw = kernel.element(op.getInput(), {image, indices[1], y, x});
    return emitCast(b, loc, raw, raw.getType(), b.getF32Type(), false);
  };
  auto larger = [&](Value x, Value y) -> Value { return arith::MaximumFOp::create(b, loc, x, y); };
  double lowest = -std::numeric_limits<double>::infinity();
  Value initial = op.getMaximum() ? f.c(lowest) : f.c(0);
  Value total = kernel.reduce(kernel.index(0), rows.samples, 1, initial, [&](Value i, ValueRange outer) {
    RoiTap y = roiTap(f, rows, indices[2], i, in[2]);
    return kernel.reduce(kernel.index(0), columns.samples, 1, outer, [&](Value j, ValueRange inner) {
      RoiTap x = roiTap(f, columns, indices[3], j, in[3]);
      Value isOutside = arith::OrIOp::create(b, loc, y.isOutside, x.isOutside);
      auto corner = [&](Value row, Value column, Value rowWeight, Value columnWeight) {
        return f.mul(f.mul(rowWeight, columnWeight), pixel(row, column));
      };
      Value corners[] = {
          corner(y.low, x.low, y.lowWeight, x.lowWeight), corner(y.low, x.high, y.lowWeight, x.highWeight),
          corner(y.high, x.low, y.highWeight, x.lowWeight), corner(y.high, x.high, y.highWeight, x.highWeight)};
      Value sample = corners[0];
      for (Value one : llvm::drop_begin(corners))
        sample = op.getMaximum() ? larger(sample, one) : f.add(sample, one);
      sample = f.select(isOutside, f.c(0), sample);
      return SmallVector<Value>{op.getMaximum() ? larger(inner[0], sample) : f.add(inner[0], sample)};
    });
  })[0];
  if (op.getMaximum()) {
    total = f.select(f.lt(f.c(lowest), total), total, f.c(0)); // No samples.
  } else {
    Value count = f.mul(rows.samplesAsFloat, columns.samplesAsFloat);
    total = f.div(total, f.select(f.lt(count, f.c(1)), f.c(1), count));
  }
  return emitRoundTrip(b, loc, element, emitCast(b, loc, total, b.getF32Type(), computeType(element), false));
}

//===----------------------------------------------------------------------===//
// pool_index
//===----------------------------------------------------------------------===//

static Value emitPoolIndexElement(PoolIndexOp op, KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  const Extents in = extentsOf(op.getInput());
  Type element = typeOf(op.getInput()).getElementType(), compute = computeType(element);
  bool isUnsigned = isUnsignedElement(element);
  SmallVector<Value> at(indices);
  std::function<SmallVector<Value>(size_t, ValueRange)> level = [&](size_t d, ValueRange best) {
    if (d == in.size()) {
      Value x = kernel.element(op.getInput(), at);
      Value better = emitCompare(b, loc, ComparePredicate::gt, x, best[0], isUnsigned);
      // The first element that is there wins whatever it is.
      Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, best[1], kernel.index(0));
      Value take = arith::OrIOp::create(b, loc, better, isFirst);
      SmallVector<Value> order(at);
      Extents extents(in);
      if (op.getColumnMajor()) {
        std::reverse(order.begin() + 2, order.end());
        std::reverse(extents.begin() + 2, extents.end());
      }
      return SmallVector<Value>{arith::SelectOp::create(b, loc, take, x, best[0]),
                                arith::SelectOp::create(b, loc, take, kernel.linearize(order, extents), best[1])};
    }
    size_t s = d - 2;
    Value origin = kernel.add(kernel.mul(indices[d], op.getStrides()[s]), kernel.index(-op.getPadsLow()[s]));
    KernelEmitter::TapRange taps = kernel.tapsInside(origin, in[d], op.getKernel()[s], op.getDilations()[s]);
    return kernel.reduce(taps.low, taps.high, 1, best, [&](Value k, ValueRange carried) {
      at[d] = kernel.add(origin, kernel.mul(k, op.getDilations()[s]));
      return level(d + 1, carried);
    });
  };
  Value lowest = emitExtreme(b, loc, compute, isUnsigned, /*lowest=*/true);
  Value position = level(2, ValueRange{lowest, kernel.index(-1)})[1];
  Value clamped = arith::MaxSIOp::create(b, loc, position, kernel.index(0));
  Value wide = arith::IndexCastOp::create(b, loc, b.getI64Type(), clamped);
  return emitCast(b, loc, wide, b.getI64Type(), op.getType().getElementType(), false);
}

void sluice::dataflow::attachVisionKernels(MLIRContext *context) {
  constexpr auto kOfStep = KernelExtents::OfStep;
  attach<ElementModel<emitGridSampleElement, kOfStep>, ElementModel<emitRoiAlignElement, kOfStep>,
         ElementModel<emitPoolIndexElement, kOfStep>>(context);
}
