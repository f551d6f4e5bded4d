//===- ExpandMath.cpp - Math as arithmetic ---------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/LowerKernels/Passes.h"
#include "passes/LowerKernels/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <limits>

using namespace mlir;

namespace sluice {

#define GEN_PASS_DEF_EXPANDFMAPASS
#define GEN_PASS_DEF_EXPANDHALFPASS
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "passes/LowerKernels/Passes.h.inc"

namespace {

/// Short names for arithmetic on scalars, or vectors of one shape.
struct Arithmetic {
  ImplicitLocOpBuilder b;
  Type narrow, wide; ///< f32, f64.

  Arithmetic(Operation *op, PatternRewriter &rewriter)
      : b(op->getLoc(), rewriter), narrow(op->getResult(0).getType()), wide(like(b.getF64Type())) {}
  Type like(Type element) const {
    auto vector = dyn_cast<VectorType>(narrow);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(Type type, TypedAttr scalar) {
    if (auto vector = dyn_cast<VectorType>(type))
      scalar = DenseElementsAttr::get(vector, Attribute(scalar));
    return arith::ConstantOp::create(b, scalar);
  }
  Value real(Type type, double value) { return constant(type, b.getFloatAttr(getElementTypeOrSelf(type), value)); }
  Value real(double value) { return real(wide, value); }
  Value integer(Type type, int64_t value) {
    return constant(type, b.getIntegerAttr(getElementTypeOrSelf(type), value));
  }
  Value widened(Value x) { return arith::ExtFOp::create(b, wide, x); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) { return arith::CmpFOp::create(b, predicate, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  /// Coefficients of falling powers.
  Value polynomial(Value x, std::initializer_list<double> coefficients) {
    Value sum;
    for (double c : coefficients)
      sum = sum ? fma(sum, x, real(x.getType(), c)) : real(x.getType(), c);
    return sum;
  }
};

/// sin(x) and cos(x), x in f32: x = n * pi / 2 + r in f64, where n is exact up
/// to 2^52 and pi / 2 has 106 bits; then polynomials on |r| <= pi / 4.
template <typename Op>
struct ExpandSine : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  static constexpr bool kIsCosine = std::is_same_v<Op, math::CosOp>;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    constexpr double kHalfPi = 1.5707963267948966, kHalfPiLow = 6.123233995736766e-17, kTwoOverPi = 0.63661977236758138;
    constexpr double kMost = 4503599627370496.0;
    Arithmetic f(op, rewriter);
    Type integer = f.like(f.b.getI32Type());
    Value x = f.widened(op.getOperand());
    Value inRange = f.compare(arith::CmpFPredicate::OLE, math::AbsFOp::create(f.b, x), f.real(kMost));
    Value n = math::RoundEvenOp::create(f.b, f.mul(x, f.real(kTwoOverPi)));
    Value r = f.fma(f.neg(n), f.real(kHalfPi), x);
    r = f.fma(f.neg(n), f.real(kHalfPiLow), r);
    // n may be one off where x is large.
    Value more = math::RoundEvenOp::create(f.b, f.mul(r, f.real(kTwoOverPi)));
    r = f.fma(f.neg(more), f.real(kHalfPi), r);
    n = f.add(n, more);
    Value fours = math::FloorOp::create(f.b, f.mul(n, f.real(0.25)));
    Value quarter = f.select(inRange, f.fma(fours, f.real(-4), n), f.real(0));
    Value quadrant = arith::FPToSIOp::create(f.b, integer, quarter);
    if (kIsCosine)
      quadrant = arith::AddIOp::create(f.b, quadrant, f.integer(integer, 1));
    r = arith::TruncFOp::create(f.b, f.narrow, r);
    Value square = f.mul(r, r);
    Value odd = f.polynomial(square, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
    Value sine = f.fma(f.mul(odd, square), r, r);
    Value cosine = f.polynomial(square, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1.0});
    auto bit = [&](int64_t which) -> Value {
      Value masked = arith::AndIOp::create(f.b, quadrant, f.integer(integer, which));
      return arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne, masked, f.integer(integer, 0));
    };
    Value result = f.select(bit(1), cosine, sine);
    result = f.select(bit(2), f.neg(result), result);
    Value none = f.real(f.narrow, std::numeric_limits<double>::quiet_NaN());
    rewriter.replaceOp(op, f.select(inRange, result, none));
    return success();
  }
};

/// asinh and acosh of any float type, accurate near 0 and 1, for large and for negative numbers, where
/// log(x + sqrt(x^2 +- 1)) cancels or overflows.
template <typename Op>
struct ExpandInverseHyperbolic : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  static constexpr bool kIsCosine = std::is_same_v<Op, math::AcoshOp>;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    // From here on the square exceeds one by more than f64's precision.
    constexpr double kLarge = 1e8, kLn2 = 0.69314718055994531;
    Arithmetic f(op, rewriter);
    Value given = op.getOperand();
    auto real = [&](double value) { return f.real(f.narrow, value); };
    auto root = [&](Value x) -> Value { return math::SqrtOp::create(f.b, x); };
    Value x = kIsCosine ? given : Value(math::AbsFOp::create(f.b, given));
    Value isLarge = f.compare(arith::CmpFPredicate::OGT, x, real(kLarge));
    Value large = f.add(math::LogOp::create(f.b, x), real(kLn2));
    Value moderate = f.select(isLarge, real(1), x), above;
    if (kIsCosine) {
      Value rest = f.add(moderate, real(-1));
      above = f.add(rest, root(f.mul(rest, f.add(rest, real(2)))));
    } else {
      Value square = f.mul(moderate, moderate);
      Value divisor = f.add(real(1), root(f.add(square, real(1))));
      above = f.add(moderate, arith::DivFOp::create(f.b, square, divisor));
    }
    Value result = f.select(isLarge, large, math::Log1pOp::create(f.b, above));
    if (kIsCosine) {
      Value none = real(std::numeric_limits<double>::quiet_NaN());
      result = f.select(f.compare(arith::CmpFPredicate::OLT, given, real(1)), none, result);
    } else {
      result = math::CopySignOp::create(f.b, result, given);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// x to the power y, both f32, as 2^(y * log2 |x|) in f64, good to 1e-12 before
/// it is rounded: whole powers of whole numbers are exact. Special values are C's.
struct ExpandPower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  using Predicate = arith::CmpFPredicate;

  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Arithmetic f(op, rewriter);
    Value x = f.widened(op.getLhs()), y = f.widened(op.getRhs());
    Value size = math::AbsFOp::create(f.b, x), zero = f.real(0), one = f.real(1);

    Value exponent = f.mul(y, logarithm(f, size));
    exponent = f.select(f.compare(Predicate::OGT, exponent, f.real(kMostExponent)), f.real(kMostExponent), exponent);
    exponent = f.select(f.compare(Predicate::OLT, exponent, f.real(-kMostExponent)), f.real(-kMostExponent), exponent);
    Value result = exponential(f, exponent);
    Value isOrdered = f.compare(Predicate::ORD, y, y);
    result = f.select(f.both(f.compare(Predicate::OEQ, size, one), isOrdered), one, result);

    Value isWhole = f.compare(Predicate::OEQ, math::FloorOp::create(f.b, y), y);
    Value half = f.mul(y, f.real(0.5));
    Value isOdd = f.both(isWhole, f.compare(Predicate::ONE, math::FloorOp::create(f.b, half), half));
    Value isMinus = f.compare(Predicate::OLT, math::CopySignOp::create(f.b, one, x), zero);
    result = f.select(f.both(isMinus, isOdd), f.neg(result), result);
    Value isRoot =
        f.both(f.compare(Predicate::OLT, x, zero), f.compare(Predicate::ONE, math::FloorOp::create(f.b, y), y));
    isRoot = f.both(isRoot, f.compare(Predicate::OGT, x, f.real(-kInfinity)));
    result = f.select(isRoot, f.real(std::numeric_limits<double>::quiet_NaN()), result);
    result = f.select(f.compare(Predicate::OEQ, x, one), one, result);
    result = f.select(f.compare(Predicate::OEQ, y, zero), one, result);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, f.narrow, result);
    return success();
  }

private:
  /// Beyond f32's range, within f64's.
  static constexpr double kMostExponent = 1000;
  static constexpr int64_t kBias = 1023, kMantissaBits = 52;

