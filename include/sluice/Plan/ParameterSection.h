//===- ParameterSection.h - What ranks share of a file ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLAN_PARAMETERSECTION_H
#define SLUICE_PLAN_PARAMETERSECTION_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sluice {

/// What several ranks read of a parameter file: a section is as many pieces of
/// one size as ranks have different parts, and each rank maps one of them. A
/// rank's parameters are its pieces of all sections, one behind the other.
struct ParameterSection {
  int64_t bytes = 0;            ///< Of a piece; a multiple of kParameterPage.
  std::vector<uint32_t> pieces; ///< Per rank: which one is its own.
  uint32_t numPieces() const { return *std::max_element(pieces.begin(), pieces.end()) + 1; }
};
/// Pieces are mapped, each by itself.
inline constexpr int64_t kParameterPage = 4096;

} // namespace sluice

#endif // SLUICE_PLAN_PARAMETERSECTION_H
