//===- TunableKernel.h - What of a kernel can be tuned ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_TUNABLEKERNEL_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_TUNABLEKERNEL_H

#include "sluice/Support/KernelTuning.h"

#include <string>

namespace sluice {

/// A kernel for all matrix products or convolutions of floats of a function that have one key, before
/// dataflow-assign-layout.
struct TunableKernel {
  std::string key, kind, shape;
  /// The extents of the product: the rows and columns for register tiles, and the terms of sums.
  int64_t rows = 1, columns = 1, depth = 1;
  bool hasTile = true; ///< Whether there is a register tile to tune; else only the loop's chunks can be tuned.
  bool hasDepthBlock = false;
  bool allowsWinograd = false;
  bool allowsShiftAdd = false; ///< Whether the compiler may choose shift_add, which a tuning cannot name.
  KernelTuning chosen;         ///< The compiler's choice: the fields for direct sums, and the algorithm if it is known.
};

} // namespace sluice

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_TUNABLEKERNEL_H
