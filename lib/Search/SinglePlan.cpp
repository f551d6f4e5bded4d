//===- SinglePlan.cpp - Rivals that make one plan -------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Strategies.h"

namespace sluice::search {

void planOnce(SearchState &state, const std::string &name,
              const std::function<Expected<Plan>(const SwapProblem &)> &planner) {
  Wave wave = state.evaluate(1, /*firstAlways=*/true, [&](size_t) {
    return planner(state.space->problemFor(state.space->orders().front().second));
  });
  state.addBaseline(name, wave.evaluations[0]);
  if (state.params.solver == name && !wave.plan)
    state.firstError = wave.evaluations[0].error;
  state.offer(wave, name);
}

} // namespace sluice::search
