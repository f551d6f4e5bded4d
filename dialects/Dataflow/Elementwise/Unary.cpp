//===- Unary.cpp - The functions of one tensor ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// This file has the code of each kind: emission, evaluation on the host and derivative. ElementwiseKinds.td has the
// data of the kinds, in the same order.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Functions.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace sluice::dataflow {
namespace {

using K = UnaryKind;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// f(x) as one operator of the math dialect.
template <typename OpTy>
Value call(const Floats &f, Value x) {
  return f.make<OpTy>(x);
}

Value sameInteger(const Integers &, Value x) { return x; }
int64_t evaluateSame(int64_t x, bool) { return x; }

Value derivativeOfGeluTanh(const Algebra &a, Value x, Value) {
  TensorBuilder &build = a.build;
  constexpr double kCubic = 0.044715;
  const double scale = std::sqrt(2 / std::numbers::pi);
  Value inner = a.times(build.add(x, a.times(build.mul(a.square(x), x), kCubic)), scale);
  Value t = a.apply(K::tanh, inner);
  Value slope = a.times(a.plus(a.times(a.square(x), 3 * kCubic), 1), scale);
  const Value tanhSlope = a.minusFrom(1, a.square(t));
  Value tail = build.mul(build.mul(a.times(x, 0.5), tanhSlope), slope);
  return build.add(a.times(a.plus(t, 1), 0.5), tail);
}

Value emitIsInf(const Floats &f, Value x) {
  double infinity = std::numeric_limits<double>::infinity();
  Value result = emitIntConstant(f.b, f.loc, withElement(f.type, f.b.getI1Type()), 0);
  for (auto [wanted, value] : {std::pair(f.alpha, infinity), std::pair(f.beta, -infinity)})
    if (wanted != 0)
      result = f.make<arith::OrIOp>(result, f.compare(arith::CmpFPredicate::OEQ, x, f.c(value)));
  return result;
}

/// Where a decreasing branch is possible, the sign of y does not tell that of x.
Value signCarrier(const Algebra &a, Value x, Value y) { return a.alpha > 0 ? y : x; }

constexpr UnaryFunction kEntries[] = {
    {.kind = K::abs,
     .emit = [](const Floats &f, Value x) { return f.abs(x); },
     .emitInteger = [](const Integers &f, Value x) { return f.isUnsigned ? x : f.make<math::AbsIOp>(x); },
     .evaluate = [](double x, Parameters) { return std::abs(x); },
     .evaluateInteger =
         [](int64_t x, bool isUnsigned) {
           return !isUnsigned && x < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(x)) : x;
         },
     .derivative = [](const Algebra &a, Value x, Value) { return a.apply(K::sign, x); }},
    {.kind = K::neg,
     .emit = [](const Floats &f, Value x) { return f.neg(x); },
     .emitInteger = [](const Integers &f, Value x) { return f.make<arith::SubIOp>(f.c(0), x); },
     .evaluate = [](double x, Parameters) { return -x; },
     .evaluateInteger = [](int64_t x, bool) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); },
     .derivative = [](const Algebra &a, Value x, Value) { return a.like(x, -1); }},
    {.kind = K::exp,
     .emit = call<math::ExpOp>,
     .evaluate = [](double x, Parameters) { return std::exp(x); },
     .derivative = [](const Algebra &, Value, Value y) { return y; }},
    {.kind = K::log,
     .emit = call<math::LogOp>,
     .evaluate = [](double x, Parameters) { return std::log(x); },
     .derivative = [](const Algebra &a, Value x, Value) { return a.inverse(x); }},
    {.kind = K::sqrt,
     .emit = call<math::SqrtOp>,
     .evaluate = [](double x, Parameters) { return std::sqrt(x); },
     .derivative = [](const Algebra &a, Value x, Value y) { return a.build.div(a.like(x, 0.5), y); }},
    {.kind = K::reciprocal,
     .emit = [](const Floats &f, Value x) { return f.div(f.c(1), x); },
     .evaluate = [](double x, Parameters) { return 1 / x; },
     .derivative = [](const Algebra &a, Value, Value y) { return a.times(a.square(y), -1); }},
    {.kind = K::sin,
     .emit = call<math::SinOp>,
     .evaluate = [](double x, Parameters) { return std::sin(x); },
     .derivative = [](const Algebra &a, Value x, Value) { return a.apply(K::cos, x); }},
    {.kind = K::cos,
     .emit = call<math::CosOp>,
     .evaluate = [](double x, Parameters) { return std::cos(x); },
     .derivative = [](const Algebra &a, Value x, Value) { return a.times(a.apply(K::sin, x), -1); }},
    {.kind = K::tan,
     .emit = call<math::TanOp>,
     .evaluate = [](double x, Parameters) { return std::tan(x); },
     .derivative = [](const Algebra &a, Value, Value y) { return a.plus(a.square(y), 1); }},
    {.kind = K::asin,
     .emit = call<math::AsinOp>,
     .evaluate = [](double x, Parameters) { return std::asin(x); },
     .derivative = [](const Algebra &a, Value x,
                      Value) { return a.inverse(a.apply(K::sqrt, a.minusFrom(1, a.square(x)))); }},
    {.kind = K::acos,
     .emit = call<math::AcosOp>,
     .evaluate = [](double x, Parameters) { return std::acos(x); },
     .derivative = [](const Algebra &a, Value x,
                      Value) { return a.times(a.inverse(a.apply(K::sqrt, a.minusFrom(1, a.square(x)))), -1); }},
    {.kind = K::atan,
     .emit = call<math::AtanOp>,
     .evaluate = [](double x, Parameters) { return std::atan(x); },
     .derivative = [](const Algebra &a, Value x, Value) { return a.inverse(a.plus(a.square(x), 1)); }},
    {.kind = K::sinh,
     .emit = call<math::SinhOp>,
     .evaluate = [](double x, Parameters) { return std::sinh(x); },
     .derivative = [](const Algebra &a, Value x, Value) { return a.apply(K::cosh, x); }},
    {.kind = K::cosh,
     .emit = call<math::CoshOp>,
     .evaluate = [](double x, Parameters) { return std::cosh(x); },
     .derivative = [](const Algebra &a, Value x, Value) { return a.apply(K::sinh, x); }},
    {.kind = K::tanh,
     .emit = call<math::TanhOp>,
     .evaluate = [](double x, Parameters) { return std::tanh(x); },
     .derivative = [](const Algebra &a, Value, Value y) { return a.minusFrom(1, a.square(y)); }},
    {.kind = K::asinh,
     .emit = call<math::AsinhOp>,
     .evaluate = [](double x, Parameters) { return std::asinh(x); },
     .derivative = [](const Algebra &a, Value x,
                      Value) { return a.inverse(a.apply(K::sqrt, a.plus(a.square(x), 1))); }},
    {.kind = K::acosh,
     .emit = call<math::AcoshOp>,
     .evaluate = [](double x, Parameters) { return std::acosh(x); },
     .derivative = [](const Algebra &a, Value x,
                      Value) { return a.inverse(a.apply(K::sqrt, a.plus(a.square(x), -1))); }},
    {.kind = K::atanh,
     .emit = call<math::AtanhOp>,
     .evaluate = [](double x, Parameters) { return std::atanh(x); },
     .derivative = [](const Algebra &a, Value x, Value) { return a.inverse(a.minusFrom(1, a.square(x))); }},
    {.kind = K::erf,
     .emit = call<math::ErfOp>,
     .evaluate = [](double x, Parameters) { return std::erf(x); },
     .derivative =
         [](const Algebra &a, Value x, Value) {
           return a.times(a.apply(K::exp, a.times(a.square(x), -1)), 2 * std::numbers::inv_sqrtpi);
         }},
    {.kind = K::sigmoid,
     .emit = [](const Floats &f, Value x) { return f.sigmoid(x); },
     .evaluate = [](double x, Parameters) { return sigmoid(x); },
     .derivative = [](const Algebra &a, Value, Value y) { return a.build.mul(y, a.minusFrom(1, y)); }},
    {.kind = K::relu,
     .emit = [](const Floats &f, Value x) { return f.relu(x); },
     .emitInteger = [](const Integers &f, Value x) { return f.isUnsigned ? x : f.make<arith::MaxSIOp>(x, f.c(0)); },
     .evaluate = [](double x, Parameters) { return x < 0 ? 0 : x; },
     .evaluateInteger = [](int64_t x, bool isUnsigned) { return !isUnsigned && x < 0 ? 0 : x; },
     .derivative =
         [](const Algebra &a, Value x, Value y) {
           const Value zero = a.like(x, 0), one = a.like(x, 1);
           return a.build.select(a.isMore(y, 0), one, zero);
         }},
    {.kind = K::leaky_relu,
     .emit = [](const Floats &f, Value x) { return f.select(f.lt(x, f.c(0)), f.mul(x, f.c(f.alpha)), x); },
     .evaluate = [](double x, Parameters p) { return x < 0 ? p.alpha * x : x; },
     .derivative =
         [](const Algebra &a, Value x, Value y) {
           const Value one = a.like(x, 1), slope = a.like(x, a.alpha);
           return a.build.select(a.isLess(signCarrier(a, x, y), 0), slope, one);
         }},
    {.kind = K::elu,
     .emit = [](const Floats &f,
                Value x) { return f.select(f.lt(x, f.c(0)), f.mul(f.c(f.alpha), f.sub(f.exp(x), f.c(1))), x); },
     .evaluate = [](double x, Parameters p) { return x < 0 ? p.alpha * std::expm1(x) : x; },
     .derivative =
         [](const Algebra &a, Value x, Value y) {
           const Value slope = a.plus(y, a.alpha);
           return a.choose(a.isLess(signCarrier(a, x, y), 0), slope, 1);
         }},
    {.kind = K::selu,
     .emit =
         [](const Floats &f, Value x) {
           return f.mul(f.c(f.beta), f.select(f.gt(x, f.c(0)), x, f.mul(f.c(f.alpha), f.sub(f.exp(x), f.c(1)))));
         },
     .evaluate = [](double x, Parameters p) { return p.beta * (x > 0 ? x : p.alpha * std::expm1(x)); },
     .derivative =
         [](const Algebra &a, Value x, Value y) {
           const Value slope = a.plus(y, a.alpha * a.beta);
           return a.choose(a.isLess(a.beta > 0 ? signCarrier(a, x, y) : x, 0), slope, a.beta);
         }},
    {.kind = K::celu,
     .emit =
         [](const Floats &f, Value x) {
           return f.select(f.lt(x, f.c(0)), f.mul(f.c(f.alpha), f.sub(f.exp(f.div(x, f.c(f.alpha))), f.c(1))), x);
         },
     .evaluate = [](double x, Parameters p) { return x < 0 ? p.alpha * std::expm1(x / p.alpha) : x; },
     .derivative =
         [](const Algebra &a, Value x, Value y) {
           const Value slope = a.plus(a.times(y, 1 / a.alpha), 1);
           return a.choose(a.isLess(signCarrier(a, x, y), 0), slope, 1);
         }},
    {.kind = K::thresholded_relu,
     .emit = [](const Floats &f, Value x) { return f.select(f.gt(x, f.c(f.alpha)), x, f.c(0)); },
     .evaluate = [](double x, Parameters p) { return x > p.alpha ? x : 0; },
     .derivative =
         [](const Algebra &a, Value x, Value) {
           const Value zero = a.like(x, 0), one = a.like(x, 1);
           return a.build.select(a.isMore(x, a.alpha), one, zero);
         }},
    {.kind = K::hard_sigmoid,
     .emit = [](const Floats &f, Value x) { return f.clamp(f.add(f.mul(x, f.c(f.alpha)), f.c(f.beta)), 0, 1); },
     .evaluate = [](double x, Parameters p) { return std::clamp(p.alpha * x + p.beta, 0.0, 1.0); },
     .derivative =
         [](const Algebra &a, Value x, Value y) {
           const Value zero = a.like(x, 0), slope = a.like(x, a.alpha), isBelow = a.isLess(y, 1);
           return a.build.select(a.build.binary(BinaryKind::logical_and, a.isMore(y, 0), isBelow), slope, zero);
         }},
    {.kind = K::hard_swish,
     .emit = [](const Floats &f, Value x) { return f.mul(x, f.clamp(f.add(f.mul(x, f.c(1.0 / 6)), f.c(0.5)), 0, 1)); },
     .evaluate = [](double x, Parameters) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); },
     .derivative =
         [](const Algebra &a, Value x, Value) {
           Value middle = a.plus(a.times(x, 1.0 / 3), 0.5);
           const Value above = a.choose(a.isLess(x, 3), middle, 1), zero = a.like(x, 0);
           return a.build.select(a.isLess(x, -3), zero, above);
         }},
    {.kind = K::softplus,
     .emit = [](const Floats &f, Value x) { return f.softplus(x); },
     .evaluate = [](double x, Parameters) { return softplus(x); },
     .derivative = [](const Algebra &a, Value x, Value) { return a.apply(K::sigmoid, x); }},
    {.kind = K::softsign,
     .emit = [](const Floats &f, Value x) { return f.div(x, f.add(f.c(1), f.abs(x))); },
     .evaluate = [](double x, Parameters) { return x / (1 + std::abs(x)); },
     .derivative = [](const Algebra &a, Value x, Value) { return a.inverse(a.square(a.plus(a.apply(K::abs, x), 1))); }},
    {.kind = K::gelu,
     .emit =
         [](const Floats &f, Value x) {
           return f.mul(f.mul(f.c(0.5), x), f.add(f.c(1), f.erf(f.mul(x, f.c(std::numbers::sqrt2 / 2)))));
         },
     .evaluate = [](double x, Parameters) { return 0.5 * x * (1 + std::erf(x * (std::numbers::sqrt2 / 2))); },
     .derivative =
         [](const Algebra &a, Value x, Value) {
           Value cdf = a.times(a.plus(a.apply(K::erf, a.times(x, std::numbers::sqrt2 / 2)), 1), 0.5);
           Value pdf =
               a.times(a.apply(K::exp, a.times(a.square(x), -0.5)), std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
           return a.build.add(cdf, a.build.mul(x, pdf));
         }},
    {.kind = K::gelu_tanh,
     .emit =
         [](const Floats &f, Value x) {
           Value cube = f.mul(x, f.mul(x, x));
           Value inner = f.mul(f.c(std::sqrt(2 / std::numbers::pi)), f.add(x, f.mul(f.c(0.044715), cube)));
           return f.mul(f.mul(f.c(0.5), x), f.add(f.c(1), f.tanh(inner)));
         },
     .evaluate =
         [](double x, Parameters) {
           return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
         },
     .derivative = derivativeOfGeluTanh},
    {.kind = K::mish,
     .emit = [](const Floats &f, Value x) { return f.mul(x, f.tanh(f.softplus(x))); },
     .evaluate = [](double x, Parameters) { return x * std::tanh(softplus(x)); },
     .derivative =
         [](const Algebra &a, Value x, Value) {
           Value t = a.apply(K::tanh, a.apply(K::softplus, x));
           const Value softplusSlope = a.apply(K::sigmoid, x);
           Value tail = a.build.mul(a.build.mul(x, a.minusFrom(1, a.square(t))), softplusSlope);
           return a.build.add(t, tail);
         }},
    {.kind = K::swish,
     .emit = [](const Floats &f, Value x) { return f.mul(x, f.sigmoid(f.mul(f.c(f.alpha), x))); },
     .evaluate = [](double x, Parameters p) { return x * sigmoid(p.alpha * x); },
     .derivative =
         [](const Algebra &a, Value x, Value) {
           Value s = a.apply(K::sigmoid, a.times(x, a.alpha));
           const Value rest = a.minusFrom(1, s);
           return a.build.add(s, a.build.mul(a.times(a.build.mul(x, s), a.alpha), rest));
         }},
    {.kind = K::sign,
     .emit =
         [](const Floats &f, Value x) {
           Value one = f.select(f.gt(x, f.c(0)), f.c(1), x);
           return f.select(f.lt(x, f.c(0)), f.c(-1), one);
         },
     .emitInteger =
         [](const Integers &f, Value x) {
           if (f.isUnsigned)
             return f.make<arith::MinUIOp>(x, f.c(1));
           Value positive = f.make<arith::MinSIOp>(x, f.c(1));
           return f.make<arith::MaxSIOp>(positive, f.c(-1));
         },
     .evaluate = [](double x, Parameters) { return x > 0   ? 1
                                                   : x < 0 ? -1
                                                           : x; },
     .evaluateInteger = [](int64_t x, bool isUnsigned) { return int64_t(isUnsigned ? x != 0 : (x > 0) - (x < 0)); }},
    {.kind = K::floor,
     .emit = call<math::FloorOp>,
     .emitInteger = sameInteger,
     .evaluate = [](double x, Parameters) { return std::floor(x); },
     .evaluateInteger = evaluateSame},
    {.kind = K::ceil,
     .emit = call<math::CeilOp>,
     .emitInteger = sameInteger,
     .evaluate = [](double x, Parameters) { return std::ceil(x); },
     .evaluateInteger = evaluateSame},
    {.kind = K::round,
     .emit = call<math::RoundEvenOp>,
     .emitInteger = sameInteger,
     .evaluate = [](double x, Parameters) { return std::nearbyint(x); },
     .evaluateInteger = evaluateSame},
    {.kind = K::logical_not,
     .emitInteger = [](const Integers &f, Value x) { return f.make<arith::XOrIOp>(x, f.c(-1)); },
     .evaluateInteger = [](int64_t x, bool) { return int64_t(!x); }},
    {.kind = K::bitwise_not,
     .emitInteger = [](const Integers &f, Value x) { return f.make<arith::XOrIOp>(x, f.c(-1)); },
     .evaluateInteger = [](int64_t x, bool) { return ~x; }},
    {.kind = K::is_nan,
     .emit = [](const Floats &f, Value x) { return f.compare(arith::CmpFPredicate::UNO, x, x); },
     .evaluate = [](double x, Parameters) { return double(std::isnan(x)); }},
    {.kind = K::is_inf,
     .emit = emitIsInf,
     .evaluate = [](double x, Parameters p) { return double(std::isinf(x) && (x > 0 ? p.alpha != 0 : p.beta != 0)); }},
    {.kind = K::shrink,
     .emit =
         [](const Floats &f, Value x) {
           Value low = f.select(f.lt(x, f.c(-f.alpha)), f.add(x, f.c(f.beta)), f.c(0));
           return f.select(f.gt(x, f.c(f.alpha)), f.sub(x, f.c(f.beta)), low);
         },
     .evaluate = [](double x, Parameters p) { return x < -p.alpha  ? x + p.beta
                                                     : x > p.alpha ? x - p.beta
                                                                   : 0; },
     .derivative =
         [](const Algebra &a, Value x, Value) {
           const Value isAbove = a.isMore(x, a.alpha);
           const Value isOutside = a.build.binary(BinaryKind::logical_or, a.isLess(x, -a.alpha), isAbove);
           const Value zero = a.like(x, 0), one = a.like(x, 1);
           return a.build.select(isOutside, one, zero);
         }},
};