  /// log2 of a value that f32 has too, and so is no subnormal number of f64.
  static Value logarithm(Arithmetic &f, Value x) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Type integer = f.like(f.b.getI64Type());
    Value bits = arith::BitcastOp::create(f.b, integer, x);
    Value raw = arith::ShRUIOp::create(f.b, bits, f.integer(integer, kMantissaBits));
    Value power = arith::SIToFPOp::create(f.b, f.wide, arith::SubIOp::create(f.b, raw, f.integer(integer, kBias)));
    Value fraction = arith::AndIOp::create(f.b, bits, f.integer(integer, (int64_t(1) << kMantissaBits) - 1));
    fraction = arith::OrIOp::create(f.b, fraction, f.integer(integer, kBias << kMantissaBits));
    Value m = arith::BitcastOp::create(f.b, f.wide, fraction);
    // Into [sqrt(1/2), sqrt(2)), then ln m = 2 atanh((m - 1) / (m + 1)).
    Value isLarge = f.compare(Predicate::OGT, m, f.real(1.4142135623730951));
    m = f.select(isLarge, f.mul(m, f.real(0.5)), m);
    power = f.select(isLarge, f.add(power, f.real(1)), power);
    Value s = arith::DivFOp::create(f.b, f.add(m, f.real(-1)), f.add(m, f.real(1)));
    Value series =
        f.polynomial(f.mul(s, s), {1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0});
    constexpr double kTwoOverLn2 = 2.8853900817779268;
    Value result = f.fma(f.mul(s, series), f.real(kTwoOverLn2), power);
    result = f.select(f.compare(Predicate::OEQ, x, f.real(0)), f.real(-kInfinity), result);
    result = f.select(f.compare(Predicate::OEQ, x, f.real(kInfinity)), f.real(kInfinity), result);
    return f.select(f.compare(Predicate::UNO, x, x), x, result);
  }

  /// 2^x, |x| <= kMostExponent or NaN.
  static Value exponential(Arithmetic &f, Value x) {
    Type integer = f.like(f.b.getI64Type());
    Value isOrdered = f.compare(Predicate::ORD, x, x);
    Value n = math::RoundEvenOp::create(f.b, f.select(isOrdered, x, f.real(0)));
    constexpr double kLn2 = 0.69314718055994531;
    Value rest = f.mul(arith::SubFOp::create(f.b, x, n), f.real(kLn2));
    Value series = f.polynomial(rest, {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                                       1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0});
    Value bits = arith::AddIOp::create(f.b, arith::FPToSIOp::create(f.b, integer, n), f.integer(integer, kBias));
    bits = arith::ShLIOp::create(f.b, bits, f.integer(integer, kMantissaBits));
    return f.mul(series, arith::BitcastOp::create(f.b, f.wide, bits));
  }
};

