//===- Work.h - How long a parallel loop takes ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A parallel loop of a kernel is cut into chunks by its total time. The roofline of a fast core estimates that time, so
// the chunks of a slower core take longer and still hide the cost of passing them to a thread.
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

/// Operations per nanosecond on one core with AVX-512, for a kind of code.
enum class Rate : int64_t {
  Scalars = 2,
  Vectors = 32,
  Products = 200,     ///< Register tiles of f32.
  ByteProducts = 300, ///< Register tiles of bytes.
  TileProducts = 1200 ///< Products of bytes in tile registers.
};

/// The rates in the order of kRateNames, which has their names in options and tuning files.
inline constexpr std::array<Rate, kRateNames.size()> kRates = {Rate::Scalars, Rate::Vectors, Rate::Products,
                                                               Rate::ByteProducts, Rate::TileProducts};

/// The least estimated time of a chunk in nanoseconds, for each rate of a loop. A loop of less than twice this time has
/// one chunk.
struct ChunkTimes {
  /// Passing a loop to an awake worker takes less than 1 us, but the data may be in the first core's cache. So loops of
  /// less than twice this time rarely gain from a second thread.
  static constexpr int64_t kDefaultNs = 4'500;
  static constexpr int64_t kNever = kMostChunkNs; ///< No loop of this rate is cut.

  std::array<int64_t, kRates.size()> ns = {kDefaultNs, kDefaultNs, kDefaultNs, kDefaultNs, kDefaultNs};

  int64_t of(Rate rate) const;
  /// Reads text such as "vectors=9000,products=never". Absent rates have the default. Returns nothing if a name is
  /// unknown or repeated, or if a time is not from 1 to kNever.
  static std::optional<ChunkTimes> parse(std::string_view text);
};

/// The work of all items of a loop together.
struct Work {
  Rate rate = Rate::Vectors;
  Count operations;
  Count bytes; ///< The bytes read and written.
  /// Whether the code of a loop with a single chunk may have constant bounds.
  bool specializes = true;
  int64_t chunkNs = 0; ///< The kernel's own least time of a chunk; 0 for the default of its rate.

  /// The larger of the time to compute and the time to move the bytes from and to a core's own cache.
  Count ns() const;
};

/// The items of a chunk for a loop of `extent` items: a multiple of `multiple`, at least 1. A loop too short for two
/// threads is one chunk. The number of chunks of a longer loop is a power of two, or up to four times as many if that
/// makes the shares of 2 and 4 threads (ThreadPool.h) more equal. There is never more than one chunk per item. The
/// number of threads is not an argument, so results do not depend on it.
int64_t chooseGrain(int64_t extent, const Work &work, int64_t multiple = 1, const ChunkTimes &chunks = {});

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_WORK_H
