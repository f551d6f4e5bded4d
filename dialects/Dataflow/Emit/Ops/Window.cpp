//===- Window.cpp - Kernels of pool, resize, conv_transpose ---------------===//
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
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <functional>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// pool
//===----------------------------------------------------------------------===//

/// Channels of one vector: as many as fit, and no more than there are; 1 where vectors do not pay.
static int64_t channelLanes(KernelEmitter &kernel, Type compute, const Extent &channels) {
  int64_t lanes = kernel.target().lanesF32;
  if (auto integer = dyn_cast<IntegerType>(compute); lanes > 1 && integer && integer.getWidth() < 32)
    lanes = lanes * 32 / std::max(integer.getWidth(), 8U);
  while (lanes > channels.most())
    lanes /= 2;
  return lanes < 4 ? 1 : lanes;
}

static void emitPoolKernel(PoolOp op, KernelEmitter &kernel) {
  const Extents in = extentsOf(op.getInput()), out = extentsOf(op.getResult());
  bool last = op.getLayout() == Layout::channels_last;
  size_t spatial = op.getKernel().size(), first = last ? 1 : 2;
  if (elementCount(op.getType()) == 0)
    return;
  Type element = op.getType().getElementType(), compute = computeType(element);
  bool isUnsigned = isUnsignedElement(element);
  // Rows of the innermost dimension are the work items; with channels last that
  // is a vector of channels, whose window is the same.
  const Extent inner = out.back();
  const int64_t lanes = last && kernel.isVectorizable(op.getInput()) ? channelLanes(kernel, compute, inner) : 1;

  auto emitAt = [&](SmallVector<Value> at, int64_t width) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    Type type = width > 1 ? Type(VectorType::get({width}, compute)) : compute;
    SmallVector<Value> low(spatial), high(spatial), start(spatial);
    Value inside = kernel.index(1), padded = kernel.index(1);
    for (size_t d = 0; d < spatial; ++d) {
      start[d] = kernel.add(kernel.mul(at[first + d], op.getStrides()[d]), kernel.index(-op.getPadsLow()[d]));
      KernelEmitter::TapRange taps =
          kernel.tapsInside(start[d], in[first + d], op.getKernel()[d], op.getDilations()[d]);
      low[d] = taps.low, high[d] = taps.high;
      inside = arith::MulIOp::create(b, loc, inside, arith::SubIOp::create(b, loc, high[d], low[d]));
      padded = arith::MulIOp::create(
          b, loc, padded,
          kernel.tapsBefore(start[d], in[first + d] + op.getPadsHigh()[d], op.getKernel()[d], op.getDilations()[d]));
    }
    Value acc = op.getKind() == PoolKind::max ? emitExtreme(b, loc, type, isUnsigned, /*lowest=*/true)
                                              : emitConstant(b, loc, type, 0);
    SmallVector<Value> from = at;
    std::function<Value(size_t, Value)> level = [&](size_t d, Value sum) -> Value {
      if (d == spatial) {
        Value x = kernel.elements(op.getInput(), from, width);
        switch (op.getKind()) {
        case PoolKind::max:
          return emitBinary(b, loc, BinaryKind::max, sum, x, isUnsigned);
        case PoolKind::average:
          return emitBinary(b, loc, BinaryKind::add, sum, x, isUnsigned);
        case PoolKind::lp: {
          Value magnitude = emitUnary(b, loc, UnaryKind::abs, x, isUnsigned, 0, 0);
          Value power = magnitude;
          for (int64_t i = 1; i < static_cast<int64_t>(op.getP()); ++i)
            power = emitBinary(b, loc, BinaryKind::mul, power, magnitude, isUnsigned);
          return emitBinary(b, loc, BinaryKind::add, sum, power, isUnsigned);
        }
        }
        llvm_unreachable("unknown pool kind");
      }
      return kernel.reduce(low[d], high[d], 1, sum, [&](Value k, ValueRange sums) {
        from[first + d] = kernel.add(start[d], kernel.mul(k, op.getDilations()[d]));
        return SmallVector<Value>{level(d + 1, sums[0])};
      })[0];
    };
    Value value = level(0, acc);
    if (op.getKind() == PoolKind::average) {
      Value count = op.getCountIncludePad() ? padded : inside;
      count = arith::MaxSIOp::create(b, loc, count, kernel.index(1));
      Value divisor =
          emitCast(b, loc, arith::IndexCastOp::create(b, loc, b.getI64Type(), count), b.getI64Type(), compute, false);
      if (width > 1)
        divisor = vector::BroadcastOp::create(b, loc, type, divisor);
      value = emitBinary(b, loc, BinaryKind::div, value, divisor, isUnsigned);
    } else if (op.getKind() == PoolKind::lp && op.getP() == 2) {
      value = math::SqrtOp::create(b, loc, value);
    } else if (op.getKind() == PoolKind::lp && op.getP() != 1) {
      value = math::PowFOp::create(b, loc, value, emitConstant(b, loc, type, 1.0 / op.getP()));
    }
    kernel.storeLanes(emitRoundTrip(b, loc, element, value), at, width);
  };

  kernel.parallelNest(ExtentList(ArrayRef(out).drop_back()), inner,
                      kernel.work(lanes > 1 ? Rate::Vectors : Rate::Scalars),
                      [&](ArrayRef<Value> prefix, Value from, Value to) {
                        auto emitRun = [&](Value i, int64_t width) {
                          SmallVector<Value> at(prefix);
                          at.push_back(i);
                          emitAt(at, width);
                        };
                        Value rest = from;
                        if (lanes > 1) {
                          rest = kernel.index(inner / lanes * lanes);
                          kernel.loop(from, rest, lanes, [&](Value i) { emitRun(i, lanes); });
                        }
                        if (lanes > 1 && inner.isConstant()) {
                          int64_t done = inner.most() / lanes * lanes;
                          for (int64_t width = lanes / 2; width > 0; width /= 2)
                            if (inner.most() - done >= width) {
                              emitRun(kernel.index(done), width);
                              done += width;
                            }
                          return;
                        }
                        kernel.loop(rest, to, 1, [&](Value i) { emitRun(i, 1); });
                      });
}