constexpr int64_t kHalfMantissa = 10, kMantissa = 23, kDropped = kMantissa - kHalfMantissa;
/// What the exponents of f32 and f16 differ by, in the bits of an f32.
constexpr int64_t kRebias = int64_t(127 - 15) << kMantissa;
constexpr int64_t kSign = 0x8000, kInfinity = 0x7f800000, kHalfInfinity = 0x7c00;
/// The bits of 2^-14, the least normal f16.
constexpr int64_t kLeastNormal = kRebias + (int64_t(1) << kMantissa);

/// exp(x) in f32 for targets that round products and sums separately, where MLIR's form has many instructions in a row.
/// x = n ln 2 + r, with n in the last bits of a sum that has no room for fractions; the polynomial (Cephes' expf) is
/// evaluated by powers of r^2 (Estrin).
struct ExpandExponential : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    constexpr double kLeast = -87.8, kMost = 88.8, kLog2E = 1.44269504088896341;
    // 1.5 * 2^23. The first part of ln 2 has 9 bits, so that its product with n is exact.
    constexpr double kRounder = 12582912, kLn2 = 0.693359375, kLn2Rest = -2.12194440e-4;
    constexpr int64_t kMostPower = 127, kOne = kMostPower << kMantissa;
    Arithmetic f(op, rewriter);
    const Type word = f.like(f.b.getI32Type());
    auto real = [&](double value) { return f.real(f.narrow, value); };
    // NaNs are in no order, and stay.
    auto atMost = [&](Value x, double bound) {
      return f.select(f.compare(arith::CmpFPredicate::OGT, x, real(bound)), real(bound), x);
    };
    Value x = op.getOperand();
    x = f.select(f.compare(arith::CmpFPredicate::OLT, x, real(kLeast)), real(kLeast), x);
    x = atMost(x, kMost);
    Value rounded = atMost(f.add(f.mul(x, real(kLog2E)), real(kRounder)), kRounder + kMostPower);
    Value n = f.add(rounded, real(-kRounder));
    Value r = f.add(x, f.mul(n, real(-kLn2)));
    r = f.add(r, f.mul(n, real(-kLn2Rest)));
    Value square = f.mul(r, r);
    auto pair = [&](double first, double second) { return f.add(f.mul(r, real(first)), real(second)); };
    Value high = f.add(f.mul(pair(1.9875691500e-4, 1.3981999507e-3), square), pair(8.3334519073e-3, 4.1665795894e-2));
    Value rest = f.add(f.mul(high, square), pair(1.6666665459e-1, 5.0000001201e-1));
    Value power = f.add(f.add(f.mul(rest, square), r), real(1));
    Value bits = arith::BitcastOp::create(f.b, word, rounded);
    bits = arith::ShLIOp::create(f.b, bits, f.integer(word, kMantissa));
    bits = arith::AddIOp::create(f.b, bits, f.integer(word, kOne));
    rewriter.replaceOp(op, f.mul(power, arith::BitcastOp::create(f.b, f.narrow, bits)));
    return success();
  }
};

