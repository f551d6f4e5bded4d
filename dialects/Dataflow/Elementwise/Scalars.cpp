//===- Scalars.cpp --------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Elementwise/Floats.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;

namespace sluice::dataflow {

Value emitConstant(OpBuilder &b, Location loc, Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  if (isa<IntegerType>(element))
    return emitIntConstant(b, loc, type, static_cast<int64_t>(value));
  TypedAttr attr = b.getFloatAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(b, loc, attr);
}

Value emitIntConstant(OpBuilder &b, Location loc, Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = b.getIntegerAttr(
      element, APInt(element.getIntOrFloatBitWidth(), value, /*isSigned=*/true, /*implicitTrunc=*/true));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(b, loc, attr);
}

Value emitExtreme(OpBuilder &b, Location loc, Type type, bool isUnsigned, bool lowest) {
  Type element = getElementTypeOrSelf(type);
  if (isa<FloatType>(element)) {
    double infinity = std::numeric_limits<double>::infinity();
    return emitConstant(b, loc, type, lowest ? -infinity : infinity);
  }
  unsigned width = element.getIntOrFloatBitWidth();
  APInt value = lowest ? (isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width))
                       : (isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width));
  return emitIntConstant(b, loc, type, value.getSExtValue());
}

static Type lanesOf(Type element, int64_t lanes) {
  return lanes == 1 ? element : Type(VectorType::get({lanes}, element));
}

Type storageType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  if (isString(elementType))
    return computeType(elementType);
  if (elementType.isBF16())
    return IntegerType::get(context, 16);
  if (isSmallFloat(elementType))
    return IntegerType::get(context, 8);
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(context, std::max(8U, integer.getWidth()));
  return elementType;
}

//===----------------------------------------------------------------------===//
// Floats of 8 and 4 bits
//===----------------------------------------------------------------------===//

namespace {
/// How a small float type's bits are read: sign, exponent, mantissa.
struct SmallFloat {
  int exponentBits, mantissaBits, bias;
  /// All larger codes are NaN (or, with infinity, one of it and then NaN).
  int largestFinite;
  bool hasInfinity, hasNan;
  /// The code of negative zero is the only NaN.
  bool nanIsNegativeZero;

  int bits() const { return 1 + exponentBits + mantissaBits; }
  int sign() const { return 1 << (exponentBits + mantissaBits); }
  int nan() const { return nanIsNegativeZero ? sign() : sign() - 1; }
};
} // namespace

/// Of every small float type but f8E8M0FNU, which has neither sign nor mantissa.
static SmallFloat smallFloat(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return {4, 3, 7, 0x7e, false, true, false};
  if (isa<Float8E4M3FNUZType>(type))
    return {4, 3, 8, 0x7f, false, true, true};
  if (isa<Float8E5M2Type>(type))
    return {5, 2, 15, 0x7b, true, true, false};
  if (isa<Float8E5M2FNUZType>(type))
    return {5, 2, 16, 0x7f, false, true, true};
  return {2, 1, 1, 7, false, false, false}; // f4E2M1FN
}

namespace {
/// Bit manipulation on i32, scalar or vector.
struct Bits {
  OpBuilder &b;
  Location loc;
  Type type;      ///< i32
  Type floatType; ///< f32

  Value c(int64_t value) const { return emitIntConstant(b, loc, type, value); }
  Value real(double value) const { return emitConstant(b, loc, floatType, value); }
  Value add(Value x, Value y) const { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) const { return arith::SubIOp::create(b, loc, x, y); }
  Value conj(Value x, Value y) const { return arith::AndIOp::create(b, loc, x, y); }
  Value disj(Value x, Value y) const { return arith::OrIOp::create(b, loc, x, y); }
  Value shl(Value x, int64_t n) const { return arith::ShLIOp::create(b, loc, x, c(n)); }
  Value shr(Value x, int64_t n) const { return arith::ShRUIOp::create(b, loc, x, c(n)); }
  Value eq(Value x, Value y) const { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y); }
  Value gt(Value x, Value y) const { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, x, y); }
  Value select(Value condition, Value x, Value y) const { return arith::SelectOp::create(b, loc, condition, x, y); }
  Value toFloat(Value bits) const { return arith::BitcastOp::create(b, loc, floatType, bits); }
  Value toBits(Value value) const { return arith::BitcastOp::create(b, loc, type, value); }
};
constexpr int kFloatMantissa = 23, kFloatBias = 127, kFloatInfinity = 0x7f800000, kFloatNan = 0x7fc00000;
} // namespace

