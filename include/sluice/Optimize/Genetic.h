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
#include <iterator>
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
  /// Populations apart, in a ring: every migrationGenerations generations each takes a
  /// copy of the best of the one before it. Seeds are dealt out in turns.
  size_t islands = 1;
  int64_t migrationGenerations = 8;
  size_t population = 16; ///< Of an island.
  /// Best individuals of an island that survive whatever selection draws; at least 1.
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
  size_t feasible = 0;                 ///< Alive and feasible, on all islands.
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
/// the first populations. `best` is the first of the seeds and objective is
/// kInfeasibleObjective where no individual was feasible.
template <typename Individual>
GeneticResult<Individual> solveGenetic(const GeneticProblem<Individual> &problem,
                                       const std::vector<GeneticSeed<Individual>> &seeds, const GeneticParams &params) {
  struct Member {
    Individual genes;
    int64_t objective = kInfeasibleObjective;
    bool known = false; ///< Evaluated already.
  };
  using Island = std::vector<Member>;
  GeneticResult<Individual> result;
  result.best = seeds.front().genes;
  const Rng root(params.seed);
  const Budget &budget = params.budget;
  int64_t lastImprovement = 0;

  // Evaluates what the budget allows and drops the rest.
  auto evaluateAll = [&](std::vector<Island> &islands) {
    std::vector<Member *> open;
    for (Island &island : islands)
      for (Member &member : island)
        if (!member.known)
          open.push_back(&member);
    if (int64_t left = std::max<int64_t>(budget.evaluations - result.evaluations, 0);
        static_cast<int64_t>(open.size()) > left)
      open.resize(static_cast<size_t>(left));
    parallelFor(params.threads, open.size(), [&](size_t i) {
      if (budget.mustStop())
        return;
      open[i]->objective = problem.evaluate(open[i]->genes);
      open[i]->known = true;
    });
    for (const Member *member : open) {
      result.evaluations += member->known;
      result.stoppedByClock |= !member->known;
    }
    for (Island &island : islands) {
      std::erase_if(island, [](const Member &m) { return !m.known; });
      for (const Member &member : island) {
        if (member.objective < result.objective) {
          result.objective = member.objective;
          result.best = member.genes;
          lastImprovement = result.evaluations;
        }
      }
    }
    ++result.generations;
  };
  auto report = [&](const std::vector<Island> &alive) {
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
  };

  // Elites first, then draws without replacement. Adding Gumbel noise to each
  // logit and taking the largest draws from their softmax.
  auto select = [&](Island &members, Rng rng) {
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
    Island next;
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

  // A lone island draws as if there were none.
  const size_t count = std::max<size_t>(params.islands, 1);
  auto rngOf = [&](const Rng &rng, size_t island) { return count == 1 ? rng : rng.fork(island); };
  auto selectAll = [&](std::vector<Island> &islands, const Rng &rng) {
    for (size_t k = 0; k < count; ++k)
      select(islands[k], rngOf(rng, k));
  };

  std::vector<Island> islands(count);
  const size_t first = std::max(params.population * count, seeds.size());
  for (size_t i = 0; i < first; ++i) {
    const GeneticSeed<Individual> &seed = seeds[i % seeds.size()];
    Member member{seed.genes};
    if (i < seeds.size() && seed.objective) {
      member.objective = *seed.objective;
      member.known = true;
    }
    islands[i % count].push_back(std::move(member));
  }
  parallelFor(params.threads, first - seeds.size(), [&](size_t i) {
    Rng rng = root.fork(0).fork(i);
    const size_t at = seeds.size() + i;
    problem.mutate(islands[at % count][at / count].genes, rng);
  });
  evaluateAll(islands);
  report(islands);
  selectAll(islands, root.fork(1));

  // Before selection, so that an immigrant has to hold its own.
  auto migrate = [&] {
    std::vector<const Member *> best;
    for (const Island &island : islands)
      best.push_back(island.empty()
                         ? nullptr
                         : &*std::min_element(island.begin(), island.end(), [](const Member &a, const Member &b) {
                             return a.objective < b.objective;
                           }));
    std::vector<Island> arriving(count);
    for (size_t k = 0; k < count; ++k)
      if (const Member *guest = best[(k + count - 1) % count])
        arriving[k].push_back(*guest);
    for (size_t k = 0; k < count; ++k)
      std::move(arriving[k].begin(), arriving[k].end(), std::back_inserter(islands[k]));
  };

  auto anyAlive = [&] {
    return std::any_of(islands.begin(), islands.end(), [](const Island &island) { return !island.empty(); });
  };
  for (int64_t generation = 1; !finished() && anyAlive(); ++generation) {
    const Rng rng = root.fork(2 * static_cast<uint64_t>(generation));
    struct Pair {
      size_t island, mother, father;
      Rng rng;
    };
    std::vector<Pair> pairs;
    for (size_t k = 0; k < count; ++k) {
      Rng own = rngOf(rng, k);
      std::vector<size_t> mates(islands[k].size());
      std::iota(mates.begin(), mates.end(), size_t(0));
      own.shuffle(mates);
      // An odd one out mates with the first; a lone survivor with itself.
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
    std::vector<Island> children(count);
    for (size_t i = 0; i < pairs.size(); ++i)
      for (Individual &child : litters[i])
        children[pairs[i].island].push_back({std::move(child), kInfeasibleObjective, false});
    evaluateAll(children);
    for (size_t k = 0; k < count; ++k)
      std::move(children[k].begin(), children[k].end(), std::back_inserter(islands[k]));
    report(islands);
    if (count > 1 && generation % std::max<int64_t>(params.migrationGenerations, 1) == 0)
      migrate();
    selectAll(islands, root.fork(2 * static_cast<uint64_t>(generation) + 1));
  }
  return result;
}

} // namespace sluice

#endif // SLUICE_OPTIMIZE_GENETIC_H
