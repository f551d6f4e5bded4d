//===- Selection.cpp - Kernels of nonzero, non_max_suppression ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/Coordinates.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "sluice/Runtime/abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <algorithm>

using namespace mlir;
using namespace sluice::dataflow;

static Value toI64(KernelEmitter &kernel, Value i) {
  return arith::IndexCastOp::create(kernel.builder(), kernel.loc(), kernel.builder().getI64Type(), i);
}

/// Result `result`, of i64 elements, all 0.
static void emitZeros(KernelEmitter &kernel, unsigned result, const Extent &count) {
  OpBuilder &b = kernel.builder();
  Value zero = arith::ConstantIntOp::create(b, kernel.loc(), 0, 64);
  kernel.loop(0, count, 1, [&](Value i) { kernel.store(kernel.resultPointer(result), b.getI64Type(), i, zero); });
}

//===----------------------------------------------------------------------===//
// nonzero
//===----------------------------------------------------------------------===//

static void emitNonzeroKernel(NonzeroOp op, KernelEmitter &kernel) {
  const Extents shape = extentsOf(op.getInput());
  const Extent count = productOf(shape);
  const auto rank = static_cast<int64_t>(shape.size());
  bool isUnsigned = isUnsignedElement(typeOf(op.getInput()).getElementType());
  kernel.parallel(1, {}, [&](Value, Value) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    emitZeros(kernel, 0, count * rank);
    Value found =
        kernel.reduce(kernel.index(0), kernel.index(count), 1, kernel.index(0), [&](Value i, ValueRange sums) {
          SmallVector<Value> at = kernel.delinearize(i, shape);
          Value x = kernel.element(op.getInput(), at);
          Value zero = emitConstant(b, loc, x.getType(), 0);
          Value isSet = emitCompare(b, loc, ComparePredicate::ne, x, zero, isUnsigned);
          kernel.ifThen(isSet, [&] {
            for (int64_t d = 0; d < rank; ++d)
              kernel.store(kernel.resultPointer(0), b.getI64Type(), kernel.add(sums[0], kernel.index(count * d)),
                           toI64(kernel, at[d]));
          });
          Value step = arith::SelectOp::create(b, loc, isSet, kernel.index(1), kernel.index(0));
          return SmallVector<Value>{kernel.add(sums[0], step)};
        })[0];
    kernel.store(kernel.resultPointer(1), b.getI64Type(), kernel.index(0), toI64(kernel, found));
  });
}

//===----------------------------------------------------------------------===//
// take_first
//===----------------------------------------------------------------------===//

