//===- ParameterSection.h - Sections of the parameter file ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLAN_PARAMETERSECTION_H
#define SLUICE_PLAN_PARAMETERSECTION_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sluice {

/// A section of the parameter file of a model for several ranks. It consists of pieces of the
/// same size, one for each distinct part of the section's parameters that a rank may have. A
/// rank maps one piece of each section. The parameters of a rank are its pieces of all sections,
/// one after the other.
struct ParameterSection {
  int64_t bytes = 0;            ///< Size of a piece; a multiple of kParameterPage.
  std::vector<uint32_t> pieces; ///< Per rank: the index of its piece.
  uint32_t numPieces() const { return *std::max_element(pieces.begin(), pieces.end()) + 1; }
};
/// Each piece begins at a multiple of this number of bytes, because it is mapped separately.
inline constexpr int64_t kParameterPage = 4096;

} // namespace sluice

#endif // SLUICE_PLAN_PARAMETERSECTION_H
