//===- ExtentBounds.cpp - What holds of an extent at all points -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/ExtentBounds.h"
#include "sluice/Support/Count.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <bit>

using namespace mlir;

namespace sluice::dataflow {

bool isSameExtent(const Extent &a, const Extent &c) {
  if (a == c)
    return true;
  const SymbolsAttr symbols = a.symbols() ? a.symbols() : c.symbols();
  return symbols && llvm::all_of(samplePoints(symbols), [&](const Point &point) { return a.at(point) == c.at(point); });
}

namespace {
/// Bounds of an expression; those of its operands are taken as independent of each other.
struct Range {
  Count least, most;

  static Range of(AffineExpr expression, SymbolsAttr symbols) {
    if (auto number = dyn_cast<AffineConstantExpr>(expression))
      return {number.getValue(), number.getValue()};
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
      return {symbols.getLeast()[symbol.getPosition()], symbols.getMost()[symbol.getPosition()]};
    auto both = cast<AffineBinaryOpExpr>(expression);
    const Range x = of(both.getLHS(), symbols), y = of(both.getRHS(), symbols);
    switch (expression.getKind()) {
    case AffineExprKind::Add:
      return {x.least + y.least, x.most + y.most};
    case AffineExprKind::Mul: {
      const auto [least, most] = std::minmax({(x.least * y.least).value(), (x.least * y.most).value(),
                                              (x.most * y.least).value(), (x.most * y.most).value()});
      return {least, most};
    }
    case AffineExprKind::Mod:
      return {0, y.most};
    default: {
      // A quotient by a number above 0. Rounding up gives no less than rounding down.
      const int64_t by = std::max<int64_t>(y.least, 1);
      return {llvm::divideFloorSigned(x.least.value(), by), x.most};
    }
    }
  }
};
} // namespace

bool mayBeZero(const Extent &extent) {
  return extent.isConstant() ? extent.is(0) : Range::of(extent.expr(), extent.symbols()).least <= Count(0);
}

/// How many of the lowest bits of a number are zero: 64 of 0.
static int zeroBits(int64_t number) { return std::countr_zero(static_cast<uint64_t>(number)); }

/// How many of the lowest bits of an expression are zero at all points, at least.
static int zeroBits(AffineExpr expression, SymbolsAttr symbols) {
  constexpr int kMost = 64;
  if (auto number = dyn_cast<AffineConstantExpr>(expression))
    return zeroBits(number.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
    return std::min(zeroBits(symbols.getLeast()[symbol.getPosition()]),
                    zeroBits(symbols.getSteps()[symbol.getPosition()]));
  auto both = cast<AffineBinaryOpExpr>(expression);
  const int x = zeroBits(both.getLHS(), symbols), y = zeroBits(both.getRHS(), symbols);
  switch (expression.getKind()) {
  case AffineExprKind::Mul:
    return std::min(x + y, kMost);
  case AffineExprKind::Add:
  case AffineExprKind::Mod:
    return std::min(x, y);
  default: {
    // A quotient by a power of two is exact where so many bits are zero.
    auto divisor = dyn_cast<AffineConstantExpr>(both.getRHS());
    return divisor && llvm::isPowerOf2_64(static_cast<uint64_t>(divisor.getValue())) && x >= y ? x - y : 0;
  }
  }
}

bool isMultipleOf(const Extent &extent, int64_t number) {
  if (extent.isConstant())
    return extent.most() % number == 0;
  return llvm::isPowerOf2_64(static_cast<uint64_t>(number)) &&
         zeroBits(extent.expr(), extent.symbols()) >= zeroBits(number);
}

} // namespace sluice::dataflow
