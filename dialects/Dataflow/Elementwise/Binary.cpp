//===- Binary.cpp - The functions of two tensors --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// This file has the code of each kind: emission, evaluation on the host and derivative. ElementwiseKinds.td has the
// data of the kinds, in the same order.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Functions.h"
#include "dialects/Dataflow/IR/HostElements.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace sluice::dataflow {
namespace {

using K = BinaryKind;

//===----------------------------------------------------------------------===//
// What several kinds share
//===----------------------------------------------------------------------===//

template <typename OpTy>
Value call(const Floats &f, Value x, Value y) {
  return f.make<OpTy>(x, y);
}

template <typename OpTy>
Value callInteger(const Integers &f, Value x, Value y) {
  return f.make<OpTy>(x, y);
}

/// The loop inlines fn: the host vectorizes it.
template <auto fn>
void each(const double *x, const double *y, double *out, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = fn(x[i], y[i]);
}

uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }

/// Division never traps: by zero gives 0 (quotient) or the dividend (remainder); the most negative number by -1 wraps.
Value emitIntDivision(const Integers &f, Value x, Value y, bool remainder) {
  Value zero = f.c(0), one = f.c(1);
  Value isZero = f.compare(arith::CmpIPredicate::eq, y, zero);
  Value isSpecial = isZero;
  if (!f.isUnsigned) {
    Value isMinusOne = f.compare(arith::CmpIPredicate::eq, y, f.c(-1));
    isSpecial = f.make<arith::OrIOp>(isZero, isMinusOne);
  }
  Value safe = f.select(isSpecial, one, y);
  Value quotient = f.isUnsigned ? f.make<arith::DivUIOp>(x, safe) : f.make<arith::DivSIOp>(x, safe);
  Value special = f.select(isZero, zero, f.make<arith::SubIOp>(zero, x));
  quotient = f.select(isSpecial, special, quotient);
  if (!remainder)
    return quotient;
  return f.make<arith::SubIOp>(x, f.make<arith::MulIOp>(quotient, y));
}

/// As emitIntDivision.
int64_t divide(int64_t x, int64_t y, bool isUnsigned) {
  if (y == 0)
    return 0;
  if (isUnsigned)
    return static_cast<int64_t>(bits(x) / bits(y));
  return y == -1 ? static_cast<int64_t>(-bits(x)) : x / y;
}

int64_t remainder(int64_t x, int64_t y, bool isUnsigned) {
  return static_cast<int64_t>(bits(x) - bits(divide(x, y, isUnsigned)) * bits(y));
}

//===----------------------------------------------------------------------===//
// pow
//===----------------------------------------------------------------------===//

/// Exact for what fits a double, as the reference implementations are.
Value emitIntPower(const Integers &f, Value x, Value y) {
  OpBuilder &b = f.b;
  Type f64 = withElement(f.type, b.getF64Type());
  auto widen = [&](Value v) -> Value {
    return f.isUnsigned ? arith::UIToFPOp::create(b, f.loc, f64, v).getResult()
                        : arith::SIToFPOp::create(b, f.loc, f64, v).getResult();
  };
  Value power = math::PowFOp::create(b, f.loc, widen(x), widen(y));
  return emitCast(
      b, f.loc, power, b.getF64Type(),
      IntegerType::get(b.getContext(), f.width(), f.isUnsigned ? IntegerType::Unsigned : IntegerType::Signless),
      /*saturate=*/true);
}

int64_t evaluateIntPower(int64_t x, int64_t y, bool isUnsigned, unsigned width) {
  double power = isUnsigned ? std::pow(static_cast<double>(bits(x)), static_cast<double>(bits(y)))
                            : std::pow(static_cast<double>(x), static_cast<double>(y));
  return clampToInteger(power, width, isUnsigned);
}

/// Where PyTorch has numbers: a^0 does not depend on a.
Value derivativeOfPowerByBase(const BinaryPoint &p) {
  TensorBuilder &build = p.m.build;
  std::optional<double> exponent = getSplat(p.c);
  if (exponent && *exponent == 0)
    return build.expand(p.zero, shapeOf(p.g));
  Value slope = build.mul(p.g, build.mul(p.c, build.binary(K::pow, p.a, p.m.plus(p.c, -1))));
  if (exponent)
    return slope;
  return build.select(build.compare(ComparePredicate::eq, p.c, p.m.like(p.c, 0)), p.zero, slope);
}