static Value fromSmallFloat(OpBuilder &b, Location loc, Type elementType, Value raw) {
  Type wide = withElement(raw.getType(), b.getI32Type());
  Bits f{b, loc, wide, withElement(raw.getType(), b.getF32Type())};
  Value code = arith::ExtUIOp::create(b, loc, wide, raw);
  if (isa<Float8E8M0FNUType>(elementType)) {
    // 2^(code - 127): code is f32's own exponent; 0 is the one subnormal.
    Value bits = f.select(f.eq(code, f.c(0)), f.c(1 << (kFloatMantissa - 1)), f.shl(code, kFloatMantissa));
    return f.toFloat(f.select(f.eq(code, f.c(0xff)), f.c(kFloatNan), bits));
  }
  SmallFloat type = smallFloat(elementType);
  Value magnitude = f.conj(code, f.c(type.sign() - 1));
  // Read as f32 it is too small by a power of two; subnormals come out right with the others.
  Value value = f.toFloat(f.shl(magnitude, kFloatMantissa - type.mantissaBits));
  value = arith::MulFOp::create(b, loc, value, f.real(std::ldexp(1.0, kFloatBias - type.bias)));
  Value bits = f.toBits(value);
  if (type.hasInfinity) {
    bits = f.select(f.gt(magnitude, f.c(type.largestFinite + 1)), f.c(kFloatNan), bits);
    bits = f.select(f.eq(magnitude, f.c(type.largestFinite + 1)), f.c(kFloatInfinity), bits);
  } else if (type.hasNan && !type.nanIsNegativeZero) {
    bits = f.select(f.gt(magnitude, f.c(type.largestFinite)), f.c(kFloatNan), bits);
  }
  Value sign = f.shl(f.conj(code, f.c(type.sign())), 32 - type.bits());
  bits = f.disj(bits, sign);
  if (type.nanIsNegativeZero)
    bits = f.select(f.eq(code, f.c(type.nan())), f.c(kFloatNan), bits);
  return f.toFloat(bits);
}

