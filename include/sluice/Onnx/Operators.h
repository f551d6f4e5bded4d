//===- Operators.h - What the importer knows --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_ONNX_OPERATORS_H
#define SLUICE_ONNX_OPERATORS_H

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// An operator of the importer's tables.
struct SupportedOperator {
  std::string domain; ///< "" is ONNX's own.
  std::string name;
  /// Versions of the domain from which on a converter serves, ascending: each until the next one's.
  std::vector<int64_t> since;
  /// What of it is not supported, or needs to be known when the model is compiled; empty: nothing.
  std::string limits;
};

/// All of them, by domain and name, those that only the importer itself handles (If, Loop, Scan) included.
std::vector<SupportedOperator> supportedOperators();

} // namespace sluice

#endif // SLUICE_ONNX_OPERATORS_H
