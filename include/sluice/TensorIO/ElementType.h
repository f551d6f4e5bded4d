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

/// Numbered as ONNX's TensorProto.DataType. Types of less than a byte, strings
/// and complex numbers are not among a compiled model's inputs and outputs.
enum class ElementType : int32_t {
  Float32 = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  Bool = 9,
  Float16 = 10,
  Float64 = 11,
  UInt32 = 12,
  UInt64 = 13,
  BFloat16 = 16,
};

/// Fails (Unsupported) on a number that is not above.
Expected<ElementType> elementTypeFromOnnx(int64_t number);

int64_t elementBytes(ElementType type);
/// "float32", "bfloat16", "bool": ONNX's names, lower case, with the width.
std::string_view elementTypeName(ElementType type);
bool isFloatingPoint(ElementType type);

/// IEEE binary16 and bfloat16 as bits. Narrowing rounds to nearest, ties to
/// even; NaN stays NaN.
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float bfloat16ToFloat(uint16_t bits);
uint16_t floatToBfloat16(float value);

} // namespace sluice

#endif // SLUICE_TENSORIO_ELEMENTTYPE_H