//===----------------------------------------------------------------------===//
// resize
//===----------------------------------------------------------------------===//

/// Where output position `i` of dimension `d` falls in the input.
static Value originalCoordinate(ResizeOp op, const Coordinates &f, size_t d, Value i) {
  const Extents inputs = extentsOf(op.getInput());
  const Extent in = inputs[d], out = extentsOf(op.getResult())[d];
  Value x = f.fromIndex(i), scale = f.c(op.getScales()[d]);
  Value half = f.c(0.5);
  auto zero = [&] { return f.c(0); };
  switch (op.getCoordinates()) {
  case CoordinateMode::half_pixel:
    return f.sub(f.div(f.add(x, half), scale), half);
  case CoordinateMode::pytorch_half_pixel:
    return f.ifSeveral(
        out, [&] { return f.sub(f.div(f.add(x, half), scale), half); }, zero);
  case CoordinateMode::align_corners:
    // By the scale, not the extent that came of it rounded down.
    return f.ifSeveral(
        out, [&] { return f.mul(x, (f.factor(in - 1) / (f.factor(in) * op.getScales()[d] + -1)).rounded()); }, zero);
  case CoordinateMode::asymmetric:
    return f.div(x, scale);
  case CoordinateMode::tf_half_pixel_for_nn:
    return f.div(f.add(x, half), scale);
  case CoordinateMode::half_pixel_symmetric: {
    const Coordinates::Factor adjustment = f.factor(out) / (f.factor(in) * op.getScales()[d]);
    const Coordinates::Factor offset = f.factor(in) * 0.5 * (adjustment * -1 + 1);
    return f.add(offset.rounded(), f.sub(f.div(f.add(x, half), scale), half));
  }
  case CoordinateMode::tf_crop_and_resize: {
    double start = (*op.getRoi())[d], end = (*op.getRoi())[d + inputs.size()];
    return f.ifSeveral(
        out,
        [&] {
          Value step = (f.factor(in - 1) * (end - start) / f.factor(out - 1)).rounded();
          return f.add((f.factor(in - 1) * start).rounded(), f.mul(x, step));
        },
        [&] { return (f.factor(in - 1) * (0.5 * (start + end))).rounded(); });
  }
  }
  llvm_unreachable("unknown coordinate mode");
}

