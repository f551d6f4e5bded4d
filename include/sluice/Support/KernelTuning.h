//===- KernelTuning.h - How one kernel is to be computed --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What `sluice tune` chooses for a matrix product or a convolution. The tuning
// file, the attribute #dataflow.tuning and the emitters share this list of fields.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_KERNELTUNING_H
#define SLUICE_SUPPORT_KERNELTUNING_H

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

namespace sluice {

/// How a convolution is computed; its names are kAlgorithmNames, in this order.
enum class TunedAlgorithm : uint8_t { Any, Direct, Winograd2, Winograd4 };
inline constexpr std::array<std::string_view, 4> kAlgorithmNames = {"any", "direct", "winograd2", "winograd4"};

/// 0, or Any, leaves a field to the compiler.
struct KernelTuning {
  TunedAlgorithm algorithm = TunedAlgorithm::Any;
  int64_t rows = 0;       ///< Of a register tile; of a direct convolution, neighbouring output pixels.
  int64_t vectors = 0;    ///< Columns of a register tile, in vectors.
  int64_t rowBlock = 0;   ///< Rows (pixels, Winograd's tiles) that a work item has.
  int64_t depthBlock = 0; ///< Terms of a sum that are added before the next panel is read; of matrix products.
  int64_t chunkNs = 0;    ///< Least estimated time of a chunk of the parallel loop.

  auto operator<=>(const KernelTuning &) const = default;
};

/// What the kernels' loops do, by the code that does it: the thresholds of threads are measured for each.
inline constexpr std::array<std::string_view, 5> kRateNames = {"scalars", "vectors", "products", "byte-products",
                                                               "tile-products"};

/// A loop whose chunks must take so long is never cut.
inline constexpr int64_t kMostChunkNs = int64_t(1) << 40;

/// A number of KernelTuning: its name in files and in the attribute, and the largest value that kernels allow. Blocks
/// whose scratch would take more than 256 KiB of a thread's stack are cut (chooseBlocking).
struct TuningField {
  std::string_view name;
  int64_t KernelTuning::*value;
  int64_t most;
};
inline constexpr std::array<TuningField, 5> kTuningFields = {{{"rows", &KernelTuning::rows, 32},
                                                              {"vectors", &KernelTuning::vectors, 4},
                                                              {"row_block", &KernelTuning::rowBlock, 4096},
                                                              {"depth_block", &KernelTuning::depthBlock, 4096},
                                                              {"chunk_ns", &KernelTuning::chunkNs, kMostChunkNs}}};

} // namespace sluice

#endif // SLUICE_SUPPORT_KERNELTUNING_H
