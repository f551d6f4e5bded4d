//===- Normalization.cpp - Kernels of softmax, layer, instance, batch norm, lrn ===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/Emit/Rows.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace {
/// Float arithmetic that joins scalars with vectors.
struct Arith {
  OpBuilder &b;
  Location loc;

  Value like(Value x, Value shape) const {
    return x.getType() == shape.getType() ? x : vector::BroadcastOp::create(b, loc, shape.getType(), x).getResult();
  }
  Value c(Value shape, double value) const { return emitConstant(b, loc, shape.getType(), value); }
  Value add(Value x, Value y) const { return arith::AddFOp::create(b, loc, x, like(y, x)); }
  Value sub(Value x, Value y) const { return arith::SubFOp::create(b, loc, x, like(y, x)); }
  Value mul(Value x, Value y) const { return arith::MulFOp::create(b, loc, x, like(y, x)); }
  Value div(Value x, Value y) const { return arith::DivFOp::create(b, loc, x, like(y, x)); }
};
} // namespace

/// Row lanes: element-wise reads and an epilogue both have a vector form.
static int64_t rowLanes(KernelEmitter &kernel, Value input, const Extent &length) {
  int64_t lanes = kernel.target().lanesF32;
  return length.most() >= lanes && kernel.isVectorizable(input) ? lanes : 1;
}

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

void RowSoftmax::emit(function_ref<Value(Value, int64_t)> read, function_ref<void(Value, int64_t, Value)> write) const {
  KernelEmitter &kernel = row.kernel;
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Arith f{b, loc};
  Value top = row.run(
      compute, [&](Type type) { return emitExtreme(b, loc, type, false, /*lowest=*/true); }, read,
      [&](Value x, Value y) -> Value { return arith::MaximumFOp::create(b, loc, x, y); });
  auto shifted = [&](Value i, int64_t count) { return f.sub(read(i, count), top); };
  Value total = row.run(
      compute, [&](Type type) { return emitConstant(b, loc, type, 0); },
      [&](Value i, int64_t count) {
        Value e = math::ExpOp::create(b, loc, shifted(i, count));
        if (buffer)
          kernel.store(buffer, compute, i, e);
        return e;
      },
      [&](Value x, Value y) { return f.add(x, y); });
  Value scale =
      isLogarithm ? math::LogOp::create(b, loc, total).getResult() : f.div(emitConstant(b, loc, compute, 1), total);
  row.forEach([&](Value i, int64_t count) {
    if (isLogarithm)
      return write(i, count, f.sub(shifted(i, count), scale));
    Value e =
        buffer ? kernel.load(buffer, compute, i, count) : math::ExpOp::create(b, loc, shifted(i, count)).getResult();
    write(i, count, f.mul(e, scale));
  });
}

static void emitSoftmaxKernel(SoftmaxOp op, KernelEmitter &kernel) {
  const Extents shape = extentsOf(op.getInput());
  const int64_t axis = op.getAxis();
  const Extent length = shape[axis];
  Extents kept(shape);
  kept[axis] = 1;
  if (elementCount(op.getType()) == 0)
    return;
  bool isLast = axis + 1 == static_cast<int64_t>(shape.size());
  Type compute = computeType(op.getType().getElementType());
  // exp is the cost: keep a row's values on the stack where they fit.
  constexpr int64_t kStackElements = 8192;
  bool keep = !op.getLog() && length.most() <= kStackElements && !kernel.inGrids();
  kernel.parallelRows(productOf(kept), length, kernel.work(Rate::Vectors), [&](Value begin, Value end) {
    RowReducer row{kernel, length, isLast ? rowLanes(kernel, op.getInput(), length) : 1};
    const RowSoftmax softmax{row, compute, op.getLog(), keep ? kernel.stackBuffer(compute, length.most()) : Value()};
    kernel.loopItems(begin, end, kept, [&](ArrayRef<Value> first) {
      SmallVector<Value> at(first);
      softmax.emit(
          [&](Value i, int64_t count) {
            at[axis] = i;
            return kernel.elements(op.getInput(), at, count);
          },
          [&](Value i, int64_t count, Value value) {
            at[axis] = i;
            kernel.storeLanes(value, at, count);
          });
    });
  });
}

//===----------------------------------------------------------------------===//
// layer_norm
//===----------------------------------------------------------------------===//

