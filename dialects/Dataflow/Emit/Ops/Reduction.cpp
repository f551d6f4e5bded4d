//===- Reduction.cpp - Kernels of reduce, arg_reduce, cumsum, topk --------===//
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

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

namespace {
/// How one kind folds elements: what is done to each, how two are joined, what
/// is done to the result.
struct Reduction {
  ReduceKind kind;
  Type element;
  Extent count;

  BinaryKind join() const {
    switch (kind) {
    case ReduceKind::max:
      return BinaryKind::max;
    case ReduceKind::min:
      return BinaryKind::min;
    case ReduceKind::prod:
      return BinaryKind::mul;
    default:
      return BinaryKind::add;
    }
  }
  Value initial(OpBuilder &b, Location loc, Type type) const {
    if (kind == ReduceKind::prod)
      return emitConstant(b, loc, type, 1);
    if (kind != ReduceKind::max && kind != ReduceKind::min)
      return emitConstant(b, loc, type, 0);
    return emitExtreme(b, loc, type, isUnsignedElement(element), /*lowest=*/kind == ReduceKind::max);
  }
  Value before(OpBuilder &b, Location loc, Value x) const {
    switch (kind) {
    case ReduceKind::l1:
      return emitUnary(b, loc, UnaryKind::abs, x, isUnsignedElement(element), 0, 0);
    case ReduceKind::l2:
    case ReduceKind::sum_square:
      return emitBinary(b, loc, BinaryKind::mul, x, x, isUnsignedElement(element));
    default:
      return x;
    }
  }
  Value after(KernelEmitter &kernel, Value x) const {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    switch (kind) {
    case ReduceKind::mean:
      return emitBinary(b, loc, BinaryKind::div, x, kernel.number(x.getType(), count), isUnsignedElement(element));
    case ReduceKind::l2:
      return math::SqrtOp::create(b, loc, x);
    case ReduceKind::log_sum:
    case ReduceKind::log_sum_exp:
      return math::LogOp::create(b, loc, x);
    default:
      return x;
    }
  }
};
} // namespace

/// Positions reduced over, around a kept position.
struct ReduceNest {
  KernelEmitter &kernel;
  Value input;
  Extents shape;               ///< Collapsed.
  SmallVector<bool> isReduced; ///< Per collapsed dimension.
  Reduction how;

  /// Folds fn(element) over all reduced dimensions, `lanes` kept elements (or,
  /// where the last dimension is reduced, a row at a time) together.
  Value fold(MutableArrayRef<Value> at, int64_t lanes, llvm::function_ref<Value(Value)> fn,
             const Reduction &joiner) const {
    OpBuilder &b = kernel.builder();
    Type scalar = computeType(typeOf(input).getElementType());
    Type type = lanes > 1 ? Type(VectorType::get({lanes}, scalar)) : scalar;
    return level(0, at, lanes, fn, joiner, joiner.initial(b, kernel.loc(), type));
  }

private:
  Value joined(const Reduction &joiner, Value a, Value c) const {
    return emitBinary(kernel.builder(), kernel.loc(), joiner.join(), a, c, isUnsignedElement(joiner.element));
  }
  Value level(size_t d, MutableArrayRef<Value> at, int64_t lanes, llvm::function_ref<Value(Value)> fn,
              const Reduction &joiner, Value acc) const {
    OpBuilder &b = kernel.builder();
    if (d == shape.size())
      return joined(joiner, acc, fn(kernel.elements(input, at, lanes)));
    if (!isReduced[d])
      return level(d + 1, at, lanes, fn, joiner, acc);
    if (d + 1 == shape.size()) {
      RowReducer row{kernel, shape[d], kernel.isVectorizable(input) ? kernel.target().lanesF32 : 1};
      Value sum = row.run(
          scalarType(), [&](Type type) { return joiner.initial(b, kernel.loc(), type); },
          [&](Value i, int64_t count) {
            at[d] = i;
            return fn(kernel.elements(input, at, count));
          },
          [&](Value x, Value y) { return joined(joiner, x, y); });
      return joined(joiner, acc, sum);
    }
    return kernel.reduce(kernel.index(0), kernel.index(shape[d]), 1, acc, [&](Value i, ValueRange sums) {
      at[d] = i;
      return SmallVector<Value>{level(d + 1, at, lanes, fn, joiner, sums[0])};
    })[0];
  }
  Type scalarType() const { return computeType(typeOf(input).getElementType()); }
};

