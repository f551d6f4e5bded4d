//===- Intervals.cpp - Bounds of integers that are computed ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Intervals.h"

#include "NodeContext.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Dataflow/IR/Indices.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

namespace {

Interval join(const Interval &a, const Interval &c) { return {std::min(a.low, c.low), std::max(a.high, c.high)}; }

Interval add(const Interval &a, const Interval &c) {
  Interval sum;
  int64_t result = 0;
  if (a.hasLow() && c.hasLow() && !llvm::AddOverflow(a.low, c.low, result))
    sum.low = result;
  if (a.hasHigh() && c.hasHigh() && !llvm::AddOverflow(a.high, c.high, result))
    sum.high = result;
  return sum;
}

Interval negative(const Interval &a) {
  Interval result;
  if (a.hasHigh())
    result.low = -a.high;
  if (a.hasLow())
    result.high = -a.low;
  return result;
}

/// Of factors that are not negative; else nothing.
Interval multiply(const Interval &a, const Interval &c) {
  Interval product;
  if (!a.hasLow() || !c.hasLow() || a.low < 0 || c.low < 0)
    return product;
  product.low = 0;
  int64_t result = 0;
  if (a.hasHigh() && c.hasHigh() && !llvm::MulOverflow(a.high, c.high, result))
    product.high = result;
  return product;
}

/// By a constant above 0, rounded to zero.
Interval divide(const Interval &a, const Interval &by) {
  Interval result;
  if (by.low != by.high || by.low < 1)
    return result;
  if (a.hasLow())
    result.low = a.low / by.low;
  if (a.hasHigh())
    result.high = a.high / by.low;
  return result;
}

class Bounds {
public:
  Interval of(Value value) {
    constexpr int kMostOperators = 64;
    auto type = typeOf(value);
    if (!isa<IntegerType>(type.getElementType()) || ++looked > kMostOperators)
      return {};
    Interval known = ofOperation(value);
    if (type.getElementType().isInteger(1))
      return {std::max<int64_t>(known.low, 0), std::min<int64_t>(known.high, 1)};
    return known;
  }

private:
  Interval ofOperation(Value value) {
    if (std::optional<std::pair<int64_t, int64_t>> constant = indexBounds(value))
      return {constant->first, constant->second};
    Operation *op = value.getDefiningOp();
    if (!op) {
      std::optional<AllowedIndices> allowed = allowedIndices(cast<BlockArgument>(value));
      return allowed ? Interval{allowed->low, allowed->high} : Interval{};
    }
    return llvm::TypeSwitch<Operation *, Interval>(op)
        .Case([&](NonzeroOp found) {
          // Positions, or how many there are.
          return value == found.getCount() ? Interval{0, elementCount(found.getInput().getType())} : Interval{};
        })
        .Case([&](NonMaxSuppressionOp found) {
          return value == found.getCount() ? Interval{0, shapeOf(found.getSelected())[0]} : Interval{};
        })
        .Case([&](CastOp cast) {
          // Narrower integers wrap.
          const unsigned from = widthOf(cast.getInput()), to = widthOf(value);
          return from && from <= to ? of(cast.getInput()) : Interval{};
        })
        .Case<ReshapeOp, TransposeOp, SliceOp, ExpandOp, GatherOp, GatherNdOp, GatherElementsOp, CopyOp>(
            [&](Operation *moves) { return of(moves->getOperand(0)); })
        .Case([&](ConcatOp concat) {
          Interval all = of(concat->getOperand(0));
          for (Value operand : concat->getOperands().drop_front())
            all = join(all, of(operand));
          return all;
        })
        .Case([&](SelectOp select) { return join(of(select->getOperand(1)), of(select->getOperand(2))); })
        .Case([&](ReduceOp reduce) { return ofReduce(reduce); })
        .Case([&](BinaryOp binary) { return ofBinary(binary); })
        .Default([](Operation *) { return Interval{}; });
  }

  static unsigned widthOf(Value value) {
    auto type = dyn_cast<IntegerType>(typeOf(value).getElementType());
    return type ? type.getWidth() : 0;
  }

  Interval ofReduce(ReduceOp reduce) {
    const Interval each = of(reduce.getInput());
    const int64_t count = elementCount(reduce.getInput().getType()), kept = elementCount(reduce.getType());
    if (reduce.getKind() == ReduceKind::max || reduce.getKind() == ReduceKind::min)
      return count > 0 ? each : Interval{};
    if (reduce.getKind() == ReduceKind::sum && kept > 0)
      return multiply(each, {count / kept, count / kept});
    return {};
  }