/// Where PyTorch has numbers: 0^c does not depend on c from 0.
Value derivativeOfPowerByExponent(const BinaryPoint &p) {
  TensorBuilder &build = p.m.build;
  const Value isNotNegative = build.compare(ComparePredicate::ge, p.c, p.m.like(p.c, 0));
  const Value isZero = build.compare(ComparePredicate::eq, p.a, p.m.like(p.a, 0));
  Value isFlat = build.binary(K::logical_and, isZero, isNotNegative);
  Value logarithm = p.m.apply(UnaryKind::log, p.a);
  return build.select(isFlat, p.zero, build.mul(p.g, build.mul(p.y, logarithm)));
}

//===----------------------------------------------------------------------===//
// mod, fmod
//===----------------------------------------------------------------------===//

/// The remainder with Python's sign, the divisor's.
Value emitFloorMod(const Floats &f, Value x, Value y) {
  Value rest = f.make<arith::RemFOp>(x, y);
  Value nonZero = f.compare(arith::CmpFPredicate::ONE, rest, f.c(0));
  Value differ = f.make<arith::XOrIOp>(f.lt(rest, f.c(0)), f.lt(y, f.c(0)));
  return f.select(f.make<arith::AndIOp>(nonZero, differ), f.add(rest, y), rest);
}

Value emitIntFloorMod(const Integers &f, Value x, Value y) {
  Value rest = emitIntDivision(f, x, y, /*remainder=*/true);
  if (f.isUnsigned)
    return rest;
  Value zero = f.c(0);
  Value nonZero = f.compare(arith::CmpIPredicate::ne, rest, zero);
  Value differ = f.compare(arith::CmpIPredicate::slt, f.make<arith::XOrIOp>(rest, y), zero);
  Value adjust = f.make<arith::AndIOp>(nonZero, differ);
  return f.select(adjust, f.make<arith::AddIOp>(rest, y), rest);
}

