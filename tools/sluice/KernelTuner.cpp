//===- KernelTuner.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "KernelTuner.h"

#include "sluice/Optimize/BestFirst.h"
#include "tools/common/Driver.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <unistd.h>

namespace sluice::driver {
namespace {

/// What gains less is noise, as is what a clock of some tens of nanoseconds cannot tell apart.
constexpr double kLeastGain = 0.01;
constexpr int64_t kLeastGainNs = 100;
/// A kernel that takes less is left to the compiler.
constexpr int64_t kLeastNs = 1'000;

/// A kernel's search, in whichever programs it is.
struct Search {
  TunableKernel kernel;
  emit::VectorTarget target;
  std::optional<KernelTuning> earlier = {}; ///< What an earlier run has confirmed: the second point that is measured.
  std::unique_ptr<BestFirst<KernelTuning>> bestFirst = {};
  bool needsChunks = false;  ///< Another search, for the chunks of what this one finds, comes after it.
  int64_t earlierTrials = 0; ///< Of the search before that.
  int64_t defaultNs = 0;

  bool isFinished() const { return defaultNs < kLeastNs || (bestFirst->isFinished() && !needsChunks); }
  int64_t trials() const { return earlierTrials + (bestFirst ? bestFirst->trials() : 0); }
  KernelTuning best() const {
    if (earlier && trials() < 2)
      return *earlier;
    return bestFirst->best().value_or(KernelTuning());
  }
};

/// A search under way.
struct State {
  const KernelTuner &tuner;
  Tuning &tuning;
  std::map<std::string, Search> searches = {}; ///< By key, of kernels to measure.
  /// Per program, as the compiler chooses: what every trial is compared with, in turns with it.
  std::vector<std::unique_ptr<TuningTrial>> references = {};
  TunedSteps steps = {};
};

/// Kernels whose search the file does not have to its end.
void prepareSearches(State &state) {
  for (const TuningProgram &program : state.tuner.programs)
    for (const TunableKernel &kernel : program.kernels()) {
      auto known = state.tuning.kernels.find(kernel.key);
      if (known != state.tuning.kernels.end() && known->second.isFinished)
        continue;
      Search &search = state.searches[kernel.key];
      search.kernel = kernel;
      search.target = program.target();
      if (known != state.tuning.kernels.end() && known->second.tuning != KernelTuning())
        search.earlier = known->second.tuning;
    }
}

/// What the search's first point costs, which is measured already.
void tellNext(BestFirst<KernelTuning> &search, double cost) {
  if (search.next())
    search.tell(cost);
}

/// Begins the search of a kernel whose default is measured, from the best that is known.
void beginSearch(const KernelTuner &tuner, Search &search) {
  using Neighbours = BestFirst<KernelTuning>::Neighbours;
  std::vector<KernelTuning> starts;
  Neighbours neighbours = [&search](const KernelTuning &from) {
    return tuningNeighbours(search.kernel, from, search.target);
  };
  if (tuner.isExhaustive) {
    starts = tuningGrid(search.kernel, search.target);
    neighbours = [](const KernelTuning &) { return std::vector<KernelTuning>(); };
  } else {
    starts = tuningStarts(search.kernel, search.target);
    if (search.earlier)
      starts.insert(starts.begin() + 1, *search.earlier);
    search.needsChunks = tuner.threads > 1;
  }
  search.bestFirst = std::make_unique<BestFirst<KernelTuning>>(
      std::move(starts), neighbours, BestFirstParams{.leastGain = tuner.isExhaustive ? 0 : kLeastGain});
  tellNext(*search.bestFirst, static_cast<double>(search.defaultNs));
}

/// Where tiles and blocks are found, goes on with the chunks.
void searchChunks(Search &search) {
  if (!search.needsChunks || !search.bestFirst->isFinished())
    return;
  search.needsChunks = false;
  search.earlierTrials = search.bestFirst->trials();
  const KernelTuning best = search.best();
  const double cost = search.bestFirst->bestCost();
  search.bestFirst = std::make_unique<BestFirst<KernelTuning>>(
      std::vector<KernelTuning>{best}, [](const KernelTuning &from) { return chunkNeighbours(from); },
      BestFirstParams{.leastGain = kLeastGain, .patience = 1});
  tellNext(*search.bestFirst, cost);
}

/// Whether the program has a kernel that is still searched for.
bool isSearched(State &state, const TuningProgram &program) {
  return std::any_of(program.kernels().begin(), program.kernels().end(), [&](const TunableKernel &kernel) {
    auto found = state.searches.find(kernel.key);
    return found != state.searches.end() && !found->second.isFinished();
  });
}

/// All kernels with the tunings that `choose` gives those being searched, for a trial.
template <typename Choose>
Tuning trialOf(const State &state, Choose choose) {
  Tuning trial = state.tuning;
  trial.profile = {};
  for (const auto &[key, search] : state.searches) {
    TunedKernel &kernel = trial.kernels[key];
    kernel = {search.kernel.kind, search.kernel.shape, choose(search), 1, 1, 1};
  }
  return trial;
}

using KernelTimes = std::map<std::string, int64_t>; ///< By key, in nanoseconds.

/// Runs all trials in turns, so that what disturbs one disturbs the others. Adds their kernels' times to `times`, one
/// entry for each trial.
Status runInTurns(const std::vector<TuningTrial *> &trials, int64_t steps, std::vector<KernelTimes> &times) {
  times.resize(trials.size());
  for (TuningTrial *trial : trials)
    trial->forget();
  constexpr int64_t kTurn = 5;
  for (int64_t done = 0; done < steps; done += kTurn)
    for (TuningTrial *trial : trials)
      SLUICE_RETURN_IF_ERROR(trial->run(std::min(kTurn, steps - done)));
  for (size_t i = 0; i < trials.size(); ++i)
    for (const auto &[key, ns] : trials[i]->kernelNs())
      times[i][key] += ns;
  return {};
}

/// The times of a trial's kernels, and of the reference's beside it.
struct RoundTimes {
  std::vector<KernelTimes> both = std::vector<KernelTimes>(2);

