//===- Reduction.cpp - reduce, arg_reduce, cumsum, topk -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Rows.h"
#include "dialects/Dataflow/IR/HostElements.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  SmallVector<bool> reduced(type.getRank());
  for (int64_t axis : adaptor.getAxes()) {
    if (failed(checkAxis(loc, axis, type.getRank())))
      return failure();
    if (reduced[axis])
      return emitOptionalError(loc, "axis ", axis, " is named twice");
    reduced[axis] = true;
  }
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (!reduced[i])
      shape.push_back(type.getDimSize(i));
    else if (adaptor.getKeepDims())
      shape.push_back(1);
  results.push_back(RankedTensorType::get(shape, type.getElementType()));
  return success();
}

LogicalResult ReduceOp::verify() {
  Type element = getType().getElementType();
  bool isFloat = isa<FloatType>(element);
  if (element.isInteger(1) && getKind() != ReduceKind::max && getKind() != ReduceKind::min)
    return emitOpError("'") << stringifyReduceKind(getKind()) << "' is not defined on bool";
  if (!isFloat &&
      (getKind() == ReduceKind::l2 || getKind() == ReduceKind::log_sum || getKind() == ReduceKind::log_sum_exp))
    return emitOpError("'") << stringifyReduceKind(getKind()) << "' needs float elements, got " << element;
  return success();
}

namespace {
/// How one kind folds elements: what is done to each, how two are joined, what
/// is done to the result.
struct Reduction {
  ReduceKind kind;
  Type element;
  int64_t count;

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
  Value after(OpBuilder &b, Location loc, Value x) const {
    switch (kind) {
    case ReduceKind::mean:
      return emitBinary(b, loc, BinaryKind::div, x, emitConstant(b, loc, x.getType(), count),
                        isUnsignedElement(element));
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
  SmallVector<int64_t> shape;  ///< Collapsed.
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
      : op(op), kernel(kernel), element(op.getType().getElementType()), full(shapeOf(op.getInput())),
        classes(full.size(), 0), nest{kernel, op.getInput(), {}, {}, {op.getKind(), element, 1}} {
    collapse();
    chooseLanes();
  }

  void emit() {
    const int64_t total = product(keptShape);
    const int64_t rowLength = lastKept ? keptShape.back() : 1, outer = total / rowLength;
    const int64_t whole = rowLength / lanes, rest = rowLength - whole * lanes;
    const int64_t perRow = lanes > 1 ? whole + rest : rowLength;
    const int64_t grain = grainOf(32768, Count(nest.how.count) * lanes);
    const int64_t length = lastKept || nest.shape.empty() ? 1 : nest.shape.back();
    kernel.parallelRows(outer * perRow, length, grain, [&](Value begin, Value end) {
      OpBuilder &b = kernel.builder();
      Location loc = kernel.loc();
      kernel.loop(begin, end, 1, [&](Value item) {
        SmallVector<Value> digits = kernel.delinearize(item, {outer, perRow});
        if (lanes == 1) {
          emitAt(digits[0], digits[1], 1);
          return;
        }
        Value isRun = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, digits[1], kernel.index(whole));
        kernel.ifThen(isRun, [&] { emitAt(digits[0], kernel.mul(digits[1], lanes), lanes); });
        if (rest) {
          Value isRest = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, digits[1], kernel.index(whole));
          kernel.ifThen(isRest,
                        [&] { emitAt(digits[0], kernel.add(digits[1], kernel.index(whole * lanes - whole)), 1); });
        }
      });
    });
  }

private:
  ReduceOp op;
  KernelEmitter &kernel;
  Type element;
  ArrayRef<int64_t> full;
  SmallVector<int64_t> classes;             ///< Of each of the operand's dimensions: 1 where it is reduced.
  SmallVector<SmallVector<size_t>> members; ///< The operand's dimensions that are one of the nest's.
  ReduceNest nest;
  SmallVector<size_t> kept; ///< Dimensions of the nest.
  SmallVector<int64_t> keptShape;
  bool lastKept = false;
  int64_t lanes = 1;