static Value emitResizeElement(ResizeOp op, KernelEmitter &kernel, ValueRange indices) {
  Coordinates f{kernel};
  OpBuilder &b = f.b;
  Location loc = f.loc;
  const Extents in = extentsOf(op.getInput()), out = extentsOf(op.getResult());
  Type element = op.getType().getElementType(), compute = computeType(element);
  bool crops = op.getCoordinates() == CoordinateMode::tf_crop_and_resize;

  // Taps of every resampled dimension: (input index, weight).
  struct Tap {
    Value index, weight;
  };
  SmallVector<SmallVector<Tap>> taps(in.size());
  Value outside;
  for (size_t d = 0; d < in.size(); ++d) {
    if (isSameExtent(in[d], out[d]) && op.getScales()[d] == 1 && !crops) {
      taps[d].push_back({indices[d], Value()});
      continue;
    }
    Value x = originalCoordinate(op, f, d, indices[d]);
    if (crops) {
      Value below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, f.c(0));
      Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, f.factor(in[d] - 1).rounded());
      Value either = arith::OrIOp::create(b, loc, below, above);
      outside = outside ? arith::OrIOp::create(b, loc, outside, either).getResult() : either;
    }
    if (op.getMode() == ResizeMode::nearest) {
      Value rounded;
      switch (op.getNearest()) {
      case NearestMode::round_prefer_floor:
        rounded = f.ceil(f.sub(x, f.c(0.5)));
        break;
      case NearestMode::round_prefer_ceil:
        rounded = f.floor(f.add(x, f.c(0.5)));
        break;
      case NearestMode::floor:
        rounded = f.floor(x);
        break;
      case NearestMode::ceil:
        rounded = f.ceil(x);
        break;
      }
      taps[d].push_back({f.clamp(f.toIndex(rounded), in[d]), Value()});
      continue;
    }
    Value base = f.floor(x), fraction = f.sub(x, base), origin = f.toIndex(base);
    if (op.getMode() == ResizeMode::linear) {
      // Past an edge both taps are the edge, so clamping the index is enough.
      taps[d].push_back({f.clamp(origin, in[d]), f.sub(f.c(1), fraction)});
      taps[d].push_back({f.clamp(kernel.add(origin, kernel.index(1)), in[d]), fraction});
      continue;
    }
    SmallVector<Value> weights = cubicWeights(f, fraction, op.getCubicCoeff().convertToDouble());
    Value sum;
    for (int64_t k = 0; k < 4; ++k) {
      Value at = kernel.add(origin, kernel.index(k - 1));
      if (op.getExcludeOutside()) {
        Value isInside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at, kernel.index(in[d]));
        weights[k] = arith::SelectOp::create(b, loc, isInside, weights[k], f.c(0));
        sum = sum ? f.add(sum, weights[k]) : weights[k];
      }
      taps[d].push_back({f.clamp(at, in[d]), weights[k]});
    }
    if (op.getExcludeOutside())
      for (Tap &tap : taps[d])
        tap.weight = f.div(tap.weight, sum);
  }

  SmallVector<Value> at(in.size());
  std::function<Value(size_t)> level = [&](size_t d) -> Value {
    if (d == in.size())
      return kernel.element(op.getInput(), at);
    Value sum;
    for (const Tap &tap : taps[d]) {
      at[d] = tap.index;
      Value value = level(d + 1);
      if (tap.weight)
        value = arith::MulFOp::create(b, loc, value, emitCast(b, loc, tap.weight, b.getF32Type(), compute, false));
      sum = sum ? arith::AddFOp::create(b, loc, sum, value).getResult() : value;
    }
    return sum;
  };
  Value value = level(0);
  if (outside)
    value = arith::SelectOp::create(b, loc, outside,
                                    emitConstant(b, loc, compute, op.getExtrapolation().convertToDouble()), value);
  return emitRoundTrip(b, loc, element, value);
}

//===----------------------------------------------------------------------===//
// conv_transpose
//===----------------------------------------------------------------------===//

/// Gathers: input position i reaches output o through tap k where
/// i * stride + k * dilation = o + pad.
static Value emitTransposedSum(ConvTransposeOp op, KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  const Extents in = extentsOf(op.getInput()), weight = extentsOf(op.getWeight());
  size_t spatial = in.size() - 2;
  const Extent perGroup = in[1] / static_cast<int64_t>(op.getGroups());
  Value m = indices[1], outputs = kernel.index(weight[1]);
  Value group = op.getGroups() == 1 ? kernel.index(0) : arith::DivUIOp::create(b, loc, m, outputs).getResult();
  Value filter = op.getGroups() == 1 ? m : arith::RemUIOp::create(b, loc, m, outputs).getResult();
  Value firstChannel = kernel.mul(group, perGroup);
  SmallVector<Value> position(spatial), tap(spatial);
  std::function<Value(size_t, Value)> level = [&](size_t d, Value acc) -> Value {
    if (d == spatial)
      return kernel.reduce(kernel.index(0), kernel.index(perGroup), 1, acc, [&](Value c, ValueRange sums) {
        Value channel = kernel.add(firstChannel, c);
        SmallVector<Value> from{indices[0], channel}, at{channel, filter};
        llvm::append_range(from, position);
        llvm::append_range(at, tap);
        Value term = emitBinary(b, loc, BinaryKind::mul, kernel.element(op.getInput(), from),
                                kernel.element(op.getWeight(), at), false);
        return SmallVector<Value>{emitBinary(b, loc, BinaryKind::add, sums[0], term, false)};
      })[0];
    return kernel.reduce(kernel.index(0), kernel.index(weight[2 + d]), 1, acc, [&](Value k, ValueRange sums) {
      auto [window, exists] =
          kernel.windowOver(indices[2 + d], k, op.getStrides()[d], op.getPadsLow()[d], op.getDilations()[d], in[2 + d]);
      position[d] = window;
      tap[d] = k;
      Value sum = kernel.choose(
          exists, [&] { return level(d + 1, sums[0]); }, [&] { return Value(sums[0]); });
      return SmallVector<Value>{sum};
    })[0];
  };
  return level(0, emitConstant(b, loc, computeType(op.getType().getElementType()), 0));
}

static void emitConvTransposeKernel(ConvTransposeOp op, KernelEmitter &kernel) {
  const Extents out = extentsOf(op.getResult());
  if (elementCount(op.getType()) == 0)
    return;
  kernel.parallel(productOf(out), kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    kernel.loopItems(begin, end, out, [&](ArrayRef<Value> at) { kernel.store(emitTransposedSum(op, kernel, at), at); });
  });
}

void sluice::dataflow::attachWindowKernels(MLIRContext *context) {
  attach<KernelModel<emitPoolKernel, KernelExtents::OfStep>, ElementModel<emitResizeElement, KernelExtents::OfStep>,
         KernelModel<emitConvTransposeKernel, KernelExtents::OfStep>>(context);
}