namespace {
/// The loops of a reduction. Work items are positions of the kept dimensions, in runs of `lanes` along the last of
/// them; what does not fill a run comes after, one by one.
class ReduceLoops {
public:
  ReduceLoops(ReduceOp op, KernelEmitter &kernel)
      : op(op), kernel(kernel), element(op.getType().getElementType()), full(extentsOf(op.getInput())),
        classes(full.size(), 0), nest{kernel, op.getInput(), {}, {}, {op.getKind(), element, 1}} {
    collapse();
    chooseLanes();
  }

  void emit() {
    const Extent rowLength = lastKept ? keptShape.back() : Extent(1);
    const Extent outer = productOf(ArrayRef(keptShape).drop_back(lastKept ? 1 : 0));
    const Extent whole = rowLength / lanes, rest = rowLength - whole * lanes;
    const Extent perRow = lanes > 1 ? whole + rest : rowLength;
    const Rate rate = kernel.isVectorizable(op.getInput()) ? Rate::Vectors : Rate::Scalars;
    const Extent length = lastKept || nest.shape.empty() ? Extent(1) : nest.shape.back();
    kernel.parallelRows(outer * perRow, length, kernel.work(rate), [&](Value begin, Value end) {
      OpBuilder &b = kernel.builder();
      Location loc = kernel.loc();
      kernel.loopItems(begin, end, {outer, perRow}, [&](ArrayRef<Value> digits) {
        if (lanes == 1) {
          emitAt(digits[0], digits[1], 1);
          return;
        }
        Value isRun = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, digits[1], kernel.index(whole));
        kernel.ifThen(isRun, [&] { emitAt(digits[0], kernel.mul(digits[1], lanes), lanes); });
        if (!rest.is(0)) {
          Value isRest = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, digits[1], kernel.index(whole));
          kernel.ifThen(isRest,
                        [&] { emitAt(digits[0], kernel.add(digits[1], kernel.index(whole * (lanes - 1))), 1); });
        }
      });
    });
  }

