//===- Search.cpp ---------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/Search.h"

#include "Candidate.h"
#include "sluice/Optimize/Genetic.h"
#include "sluice/Placement/Placement.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kDefaultEvaluations = 10'000;
/// SwapAdvisor breeds 144; a few seconds of planning allow fewer.
constexpr size_t kPopulation = 32;
/// Seeds of a genetic search, so that mutants of the best fill the rest.
constexpr size_t kMaxSeeds = 16;
/// Neighbours tried at once by the local search: fixed, so that the result does
/// not depend on the number of threads.
constexpr size_t kNeighbours = 16;
constexpr int64_t kStallEvaluations = 3000;
/// Of what is left after the greedy plans, the genetic search's share.
constexpr double kGeneticShare = 0.6;

/// One search on one placement, or on several until one is chosen.
class Searcher {
public:
  Searcher(const SearchProblem &problem, const SearchParams &params)
      : graph(*problem.graph), machine(*problem.machine), costs(*problem.costs), given(problem.placement),
        params(params), begin(Clock::now()) {
    for (size_t m = 0; m < machine.memories.size() && m < problem.capacityBytes.size(); ++m) {
      int64_t &capacity = machine.memories[m].capacityBytes;
      capacity = std::min(capacity, problem.capacityBytes[m]);
      capacities.push_back(capacity);
    }
    threads = params.threads > 0 ? params.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    limit = params.evaluations > 0 ? params.evaluations : std::numeric_limits<int64_t>::max();
    if (params.evaluations <= 0 && params.timeNs <= 0)
      limit = kDefaultEvaluations;
    budget.interrupt = params.interrupt;
    if (params.timeNs > 0)
      budget.deadline = begin + std::chrono::nanoseconds(std::min(params.timeNs, kLongestTimeNs));
  }

  Expected<SearchResult> run() {
    if (Status status = checkProblem(); !status)
      return propagate(status);
    if (Status status = choosePlacement(); !status)
      return propagate(status);
    measure();
    report(bestNs);
    if (params.solver == "ideal")
      tryIdeal(/*required=*/true);
    else if (!tryIdeal(/*required=*/false))
      search();
    return finish();
  }

private:
  static constexpr int64_t kLongestTimeNs = int64_t(1) << 60;

  struct Outcome {
    std::optional<Plan> plan;
    int64_t makespanNs = kInfeasibleObjective;
    Error error;
    bool made = false;
  };

  Outcome outcomeOf(const CandidateSpace &where, Expected<Plan> plan) const {
    Outcome outcome;
    outcome.made = true;
    if (plan) {
      outcome.makespanNs = where.makespanNs(*plan);
      outcome.plan = std::move(*plan);
    } else {
      outcome.error = std::move(plan.error());
    }
    return outcome;
  }

  bool mayContinue() const { return !budget.mustStop() && result.evaluations < limit && bestNs > result.lowerBoundNs; }

  /// Keeps the best.
  void offer(Outcome outcome, const std::string &name) {
    if (!outcome.plan || outcome.makespanNs >= bestNs)
      return;
    bestNs = outcome.makespanNs;
    result.plan = std::move(*outcome.plan);
    result.plan.solver = name;
    report(bestNs);
  }

  void addBaseline(std::string name, const Outcome &outcome) {
    Baseline baseline{std::move(name), std::nullopt, outcome.error.message};
    if (outcome.plan)
      baseline.makespanNs = outcome.makespanNs;
    result.baselines.push_back(std::move(baseline));
  }

  void report(int64_t soFarNs) const {
    if (!params.progress)
      return;
    SearchProgress progress;
    if (soFarNs != kInfeasibleObjective)
      progress.makespanNs = soFarNs;
    progress.idealNs = result.idealNs;
    progress.lowerBoundNs = result.lowerBoundNs;
    progress.evaluations = result.evaluations;
    progress.elapsedNs = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
    params.progress(progress);
  }

