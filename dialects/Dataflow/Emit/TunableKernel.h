//===- TunableKernel.h - What of a kernel can be tuned ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_TUNABLEKERNEL_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_TUNABLEKERNEL_H

#include "sluice/Support/KernelTuning.h"

#include <string>

namespace sluice {

/// A matrix product or a convolution of floats, before dataflow-assign-layout, and all others with its key.
struct TunableKernel {
  std::string key, kind, shape;
  int64_t rows = 1, columns = 1,
          depth = 1;   ///< Of the product: of register tiles' rows, their columns, and sums' terms.
  bool hasTile = true; ///< Without one, the loop's chunks alone can be tuned.
  bool hasDepthBlock = false;
  bool allowsWinograd = false;
  bool allowsShiftAdd = false; ///< The compiler may choose shift_add, which a tuning cannot name.
  KernelTuning chosen; ///< What the compiler chooses: the fields for direct sums, the algorithm where it is known.
};

} // namespace sluice

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_TUNABLEKERNEL_H
