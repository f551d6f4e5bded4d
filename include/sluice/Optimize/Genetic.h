//===- Genetic.h - A problem-free genetic algorithm -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Generations are synchronous and every child draws from a generator forked by
// its number alone, so a budget in evaluations gives one result on any number
// of threads. Selection follows SwapAdvisor (Huang et al., ASPLOS 2020, section
// 4.3); the best ever seen always survives, which the paper's weak pressure
// alone does not ensure.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_OPTIMIZE_GENETIC_H
#define SLUICE_OPTIMIZE_GENETIC_H

#include "sluice/Optimize/Budget.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Support/Rng.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace sluice {

/// An objective no feasible individual has.
inline constexpr int64_t kInfeasibleObjective = std::numeric_limits<int64_t>::max();

enum class Selection : uint8_t {
  Softmax,    ///< Softmax over (best ever - objective) / best ever.
  Reciprocal, ///< With probabilities as 1 / objective.
  Tournament, ///< The best of `tournamentSize` drawn at random.
};

struct GeneticParams {
  size_t population = 16;
  /// Best individuals that survive whatever selection draws; at least 1.
  size_t elites = 1;
  Selection selection = Selection::Softmax;
  size_t tournamentSize = 3;
  /// Stops when the best is at most this.
  int64_t target = 0;
  /// Stops after this many evaluations without a better individual.
  int64_t stallEvaluations = std::numeric_limits<int64_t>::max();
  Budget budget;
  uint64_t seed = 0;
  int threads = 1;
};

/// A generation: who was evaluated for it and who survived until it.
struct Generation {
  int64_t best = kInfeasibleObjective; ///< Of all so far; kInfeasibleObjective while none.
  int64_t evaluations = 0;             ///< So far.
  size_t feasible = 0;                 ///< Alive and feasible.
  double mean = 0;                     ///< Of those.
  int64_t worst = 0;
};

/// The problem's side. All functions are called from several threads at once.
template <typename Individual>
struct GeneticProblem {
  /// Not negative, less is better; kInfeasibleObjective where none.
  std::function<int64_t(const Individual &)> evaluate;
  /// At least one child.
  std::function<std::vector<Individual>(const Individual &, const Individual &, Rng &)> crossover;
  std::function<void(Individual &, Rng &)> mutate;
  /// Called on the caller's thread after each generation, before selection. May be empty.
  std::function<void(const Generation &)> progress;
};

/// A starting individual, and its objective where that is already known.
template <typename Individual>
struct GeneticSeed {
  Individual genes;
  std::optional<int64_t> objective = std::nullopt;
};

template <typename Individual>
struct GeneticResult {
  Individual best;
  int64_t objective = kInfeasibleObjective;
  int64_t evaluations = 0;
  int64_t generations = 0;
  /// A deadline or an interrupt ended the search.
  bool stoppedByClock = false;
};