  std::unique_ptr<CandidateSpace> spaceFor(std::vector<DeviceId> placement, const Schedule &order) const {
    return std::make_unique<CandidateSpace>(graph, machine, costs, capacities, std::move(placement), order);
  }

  //===--------------------------------------------------------------------===//
  // Placement
  //===--------------------------------------------------------------------===//

  Status checkProblem() const {
    if (Status status = PlacementProblem{&graph, &machine, &costs, given}.check(); !status)
      return status;
    // Swapping's own rules do not depend on which computing device it is.
    std::vector<DeviceId> placement(graph.numOperators(), machine.computeDevices().front());
    return check(SwapProblem{graph, machine, costs, std::move(placement), modelOrder(graph), capacities});
  }

  /// Takes the placement given, or the one of the portfolio whose greedy plan in
  /// the placement's own order is fastest; plans may differ from the solvers'
  /// schedules as their links are contended and memories end.
  Status choosePlacement() {
    const PlacementProblem problem{&graph, &machine, &costs, given};
    const bool open =
        given.empty() || std::any_of(given.begin(), given.end(), [](DeviceId device) { return !device.valid(); });
    if (!open) {
      space = spaceFor(given, {});
      result.lowerBoundNs = planLowerBounds(graph, machine, costs, capacities, given).greatest();
      return {};
    }
    result.lowerBoundNs = placementLowerBoundNs(problem);

    std::vector<std::string> names{params.placementSolver};
    if (params.placementSolver == "best") {
      names = placementSolverNames();
      std::erase_if(names, [](const std::string &name) { return name == "best" || name == "exhaustive"; });
    }
    const bool shared = machine.computeDevices().size() > 1;
    struct Option {
      std::string name;
      std::unique_ptr<CandidateSpace> space;
      Schedule order;
    };
    std::vector<Option> options;
    for (const std::string &name : names) {
      Expected<PlacementSolution> solution = solvePlacement(problem, {name});
      if (!solution)
        return propagate(solution);
      bool known = std::any_of(options.begin(), options.end(),
                               [&](const Option &option) { return option.space->placement() == solution->placement; });
      if (!known)
        options.push_back(
            {name, spaceFor(solution->placement, shared ? solution->order : Schedule()), solution->order});
    }
    if (options.size() == 1) {
      space = std::move(options.front().space);
      result.lowerBoundNs = std::max(
          result.lowerBoundNs, machine.computeDevices().size() == 1
                                   ? planLowerBounds(graph, machine, costs, capacities, space->placement()).greatest()
                                   : 0);
      return {};
    }

    std::vector<Outcome> outcomes(options.size());
    parallelFor(threads, options.size(), [&](size_t i) {
      if (i > 0 && budget.mustStop())
        return;
      Candidate candidate;
      candidate.order = options[i].order;
      outcomes[i] = outcomeOf(*options[i].space, options[i].space->plan(candidate));
    });
    size_t chosen = 0;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      stopped |= !outcomes[i].made;
      if (!outcomes[i].made)
        continue;
      ++result.evaluations;
      addBaseline("place=" + options[i].name, outcomes[i]);
      if (outcomes[i].makespanNs < outcomes[chosen].makespanNs)
        chosen = i;
    }
    space = std::move(options[chosen].space);
    // The other solvers are measured by what they find themselves.
    if (params.solver == "default" || params.solver == "greedy")
      offer(std::move(outcomes[chosen]), "place=" + options[chosen].name);
    return {};
  }

  //===--------------------------------------------------------------------===//
  // Unlimited memory
  //===--------------------------------------------------------------------===//

  /// Plans as if memory were unlimited: every order where devices share the
  /// work; on one device, where orders hardly matter, the first, and those whose
  /// live bytes promise a plan that fits.
  void measure() {
    const auto &orders = space->orders();
    const bool all = machine.computeDevices().size() > 1;
    ideals.resize(orders.size());
    parallelFor(threads, orders.size(), [&](size_t i) {
      const SwapProblem problem = space->problemFor(orders[i].second);
      if (i == 0 || (!budget.mustStop() && (all || fits(livenessPeakBytes(problem)))))
        ideals[i] = outcomeOf(*space, planIdeal(problem));
    });
    size_t best = 0;
    for (size_t i = 0; i < ideals.size(); ++i) {
      result.evaluations += ideals[i].made;
      if (ideals[i].makespanNs < ideals[best].makespanNs)
        best = i;
    }
    result.idealNs = ideals[best].makespanNs;
    addBaseline("ideal", ideals[best]);
  }

  bool fits(const std::vector<int64_t> &bytes) const {
    return std::equal(bytes.begin(), bytes.end(), capacities.begin(), std::less_equal<>());
  }

  /// Offers the fastest ideal plan that fits. True if nothing else need be tried:
  /// it is as fast as any ideal one.
  bool tryIdeal(bool required) {
    size_t best = ideals.size(), nearest = 0;
    std::vector<int64_t> excess(ideals.size());
    for (size_t i = 0; i < ideals.size(); ++i) {
      if (!ideals[i].plan)
        continue;
      for (size_t m = 0; m < capacities.size(); ++m)
        excess[i] = std::max(excess[i], ideals[i].plan->arenaBytes[m] - capacities[m]);
      if (excess[i] <= 0 && (best == ideals.size() || ideals[i].makespanNs < ideals[best].makespanNs))
        best = i;
      if (excess[i] < excess[nearest])
        nearest = i;
    }
    if (best < ideals.size()) {
      bool done = ideals[best].makespanNs <= result.idealNs;
      if (done || required || params.solver == "greedy" || params.solver == "default")
        offer(std::move(ideals[best]), "ideal/" + space->orders()[best].first);
      return done;
    }
    if (required && !ideals[nearest].plan) {
      firstError = ideals[nearest].error;
    } else if (required) {
      const Plan &plan = *ideals[nearest].plan;
      for (size_t m = 0; m < capacities.size(); ++m)
        if (plan.arenaBytes[m] > capacities[m])
          firstError = Error{ErrorCode::Infeasible,
                             concat("solver 'ideal' needs ", formatBytes(plan.arenaBytes[m]), " (", plan.arenaBytes[m],
                                    " bytes) of memory '", machine.memories[m].name, "', which has ", capacities[m],
                                    ", use solver 'default'"),
                             {}};
    }
    return false;
  }

  //===--------------------------------------------------------------------===//
  // Limited memory
  //===--------------------------------------------------------------------===//

  void search() {
    if (params.solver != "swapadvisor")
      planOnDemand();
    if (params.solver == "odswap")
      return;
    std::vector<NamedCandidate> seeds;
    if (params.solver != "swapadvisor")
      seeds = space->offsetSeeds();
    for (NamedCandidate &seed : space->poolSeeds())
      seeds.push_back(std::move(seed));
    if (seeds.empty())
      firstError = Error{ErrorCode::Infeasible,
                         concat("no pool of size classes fits the memories of machine '", machine.name,
                                "', use solver 'default' or more memory"),
                         {}};
    planSeeds(seeds);
    if (params.solver == "greedy" || scored.empty())
      return;
    if (params.solver == "swapadvisor") {
      breed(Mutation::Paper, limit, budget.deadline);
      return;
    }
    std::optional<Clock::time_point> pause = budget.deadline;
    if (pause)
      pause = Clock::now() + std::chrono::duration_cast<Clock::duration>((*pause - Clock::now()) * kGeneticShare);
    int64_t left = limit - result.evaluations;
    breed(Mutation::Mixed,
          limit == std::numeric_limits<int64_t>::max()
              ? limit
              : result.evaluations + static_cast<int64_t>(static_cast<double>(left) * kGeneticShare),
          pause);
    climb();
  }

  void planOnDemand() {
    Outcome outcome = outcomeOf(*space, planOdSwap(space->problemFor(space->orders().front().second)));
    ++result.evaluations;
    addBaseline("odswap", outcome);
    if (params.solver == "odswap" && !outcome.plan)
      firstError = outcome.error;
    offer(std::move(outcome), "odswap");
  }

  /// Plans the seeds the budget allows, the first in any case, in waves so that
  /// an early stop at the bound saves the rest.
  void planSeeds(const std::vector<NamedCandidate> &seeds) {
    for (size_t first = 0; first < seeds.size(); first += kNeighbours) {
      if (first > 0 && !mayContinue())
        break;
      size_t count = std::min(kNeighbours, seeds.size() - first);
      count = std::min<size_t>(count, static_cast<size_t>(std::max<int64_t>(1, limit - result.evaluations)));
      std::vector<Outcome> outcomes(count);
      parallelFor(threads, count, [&](size_t i) {
        if (first + i == 0 || !budget.mustStop())
          outcomes[i] = outcomeOf(*space, space->plan(seeds[first + i].genes));
      });
      for (size_t i = 0; i < count; ++i) {
        if (!outcomes[i].made)
          continue;
        ++result.evaluations;
        const NamedCandidate &seed = seeds[first + i];
        addBaseline(seed.name, outcomes[i]);
        if (!outcomes[i].plan && !firstError)
          firstError = outcomes[i].error;
        if (outcomes[i].plan)
          scored.push_back({seed.genes, outcomes[i].makespanNs});
        offer(std::move(outcomes[i]), seed.name);
      }
    }
    stopped |= budget.mustStop();
    std::stable_sort(scored.begin(), scored.end(),
                     [](const auto &a, const auto &b) { return *a.objective < *b.objective; });
  }

  void breed(Mutation kind, int64_t evaluations, std::optional<Clock::time_point> deadline) {
    if (!mayContinue() || evaluations <= result.evaluations)
      return;
    GeneticProblem<Candidate> problem;
    problem.evaluate = [&](const Candidate &candidate) { return outcomeOf(*space, space->plan(candidate)).makespanNs; };
    problem.crossover = [&](const Candidate &mother, const Candidate &father, Rng &rng) {
      return space->crossover(mother, father, rng);
    };
    problem.mutate = [&, kind](Candidate &candidate, Rng &rng) { space->mutate(candidate, kind, rng); };
    const int64_t before = result.evaluations;
    problem.progress = [&](int64_t objective, int64_t done) {
      result.evaluations = before + done;
      report(std::min(bestNs, objective));
    };
    GeneticParams genetic;
    genetic.population = kPopulation;
    genetic.elites = kind == Mutation::Paper ? 1 : kPopulation / 4;
    genetic.target = result.lowerBoundNs;
    genetic.stallEvaluations = kStallEvaluations;
    genetic.budget = {evaluations - before, deadline, budget.interrupt};
    genetic.seed = params.seed;
    genetic.threads = threads;
    std::vector<GeneticSeed<Candidate>> seeds = scored;
    if (seeds.size() > kMaxSeeds)
      seeds.resize(kMaxSeeds);
    GeneticResult<Candidate> bred = solveGenetic(problem, seeds, genetic);
    result.evaluations = before + bred.evaluations;
    stopped |= bred.stoppedByClock;
    champion = {bred.best, bred.objective};
    if (bred.objective < bestNs)
      offer(outcomeOf(*space, space->plan(bred.best)), "genetic");
  }

  /// Steepest descent over batches of random neighbours.
  void climb() {
    if (champion.genes.order.empty())
      champion = scored.front();
    const Rng root = Rng(params.seed).fork(1);
    int64_t sinceBetter = 0;
    for (uint64_t batch = 0; mayContinue() && sinceBetter < kStallEvaluations; ++batch) {
      size_t count = static_cast<size_t>(std::min<int64_t>(kNeighbours, limit - result.evaluations));
      std::vector<Candidate> neighbours(count, champion.genes);
      std::vector<Outcome> outcomes(count);
      parallelFor(threads, count, [&](size_t i) {
        if (budget.mustStop())
          return;
        Rng rng = root.fork(batch).fork(i);
        space->mutate(neighbours[i], Mutation::Small, rng);
        outcomes[i] = outcomeOf(*space, space->plan(neighbours[i]));
      });
      size_t best = count;
      for (size_t i = 0; i < count; ++i) {
        result.evaluations += outcomes[i].made;
        // Equals are taken too: the search drifts along plateaus.
        if (outcomes[i].makespanNs <= *champion.objective &&
            (best == count || outcomes[i].makespanNs < outcomes[best].makespanNs))
          best = i;
      }
      sinceBetter += static_cast<int64_t>(count);
      if (best == count)
        continue;
      if (outcomes[best].makespanNs < *champion.objective)
        sinceBetter = 0;
      champion = {std::move(neighbours[best]), outcomes[best].makespanNs};
      offer(std::move(outcomes[best]), "local-search");
    }
    stopped |= budget.mustStop();
  }

  Expected<SearchResult> finish() {
    if (bestNs == kInfeasibleObjective) {
      if (firstError)
        return tl::unexpected<Error>(std::move(*firstError));
      return makeError(ErrorCode::Interrupted, "search was stopped, graph '", graph.name,
                       "' has no plan yet, give it more time");
    }
    result.makespanNs = bestNs;
    Plan &plan = result.plan;
    plan.solver = concat("search=", params.solver, " (", plan.solver, ")");
    plan.seed = params.seed;
    plan.evaluations = result.evaluations;
    plan.stoppedByClock = stopped && bestNs > result.lowerBoundNs;
    if (Status status = validatePlan(graph, machine, plan); !status)
      return propagate(status);
    Schedule order;
    for (const Command &command : plan.commands)
      if (command.kind == CommandKind::Launch)
        order.push_back(command.op);
    SwapProblem planned{graph, machine, costs, plan.placement, std::move(order), capacities};
    result.minimumBytes = minimumBytes(planned);
    result.peakBytes = livenessPeakBytes(planned);
    report(bestNs);
    return std::move(result);
  }

  const Graph &graph;
  Machine machine; ///< With the problem's capacities.
  const CostTable &costs;
  std::vector<DeviceId> given;
  std::vector<int64_t> capacities;
  const SearchParams &params;
  Clock::time_point begin;
  int threads = 1;
  int64_t limit = 0;
  Budget budget;

  std::unique_ptr<CandidateSpace> space;
  std::vector<Outcome> ideals; ///< Per order of the space.
  std::vector<GeneticSeed<Candidate>> scored;
  GeneticSeed<Candidate> champion;
  int64_t bestNs = kInfeasibleObjective;
  std::optional<Error> firstError;
  bool stopped = false;
  SearchResult result;
};

} // namespace

std::vector<std::string> searchSolverNames() { return {"default", "greedy", "swapadvisor", "odswap", "ideal"}; }

Expected<SearchResult> solveSearch(const SearchProblem &problem, const SearchParams &params) {
  std::vector<std::string> names = searchSolverNames();
  if (std::find(names.begin(), names.end(), params.solver) == names.end()) {
    std::string known;
    for (const std::string &name : names)
      known += (known.empty() ? "" : ", ") + name;
    return makeError(ErrorCode::NotFound, "search solver '", params.solver, "' does not exist, use one of ", known);
  }
  if (problem.capacityBytes.size() != problem.machine->memories.size())
    return makeError(ErrorCode::InvalidInput, problem.capacityBytes.size(), " capacities given, machine '",
                     problem.machine->name, "' has ", problem.machine->memories.size(), " memories, give one each");
  return Searcher(problem, params).run();
}

} // namespace sluice
