//===- Extents.cpp - Extents that a step gives ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <memory>
#include <numeric>
#include <random>

using namespace mlir;

namespace sluice::dataflow {

using SharedPoints = std::shared_ptr<const std::vector<Point>>;
static SharedPoints sharedPoints(SymbolsAttr symbols);

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult SymbolsAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> names,
                                  ArrayRef<int64_t> least, ArrayRef<int64_t> most, ArrayRef<int64_t> steps,
                                  uint64_t found) {
  constexpr int64_t kLargest = int64_t(1) << 59; // No tensor has more elements.
  if (names.empty() || names.size() > kMostSymbols || found > names.size())
    return emitError() << "has " << names.size() << " symbols, and must have 1 to " << kMostSymbols;
  for (size_t i = 0; i < names.size(); ++i)
    if (least[i] < 0 || least[i] >= most[i] || most[i] > kLargest || steps[i] < 1 ||
        (most[i] - least[i]) % steps[i] != 0)
      return emitError() << "symbol " << names[i] << " has the range " << least[i] << " to " << most[i] << " by "
                         << steps[i]
                         << ", give a range that starts at 0 or above, ends at 2^59 or below, has at least two values "
                            "and whose length is a multiple of its step";
  return success();
}

LogicalResult ExtentsAttr::verify(function_ref<InFlightDiagnostic()> emitError, AffineMap map, SymbolsAttr symbols) {
  if (map.getNumDims() != 0 || map.getNumSymbols() != symbols.size())
    return emitError() << "has an affine map of " << map.getNumDims() << " dimensions and " << map.getNumSymbols()
                       << " symbols, and must have 0 dimensions and " << symbols.size() << " symbols";
  if (llvm::all_of(map.getResults(), [](AffineExpr expr) { return isa<AffineConstantExpr>(expr); }))
    return emitError() << "has no extent that depends on a symbol, write a static shape instead";
  return success();
}

LogicalResult ExtentsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                          function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getMap().getNumResults())
    return emitError() << "tensor of rank " << shape.size() << " has " << getMap().getNumResults()
                       << " extents, both numbers must be equal";
  const SharedPoints points = sharedPoints(getSymbols());
  for (const Point &point : *points)
    for (auto [dim, expr] : llvm::enumerate(getMap().getResults())) {
      const std::optional<int64_t> value = valueAt(expr, point);
      const bool isUpper = llvm::equal(point, getSymbols().getMost());
      if (!value || *value < 0 || *value > shape[dim] || (isUpper && *value != shape[dim]))
        return emitError() << "the extent of dimension " << dim << " is "
                           << (value ? Twine(*value) : Twine("out of range"))
                           << " for some values of the symbols, and must be from 0 to " << shape[dim]
                           << ", and exactly " << shape[dim] << " for the symbols' largest values";
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

std::optional<int64_t> valueAt(AffineExpr expression, ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
    return symbols[symbol.getPosition()];
  auto both = cast<AffineBinaryOpExpr>(expression);
  const std::optional<int64_t> a = valueAt(both.getLHS(), symbols), c = valueAt(both.getRHS(), symbols);
  int64_t result = 0;
  if (!a || !c)
    return std::nullopt;
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return llvm::AddOverflow(*a, *c, result) ? std::nullopt : std::optional(result);
  case AffineExprKind::Mul:
    return llvm::MulOverflow(*a, *c, result) ? std::nullopt : std::optional(result);
  case AffineExprKind::FloorDiv:
    return *c <= 0 ? std::nullopt : std::optional(llvm::divideFloorSigned(*a, *c));
  case AffineExprKind::CeilDiv:
    return *c <= 0 ? std::nullopt : std::optional(llvm::divideCeilSigned(*a, *c));
  case AffineExprKind::Mod:
    return *c <= 0 ? std::nullopt : std::optional(llvm::mod(*a, *c));
  default:
    return std::nullopt;
  }
}

