//===- GreedySearch.cpp - Plans of every order and eviction policy --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Strategies.h"

#include <algorithm>
#include <iterator>

namespace sluice::search {

/// Greedy plans that are tried before those that compute again.
static constexpr size_t kFirstSeeds = 4;

std::vector<NamedCandidate> greedySeeds(const SearchState &state) {
  const CandidateSpace &space = *state.space;
  std::vector<NamedCandidate> seeds;
  if (state.params.start && state.recomputes())
    if (std::optional<Candidate> again = space.recomputingAs(*state.params.start))
      seeds.push_back({"start", *again});
  auto append = [&](std::vector<NamedCandidate> more) {
    std::move(more.begin(), more.end(), std::back_inserter(seeds));
  };
  append(space.offsetSeeds());
  // The first of each kind come first.
  const std::vector<NamedCandidate> stays = space.staySeeds();
  seeds.insert(seeds.begin() + static_cast<ptrdiff_t>(std::min<size_t>(seeds.size(), kFirstSeeds)), stays.begin(),
               stays.end());
  if (state.recomputes()) {
    // A large graph in little time is planned a few times only: what computes again comes right after the most
    // promising seeds.
    std::vector<NamedCandidate> rest(
        seeds.begin() + static_cast<ptrdiff_t>(std::min(kFirstSeeds + stays.size(), seeds.size())), seeds.end());
    seeds.resize(seeds.size() - rest.size());
    append(space.recomputingSeeds(state.budget));
    append(std::move(rest));
  }
  append(space.poolSeeds(EvictionPolicy::CostAware));
  return seeds;
}

std::vector<ScoredCandidate> planSeeds(SearchState &state, const std::vector<NamedCandidate> &seeds) {
  std::vector<ScoredCandidate> scored;
  // In waves, so that a stop at the lower bound saves the rest.
  for (size_t first = 0; first < seeds.size(); first += kNeighbours) {
    if (first > 0 && !state.mayContinue())
      break;
    int64_t size = std::min<int64_t>(kNeighbours, static_cast<int64_t>(seeds.size() - first));
    size = std::min(size, std::max<int64_t>(1, state.evaluationsLeft()));
    Wave wave = state.evaluate(static_cast<size_t>(size), /*firstAlways=*/first == 0,
                               [&](size_t i) { return state.space->plan(seeds[first + i].genes); });
    for (size_t i = 0; i < wave.evaluations.size(); ++i) {
      const Evaluation &evaluation = wave.evaluations[i];
      const NamedCandidate &seed = seeds[first + i];
      if (!evaluation.isDone)
        continue;
      state.addBaseline(seed.name, evaluation);
      state.noteError(evaluation);
      if (evaluation.makespanNs != kInfeasibleObjective)
        scored.push_back({seed.genes, evaluation.makespanNs});
    }
    state.offer(wave, seeds[first + wave.best].name);
  }
  state.isStopped |= state.budget.mustStop();
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto &a, const auto &b) { return *a.objective < *b.objective; });
  return scored;
}

} // namespace sluice::search