/// Rounds to nearest even. What is too large becomes the largest finite value (`saturate`), or infinity or NaN,
/// whichever the type has.
static Value toSmallFloat(OpBuilder &b, Location loc, Type elementType, Value value, bool saturate) {
  Type byte = withElement(value.getType(), b.getI8Type());
  Bits f{b, loc, withElement(value.getType(), b.getI32Type()), value.getType()};
  Value bits = f.toBits(value);
  Value magnitude = f.conj(bits, f.c(0x7fffffff));
  Value isNan = f.gt(magnitude, f.c(kFloatInfinity));
  if (isa<Float8E8M0FNUType>(elementType)) {
    // To the next power of two above; there is no sign.
    constexpr int kMost = 0xfe;
    Value code = f.shr(f.add(magnitude, f.c((1 << kFloatMantissa) - 1)), kFloatMantissa);
    // 2^-127 is subnormal in f32.
    code = f.select(f.gt(magnitude, f.c(1 << (kFloatMantissa - 1))), code, f.c(0));
    code = f.select(f.gt(code, f.c(kMost)), f.c(saturate ? kMost : kMost + 1), code);
    return arith::TruncIOp::create(b, loc, byte, f.select(isNan, f.c(kMost + 1), code));
  }
  SmallFloat type = smallFloat(elementType);
  int drop = kFloatMantissa - type.mantissaBits;
  // Normal results: round on the bits, then move the exponent.
  Value odd = f.conj(f.shr(magnitude, drop), f.c(1));
  Value rounded = f.shr(f.add(f.add(magnitude, f.c((1 << (drop - 1)) - 1)), odd), drop);
  Value normal = f.sub(rounded, f.c((kFloatBias - type.bias) << type.mantissaBits));
  // Subnormal ones: adding a power of two whose last place is theirs rounds them.
  double magic = std::ldexp(1.0, drop + 1 - type.bias);
  Value shifted = arith::AddFOp::create(b, loc, f.toFloat(magnitude), f.real(magic));
  Value subnormal = f.sub(f.toBits(shifted), f.toBits(f.real(magic)));
  Value isNormal = f.gt(magnitude, f.c(((kFloatBias - type.bias + 1) << kFloatMantissa) - 1));
  Value code = f.select(isNormal, normal, subnormal);
  int overflow = saturate || !type.hasNan ? type.largestFinite : type.hasInfinity ? type.largestFinite + 1 : type.nan();
  Value isLarge = f.gt(code, f.c(type.largestFinite));
  code = f.select(isLarge, f.c(overflow), code);
  Value sign = f.conj(f.shr(bits, 32 - type.bits()), f.c(type.sign()));
  Value isSigned = type.nanIsNegativeZero ? f.gt(code, f.c(0)) : Value();
  Value withSign = f.disj(code, sign);
  code = isSigned ? f.select(isSigned, withSign, code) : withSign;
  // A type without NaN has negative zero in its place.
  Value nan = type.nanIsNegativeZero || !type.hasNan ? f.c(type.sign()) : f.disj(f.c(type.nan()), sign);
  code = f.select(isNan, nan, code);
  return arith::TruncIOp::create(b, loc, byte, code);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Value fromStorage(OpBuilder &b, Location loc, Type elementType, Value raw) {
  Type type = raw.getType();
  if (elementType.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, raw, emitIntConstant(b, loc, type, 0));
  if (isSmallFloat(elementType))
    return fromSmallFloat(b, loc, elementType, raw);
  if (auto integer = dyn_cast<IntegerType>(elementType); integer && integer.getWidth() < 8)
    return arith::TruncIOp::create(b, loc, withElement(type, computeType(elementType)), raw);
  if (elementType.isF16())
    return arith::ExtFOp::create(b, loc, withElement(type, b.getF32Type()), raw);
  if (elementType.isBF16()) {
    Type wide = withElement(type, b.getI32Type());
    Value bits = arith::ExtUIOp::create(b, loc, wide, raw);
    bits = arith::ShLIOp::create(b, loc, bits, emitIntConstant(b, loc, wide, 16));
    return arith::BitcastOp::create(b, loc, withElement(type, b.getF32Type()), bits);
  }
  return raw;
}

/// What `value` was widened from, where that has the storage type already: rounding again would change nothing.
static Value widenedFrom(Type elementType, Value value) {
  if (auto wide = value.getDefiningOp<arith::ExtFOp>(); wide && elementType.isF16())
    return getElementTypeOrSelf(wide.getIn()).isF16() ? wide.getIn() : Value();
  if (!elementType.isBF16())
    return {};
  auto number = value.getDefiningOp<arith::BitcastOp>();
  auto shifted = number ? number.getIn().getDefiningOp<arith::ShLIOp>() : arith::ShLIOp();
  auto wide = shifted ? shifted.getLhs().getDefiningOp<arith::ExtUIOp>() : arith::ExtUIOp();
  APInt places;
  return wide && getElementTypeOrSelf(wide.getIn()).isInteger(16) &&
                 matchPattern(shifted.getRhs(), m_ConstantInt(&places)) && places == 16
             ? wide.getIn()
             : Value();
}

static Value toStorage(OpBuilder &b, Location loc, Type elementType, Value value, bool saturate = false) {
  Type type = value.getType();
  if (Value stored = widenedFrom(elementType, value))
    return stored;
  if (isSmallFloat(elementType))
    return toSmallFloat(b, loc, elementType, value, saturate);
  if (auto integer = dyn_cast<IntegerType>(elementType); integer && integer.getWidth() < 8) {
    Type byte = withElement(type, b.getI8Type());
    return isUnsignedElement(elementType) ? arith::ExtUIOp::create(b, loc, byte, value).getResult()
                                          : arith::ExtSIOp::create(b, loc, byte, value).getResult();
  }
  if (elementType.isF16())
    return arith::TruncFOp::create(b, loc, withElement(type, b.getF16Type()), value);
  if (elementType.isBF16()) {
    // Round to nearest even on the bits; NaN stays a (quiet) NaN.
    Type wide = withElement(type, b.getI32Type());
    auto constant = [&](int64_t v) { return emitIntConstant(b, loc, wide, v); };
    Value bits = arith::BitcastOp::create(b, loc, wide, value);
    Value lsb = arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, bits, constant(16)), constant(1));
    Value rounded = arith::AddIOp::create(b, loc, bits, arith::AddIOp::create(b, loc, lsb, constant(0x7fff)));
    Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
    Value quiet = arith::OrIOp::create(b, loc, bits, constant(0x400000));
    Value chosen = arith::SelectOp::create(b, loc, isNan, quiet, rounded);
    Value high = arith::ShRUIOp::create(b, loc, chosen, constant(16));
    return arith::TruncIOp::create(b, loc, withElement(type, b.getI16Type()), high);
  }
  return value;
}