Extent::Extent(AffineExpr expression, SymbolsAttr symbols) {
  if (!isa<AffineConstantExpr, AffineSymbolExpr>(expression))
    expression = simplifyAffineExpr(expression, 0, static_cast<unsigned>(symbols.size()));
  upper = valueAt(expression, symbols.getMost()).value_or(-1);
  if (isa<AffineConstantExpr>(expression))
    return;
  this->expression = expression;
  of = symbols;
}

int64_t Extent::at(const Point &point) const { return expression ? valueAt(expression, point).value_or(-1) : upper; }

template <typename Numbers, typename Expressions>
Extent Extent::combine(const Extent &other, Numbers numbers, Expressions expressions) const {
  if (isConstant() && other.isConstant())
    return Extent(numbers(upper, other.upper));
  const SymbolsAttr symbols = of ? of : other.of;
  auto exprOf = [&](const Extent &extent) {
    return extent.expression ? extent.expression : getAffineConstantExpr(extent.upper, symbols.getContext());
  };
  return Extent(expressions(exprOf(*this), exprOf(other)), symbols);
}

Extent Extent::operator+(const Extent &other) const {
  return combine(other, std::plus<int64_t>(), [](AffineExpr a, AffineExpr c) { return a + c; });
}
Extent Extent::operator-(const Extent &other) const {
  return combine(other, std::minus<int64_t>(), [](AffineExpr a, AffineExpr c) { return a - c; });
}
Extent Extent::operator*(const Extent &other) const {
  return combine(other, std::multiplies<int64_t>(), [](AffineExpr a, AffineExpr c) { return a * c; });
}
Extent Extent::operator/(int64_t by) const {
  // One division by the product of two.
  if (auto inner = dyn_cast_if_present<AffineBinaryOpExpr>(expression);
      inner && inner.getKind() == AffineExprKind::FloorDiv)
    if (auto divisor = dyn_cast<AffineConstantExpr>(inner.getRHS()); divisor && divisor.getValue() <= INT32_MAX / by)
      return Extent(inner.getLHS(), of) / (divisor.getValue() * by);
  return combine(
      by, [](int64_t a, int64_t c) { return llvm::divideFloorSigned(a, c); },
      [](AffineExpr a, AffineExpr c) { return a.floorDiv(c); });
}
Extent Extent::operator%(int64_t by) const {
  return combine(
      by, [](int64_t a, int64_t c) { return llvm::mod(a, c); }, [](AffineExpr a, AffineExpr c) { return a % c; });
}

Extent productOf(ArrayRef<Extent> extents) {
  Extent result = 1;
  for (const Extent &extent : extents)
    result = result * extent;
  return result;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

ExtentsAttr extentsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_if_present<ExtentsAttr>(tensor.getEncoding()) : ExtentsAttr();
}

Extents extentsOf(RankedTensorType type) {
  Extents result;
  ExtentsAttr encoding = extentsOf(Type(type));
  for (auto [dim, extent] : llvm::enumerate(type.getShape()))
    result.push_back(encoding ? Extent(encoding.getMap().getResult(dim), encoding.getSymbols()) : Extent(extent));
  return result;
}

SymbolsAttr symbolsOf(Type type) {
  ExtentsAttr encoding = extentsOf(type);
  return encoding ? encoding.getSymbols() : SymbolsAttr();
}