  KernelTimes &reference() { return both[0]; }
  KernelTimes &trial() { return both[1]; }
};

Status runBeside(TuningTrial &reference, TuningTrial &trial, int64_t steps, RoundTimes &times) {
  return runInTurns({&reference, &trial}, steps, times.both);
}

/// Measures every kernel as the compiler chooses. Kernels that no program runs are given up.
Status measureDefaults(State &state) {
  const Tuning plain = trialOf(state, [](const Search &) { return KernelTuning(); });
  std::map<std::string, int64_t> times;
  for (const TuningProgram &program : state.tuner.programs) {
    showTuningProgress(concat("compiling ", program.name()));
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<TuningTrial> reference,
                            program.compile(plain, state.tuner.file, state.tuner.threads));
    SLUICE_RETURN_IF_ERROR(reference->run(state.tuner.repeat));
    for (const auto &[key, ns] : reference->kernelNs())
      times[key] += ns;
    for (const auto &[key, algorithm] : reference->algorithms())
      if (auto found = state.searches.find(key); found != state.searches.end())
        setChosenAlgorithm(found->second.kernel, algorithm);
    state.references.push_back(std::move(reference));
  }
  std::erase_if(state.searches, [&](const auto &entry) { return !times.contains(entry.first); });
  for (auto &[key, search] : state.searches) {
    search.defaultNs = times[key];
    beginSearch(state.tuner, search);
  }
  return {};
}

/// Measures one tuning of each kernel, beside the compiler's own: a kernel's cost is what it takes by the time of its
/// default, so that rounds compare.
Status runRound(State &state) {
  const Tuning trial = trialOf(state, [](const Search &search) {
    const std::optional<KernelTuning> next = search.isFinished() ? std::nullopt : search.bestFirst->next();
    return next ? *next : search.best();
  });
  RoundTimes times;
  for (size_t i = 0; i < state.tuner.programs.size(); ++i) {
    if (!isSearched(state, state.tuner.programs[i]))
      continue;
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<TuningTrial> run,
                            state.tuner.programs[i].compile(trial, state.tuner.file, state.tuner.threads));
    SLUICE_RETURN_IF_ERROR(runBeside(*state.references[i], *run, state.tuner.repeat, times));
  }
  for (auto &[key, search] : state.searches) {
    if (times.trial().contains(key) && times.reference().contains(key) && !search.isFinished())
      search.bestFirst->tell(static_cast<double>(search.defaultNs) * static_cast<double>(times.trial()[key]) /
                             static_cast<double>(times.reference()[key]));
    searchChunks(search);
  }
  return {};
}

/// Compares the kernels' best tunings with the compiler's own once more, and leaves to the compiler what is not faster:
/// the best of many measurements looks better than it is. Nothing else adds kernels to the tuning.
Status confirm(State &state) {
  const Tuning best = trialOf(state, [](const Search &search) { return search.best(); });
  RoundTimes times;
  for (size_t i = 0; i < state.tuner.programs.size(); ++i) {
    showTuningProgress(concat("comparing ", state.tuner.programs[i].name()));
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<TuningTrial> tuned,
                            state.tuner.programs[i].compile(best, state.tuner.file, state.tuner.threads));
    SLUICE_RETURN_IF_ERROR(runBeside(*state.references[i], *tuned, 2 * state.tuner.repeat, times));
  }
  for (auto &[key, search] : state.searches) {
    if (!times.trial().contains(key) || !times.reference().contains(key))
      continue;
    const int64_t ns = times.trial()[key], defaultNs = times.reference()[key];
    const auto most = static_cast<double>(std::max<int64_t>(defaultNs - kLeastGainNs, 0));
    const bool gains = search.best() != KernelTuning() &&
                       static_cast<double>(ns) < std::min(most, (1 - kLeastGain) * static_cast<double>(defaultNs));
    state.tuning.kernels[key] = {search.kernel.kind,     search.kernel.shape, gains ? search.best() : KernelTuning(),
                                 gains ? ns : defaultNs, defaultNs,           std::max<int64_t>(search.trials(), 1),
                                 search.isFinished()};
  }
  return {};
}

