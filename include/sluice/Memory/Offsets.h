//===- Offsets.h - Static memory allocation ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Buffers with fixed lifetimes get addresses such that no two that live at the
// same time overlap, and the highest address used (the peak) is small: dynamic
// storage allocation, NP-hard (Garey and Johnson 1979, SR2).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MEMORY_OFFSETS_H
#define SLUICE_MEMORY_OFFSETS_H

#include "sluice/Optimize/Budget.h"
#include "sluice/Support/Error.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct Buffer {
  int64_t lower = 0; ///< Live in [lower, upper); an empty lifetime never clashes.
  int64_t upper = 0;
  int64_t bytes = 0;
  int64_t alignment = 1; ///< The offset is a multiple of this.
};

struct OffsetProblem {
  std::vector<Buffer> buffers;
  /// Per buffer, for messages and files; empty: buffers are named by number.
  std::vector<std::string> ids;
  /// Where given, a solution must end within, and solvers stop at the first
  /// that does; where not, they make the peak as small as they can.
  std::optional<int64_t> capacityBytes;
};

struct OffsetSolution {
  std::vector<int64_t> offsets; ///< Per buffer.
  int64_t peakBytes = 0;        ///< Highest end of any buffer.
  int64_t evaluations = 0;      ///< Packings tried; of solveOffsets, as its budget counts.
  /// Proven: no packing has a smaller peak. Equal to the peak: optimal.
  int64_t boundBytes = 0;
  bool stoppedByClock = false; ///< Another run may end elsewhere.
};

/// Checks the input: lifetimes not reversed, sizes not negative, alignments
/// positive, one id a buffer where there are ids, and all of it together
/// (with the worst padding) below 2^62 bytes.
Status check(const OffsetProblem &problem);

/// Independent of the solvers, O(n log n). The message names the buffers.
Status validate(const OffsetProblem &problem, const OffsetSolution &solution);

struct LiveBytes {
  int64_t bytes = 0;
  int64_t time = 0; ///< The first moment at which so much is live.
};
/// The most bytes live at one time: no packing has a smaller peak.
LiveBytes maxLive(const OffsetProblem &problem);

enum class FitRule : uint8_t {
  FirstFit, ///< The lowest gap that takes the buffer.
  BestFit,  ///< The smallest gap that takes it, the lowest of these.
};

enum class BufferOrder : uint8_t {
  Size,     ///< Largest first.
  Lifetime, ///< Longest first.
  Area,     ///< Largest bytes x lifetime first.
  Start,    ///< Earliest first, larger first among these.
};

/// Places buffers one at a time in `order` (each buffer once), into the gaps
/// left by those placed before that are live at the same time. O(n^2), and n log n
/// where few are live at once.
OffsetSolution packInOrder(const OffsetProblem &problem, const std::vector<uint32_t> &order, FitRule rule);
/// The buffers sorted by a criterion, ties by the others and then by number.
std::vector<uint32_t> bufferOrder(const OffsetProblem &problem, BufferOrder order);

struct BestFitParams {
  /// Packings to try; the nine of the portfolio come first. What is left goes
  /// to a local search that moves buffers of the peak ahead in the best order.
  int64_t evaluations = 64;
  uint64_t seed = 1;
};

/// The best over four orders x two rules and Owl's packing compacted, then local
/// search. Stops at the lower bound. Infeasible, with a capacity, says by how many bytes: either no
/// packing exists (the live bytes exceed it) or none was found.
Expected<OffsetSolution> solveOffsetsBestFit(const OffsetProblem &problem, const BestFitParams &params = {});

struct OffsetProgress {
  int64_t peakBytes = 0;  ///< Of the best packing so far.
  int64_t boundBytes = 0; ///< Proven so far.
};

struct OffsetParams {
  /// Evaluations are nodes of the exact search and steps of the improvement; 64
  /// buffers placed by a greedy packing or looked at by a step count as one.
  Budget budget{1'000'000, std::nullopt, nullptr};
  uint64_t seed = 1;
  /// Called on the caller's thread with every better packing; may be empty.
  std::function<void(const OffsetProgress &)> progress;
};

/// The default: greedy packings in many orders (never worse than Owl's), then, in
/// every part of the time that can be packed alone, a search for a packing within
/// the capacity, or within the bound and then within ever less than the best so
/// far. The search alternates, with growing limits, exact depth-first searches
/// under several branching rules and an improvement that takes buffers out to let
/// others in. Anytime, one thread. Infeasible, with a capacity, says by how many bytes and
/// whether it is proven.
Expected<OffsetSolution> solveOffsets(const OffsetProblem &problem, const OffsetParams &params = {});

/// Baseline: the greedy allocator of Owl's computation graph. In order of
/// lifetimes' starts: the smallest free block that fits, else the largest free
/// block grown, else a new block. A block never splits.
Expected<OffsetSolution> solveOffsetsOwl(const OffsetProblem &problem);

} // namespace sluice

#endif // SLUICE_MEMORY_OFFSETS_H
