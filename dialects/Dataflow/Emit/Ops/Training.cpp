//===- Training.cpp - Kernels of What only training graphs hold -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// dropout_mask
//===----------------------------------------------------------------------===//

/// SplitMix64 of the element's number, begun at a hash of seed and step.
static Value emitDropoutMaskElement(DropoutMaskOp op, KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type i64 = b.getI64Type();
  auto c = [&](uint64_t value) { return emitIntConstant(b, loc, i64, static_cast<int64_t>(value)); };
  SmallVector<Value> zero(typeOf(op.getStep()).getRank(), kernel.index(0));
  Value step = emitCast(b, loc, kernel.element(op.getStep(), zero), typeOf(op.getStep()).getElementType(), i64, false);
  Value begin = arith::XOrIOp::create(b, loc, c(op.getSeed()), arith::MulIOp::create(b, loc, step, c(kSplitMix64Step)));
  Value number = arith::IndexCastOp::create(b, loc, i64, kernel.linearize(indices, shapeOf(op.getResult())));
  Value state = arith::AddIOp::create(b, loc, emitSplitMix64(b, loc, begin),
                                      arith::MulIOp::create(b, loc, number, c(kSplitMix64Step)));
  // 53 uniform bits against the probability, exactly.
  constexpr int kBits = 53;
  Value uniform = arith::ShRUIOp::create(b, loc, emitSplitMix64(b, loc, state), c(64 - kBits));
  auto limit = static_cast<uint64_t>(std::ldexp(op.getKeep().convertToDouble(), kBits));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, uniform, c(limit));
}

//===----------------------------------------------------------------------===//
// conv_weight_gradient
//===----------------------------------------------------------------------===//

namespace {
/// One weight tap against the positions of the result that it meets: o with
/// 0 <= o * stride + offset < extent.
struct TapRange {
  Value offset, lower, upper;
};
} // namespace

static TapRange tapRange(KernelEmitter &kernel, Value tap, int64_t stride, int64_t pad, int64_t dilation,
                         int64_t extent, int64_t outputs) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Value offset = kernel.add(kernel.mul(tap, dilation), kernel.index(-pad));
  auto atLeast = [&](Value bound) -> Value {
    Value up = arith::CeilDivSIOp::create(b, loc, bound, kernel.index(stride));
    up = arith::MaxSIOp::create(b, loc, up, kernel.index(0));
    return arith::MinSIOp::create(b, loc, up, kernel.index(outputs));
  };
  Value lower = atLeast(arith::SubIOp::create(b, loc, kernel.index(0), offset));
  Value upper = atLeast(arith::SubIOp::create(b, loc, kernel.index(extent), offset));
  return {offset, lower, upper};
}