/// The count becomes the symbol's value before the loops, which then compute with it.
static void emitTakeFirstKernel(TakeFirstOp op, KernelEmitter &kernel) {
  const Extents from = extentsOf(op.getInput()), to = extentsOf(op.getResult());
  const auto dim = static_cast<size_t>(op.getDim());
  if (!to[dim].isConstant()) {
    OpBuilder &b = kernel.entry();
    Location loc = kernel.loc();
    Value count = LLVM::LoadOp::create(b, loc, b.getI64Type(), kernel.entryPointer(1));
    // A bucket's plan has room for the extent at this step's other symbols.
    Value none = arith::ConstantIntOp::create(b, loc, 0, 64), most = kernel.entryExtent(from[dim]);
    Value isOutside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, count, most);
    kernel.setSymbol(op.getSymbol(), arith::SelectOp::create(b, loc, isOutside, none, count));
    Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, count, none);
    Value unfit = arith::ConstantIntOp::create(b, loc, SLUICE_KERNEL_UNFIT, 32),
          unbounded = arith::ConstantIntOp::create(b, loc, SLUICE_KERNEL_UNBOUNDED, 32),
          success = arith::ConstantIntOp::create(b, loc, 0, 32);
    Value error = arith::SelectOp::create(b, loc, isNegative, unfit, unbounded);
    kernel.returns(arith::SelectOp::create(b, loc, isOutside, error, success));
  }
  Type element = typeOf(op.getInput()).getElementType();
  kernel.parallel(1, {}, [&](Value, Value) {
    const Extent after = productOf(ArrayRef(to).drop_front(dim + 1)), row = to[dim] * after;
    kernel.loop(0, productOf(ArrayRef(to).take_front(dim)), 1, [&](Value outer) {
      Value read = kernel.mul(outer, from[dim] * after), written = kernel.mul(outer, row);
      kernel.loop(0, row, 1, [&](Value i) {
        Value x = kernel.load(kernel.pointer(op.getInput()), element, kernel.add(read, i));
        kernel.store(kernel.resultPointer(0), element, kernel.add(written, i), x);
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// non_max_suppression
//===----------------------------------------------------------------------===//

namespace {
struct Box {
  Value low[2], high[2], area;
};
} // namespace

static Box boxAt(NonMaxSuppressionOp op, const Coordinates &f, Value image, Value box) {
  Value raw[4];
  for (int64_t k = 0; k < 4; ++k)
    raw[k] = f.kernel.element(op.getBoxes(), {image, box, f.kernel.index(k)});
  Box result;
  for (int d = 0; d < 2; ++d) {
    if (op.getCentered()) {
      Value half = f.mul(raw[2 + d], f.c(0.5));
      result.low[d] = f.sub(raw[d], half);
      result.high[d] = f.add(raw[d], half);
      continue;
    }
    // Any two opposite corners.
    Value isOrdered = f.lt(raw[d], raw[2 + d]);
    result.low[d] = f.select(isOrdered, raw[d], raw[2 + d]);
    result.high[d] = f.select(isOrdered, raw[2 + d], raw[d]);
  }
  result.area = f.mul(f.sub(result.high[0], result.low[0]), f.sub(result.high[1], result.low[1]));
  return result;
}

/// Intersection over union is above `threshold`; no division, so that empty boxes overlap nothing.
static Value overlaps(const Coordinates &f, const Box &a, const Box &c, Value threshold) {
  Value sides[2];
  for (int d = 0; d < 2; ++d) {
    Value low = f.select(f.lt(a.low[d], c.low[d]), c.low[d], a.low[d]);
    Value high = f.select(f.lt(a.high[d], c.high[d]), a.high[d], c.high[d]);
    Value side = f.sub(high, low);
    sides[d] = f.select(f.lt(f.c(0), side), side, f.c(0));
  }
  Value shared = f.mul(sides[0], sides[1]);
  Value all = f.sub(f.add(a.area, c.area), shared);
  return f.lt(f.mul(all, threshold), shared);
}

/// The kernel fails in a step that selects more boxes of a class than the result has room for.
static void emitLimitCheck(NonMaxSuppressionOp op, const Extent &boxes, KernelEmitter &kernel) {
  const auto most = static_cast<int64_t>(op.getMost());
  if (boxes.most() <= most)
    return;
  OpBuilder &b = kernel.entry();
  Location loc = kernel.loc();
  constexpr unsigned kLimit = 2;
  Value limit = LLVM::LoadOp::create(b, loc, b.getI64Type(), kernel.entryPointer(kLimit));
  Value selects = arith::MinSIOp::create(b, loc, limit, kernel.entryExtent(boxes));
  Value room = arith::ConstantIntOp::create(b, loc, most, 64);
  Value isOutside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, selects, room);
  Value fails = arith::ConstantIntOp::create(b, loc, SLUICE_KERNEL_UNBOUNDED, 32),
        succeeds = arith::ConstantIntOp::create(b, loc, 0, 32);
  kernel.returns(arith::SelectOp::create(b, loc, isOutside, fails, succeeds));
}

static void emitNonMaxSuppressionKernel(NonMaxSuppressionOp op, KernelEmitter &kernel) {
  const Extents scores = extentsOf(op.getScores());
  const Extent &boxes = scores[2];
  emitLimitCheck(op, boxes, kernel);
  kernel.parallel(1, {}, [&](Value, Value) {
    Coordinates f{kernel};
    OpBuilder &b = f.b;
    Location loc = f.loc;
    Type byte = b.getI8Type(), i64 = b.getI64Type();
    emitZeros(kernel, 0, productOf(extentsOf(op.getResult(0))));
    Value limit = arith::IndexCastOp::create(b, loc, b.getIndexType(), kernel.element(op.getLimit(), {}));
    limit = arith::MinSIOp::create(b, loc, limit, kernel.index(static_cast<int64_t>(op.getMost())));
    limit = arith::MinSIOp::create(b, loc, limit, kernel.index(boxes));
    Value threshold = kernel.element(op.getOverlap(), {});
    Value least = op.getLeastScore() ? kernel.element(op.getLeastScore(), {}) : Value();
    Value alive = kernel.workspace();
    auto isAlive = [&](Value box) -> Value {
      Value flag = kernel.load(alive, byte, box);
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, flag, emitIntConstant(b, loc, byte, 0));
    };
    auto mark = [&](Value box, Value flag) {
      kernel.store(alive, byte, box, arith::ExtUIOp::create(b, loc, byte, flag));
    };
    Value found = kernel.reduce(
        kernel.index(0), kernel.index(scores[0] * scores[1]), 1, kernel.index(0), [&](Value pair, ValueRange begun) {
          SmallVector<Value> digits = kernel.delinearize(pair, {scores[0], scores[1]});
          Value image = digits[0], category = digits[1];
          auto score = [&](Value box) { return kernel.element(op.getScores(), {image, category, box}); };
          kernel.loop(0, boxes, 1, [&](Value box) {
            Value enough = emitIntConstant(b, loc, b.getI1Type(), 1);
            if (least)
              enough = f.lt(least, score(box));
            mark(box, enough);
          });
          return kernel.reduce(kernel.index(0), limit, 1, begun, [&](Value, ValueRange counted) {
            // The best that is left; -1 where none is.
            Value start = f.c(-std::numeric_limits<double>::infinity());
            Value best = kernel.reduce(
                kernel.index(0), kernel.index(boxes), 1, {start, kernel.index(-1)}, [&](Value box, ValueRange carried) {
                  Value x = score(box);
                  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, carried[1], kernel.index(0));
                  Value better = arith::OrIOp::create(b, loc, isFirst, f.lt(carried[0], x));
                  Value take = arith::AndIOp::create(b, loc, better, isAlive(box));
                  return SmallVector<Value>{f.select(take, x, carried[0]), f.select(take, box, carried[1])};
                })[1];
            Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, best, kernel.index(0));
            kernel.ifThen(any, [&] {
              Value row = kernel.mul(counted[0], 3);
              const Value found[] = {image, category, best};
              for (auto [k, value] : llvm::enumerate(found))
                kernel.store(kernel.resultPointer(0), i64, kernel.add(row, kernel.index(static_cast<int64_t>(k))),
                             toI64(kernel, value));
              Box chosen = boxAt(op, f, image, best);
              kernel.loop(0, boxes, 1, [&](Value box) {
                Value covered = overlaps(f, chosen, boxAt(op, f, image, box), threshold);
                Value isSame = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, box, best);
                Value gone = arith::OrIOp::create(b, loc, covered, isSame);
                Value stays = arith::XOrIOp::create(b, loc, gone, emitIntConstant(b, loc, b.getI1Type(), 1));
                mark(box, arith::AndIOp::create(b, loc, isAlive(box), stays));
              });
            });
            Value step = arith::SelectOp::create(b, loc, any, kernel.index(1), kernel.index(0));
            return SmallVector<Value>{kernel.add(counted[0], step)};
          });
        })[0];
    kernel.store(kernel.resultPointer(1), i64, kernel.index(0), toI64(kernel, found));
  });
}

static LogicalResult checkTakeFirstKernel(TakeFirstOp op, const sluice::emit::VectorTarget &,
                                          const KernelStyle &style) {
  if (style.form == KernelForm::Grids && symbolsOf(op))
    return op.emitError("computes an extent from data, and only a kernel on a CPU can store this extent");
  return success();
}

void sluice::dataflow::attachSelectionKernels(MLIRContext *context) {
  constexpr auto kOfStep = KernelExtents::OfStep;
  attach<KernelModel<emitNonzeroKernel, kOfStep>,
         CheckedKernelModel<emitTakeFirstKernel, checkTakeFirstKernel, kOfStep>,
         KernelModel<emitNonMaxSuppressionKernel, kOfStep>>(context);
}