struct ExpandMultiplyAdd : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op, PatternRewriter &rewriter) const override {
    Arithmetic f(op, rewriter);
    Value x = op.getA(), y = op.getB(), z = op.getC();
    if (getElementTypeOrSelf(op.getType()).isF32()) {
      rewriter.replaceOp(op, f.add(f.mul(x, y), z));
      return success();
    }
    if (!getElementTypeOrSelf(op.getType()).isF64())
      return failure();
    auto sub = [&](Value a, Value b) -> Value { return arith::SubFOp::create(f.b, a, b); };
    // A number as the sum of two of 26 bits, whose products are exact.
    auto split = [&](Value a) {
      constexpr double kSplitter = (int64_t(1) << 27) + 1;
      Value scaled = f.mul(a, f.real(kSplitter)), high = sub(scaled, sub(scaled, a));
      return std::pair(high, sub(a, high));
    };
    const auto [xHigh, xLow] = split(x);
    const auto [yHigh, yLow] = split(y);
    Value product = f.mul(x, y);
    Value error = sub(f.mul(xHigh, yHigh), product);
    error = f.add(f.add(error, f.mul(xHigh, yLow)), f.mul(xLow, yHigh));
    error = f.add(error, f.mul(xLow, yLow));
    Value sum = f.add(product, z), second = sub(sum, product);
    Value lost = f.add(sub(product, sub(sum, second)), sub(z, second));
    rewriter.replaceOp(op, f.add(sum, f.add(lost, error)));
    return success();
  }
};

bool converts(Operation *op, bool isFromHalf) {
  const Type from = getElementTypeOrSelf(op->getOperand(0).getType()),
             to = getElementTypeOrSelf(op->getResult(0).getType());
  return isFromHalf ? from.isF16() && to.isF32() : from.isF32() && to.isF16();
}

