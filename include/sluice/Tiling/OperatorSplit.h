//===- OperatorSplit.h - Operators split into several -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// When several different devices share one program, an operator that takes most of
// the time keeps the other devices waiting. An operator that is split by one of its
// rules becomes several operators, which placement can spread over devices. Unlike
// partition pruning (Pruning.h), a split does not change the function that the program
// computes: it divides the batch, the output channels, or the input channels (Albaqsami's thesis, chapter 8). In the
// last case the results of the parts are added.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_OPERATORSPLIT_H
#define SLUICE_TILING_OPERATORSPLIT_H

#include "sluice/Optimize/Budget.h"
#include "sluice/Tiling/TensorProgram.h"

#include <functional>

namespace sluice {

/// An operator that runs as `parts` operators, each on an equal part, by one of its rules.
struct OperatorSplit {
  OperatorId op;
  uint32_t rule = 0;
  int64_t parts = 2;
  bool operator==(const OperatorSplit &) const = default;
};

/// Whether a rule can split an operator into independent operators: the parts divide the work, are
/// contiguous and need no halos.
bool splitsAlone(const TilingRule &rule);

/// Fails and names the first of these errors: an operator or rule does not exist; an operator is split twice;
/// splitsAlone is false for a rule; a number of parts is less than 2, or TilingRule::dividesEvenly rejects it.
Status checkSplits(const TensorProgram &program, const std::vector<OperatorSplit> &splits);

/// Returns `first`, and splits of further operators of `group` into equally many parts. An operator is split if it
/// reads or writes a tensor that is already split, and part i of the operator touches only part i of this tensor.
/// `group` is ascending and contains the operator of `first`. The result is ascending, and passes checkSplits if
/// `first` does.
std::vector<OperatorSplit> spreadSplit(const TensorProgram &program, const std::vector<OperatorId> &group,
                                       const OperatorSplit &first);

/// The makespan of the program with some operators split, and its critical path.
struct SplitTrial {
  /// One launch on the critical path, which takes `ns` nanoseconds.
  struct Stretch {
    std::vector<OperatorId> operators; ///< The operators that the launch runs, wholly or in part; ascending.
    int64_t ns = 0;
  };
  int64_t makespanNs = 0;
  std::vector<Stretch> critical; ///< The launches on the critical path.
};

struct SplitProblem {
  const TensorProgram *program = nullptr;
  int64_t mostParts = 2; ///< The largest number of parts of one operator; at least 2.
  /// Returns the time of the program with the given splits. Fails with Infeasible if the program does not fit the
  /// memories.
  std::function<Expected<SplitTrial>(const std::vector<OperatorSplit> &)> run;
};

struct SplitParams {
  /// Groups of operators that take a smaller share of the makespan are not split.
  double leastShare = 0.05;
  /// The least gain of a split, as a share of the makespan.
  double leastGain = 0.01;
  Budget budget = {100, std::nullopt, nullptr}; ///< One trial is one evaluation.
};

struct SplitSolution {
  std::vector<OperatorSplit> splits; ///< The splits by ascending operator; empty if no split gains.
  int64_t unsplitNs = 0, makespanNs = 0;
  int64_t trials = 0;
  bool stoppedByClock = false;
};

/// A *group* is the operators that one launch runs. The search repeatedly takes the group with the most time on the
/// critical path. It splits the operator of the group with the most floating-point operations, and all operators of the
/// group to which spreadSplit spreads this split. Different rules and numbers of parts are tried, and a trial is kept
/// if it gains at least leastGain. If no split of the group gains, the next group is tried. If no group gains, the
/// search ends. makespanNs is the makespan of the last trial that was kept, and at most unsplitNs. Fails on an invalid
/// program, and if `run` fails. There is one exception: if `run` fails with Infeasible for a trial with splits, the
/// search discards these splits and continues.
Expected<SplitSolution> solveSplits(const SplitProblem &problem, const SplitParams &params = {});

} // namespace sluice

#endif // SLUICE_TILING_OPERATORSPLIT_H
