//===- ElementwiseKinds.h - The rows of kinds as tables ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The data of the kinds of `unary` and `binary`, generated from the rows of ElementwiseKinds.td, which documents the
// fields. Their code is in Elementwise/.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_ELEMENTWISEKINDS_H
#define SLUICE_DATAFLOW_IR_ELEMENTWISEKINDS_H

#include "dialects/Dataflow/IR/Dataflow.h"

#include <iterator>

namespace sluice::dataflow {

enum class ElementClass {
  Any,
  Number, ///< Floats and integers, not bool.
  Float,
  Integer, ///< Bool is an integer of one bit.
  Bool,
};

struct UnaryRow {
  uint32_t value; ///< The value of the kind, which is also the index of the row.
  const char *name;
  ElementClass elements;
  int64_t flops; ///< Operations per element.
  bool isTest;   ///< Whether the result is bool.
  bool isFlat;   ///< Whether the derivative is zero wherever it exists.
  const char *onnx;
  int64_t onnxSince;
  bool hasOwnImport;
  const char *alpha; ///< The name of an attribute of the ONNX node; empty if it has none.
  double alphaDefault;
  const char *beta;
  double betaDefault;
};

struct BinaryRow {
  uint32_t value;
  const char *name;
  ElementClass elements;
  int64_t flops;
  const char *onnx;
  int64_t onnxSince;
  bool hasOwnImport, isVariadic;
};

#define GET_kUnaryRows_IMPL
#define GET_kBinaryRows_IMPL
#include "dialects/Dataflow/IR/ElementwiseKinds.inc"

template <typename Row, size_t count>
constexpr bool areIndexedByKind(const Row (&rows)[count]) {
  for (size_t i = 0; i < count; ++i)
    if (rows[i].value != i)
      return false;
  return true;
}
static_assert(areIndexedByKind(kUnaryRows) && areIndexedByKind(kBinaryRows), "kinds are numbered from 0 without gaps");
inline constexpr size_t kNumUnaryKinds = std::size(kUnaryRows), kNumBinaryKinds = std::size(kBinaryRows);

inline const UnaryRow &rowOf(UnaryKind kind) { return kUnaryRows[static_cast<size_t>(kind)]; }
inline const BinaryRow &rowOf(BinaryKind kind) { return kBinaryRows[static_cast<size_t>(kind)]; }

constexpr bool admitsFloats(ElementClass elements) {
  return elements == ElementClass::Any || elements == ElementClass::Number || elements == ElementClass::Float;
}
constexpr bool admitsIntegers(ElementClass elements) { return elements != ElementClass::Float; }

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_ELEMENTWISEKINDS_H