  /// Neighbouring dimensions that are all reduced, or all kept, become one.
  void collapse() {
    for (int64_t axis : op.getAxes()) {
      classes[axis] = 1;
      nest.how.count *= full[axis];
    }
    if (kernel.isVectorizable(op.getInput())) {
      kernel.collapse(op.getInput(), classes, members);
    } else {
      for (size_t d = 0; d < full.size(); ++d)
        members.push_back({d});
    }
    nest.shape.assign(kernel.shapeOf(op.getInput()).begin(), kernel.shapeOf(op.getInput()).end());
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
    if (isRunSafe && kernel.isVectorizable(op.getInput()) && keptShape.back() >= most)
      lanes = most;
  }

  void emitAt(Value outerIndex, Value position, int64_t width) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    SmallVector<int64_t> outerShape(keptShape);
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
      value = nest.how.after(b, loc, value);
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
      SmallVector<int64_t> extents;
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

void ReduceOp::emitKernel(KernelEmitter &kernel) {
  if (elementCount(getType()) != 0)
    ReduceLoops(*this, kernel).emit();
}

template <typename T>
static bool isBelow(T x, T y, bool isUnsigned) {
  if constexpr (std::is_same_v<T, int64_t>)
    return isUnsigned ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
  else
    return x < y;
}

template <typename T>
static T foldHost(ReduceKind kind, T acc, T x, bool isUnsigned) {
  // Integers wrap, which only unsigned arithmetic may.
  using U = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>;
  auto a = static_cast<U>(acc), c = static_cast<U>(x);
  switch (kind) {
  // The first NaN stays.
  case ReduceKind::max:
    return acc == acc && (x != x || isBelow(acc, x, isUnsigned)) ? x : acc;
  case ReduceKind::min:
    return acc == acc && (x != x || isBelow(x, acc, isUnsigned)) ? x : acc;
  case ReduceKind::prod:
    return static_cast<T>(a * c);
  case ReduceKind::l1:
    return static_cast<T>(x < 0 && !isUnsigned ? a - c : a + c);
  case ReduceKind::l2:
  case ReduceKind::sum_square:
    return static_cast<T>(a + c * c);
  default:
    return static_cast<T>(a + c);
  }
}

LogicalResult ReduceOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  if (getKind() == ReduceKind::log_sum_exp)
    return failure();
  ArrayRef<int64_t> shape = operands[0].type.getShape();
  // Strides of the result along the input's dimensions, 0 on reduced ones.
  SmallVector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1, reduced = 1;
  for (size_t d = shape.size(); d-- > 0;)
    if (llvm::is_contained(getAxes(), static_cast<int64_t>(d))) {
      reduced *= shape[d];
    } else {
      strides[d] = stride;
      stride *= shape[d];
    }
  bool isExtreme = getKind() == ReduceKind::max || getKind() == ReduceKind::min;
  bool isUnsigned = isUnsignedElement(results[0].type.getElementType());
  if (isExtreme && reduced == 0)
    return failure();
  auto run = [&](auto sample) {
    using T = decltype(sample);
    std::vector<T> sums(elementCount(results[0].type), getKind() == ReduceKind::prod ? T(1) : T(0));
    std::vector<bool> seen(sums.size());
    ElementReader input(operands[0], shape);
    SmallVector<int64_t> digits(shape.size(), 0);
    int64_t offset = 0;
    T values[kRun];
    for (int64_t at = 0, total = elementCount(operands[0].type); at < total; at += kRun) {
      int64_t count = std::min(kRun, total - at);
      input.read(at, count, values);
      for (int64_t i = 0; i < count; ++i) {
        sums[offset] =
            isExtreme && !seen[offset] ? values[i] : foldHost(getKind(), sums[offset], values[i], isUnsigned);
        seen[offset] = true;
        for (size_t d = shape.size(); d-- > 0;) {
          offset += strides[d];
          if (++digits[d] < shape[d])
            break;
          offset -= digits[d] * strides[d];
          digits[d] = 0;
        }
      }
    }
    for (T &sum : sums) {
      if (getKind() == ReduceKind::mean)
        sum = reduced ? sum / static_cast<T>(reduced) : sum;
      if constexpr (std::is_same_v<T, double>) {
        if (getKind() == ReduceKind::l2)
          sum = std::sqrt(sum);
        else if (getKind() == ReduceKind::log_sum)
          sum = std::log(sum);
      }
    }
    for (size_t at = 0; at < sums.size(); at += kRun)
      writeElements(results[0], at, std::min<int64_t>(kRun, sums.size() - at), sums.data() + at);
  };
  if (isa<FloatType>(results[0].type.getElementType()))
    run(double());
  else
    run(int64_t());
  return success();
}

int64_t ReduceOp::getFlops() {
  return elementCount(getInput().getType()) * (getKind() == ReduceKind::log_sum_exp ? 16 : 1);
}

bool ReduceOp::allowsPrologue(unsigned) { return getKind() != ReduceKind::log_sum_exp; }

FailureOr<Operation *> ReduceOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  // Without kept dimensions the result's own permutation would be another one.
  if (!getKeepDims())
    return failure();
  SmallVector<int64_t> axes;
  for (auto [to, from] : llvm::enumerate(permutation))
    if (llvm::is_contained(getAxes(), from))
      axes.push_back(to);
  return ReduceOp::create(builder, getLoc(), getKind(), operands[0], axes, /*keep_dims=*/true).getOperation();
}