Value emitLoad(OpBuilder &b, Location loc, Value address, Type elementType, int64_t lanes, bool whole) {
  Type storage = storageType(elementType);
  unsigned alignment = std::max(1u, storage.getIntOrFloatBitWidth() / 8) * (whole ? lanes : 1);
  Value raw = LLVM::LoadOp::create(b, loc, lanesOf(storage, lanes), address, alignment);
  return fromStorage(b, loc, elementType, raw);
}

void emitStore(OpBuilder &b, Location loc, Value address, Type elementType, Value value, bool whole) {
  Type storage = storageType(elementType);
  unsigned alignment = std::max(1u, storage.getIntOrFloatBitWidth() / 8);
  Value raw = toStorage(b, loc, elementType, value);
  if (auto vector = dyn_cast<VectorType>(raw.getType()); vector && whole)
    alignment *= vector.getNumElements();
  LLVM::StoreOp::create(b, loc, raw, address, alignment);
}

Value emitRoundTrip(OpBuilder &b, Location loc, Type elementType, Value value) {
  if (!elementType.isF16() && !elementType.isBF16() && !isSmallFloat(elementType))
    return value;
  return fromStorage(b, loc, elementType, toStorage(b, loc, elementType, value));
}

Value emitBitcast(OpBuilder &b, Location loc, Value value, Type from, Type to) {
  Value raw = toStorage(b, loc, from, value);
  Type wanted = withElement(raw.getType(), storageType(to));
  if (raw.getType() != wanted)
    raw = arith::BitcastOp::create(b, loc, wanted, raw);
  return fromStorage(b, loc, to, raw);
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

Value emitCompare(OpBuilder &b, Location loc, ComparePredicate predicate, Value x, Value y, bool isUnsigned) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType()))) {
    using P = arith::CmpFPredicate;
    constexpr P table[] = {P::OEQ, P::UNE, P::OLT, P::OLE, P::OGT, P::OGE};
    return arith::CmpFOp::create(b, loc, table[static_cast<unsigned>(predicate)], x, y);
  }
  using P = arith::CmpIPredicate;
  constexpr P signedTable[] = {P::eq, P::ne, P::slt, P::sle, P::sgt, P::sge};
  constexpr P unsignedTable[] = {P::eq, P::ne, P::ult, P::ule, P::ugt, P::uge};
  return arith::CmpIOp::create(b, loc, (isUnsigned ? unsignedTable : signedTable)[static_cast<unsigned>(predicate)], x,
                               y);
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Float to an integer type, clamped to its range; NaN becomes 0.
static Value emitSaturatingToInt(OpBuilder &b, Location loc, Value x, unsigned width, bool isUnsigned) {
  Type type = x.getType();
  auto floatType = cast<FloatType>(getElementTypeOrSelf(type));
  Floats f{{b, loc, type}};
  Type target = withElement(type, b.getIntegerType(width));
  APInt lowest = isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
  APInt highest = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  // The largest float not above `highest`: it may itself not be representable.
  APFloat top(floatType.getFloatSemantics());
  top.convertFromAPInt(highest, !isUnsigned, APFloat::rmTowardZero);
  APFloat bottom(floatType.getFloatSemantics());
  bottom.convertFromAPInt(lowest, !isUnsigned, APFloat::rmTowardZero);
  bool loses;
  APFloat topDouble = top, bottomDouble = bottom;
  topDouble.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  bottomDouble.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  // Where the least value is 0, the comparison that fails for NaN gives it too.
  Value finite = x;
  if (!lowest.isZero()) {
    Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
    finite = f.select(isNan, f.c(0), x);
  }
  const double least = bottomDouble.convertToDouble(), most = topDouble.convertToDouble();
  Value raised =
      lowest.isZero() ? f.select(f.gt(x, f.c(0)), x, f.c(0)) : f.select(f.lt(finite, f.c(least)), f.c(least), finite);
  Value clamped = f.select(f.gt(raised, f.c(most)), f.c(most), raised);
  Value integer = isUnsigned ? arith::FPToUIOp::create(b, loc, target, clamped).getResult()
                             : arith::FPToSIOp::create(b, loc, target, clamped).getResult();
  APSInt reached(width, isUnsigned);
  bool isExact;
  top.convertToInteger(reached, APFloat::rmTowardZero, &isExact);
  if (APInt(reached) == highest)
    return integer;
  Value above = f.gt(raised, f.c(most));
  return arith::SelectOp::create(b, loc, above, emitIntConstant(b, loc, target, highest.getSExtValue()), integer);
}

