//===- OperatorSplit.h - Operators split into several -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// When several different devices share one program, an operator that takes most of
// the time keeps the other devices waiting. An operator that is split by one of its
// rules becomes several operators, which placement can spread over devices (the exact
// splits beside Albaqsami's partition pruning, chapter 8: batch, output channels, input
// channels with a sum).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_OPERATORSPLIT_H
#define SLUICE_TILING_OPERATORSPLIT_H

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

/// Whether the parts of a rule exchange nothing and divide the work.
bool splitsAlone(const TilingRule &rule);

/// Names the first thing wrong: an operator or rule that is not there, an operator
/// split twice, a rule whose parts do not stand alone or that does not allow so many.
Status checkSplits(const TensorProgram &program, const std::vector<OperatorSplit> &splits);

/// The split `first` and the splits of the operators of `group` that can follow it part
/// by part: readers of its parts, makers of the operands it reads in parts, and so on.
/// `group` is ascending and contains the operator of `first`. The result is ascending,
/// and passes checkSplits if `first` does.
std::vector<OperatorSplit> spreadSplit(const TensorProgram &program, const std::vector<OperatorId> &group,
                                       const OperatorSplit &first);

/// The makespan of the program with some operators split, and its critical path.
struct SplitTrial {
  struct Stretch {
    std::vector<OperatorId> operators; ///< Run as one group, or in parts; ascending.
    int64_t ns = 0;
  };
  int64_t makespanNs = 0;
  std::vector<Stretch> critical; ///< The stretches on the critical path.
};

struct SplitProblem {
  const TensorProgram *program = nullptr;
  int64_t mostParts = 2; ///< Of one operator; at least 2.
  /// Times the program. Fails with Infeasible if it does not fit the memories.
  std::function<Expected<SplitTrial>(const std::vector<OperatorSplit> &)> run;
};

struct SplitParams {
  /// Operators that take a smaller share of the makespan are not split.
  double leastShare = 0.05;
  /// The least gain of a split, as a share of the makespan.
  double leastGain = 0.01;
  Budget budget = {100, std::nullopt, nullptr}; ///< Evaluations: trials.
};

struct SplitSolution {
  std::vector<OperatorSplit> splits; ///< Ascending; empty if no split gains.
  int64_t unsplitNs = 0, makespanNs = 0;
  int64_t trials = 0;
  bool stoppedByClock = false;
};

/// Splits the operators that take most of the critical path, one after the other and each
/// with its followers, in the way that makes the program fastest, as long as some split
/// gains. makespanNs is the makespan of the last trial that was kept, and at most unsplitNs. Fails
/// on an invalid program, and if `run` fails. One failure of `run` is allowed: if a trial with
/// splits is Infeasible, these splits are not used.
Expected<SplitSolution> solveSplits(const SplitProblem &problem, const SplitParams &params = {});

} // namespace sluice

#endif // SLUICE_TILING_OPERATORSPLIT_H
