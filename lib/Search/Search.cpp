//===- Search.cpp ---------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/Search.h"
#include "sluice/Optimize/Parallel.h"

#include "Candidate.h"
#include "sluice/Optimize/Genetic.h"
#include "sluice/Placement/Placement.h"
#include "sluice/Search/CompactArenas.h"
#include "sluice/Search/Mappings.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kDefaultEvaluations = 10'000;
/// SwapAdvisor breeds 144; a few seconds of planning allow fewer.
constexpr size_t kPaperPopulation = 144;
constexpr size_t kIslands = 4, kPopulation = 8;
/// Seeds of a genetic search, so that mutants of the best fill the rest.
constexpr size_t kMaxSeeds = 16;
/// Neighbours tried at once by the local search: fixed, so that the result does
/// not depend on the number of threads.
constexpr size_t kNeighbours = 16;
/// Greedy plans tried before those that compute again.
constexpr size_t kFirstSeeds = 4;
constexpr int64_t kStallEvaluations = 3000;
/// Starts in a row that find nothing better.
constexpr int kFruitlessRounds = 3;
/// Of what is left after the greedy plans, the genetic search's share.
constexpr double kGeneticShare = 0.6;
/// Of the whole budget, what moving operators between devices may take.
constexpr double kPlacementShare = 0.3;
constexpr int64_t kPlacementStall = 1000;

/// SwapAdvisor's search and its ablations.
struct PaperSearch {
  const char *name;
  Parts vary;
  bool freeClasses = false;
};
constexpr PaperSearch kPaperSearches[] = {{"swapadvisor", {}},
                                          {"swapadvisor-schedule", {true, false}},
                                          {"swapadvisor-pool", {false, true}},
                                          {"swapadvisor-free-classes", {}, true}};

const PaperSearch *findPaperSearch(const std::string &name) {
  auto at = std::find_if(std::begin(kPaperSearches), std::end(kPaperSearches),
                         [&](const PaperSearch &search) { return search.name == name; });
  return at == std::end(kPaperSearches) ? nullptr : at;
}

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
    threads = usableThreads(params.threads);
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
    offerStart();
    if (!planIdeals())
      search();
    return finish();
  }