static void emitConvWeightGradientKernel(ConvWeightGradientOp op, KernelEmitter &kernel) {
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = shapeOf(op.getGradient()), weight = shapeOf(op.getResult());
  if (elementCount(op.getType()) == 0)
    return;
  size_t spatial = in.size() - 2;
  auto groups = static_cast<int64_t>(op.getGroups());
  int64_t filters = out[1] / groups;
  // Filters that share what is read of the input.
  int64_t block = filters % 4 == 0 ? 4 : filters % 2 == 0 ? 2 : 1;
  Type element = op.getType().getElementType(), compute = computeType(element);
  int64_t lanes = 1;
  if (op.getStrides().back() == 1)
    while (lanes * 2 <= std::min(kernel.target().lanesF32, out.back()))
      lanes *= 2;
  Type vectorType = lanes > 1 ? Type(VectorType::get({lanes}, compute)) : compute;

  SmallVector<int64_t> items{groups, filters / block};
  llvm::append_range(items, weight.drop_front());
  kernel.parallel(product(items), kernel.work(Rate::Vectors), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    Value input = kernel.pointer(op.getInput()), gradient = kernel.pointer(op.getGradient());
    auto multiplyAdd = [&](Value x, Value y, Value sum) -> Value {
      return arith::AddFOp::create(b, loc, sum, arith::MulFOp::create(b, loc, x, y));
    };
    kernel.loop(begin, end, 1, [&](Value item) {
      SmallVector<Value> at = kernel.delinearize(item, items);
      Value firstFilter = kernel.add(kernel.mul(at[0], filters), kernel.mul(at[1], block));
      Value channel = kernel.add(kernel.mul(at[0], weight[1]), at[2]);
      SmallVector<TapRange> ranges;
      for (size_t d = 0; d < spatial; ++d)
        ranges.push_back(tapRange(kernel, at[3 + d], op.getStrides()[d], op.getPadsLow()[d], op.getDilations()[d],
                                  in[2 + d], out[2 + d]));
      SmallVector<Value> source(in.size()), from(out.size());
      source[1] = channel;
      // Per filter a sum of vectors, then one of scalars for what is left of a row.
      auto row = [&](ValueRange sums) {
        const TapRange &range = ranges.back();
        auto run = [&](Value lower, Value upper, int64_t width, ValueRange initial) {
          return kernel.reduce(lower, upper, width, initial, [&](Value o, ValueRange inner) {
            source.back() = kernel.add(kernel.mul(o, op.getStrides().back()), range.offset);
            from.back() = o;
            Value x = kernel.load(input, element, kernel.linearize(source, in), width);
            SmallVector<Value> next;
            for (int64_t f = 0; f < block; ++f) {
              from[1] = kernel.add(firstFilter, kernel.index(f));
              Value y = kernel.load(gradient, element, kernel.linearize(from, out), width);
              next.push_back(multiplyAdd(x, y, inner[f]));
            }
            return next;
          });
        };
        if (lanes == 1)
          return run(range.lower, range.upper, 1, sums);
        Value length = arith::SubIOp::create(b, loc, range.upper, range.lower);
        length = arith::MaxSIOp::create(b, loc, length, kernel.index(0));
        Value whole = kernel.mul(arith::DivUIOp::create(b, loc, length, kernel.index(lanes)), lanes);
        Value middle = kernel.add(range.lower, whole);
        SmallVector<Value> result = run(range.lower, middle, lanes, sums.take_front(block));
        llvm::append_range(result, run(middle, range.upper, 1, sums.drop_front(block)));
        return result;
      };
      std::function<SmallVector<Value>(size_t, ValueRange)> level = [&](size_t d, ValueRange sums) {
        if (d + 1 == spatial)
          return row(sums);
        return kernel.reduce(ranges[d].lower, ranges[d].upper, 1, sums, [&](Value o, ValueRange inner) {
          source[2 + d] = kernel.add(kernel.mul(o, op.getStrides()[d]), ranges[d].offset);
          from[2 + d] = o;
          return level(d + 1, inner);
        });
      };
      SmallVector<Value> initial(block, emitConstant(b, loc, vectorType, 0));
      if (lanes > 1)
        initial.append(block, emitConstant(b, loc, compute, 0));
      SmallVector<Value> sums =
          kernel.reduce(kernel.index(0), kernel.index(in[0]), 1, initial, [&](Value n, ValueRange inner) {
            source[0] = from[0] = n;
            return level(0, inner);
          });
      SmallVector<Value> to(at.begin() + 1, at.end());
      for (int64_t f = 0; f < block; ++f) {
        Value sum = sums[f];
        if (lanes > 1)
          sum = arith::AddFOp::create(b, loc, vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, sum),
                                      sums[block + f]);
        to[0] = kernel.add(firstFilter, kernel.index(f));
        kernel.store(emitRoundTrip(b, loc, element, sum), to);
      }
    });
  });
}

//===----------------------------------------------------------------------===//
// pool_gradient
//===----------------------------------------------------------------------===//