SymbolsAttr symbolsOf(Operation *op) {
  SymbolsAttr found;
  op->walk([&](Operation *member) {
    SmallVector<Type> types(member->getOperandTypes());
    llvm::append_range(types, member->getResultTypes());
    for (Region &region : member->getRegions())
      llvm::append_range(types, region.getArgumentTypes());
    for (Type type : types)
      if ((found = symbolsOf(type)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return found;
}

RankedTensorType tensorOf(ArrayRef<Extent> extents, Type elementType) {
  SmallVector<int64_t> shape;
  SymbolsAttr symbols;
  for (const Extent &extent : extents) {
    shape.push_back(extent.most());
    if (extent.symbols())
      symbols = extent.symbols();
  }
  if (!symbols)
    return RankedTensorType::get(shape, elementType);
  SmallVector<AffineExpr> expressions;
  for (const Extent &extent : extents)
    expressions.push_back(extent.expr() ? extent.expr()
                                        : getAffineConstantExpr(extent.most(), elementType.getContext()));
  auto map = AffineMap::get(0, static_cast<unsigned>(symbols.size()), expressions, elementType.getContext());
  return RankedTensorType::get(shape, elementType, ExtentsAttr::get(elementType.getContext(), map, symbols));
}

RankedTensorType withElement(RankedTensorType type, Type elementType) {
  return RankedTensorType::get(type.getShape(), elementType, type.getEncoding());
}

RankedTensorType permutedType(RankedTensorType type, ArrayRef<int64_t> permutation) {
  return tensorOf(permuted(ArrayRef(extentsOf(type)), permutation), type.getElementType());
}

bool haveSameShape(Type a, Type c) {
  auto left = cast<RankedTensorType>(a), right = cast<RankedTensorType>(c);
  return left.getShape() == right.getShape() && extentsOf(a) == extentsOf(c);
}

RankedTensorType typeAt(RankedTensorType type, const Point &point) {
  const ExtentsAttr encoding = extentsOf(Type(type));
  if (!encoding)
    return type;
  SmallVector<int64_t> shape;
  for (const AffineExpr expression : encoding.getMap().getResults())
    shape.push_back(valueAt(expression, point).value_or(-1));
  return RankedTensorType::get(shape, type.getElementType());
}

bool haveSameExtents(TypeRange a, TypeRange c) {
  if (a == c)
    return true;
  if (a.size() != c.size())
    return false;
  for (auto [one, other] : llvm::zip(a, c)) {
    auto left = dyn_cast<RankedTensorType>(one), right = dyn_cast<RankedTensorType>(other);
    const SymbolsAttr symbols = symbolsOf(one);
    if (one == other)
      continue;
    if (!left || !right || !symbols || symbolsOf(other) != symbols)
      return false;
    if (!llvm::all_of(*sharedPoints(symbols),
                      [&](const Point &point) { return typeAt(left, point) == typeAt(right, point); }))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Fitting
//===----------------------------------------------------------------------===//

static std::vector<Point> computePoints(SymbolsAttr symbols) {
  const Point least(symbols.getLeast().begin(), symbols.getLeast().end());
  const Point most(symbols.getMost().begin(), symbols.getMost().end());
  std::vector<Point> points;
  auto add = [&](const Point &point) {
    if (!llvm::is_contained(points, point))
      points.push_back(point);
  };
  auto steps = [&](size_t i) { return (most[i] - least[i]) / symbols.getSteps()[i]; };
  add(most);
  // Few points are all of them.
  constexpr int64_t kFew = 48;
  Count count = 1;
  for (size_t i = 0; i < most.size(); ++i)
    count *= steps(i) + 1;
  for (int64_t number = 0; count <= kFew && number < count; ++number) {
    Point point;
    int64_t rest = number;
    for (size_t i = 0; i < most.size(); ++i) {
      point.push_back(most[i] - rest % (steps(i) + 1) * symbols.getSteps()[i]);
      rest /= steps(i) + 1;
    }
    add(point);
  }
  if (count <= kFew)
    return points;
  add(least);
  constexpr size_t kCornersOf = 4;
  for (size_t corner = 0; most.size() <= kCornersOf && corner < (size_t(1) << most.size()); ++corner) {
    Point point = most;
    for (size_t i = 0; i < most.size(); ++i)
      if (corner >> i & 1)
        point[i] = least[i];
    add(point);
  }
  for (size_t i = 0; i < most.size(); ++i)
    for (int64_t count :
         {steps(i) - 1, steps(i) - 2, steps(i) - 3, steps(i) - 5, int64_t(1), int64_t(2), steps(i) / 3, steps(i) / 2}) {
      Point point = most;
      point[i] = least[i] + std::clamp<int64_t>(count, 0, steps(i)) * symbols.getSteps()[i];
      add(point);
    }
  constexpr int kRandomPoints = 8;
  std::minstd_rand random(1);
  for (int count = 0; count < kRandomPoints; ++count) {
    Point point;
    for (size_t i = 0; i < most.size(); ++i)
      point.push_back(least[i] +
                      static_cast<int64_t>(random() % static_cast<uint64_t>(steps(i) + 1)) * symbols.getSteps()[i]);
    add(point);
  }
  return points;
}

/// The sample points of the thread's last symbols are kept, because most of its calls are for the same ones. They are
/// recognised by their ranges: attributes of another context may have the same address.
static SharedPoints sharedPoints(SymbolsAttr symbols) {
  struct Last {
    Point least, most, steps;
    SharedPoints points;
  };
  static thread_local Last last;
  auto isSame = [](const Point &a, ArrayRef<int64_t> c) { return ArrayRef<int64_t>(a) == c; };
  if (!last.points || !isSame(last.least, symbols.getLeast()) || !isSame(last.most, symbols.getMost()) ||
      !isSame(last.steps, symbols.getSteps()))
    last = {Point(symbols.getLeast()), Point(symbols.getMost()), Point(symbols.getSteps()),
            std::make_shared<const std::vector<Point>>(computePoints(symbols))};
  return last.points;
}

std::vector<Point> samplePoints(SymbolsAttr symbols) { return *sharedPoints(symbols); }

namespace {
/// An expression and its value at each point.
struct Candidate {
  Extent extent;
  std::vector<int64_t> values;
};

class Fit {
public:
  Fit(SymbolsAttr symbols, ArrayRef<Point> points, ArrayRef<int64_t> values, std::vector<Point> &ties)
      : symbols(symbols), points(points), values(values), ties(ties) {}

  Candidate candidate(const Extent &extent) const {
    Candidate result{extent, {}};
    for (const Point &point : points)
      result.values.push_back(extent.at(point));
    return result;
  }

  /// factor * e + offset.
  std::optional<Extent> multiple(const Candidate &e) const {
    const std::optional<Quotient> found = lineThrough(e);
    return found && found->by == 1 ? extentOf(*found, e) : std::nullopt;
  }

  /// factor * e floordiv by + offset, or (e + shift) floordiv by + offset.
  std::optional<Extent> quotient(const Candidate &e) const {
    std::optional<Quotient> first = lineThrough(e);
    if (first && !hasValues(*first, e))
      first.reset();
    const auto [low, high] = std::minmax_element(e.values.begin(), e.values.end());
    const int64_t rise = values[high - e.values.begin()] - values[low - e.values.begin()], run = *high - *low;
    if (rise <= 0)
      return first ? extentOf(*first, e) : std::nullopt;
    std::vector<std::pair<int64_t, Point>> probes;
    constexpr int64_t kMostDivisor = 4096;
    constexpr size_t kMostTies = 8;
    size_t numTies = 0;
    // Rounding moves the rise by less than 1.
    const int64_t smallest = std::max<int64_t>(2, run / (rise + 1)), largest = run / std::max<int64_t>(rise - 1, 1) + 1;
    for (int64_t by = smallest; by <= std::min(largest, kMostDivisor); ++by)
      for (int64_t shift = 0; shift < by; ++shift) {
        const Quotient other{1, shift, by, values[0] - llvm::divideFloorSigned(e.values[0] + shift, by)};
        if (!hasValues(other, e))
          continue;
        if (!first) {
          first = other;
          continue;
        }
        if (probes.empty())
          probes = probesOf(e.extent);
        // Any of the values where both differ decides. Those of several ties are spread over the range.
        const auto start = static_cast<ptrdiff_t>(numTies * probes.size() / kMostTies);
        std::rotate(probes.begin(), probes.begin() + start, probes.end());
        const auto tie =
            llvm::find_if(probes, [&](const auto &probe) { return first->of(probe.first) != other.of(probe.first); });
        if (tie == probes.end())
          continue;
        if (!llvm::is_contained(ties, tie->second))
          ties.push_back(tie->second);
        if (++numTies == kMostTies)
          return extentOf(*first, e);
      }
    return first ? extentOf(*first, e) : std::nullopt;
  }

  /// The same without a shift.
  std::optional<Extent> linear(const Candidate &e) const {
    const std::optional<Quotient> found = lineThrough(e);
    return found ? extentOf(*found, e) : std::nullopt;
  }

private:
  struct Quotient {
    int64_t factor = 1, shift = 0, by = 1, offset = 0;
    int64_t of(int64_t value) const { return llvm::divideFloorSigned(factor * value + shift, by) + offset; }
  };

  /// Through the first value and another one; it may not have the others.
  std::optional<Quotient> lineThrough(const Candidate &e) const {
    const auto other = llvm::find_if(e.values, [&](int64_t value) { return value != e.values[0]; });
    if (other == e.values.end())
      return std::nullopt;
    const int64_t rise = values[other - e.values.begin()] - values[0], run = *other - e.values[0];
    const int64_t common = std::gcd(rise, run) * (run < 0 ? -1 : 1);
    Quotient line{rise / common, 0, run / common, 0};
    int64_t most = 0;
    if (rise == 0 || llvm::any_of(e.values, [&](int64_t value) { return llvm::MulOverflow(line.factor, value, most); }))
      return std::nullopt;
    line.offset = values[0] - line.of(e.values[0]);
    return line;
  }
  bool hasValues(const Quotient &quotient, const Candidate &e) const {
    return llvm::all_of(llvm::zip(e.values, values),
                        [&](auto pair) { return quotient.of(std::get<0>(pair)) == std::get<1>(pair); });
  }
  std::optional<Extent> extentOf(const Quotient &quotient, const Candidate &e) const {
    const Extent moved = e.extent * Extent(quotient.factor) + Extent(quotient.shift);
    return checked(moved / quotient.by + Extent(quotient.offset));
  }

  /// Points with many values of an expression: along the axes through the upper bounds, and everywhere.
  std::vector<std::pair<int64_t, Point>> probesOf(const Extent &e) const {
    const ArrayRef<int64_t> least = symbols.getLeast(), most = symbols.getMost(), steps = symbols.getSteps();
    std::vector<std::pair<int64_t, Point>> probes;
    constexpr int64_t kMostOfAxis = 1 << 14;
    for (size_t i = 0; i < most.size(); ++i) {
      Point point(most.begin(), most.end());
      const int64_t stride = ((most[i] - least[i]) / steps[i] / kMostOfAxis + 1) * steps[i];
      for (point[i] = least[i]; point[i] <= most[i]; point[i] += stride)
        probes.emplace_back(e.at(point), point);
    }
    constexpr int kRandomPoints = 1024;
    std::minstd_rand random(1);
    for (int count = 0; most.size() > 1 && count < kRandomPoints; ++count) {
      Point point;
      for (size_t i = 0; i < most.size(); ++i)
        point.push_back(least[i] + static_cast<int64_t>(random() % ((most[i] - least[i]) / steps[i] + 1)) * steps[i]);
      probes.emplace_back(e.at(point), point);
    }
    llvm::sort(probes);
    probes.erase(
        std::unique(probes.begin(), probes.end(), [](const auto &a, const auto &c) { return a.first == c.first; }),
        probes.end());
    return probes;
  }

  std::optional<Extent> checked(const Extent &extent) const {
    for (auto [point, value] : llvm::zip(points, values))
      if (extent.at(point) != value)
        return std::nullopt;
    return extent;
  }

  SymbolsAttr symbols;
  ArrayRef<Point> points;
  ArrayRef<int64_t> values;
  std::vector<Point> &ties;
};
} // namespace

std::optional<Extent> fitExtent(SymbolsAttr symbols, ArrayRef<Point> points, ArrayRef<int64_t> values,
                                ArrayRef<Extent> basis, std::vector<Point> &ties) {
  if (llvm::all_equal(values))
    return Extent(values[0]);
  const Fit fit(symbols, points, values, ties);
  std::vector<Candidate> candidates;
  // Most extents are multiples of one of the first.
  auto addOrFit = [&](const Extent &extent) -> std::optional<Extent> {
    Candidate added = fit.candidate(extent);
    if (extent.isConstant() ||
        llvm::any_of(candidates, [&](const Candidate &other) { return other.values == added.values; }))
      return std::nullopt;
    candidates.push_back(std::move(added));
    return fit.multiple(candidates.back());
  };
  for (const Extent &extent : basis)
    if (std::optional<Extent> found = addOrFit(extent))
      return found;
  for (unsigned i = 0; i < symbols.size(); ++i)
    if (std::optional<Extent> found = addOrFit(Extent(getAffineSymbolExpr(i, symbols.getContext()), symbols)))
      return found;
  for (const Candidate &e : candidates)
    if (std::optional<Extent> found = fit.quotient(e))
      return found;
  constexpr size_t kMostPaired = 16, kMostTriples = 8;
  const size_t count = std::min(candidates.size(), kMostPaired);
  for (size_t i = 0; i < count; ++i)
    for (size_t j = i; j < count; ++j)
      for (const Extent &both :
           {candidates[i].extent * candidates[j].extent, candidates[i].extent + candidates[j].extent,
            candidates[i].extent - candidates[j].extent})
        if (std::optional<Extent> found = fit.linear(fit.candidate(both)))
          return found;
  const size_t few = std::min(candidates.size(), kMostTriples);
  for (size_t i = 0; i < few; ++i)
    for (size_t j = i; j < few; ++j)
      for (size_t k = j; k < few; ++k)
        if (std::optional<Extent> found =
                fit.linear(fit.candidate(candidates[i].extent * candidates[j].extent * candidates[k].extent)))
          return found;
  // A sum of multiples of all symbols, or a multiple of the product of those that change it.
  Extent sum = values[0], factors = 1;
  for (unsigned i = 0; i < symbols.size(); ++i) {
    Point beside(points[0]);
    beside[i] -= symbols.getSteps()[i];
    const auto *at = llvm::find(points, beside);
    if (at == points.end())
      return std::nullopt;
    const int64_t rise = values[0] - values[at - points.begin()], slope = rise / symbols.getSteps()[i];
    const Extent symbol(getAffineSymbolExpr(i, symbols.getContext()), symbols);
    sum = sum + (symbol - Extent(points[0][i])) * Extent(slope);
    if (rise != 0)
      factors = factors * symbol;
  }
  if (std::optional<Extent> found = fit.multiple(fit.candidate(factors)))
    return found;
  for (auto [point, value] : llvm::zip(points, values))
    if (sum.at(point) != value)
      return std::nullopt;
  return sum;
}

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

void instantiate(Operation *root, const Point &point) {
  auto fix = [&](Value value) {
    if (extentsOf(value.getType()))
      value.setType(typeAt(cast<RankedTensorType>(value.getType()), point));
  };
  root->walk([&](Operation *op) {
    for (Value result : op->getResults())
      fix(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), fix);
    if (auto constant = dyn_cast<ConstantOp>(op); constant && constant.getValue().getType() != constant.getType())
      constant.setValueAttr(
          cast<SplatElementsAttr>(constant.getValue()).resizeSplat(cast<RankedTensorType>(constant.getType())));
    if (auto loop = dyn_cast<LoopOp>(op); loop && loop.getNumStacked() > 0)
      loop.setMost(static_cast<uint64_t>(typeOf(loop.getResult(loop.getCarried().size())).getDimSize(0)));
    if (auto function = dyn_cast<FunctionOpInterface>(op); function && !function.isExternal()) {
      Block &body = function.getFunctionBody().front();
      function.setType(function.cloneTypeWith(body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
    }
    if (auto extents = dyn_cast<ExtentsOp>(op)) {
      OpBuilder builder(op);
      SmallVector<APInt> numbers;
      for (AffineExpr expression : extents.getMap().getResults())
        numbers.emplace_back(extents.getType().getElementTypeBitWidth(), *valueAt(expression, point),
                             /*isSigned=*/true);
      // Groups hold no constants of several values.
      if (isa<FusedOp>(op->getParentOp()) && !llvm::all_equal(numbers)) {
        SmallVector<AffineExpr> known;
        for (const APInt &number : numbers)
          known.push_back(builder.getAffineConstantExpr(number.getSExtValue()));
        const AffineMap map = extents.getMap();
        extents.setMap(AffineMap::get(map.getNumDims(), map.getNumSymbols(), known, op->getContext()));
        return;
      }
      Value constant = ConstantOp::create(builder, op->getLoc(), DenseElementsAttr::get(extents.getType(), numbers));
      extents.getResult().replaceAllUsesWith(constant);
      extents.erase();
    }
  });
}

/// What a verifier may see of an operand's definition: constants, and numbers that are constants at each point. All
/// large constants of a type are alike, because no verifier reads weights.
static Attribute knownValue(Value operand) {
  if (auto constant = operand.getDefiningOp<ConstantOp>())
    return isa<DenseResourceElementsAttr>(constant.getValue()) ? Attribute(UnitAttr::get(operand.getContext()))
                                                               : Attribute(constant.getValue());
  auto extents = operand.getDefiningOp<ExtentsOp>();
  return extents ? extents.getMapAttr() : Attribute();
}

static bool areAlike(Value a, Value c) { return a.getType() == c.getType() && knownValue(a) == knownValue(c); }

/// Equal for operations that are alike.
static llvm::hash_code hashOf(Operation *op) {
  llvm::hash_code hash = hash_value(op->getName());
  op->walk<WalkOrder::PreOrder>(
      [&](Operation *member) { hash = llvm::hash_combine(hash, member->getName(), member->hashProperties()); });
  for (Value operand : op->getOperands())
    hash = llvm::hash_combine(hash, operand.getType(), knownValue(operand));
  for (Type type : op->getResultTypes())
    hash = llvm::hash_combine(hash, type);
  return hash;
}

/// Whether operations differ only in their places, locations and discardable attributes, and in values that they get
/// from other operations.
static bool areAlike(Operation *a, Operation *c) {
  DenseMap<Value, Value> within;
  auto check = [&](Value inA, Value inC) {
    const Value known = within.lookup(inA);
    return success(known ? known == inC : areAlike(inA, inC));
  };
  auto mark = [&](Value inA, Value inC) { within[inA] = inC; };
  return llvm::all_of(llvm::zip_equal(a->getOperands(), c->getOperands()),
                      [](auto pair) { return areAlike(std::get<0>(pair), std::get<1>(pair)); }) &&
         OperationEquivalence::isEquivalentTo(
             a, c, check, mark, OperationEquivalence::IgnoreLocations | OperationEquivalence::IgnoreDiscardableAttrs);
}

/// A module with one of each of the operations in functions that depend on symbols. Repeated blocks of a model differ
/// in their weights, of which verifiers see the types. Operands are arguments of the module's block, except for those
/// whose values verifiers see.
static OwningOpRef<ModuleOp> membersToVerify(Operation *root) {
  OwningOpRef<ModuleOp> members = ModuleOp::create(root->getLoc());
  Block *block = members->getBody();
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  DenseMap<size_t, SmallVector<Operation *, 1>> seen;
  auto add = [&](Operation *op) {
    SmallVector<Operation *, 1> &others = seen[hashOf(op)];
    if (llvm::any_of(others, [&](Operation *other) {
          return other->getName() == op->getName() && other->getNumOperands() == op->getNumOperands() &&
                 areAlike(other, op);
        }))
      return;
    others.push_back(op);
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand)) {
        if (knownValue(operand))
          mapping.map(operand, builder.clone(*operand.getDefiningOp())->getResult(0));
        else
          mapping.map(operand, block->addArgument(operand.getType(), operand.getLoc()));
      }
    builder.clone(*op, mapping);
  };
  root->walk<WalkOrder::PreOrder>([&](FunctionOpInterface function) {
    for (Block &body : function.getFunctionBody())
      for (Operation &op : body)
        if (!op.hasTrait<OpTrait::IsTerminator>() &&
            (symbolsOf(&op) || llvm::any_of(op.getOperands(), [](Value operand) {
               return isa_and_present<ExtentsOp>(operand.getDefiningOp());
             })))
          add(&op);
    return WalkResult::skip();
  });
  return members;
}

LogicalResult verifyAtPoints(Operation *root) {
  const SymbolsAttr symbols = symbolsOf(root);
  if (!symbols)
    return success();
  OwningOpRef<ModuleOp> members = membersToVerify(root);
  for (const Point &point : samplePoints(symbols)) {
    OwningOpRef<ModuleOp> instance = members->clone();
    instantiate(*instance, point);
    // The offsets of programs' buffers are those at the upper bounds. Below these some need no memory.
    instance->walk([](ProgramsOpInterface programs) { programs->removeAttr("offsets"); });
    for (Operation &member : *instance->getBody())
      if (failed(mlir::verify(&member)))
        return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

LogicalResult detail::inferRanged(std::optional<Location> loc, ValueRange operands, SmallVectorImpl<Type> &results,
                                  function_ref<LogicalResult(ValueRange, SmallVectorImpl<Type> &)> infer) {
  SymbolsAttr symbols;
  Extents basis;
  for (Value operand : operands) {
    // Parsing infers before anything is verified.
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type)
      return emitOptionalError(loc, "an operand has type ", operand.getType(), ", give it a tensor type with a rank");
    if (!type.hasStaticShape())
      return emitOptionalError(loc, "an operand has an unknown extent, give every dimension a size");
    if (SymbolsAttr own = symbolsOf(operand.getType())) {
      symbols = own;
      basis.append(extentsOf(operand));
    }
  }
  if (!symbols)
    return infer(operands, results);
  // The arguments of a block stand for the operands at a point.
  Block block;
  for (Value operand : operands)
    block.addArgument(operand.getType(), operand.getLoc());
  std::vector<Point> points = samplePoints(symbols), ties;
  SmallVector<SmallVector<Type>> inferred;
  for (int round = 0; round < kMostTieRounds; ++round) {
    for (size_t i = inferred.size(); i < points.size(); ++i) {
      for (auto [argument, operand] : llvm::zip(block.getArguments(), operands))
        argument.setType(typeAt(cast<RankedTensorType>(operand.getType()), points[i]));
      if (failed(infer(block.getArguments(), inferred.emplace_back())))
        return failure();
    }
    SmallVector<Type> fitted;
    for (size_t i = 0; i < inferred[0].size(); ++i) {
      auto first = cast<RankedTensorType>(inferred[0][i]);
      Extents extents;
      for (int64_t dim = 0; dim < first.getRank(); ++dim) {
        SmallVector<int64_t> values;
        for (const SmallVector<Type> &types : inferred)
          values.push_back(cast<RankedTensorType>(types[i]).getDimSize(dim));
        std::optional<Extent> extent = fitExtent(symbols, points, values, basis, ties);
        if (!extent)
          return emitOptionalError(loc, "the extent of dimension ", dim, " does not follow from the operands' extents");
        extents.push_back(*extent);
      }
      fitted.push_back(tensorOf(extents, first.getElementType()));
    }
    if (ties.empty()) {
      results.append(fitted);
      return success();
    }
    llvm::append_range(points, ties);
    ties.clear();
  }
  return emitOptionalError(loc, "the extents of the result do not follow from the operands' extents");
}

} // namespace sluice::dataflow