template <K kind>
constexpr const UnaryFunction *entry() {
  constexpr size_t index = indexOf(kEntries, kind);
  static_assert(index < std::size(kEntries), "the kind of a row needs exactly one entry in kEntries");
  constexpr const UnaryFunction &function = kEntries[index];
  constexpr const UnaryRow &row = kUnaryRows[static_cast<size_t>(kind)];
  static_assert((function.emit && function.evaluate) || !admitsFloats(row.elements),
                "the row admits floats: their functions are missing");
  static_assert((function.emitInteger && function.evaluateInteger) || !admitsIntegers(row.elements),
                "the row admits integers: their functions are missing");
  static_assert((function.derivative != nullptr) != row.isFlat, "needs a derivative, or isFlat in its row, not both");
  return &function;
}

template <size_t... i>
constexpr std::array<const UnaryFunction *, sizeof...(i)> entries(std::index_sequence<i...>) {
  return {entry<static_cast<K>(i)>()...};
}

constexpr auto kFunctions = entries(std::make_index_sequence<kNumUnaryKinds>());

} // namespace

const UnaryFunction &functionOf(UnaryKind kind) { return *kFunctions[static_cast<size_t>(kind)]; }

Value emitUnary(OpBuilder &b, Location loc, UnaryKind kind, Value x, bool isUnsigned, double alpha, double beta) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return functionOf(kind).emit(Floats{{b, loc, x.getType()}, alpha, beta}, x);
  return functionOf(kind).emitInteger(Integers{{b, loc, x.getType()}, isUnsigned}, x);
}

} // namespace sluice::dataflow
