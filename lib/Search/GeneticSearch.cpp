//===- GeneticSearch.cpp - Breeding candidates on islands -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Strategies.h"

#include "sluice/Simulator/Simulator.h"

#include <algorithm>

namespace sluice::search {

/// SwapAdvisor breeds 144 individuals; a few seconds of planning allow fewer.
static constexpr size_t kPaperPopulation = 144;
static constexpr size_t kIslands = 4, kPopulation = 8;
/// At most this many individuals are seeds, so that mutants of the best fill the rest.
static constexpr size_t kMaxSeeds = 16;
static constexpr int64_t kStallEvaluations = 3000;

static GeneticParams geneticParams(const SearchState &state, const GeneticRun &run) {
  GeneticParams params;
  if (run.mutation == Mutation::Paper) {
    params.population = kPaperPopulation;
  } else {
    params.islands = kIslands;
    params.population = kPopulation;
    params.elites = kPopulation / 4;
    params.stallEvaluations = kStallEvaluations;
  }
  params.target = state.targetNs();
  params.budget = {run.evaluationLimit - state.result.evaluations, run.deadline, state.budget.interrupt};
  params.seed = state.params.seed;
  params.threads = state.threads;
  return params;
}

std::optional<ScoredCandidate> breed(SearchState &state, const std::vector<ScoredCandidate> &scored,
                                     const GeneticRun &run) {
  if (!state.mayContinue() || run.evaluationLimit <= state.result.evaluations)
    return std::nullopt;
  const CandidateSpace &space = *state.space;
  const int64_t before = state.result.evaluations;
  GeneticProblem<Candidate> problem;
  problem.evaluate = [&](const Candidate &candidate) {
    Expected<Plan> plan = space.plan(candidate);
    return plan ? simulate(state.graph, state.machine, state.costs, *plan).makespanNs : kInfeasibleObjective;
  };
  problem.crossover = [&](const Candidate &mother, const Candidate &father, Rng &rng) {
    return space.crossover(mother, father, rng, run.vary);
  };
  problem.mutate = [&](Candidate &candidate, Rng &rng) { space.mutate(candidate, run.mutation, rng, run.vary); };
  problem.progress = [&](const Generation &generation) {
    state.result.evaluations = before + generation.evaluations;
    const int64_t soFarNs = std::min(state.bestNs, generation.best);
    state.noteBest(soFarNs);
    state.report(soFarNs, &generation);
  };
  GeneticParams params = geneticParams(state, run);
  std::vector<ScoredCandidate> seeds = scored;
  if (run.round > 0) {
    Rng rng = Rng(state.params.seed).fork(4).fork(run.round);
    rng.shuffle(seeds);
    params.seed = rng.next();
  }
  if (seeds.size() > kMaxSeeds)
    seeds.resize(kMaxSeeds);
  GeneticResult<Candidate> bred = solveGenetic(problem, seeds, params);
  state.result.evaluations = before + bred.evaluations;
  state.isStopped |= bred.stoppedByClock;
  if (bred.objective < state.bestNs) {
    Wave wave = state.evaluateUncounted(1, /*firstAlways=*/true, [&](size_t) { return space.plan(bred.best); });
    state.offer(wave, "genetic");
  }
  return ScoredCandidate{std::move(bred.best), bred.objective};
}

} // namespace sluice::search