/// The steps' times with what is kept, and the operators' for the cost model.
Status measureSteps(State &state) {
  const Tuning kept = trialOf(state, [&](const Search &search) {
    auto found = state.tuning.kernels.find(search.kernel.key);
    return found == state.tuning.kernels.end() ? KernelTuning() : found->second.tuning;
  });
  SampleMap samples;
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (size_t i = 0; i < state.tuner.programs.size(); ++i) {
    showTuningProgress(concat("measuring ", state.tuner.programs[i].name()));
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<TuningTrial> tuned,
                            state.tuner.programs[i].compile(kept, state.tuner.file, state.tuner.threads));
    RoundTimes ignored;
    SLUICE_RETURN_IF_ERROR(runBeside(*state.references[i], *tuned, state.tuner.repeat, ignored));
    for (const TuningTrial *trial : {state.references[i].get(), tuned.get()})
      trial->addTo(samples);
    steps.emplace_back(state.references[i]->stepNs(), tuned->stepNs());
  }
  state.steps.ns = std::move(steps);
  summarize(std::move(samples), state.tuning.profile);
  state.tuning.profile.origin = state.tuning.origin;
  return {};
}

/// The search, and the comparison of its results. Ctrl-C ends a step that runs with an error.
Status searchKernels(State &state) {
  SLUICE_RETURN_IF_ERROR(measureDefaults(state));
  for (int64_t round = 1; round < state.tuner.rounds && !interrupted; ++round) {
    const auto left = std::count_if(state.searches.begin(), state.searches.end(),
                                    [](const auto &entry) { return !entry.second.isFinished(); });
    if (left == 0)
      break;
    showTuningProgress(concat("round ", round, ", ", left, " of ", state.searches.size(), " kernels left"));
    Status ran = runRound(state);
    if (!ran && !interrupted)
      return ran;
  }
  if (interrupted) {
    state.steps.isStopped = true;
    hearInterrupts();
  }
  SLUICE_RETURN_IF_ERROR(confirm(state));
  return measureSteps(state);
}

} // namespace

Expected<TunedSteps> tuneKernels(const KernelTuner &tuner, Tuning &tuning) {
  State state{tuner, tuning};
  prepareSearches(state);
  if (!state.searches.empty())
    if (Status searched = searchKernels(state); !searched && !interrupted)
      return propagate(searched);
  state.steps.isStopped = state.steps.isStopped || interrupted;
  return std::move(state.steps);
}

Expected<std::vector<TuningComparison>> compareTunings(const KernelTuner &tuner, const Tuning &tuning,
                                                       const Tuning &other) {
  std::map<std::string, TuningComparison> compared;
  Tuning plain = tuning, own = tuning, others = other;
  for (Tuning *each : {&plain, &own, &others})
    each->profile = {};
  for (auto &[key, kernel] : plain.kernels)
    kernel.tuning = {}; // Without its entry a kernel's time could not be told from others'.
  std::vector<KernelTimes> times;
  for (const TuningProgram &program : tuner.programs) {
    for (const TunableKernel &kernel : program.kernels())
      if (tuning.kernels.contains(kernel.key) && other.kernels.contains(kernel.key))
        compared[kernel.key] = {tuning.kernels.at(kernel.key).kind, tuning.kernels.at(kernel.key).shape};
    showTuningProgress(concat("comparing ", program.name()));
    std::vector<std::unique_ptr<TuningTrial>> trials;
    std::vector<TuningTrial *> turns;
    for (const Tuning *each : {&plain, &own, &others}) {
      SLUICE_ASSIGN_OR_RETURN(trials.emplace_back(), program.compile(*each, tuner.file, tuner.threads));
      turns.push_back(trials.back().get());
    }
    SLUICE_RETURN_IF_ERROR(runInTurns(turns, tuner.repeat, times));
  }
  std::vector<TuningComparison> comparisons;
  for (auto &[key, comparison] : compared) {
    comparison.defaultNs = std::max<int64_t>(times[0][key], 1);
    comparison.ns = std::max<int64_t>(times[1][key], 1);
    comparison.otherNs = std::max<int64_t>(times[2][key], 1);
    comparisons.push_back(comparison);
  }
  return comparisons;
}

/// One line on a terminal, rewritten.
void showTuningProgress(const std::string &text) {
  if (isatty(STDERR_FILENO))
    std::cerr << "\r\033[K" << text << "\r" << std::flush;
}

} // namespace sluice::driver