//===----------------------------------------------------------------------===//
// arg_reduce
//===----------------------------------------------------------------------===//

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(loc, axis, type.getRank())))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  if (adaptor.getKeepDims())
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + axis);
  results.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
  return success();
}

LogicalResult ArgReduceOp::verify() {
  if (shapeOf(getInput())[getAxis()] == 0)
    return emitOpError("has nothing to choose from along axis ") << getAxis();
  return success();
}

bool ArgReduceOp::allowsPrologue(unsigned) { return true; }

void ArgReduceOp::emitKernel(KernelEmitter &kernel) {
  ArrayRef<int64_t> shape = shapeOf(getInput());
  SmallVector<int64_t> kept(shape);
  kept[getAxis()] = 1;
  int64_t extent = product(kept), length = shape[getAxis()];
  bool isUnsigned = isUnsignedElement(typeOf(getInput()).getElementType());
  kernel.parallel(extent, grainOf(32768, length), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loop(begin, end, 1, [&](Value item) {
      SmallVector<Value> at = kernel.delinearize(item, kept);
      auto read = [&](Value i) {
        at[getAxis()] = i;
        return kernel.element(getInput(), at);
      };
      Value first = read(kernel.index(0));
      SmallVector<Value> best = kernel.reduce(
          kernel.index(1), kernel.index(length), 1, {first, kernel.index(0)}, [&](Value i, ValueRange carried) {
            Value x = read(i);
            ComparePredicate wins = getLargest() ? (getSelectLast() ? ComparePredicate::ge : ComparePredicate::gt)
                                                 : (getSelectLast() ? ComparePredicate::le : ComparePredicate::lt);
            Value better = emitCompare(b, loc, wins, x, carried[0], isUnsigned);
            return SmallVector<Value>{arith::SelectOp::create(b, loc, better, x, carried[0]),
                                      arith::SelectOp::create(b, loc, better, i, carried[1])};
          });
      SmallVector<Value> out = kernel.delinearize(item, kept);
      if (!getKeepDims())
        out.erase(out.begin() + getAxis());
      kernel.store(arith::IndexCastOp::create(b, loc, b.getI64Type(), best[1]), out);
    });
  });
}

//===----------------------------------------------------------------------===//
// cumsum
//===----------------------------------------------------------------------===//

