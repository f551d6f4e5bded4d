//===- Scan.cpp - Kernels of arg_reduce, cumsum, topk ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// arg_reduce
//===----------------------------------------------------------------------===//

/// The first element of a row; 0 where a step's row has none.
static Value readFirst(KernelEmitter &kernel, const Extent &length, Type element, function_ref<Value(Value)> read) {
  if (length.isConstant() || !mayBeZero(length))
    return read(kernel.index(0));
  OpBuilder &b = kernel.builder();
  Value hasFirst =
      arith::CmpIOp::create(b, kernel.loc(), arith::CmpIPredicate::sgt, kernel.index(length), kernel.index(0));
  return kernel.choose(
      hasFirst, [&] { return read(kernel.index(0)); }, [&] { return kernel.constant(computeType(element), 0); });
}

static void emitArgReduceKernel(ArgReduceOp op, KernelEmitter &kernel) {
  const Extents shape = extentsOf(op.getInput());
  Extents kept(shape);
  kept[op.getAxis()] = 1;
  const Extent extent = productOf(kept), length = shape[op.getAxis()];
  bool isUnsigned = isUnsignedElement(typeOf(op.getInput()).getElementType());
  kernel.parallel(extent, {Rate::Scalars, Count(extent.most()) * length.most(), 0}, [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loopItems(begin, end, kept, [&](ArrayRef<Value> item) {
      SmallVector<Value> at(item);
      auto read = [&](Value i) {
        at[op.getAxis()] = i;
        return kernel.element(op.getInput(), at);
      };
      Value first = readFirst(kernel, length, typeOf(op.getInput()).getElementType(), read);
      SmallVector<Value> best = kernel.reduce(
          kernel.index(1), kernel.index(length), 1, {first, kernel.index(0)}, [&](Value i, ValueRange carried) {
            Value x = read(i);
            ComparePredicate wins = op.getLargest()
                                        ? (op.getSelectLast() ? ComparePredicate::ge : ComparePredicate::gt)
                                        : (op.getSelectLast() ? ComparePredicate::le : ComparePredicate::lt);
            Value better = emitCompare(b, loc, wins, x, carried[0], isUnsigned);
            return SmallVector<Value>{arith::SelectOp::create(b, loc, better, x, carried[0]),
                                      arith::SelectOp::create(b, loc, better, i, carried[1])};
          });
      SmallVector<Value> out(item);
      if (!op.getKeepDims())
        out.erase(out.begin() + op.getAxis());
      kernel.store(arith::IndexCastOp::create(b, loc, b.getI64Type(), best[1]), out);
    });
  });
}

//===----------------------------------------------------------------------===//
// cumsum
//===----------------------------------------------------------------------===//

static void emitCumsumKernel(CumsumOp op, KernelEmitter &kernel) {
  const Extents shape = extentsOf(op.getInput());
  Extents kept(shape);
  const Extent length = shape[op.getAxis()];
  kept[op.getAxis()] = 1;
  if (elementCount(op.getType()) == 0)
    return;
  Type element = op.getType().getElementType();
  kernel.parallel(productOf(kept), {Rate::Scalars, product(shapeOf(op.getInput())), 0}, [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loopItems(begin, end, kept, [&](ArrayRef<Value> item) {
      Value neutral = emitConstant(b, loc, computeType(element), op.getProduct() ? 1 : 0);
      kernel.reduce(kernel.index(0), kernel.index(length), 1, neutral, [&](Value step, ValueRange carried) {
        SmallVector<Value> at(item);
        at[op.getAxis()] =
            op.getReverse() ? arith::SubIOp::create(b, loc, kernel.index(length - 1), step).getResult() : step;
        Value sum = emitBinary(b, loc, op.getProduct() ? BinaryKind::mul : BinaryKind::add, carried[0],
                               kernel.element(op.getInput(), at), isUnsignedElement(element));
        kernel.store(emitRoundTrip(b, loc, element, op.getExclusive() ? Value(carried[0]) : sum), at);
        return SmallVector<Value>{sum};
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// topk
//===----------------------------------------------------------------------===//

/// Selection by rank: place s takes the best of what comes after place s - 1 in
/// the total order (value, then lower index). Needs no scratch.
static void emitTopkKernel(TopkOp op, KernelEmitter &kernel) {
  const Extents shape = extentsOf(op.getInput());
  Extents kept(shape);
  const int64_t axis = op.getAxis(), k = op.getK();
  const Extent length = shape[axis];
  kept[axis] = 1;
  if (k == 0 || productOf(kept).is(0))
    return;
  bool isUnsigned = isUnsignedElement(typeOf(op.getInput()).getElementType());
  kernel.parallel(productOf(kept), kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    // NaN is above every number, so that the order is total.
    auto isAbove = [&](Value x, Value y) -> Value {
      Value above = emitCompare(b, loc, ComparePredicate::gt, x, y, isUnsigned);
      if (!isa<FloatType>(x.getType()))
        return above;
      Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
      Value isNumber = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, y, y);
      return arith::OrIOp::create(b, loc, above, arith::AndIOp::create(b, loc, isNan, isNumber));
    };
    auto isAfter = [&](Value x, Value i, Value y, Value j) -> Value {
      // (x, i) comes after (y, j).
      Value worse = op.getLargest() ? isAbove(y, x) : isAbove(x, y);
      Value better = op.getLargest() ? isAbove(x, y) : isAbove(y, x);
      Value later = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, i, j);
      Value tied = arith::AndIOp::create(
          b, loc, later, arith::XOrIOp::create(b, loc, better, emitIntConstant(b, loc, better.getType(), 1)));
      return arith::OrIOp::create(b, loc, worse, tied);
    };
    kernel.loopItems(begin, end, kept, [&](ArrayRef<Value> item) {
      SmallVector<Value> at(item);
      auto read = [&](Value i) {
        at[axis] = i;
        return kernel.element(op.getInput(), at);
      };
      Value none = kernel.index(-1);
      Value start = readFirst(kernel, length, typeOf(op.getInput()).getElementType(), read);
      kernel.reduce(kernel.index(0), kernel.index(k), 1, {start, none}, [&](Value place, ValueRange last) {
        SmallVector<Value> best =
            kernel.reduce(kernel.index(0), kernel.index(length), 1, {start, none}, [&](Value i, ValueRange carried) {
              Value x = read(i);
              Value isFirstPlace = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, last[1], kernel.index(0));
              Value open = arith::OrIOp::create(b, loc, isFirstPlace, isAfter(x, i, last[0], last[1]));
              Value isEmpty = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, carried[1], kernel.index(0));
              Value better = arith::OrIOp::create(b, loc, isEmpty, isAfter(carried[0], carried[1], x, i));
              Value take = arith::AndIOp::create(b, loc, open, better);
              return SmallVector<Value>{arith::SelectOp::create(b, loc, take, x, carried[0]),
                                        arith::SelectOp::create(b, loc, take, i, carried[1])};
            });
        SmallVector<Value> to(item);
        to[axis] = place;
        kernel.store(best[0], to, 1, 0);
        kernel.store(arith::IndexCastOp::create(b, loc, b.getI64Type(), best[1]), to, 1, 1);
        return best;
      });
    });
  });
}

void sluice::dataflow::attachScanKernels(MLIRContext *context) {
  constexpr auto kOfStep = KernelExtents::OfStep;
  attach<KernelModel<emitArgReduceKernel, kOfStep>, KernelModel<emitCumsumKernel, kOfStep>,
         KernelModel<emitTopkKernel, kOfStep>>(context);
}
