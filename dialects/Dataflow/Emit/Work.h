//===- Work.h - How long a parallel loop takes ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A parallel loop of a kernel is cut into chunks by the time that it takes in all.
// The roofline of a fast core estimates that time, so a slower core's chunks take
// longer and hide the cost of handing them to a thread as well.
// docs/rationale/threads.md has the measurements behind the constants.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_WORK_H
#define SLUICE_DATAFLOW_EMIT_WORK_H

#include "dialects/Dataflow/IR/Shapes.h"
#include "sluice/Support/KernelTuning.h"
#include <array>
#include <optional>
#include <string_view>

namespace sluice::dataflow {

/// Operations of a nanosecond on one core with AVX-512, in code of one kind.
enum class Rate : int64_t {
  Scalars = 2,
  Vectors = 32,
  Products = 200,     ///< Register tiles of f32.
  ByteProducts = 300, ///< Register tiles of bytes.
  TileProducts = 1200 ///< Bytes in tile registers.
};

/// The rates in the order of kRateNames, their names in options and tuning files.
inline constexpr std::array<Rate, kRateNames.size()> kRates = {Rate::Scalars, Rate::Vectors, Rate::Products,
                                                               Rate::ByteProducts, Rate::TileProducts};

/// The least estimated time of a chunk, in nanoseconds, by the rate of the loop: loops of less than twice this time
/// have one chunk.
struct ChunkTimes {
  /// Handing a loop to an awake worker takes less than 1 us, but what the loop reads may lie in the other core's cache:
  /// loops that take less than twice this time rarely gain.
  static constexpr int64_t kDefaultNs = 4'500;
  static constexpr int64_t kNever = kMostChunkNs; ///< No loop of this rate is cut.

  std::array<int64_t, kRates.size()> ns = {kDefaultNs, kDefaultNs, kDefaultNs, kDefaultNs, kDefaultNs};

  int64_t of(Rate rate) const;
  /// "vectors=9000,products=never": absent rates have the default. Nothing where a name is unknown, twice there, or a
  /// time is not from 1 to kNever.
  static std::optional<ChunkTimes> parse(std::string_view text);
};

/// The work of all items of a loop together.
struct Work {
  Rate rate = Rate::Vectors;
  Count operations;
  Count bytes; ///< Read and written.
  /// Whether the code of a single chunk may know its bounds.
  bool specializes = true;
  int64_t chunkNs = 0; ///< The least time of a chunk, where the kernel has its own.

  /// The larger of the time to compute and the time to move the bytes from and to a core's own cache.
  Count ns() const;
};

/// Items of a chunk, a multiple of `multiple`, for a loop of `extent` items; at least 1. A loop too short for two
/// threads is one chunk. A longer one has a power of two of chunks, or up to four times as many where the shares of 2
/// and 4 threads (ThreadPool.h) are then more equal, or one an item where there are fewer items. No number of threads
/// is an argument, so results do not depend on it.
int64_t chooseGrain(int64_t extent, const Work &work, int64_t multiple = 1, const ChunkTimes &chunks = {});

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_WORK_H
