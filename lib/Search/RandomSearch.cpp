//===- RandomSearch.cpp - The best of random plans ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Strategies.h"

#include <algorithm>

namespace sluice::search {

void searchRandomly(SearchState &state) {
  const Rng root = Rng(state.params.seed).fork(3);
  for (uint64_t batch = 0; batch == 0 || state.mayContinue(); ++batch) {
    const int64_t size = std::clamp<int64_t>(state.evaluationsLeft(), 1, kNeighbours);
    Wave wave = state.evaluate(static_cast<size_t>(size), /*firstAlways=*/batch == 0, [&](size_t i) {
      Rng rng = root.fork(batch).fork(i);
      return state.space->plan(state.space->randomPools(rng));
    });
    for (const Evaluation &evaluation : wave.evaluations)
      state.noteError(evaluation);
    state.offer(wave, "random");
  }
  state.isStopped |= state.budget.mustStop();
}

} // namespace sluice::search
