//===- Operators.h - Operators that the importer supports -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_ONNX_OPERATORS_H
#define SLUICE_ONNX_OPERATORS_H

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// An operator that the importer supports.
struct SupportedOperator {
  std::string domain; ///< "" is ONNX's own.
  std::string name;
  /// For each converter of the operator: the first version of the domain to which the converter applies, ascending. It
  /// applies until the next converter's first version.
  std::vector<int64_t> since;
  /// Unsupported features, and operands that must be known at compile time; empty if there are none.
  std::string limits;
};

/// All supported operators by domain and name, including those without a converter (If, Loop, Scan).
std::vector<SupportedOperator> supportedOperators();

} // namespace sluice

#endif // SLUICE_ONNX_OPERATORS_H