static void emitLayerNormKernel(LayerNormOp op, KernelEmitter &kernel) {
  const Extents shape = extentsOf(op.getInput());
  int64_t axis = op.getAxis();
  const ExtentList inner(ArrayRef(shape).drop_front(axis)), outer(ArrayRef(shape).take_front(axis));
  const Extent length = productOf(inner);
  if (elementCount(op.getType()) == 0)
    return;
  // Vectors need the row to be the last dimension.
  bool isRow = productOf(ArrayRef<Extent>(inner).drop_back()).is(1);
  Type compute = computeType(op.getType().getElementType());
  kernel.parallelRows(productOf(outer), length, kernel.work(Rate::Vectors), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    Arith f{b, loc};
    RowReducer row{kernel, length, isRow ? rowLanes(kernel, op.getInput(), length) : 1};
    kernel.loopItems(begin, end, outer, [&](ArrayRef<Value> prefix) {
      auto indices = [&](Value i) {
        SmallVector<Value> at(prefix);
        llvm::append_range(at, kernel.delinearize(i, inner));
        return at;
      };
      auto zero = [&](Type type) { return emitConstant(b, loc, type, 0); };
      auto sum = [&](Value x, Value y) { return f.add(x, y); };
      Value count = kernel.number(compute, length);
      Value mean = f.div(
          row.run(
              compute, zero, [&](Value i, int64_t n) { return kernel.elements(op.getInput(), indices(i), n); }, sum),
          count);
      auto centred = [&](Value i, int64_t n) { return f.sub(kernel.elements(op.getInput(), indices(i), n), mean); };
      Value variance = f.div(row.run(
                                 compute, zero,
                                 [&](Value i, int64_t n) {
                                   Value d = centred(i, n);
                                   return f.mul(d, d);
                                 },
                                 sum),
                             count);
      Value deviation = math::SqrtOp::create(b, loc, f.add(variance, f.c(variance, op.getEpsilon().convertToDouble())));
      Value scale = f.div(f.c(deviation, 1), deviation);
      row.forEach([&](Value i, int64_t n) {
        SmallVector<Value> at = indices(i);
        Value value = f.mul(f.mul(centred(i, n), scale), kernel.broadcastElements(op.getScale(), at, n));
        if (op.getBias())
          value = f.add(value, kernel.broadcastElements(op.getBias(), at, n));
        kernel.storeLanes(value, at, n);
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// instance_norm
//===----------------------------------------------------------------------===//

static void emitInstanceNormKernel(InstanceNormOp op, KernelEmitter &kernel) {
  const Extents shape = extentsOf(op.getInput());
  const Extent channels = shape[1], length = productOf(ArrayRef(shape).drop_front(2));
  if (elementCount(op.getType()) == 0)
    return;
  Type element = op.getType().getElementType(), compute = computeType(element);
  kernel.parallelRows(shape[0] * channels, length, kernel.work(Rate::Vectors), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    Arith f{b, loc};
    Value source = kernel.pointer(op.getInput()), target = kernel.resultPointer(0);
    // A channel's mean is often many deviations from zero, so the order of its
    // sum shows in the result: the order of ONNX Runtime, on any machine
    // (docs/rationale/numerics.md).
    constexpr int64_t kPartialSums = 8;
    RowReducer row{kernel, length, length.most() >= kPartialSums ? kPartialSums : 1, RowReducer::Order::Plain};
    kernel.loop(begin, end, 1, [&](Value item) {
      Value base = kernel.mul(item, length);
      Value channel = kernel.delinearize(item, {shape[0], channels})[1];
      auto read = [&](Value i, int64_t n) { return kernel.load(source, element, kernel.add(base, i), n); };
      auto zero = [&](Type type) { return emitConstant(b, loc, type, 0); };
      auto sum = [&](Value x, Value y) { return f.add(x, y); };
      Value count = kernel.number(compute, length);
      Value mean = f.div(row.run(compute, zero, read, sum), count);
      Value variance = f.div(row.run(
                                 compute, zero,
                                 [&](Value i, int64_t n) {
                                   Value d = f.sub(read(i, n), mean);
                                   return f.mul(d, d);
                                 },
                                 sum),
                             count);
      Value deviation = math::SqrtOp::create(b, loc, f.add(variance, f.c(variance, op.getEpsilon().convertToDouble())));
      Value scale = f.div(kernel.element(op.getScale(), channel), deviation);
      Value bias = kernel.element(op.getBias(), channel);
      row.forEach([&](Value i, int64_t n) {
        Value value = f.add(f.mul(f.sub(read(i, n), mean), scale), bias);
        kernel.store(target, element, kernel.add(base, i), value);
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// lrn
//===----------------------------------------------------------------------===//

static Value emitLrnElement(LrnOp op, KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Arith f{b, loc};
  const int64_t axis = op.getChannelAxis(), size = op.getSize();
  const Extent channels = extentsOf(op.getInput())[axis];
  Value x = kernel.element(op.getInput(), indices);
  // [c - floor((size - 1) / 2), c + ceil((size - 1) / 2)], clipped.
  Value low = kernel.add(indices[axis], kernel.index(-((size - 1) / 2)));
  Value high = kernel.add(indices[axis], kernel.index(size / 2 + 1));
  low = arith::MaxSIOp::create(b, loc, low, kernel.index(0));
  high = arith::MinSIOp::create(b, loc, high, kernel.index(channels));
  Value sum = kernel.reduce(low, high, 1, f.c(x, 0), [&](Value c, ValueRange sums) {
    SmallVector<Value> at(indices);
    at[axis] = c;
    Value y = kernel.element(op.getInput(), at);
    return SmallVector<Value>{f.add(sums[0], f.mul(y, y))};
  })[0];
  Value base =
      f.add(f.mul(sum, f.c(x, op.getAlpha().convertToDouble() / size)), f.c(x, op.getBias().convertToDouble()));
  double beta = op.getBeta().convertToDouble();
  Value power;
  if (beta == 0.75) {
    // base^0.75 without libm.
    Value root = math::SqrtOp::create(b, loc, base);
    power = f.mul(root, math::SqrtOp::create(b, loc, root));
  } else {
    power = math::PowFOp::create(b, loc, base, f.c(x, beta));
  }
  return emitRoundTrip(b, loc, op.getType().getElementType(), f.div(x, power));
}

void sluice::dataflow::attachNormalizationKernels(MLIRContext *context) {
  constexpr auto kOfStep = KernelExtents::OfStep;
  attach<KernelModel<emitSoftmaxKernel, kOfStep>, KernelModel<emitLayerNormKernel, kOfStep>,
         KernelModel<emitInstanceNormKernel, kOfStep>, ElementModel<emitLrnElement, kOfStep>>(context);
}
