//===- Pruning.h - A layer as independent blocks ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Partition pruning (Albaqsami's thesis, chapter 8; Shahhosseini et al., arXiv
// 1901.11391). The input neurons (rows of the weight matrix) and the output neurons (columns)
// of a fully connected layer are divided into parts. Only weights between neurons of the same
// part are kept, so the layer becomes independent blocks. This changes its results.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_PRUNING_H
#define SLUICE_TILING_PRUNING_H

#include "sluice/Support/Error.h"

#include <span>
#include <vector>

namespace sluice {

/// The problem is to maximize the sum of the magnitudes of the kept weights. A side with n neurons
/// has n modulo `parts` parts with one neuron more than the others.
struct PruneProblem {
  int64_t rows = 0, columns = 0;  ///< Numbers of input neurons and of output neurons.
  std::span<const float> weights; ///< Row-major [rows, columns]; outlives the problem.
  int64_t parts = 2;

  /// Checks that there are rows x columns finite weights, and 2 to 1024 parts, each with at least
  /// one neuron on either side.
  Status check() const;
};

struct PruneParams {
  int64_t restarts = 0; ///< Number of restarts; 0 means a number that decreases with the size of the layer.
  uint64_t seed = 0;
  int threads = 1; ///< The result does not depend on it.
};

struct PruneSolution {
  std::vector<uint32_t> rowPart, columnPart; ///< Per neuron: its part.
  double kept = 0, total = 0;                ///< Sums of the magnitudes of the kept weights and of all weights.

  /// The fraction of the magnitude that is lost; 0 for a layer of zeros.
  double weightLoss() const { return total > 0 ? 1 - kept / total : 0; }
};

/// Runs the thesis's greedy algorithm several times, from random rows, and improves each result. An
/// improvement keeps the parts of one side. On the other side it takes two parts and distributes their
/// rows (or columns) between them again, optimally. Improvements end when none gains. Returns the best
/// result. Fails on a problem that does not pass check(). The result passes validatePruning.
Expected<PruneSolution> solvePruning(const PruneProblem &problem, const PruneParams &params = {});

/// Checks a solution independently of the solver: parts exist and are balanced, and the sums agree with the weights.
Status validatePruning(const PruneProblem &problem, const PruneSolution &solution);

} // namespace sluice

#endif // SLUICE_TILING_PRUNING_H
