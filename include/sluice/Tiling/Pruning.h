//===- Pruning.h - A layer as independent blocks ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Partition pruning (Albaqsami's thesis, chapter 8; Shahhosseini et al., arXiv
// 1901.11391): a fully connected layer keeps the weights inside of blocks that
// share no node, and loses all others. What it computes changes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_PRUNING_H
#define SLUICE_TILING_PRUNING_H

#include "sluice/Support/Error.h"

#include <span>
#include <vector>

namespace sluice {

/// Maximize the sum of magnitudes kept. Of n nodes of a side, n modulo `parts` parts
/// have one more than the others.
struct PruneProblem {
  int64_t rows = 0, columns = 0;  ///< Nodes the layer reads and writes.
  std::span<const float> weights; ///< Row-major [rows, columns]; outlives the problem.
  int64_t parts = 2;

  /// There are as many finite weights as said, and 2 to 1024 parts with a node each on
  /// either side.
  Status check() const;
};

struct PruneParams {
  int64_t restarts = 0; ///< 0: a number that falls with the layer's size.
  uint64_t seed = 0;
  int threads = 1; ///< The result is the same on any number.
};

struct PruneSolution {
  std::vector<uint32_t> rowPart, columnPart; ///< Per node.
  double kept = 0, total = 0;                ///< Sums of magnitudes.

  /// The share that is lost; 0 of a layer of zeros.
  double weightLoss() const { return total > 0 ? 1 - kept / total : 0; }
};

/// The thesis's greedy from random rows on, several times; each then improved by
/// dividing the rows, and the columns, of each two parts anew, in the best way given
/// the other side, until nothing is gained. Fails on a problem that does not pass
/// check(). The result passes validatePruning.
Expected<PruneSolution> solvePruning(const PruneProblem &problem, const PruneParams &params = {});

/// Independent of the solver: parts exist and are balanced, the sums are what the
/// weights say.
Status validatePruning(const PruneProblem &problem, const PruneSolution &solution);

} // namespace sluice

#endif // SLUICE_TILING_PRUNING_H
