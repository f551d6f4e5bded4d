//===- ElementwiseTests.h - How rows of kinds are tested --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The tests' part of the rows of ElementwiseKinds.td, which documents the fields.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_DATAFLOW_ELEMENTWISETESTS_H
#define SLUICE_TEST_UNIT_DATAFLOW_ELEMENTWISETESTS_H

#include "KernelHarness.h"

#include "dialects/Dataflow/IR/ElementwiseKinds.h"

namespace sluice::test {

struct UnaryTest {
  uint32_t value; ///< The kind's: the index in kUnaryRows.
  double at, gives;
  struct {
    double alpha, beta;
  } parameters;
  Fill fill, slopeFill;
  bool isAlphaPositive, isPeriodic;
};

struct BinaryTest {
  uint32_t value;
  double lhs, rhs, gives;
  Fill fill, integerFill, lhsSlopeFill, rhsSlopeFill;
};

#define GET_kUnaryTests_IMPL
#define GET_kBinaryTests_IMPL
#include "dialects/Dataflow/IR/ElementwiseKinds.inc"

/// "{alpha = 0.5 : f64, beta = 0.25 : f64}"
inline std::string parametersOf(double alpha, double beta) {
  return "{alpha = " + std::to_string(alpha) + " : f64, beta = " + std::to_string(beta) + " : f64}";
}

/// A few element types that a row admits.
inline std::vector<std::string> elementsOf(dataflow::ElementClass elements) {
  std::vector<std::string> names;
  if (elements == dataflow::ElementClass::Bool)
    return {"i1"};
  if (dataflow::admitsFloats(elements))
    names = {"f32", "f64", "f16", "bf16"};
  if (dataflow::admitsIntegers(elements))
    names.insert(names.end(), {"i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"});
  return names;
}

inline bool isFloatName(const std::string &element) { return element[0] == 'f' || element[0] == 'b'; }

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_DATAFLOW_ELEMENTWISETESTS_H
