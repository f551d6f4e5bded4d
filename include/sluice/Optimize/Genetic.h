//===- Genetic.h - A genetic algorithm for any problem ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Generations are synchronous. Each pair of parents draws from a random generator that is forked by the numbers of the
// generation, the island and the pair. Each mutant of a seed in the first populations draws from a generator that is
// forked by the mutant's number. A budget in evaluations therefore gives the same result on any number of threads.
// Selection follows SwapAdvisor (Huang et al., ASPLOS 2020, section 4.3). In addition, the best individual so far
// always survives; the paper's weak selection pressure does not ensure this.
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
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace sluice {

/// The objective of infeasible individuals; no feasible individual has it.
inline constexpr int64_t kInfeasibleObjective = std::numeric_limits<int64_t>::max();

enum class Selection : uint8_t {
  Softmax,    ///< Survival follows the softmax of (best ever - objective) / best ever.
  Reciprocal, ///< Survival probabilities are proportional to 1 / objective.
  Tournament, ///< The best of `tournamentSize` random members survives.
};

struct GeneticParams {
  /// Number of separate populations (islands), which form a ring. Every migrationGenerations generations, each island
  /// receives a copy of the best member of the island before it. Starting individuals are dealt to the islands in turn.
  size_t islands = 1;
  int64_t migrationGenerations = 8;
  size_t population = 16; ///< Members of one island after selection.
  /// Number of best individuals of an island that always survive; at least 1.
  size_t elites = 1;
  Selection selection = Selection::Softmax;
  size_t tournamentSize = 3;
  /// The search stops when the best objective is at most this value.
  int64_t target = 0;
  /// The search stops after this many evaluations without a better individual.
  int64_t stallEvaluations = std::numeric_limits<int64_t>::max();
  Budget budget;
  uint64_t seed = 0;
  int threads = 1;
};

/// Statistics of a generation before its selection.
struct Generation {
  int64_t best = kInfeasibleObjective; ///< Best objective so far; kInfeasibleObjective while no member is feasible.
  int64_t evaluations = 0;             ///< Evaluations so far.
  size_t feasible = 0;                 ///< Living members with a feasible objective, on all islands.
  double mean = 0;                     ///< Mean objective of the feasible members.
  int64_t worst = 0;                   ///< Worst objective of the feasible members.
};

/// The functions that define a problem. Several threads call evaluate, crossover and mutate at once.
template <typename Individual>
struct GeneticProblem {
  /// Returns a non-negative objective, lower is better; kInfeasibleObjective for an infeasible individual.
  std::function<int64_t(const Individual &)> evaluate;
  /// Returns at least one child.
  std::function<std::vector<Individual>(const Individual &, const Individual &, Rng &)> crossover;
  std::function<void(Individual &, Rng &)> mutate;
  /// Called on the caller's thread after each generation, before selection. Optional.
  std::function<void(const Generation &)> progress;
};

/// A starting individual, and its objective if it is already known.
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

namespace detail {

/// One run of solveGenetic: the result so far, and the steps of a generation.
template <typename Individual>
class GeneticSearch {
public:
  GeneticSearch(const GeneticProblem<Individual> &problem, const std::vector<GeneticSeed<Individual>> &seeds,
                const GeneticParams &params)
      : problem(problem), seeds(seeds), params(params), budget(params.budget), root(params.seed),
        numIslands(std::max<size_t>(params.islands, 1)) {
    result.best = seeds.front().genes;
  }

  GeneticResult<Individual> run() {
    std::vector<Island> islands = settle();
    evaluateAll(islands);
    report(islands);
    selectAll(islands, root.fork(1));
    for (int64_t generation = 1; !isFinished() && isAnyAlive(islands); ++generation) {
      std::vector<Island> children = breed(islands, root.fork(2 * static_cast<uint64_t>(generation)));
      evaluateAll(children);
      for (size_t k = 0; k < numIslands; ++k)
        std::move(children[k].begin(), children[k].end(), std::back_inserter(islands[k]));
      report(islands);
      if (numIslands > 1 && generation % std::max<int64_t>(params.migrationGenerations, 1) == 0)
        migrate(islands);
      selectAll(islands, root.fork(2 * static_cast<uint64_t>(generation) + 1));
    }
    return std::move(result);
  }

private:
  struct Member {
    Individual genes;
    int64_t objective = kInfeasibleObjective;
    bool isEvaluated = false;
  };
  using Island = std::vector<Member>;

  static bool hasLowerObjective(const Member &a, const Member &b) { return a.objective < b.objective; }
  static bool isAnyAlive(const std::vector<Island> &islands) {
    return std::any_of(islands.begin(), islands.end(), [](const Island &island) { return !island.empty(); });
  }

  /// A single island draws from the generation's random generator itself. Several islands draw from forks of it.
  Rng rngOf(const Rng &rng, size_t island) const { return numIslands == 1 ? rng : rng.fork(island); }

  bool isFinished() {
    if (budget.mustStop())
      result.stoppedByClock = true;
    return result.stoppedByClock || result.evaluations >= budget.evaluations || result.objective <= params.target ||
           result.evaluations - lastImprovement >= params.stallEvaluations;
  }

  /// Deals the seeds to the islands and fills the rest with mutants of the seeds.
  std::vector<Island> settle() const {
    std::vector<Island> islands(numIslands);
    const size_t numMembers = std::max(params.population * numIslands, seeds.size());
    for (size_t i = 0; i < numMembers; ++i) {
      const GeneticSeed<Individual> &seed = seeds[i % seeds.size()];
      Member member{seed.genes};
      if (i < seeds.size() && seed.objective) {
        member.objective = *seed.objective;
        member.isEvaluated = true;
      }
      islands[i % numIslands].push_back(std::move(member));
    }
    parallelFor(params.threads, numMembers - seeds.size(), [&](size_t i) {
      Rng rng = root.fork(0).fork(i);
      const size_t at = seeds.size() + i;
      problem.mutate(islands[at % numIslands][at / numIslands].genes, rng);
    });
    return islands;
  }

  /// Evaluates as many members as the budget allows and drops the others.
  void evaluateAll(std::vector<Island> &islands) {
    std::vector<Member *> open;
    for (Island &island : islands)
      for (Member &member : island)
        if (!member.isEvaluated)
          open.push_back(&member);
    if (int64_t left = std::max<int64_t>(budget.evaluations - result.evaluations, 0);
        static_cast<int64_t>(open.size()) > left)
      open.resize(static_cast<size_t>(left));
    parallelFor(params.threads, open.size(), [&](size_t i) {
      if (budget.mustStop())
        return;
      open[i]->objective = problem.evaluate(open[i]->genes);
      open[i]->isEvaluated = true;
    });
    for (const Member *member : open) {
      result.evaluations += member->isEvaluated;
      result.stoppedByClock |= !member->isEvaluated;
    }
    for (Island &island : islands) {
      std::erase_if(island, [](const Member &member) { return !member.isEvaluated; });
      for (const Member &member : island) {
        if (member.objective < result.objective) {
          result.objective = member.objective;
          result.best = member.genes;
          lastImprovement = result.evaluations;
        }
      }
    }
    ++result.generations;
  }

  void report(const std::vector<Island> &alive) const {
    if (!problem.progress)
      return;
    Generation generation{result.objective, result.evaluations};
    for (const Island &island : alive)
      for (const Member &member : island)
        if (member.objective != kInfeasibleObjective) {
          ++generation.feasible;
          generation.mean +=
              (static_cast<double>(member.objective) - generation.mean) / static_cast<double>(generation.feasible);
          generation.worst = std::max(generation.worst, member.objective);
        }
    problem.progress(generation);
  }

  /// Crosses random pairs of each island and mutates their children.
  std::vector<Island> breed(const std::vector<Island> &islands, const Rng &rng) const {
    struct Pair {
      size_t island, mother, father;
      Rng rng;
    };
    std::vector<Pair> pairs;
    for (size_t k = 0; k < numIslands; ++k) {
      Rng own = rngOf(rng, k);
      std::vector<size_t> mates(islands[k].size());
      std::iota(mates.begin(), mates.end(), size_t(0));
      own.shuffle(mates);
      // If the number is odd, the last member mates with the first. A single member mates with itself.
      for (size_t i = 0; 2 * i < mates.size(); ++i)
        pairs.push_back({k, mates[2 * i], mates[(2 * i + 1) % mates.size()], own.fork(i)});
    }
    std::vector<std::vector<Individual>> litters(pairs.size());
    parallelFor(params.threads, pairs.size(), [&](size_t i) {
      Pair &pair = pairs[i];
      const Island &island = islands[pair.island];
      litters[i] = problem.crossover(island[pair.mother].genes, island[pair.father].genes, pair.rng);
      for (Individual &child : litters[i])
        problem.mutate(child, pair.rng);
    });
    std::vector<Island> children(numIslands);
    for (size_t i = 0; i < pairs.size(); ++i)
      for (Individual &child : litters[i])
        children[pairs[i].island].push_back({std::move(child), kInfeasibleObjective, false});
    return children;
  }

  /// Each island receives a copy of the best member of the island before it. Migration comes before selection, so
  /// that selection weighs an immigrant like any other member.
  void migrate(std::vector<Island> &islands) const {
    std::vector<const Member *> best;
    for (const Island &island : islands)
      best.push_back(island.empty() ? nullptr : &*std::min_element(island.begin(), island.end(), hasLowerObjective));
    std::vector<Island> arriving(numIslands);
    for (size_t k = 0; k < numIslands; ++k)
      if (const Member *immigrant = best[(k + numIslands - 1) % numIslands])
        arriving[k].push_back(*immigrant);
    for (size_t k = 0; k < numIslands; ++k)
      std::move(arriving[k].begin(), arriving[k].end(), std::back_inserter(islands[k]));
  }

  void selectAll(std::vector<Island> &islands, const Rng &rng) const {
    for (size_t k = 0; k < numIslands; ++k)
      select(islands[k], rngOf(rng, k));
  }

  /// Keeps the elites and draws the other survivors without replacement.
  void select(Island &members, Rng rng) const {
    std::erase_if(members, [](const Member &member) { return member.objective == kInfeasibleObjective; });
    std::stable_sort(members.begin(), members.end(), hasLowerObjective);
    if (members.size() <= params.population)
      return;
    const size_t numElites = std::min(std::max<size_t>(params.elites, 1), params.population);
    std::vector<size_t> order(members.size() - numElites);
    std::iota(order.begin(), order.end(), numElites);
    if (params.selection == Selection::Tournament)
      orderByTournaments(order, params.population - numElites, rng);
    else
      orderByNoisyLogits(order, members, rng);
    order.resize(params.population - numElites);
    Island next;
    for (size_t i = 0; i < numElites; ++i)
      next.push_back(std::move(members[i]));
    for (size_t i : order)
      next.push_back(std::move(members[i]));
    members = std::move(next);
  }

  /// Sorts by logit plus Gumbel noise: the first n are then n draws without replacement from the logits' softmax.
  void orderByNoisyLogits(std::vector<size_t> &order, const Island &members, Rng &rng) const {
    std::vector<double> score(members.size());
    const double best = std::max(1.0, static_cast<double>(result.objective));
    for (size_t i : order) {
      const double objective = static_cast<double>(members[i].objective);
      const double logit =
          params.selection == Selection::Softmax ? (best - objective) / best : -std::log(std::max(objective, 1.0));
      score[i] = logit - std::log(-std::log1p(-rng.uniform()));
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return score[a] > score[b]; });
  }

  /// Moves the winners of `numDraws` tournaments to the front. Members are sorted: the least index wins.
  void orderByTournaments(std::vector<size_t> &order, size_t numDraws, Rng &rng) const {
    for (size_t drawn = 0; drawn < numDraws; ++drawn) {
      size_t winner = drawn + rng.below(order.size() - drawn);
      for (size_t k = 1; k < params.tournamentSize; ++k) {
        size_t rival = drawn + rng.below(order.size() - drawn);
        if (order[rival] < order[winner])
          winner = rival;
      }
      std::swap(order[drawn], order[winner]);
    }
  }

  const GeneticProblem<Individual> &problem;
  const std::vector<GeneticSeed<Individual>> &seeds;
  const GeneticParams &params;
  const Budget &budget;
  const Rng root;
  const size_t numIslands;
  int64_t lastImprovement = 0; ///< Number of evaluations when the best member was found.
  GeneticResult<Individual> result;
};

} // namespace detail

/// Minimizes the objective. The first populations consist of `seeds`, of which there must be at least one, and of
/// mutants of the seeds. If no individual is feasible, `best` is the first seed and the objective kInfeasibleObjective.
template <typename Individual>
GeneticResult<Individual> solveGenetic(const GeneticProblem<Individual> &problem,
                                       const std::vector<GeneticSeed<Individual>> &seeds, const GeneticParams &params) {
  return detail::GeneticSearch<Individual>(problem, seeds, params).run();
}

} // namespace sluice

#endif // SLUICE_OPTIMIZE_GENETIC_H
