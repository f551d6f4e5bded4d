//===- KernelTuning.h - The tunable choices of one kernel -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The choices of `sluice tune` for a matrix product or a convolution. The tuning file, the
// attribute #dataflow.tuning and the emitters share this list of fields.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_KERNELTUNING_H
#define SLUICE_SUPPORT_KERNELTUNING_H

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

namespace sluice {

/// The algorithm of a convolution; kAlgorithmNames has the names in this order.
enum class TunedAlgorithm : uint8_t { Any, Direct, Winograd2, Winograd4 };
inline constexpr std::array<std::string_view, 4> kAlgorithmNames = {"any", "direct", "winograd2", "winograd4"};

/// The tuned choices for one operator. If a field is 0 or Any, the compiler chooses its value.
struct KernelTuning {
  TunedAlgorithm algorithm = TunedAlgorithm::Any;
  int64_t rows = 0;       ///< Rows of a register tile; for a direct convolution, neighbouring output pixels.
  int64_t vectors = 0;    ///< Columns of a register tile, in vectors.
  int64_t rowBlock = 0;   ///< Rows (pixels, or tiles of Winograd's algorithm) that one thread computes at a time.
  int64_t depthBlock = 0; ///< For matrix products: terms of a sum that are added before the next panel is read.
  int64_t chunkNs = 0;    ///< Least estimated time of a chunk of the parallel loop.

  auto operator<=>(const KernelTuning &) const = default;
};

/// The kinds of loops. The kind says on which data and with which instructions a loop computes. The compiler estimates
/// the rate of a loop from its kind. For each kind, `sluice tune` measures a threshold: the least estimated time of a
/// loop for which two threads are faster than one.
inline constexpr std::array<std::string_view, 5> kRateNames = {"scalars", "vectors", "products", "byte-products",
                                                               "tile-products"};

/// The greatest value of KernelTuning::chunkNs, with which no loop is divided.
inline constexpr int64_t kMostChunkNs = int64_t(1) << 40;

/// A number of KernelTuning: its name in files and in the attribute, and the largest value that kernels support. If the
/// scratch memory of a block would exceed 256 KiB of a thread's stack, chooseBlocking makes the block smaller.
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
