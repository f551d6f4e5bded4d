//===- Tuning.h - The operators that can be tuned ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_TUNING_H
#define SLUICE_PASSES_TUNING_H

#include "dialects/Dataflow/Emit/ContractionSpec.h"
#include "dialects/Dataflow/Emit/TunableKernel.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "sluice/Support/KernelTuning.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
#include <optional>
#include <vector>

namespace sluice {

struct Tuning;
struct ApplyTuningPassOptions;

/// The kernels of a function, each once, in the order of their first operators.
std::vector<TunableKernel> tunableKernels(mlir::func::FuncOp function, const emit::VectorTarget &target);

/// Sets the algorithm that the compiler chooses for a convolution; nothing means direct convolution.
void setChosenAlgorithm(TunableKernel &kernel, std::optional<dataflow::ConvAlgorithm> algorithm);

/// The tunings to measure first: the compiler's own, which is empty, and each algorithm that the kernel allows. Direct
/// sums add the highest tile of each width and one that cuts the rows evenly. Winograd's algorithm adds small and large
/// blocks. From one of these to another, each path of single steps leads through slower tunings.
std::vector<KernelTuning> tuningStarts(const TunableKernel &kernel, const emit::VectorTarget &target);

/// The tunings that differ from `from` by a step in one field: another register tile, or a block of half or twice the
/// size. All tiles fit into the registers. A field that has the compiler's choice is 0.
std::vector<KernelTuning> tuningNeighbours(const TunableKernel &kernel, const KernelTuning &from,
                                           const emit::VectorTarget &target);

/// The tunings that differ from `from` in the time of a chunk: half or twice as much, or a single chunk. Measurements
/// with one thread do not tell them apart.
std::vector<KernelTuning> chunkNeighbours(const KernelTuning &from);

/// Every tuning that the steps of tuningNeighbours reach from the starts. The first is the compiler's own.
std::vector<KernelTuning> tuningGrid(const TunableKernel &kernel, const emit::VectorTarget &target);

/// The pass dataflow-apply-tuning with a tuning in memory, which must outlive the pass.
std::unique_ptr<mlir::Pass> createApplyTuningPass(const ApplyTuningPassOptions &options, const Tuning *tuning);

} // namespace sluice

#endif // SLUICE_PASSES_TUNING_H
