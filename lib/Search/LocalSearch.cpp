//===- LocalSearch.cpp - Steepest descent over random neighbours ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Strategies.h"

#include <algorithm>

namespace sluice::search {

static constexpr int64_t kStallEvaluations = 3000;

ScoredCandidate descend(SearchState &state, ScoredCandidate current, uint64_t round) {
  const Rng base = Rng(state.params.seed).fork(1), root = round > 0 ? base.fork(round) : base;
  int64_t sinceBetter = 0;
  for (uint64_t batch = 0; state.mayContinue() && sinceBetter < kStallEvaluations; ++batch) {
    const int64_t size = std::min<int64_t>(kNeighbours, state.evaluationsLeft());
    std::vector<Candidate> neighbours(static_cast<size_t>(size), current.genes);
    Wave wave = state.evaluate(neighbours.size(), /*firstAlways=*/false, [&](size_t i) {
      Rng rng = root.fork(batch).fork(i);
      state.space->mutate(neighbours[i], Mutation::Small, rng);
      return state.space->plan(neighbours[i]);
    });
    sinceBetter += size;
    // A neighbour as fast is taken too: the search drifts along plateaus.
    if (!wave.plan || wave.bestNs > *current.objective)
      continue;
    if (wave.bestNs < *current.objective)
      sinceBetter = 0;
    current = {std::move(neighbours[wave.best]), wave.bestNs};
    state.offer(wave, "local-search");
  }
  state.isStopped |= state.budget.mustStop();
  return current;
}

} // namespace sluice::search