Value emitCast(OpBuilder &b, Location loc, Value x, Type from, Type to, bool saturate) {
  Type source = x.getType();
  Type sourceElement = getElementTypeOrSelf(source);
  Type target = withElement(source, computeType(to));
  bool fromUnsigned = isUnsignedElement(from);
  if (isa<FloatType>(sourceElement)) {
    if (isa<FloatType>(to)) {
      unsigned fromWidth = sourceElement.getIntOrFloatBitWidth();
      unsigned toWidth = computeType(to).getIntOrFloatBitWidth();
      Value value = x;
      if (toWidth > fromWidth)
        value = arith::ExtFOp::create(b, loc, target, x);
      else if (toWidth < fromWidth)
        value = arith::TruncFOp::create(b, loc, target, x);
      if (isSmallFloat(to))
        return fromStorage(b, loc, to, toStorage(b, loc, to, value, saturate));
      return emitRoundTrip(b, loc, to, value);
    }
    if (to.isInteger(1))
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, emitConstant(b, loc, source, 0));
    unsigned width = to.getIntOrFloatBitWidth();
    bool toUnsigned = to.isUnsignedInteger();
    if (saturate || width == 64)
      return emitSaturatingToInt(b, loc, x, width, toUnsigned);
    // Out of range wraps, as C and numpy do on x86-64.
    Value wide = emitSaturatingToInt(b, loc, x, 64, /*isUnsigned=*/false);
    return arith::TruncIOp::create(b, loc, target, wide);
  }
  if (isa<FloatType>(to)) {
    Value value = fromUnsigned ? arith::UIToFPOp::create(b, loc, target, x).getResult()
                               : arith::SIToFPOp::create(b, loc, target, x).getResult();
    return emitRoundTrip(b, loc, to, value);
  }
  if (to.isInteger(1))
    return sourceElement.isInteger(1)
               ? x
               : Value(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, emitIntConstant(b, loc, source, 0)));
  unsigned fromWidth = sourceElement.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (toWidth == fromWidth)
    return x;
  if (toWidth < fromWidth)
    return arith::TruncIOp::create(b, loc, target, x);
  return fromUnsigned ? arith::ExtUIOp::create(b, loc, target, x).getResult()
                      : arith::ExtSIOp::create(b, loc, target, x).getResult();
}

Value emitSplitMix64(OpBuilder &b, Location loc, Value state) {
  auto constant = [&](uint64_t value) { return emitIntConstant(b, loc, b.getI64Type(), static_cast<int64_t>(value)); };
  auto folded = [&](Value x, uint64_t shift) -> Value {
    return arith::XOrIOp::create(b, loc, x, arith::ShRUIOp::create(b, loc, x, constant(shift)));
  };
  Value x = arith::MulIOp::create(b, loc, folded(state, 30), constant(0xbf58476d1ce4e5b9));
  x = arith::MulIOp::create(b, loc, folded(x, 27), constant(0x94d049bb133111eb));
  return folded(x, 31);
}

} // namespace sluice::dataflow
