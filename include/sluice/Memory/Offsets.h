//===- Offsets.h - Static memory allocation ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Dynamic storage allocation: buffers with fixed lifetimes get addresses such that
// buffers that are live at the same time do not overlap. The highest address used (the
// peak) is to be minimal. The problem is NP-hard (Garey and Johnson 1979, SR2).
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
  int64_t lower = 0; ///< The buffer is live in [lower, upper). An empty lifetime never conflicts.
  int64_t upper = 0;
  int64_t bytes = 0;
  int64_t alignment = 1; ///< The offset is a multiple of this.
};

struct OffsetProblem {
  std::vector<Buffer> buffers;
  /// Per buffer, for messages and files. If it is empty, messages name buffers by number.
  std::vector<std::string> ids;
  /// With a capacity, a solution must fit into it, and solvers stop at the first solution that
  /// does. Without a capacity, solvers minimize the peak.
  std::optional<int64_t> capacityBytes;
};

struct OffsetSolution {
  std::vector<int64_t> offsets; ///< Per buffer: the address of its first byte, from 0.
  int64_t peakBytes = 0;        ///< Highest end of any buffer.
  int64_t evaluations = 0;      ///< Number of packings that were tried; for solveOffsets see OffsetParams::budget.
  /// A proven lower bound of the peak. If it is equal to the peak, the solution is optimal.
  int64_t boundBytes = 0;
  bool stoppedByClock = false; ///< The clock stopped the search, so another run may give another solution.
};

/// Checks that lifetimes are not reversed, sizes are not negative, alignments are positive,
/// either all buffers have ids or none has, and the sum of all sizes with the worst padding is
/// below 2^62 bytes.
Status check(const OffsetProblem &problem);

/// Checks a solution independently of the solvers, in O(n log n). The message names the
/// buffers.
Status validate(const OffsetProblem &problem, const OffsetSolution &solution);

struct LiveBytes {
  int64_t bytes = 0;
  int64_t time = 0; ///< The first time at which these bytes are live.
};
/// The largest number of bytes that are live at one time, a lower bound of every peak.
LiveBytes maxLive(const OffsetProblem &problem);

enum class FitRule : uint8_t {
  FirstFit, ///< The lowest gap into which the buffer fits.
  BestFit,  ///< The smallest gap into which the buffer fits; ties are broken by the lowest address.
};

enum class BufferOrder : uint8_t {
  Size,     ///< Largest first.
  Lifetime, ///< Longest first.
  Area,     ///< Largest bytes x lifetime first.
  Start,    ///< Earliest first; buffers that start together by descending size.
};

/// Places buffers one at a time in `order`, which has each buffer once. A buffer goes into a
/// gap between the placed buffers that are live at the same time. O(n^2) in general, and
/// O(n log n) if few buffers are live at once.
OffsetSolution packInOrder(const OffsetProblem &problem, const std::vector<uint32_t> &order, FitRule rule);
/// The buffers sorted by a criterion. Ties are broken by the other criteria, then by number.
std::vector<uint32_t> bufferOrder(const OffsetProblem &problem, BufferOrder order);

struct BestFitParams {
  /// Number of packings to try. The first nine are those that solveOffsetsBestFit lists. The others come from a local
  /// search: in the best order so far, it moves a buffer that ends at the peak to an earlier position.
  int64_t evaluations = 64;
  uint64_t seed = 1;
};

/// Tries nine packings (four orders with two rules each, and the result of solveOffsetsOwl with buffers moved to lower
/// offsets where possible) and improves the best of them by a local search. Stops at the lower bound. With a capacity
/// it may fail with Infeasible. The message has the missing bytes, and says whether no packing exists (the live bytes
/// exceed the capacity) or the search found none.
Expected<OffsetSolution> solveOffsetsBestFit(const OffsetProblem &problem, const BestFitParams &params = {});

struct OffsetProgress {
  int64_t peakBytes = 0;  ///< Peak of the best packing so far.
  int64_t boundBytes = 0; ///< The lower bound that is proven so far.
};

struct OffsetParams {
  /// Limit of the evaluations. Each node of the exact search of solveOffsets (below) counts as at least one evaluation.
  /// A greedy packing of n buffers counts as 1 + n / 64 evaluations, rounded down. A step of the local search that
  /// examines n buffers also counts as 1 + n / 64.
  Budget budget{1'000'000, std::nullopt, nullptr};
  uint64_t seed = 1;
  /// Called on the caller's thread with every better packing; may be empty.
  std::function<void(const OffsetProgress &)> progress;
};

/// The default solver. It starts with greedy packings in many orders; the result is never worse than the result of
/// solveOffsetsOwl. It then splits time into intervals that can be packed separately. In each interval it searches for
/// a packing whose peak does not exceed a target. With a capacity, the target is the capacity. Without a capacity, the
/// target is the lower bound at first, and afterwards a value below the best peak so far. The solver alternates between
/// two searches: exact depth-first search under several branching rules, and a local search that removes buffers to
/// insert others. In each turn, both may use more evaluations than in the turn before. The solver runs on one thread
/// and can be stopped at any time. With a capacity it may fail with Infeasible; the message has the missing bytes and
/// says whether this is proven.
Expected<OffsetSolution> solveOffsets(const OffsetProblem &problem, const OffsetParams &params = {});

/// Baseline: the greedy allocator of computation graphs in Owl, a numerical library for OCaml. It processes buffers by
/// the start of their lifetimes. A buffer gets the smallest free block that is large enough. If none of the free blocks
/// is large enough, the largest of them grows. If no block is free, a new block is made. Blocks are never split.
Expected<OffsetSolution> solveOffsetsOwl(const OffsetProblem &problem);

} // namespace sluice

#endif // SLUICE_MEMORY_OFFSETS_H