/// Minimizes from `seeds`, of which there is at least one; mutants of them fill
/// the first population. `best` is the first of the seeds and objective is
/// kInfeasibleObjective where no individual was feasible.
template <typename Individual>
GeneticResult<Individual> solveGenetic(const GeneticProblem<Individual> &problem,
                                       const std::vector<GeneticSeed<Individual>> &seeds, const GeneticParams &params) {
  struct Member {
    Individual genes;
    int64_t objective = kInfeasibleObjective;
    bool known = false; ///< Evaluated already.
  };
  GeneticResult<Individual> result;
  result.best = seeds.front().genes;
  const Rng root(params.seed);
  const Budget &budget = params.budget;
  int64_t lastImprovement = 0;

  // Evaluates what the budget allows and drops the rest.
  auto evaluateAll = [&](std::vector<Member> &members) {
    std::vector<size_t> open;
    for (size_t i = 0; i < members.size(); ++i)
      if (!members[i].known)
        open.push_back(i);
    if (int64_t left = std::max<int64_t>(budget.evaluations - result.evaluations, 0);
        static_cast<int64_t>(open.size()) > left)
      open.resize(static_cast<size_t>(left));
    parallelFor(params.threads, open.size(), [&](size_t i) {
      if (budget.mustStop())
        return;
      members[open[i]].objective = problem.evaluate(members[open[i]].genes);
      members[open[i]].known = true;
    });
    for (size_t i : open) {
      result.evaluations += members[i].known;
      result.stoppedByClock |= !members[i].known;
    }
    std::erase_if(members, [](const Member &m) { return !m.known; });
    for (size_t i = 0; i < members.size(); ++i) {
      if (members[i].objective < result.objective) {
        result.objective = members[i].objective;
        result.best = members[i].genes;
        lastImprovement = result.evaluations;
      }
    }
    ++result.generations;
  };
  auto report = [&](const std::vector<Member> &alive) {
    if (!problem.progress)
      return;
    Generation generation{result.objective, result.evaluations};
    for (const Member &member : alive)
      if (member.objective != kInfeasibleObjective) {
        ++generation.feasible;
        generation.mean +=
            (static_cast<double>(member.objective) - generation.mean) / static_cast<double>(generation.feasible);
        generation.worst = std::max(generation.worst, member.objective);
      }
    problem.progress(generation);
  };

  // Elites first, then draws without replacement. Adding Gumbel noise to each
  // logit and taking the largest draws from their softmax.
  auto select = [&](std::vector<Member> &members, Rng rng) {
    std::erase_if(members, [](const Member &m) { return m.objective == kInfeasibleObjective; });
    std::stable_sort(members.begin(), members.end(),
                     [](const Member &a, const Member &b) { return a.objective < b.objective; });
    if (members.size() <= params.population)
      return;
    size_t kept = std::min(std::max<size_t>(params.elites, 1), params.population);
    std::vector<size_t> order(members.size() - kept);
    std::iota(order.begin(), order.end(), kept);
    if (params.selection != Selection::Tournament) {
      std::vector<double> score(members.size());
      double best = std::max(1.0, static_cast<double>(result.objective));
      for (size_t i : order) {
        const double objective = static_cast<double>(members[i].objective);
        const double logit =
            params.selection == Selection::Softmax ? (best - objective) / best : -std::log(std::max(objective, 1.0));
        score[i] = logit - std::log(-std::log1p(-rng.uniform()));
      }
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return score[a] > score[b]; });
    } else {
      // Members are sorted: the least index wins a tournament.
      for (size_t drawn = 0; kept + drawn < params.population; ++drawn) {
        size_t winner = drawn + rng.below(order.size() - drawn);
        for (size_t k = 1; k < params.tournamentSize; ++k) {
          size_t rival = drawn + rng.below(order.size() - drawn);
          if (order[rival] < order[winner])
            winner = rival;
        }
        std::swap(order[drawn], order[winner]);
      }
    }
    order.resize(params.population - kept);
    std::vector<Member> next;
    for (size_t i = 0; i < kept; ++i)
      next.push_back(std::move(members[i]));
    for (size_t i : order)
      next.push_back(std::move(members[i]));
    members = std::move(next);
  };

  auto finished = [&] {
    if (budget.mustStop())
      result.stoppedByClock = true;
    return result.stoppedByClock || result.evaluations >= budget.evaluations || result.objective <= params.target ||
           result.evaluations - lastImprovement >= params.stallEvaluations;
  };

  std::vector<Member> members(std::max(params.population, seeds.size()));
  for (size_t i = 0; i < members.size(); ++i) {
    const GeneticSeed<Individual> &seed = seeds[i % seeds.size()];
    members[i].genes = seed.genes;
    if (i < seeds.size() && seed.objective) {
      members[i].objective = *seed.objective;
      members[i].known = true;
    }
  }
  parallelFor(params.threads, members.size() - seeds.size(), [&](size_t i) {
    Rng rng = root.fork(0).fork(i);
    problem.mutate(members[seeds.size() + i].genes, rng);
  });
  evaluateAll(members);
  report(members);
  select(members, root.fork(1));

  for (uint64_t generation = 1; !finished() && !members.empty(); ++generation) {
    Rng rng = root.fork(2 * generation);
    std::vector<size_t> mates(members.size());
    std::iota(mates.begin(), mates.end(), size_t(0));
    rng.shuffle(mates);
    // An odd one out mates with the first; a lone survivor with itself.
    size_t pairs = (mates.size() + 1) / 2;
    std::vector<std::vector<Individual>> litters(pairs);
    parallelFor(params.threads, pairs, [&](size_t i) {
      Rng own = rng.fork(i);
      const Individual &mother = members[mates[2 * i]].genes;
      const Individual &father = members[mates[(2 * i + 1) % mates.size()]].genes;
      litters[i] = problem.crossover(mother, father, own);
      for (Individual &child : litters[i])
        problem.mutate(child, own);
    });
    std::vector<Member> children;
    for (std::vector<Individual> &litter : litters)
      for (Individual &child : litter)
        children.push_back({std::move(child), kInfeasibleObjective, false});
    evaluateAll(children);
    for (Member &child : children)
      members.push_back(std::move(child));
    report(members);
    select(members, root.fork(2 * generation + 1));
  }
  return result;
}

} // namespace sluice

#endif // SLUICE_OPTIMIZE_GENETIC_H
