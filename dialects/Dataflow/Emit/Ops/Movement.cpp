//===- Movement.cpp - Kernels of transpose, reshape, expand, tile, slice, concat, pad ===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <algorithm>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

static Value emitTransposeElement(TransposeOp op, KernelEmitter &kernel, ValueRange indices) {
  SmallVector<Value> from(indices.size());
  for (auto [i, dimension] : llvm::enumerate(op.getPermutation()))
    from[dimension] = indices[i];
  return kernel.element(op.getInput(), from);
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

static Value emitReshapeElement(ReshapeOp op, KernelEmitter &kernel, ValueRange indices) {
  return kernel.element(op.getInput(), kernel.reshape(indices, extentsOf(op.getResult()), extentsOf(op.getInput())));
}

//===----------------------------------------------------------------------===//
// expand, tile
//===----------------------------------------------------------------------===//

static Value emitExpandElement(ExpandOp op, KernelEmitter &kernel, ValueRange indices) {
  return kernel.broadcastElements(op.getInput(), indices, 1);
}

static Value emitTileElement(TileOp op, KernelEmitter &kernel, ValueRange indices) {
  SmallVector<Value> from;
  const Extents result = extentsOf(op.getResult());
  for (auto [i, extent] : llvm::enumerate(extentsOf(op.getInput())))
    from.push_back(extent == result[i] ? Value(indices[i])
                                       : Value(arith::RemUIOp::create(kernel.builder(), kernel.loc(), indices[i],
                                                                      kernel.divisor(extent))));
  return kernel.element(op.getInput(), from);
}

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

static Value emitSliceElement(SliceOp op, KernelEmitter &kernel, ValueRange indices) {
  SmallVector<Value> from;
  for (auto [i, index] : llvm::enumerate(indices))
    from.push_back(kernel.add(kernel.mul(index, op.getSteps()[i]), kernel.index(op.getStarts()[i])));
  return kernel.element(op.getInput(), from);
}

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

/// Each operand is a run of `extent * inner` elements in every outer row.
static void emitConcatKernel(ConcatOp op, KernelEmitter &kernel) {
  const Extents shape = extentsOf(op.getResult());
  const int64_t axis = op.getAxis();
  const Extent outer = productOf(ArrayRef(shape).take_front(axis)),
               inner = productOf(ArrayRef(shape).drop_front(axis + 1));
  // Rows are long for channels-last images, short and many otherwise: both are a
  // loop over elements.
  auto copyPart = [&](Value input, const Extent &run, const Extent &start, Value row, Value first, Value last) {
    Type element = typeOf(input).getElementType();
    Value source = kernel.pointer(input), target = kernel.resultPointer(0);
    int64_t lanes = kernel.target().lanesF32;
    Value from = kernel.mul(row, run);
    Value to = kernel.add(kernel.mul(row, shape[axis] * inner), kernel.index(start));
    auto copy = [&](Value i, int64_t count) {
      Value value = kernel.load(source, element, kernel.add(from, i), count);
      kernel.store(target, element, kernel.add(to, i), value);
    };
    Value rest = first;
    if (lanes > 1) {
      rest = kernel.index(run / lanes * lanes);
      kernel.loop(first, rest, lanes, [&](Value i) { copy(i, lanes); });
    }
    kernel.loop(rest, last, 1, [&](Value i) { copy(i, 1); });
  };
  auto forParts = [&](llvm::function_ref<void(Value, const Extent &, const Extent &)> fn) {
    Extent offset = 0;
    for (Value input : op.getInputs()) {
      const Extent own = extentsOf(input)[axis], run = own * inner;
      if (run.most() > 0 && outer.most() > 0)
        fn(input, run, offset * inner);
      offset = offset + own;
    }
  };
  if (kernel.inGrids()) {
    forParts([&](Value input, const Extent &run, const Extent &start) {
      kernel.parallelNest(outer, run, {},
                          [&](Value row, Value first, Value last) { copyPart(input, run, start, row, first, last); });
    });
    return;
  }
  // One loop over rows for all operands: handing out a loop each would take longer than most copies.
  kernel.parallel(outer, kernel.work(Rate::Vectors), [&](Value begin, Value end) {
    kernel.loop(begin, end, 1, [&](Value row) {
      forParts([&](Value input, const Extent &run, const Extent &start) {
        copyPart(input, run, start, row, kernel.index(0), kernel.index(run));
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// insert
//===----------------------------------------------------------------------===//

/// An item is a row of everything before the dimension. What is not replaced is copied where the result has memory of
/// its own, which only the step knows.
static void emitInsertKernel(InsertOp op, KernelEmitter &kernel) {
  const Extents shape = extentsOf(op.getResult()), part = extentsOf(op.getPart());
  const auto dim = static_cast<size_t>(op.getDim());
  const Extent outer = productOf(ArrayRef(shape).take_front(dim)),
               inner = productOf(ArrayRef(shape).drop_front(dim + 1));
  const Extent row = shape[dim] * inner, run = part[dim] * inner;
  if (outer.is(0) || row.is(0))
    return;
  const Type element = elementOf(op.getInto());
  kernel.parallel(outer, kernel.work(Rate::Vectors), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    const Location loc = kernel.loc();
    const Value into = kernel.pointer(op.getInto()), source = kernel.pointer(op.getPart()),
                target = kernel.resultPointer(0);
    auto copy = [&](Value from, Value fromOffset, Value toOffset, Value count) {
      const int64_t lanes = kernel.target().lanesF32;
      auto move = [&](Value i, int64_t width) {
        Value value = kernel.load(from, element, kernel.add(fromOffset, i), width);
        kernel.store(target, element, kernel.add(toOffset, i), value);
      };
      Value rest = kernel.index(0);
      if (lanes > 1) {
        rest = kernel.mul(arith::DivUIOp::create(b, loc, count, kernel.index(lanes)), lanes);
        kernel.loop(kernel.index(0), rest, lanes, [&](Value i) { move(i, lanes); });
      }
      kernel.loop(rest, count, 1, [&](Value i) { move(i, 1); });
    };
    Value start = kernel.load(kernel.pointer(op.getStart()), elementOf(op.getStart()), kernel.index(0), 1);
    start = arith::IndexCastOp::create(b, loc, b.getIndexType(), start);
    start = arith::MinSIOp::create(b, loc, start, kernel.index(shape[dim] - part[dim]));
    start = kernel.mul(arith::MaxSIOp::create(b, loc, start, kernel.index(0)), inner);
    const Value isApart = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, into, target);
    kernel.loop(begin, end, 1, [&](Value item) {
      const Value first = kernel.mul(item, row);
      kernel.ifThen(isApart, [&] { copy(into, first, first, kernel.index(row)); });
      copy(source, kernel.mul(item, run), kernel.add(first, start), kernel.index(run));
    });
  });
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

static Value emitPadElement(PadOp op, KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  const Extents from = extentsOf(op.getInput()), to = extentsOf(op.getResult());
  SmallVector<Value> source;
  Value inside;
  auto clamp = [&](Value i, const Extent &extent) -> Value {
    Value low = arith::MaxSIOp::create(b, loc, i, kernel.index(0));
    return arith::MinSIOp::create(b, loc, low, kernel.index(extent - 1));
  };
  for (auto [d, index] : llvm::enumerate(indices)) {
    const Extent extent = from[d];
    const int64_t low = op.getLow()[d];
    const Extent high = to[d] - extent - low;
    Value i = kernel.add(index, kernel.index(-low));
    if (low <= 0 && high.isConstant() && high.most() <= 0) {
      source.push_back(i);
      continue;
    }
    switch (op.getMode()) {
    case PadMode::constant: {
      Value below = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, i, kernel.index(extent));
      inside = inside ? arith::AndIOp::create(b, loc, inside, below).getResult() : below;
      source.push_back(extent.is(0) ? kernel.index(0) : clamp(i, extent));
      break;
    }
    case PadMode::edge:
      source.push_back(clamp(i, extent));
      break;
    case PadMode::reflect: {
      // |i| below the start, 2(extent - 1) - i past the end.
      Value negated = arith::SubIOp::create(b, loc, kernel.index(0), i);
      Value folded = arith::MaxSIOp::create(b, loc, i, negated);
      Value mirrored = arith::SubIOp::create(b, loc, kernel.index((extent - 1) * 2), folded);
      source.push_back(arith::MinSIOp::create(b, loc, folded, mirrored));
      break;
    }
    case PadMode::wrap: {
      // low is congruent to a non-negative number of whole turns.
      Value whole = kernel.divisor(extent), turns;
      if (std::optional<int64_t> constant = extent.constant()) {
        turns = kernel.index((std::max<int64_t>(low, 0) + *constant - 1) / *constant * *constant);
      } else {
        // Any multiple that is large enough: as many turns as elements are added.
        turns = kernel.mul(whole, std::max<int64_t>(low, 0));
      }
      source.push_back(arith::RemUIOp::create(b, loc, kernel.add(i, turns), whole));
      break;
    }
    }
  }
  SmallVector<Value> zero(typeOf(op.getValue()).getRank(), kernel.index(0));
  if (elementCount(op.getInput().getType()) == 0)
    return kernel.element(op.getValue(), zero);
  if (!inside)
    return kernel.element(op.getInput(), source);
  if (!productOf(from).isConstant() && llvm::any_of(from, mayBeZero))
    return kernel.choose(
        inside, [&] { return kernel.element(op.getInput(), source); },
        [&] { return kernel.element(op.getValue(), zero); });
  // The clamped read is always in bounds, so it needs no branch.
  Value read = kernel.element(op.getInput(), source);
  return arith::SelectOp::create(b, loc, inside, read, kernel.element(op.getValue(), zero));
}

void sluice::dataflow::attachMovementKernels(MLIRContext *context) {
  constexpr auto kOfStep = KernelExtents::OfStep;
  attach<ElementModel<emitTransposeElement, kOfStep>, ElementModel<emitReshapeElement, kOfStep>,
         ElementModel<emitExpandElement, kOfStep>, ElementModel<emitTileElement, kOfStep>,
         ElementModel<emitSliceElement, kOfStep>, KernelModel<emitConcatKernel, kOfStep>,
         KernelModel<emitInsertKernel, kOfStep>, ElementModel<emitPadElement, kOfStep>>(context);
}