private:
  static constexpr int64_t kLongestTimeNs = int64_t(1) << 60;

  struct Outcome {
    int64_t makespanNs = kInfeasibleObjective;
    Error error; ///< Why there is no plan.
    bool made = false;
  };

  /// Plans made side by side. Only the best is kept: those of a large graph take
  /// hundreds of megabytes each. Ties go to the first, whoever ends first.
  struct Wave {
    std::vector<Outcome> outcomes;
    std::optional<Plan> plan;
    size_t best = 0;
    int64_t bestNs = kInfeasibleObjective;
  };

  template <typename Make>
  Wave runWave(size_t count, bool firstAlways, Make make) const {
    Wave wave;
    wave.outcomes.resize(count);
    std::mutex mutex;
    parallelFor(threads, count, [&](size_t i) {
      if (!(firstAlways && i == 0) && budget.mustStop())
        return;
      Outcome &outcome = wave.outcomes[i];
      Expected<Plan> plan = make(i);
      outcome.made = true;
      if (!plan) {
        outcome.error = std::move(plan.error());
        return;
      }
      outcome.makespanNs = simulate(graph, machine, costs, *plan).makespanNs;
      std::lock_guard<std::mutex> lock(mutex);
      if (std::pair(outcome.makespanNs, i) < std::pair(wave.bestNs, wave.best)) {
        wave.best = i;
        wave.bestNs = outcome.makespanNs;
        wave.plan = std::move(*plan);
      }
    });
    return wave;
  }

  /// Counts a wave's plans; true if all of them were made.
  bool count(const Wave &wave) {
    bool complete = true;
    for (const Outcome &outcome : wave.outcomes) {
      result.evaluations += outcome.made;
      complete &= outcome.made;
    }
    return complete;
  }

  /// What cannot be beaten by this solver.
  int64_t targetNs() const { return recomputes() ? result.lowerBoundNs : result.onceBoundNs; }
  bool breeds() const { return params.solver == "default" || params.solver == "no-recompute"; }
  bool recomputes() const { return params.solver == "default"; }

  bool mayContinue() const { return !budget.mustStop() && result.evaluations < limit && bestNs > targetNs(); }

  /// Keeps the best.
  void offer(Wave &wave, const std::string &name) {
    if (!wave.plan || wave.bestNs >= bestNs)
      return;
    bestNs = wave.bestNs;
    result.plan = std::move(*wave.plan);
    result.plan.solver = name;
    report(bestNs);
  }

  void addBaseline(std::string name, const Outcome &outcome) {
    Baseline baseline{std::move(name), std::nullopt, outcome.error.message};
    if (outcome.makespanNs != kInfeasibleObjective)
      baseline.makespanNs = outcome.makespanNs;
    result.baselines.push_back(std::move(baseline));
  }

  void report(int64_t soFarNs, const Generation *generation = nullptr) const {
    if (!params.progress)
      return;
    SearchProgress progress;
    if (soFarNs != kInfeasibleObjective)
      progress.makespanNs = soFarNs;
    progress.idealNs = result.idealNs;
    progress.lowerBoundNs = result.lowerBoundNs;
    progress.evaluations = result.evaluations;
    progress.elapsedNs = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
    if (generation && generation->feasible > 0) {
      progress.meanNs = generation->mean;
      progress.worstNs = generation->worst;
    }
    params.progress(progress);
  }

  std::shared_ptr<CandidateSpace> spaceFor(std::vector<DeviceId> placement, const Schedule &order) const {
    return std::make_shared<CandidateSpace>(graph, machine, costs, capacities, std::move(placement), order);
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
    if (open)
      result.lowerBoundNs = result.onceBoundNs = placementLowerBoundNs(problem);
    if (params.start)
      if (Status status = takePlacement(*params.start); !status)
        return status;
    if (!open && !params.start)
      space = spaceFor(given, {});
    if (!open || (params.start && machine.computeDevices().size() == 1))
      boundPlacement();
    if (space)
      return {};

    std::vector<std::string> names{params.placementSolver};
    if (params.placementSolver == "best") {
      names = placementSolverNames();
      std::erase_if(
          names, [](const std::string &name) { return name == "best" || name == "htf-mpr" || name == "exhaustive"; });
    }
    const bool shared = machine.computeDevices().size() > 1;
    std::vector<PlacementOption> options;
    // To a placement a transfer is one step, with a wait on either side.
    const Machine waiting = withWaits(machine);
    for (const std::string &name : names) {
      Expected<PlacementSolution> solution = solvePlacement({&graph, &waiting, &costs, given}, {name});
      if (!solution)
        return propagate(solution);
      if (std::none_of(options.begin(), options.end(),
                       [&](const PlacementOption &option) { return option.space->placement() == solution->placement; }))
        options.push_back(
            {name, spaceFor(solution->placement, shared ? solution->order : Schedule()), solution->order});
    }
    if (options.size() == 1) {
      space = std::move(options.front().space);
      if (!shared)
        boundPlacement();
      return {};
    }

    Wave wave = runWave(options.size(), /*firstAlways=*/true, [&](size_t i) {
      Candidate candidate;
      candidate.order = options[i].order;
      return options[i].space->plan(candidate);
    });
    stopped |= !count(wave);
    for (size_t i = 0; i < options.size(); ++i)
      if (wave.outcomes[i].made)
        addBaseline("place=" + options[i].name, wave.outcomes[i]);
    const PlacementOption &best = options[wave.best];
    space = best.space;
    // The other solvers are measured by what they find themselves.
    if (breeds() || params.solver == "greedy")
      offer(wave, "place=" + best.name);
    if (breeds() && params.placementSolver == "best" && wave.bestNs != kInfeasibleObjective)
      improvePlacement(best.order, wave.bestNs);
    if (params.placementSolver == "best" && !isOnOneDevice(space->placement()))
      preferOneDevice(options, wave);
    return {};
  }

  struct PlacementOption {
    std::string name;
    std::shared_ptr<CandidateSpace> space;
    Schedule order;
  };

  static bool isOnOneDevice(const std::vector<DeviceId> &placement) {
    return std::adjacent_find(placement.begin(), placement.end(), std::not_equal_to<>()) == placement.end();
  }

  /// Unless the several devices of the placement taken gain enough over the fastest of
  /// the options on one. `plans` has the options' greedy plans.
  void preferOneDevice(const std::vector<PlacementOption> &options, const Wave &plans) {
    std::optional<size_t> alone;
    int64_t aloneNs = kInfeasibleObjective;
    for (size_t i = 0; i < options.size(); ++i)
      if (isOnOneDevice(options[i].space->placement()) && plans.outcomes[i].makespanNs < aloneNs) {
        alone = i;
        aloneNs = plans.outcomes[i].makespanNs;
      }
    const int64_t fastestNs = std::min(bestNs, plans.bestNs);
    if (!alone || static_cast<double>(fastestNs) <= (1 - params.leastGain) * static_cast<double>(aloneNs))
      return;
    auto isOneOfOne = [&](const std::string &name) {
      return std::any_of(options.begin(), options.end(), [&](const PlacementOption &option) {
        return name == "place=" + option.name && isOnOneDevice(option.space->placement());
      });
    };
    for (Baseline &baseline : result.baselines)
      if (baseline.makespanNs && *baseline.makespanNs < aloneNs && !isOneOfOne(baseline.name))
        baseline.reason = concat("gains less than ", params.leastGain * 100, "% over one device");
    space = options[*alone].space;
    if (!breeds() && params.solver != "greedy")
      return;
    bestNs = kInfeasibleObjective;
    Candidate candidate;
    candidate.order = options[*alone].order;
    Wave wave = runWave(1, /*firstAlways=*/true, [&](size_t) { return space->plan(candidate); });
    count(wave);
    offer(wave, "place=" + options[*alone].name);
  }

  Status takePlacement(const Plan &start) {
    if (Status status = validatePlan(graph, machine, start); !status)
      return makeError(ErrorCode::InvalidInput,
                       "the plan to search on from is not one of this problem: ", status.error().message);
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i].valid() && given[i] != start.placement[i])
        return makeError(ErrorCode::InvalidInput, "the plan to search on from places operator '",
                         graph.op(OperatorId(i)).name, "' elsewhere than it is pinned, search from another plan");
    space = spaceFor(start.placement, firstLaunches(start));
    return {};
  }

  Schedule firstLaunches(const Plan &plan) const {
    Schedule order;
    std::vector<char> launched(graph.numOperators(), 0);
    for (const Command &command : plan.commands)
      if (command.kind == CommandKind::Launch && !std::exchange(launched[command.op.index()], 1))
        order.push_back(command.op);
    return order;
  }

  void offerStart() {
    if (!params.start)
      return;
    Wave wave = runWave(1, /*firstAlways=*/true, [&](size_t) { return Expected<Plan>(*params.start); });
    addBaseline("start", wave.outcomes[0]);
    offer(wave, "start");
  }

  /// Of the only placement there is.
  void boundPlacement() {
    LowerBounds bounds = planLowerBounds(graph, machine, costs, capacities, space->placement());
    result.lowerBoundNs = std::max(result.lowerBoundNs, bounds.always());
    result.onceBoundNs = std::max(result.lowerBoundNs, bounds.once());
  }

  /// Operators that move together: a colocation colour, or one operator; empty
  /// where a pin holds them.
  std::vector<std::vector<OperatorId>> movableUnits(std::vector<uint32_t> &unitOf) const {
    std::vector<std::vector<OperatorId>> units;
    std::map<int32_t, uint32_t> unitOfColour;
    unitOf.resize(graph.numOperators());
    for (uint32_t i = 0; i < unitOf.size(); ++i) {
      const int32_t colour = graph.op(OperatorId(i)).colocation;
      uint32_t unit = static_cast<uint32_t>(units.size());
      if (colour >= 0)
        unit = unitOfColour.emplace(colour, unit).first->second;
      if (unit == units.size())
        units.emplace_back();
      unitOf[i] = unit;
      units[unit].push_back(OperatorId(i));
    }
    for (uint32_t i = 0; i < given.size(); ++i)
      if (given[i].valid())
        units[unitOf[i]].clear();
    return units;
  }

  /// Moves random runs of dependent operators to other devices while that makes
  /// the plan faster: the classical model behind the solvers knows no contention.
  void improvePlacement(const Schedule &order, int64_t currentNs) {
    std::vector<uint32_t> unitOf;
    const std::vector<std::vector<OperatorId>> units = movableUnits(unitOf);
    const std::vector<DeviceId> devices = machine.computeDevices();
    std::vector<DeviceId> current = space->placement();
    auto vary = [&](std::vector<DeviceId> &placement, Rng &rng) {
      OperatorId op(static_cast<uint32_t>(rng.below(placement.size())));
      const DeviceId device = devices[rng.below(devices.size())];
      for (uint64_t left = uint64_t(1) << rng.below(7); left > 0; --left) {
        for (OperatorId member : units[unitOf[op.index()]])
          placement[member.index()] = device;
        std::vector<OperatorId> next = graph.successors(op);
        if (next.empty())
          break;
        op = next[rng.below(next.size())];
      }
    };
    const int64_t most = limit == std::numeric_limits<int64_t>::max()
                             ? limit
                             : static_cast<int64_t>(static_cast<double>(limit) * kPlacementShare);
    Budget share{most, std::nullopt, nullptr};
    if (budget.deadline)
      share.deadline =
          begin + std::chrono::duration_cast<Clock::duration>((*budget.deadline - begin) * kPlacementShare);
    const Rng root = Rng(params.seed).fork(2);
    bool moved = false;
    int64_t sinceBetter = 0;
    for (uint64_t batch = 0; mayContinue() && sinceBetter < kPlacementStall; ++batch) {
      if (share.late() || result.evaluations + static_cast<int64_t>(kNeighbours) > share.evaluations) {
        stopped |= share.late();
        break;
      }
      std::vector<std::vector<DeviceId>> neighbours(kNeighbours, current);
      Wave wave = runWave(kNeighbours, /*firstAlways=*/false, [&](size_t i) {
        Rng rng = root.fork(batch).fork(i);
        vary(neighbours[i], rng);
        return planSwapOffsets({graph, machine, costs, neighbours[i], order, capacities});
      });
      count(wave);
      sinceBetter += static_cast<int64_t>(kNeighbours);
      if (!wave.plan || wave.bestNs >= currentNs)
        continue;
      sinceBetter = 0;
      moved = true;
      currentNs = wave.bestNs;
      current = std::move(neighbours[wave.best]);
      offer(wave, "place=local-search");
    }
    if (!moved)
      return;
    space = spaceFor(current, order);
    Outcome outcome;
    outcome.makespanNs = currentNs;
    addBaseline("place=local-search", outcome);
  }

  //===--------------------------------------------------------------------===//
  // Unlimited memory
  //===--------------------------------------------------------------------===//

  /// Plans as if memory were unlimited: every order where devices share the
  /// work; on one device, where orders hardly matter, those whose live bytes
  /// promise a plan that fits, or the first. True if nothing else need be tried:
  /// the fastest of them fits.
  bool planIdeals() {
    const auto &orders = space->orders();
    const std::vector<DeviceId> &devices = space->placement();
    const bool isOneDevice = std::all_of(devices.begin(), devices.end(), [&](DeviceId d) { return d == devices[0]; });
    std::vector<size_t> chosen;
    // Made for several devices, the placement's leaves results cold that the next operator could read.
    auto suits = [&](const std::string &name) { return !isOneDevice || orders.size() == 1 || name != "placement"; };
    for (size_t i = 0; i < orders.size(); ++i)
      if (!suits(orders[i].first))
        continue;
      else if (machine.computeDevices().size() > 1 || fits(livenessPeakBytes(space->problemFor(orders[i].second))))
        chosen.push_back(i);
    if (chosen.empty())
      chosen.push_back(0);
    Wave wave = runWave(chosen.size(), /*firstAlways=*/true,
                        [&](size_t i) { return planIdeal(space->problemFor(orders[chosen[i]].second)); });
    count(wave);
    result.idealNs = wave.bestNs;
    addBaseline("ideal", wave.outcomes[wave.best]);
    report(bestNs);
    if (wave.plan && fits(wave.plan->arenaBytes)) {
      if (isOneDevice && wave.bestNs == bestNs)
        bestNs = kInfeasibleObjective;
      offer(wave, "ideal/" + orders[chosen[wave.best]].first);
      return true;
    }
    if (params.solver != "ideal")
      return false;
    if (!wave.plan) {
      firstError = wave.outcomes[wave.best].error;
      return true;
    }
    for (size_t m = 0; m < capacities.size(); ++m)
      if (int64_t needed = wave.plan->arenaBytes[m]; needed > capacities[m])
        firstError = Error{ErrorCode::Infeasible,
                           concat("solver 'ideal' needs ", formatBytes(needed), " (", needed, " bytes) of memory '",
                                  machine.memories[m].name, "', which has ", capacities[m], ", use solver 'default'"),
                           {}};
    return true;
  }

  bool fits(const std::vector<int64_t> &bytes) const {
    return std::equal(bytes.begin(), bytes.end(), capacities.begin(), std::less_equal<>());
  }

  //===--------------------------------------------------------------------===//
  // Limited memory
  //===--------------------------------------------------------------------===//

  void search() {
    if (const PaperSearch *paper = findPaperSearch(params.solver))
      return searchAsPaper(*paper);
    if (params.solver == "random")
      return searchRandomly();
    if (params.solver == "activations-only")
      return planOnce(params.solver, planActivationsOnly);
    planOnce("odswap", planOdSwap);
    if (params.solver == "odswap")
      return;
    std::vector<NamedCandidate> seeds;
    if (params.start && recomputes())
      if (std::optional<Candidate> again = space->recomputingAs(*params.start))
        seeds.push_back({"start", *again});
    for (NamedCandidate &seed : space->offsetSeeds())
      seeds.push_back(std::move(seed));
    auto append = [&](std::vector<NamedCandidate> more) {
      std::move(more.begin(), more.end(), std::back_inserter(seeds));
    };
    if (recomputes()) {
      // Early, for large graphs in little time: after the likely ones.
      std::vector<NamedCandidate> rest(seeds.begin() + static_cast<ptrdiff_t>(std::min(kFirstSeeds, seeds.size())),
                                       seeds.end());
      seeds.resize(seeds.size() - rest.size());
      append(space->recomputingSeeds(budget));
      append(std::move(rest));
    }
    append(space->poolSeeds(EvictionPolicy::CostAware));
    planSeeds(seeds);
    if (params.solver == "greedy" || scored.empty())
      return;
    // Both stop where nothing gets better; what is left of the budget starts them anew.
    int fruitless = 0;
    for (round = 0; round == 0 || (mayContinue() && fruitless < kFruitlessRounds); ++round) {
      const int64_t before = bestNs;
      breedAndClimb();
      fruitless = bestNs < before ? 0 : fruitless + 1;
    }
  }

  void breedAndClimb() {
    std::optional<Clock::time_point> pause = budget.deadline;
    if (pause)
      pause = Clock::now() + std::chrono::duration_cast<Clock::duration>((*pause - Clock::now()) * kGeneticShare);
    int64_t left = limit - result.evaluations;
    champion = {};
    breed(Mutation::Mixed,
          limit == std::numeric_limits<int64_t>::max()
              ? limit
              : result.evaluations + static_cast<int64_t>(static_cast<double>(left) * kGeneticShare),
          pause);
    climb();
  }

  void searchAsPaper(const PaperSearch &paper) {
    std::vector<NamedCandidate> seeds = space->poolSeeds(EvictionPolicy::Belady);
    if (seeds.empty())
      firstError = Error{ErrorCode::Infeasible,
                         concat("no pool of size classes fits the memories of machine '", machine.name,
                                "', use solver 'default' or more memory"),
                         {}};
    if (paper.freeClasses)
      for (NamedCandidate &seed : seeds) {
        seed.genes.allocator = Allocator::FreePools;
        for (const PoolConfig &pool : seed.genes.pools)
          seed.genes.freePools.push_back(freePoolOf(pool));
        seed.genes.pools.clear();
      }
    planSeeds(seeds);
    if (scored.empty())
      return;
    const Candidate best = scored.front().genes;
    std::erase_if(scored, [&](const GeneticSeed<Candidate> &seed) {
      return (!paper.vary.order && seed.genes.order != best.order) ||
             (!paper.vary.allocation && seed.genes.pools != best.pools);
    });
    breed(Mutation::Paper, limit, budget.deadline, paper.vary);
  }

  void searchRandomly() {
    const Rng root = Rng(params.seed).fork(3);
    for (uint64_t batch = 0; batch == 0 || mayContinue(); ++batch) {
      const int64_t size = std::clamp<int64_t>(limit - result.evaluations, 1, kNeighbours);
      Wave wave = runWave(static_cast<size_t>(size), /*firstAlways=*/batch == 0, [&](size_t i) {
        Rng rng = root.fork(batch).fork(i);
        return space->plan(space->randomPools(rng));
      });
      count(wave);
      for (const Outcome &outcome : wave.outcomes)
        if (outcome.made && outcome.makespanNs == kInfeasibleObjective && !firstError)
          firstError = outcome.error;
      offer(wave, "random");
    }
    stopped |= budget.mustStop();
  }

  /// A baseline that makes one plan, in the first order.
  void planOnce(const std::string &name, Expected<Plan> (*planner)(const SwapProblem &)) {
    Wave wave = runWave(1, /*firstAlways=*/true,
                        [&](size_t) { return planner(space->problemFor(space->orders().front().second)); });
    count(wave);
    addBaseline(name, wave.outcomes[0]);
    if (params.solver == name && !wave.plan)
      firstError = wave.outcomes[0].error;
    offer(wave, name);
  }

  /// Plans the seeds the budget allows, the first in any case, in waves so that
  /// an early stop at the bound saves the rest.
  void planSeeds(const std::vector<NamedCandidate> &seeds) {
    for (size_t first = 0; first < seeds.size(); first += kNeighbours) {
      if (first > 0 && !mayContinue())
        break;
      int64_t size = std::min<int64_t>(kNeighbours, static_cast<int64_t>(seeds.size() - first));
      size = std::min(size, std::max<int64_t>(1, limit - result.evaluations));
      Wave wave = runWave(static_cast<size_t>(size), /*firstAlways=*/first == 0,
                          [&](size_t i) { return space->plan(seeds[first + i].genes); });
      count(wave);
      for (size_t i = 0; i < wave.outcomes.size(); ++i) {
        const Outcome &outcome = wave.outcomes[i];
        const NamedCandidate &seed = seeds[first + i];
        if (!outcome.made)
          continue;
        addBaseline(seed.name, outcome);
        if (outcome.makespanNs != kInfeasibleObjective)
          scored.push_back({seed.genes, outcome.makespanNs});
        else if (!firstError)
          firstError = outcome.error;
      }
      offer(wave, seeds[first + wave.best].name);
    }
    stopped |= budget.mustStop();
    std::stable_sort(scored.begin(), scored.end(),
                     [](const auto &a, const auto &b) { return *a.objective < *b.objective; });
  }

  void breed(Mutation kind, int64_t evaluations, std::optional<Clock::time_point> deadline, Parts vary = {}) {
    if (!mayContinue() || evaluations <= result.evaluations)
      return;
    GeneticProblem<Candidate> problem;
    problem.evaluate = [&](const Candidate &candidate) {
      Expected<Plan> plan = space->plan(candidate);
      return plan ? simulate(graph, machine, costs, *plan).makespanNs : kInfeasibleObjective;
    };
    problem.crossover = [&](const Candidate &mother, const Candidate &father, Rng &rng) {
      return space->crossover(mother, father, rng, vary);
    };
    problem.mutate = [&](Candidate &candidate, Rng &rng) { space->mutate(candidate, kind, rng, vary); };
    const int64_t before = result.evaluations;
    problem.progress = [&](const Generation &generation) {
      result.evaluations = before + generation.evaluations;
      report(std::min(bestNs, generation.best), &generation);
    };
    GeneticParams genetic;
    if (kind == Mutation::Paper) {
      genetic.population = kPaperPopulation;
    } else {
      genetic.islands = kIslands;
      genetic.population = kPopulation;
      genetic.elites = kPopulation / 4;
      genetic.stallEvaluations = kStallEvaluations;
    }
    genetic.target = targetNs();
    genetic.budget = {evaluations - before, deadline, budget.interrupt};
    genetic.seed = params.seed;
    genetic.threads = threads;
    std::vector<GeneticSeed<Candidate>> seeds = scored;
    if (round > 0) {
      // From elsewhere.
      Rng rng = Rng(params.seed).fork(4).fork(round);
      rng.shuffle(seeds);
      genetic.seed = rng.next();
    }
    if (seeds.size() > kMaxSeeds)
      seeds.resize(kMaxSeeds);
    GeneticResult<Candidate> bred = solveGenetic(problem, seeds, genetic);
    result.evaluations = before + bred.evaluations;
    stopped |= bred.stoppedByClock;
    champion = {bred.best, bred.objective};
    if (bred.objective < bestNs) {
      Wave wave = runWave(1, /*firstAlways=*/true, [&](size_t) { return space->plan(bred.best); });
      offer(wave, "genetic");
    }
  }

  /// Steepest descent over batches of random neighbours.
  void climb() {
    if (champion.genes.order.empty())
      champion = scored.front();
    const Rng base = Rng(params.seed).fork(1), root = round > 0 ? base.fork(round) : base;
    int64_t sinceBetter = 0;
    for (uint64_t batch = 0; mayContinue() && sinceBetter < kStallEvaluations; ++batch) {
      const int64_t size = std::min<int64_t>(kNeighbours, limit - result.evaluations);
      std::vector<Candidate> neighbours(static_cast<size_t>(size), champion.genes);
      Wave wave = runWave(neighbours.size(), /*firstAlways=*/false, [&](size_t i) {
        Rng rng = root.fork(batch).fork(i);
        space->mutate(neighbours[i], Mutation::Small, rng);
        return space->plan(neighbours[i]);
      });
      count(wave);
      sinceBetter += size;
      // Equals are taken too: the search drifts along plateaus.
      if (!wave.plan || wave.bestNs > *champion.objective)
        continue;
      if (wave.bestNs < *champion.objective)
        sinceBetter = 0;
      champion = {std::move(neighbours[wave.best]), wave.bestNs};
      offer(wave, "local-search");
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
    plan.stoppedByClock = stopped && bestNs > targetNs();
    // Others' pools stay as they made them.
    if (breeds() || params.solver == "greedy")
      compactArenas(plan);
    if (Status status = validatePlan(graph, machine, plan); !status)
      return propagate(status);
    SwapProblem planned{graph, machine, costs, plan.placement, firstLaunches(plan), capacities};
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

  std::shared_ptr<CandidateSpace> space;
  std::vector<GeneticSeed<Candidate>> scored;
  GeneticSeed<Candidate> champion;
  uint64_t round = 0; ///< Of breeding and climbing.
  int64_t bestNs = kInfeasibleObjective;
  std::optional<Error> firstError;
  bool stopped = false;
  SearchResult result;
};

} // namespace