private:
  ReduceOp op;
  KernelEmitter &kernel;
  Type element;
  Extents full;
  SmallVector<int64_t> classes;             ///< Of each of the operand's dimensions: 1 where it is reduced.
  SmallVector<SmallVector<size_t>> members; ///< The operand's dimensions that are one of the nest's.
  ReduceNest nest;
  SmallVector<size_t> kept; ///< Dimensions of the nest.
  Extents keptShape;
  bool lastKept = false;
  int64_t lanes = 1;

  /// Neighbouring dimensions that are all reduced, or all kept, become one.
  void collapse() {
    for (int64_t axis : op.getAxes()) {
      classes[axis] = 1;
      nest.how.count = nest.how.count * full[axis];
    }
    if (kernel.isVectorizable(op.getInput())) {
      kernel.collapse(op.getInput(), classes, members);
    } else {
      for (size_t d = 0; d < full.size(); ++d)
        members.push_back({d});
    }
    nest.shape = kernel.extents(op.getInput());
    for (ArrayRef<size_t> group : members)
      nest.isReduced.push_back(classes[group.front()]);
    for (size_t d = 0; d < nest.shape.size(); ++d)
      if (!nest.isReduced[d]) {
        kept.push_back(d);
        keptShape.push_back(nest.shape[d]);
      }
    lastKept = !nest.isReduced.empty() && !nest.isReduced.back();
  }

  void chooseLanes() {
    // A run over several of the result's dimensions, or not over the last of them,
    // has no one index for an epilogue to broadcast by.
    const bool isLastOnly = lastKept && members.back().size() == 1 && members.back().front() + 1 == full.size();
    const bool isRunSafe = lastKept && (isLastOnly || !kernel.hasEpilogue());
    const int64_t most = kernel.target().lanesF32;
    if (isRunSafe && kernel.isVectorizable(op.getInput()) && keptShape.back().most() >= most)
      lanes = most;
  }

  void emitAt(Value outerIndex, Value position, int64_t width) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    Extents outerShape(keptShape);
    if (lastKept)
      outerShape.pop_back();
    SmallVector<Value> keptIndex = kernel.delinearize(outerIndex, outerShape);
    if (lastKept)
      keptIndex.push_back(position);
    SmallVector<Value> at(nest.shape.size(), kernel.index(0));
    for (auto [i, d] : llvm::enumerate(kept))
      at[d] = keptIndex[i];
    Value value;
    if (op.getKind() == ReduceKind::log_sum_exp) {
      value = emitLogSumExp(at, width);
    } else {
      value = nest.fold(
          at, width, [&](Value x) { return nest.how.before(b, loc, x); }, nest.how);
      value = nest.how.after(kernel, value);
    }
    SmallVector<Value> out = resultIndex(keptIndex);
    value = emitRoundTrip(b, loc, element, value);
    kernel.once([&] { kernel.storeLanes(value, out, width); });
  }

  /// Around the maximum, so that exp never overflows.
  Value emitLogSumExp(MutableArrayRef<Value> at, int64_t width) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    const Reduction maximum{ReduceKind::max, element, nest.how.count}, sum{ReduceKind::sum, element, nest.how.count};
    Value top = nest.fold(
        at, width, [](Value x) { return x; }, maximum);
    // Subtracting an infinity from itself would give NaN.
    Type type = top.getType();
    Value infinity = emitExtreme(b, loc, type, false, /*lowest=*/false);
    Value magnitude = emitUnary(b, loc, UnaryKind::abs, top, false, 0, 0);
    Value isInfinite = emitCompare(b, loc, ComparePredicate::eq, magnitude, infinity, false);
    Value base = arith::SelectOp::create(b, loc, isInfinite, emitConstant(b, loc, type, 0), top);
    Value total = nest.fold(
        at, width,
        [&](Value x) {
          Value shift = base;
          if (x.getType() != shift.getType())
            shift = vector::BroadcastOp::create(b, loc, x.getType(), shift);
          return emitUnary(b, loc, UnaryKind::exp, emitBinary(b, loc, BinaryKind::sub, x, shift, false), false, 0, 0);
        },
        sum);
    return emitBinary(b, loc, BinaryKind::add, math::LogOp::create(b, loc, total), base, false);
  }

  /// From an index of the nest's kept dimensions to the result's.
  SmallVector<Value> resultIndex(ArrayRef<Value> keptIndex) {
    SmallVector<Value> original(full.size(), kernel.index(0));
    for (auto [i, d] : llvm::enumerate(kept)) {
      Extents extents;
      for (size_t dimension : members[d])
        extents.push_back(full[dimension]);
      SmallVector<Value> digits = kernel.delinearize(keptIndex[i], extents);
      for (auto [digit, dimension] : llvm::zip(digits, members[d]))
        original[dimension] = digit;
    }
    SmallVector<Value> out;
    for (size_t d = 0; d < full.size(); ++d)
      if (!classes[d])
        out.push_back(original[d]);
      else if (op.getKeepDims())
        out.push_back(kernel.index(0));
    return out;
  }
};
} // namespace

static void emitReduceKernel(ReduceOp op, KernelEmitter &kernel) {
  if (elementCount(op.getType()) != 0)
    ReduceLoops(op, kernel).emit();
}

void sluice::dataflow::attachReductionKernels(MLIRContext *context) {
  attach<KernelModel<emitReduceKernel, KernelExtents::OfStep>>(context);
}