static Value emitPoolGradientElement(PoolGradientOp op, KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  ArrayRef<int64_t> in = shapeOf(op.getResult()), out = shapeOf(op.getGradient());
  size_t spatial = op.getKernel().size();
  Type element = op.getType().getElementType(), compute = computeType(element);
  // The window at result position `window` meets this element with tap `tap`.
  SmallVector<Value> window{indices[0], indices[1]}, tap(spatial);
  window.resize(spatial + 2);

  auto start = [&](size_t d) {
    return kernel.add(kernel.mul(window[2 + d], op.getStrides()[d]), kernel.index(-op.getPadsLow()[d]));
  };
  // Taps of a window that begin before `limit`.
  auto span = [&](size_t d, int64_t limit) -> Value {
    Value room = arith::SubIOp::create(b, loc, kernel.index(limit), start(d));
    room = arith::MaxSIOp::create(b, loc, room, kernel.index(0));
    room = arith::CeilDivUIOp::create(b, loc, room, kernel.index(op.getDilations()[d]));
    return arith::MinSIOp::create(b, loc, room, kernel.index(op.getKernel()[d]));
  };
  auto firstInside = [&](size_t d) -> Value {
    Value before = arith::SubIOp::create(b, loc, kernel.index(0), start(d));
    before = arith::MaxSIOp::create(b, loc, before, kernel.index(0));
    return arith::CeilDivUIOp::create(b, loc, before, kernel.index(op.getDilations()[d]));
  };
  auto average = [&](Value g) -> Value {
    Value count = kernel.index(1);
    for (size_t d = 0; d < spatial; ++d) {
      Value taps = op.getCountIncludePad()
                       ? span(d, in[2 + d] + op.getPadsHigh()[d])
                       : arith::SubIOp::create(b, loc, span(d, in[2 + d]), firstInside(d)).getResult();
      count = arith::MulIOp::create(b, loc, count, taps);
    }
    count = arith::IndexCastOp::create(b, loc, b.getI64Type(), count);
    return arith::DivFOp::create(b, loc, g, emitCast(b, loc, count, b.getI64Type(), compute, false));
  };
  auto maximum = [&](Value g) -> Value {
    // No earlier tap as large, no later one larger.
    Value x = kernel.element(op.getSaved()[0], indices);
    Value own = kernel.linearize(tap, op.getKernel());
    SmallVector<Value> other(spatial), at(indices);
    std::function<Value(size_t, Value)> level = [&](size_t d, Value so) -> Value {
      if (d == spatial) {
        Value y = kernel.element(op.getSaved()[0], at);
        Value number = kernel.linearize(other, op.getKernel());
        Value isEarlier = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, own);
        Value less = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, y, x);
        Value same = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, y, x);
        return arith::AndIOp::create(b, loc, so, arith::SelectOp::create(b, loc, isEarlier, less, same));
      }
      Value from = start(d);
      return kernel.reduce(firstInside(d), span(d, in[2 + d]), 1, so, [&](Value k, ValueRange inner) {
        other[d] = k;
        at[2 + d] = kernel.add(from, kernel.mul(k, op.getDilations()[d]));
        return SmallVector<Value>{level(d + 1, inner[0])};
      })[0];
    };
    Value isFirst = level(0, arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
    return arith::SelectOp::create(b, loc, isFirst, g, emitConstant(b, loc, compute, 0));
  };
  auto power = [&](Value g) -> Value {
    // sign(x) * (|x| / y)^(p - 1); all is zero where y is.
    Value x = kernel.element(op.getSaved()[0], indices), y = kernel.element(op.getSaved()[1], window);
    Value zero = emitConstant(b, loc, compute, 0);
    Value ratio = arith::DivFOp::create(b, loc, emitUnary(b, loc, UnaryKind::abs, x, false, 0, 0), y);
    Value slope = emitUnary(b, loc, UnaryKind::sign, x, false, 0, 0);
    for (int64_t i = 1; i < static_cast<int64_t>(op.getP()); ++i)
      slope = arith::MulFOp::create(b, loc, slope, ratio);
    Value isZero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, y, zero);
    return arith::SelectOp::create(b, loc, isZero, zero, arith::MulFOp::create(b, loc, g, slope));
  };

  std::function<Value(size_t, Value)> level = [&](size_t d, Value sum) -> Value {
    if (d == spatial) {
      Value g = kernel.element(op.getGradient(), window);
      Value part = op.getKind() == PoolKind::average ? average(g)
                   : op.getKind() == PoolKind::max   ? maximum(g)
                                                     : power(g);
      return arith::AddFOp::create(b, loc, sum, part);
    }
    return kernel.reduce(kernel.index(0), kernel.index(op.getKernel()[d]), 1, sum, [&](Value k, ValueRange inner) {
      auto [position, exists] = kernel.windowOver(indices[2 + d], k, op.getStrides()[d], op.getPadsLow()[d],
                                                  op.getDilations()[d], out[2 + d]);
      window[2 + d] = position;
      tap[d] = k;
      return SmallVector<Value>{kernel.choose(
          exists, [&] { return level(d + 1, inner[0]); }, [&] { return Value(inner[0]); })};
    })[0];
  };
  return emitRoundTrip(b, loc, element, level(0, emitConstant(b, loc, compute, 0)));
}

void sluice::dataflow::attachTrainingKernels(MLIRContext *context) {
  attach<ElementModel<emitDropoutMaskElement>, KernelModel<emitConvWeightGradientKernel>,
         ElementModel<emitPoolGradientElement>>(context);
}