std::vector<std::string> searchSolverNames() {
  std::vector<std::string> names = {"default", "no-recompute", "greedy"};
  for (const PaperSearch &search : kPaperSearches)
    names.push_back(search.name);
  names.insert(names.end(), {"random", "odswap", "activations-only", "ideal"});
  return names;
}

Expected<SearchResult> solveSearch(const SearchProblem &problem, const SearchParams &params) {
  std::vector<std::string> names = searchSolverNames();
  if (std::find(names.begin(), names.end(), params.solver) == names.end()) {
    std::string known;
    for (const std::string &name : names)
      known += (known.empty() ? "" : ", ") + name;
    return makeError(ErrorCode::NotFound, "search solver '", params.solver, "' does not exist, use one of ", known);
  }
  if (!(params.leastGain >= 0 && params.leastGain < 1))
    return makeError(ErrorCode::InvalidInput, "a least gain of ", params.leastGain,
                     " is no part of a time, search parameters, give at least 0 and less than 1");
  if (problem.capacityBytes.size() != problem.machine->memories.size())
    return makeError(ErrorCode::InvalidInput, problem.capacityBytes.size(), " capacities given, machine '",
                     problem.machine->name, "' has ", problem.machine->memories.size(), " memories, give one each");
  return Searcher(problem, params).run();
}

} // namespace sluice