  Interval ofBinary(BinaryOp binary) {
    const Interval a = of(binary.getLhs()), c = of(binary.getRhs());
    switch (binary.getKind()) {
    case BinaryKind::add:
      return add(a, c);
    case BinaryKind::sub:
      return add(a, negative(c));
    case BinaryKind::mul:
      return multiply(a, c);
    case BinaryKind::div:
      return divide(a, c);
    case BinaryKind::min:
      return {std::min(a.low, c.low), std::min(a.high, c.high)};
    case BinaryKind::max:
      return {std::max(a.low, c.low), std::max(a.high, c.high)};
    default:
      return {};
    }
  }

  int looked = 0;
};

class RealBounds {
public:
  explicit RealBounds(const SaidBounds *bounds) : bounds(bounds) {}

  RealInterval of(Value value) {
    constexpr int kMostOperators = 64;
    if (!isNumber(value) || ++looked > kMostOperators)
      return {};
    if (isa<IntegerType>(typeOf(value).getElementType())) {
      const Interval known = intervalOf(value);
      RealInterval result;
      if (known.hasLow())
        result.low = static_cast<double>(known.low);
      if (known.hasHigh())
        result.high = static_cast<double>(known.high);
      return result;
    }
    if (ElementsAttr constant = getConstant(value))
      return ofConstant(constant);
    Operation *op = value.getDefiningOp();
    if (!op)
      return ofArgument(cast<BlockArgument>(value));
    return llvm::TypeSwitch<Operation *, RealInterval>(op)
        .Case<CastOp, ReshapeOp, TransposeOp, SliceOp, ExpandOp, GatherOp, CopyOp>(
            [&](Operation *moves) { return of(moves->getOperand(0)); })
        .Case([&](ConcatOp concat) {
          RealInterval all = of(concat->getOperand(0));
          for (Value operand : concat->getOperands().drop_front()) {
            const RealInterval other = of(operand);
            all = {std::min(all.low, other.low), std::max(all.high, other.high)};
          }
          return all;
        })
        .Case([&](UnaryOp unary) {
          const RealInterval x = of(unary.getInput());
          return unary.getKind() == UnaryKind::floor  ? RealInterval{std::floor(x.low), std::floor(x.high)}
                 : unary.getKind() == UnaryKind::ceil ? RealInterval{std::ceil(x.low), std::ceil(x.high)}
                                                      : RealInterval{};
        })
        .Case([&](BinaryOp binary) { return ofBinary(binary); })
        .Default([](Operation *) { return RealInterval{}; });
  }

private:
  static bool isNumber(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && isa<IntegerType, FloatType>(type.getElementType());
  }

  RealInterval ofArgument(BlockArgument argument) const {
    auto function = dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp());
    if (!bounds || !function)
      return {};
    const ValueBounds *given = bounds->use(inputName(function, argument.getArgNumber()).str());
    return given ? within({}, *given) : RealInterval{};
  }

  static RealInterval ofConstant(ElementsAttr constant) {
    constexpr int64_t kMostNumbers = 64;
    if (elementCount(constant.getShapedType()) > kMostNumbers)
      return {};
    const std::optional<SmallVector<double>> numbers = NodeContext::numbersOf(constant);
    if (!numbers || numbers->empty() || llvm::any_of(*numbers, [](double x) { return std::isnan(x); }))
      return {};
    const auto [least, most] = std::minmax_element(numbers->begin(), numbers->end());
    return {*least, *most};
  }

  RealInterval ofBinary(BinaryOp binary) {
    const RealInterval a = of(binary.getLhs()), c = of(binary.getRhs());
    switch (binary.getKind()) {
    case BinaryKind::add:
      return {a.low + c.low, a.high + c.high};
    case BinaryKind::sub:
      return {a.low - c.high, a.high - c.low};
    case BinaryKind::mul:
      return a.low >= 0 && c.low >= 0 && a.hasHigh() && c.hasHigh() ? RealInterval{a.low * c.low, a.high * c.high}
                                                                    : RealInterval{};
    case BinaryKind::div:
      return a.low >= 0 && c.low > 0 ? RealInterval{0, a.high / c.low} : RealInterval{};
    case BinaryKind::min:
      return {std::min(a.low, c.low), std::min(a.high, c.high)};
    case BinaryKind::max:
      return {std::max(a.low, c.low), std::max(a.high, c.high)};
    default:
      return {};
    }
  }

  const SaidBounds *bounds;
  int looked = 0;
};

} // namespace

RealInterval realIntervalOf(Value value, const SaidBounds *bounds) { return RealBounds(bounds).of(value); }

RealInterval within(RealInterval known, const ValueBounds &given) {
  known.high = std::min(known.high, static_cast<double>(given.high));
  if (given.low)
    known.low = std::max(known.low, static_cast<double>(*given.low));
  return known;
}

Interval intervalOf(Value value) { return Bounds().of(value); }

} // namespace sluice::onnximport
