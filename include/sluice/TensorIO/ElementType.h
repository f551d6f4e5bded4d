//===- ElementType.h - Element types of tensors in memory -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TENSORIO_ELEMENTTYPE_H
#define SLUICE_TENSORIO_ELEMENTTYPE_H

#include "sluice/Support/Error.h"

#include <cstdint>
#include <string_view>

namespace sluice {

/// Element types with the numbers of ONNX's TensorProto.DataType. An element of a type of less
/// than a byte takes one byte in memory. Strings are views (StringElement). Complex types do
/// not occur in inputs and outputs of compiled models.
enum class ElementType : int32_t {
  Float32 = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Float64 = 11,
  UInt32 = 12,
  UInt64 = 13,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
};

/// Fails with Unsupported on a number that is not in the enumeration.
Expected<ElementType> elementTypeFromOnnx(int64_t number);

int64_t elementBytes(ElementType type);
/// Bits of one element in ONNX's packed form: 2, 4, 8 and so on. A bool has 8.
int elementBits(ElementType type);
/// The name of a type: "float32", "bfloat16", "bool" (ONNX's names in lower case, with the
/// width).
std::string_view elementTypeName(ElementType type);
bool isFloatingPoint(ElementType type);

/// Conversions of IEEE binary16 and bfloat16 as bits. Narrowing rounds to nearest even, and NaN
/// stays NaN.
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float bfloat16ToFloat(uint16_t bits);
uint16_t floatToBfloat16(float value);
/// The value of an element of a float type of 8 or 4 bits.
float smallFloatToFloat(ElementType type, uint8_t bits);

} // namespace sluice

#endif // SLUICE_TENSORIO_ELEMENTTYPE_H