LogicalResult CumsumOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  if (failed(checkAxis(loc, adaptor.getAxis(), type.getRank())))
    return failure();
  results.push_back(type);
  return success();
}

LogicalResult CumsumOp::verify() {
  if (getType().getElementType().isInteger(1))
    return emitOpError("is not defined on bool");
  return success();
}

void CumsumOp::emitKernel(KernelEmitter &kernel) {
  ArrayRef<int64_t> shape = shapeOf(getInput());
  SmallVector<int64_t> kept(shape);
  int64_t length = shape[getAxis()];
  kept[getAxis()] = 1;
  if (elementCount(getType()) == 0)
    return;
  Type element = getType().getElementType();
  kernel.parallel(product(kept), grainOf(16384, length), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loop(begin, end, 1, [&](Value item) {
      Value neutral = emitConstant(b, loc, computeType(element), getProduct() ? 1 : 0);
      kernel.reduce(kernel.index(0), kernel.index(length), 1, neutral, [&](Value step, ValueRange carried) {
        SmallVector<Value> at = kernel.delinearize(item, kept);
        at[getAxis()] = getReverse() ? arith::SubIOp::create(b, loc, kernel.index(length - 1), step).getResult() : step;
        Value sum = emitBinary(b, loc, getProduct() ? BinaryKind::mul : BinaryKind::add, carried[0],
                               kernel.element(getInput(), at), isUnsignedElement(element));
        kernel.store(emitRoundTrip(b, loc, element, getExclusive() ? Value(carried[0]) : sum), at);
        return SmallVector<Value>{sum};
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// topk
//===----------------------------------------------------------------------===//

LogicalResult TopkOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis(), k = adaptor.getK();
  if (failed(checkAxis(loc, axis, type.getRank())))
    return failure();
  if (k < 0 || k > type.getDimSize(axis))
    return emitOptionalError(loc, "k = ", k, " of ", type.getDimSize(axis), " elements");
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = k;
  results.push_back(RankedTensorType::get(shape, type.getElementType()));
  results.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
  return success();
}

LogicalResult TopkOp::verify() { return success(); }

int64_t TopkOp::getFlops() { return elementCount(getInput().getType()) * std::max<int64_t>(1, getK()); }

/// Selection by rank: place s takes the best of what comes after place s - 1 in
/// the total order (value, then lower index). Needs no scratch.
void TopkOp::emitKernel(KernelEmitter &kernel) {
  ArrayRef<int64_t> shape = shapeOf(getInput());
  SmallVector<int64_t> kept(shape);
  int64_t axis = getAxis(), length = shape[axis], k = getK();
  kept[axis] = 1;
  if (k == 0 || product(kept) == 0)
    return;
  bool isUnsigned = isUnsignedElement(typeOf(getInput()).getElementType());
  kernel.parallel(product(kept), grainOf(32768, Count(length) * k), [&](Value begin, Value end) {
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
      Value worse = getLargest() ? isAbove(y, x) : isAbove(x, y);
      Value better = getLargest() ? isAbove(x, y) : isAbove(y, x);
      Value later = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, i, j);
      Value tied = arith::AndIOp::create(
          b, loc, later, arith::XOrIOp::create(b, loc, better, emitIntConstant(b, loc, better.getType(), 1)));
      return arith::OrIOp::create(b, loc, worse, tied);
    };
    kernel.loop(begin, end, 1, [&](Value item) {
      SmallVector<Value> at = kernel.delinearize(item, kept);
      auto read = [&](Value i) {
        at[axis] = i;
        return kernel.element(getInput(), at);
      };
      Value none = kernel.index(-1);
      Value start = read(kernel.index(0));
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
        SmallVector<Value> to = kernel.delinearize(item, kept);
        to[axis] = place;
        kernel.store(best[0], to, 1, 0);
        kernel.store(arith::IndexCastOp::create(b, loc, b.getI64Type(), best[1]), to, 1, 1);
        return best;
      });
    });
  });
}
