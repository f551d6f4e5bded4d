//===- ElementType.cpp - Element types of tensors in memory ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/TensorIO/ElementType.h"

#include <array>
#include <bit>
#include <cassert>
#include <cmath>

namespace sluice {

namespace {

struct Info {
  ElementType type;
  std::string_view name;
  int bits;
  bool isFloat;
};

constexpr std::array<Info, 24> kTypes{{
    {ElementType::Float32, "float32", 32, true},
    {ElementType::UInt8, "uint8", 8, false},
    {ElementType::Int8, "int8", 8, false},
    {ElementType::UInt16, "uint16", 16, false},
    {ElementType::Int16, "int16", 16, false},
    {ElementType::Int32, "int32", 32, false},
    {ElementType::Int64, "int64", 64, false},
    {ElementType::String, "string", 128, false},
    {ElementType::Bool, "bool", 8, false},
    {ElementType::Float16, "float16", 16, true},
    {ElementType::Float64, "float64", 64, true},
    {ElementType::UInt32, "uint32", 32, false},
    {ElementType::UInt64, "uint64", 64, false},
    {ElementType::BFloat16, "bfloat16", 16, true},
    {ElementType::Float8E4M3FN, "float8e4m3fn", 8, true},
    {ElementType::Float8E4M3FNUZ, "float8e4m3fnuz", 8, true},
    {ElementType::Float8E5M2, "float8e5m2", 8, true},
    {ElementType::Float8E5M2FNUZ, "float8e5m2fnuz", 8, true},
    {ElementType::UInt4, "uint4", 4, false},
    {ElementType::Int4, "int4", 4, false},
    {ElementType::Float4E2M1, "float4e2m1", 4, true},
    {ElementType::Float8E8M0, "float8e8m0", 8, true},
    {ElementType::UInt2, "uint2", 2, false},
    {ElementType::Int2, "int2", 2, false},
}};

const Info &infoOf(ElementType type) {
  for (const Info &info : kTypes)
    if (info.type == type)
      return info;
  assert(false && "not an ElementType");
  return kTypes[0];
}

} // namespace

Expected<ElementType> elementTypeFromOnnx(int64_t number) {
  for (const Info &info : kTypes)
    if (static_cast<int64_t>(info.type) == number)
      return info.type;
  return makeError(ErrorCode::Unsupported, "element type ", number,
                   " of ONNX is not supported, use a floating-point, integer or boolean type");
}

int64_t elementBytes(ElementType type) { return (infoOf(type).bits + 7) / 8; }
int elementBits(ElementType type) { return infoOf(type).bits; }
std::string_view elementTypeName(ElementType type) { return infoOf(type).name; }
bool isFloatingPoint(ElementType type) { return infoOf(type).isFloat; }

float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000u) << 16, exponent = bits >> 10 & 31u, mantissa = bits & 0x3ffu;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {
    float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x477ff000u) // 65520: rounds to infinity.
    return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) // Below 2^-14: a multiple of 2^-24.
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(std::fabs(value), 24))));
  uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<uint16_t>(sign | (rounded - 0x38000000u) >> 13);
}

float bfloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

uint16_t floatToBfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

float smallFloatToFloat(ElementType type, uint8_t bits) {
  if (type == ElementType::Float8E8M0)
    return bits == 0xff ? NAN : std::ldexp(1.0f, bits - 127);
  struct Format {
    int exponentBits, mantissaBits, bias;
  };
  const Format format = type == ElementType::Float8E4M3FN     ? Format{4, 3, 7}
                        : type == ElementType::Float8E4M3FNUZ ? Format{4, 3, 8}
                        : type == ElementType::Float8E5M2     ? Format{5, 2, 15}
                        : type == ElementType::Float8E5M2FNUZ ? Format{5, 2, 16}
                                                              : Format{2, 1, 1}; // Float4E2M1
  const int mantissa = bits & ((1 << format.mantissaBits) - 1);
  const int exponent = bits >> format.mantissaBits & ((1 << format.exponentBits) - 1);
  const bool negative = bits >> (format.mantissaBits + format.exponentBits) & 1;
  const bool isUnsignedZero = type == ElementType::Float8E4M3FNUZ || type == ElementType::Float8E5M2FNUZ;
  if (isUnsignedZero && bits == 0x80)
    return NAN;
  if (type == ElementType::Float8E4M3FN && (bits & 0x7f) == 0x7f)
    return NAN;
  if (type == ElementType::Float8E5M2 && exponent == 31)
    return mantissa ? NAN : negative ? -HUGE_VALF : HUGE_VALF;
  const float magnitude = exponent ? std::ldexp(static_cast<float>(mantissa + (1 << format.mantissaBits)),
                                                exponent - format.bias - format.mantissaBits)
                                   : std::ldexp(static_cast<float>(mantissa), 1 - format.bias - format.mantissaBits);
  return negative ? -magnitude : magnitude;
}

} // namespace sluice