double floorMod(double x, double y) {
  double rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

Value passGradient(const BinaryPoint &p) { return p.g; }

/// y = a - c * q, q an integer.
Value derivativeOfRemainderByDivisor(const BinaryPoint &p) {
  TensorBuilder &build = p.m.build;
  Value q = p.m.apply(UnaryKind::round, build.div(build.sub(p.a, p.y), p.c));
  return build.unary(UnaryKind::neg, build.mul(p.g, q));
}

//===----------------------------------------------------------------------===//
// max, min
//===----------------------------------------------------------------------===//

/// As IEEE 754-2019 has them: NaN is passed on, and -0 is below +0.
double maximum(double x, double y) { return std::isnan(x) || x > y || (x == y && !std::signbit(x)) ? x : y; }
double minimum(double x, double y) { return std::isnan(x) || x < y || (x == y && std::signbit(x)) ? x : y; }

/// Of equals the left one is chosen.
template <ComparePredicate first>
Value gradientOfFirst(const BinaryPoint &p) {
  return p.m.build.select(p.m.build.compare(first, p.a, p.c), p.g, p.zero);
}

template <ComparePredicate first>
Value gradientOfOther(const BinaryPoint &p) {
  return p.m.build.select(p.m.build.compare(first, p.a, p.c), p.zero, p.g);
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// Shifting all bits out gives 0, where the instruction would wrap the count.
template <typename OpTy>
Value emitShift(const Integers &f, Value x, Value y) {
  Value limit = f.c(f.width() - 1);
  Value inRange = f.compare(arith::CmpIPredicate::ule, y, limit);
  Value count = f.make<arith::MinUIOp>(y, limit);
  Value shifted = f.make<OpTy>(x, count);
  return f.select(inRange, shifted, f.c(0));
}

/// Of signed integers with copies of the sign, also where all bits are shifted out: ONNX's opset 28.
Value emitShiftRight(const Integers &f, Value x, Value y) {
  if (f.isUnsigned)
    return emitShift<arith::ShRUIOp>(f, x, y);
  Value limit = f.c(f.width() - 1);
  // A negative count is a large one.
  Value count = f.make<arith::MinUIOp>(y, limit);
  return f.make<arith::ShRSIOp>(x, count);
}

int64_t evaluateShiftRight(int64_t x, int64_t y, bool isUnsigned, unsigned width) {
  if (!isUnsigned)
    return x >> std::min<uint64_t>(bits(y), width - 1);
  uint64_t mask = width < 64 ? (uint64_t(1) << width) - 1 : ~uint64_t(0);
  return bits(y) < width ? static_cast<int64_t>((bits(x) & mask) >> bits(y)) : 0;
}

int64_t evaluateAnd(int64_t x, int64_t y, bool, unsigned) { return x & y; }
int64_t evaluateOr(int64_t x, int64_t y, bool, unsigned) { return x | y; }
int64_t evaluateXor(int64_t x, int64_t y, bool, unsigned) { return x ^ y; }

//===----------------------------------------------------------------------===//
// The entries
//===----------------------------------------------------------------------===//

constexpr BinaryFunction kEntries[] = {
    {.kind = K::add,
     .emit = call<arith::AddFOp>,
     .emitInteger = callInteger<arith::AddIOp>,
     .evaluate = each<[](double x, double y) { return x + y; }>,
     .evaluateInteger = [](int64_t x, int64_t y, bool, unsigned) { return static_cast<int64_t>(bits(x) + bits(y)); },
     .byLhs = passGradient,
     .byRhs = passGradient},
    {.kind = K::sub,
     .emit = call<arith::SubFOp>,
     .emitInteger = callInteger<arith::SubIOp>,
     .evaluate = each<[](double x, double y) { return x - y; }>,
     .evaluateInteger = [](int64_t x, int64_t y, bool, unsigned) { return static_cast<int64_t>(bits(x) - bits(y)); },
     .byLhs = passGradient,
     .byRhs = [](const BinaryPoint &p) { return p.m.build.unary(UnaryKind::neg, p.g); }},
    {.kind = K::mul,
     .emit = call<arith::MulFOp>,
     .emitInteger = callInteger<arith::MulIOp>,
     .evaluate = each<[](double x, double y) { return x * y; }>,
     .evaluateInteger = [](int64_t x, int64_t y, bool, unsigned) { return static_cast<int64_t>(bits(x) * bits(y)); },
     .byLhs = [](const BinaryPoint &p) { return p.m.build.mul(p.g, p.c); },
     .byRhs = [](const BinaryPoint &p) { return p.m.build.mul(p.g, p.a); }},
    {.kind = K::div,
     .emit = call<arith::DivFOp>,
     .emitInteger = [](const Integers &f, Value x, Value y) { return emitIntDivision(f, x, y, /*remainder=*/false); },
     .evaluate = each<[](double x, double y) { return x / y; }>,
     .evaluateInteger = [](int64_t x, int64_t y, bool isUnsigned, unsigned) { return divide(x, y, isUnsigned); },
     .byLhs = [](const BinaryPoint &p) { return p.m.build.div(p.g, p.c); },
     .byRhs =
         [](const BinaryPoint &p) {
           return p.m.build.unary(UnaryKind::neg, p.m.build.div(p.m.build.mul(p.g, p.y), p.c));
         }},
    {.kind = K::pow,
     .emit = call<math::PowFOp>,
     .emitInteger = emitIntPower,
     .evaluate = each<[](double x, double y) { return std::pow(x, y); }>,
     .evaluateInteger = evaluateIntPower,
     .byLhs = derivativeOfPowerByBase,
     .byRhs = derivativeOfPowerByExponent},
    {.kind = K::mod,
     .emit = emitFloorMod,
     .emitInteger = emitIntFloorMod,
     .evaluate = each<floorMod>,
     .evaluateInteger =
         [](int64_t x, int64_t y, bool isUnsigned, unsigned) {
           int64_t rest = remainder(x, y, isUnsigned);
           return !isUnsigned && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
         },
     .byLhs = passGradient,
     .byRhs = derivativeOfRemainderByDivisor},
    {.kind = K::fmod,
     .emit = call<arith::RemFOp>,
     .emitInteger = [](const Integers &f, Value x, Value y) { return emitIntDivision(f, x, y, /*remainder=*/true); },
     .evaluate = each<[](double x, double y) { return std::fmod(x, y); }>,
     .evaluateInteger = [](int64_t x, int64_t y, bool isUnsigned, unsigned) { return remainder(x, y, isUnsigned); },
     .byLhs = passGradient,
     .byRhs = derivativeOfRemainderByDivisor},
    {.kind = K::max,
     .emit = call<arith::MaximumFOp>,
     .emitInteger = [](const Integers &f, Value x,
                       Value y) { return f.isUnsigned ? f.make<arith::MaxUIOp>(x, y) : f.make<arith::MaxSIOp>(x, y); },
     .evaluate = each<maximum>,
     .evaluateInteger =
         [](int64_t x, int64_t y, bool isUnsigned, unsigned) {
           return isUnsigned ? static_cast<int64_t>(std::max(bits(x), bits(y))) : std::max(x, y);
         },
     .byLhs = gradientOfFirst<ComparePredicate::ge>,
     .byRhs = gradientOfOther<ComparePredicate::ge>},
    {.kind = K::min,
     .emit = call<arith::MinimumFOp>,
     .emitInteger = [](const Integers &f, Value x,
                       Value y) { return f.isUnsigned ? f.make<arith::MinUIOp>(x, y) : f.make<arith::MinSIOp>(x, y); },
     .evaluate = each<minimum>,
     .evaluateInteger =
         [](int64_t x, int64_t y, bool isUnsigned, unsigned) {
           return isUnsigned ? static_cast<int64_t>(std::min(bits(x), bits(y))) : std::min(x, y);
         },
     .byLhs = gradientOfFirst<ComparePredicate::le>,
     .byRhs = gradientOfOther<ComparePredicate::le>},
    {.kind = K::logical_and, .emitInteger = callInteger<arith::AndIOp>, .evaluateInteger = evaluateAnd},
    {.kind = K::logical_or, .emitInteger = callInteger<arith::OrIOp>, .evaluateInteger = evaluateOr},
    {.kind = K::logical_xor, .emitInteger = callInteger<arith::XOrIOp>, .evaluateInteger = evaluateXor},
    {.kind = K::bitwise_and, .emitInteger = callInteger<arith::AndIOp>, .evaluateInteger = evaluateAnd},
    {.kind = K::bitwise_or, .emitInteger = callInteger<arith::OrIOp>, .evaluateInteger = evaluateOr},
    {.kind = K::bitwise_xor, .emitInteger = callInteger<arith::XOrIOp>, .evaluateInteger = evaluateXor},
    {.kind = K::shift_left,
     .emitInteger = emitShift<arith::ShLIOp>,
     .evaluateInteger = [](int64_t x, int64_t y, bool,
                           unsigned width) { return bits(y) < width ? static_cast<int64_t>(bits(x) << bits(y)) : 0; }},
    {.kind = K::shift_right, .emitInteger = emitShiftRight, .evaluateInteger = evaluateShiftRight},
    {.kind = K::prelu,
     .emit = [](const Floats &f, Value x, Value y) { return f.select(f.lt(x, f.c(0)), f.mul(x, y), x); },
     .emitInteger =
         [](const Integers &f, Value x, Value y) {
           if (f.isUnsigned)
             return x;
           Value isNegative = f.compare(arith::CmpIPredicate::slt, x, f.c(0));
           return f.select(isNegative, f.make<arith::MulIOp>(x, y), x);
         },
     .evaluate = each<[](double x, double y) { return x < 0 ? x * y : x; }>,
     .evaluateInteger = [](int64_t x, int64_t y, bool isUnsigned,
                           unsigned) { return !isUnsigned && x < 0 ? static_cast<int64_t>(bits(x) * bits(y)) : x; },
     .byLhs =
         [](const BinaryPoint &p) {
           const Value scaled = p.m.build.mul(p.g, p.c);
           return p.m.build.select(p.m.isLess(p.a, 0), scaled, p.g);
         },
     .byRhs =
         [](const BinaryPoint &p) {
           const Value scaled = p.m.build.mul(p.g, p.a);
           return p.m.build.select(p.m.isLess(p.a, 0), scaled, p.zero);
         }},
};

template <K kind>
constexpr const BinaryFunction *entry() {
  constexpr size_t index = indexOf(kEntries, kind);
  static_assert(index < std::size(kEntries), "the kind of a row needs exactly one entry in kEntries");
  constexpr const BinaryFunction &function = kEntries[index];
  constexpr ElementClass elements = kBinaryRows[static_cast<size_t>(kind)].elements;
  static_assert((function.emit && function.evaluate && function.byLhs && function.byRhs) || !admitsFloats(elements),
                "the row admits floats: their functions are missing");
  static_assert((function.emitInteger && function.evaluateInteger) || !admitsIntegers(elements),
                "the row admits integers: their functions are missing");
  return &function;
}

template <size_t... i>
constexpr std::array<const BinaryFunction *, sizeof...(i)> entries(std::index_sequence<i...>) {
  return {entry<static_cast<K>(i)>()...};
}

constexpr auto kFunctions = entries(std::make_index_sequence<kNumBinaryKinds>());

} // namespace

const BinaryFunction &functionOf(BinaryKind kind) { return *kFunctions[static_cast<size_t>(kind)]; }

Value emitBinary(OpBuilder &b, Location loc, BinaryKind kind, Value x, Value y, bool isUnsigned) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return functionOf(kind).emit(Floats{{b, loc, x.getType()}}, x, y);
  return functionOf(kind).emitInteger(Integers{{b, loc, x.getType()}, isUnsigned}, x, y);
}

} // namespace sluice::dataflow
