//===- GridMath.cpp - Math functions that a GPU has not ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GridMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace sluice {

namespace {

Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

/// sin(x) and cos(x), x in f32: x = n * pi / 2 + r in f64, where n is exact up
/// to 2^52 and pi / 2 has 106 bits; then polynomials on |r| <= pi / 4.
template <typename Op>
struct ExpandSine : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  static constexpr bool kIsCosine = std::is_same_v<Op, math::CosOp>;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type wide = withElement(type, b.getF64Type()), integer = withElement(type, b.getI32Type());
    auto constant = [&](Type of, double value) -> Value {
      TypedAttr scalar = isa<FloatType>(getElementTypeOrSelf(of))
                             ? TypedAttr(b.getFloatAttr(getElementTypeOrSelf(of), value))
                             : TypedAttr(b.getIntegerAttr(getElementTypeOrSelf(of), static_cast<int64_t>(value)));
      if (auto vector = dyn_cast<VectorType>(of))
        scalar = DenseElementsAttr::get(vector, Attribute(scalar));
      return arith::ConstantOp::create(b, scalar);
    };
    Value x = arith::ExtFOp::create(b, wide, op.getOperand());
    Value inRange = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, math::AbsFOp::create(b, x),
                                          constant(wide, 4503599627370496.0));
    Value n = math::RoundEvenOp::create(b, arith::MulFOp::create(b, x, constant(wide, 0.63661977236758138)));
    Value negated = arith::NegFOp::create(b, n);
    Value r = math::FmaOp::create(b, negated, constant(wide, 1.5707963267948966), x);
    r = math::FmaOp::create(b, negated, constant(wide, 6.123233995736766e-17), r);
    // n may be one off where x is large.
    Value more = math::RoundEvenOp::create(b, arith::MulFOp::create(b, r, constant(wide, 0.63661977236758138)));
    r = math::FmaOp::create(b, arith::NegFOp::create(b, more), constant(wide, 1.5707963267948966), r);
    n = arith::AddFOp::create(b, n, more);
    Value fours = math::FloorOp::create(b, arith::MulFOp::create(b, n, constant(wide, 0.25)));
    Value quarter = math::FmaOp::create(b, fours, constant(wide, -4), n);
    quarter = arith::SelectOp::create(b, inRange, quarter, constant(wide, 0));
    Value quadrant = arith::FPToSIOp::create(b, integer, quarter);
    if (kIsCosine)
      quadrant = arith::AddIOp::create(b, quadrant, constant(integer, 1));
    r = arith::TruncFOp::create(b, type, r);
    Value square = arith::MulFOp::create(b, r, r);
    auto polynomial = [&](std::initializer_list<double> coefficients) {
      Value sum;
      for (double c : coefficients)
        sum = sum ? Value(math::FmaOp::create(b, sum, square, constant(type, c))) : constant(type, c);
      return sum;
    };
    Value odd = polynomial({-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
    Value sine = math::FmaOp::create(b, arith::MulFOp::create(b, odd, square), r, r);
    Value cosine = polynomial({2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1.0});
    auto bit = [&](int64_t which) -> Value {
      Value masked = arith::AndIOp::create(b, quadrant, constant(integer, static_cast<double>(which)));
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked, constant(integer, 0));
    };
    Value result = arith::SelectOp::create(b, bit(1), cosine, sine);
    result = arith::SelectOp::create(b, bit(2), arith::NegFOp::create(b, result), result);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(
        op, inRange, result, constant(type, std::numeric_limits<double>::quiet_NaN()));
    return success();
  }
};

} // namespace

LogicalResult expandGridMath(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  patterns.add<ExpandSine<math::SinOp>, ExpandSine<math::CosOp>>(context);
  math::populateExpansionPatterns(
      patterns, {"powf", "tan", "sinh", "cosh", "asinh", "acosh", "atanh", "exp2", "clampf", "rsqrt"});
  populateMathF32ExpansionPatterns(
      patterns, [](StringRef) { return true; }, /*benefit=*/2);
  return applyPatternsGreedily(function, std::move(patterns));
}

} // namespace sluice
