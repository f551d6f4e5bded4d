//===- Elementwise.cpp - Gradients of unary, binary, select, cast, copy ---===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Gradient/Gradient.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace sluice::dataflow;

namespace {
/// Arithmetic of tensors with numbers.
struct Algebra {
  TensorBuilder &build;

  Value like(Value x, double value) const { return x ? number(build, x, value) : Value(); }
  Value plus(Value x, double value) const { return build.add(x, like(x, value)); }
  Value times(Value x, double value) const { return build.mul(x, like(x, value)); }
  Value minusFrom(double value, Value x) const { return build.sub(like(x, value), x); }
  Value square(Value x) const { return build.mul(x, x); }
  Value apply(UnaryKind kind, Value x) const { return build.unary(kind, x); }
  Value inverse(Value x) const { return apply(UnaryKind::reciprocal, x); }
  Value isLess(Value x, double value) const { return build.compare(ComparePredicate::lt, x, like(x, value)); }
  Value isMore(Value x, double value) const { return build.compare(ComparePredicate::gt, x, like(x, value)); }
  Value choose(Value condition, Value x, double otherwise) const {
    return build.select(condition, x, like(x, otherwise));
  }
};
} // namespace

/// f'(x), from x or from y = f(x), given in any float type; nullopt where it is zero wherever it exists.
static std::optional<Value> derivative(TensorBuilder &build, UnaryOp op, Value x, Value y) {
  Algebra a{build};
  double alpha = op.getAlpha().convertToDouble(), beta = op.getBeta().convertToDouble();
  // Where a decreasing branch is possible, the sign of y does not tell that of x.
  bool increases = alpha > 0;
  auto one = [&] { return a.like(x, 1); };
  switch (op.getKind()) {
  case UnaryKind::abs:
    return a.apply(UnaryKind::sign, x);
  case UnaryKind::neg:
    return a.like(x, -1);
  case UnaryKind::exp:
    return y;
  case UnaryKind::log:
    return a.inverse(x);
  case UnaryKind::sqrt:
    return build.div(a.like(x, 0.5), y);
  case UnaryKind::reciprocal:
    return a.times(a.square(y), -1);
  case UnaryKind::sin:
    return a.apply(UnaryKind::cos, x);
  case UnaryKind::cos:
    return a.times(a.apply(UnaryKind::sin, x), -1);
  case UnaryKind::tan:
    return a.plus(a.square(y), 1);
  case UnaryKind::asin:
    return a.inverse(a.apply(UnaryKind::sqrt, a.minusFrom(1, a.square(x))));
  case UnaryKind::acos:
    return a.times(a.inverse(a.apply(UnaryKind::sqrt, a.minusFrom(1, a.square(x)))), -1);
  case UnaryKind::atan:
    return a.inverse(a.plus(a.square(x), 1));
  case UnaryKind::sinh:
    return a.apply(UnaryKind::cosh, x);
  case UnaryKind::cosh:
    return a.apply(UnaryKind::sinh, x);
  case UnaryKind::tanh:
    return a.minusFrom(1, a.square(y));
  case UnaryKind::asinh:
    return a.inverse(a.apply(UnaryKind::sqrt, a.plus(a.square(x), 1)));
  case UnaryKind::acosh:
    return a.inverse(a.apply(UnaryKind::sqrt, a.plus(a.square(x), -1)));
  case UnaryKind::atanh:
    return a.inverse(a.minusFrom(1, a.square(x)));
  case UnaryKind::erf:
    return a.times(a.apply(UnaryKind::exp, a.times(a.square(x), -1)), 2 * std::numbers::inv_sqrtpi);
  case UnaryKind::sigmoid:
    return build.mul(y, a.minusFrom(1, y));
  case UnaryKind::relu:
    return build.select(a.isMore(y, 0), one(), a.like(x, 0));
  case UnaryKind::leaky_relu:
    return build.select(a.isLess(increases ? y : x, 0), a.like(x, alpha), one());
  case UnaryKind::elu:
    return a.choose(a.isLess(increases ? y : x, 0), a.plus(y, alpha), 1);
  case UnaryKind::selu:
    return a.choose(a.isLess(increases && beta > 0 ? y : x, 0), a.plus(y, alpha * beta), beta);
  case UnaryKind::celu:
    return a.choose(a.isLess(increases ? y : x, 0), a.plus(a.times(y, 1 / alpha), 1), 1);
  case UnaryKind::thresholded_relu:
    return build.select(a.isMore(x, alpha), one(), a.like(x, 0));
  case UnaryKind::hard_sigmoid:
    return build.select(build.binary(BinaryKind::logical_and, a.isMore(y, 0), a.isLess(y, 1)), a.like(x, alpha),
                        a.like(x, 0));
  case UnaryKind::hard_swish: {
    Value middle = a.plus(a.times(x, 1.0 / 3), 0.5);
    return build.select(a.isLess(x, -3), a.like(x, 0), a.choose(a.isLess(x, 3), middle, 1));
  }
  case UnaryKind::softplus:
    return a.apply(UnaryKind::sigmoid, x);
  case UnaryKind::softsign:
    return a.inverse(a.square(a.plus(a.apply(UnaryKind::abs, x), 1)));
  case UnaryKind::gelu: {
    Value cdf = a.times(a.plus(a.apply(UnaryKind::erf, a.times(x, std::numbers::sqrt2 / 2)), 1), 0.5);
    Value pdf = a.times(a.apply(UnaryKind::exp, a.times(a.square(x), -0.5)),
                        std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
    return build.add(cdf, build.mul(x, pdf));
  }
  case UnaryKind::gelu_tanh: {
    constexpr double kCubic = 0.044715;
    const double scale = std::sqrt(2 / std::numbers::pi);
    Value inner = a.times(build.add(x, a.times(build.mul(a.square(x), x), kCubic)), scale);
    Value t = a.apply(UnaryKind::tanh, inner);
    Value slope = a.times(a.plus(a.times(a.square(x), 3 * kCubic), 1), scale);
    Value tail = build.mul(build.mul(a.times(x, 0.5), a.minusFrom(1, a.square(t))), slope);
    return build.add(a.times(a.plus(t, 1), 0.5), tail);
  }
  case UnaryKind::mish: {
    Value t = a.apply(UnaryKind::tanh, a.apply(UnaryKind::softplus, x));
    Value tail = build.mul(build.mul(x, a.minusFrom(1, a.square(t))), a.apply(UnaryKind::sigmoid, x));
    return build.add(t, tail);
  }
  case UnaryKind::swish: {
    Value s = a.apply(UnaryKind::sigmoid, a.times(x, alpha));
    return build.add(s, build.mul(a.times(build.mul(x, s), alpha), a.minusFrom(1, s)));
  }
  case UnaryKind::shrink: {
    Value outside = build.binary(BinaryKind::logical_or, a.isLess(x, -alpha), a.isMore(x, alpha));
    return build.select(outside, one(), a.like(x, 0));
  }
  case UnaryKind::sign:
  case UnaryKind::floor:
  case UnaryKind::ceil:
  case UnaryKind::round:
  case UnaryKind::logical_not:
  case UnaryKind::bitwise_not:
  case UnaryKind::is_nan:
  case UnaryKind::is_inf:
    return std::nullopt;
  }
  llvm_unreachable("unknown unary kind");
}

LogicalResult UnaryOp::buildGradient(TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                     Gradients operands) {
  // In half precision the square of 256 is infinite already, and infinity by zero no number: as kernels do, a
  // derivative computes in f32.
  Type element = elementOf(getInput());
  Type wide = element.getIntOrFloatBitWidth() < 32 ? Type(build.mlir().getF32Type()) : element;
  Value g = build.cast(results[0], wide), x = build.cast(getInput(), wide), y = build.cast(getResult(), wide);
  if (!g || !x || !y)
    return failure();
  if (std::optional<Value> slope = derivative(build, *this, x, y)) {
    Value product = build.mul(g, *slope);
    operands[0] = product ? build.cast(product, element) : product;
    return success(operands[0] != nullptr);
  }
  return success();
}

LogicalResult BinaryOp::buildGradient(TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool> wanted,
                                      Gradients operands) {
  Algebra m{build};
  Value g = results[0], a = getLhs(), c = getRhs(), y = getResult();
  Value zero = m.like(g, 0);
  std::function<Value()> byA, byC;
  auto pass = [&] { return g; };
  switch (getKind()) {
  case BinaryKind::add:
    byA = byC = pass;
    break;
  case BinaryKind::sub:
    byA = pass;
    byC = [&] { return build.unary(UnaryKind::neg, g); };
    break;
  case BinaryKind::mul:
    byA = [&] { return build.mul(g, c); };
    byC = [&] { return build.mul(g, a); };
    break;
  case BinaryKind::div:
    byA = [&] { return build.div(g, c); };
    byC = [&] { return build.unary(UnaryKind::neg, build.div(build.mul(g, y), c)); };
    break;
  case BinaryKind::pow:
    // Where PyTorch has numbers: a^0 does not depend on a, nor 0^c on c from 0.
    byA = [&]() -> Value {
      std::optional<double> exponent = getSplat(c);
      if (exponent && *exponent == 0)
        return build.expand(zero, shapeOf(g));
      Value slope = build.mul(g, build.mul(c, build.binary(BinaryKind::pow, a, m.plus(c, -1))));
      if (exponent)
        return slope;
      return build.select(build.compare(ComparePredicate::eq, c, m.like(c, 0)), zero, slope);
    };
    byC = [&] {
      Value isFlat = build.binary(BinaryKind::logical_and, build.compare(ComparePredicate::eq, a, m.like(a, 0)),
                                  build.compare(ComparePredicate::ge, c, m.like(c, 0)));
      Value logarithm = m.apply(UnaryKind::log, a);
      return build.select(isFlat, zero, build.mul(g, build.mul(y, logarithm)));
    };
    break;
  case BinaryKind::mod:
  case BinaryKind::fmod:
    byA = pass;
    // y = a - c * q, q an integer.
    byC = [&] {
      Value q = m.apply(UnaryKind::round, build.div(build.sub(a, y), c));
      return build.unary(UnaryKind::neg, build.mul(g, q));
    };
    break;
  case BinaryKind::max:
  case BinaryKind::min: {
    // Of equals the left one is chosen.
    ComparePredicate first = getKind() == BinaryKind::max ? ComparePredicate::ge : ComparePredicate::le;
    byA = [&, first] { return build.select(build.compare(first, a, c), g, zero); };
    byC = [&, first] { return build.select(build.compare(first, a, c), zero, g); };
    break;
  }
  case BinaryKind::prelu:
    byA = [&] { return build.select(m.isLess(a, 0), build.mul(g, c), g); };
    byC = [&] { return build.select(m.isLess(a, 0), build.mul(g, a), zero); };
    break;
  default:
    return emitOpError("'") << stringifyBinaryKind(getKind()) << "' has no gradient";
  }
  if (wanted[0])
    operands[0] = sumTo(build, byA(), shapeOf(a));
  if (wanted[1])
    operands[1] = sumTo(build, byC(), shapeOf(c));
  return success((!wanted[0] || operands[0]) && (!wanted[1] || operands[1]));
}

LogicalResult SelectOp::buildGradient(TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool> wanted,
                                      Gradients operands) {
  Value g = results[0], zero = number(build, g, 0);
  if (wanted[1])
    operands[1] = sumTo(build, build.select(getCondition(), g, zero), shapeOf(getOnTrue()));
  if (wanted[2])
    operands[2] = sumTo(build, build.select(getCondition(), zero, g), shapeOf(getOnFalse()));
  return success();
}

LogicalResult CastOp::buildGradient(TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>, Gradients operands) {
  operands[0] = build.cast(results[0], elementOf(getInput()));
  return success();
}

LogicalResult CopyOp::buildGradient(TensorBuilder &, ArrayRef<Value> results, ArrayRef<bool>, Gradients operands) {
  operands[0] = results[0];
  return success();
}
