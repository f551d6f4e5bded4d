//===- Splitting.h - One operator as several --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Where devices that differ share one program, an operator that takes most of its
// time keeps the others waiting. Run as parts by one of its rules it is several
// operators, which placement is free to spread (the exact splits beside
// Albaqsami's partition pruning, chapter 8: batch, output channels, input channels
// with a sum).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_SPLITTING_H
#define SLUICE_TILING_SPLITTING_H

#include "sluice/Optimize/Budget.h"
#include "sluice/Tiling/TensorProgram.h"

#include <functional>

namespace sluice {

/// An operator run as `parts` operators, each on an equal part, by one of its rules.
struct OperatorSplit {
  OperatorId op;
  uint32_t rule = 0;
  int64_t parts = 2;
  bool operator==(const OperatorSplit &) const = default;
};

/// Whether the parts of a rule need nothing of each other and share the work.
bool splitsAlone(const TilingRule &rule);

/// Names the first thing wrong: an operator or rule that is not there, an operator
/// split twice, a rule whose parts do not stand alone or that does not allow so many.
Status checkSplits(const TensorProgram &program, const std::vector<OperatorSplit> &splits);

/// A split with those of `group` that can follow it part by part: who reads its
/// parts, and who makes what it reads in parts, and so on. `group` is ascending and
/// has the split's operator. Ascending; passes checkSplits where `first` does.
std::vector<OperatorSplit> spreadSplit(const TensorProgram &program, const std::vector<OperatorId> &group,
                                       const OperatorSplit &first);

/// How long the program takes with some operators split, and what that hangs on.
struct SplitTrial {
  struct Stretch {
    std::vector<OperatorId> operators; ///< They run as one, or parts of them do; ascending.
    int64_t ns = 0;
  };
  int64_t makespanNs = 0;
  std::vector<Stretch> critical; ///< What the critical path passes through.
};

struct SplitProblem {
  const TensorProgram *program = nullptr;
  int64_t mostParts = 2; ///< Of one operator; at least 2.
  /// Times a program. Infeasible where it does not fit the memories.
  std::function<Expected<SplitTrial>(const std::vector<OperatorSplit> &)> run;
};

struct SplitParams {
  /// Operators that take a smaller share of the makespan are left alone.
  double leastShare = 0.05;
  /// What a split has to gain, as a share of the makespan.
  double leastGain = 0.01;
  Budget budget = {100, std::nullopt, nullptr}; ///< Evaluations: trials.
};

struct SplitSolution {
  std::vector<OperatorSplit> splits; ///< Ascending; none where nothing gains.
  int64_t unsplitNs = 0, makespanNs = 0;
  int64_t trials = 0;
  bool stoppedByClock = false;
};

/// Splits, one after the other, the operators that take most of the critical path,
/// each with its followers, in the way that makes the program fastest; as long as
/// some split gains. makespanNs is the last kept trial's and never above unsplitNs.
/// Fails on an invalid program, and where `run` does but for Infeasible with splits.
Expected<SplitSolution> solveSplits(const SplitProblem &problem, const SplitParams &params = {});

} // namespace sluice

#endif // SLUICE_TILING_SPLITTING_H
