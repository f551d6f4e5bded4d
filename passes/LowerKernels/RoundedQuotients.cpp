//===- RoundedQuotients.cpp - Rounded quotients without divisions ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A value is quantized as clamp(round(x / scale) + zero point), where the division is the slowest operation. If the
// scale is a constant c, multiplications by its reciprocal give the same quotient. Let r be the float next to 1 / c,
// and let q differ from x / c by less than one unit in the last place. Then q + (x - q * c) * r, in two fused
// operations, is the correctly rounded quotient (Markstein, "Computation of elementary functions on the IBM RISC
// System/6000 processor", IBM J. Res. Dev. 34(1), 1990). The theorem requires that q neither overflows nor loses digits
// below the least normal number. Therefore x is clamped to quotients of 2^64 and less, and the pattern applies only if
// all operations that read the rounded quotient clamp it to less than 2^64.
//
//===----------------------------------------------------------------------===//
#include "passes/LowerKernels/Patterns.h"

#include "dialects/Exec/Exec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/TargetParser/Triple.h"

#include <cmath>

using namespace mlir;

namespace sluice {

std::optional<double> floatConstant(Value value) {
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    return floatConstant(broadcast.getSource());
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  if (auto dense = dyn_cast<SplatElementsAttr>(constant))
    constant = dense.getSplatValue<Attribute>();
  auto number = dyn_cast<FloatAttr>(constant);
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

Value makeFloatConstant(OpBuilder &b, Location loc, Type type, double value) {
  TypedAttr attribute = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
  return arith::ConstantOp::create(b, loc, attribute);
}

namespace {

/// Kinds of numbers of which the users of a value cannot tell two apart: numbers above 2^63, numbers below -2^63, and
/// zeros of both signs.
struct Alike {
  bool above = false, below = false, zeros = false;
};

/// Whether all that read `value` treat the numbers of each kind in Alike as one.
bool isOnlyClamped(Value value, Alike alike = {}) {
  if (alike.above && alike.below && alike.zeros)
    return true;
  auto isSmall = [](Value other) {
    const std::optional<double> number = floatConstant(other);
    return number && std::abs(*number) < 0x1p63;
  };
  auto other = [&](Operation *user) { return user->getOperand(user->getOperand(0) == value ? 1 : 0); };
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isa<arith::FPToSIOp, arith::FPToUIOp>(user))
      return true;
    if (isa<arith::CmpFOp>(user))
      return other(user) == value || isSmall(other(user));
    if (auto sum = dyn_cast<arith::AddFOp>(user)) {
      const std::optional<double> number = floatConstant(other(user));
      if (!number || !(std::abs(*number) < 0x1p63))
        return false;
      Alike after = alike;
      after.zeros |= !std::signbit(*number);
      return isOnlyClamped(sum, after);
    }
    auto choice = dyn_cast<arith::SelectOp>(user);
    if (!choice)
      return false;
    const bool isChosen = choice.getTrueValue() == value;
    if (!isSmall(isChosen ? choice.getFalseValue() : choice.getTrueValue()))
      return false;
    Alike after = alike;
    if (auto compare = choice.getCondition().getDefiningOp<arith::CmpFOp>();
        compare && compare.getLhs() == value && isSmall(compare.getRhs())) {
      const auto predicate = compare.getPredicate();
      after.above |= predicate == (isChosen ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT);
      after.below |= predicate == (isChosen ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT);
    }
    return isOnlyClamped(choice, after);
  });
}

/// Whether every finite number that `value` can be is an integer.
bool isWhole(Value value) {
  if (const std::optional<double> number = floatConstant(value))
    return std::trunc(*number) == *number;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<math::RoundEvenOp, math::FloorOp, math::CeilOp, math::TruncOp, math::RoundOp>(op))
    return true;
  // A sum that is not exact has no bits below the point.
  if (isa<arith::AddFOp>(op))
    return isWhole(op->getOperand(0)) && isWhole(op->getOperand(1));
  return isa<arith::SelectOp>(op) && isWhole(op->getOperand(1)) && isWhole(op->getOperand(2));
}

