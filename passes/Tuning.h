//===- Tuning.h - The operators that can be tuned ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_TUNING_H
#define SLUICE_PASSES_TUNING_H

#include "dialects/Dataflow/Emit/ContractionSpec.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "sluice/Support/KernelTuning.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct Tuning;
struct ApplyTuningPassOptions;

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

  /// Sets the algorithm that the compiler chooses for a convolution; nothing: direct.
  void choose(std::optional<dataflow::ConvAlgorithm> algorithm);
};

/// The kernels of a function, each once, in the order of their first operators.
std::vector<TunableKernel> tunableKernels(mlir::func::FuncOp function, const emit::VectorTarget &target);

/// The tunings to measure first: the compiler's own, which is empty, and each algorithm that there is.
std::vector<KernelTuning> tuningStarts(const TunableKernel &kernel);

/// The tunings that differ from one by a step in one field: another register tile, a block of half or twice the size,
/// chunks of half or twice the time, or a single chunk. Tiles have room in the registers. A field with the value that
/// the compiler chooses is 0.
std::vector<KernelTuning> tuningNeighbours(const TunableKernel &kernel, const KernelTuning &from,
                                           const emit::VectorTarget &target);

/// As dataflow-apply-tuning, for a tuning that is in memory and outlives the pass.
std::unique_ptr<mlir::Pass> createApplyTuningPass(const ApplyTuningPassOptions &options, const Tuning *tuning);

} // namespace sluice

#endif // SLUICE_PASSES_TUNING_H
