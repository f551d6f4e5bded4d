//===- SwapAdvisorSearch.cpp - The paper's search and its ablations -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Strategies.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <iterator>

namespace sluice::search {

static constexpr SwapAdvisorVariant kVariants[] = {{"swapadvisor", {}},
                                                   {"swapadvisor-in-place", {}, false, true},
                                                   {"swapadvisor-schedule", {true, false}},
                                                   {"swapadvisor-pool", {false, true}},
                                                   {"swapadvisor-free-classes", {}, true}};

std::vector<std::string> swapAdvisorNames() {
  std::vector<std::string> names;
  for (const SwapAdvisorVariant &variant : kVariants)
    names.push_back(variant.name);
  return names;
}

const SwapAdvisorVariant *findSwapAdvisor(const std::string &name) {
  auto at = std::find_if(std::begin(kVariants), std::end(kVariants),
                         [&](const SwapAdvisorVariant &variant) { return variant.name == name; });
  return at == std::end(kVariants) ? nullptr : at;
}

void searchAsSwapAdvisor(SearchState &state, const SwapAdvisorVariant &variant) {
  std::vector<NamedCandidate> seeds = state.space->poolSeeds(EvictionPolicy::Belady);
  if (seeds.empty())
    state.firstError = Error{ErrorCode::Infeasible,
                             concat("no pool of size classes fits the memories of machine '", state.machine.name,
                                    "', use solver 'default' or give more memory"),
                             {}};
  for (NamedCandidate &seed : seeds)
    seed.genes.offsets.inPlace = variant.inPlace;
  if (variant.hasFreeClasses)
    for (NamedCandidate &seed : seeds) {
      seed.genes.allocator = Allocator::FreePools;
      for (const PoolConfig &pool : seed.genes.pools)
        seed.genes.freePools.push_back(freePoolOf(pool));
      seed.genes.pools.clear();
    }
  std::vector<ScoredCandidate> scored = planSeeds(state, seeds);
  if (scored.empty())
    return;
  // An ablation holds one part at the best greedy plan's.
  const Candidate best = scored.front().genes;
  std::erase_if(scored, [&](const ScoredCandidate &seed) {
    return (!variant.vary.order && seed.genes.order != best.order) ||
           (!variant.vary.allocation && seed.genes.pools != best.pools);
  });
  breed(state, scored, {Mutation::Paper, variant.vary, state.evaluationLimit, state.budget.deadline});
}

} // namespace sluice::search