struct ReduceQuotient : OpRewritePattern<math::RoundEvenOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RoundEvenOp op, PatternRewriter &rewriter) const override {
    auto quotient = op.getOperand().getDefiningOp<arith::DivFOp>();
    const Type type = op.getType();
    if (!quotient || !getElementTypeOrSelf(type).isF32() || !isOnlyClamped(op))
      return failure();
    const std::optional<double> divisor = floatConstant(quotient.getRhs());
    if (!divisor || !(std::abs(*divisor) >= 0x1p-60 && std::abs(*divisor) <= 0x1p60))
      return failure();
    const Location loc = quotient.getLoc();
    auto c = [&](double value) { return makeFloatConstant(rewriter, loc, type, value); };
    auto select = [&](arith::CmpFPredicate predicate, Value x, Value bound) -> Value {
      const Value beyond = arith::CmpFOp::create(rewriter, loc, predicate, x, bound);
      return arith::SelectOp::create(rewriter, loc, beyond, bound, x);
    };
    auto fma = [&](Value x, Value y, Value z) -> Value { return math::FmaOp::create(rewriter, loc, x, y, z); };
    const double bound = std::abs(*divisor) * 0x1p64, exact = 1 / *divisor;
    const double nearest = static_cast<float>(exact), rest = static_cast<float>(exact - nearest);
    Value x = select(arith::CmpFPredicate::OGT, quotient.getLhs(), c(bound));
    x = select(arith::CmpFPredicate::OLT, x, c(-bound));
    const Value first = fma(x, c(nearest), arith::MulFOp::create(rewriter, loc, x, c(rest)));
    const Value left = fma(first, c(-*divisor), x);
    rewriter.replaceOpWithNewOp<math::RoundEvenOp>(op, fma(left, c(nearest), first));
    return success();
  }
};

/// The float of an integer that was made from a whole float: the float. A sum with 0 makes -0 the 0 that the integer
/// is.
template <typename ToFloat, typename ToInteger>
struct KeepWhole : OpRewritePattern<ToFloat> {
  using OpRewritePattern<ToFloat>::OpRewritePattern;
  LogicalResult matchAndRewrite(ToFloat op, PatternRewriter &rewriter) const override {
    auto keep = [&](Value integer) -> Value {
      auto made = integer.getDefiningOp<ToInteger>();
      return made && made.getIn().getType() == op.getType() && isWhole(made.getIn())
                 ? arith::AddFOp::create(rewriter, op.getLoc(), made.getIn(),
                                         makeFloatConstant(rewriter, op.getLoc(), op.getType(), 0))
                 : Value();
    };
    if (const Value whole = keep(op.getIn())) {
      rewriter.replaceOp(op, whole);
      return success();
    }
    auto choice = op.getIn().template getDefiningOp<arith::SelectOp>();
    if (!choice)
      return failure();
    if (!choice.getTrueValue().template getDefiningOp<arith::ConstantOp>())
      return failure();
    const Value whole = keep(choice.getFalseValue());
    if (!whole)
      return failure();
    const Value other = ToFloat::create(rewriter, op.getLoc(), op.getType(), choice.getTrueValue());
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, choice.getCondition(), other, whole);
    return success();
  }
};

} // namespace

static exec::TargetAttr targetOf(Operation *module) {
  return exec::ExecDialect::TargetAttrHelper(module->getContext()).getAttr(module);
}

/// Whether a target for x86 has a feature that x86-64-v3 introduced.
static bool hasSinceV3(exec::TargetAttr target, StringRef feature) {
  const StringRef cpu = target.getCpu();
  return cpu == "x86-64-v3" || cpu == "x86-64-v4" || target.getFeatures().contains(feature);
}

bool hasFusedMultiplyAdd(Operation *module) {
  const exec::TargetAttr target = targetOf(module);
  if (!target)
    return false;
  const llvm::Triple triple(target.getTriple());
  return triple.isX86() ? hasSinceV3(target, "+fma") : !triple.isWasm();
}

bool lacksFusedMultiplyAdd(Operation *module) { return targetOf(module) && !hasFusedMultiplyAdd(module); }

bool lacksHalfConversions(Operation *module) {
  const exec::TargetAttr target = targetOf(module);
  if (!target)
    return false;
  const llvm::Triple triple(target.getTriple());
  return triple.isX86() ? !hasSinceV3(target, "+f16c") : !triple.isAArch64();
}

void populateRoundedQuotientPatterns(RewritePatternSet &patterns, bool hasFma) {
  patterns.add<KeepWhole<arith::UIToFPOp, arith::FPToUIOp>, KeepWhole<arith::SIToFPOp, arith::FPToSIOp>>(
      patterns.getContext());
  if (hasFma)
    patterns.add<ReduceQuotient>(patterns.getContext());
}

} // namespace sluice