struct ExpandFromHalf : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!converts(op, /*isFromHalf=*/true))
      return failure();
    Arithmetic f(op, rewriter);
    const Type word = f.like(f.b.getI32Type());
    auto constant = [&](int64_t value) { return f.integer(word, value); };
    Value half = arith::BitcastOp::create(f.b, f.like(f.b.getI16Type()), op.getIn());
    Value bits = arith::ExtUIOp::create(f.b, word, half);
    Value sign = arith::ShLIOp::create(f.b, arith::AndIOp::create(f.b, bits, constant(kSign)), constant(16));
    Value size = arith::AndIOp::create(f.b, bits, constant(kSign - 1));
    Value shifted = arith::ShLIOp::create(f.b, size, constant(kDropped));
    Value normal = arith::AddIOp::create(f.b, shifted, constant(kRebias));
    // A subnormal number is what its mantissa adds to 2^-14.
    Value based = arith::AddIOp::create(f.b, shifted, constant(kLeastNormal));
    Value rest = f.add(arith::BitcastOp::create(f.b, f.narrow, based), f.real(f.narrow, -0x1p-14));
    Value small = arith::BitcastOp::create(f.b, word, rest);
    Value special = arith::OrIOp::create(f.b, shifted, constant(kInfinity));
    auto below = [&](int64_t bound) -> Value {
      return arith::CmpIOp::create(f.b, arith::CmpIPredicate::ult, size, constant(bound));
    };
    Value result = f.select(below(kHalfInfinity), normal, special);
    result = f.select(below(int64_t(1) << kHalfMantissa), small, result);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, f.narrow, arith::OrIOp::create(f.b, result, sign));
    return success();
  }
};

/// The conversion rounds to the nearest number, and ties to the even one.
struct ExpandToHalf : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!converts(op, /*isFromHalf=*/false))
      return failure();
    Arithmetic f(op, rewriter);
    const Type word = f.like(f.b.getI32Type()), real = op.getIn().getType();
    auto constant = [&](int64_t value) { return f.integer(word, value); };
    Value bits = arith::BitcastOp::create(f.b, word, op.getIn());
    Value size = arith::AndIOp::create(f.b, bits, constant(0x7fffffff));
    auto isAbove = [&](int64_t bound) -> Value {
      return arith::CmpIOp::create(f.b, arith::CmpIPredicate::ugt, size, constant(bound));
    };
    auto kept = [&](Value of) -> Value { return arith::ShRUIOp::create(f.b, of, constant(kDropped)); };
    // Half of the last place that is kept, less one where that place is even; a carry may make the exponent greater.
    Value isOdd = arith::AndIOp::create(f.b, kept(size), constant(1));
    Value rounding = arith::AddIOp::create(f.b, isOdd, constant((int64_t(1) << (kDropped - 1)) - 1 - kRebias));
    Value normal = kept(arith::AddIOp::create(f.b, size, rounding));
    // The last place of 0.5 is that of subnormal numbers.
    Value moved = f.add(arith::BitcastOp::create(f.b, real, size), f.real(real, 0.5));
    Value small = arith::SubIOp::create(f.b, arith::BitcastOp::create(f.b, word, moved), constant(0x3f000000));
    Value payload = arith::AndIOp::create(f.b, kept(size), constant((1 << kHalfMantissa) - 1));
    Value none = arith::OrIOp::create(f.b, payload, constant(0x7e00));
    Value special = f.select(isAbove(kInfinity), none, constant(kHalfInfinity));
    Value result = f.select(isAbove(0x477fffff), special, normal);
    result = f.select(isAbove(kLeastNormal - 1), result, small);
    Value sign = arith::AndIOp::create(f.b, arith::ShRUIOp::create(f.b, bits, constant(16)), constant(kSign));
    result = arith::TruncIOp::create(f.b, f.like(f.b.getI16Type()), arith::OrIOp::create(f.b, result, sign));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, f.narrow, result);
    return success();
  }
};

struct ExpandHalf : impl::ExpandHalfPassBase<ExpandHalf> {
  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    if (!module || !lacksHalfConversions(module))
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandFromHalf, ExpandToHalf>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

struct ExpandFma : impl::ExpandFmaPassBase<ExpandFma> {
  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    if (module && hasFusedMultiplyAdd(module))
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandMultiplyAdd>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

struct ExpandMath : impl::ExpandMathPassBase<ExpandMath> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<ExpandSine<math::SinOp>, ExpandSine<math::CosOp>, ExpandPower, ExpandInverseHyperbolic<math::AsinhOp>,
                 ExpandInverseHyperbolic<math::AcoshOp>>(context);
    math::populateExpansionPatterns(patterns, {"tan", "sinh", "cosh", "atanh", "exp2", "clampf", "rsqrt"});
    populateMathF32ExpansionPatterns(
        patterns, [](StringRef) { return true; }, /*benefit=*/2);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void populateExponentialPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandExponential>(patterns.getContext(), /*benefit=*/2);
}
} // namespace sluice
