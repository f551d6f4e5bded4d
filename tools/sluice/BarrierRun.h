//===- BarrierRun.h - Training on ranks that wait at a barrier --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_BARRIERRUN_H
#define SLUICE_TOOLS_SLUICE_BARRIERRUN_H

#include "AdaptiveRun.h"
#include "SavedStates.h"
#include "StepInputs.h"
#include "sluice/Barriers/Choice.h"
#include "sluice/Barriers/Training.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::driver {

/// Saves the states of a run while it continues.
using KeepStates = std::function<Status(RunProgress, const std::vector<HostTensor> &)>;

struct BarrierRunOptions {
  Barrier barrier;
  /// If set, the run begins with a trial under BSP and then chooses its barrier: see chooseBarrier().
  std::optional<double> mostLossRatio;
  int64_t steps = 1;               ///< The steps of each rank since the beginning of the training.
  int64_t numRanks = 1;            ///< Threads of this process, or the processes that mpirun started.
  int64_t stepNs = 0;              ///< The least time of a step.
  int64_t retestNs = 200'000;      ///< See BarrierTraining.
  std::optional<Disturbance> slow; ///< Its device is "rank0", "rank1" and so on.
  int threads = 0;                 ///< The threads of each rank; if 0, the ranks of this host share the cores.
  std::string spill;
  uint64_t seed = 0;         ///< The seed of samples.
  std::string fromStates;    ///< The folder of states that the run begins with; may be empty.
  bool isCompatible = false; ///< See loadStates().
  int64_t keepEvery = 0;     ///< Rank 0 calls `keep` after each multiple of this number of steps; never if it is 0.
  KeepStates keep;
};

struct BarrierOutcome {
  int64_t firstStep = 0;               ///< The number of steps that were done before this run.
  RunProgress progress;                ///< The progress at the end.
  Barrier barrier;                     ///< The barrier of the steps after the trial.
  int64_t trialSteps = 0;              ///< The number of steps of the trial.
  std::optional<BarrierChoice> choice; ///< Set if the run chose its barrier.
  bool isFirst = true; ///< Whether this process reports. The other processes have no records, outputs and states.
  std::vector<std::vector<RankStep>> ranks;
  std::vector<HostTensor> outputs; ///< The outputs of rank 0's last step.
  std::vector<HostTensor> states;  ///< The states of rank 0, after all gradients are applied.
  int64_t windowBytes = 0;         ///< The bytes of the windows of one rank.
};

/// Whether the model was compiled with `accumulate=ranks`, which needs a barrier.
bool exchangesGradients(const sluice_model &model);

/// Reads the data of the inputs with these names.
using ReadInputs = std::function<Expected<std::vector<GivenInput>>(const std::vector<std::string> &)>;

/// Trains the compiled model in `directory` on all ranks. Step t of rank r uses batch t * numRanks + r; a run that
/// begins with saved states uses the batches that follow those of the states. Fails if the states do not fit, if the
/// model does not exchange gradients, or if the barrier or the straggler names ranks that do not exist. Except under a
/// bulk barrier, fails if the update of the optimizer is not linear in the gradients. For `sizes` see
/// StepInputs::create().
Expected<BarrierOutcome> runUnderBarrier(const std::string &directory, const BarrierRunOptions &options,
                                         const ReadInputs &readInputs, const std::map<std::string, int64_t> &sizes);

void printBarrierOutcome(const BarrierRunOptions &options, const BarrierOutcome &outcome);
Json barrierOutcomeToJson(const BarrierRunOptions &options, const BarrierOutcome &outcome);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_BARRIERRUN_H
