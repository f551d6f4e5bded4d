//===- Search.cpp ---------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/Search.h"

#include "FileBelowHost.h"
#include "ResultBounds.h"
#include "Strategies.h"
#include "sluice/Placement/Placement.h"
#include "sluice/Search/CompactArenas.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"
#include "sluice/Swap/Dtr.h"
#include "sluice/Swap/Pofo.h"

#include <algorithm>

namespace sluice {

using namespace search;

/// The search ends after so many rounds in a row that find nothing better.
static constexpr int kFruitlessRounds = 3;
/// With a limit of evaluations: the part of them that the plans of the whole graph at the end of a search by period may
/// have.
static constexpr int64_t kExtendedPart = 4;
/// With a limit of evaluations: the part of them that a local search on the whole graph may have.
static constexpr int64_t kPolishingPart = 8;
/// The share of the time that a search by period may take.
static constexpr double kPeriodShare = 0.5;
/// Fewer plans by demand than these in the time left: a large graph, or little time.
static constexpr int64_t kManyPlans = 400;
/// The genetic search's share of the budget that the greedy plans leave.
static constexpr double kGeneticShare = 0.6;

static Status checkProblem(const SearchState &state) {
  SLUICE_RETURN_IF_ERROR(PlacementProblem{&state.graph, &state.machine, &state.costs, state.pinned}.check());
  // Swapping's own rules do not depend on which computing device it is.
  std::vector<DeviceId> placement(state.graph.numOperators(), state.machine.computeDevices().front());
  return check(SwapProblem{state.graph, state.machine, state.costs, std::move(placement), modelOrder(state.graph),
                           state.capacities});
}

static void offerStart(SearchState &state) {
  if (!state.params.start)
    return;
  Wave wave =
      state.evaluateUncounted(1, /*firstAlways=*/true, [&](size_t) { return Expected<Plan>(*state.params.start); });
  state.addBaseline("start", wave.evaluations[0]);
  state.offer(wave, "start");
}

/// A genetic search, then a local search from its best individual, which it returns.
static ScoredCandidate breedAndDescend(SearchState &state, const std::vector<ScoredCandidate> &scored, uint64_t round) {
  GeneticRun run;
  run.round = round;
  run.deadline = state.budget.deadline;
  if (run.deadline)
    run.deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>((*run.deadline - Clock::now()) * kGeneticShare);
  run.evaluationLimit = state.evaluationLimit;
  if (state.hasEvaluationLimit())
    run.evaluationLimit =
        state.result.evaluations + static_cast<int64_t>(static_cast<double>(state.evaluationsLeft()) * kGeneticShare);
  // Children of plans by stays and of others are rarely better than both, so plans by stays take part only if one of
  // them is the fastest.
  std::vector<ScoredCandidate> seeds = scored;
  auto isByStays = [](const ScoredCandidate &seed) { return seed.genes.allocator == Allocator::Stays; };
  if (!isByStays(scored.front()))
    std::erase_if(seeds, isByStays);
  std::optional<ScoredCandidate> best = breed(state, seeds, run);
  if (!best || *scored.front().objective <= *best->objective)
    best = scored.front();
  return descend(state, std::move(*best), round);
}

ScoredCandidate search::improve(SearchState &state, const std::vector<ScoredCandidate> &scored) {
  ScoredCandidate best = scored.front();
  // Both searches stop where nothing gets better; what is left of the budget starts them anew.
  int fruitless = 0;
  for (uint64_t round = 0; round == 0 || (state.mayContinue() && fruitless < kFruitlessRounds); ++round) {
    const int64_t before = state.bestNs;
    ScoredCandidate found = breedAndDescend(state, scored, round);
    if (*found.objective < *best.objective)
      best = std::move(found);
    fruitless = state.bestNs < before ? 0 : fruitless + 1;
  }
  return best;
}

/// Plans the candidates of a search by period and returns the feasible ones. With a limit of evaluations, a local
/// search from the fastest one then makes as many plans of the whole graph as take a constant time, however many layers
/// it has.
static std::vector<ScoredCandidate> searchByPeriod(SearchState &state) {
  PeriodBudget budget;
  int64_t polishing = 0;
  if (state.hasEvaluationLimit()) {
    const int64_t left = state.evaluationsLeft();
    polishing = left / kPolishingPart;
    budget.evaluations =
        std::max<int64_t>(1, left - polishing - std::min(PeriodCandidates::kMost, left / kExtendedPart));
  }
  if (state.budget.deadline) {
    const auto share = (*state.budget.deadline - Clock::now()) * kPeriodShare;
    budget.timeNs = std::max<int64_t>(1, std::chrono::duration_cast<std::chrono::nanoseconds>(share).count());
  }
  const PeriodCandidates found = candidatesByPeriod(state, budget);
  if (found.candidates.empty())
    return {};
  std::vector<ScoredCandidate> scored = planSeeds(state, found.candidates);
  if (polishing > 0 && !scored.empty()) {
    polishing = static_cast<int64_t>(static_cast<double>(polishing) * found.share);
    state.evaluationLimit = std::min(state.evaluationLimit, state.result.evaluations + polishing);
    descend(state, scored.front(), /*round=*/0);
  }
  return scored;
}

/// Whether the clock allows so few plans that most of them are worth more for a part of the graph. `onePlan` is the
/// time that one takes.
static bool isShortOfPlans(const SearchState &state, Clock::duration onePlan) {
  if (!state.budget.deadline || state.hasEvaluationLimit())
    return false;
  // Divided, because a long time times the threads may exceed a duration.
  return *state.budget.deadline - Clock::now() < onePlan * kManyPlans / state.threads;
}

/// Searches within the memories' capacities.
static void searchWithinLimits(SearchState &state) {
  const std::string &solver = state.params.solver;
  if (const SwapAdvisorVariant *variant = findSwapAdvisor(solver))
    return searchAsSwapAdvisor(state, *variant);
  if (solver == "random")
    return searchRandomly(state);
  if (solver == "activations-only")
    return planOnce(state, solver, planActivationsOnly);
  if (solver == "dtr")
    return planOnce(state, solver, planDtr);
  if (solver == "pofo")
    return planOnce(state, solver, planPofo);
  const bool inPlace = solver == "odswap-in-place";
  const Clock::time_point begin = Clock::now();
  planOnce(state, inPlace ? solver : "odswap",
           [inPlace](const SwapProblem &problem) { return planOdSwap(problem, inPlace); });
  if (inPlace || solver == "odswap")
    return;
  std::vector<ScoredCandidate> scored;
  const bool isByPeriod = solver == "by-period";
  const Clock::duration onePlan = Clock::now() - begin;
  if (state.mayContinue() && (isByPeriod || (state.breeds() && isShortOfPlans(state, onePlan))))
    scored = searchByPeriod(state);
  // More evaluations would take time that depends on the number of layers.
  if (isByPeriod && !scored.empty() && state.hasEvaluationLimit())
    return;
  if (scored.empty() || !isByPeriod) {
    const std::vector<ScoredCandidate> greedy = planSeeds(state, greedySeeds(state));
    scored.insert(scored.end(), greedy.begin(), greedy.end());
    std::stable_sort(scored.begin(), scored.end(),
                     [](const auto &a, const auto &c) { return *a.objective < *c.objective; });
  }
  if (solver != "greedy" && !scored.empty())
    improve(state, scored);
}

static Expected<SearchResult> finish(SearchState &state) {
  if (state.bestNs == kInfeasibleObjective) {
    if (state.firstError)
      return tl::unexpected<Error>(std::move(*state.firstError));
    return makeError(ErrorCode::Interrupted, "the search was stopped before it found a plan, graph '", state.graph.name,
                     "', give the search more time");
  }
  SearchResult &result = state.result;
  result.makespanNs = state.bestNs;
  Plan &plan = result.plan;
  plan.solver = concat("search=", state.params.solver, " (", plan.solver, ")");
  plan.seed = state.params.seed;
  plan.evaluations = result.evaluations;
  plan.stoppedByClock = state.isStopped && state.bestNs > state.targetNs();
  // The rivals' pools stay as the rivals made them.
  if (state.isGreedy())
    compactArenas(plan);
  SLUICE_RETURN_IF_ERROR(validatePlan(state.graph, state.machine, plan));
  SLUICE_RETURN_IF_ERROR(checkCertificates(
      {state.graph, state.machine, state.costs, state.capacities, plan.placement, state.pinned}, result));
  SwapProblem planned{state.graph,     state.machine, state.costs, plan.placement, firstLaunches(state.graph, plan),
                      state.capacities};
  result.minimumBytes = minimumBytes(planned);
  result.peakBytes = livenessPeakBytes(planned);
  state.report(state.bestNs);
  return std::move(result);
}

std::vector<std::string> searchSolverNames() {
  std::vector<std::string> names = {"default", "no-recompute", "by-period", "greedy"};
  for (std::string &name : swapAdvisorNames())
    names.push_back(std::move(name));
  names.insert(names.end(), {"random", "odswap", "odswap-in-place", "activations-only", "dtr", "pofo", "ideal"});
  return names;
}

/// A plan in which all parameters are in the host's memory, where that fits: a file changes nothing then.
static std::optional<SearchResult> solveWithoutFiles(const SearchProblem &problem, const SearchParams &params) {
  int64_t parameters = 0;
  for (const Tensor &tensor : problem.graph->tensors()) {
    // Experts are read from the file, and pages of other mapped parameters would displace them.
    if (tensor.isPooled)
      return std::nullopt;
    if (tensor.kind == TensorKind::Parameter)
      parameters = saturatingAdd(parameters, tensor.homeBytes());
  }
  if (parameters > problem.capacityBytes[0])
    return std::nullopt;
  Machine machine = *problem.machine;
  std::erase_if(machine.links,
                [&](const Link &link) { return problem.machine->isFile(link.a) || problem.machine->isFile(link.b); });
  std::erase_if(machine.memories, [](const Memory &memory) { return memory.kind == MemoryKind::File; });
  SearchProblem without = problem;
  without.machine = &machine;
  without.capacityBytes.resize(machine.memories.size());
  Expected<SearchResult> result = solveSearch(without, params);
  if (!result)
    return std::nullopt;
  result->plan.arenaBytes.resize(problem.machine->memories.size());
  if (result->plan.bytesUsed(*problem.graph, *problem.machine)[0] > problem.capacityBytes[0])
    return std::nullopt;
  result->minimumBytes.resize(problem.machine->memories.size());
  result->peakBytes.resize(problem.machine->memories.size());
  return std::move(*result);
}

/// Sets the bounds of a plan for a machine with a file below the host's memory. The search's own bounds are those of
/// another problem: of the turned one, whose tensors are whole blocks, or of the machine without files.
static Status boundWithFiles(const SearchProblem &problem, SearchResult &result) {
  const BoundProblem bounded{*problem.graph,        *problem.machine,      *problem.costs,
                             problem.capacityBytes, result.plan.placement, problem.placement};
  const bool isOpen = problem.placement.empty() || std::any_of(problem.placement.begin(), problem.placement.end(),
                                                               [](DeviceId device) { return !device.valid(); });
  boundAllPlacements(bounded, result);
  if (!isOpen || problem.machine->computeDevices().size() == 1)
    boundPlacement(bounded, result);
  return checkCertificates(bounded, result);
}

/// Solves an accelerator's problem, with the machine's own names in what it says.
static Expected<SearchResult> solveTurned(const SearchProblem &problem, const FileBelowHost &turned,
                                          const SearchParams &params) {
  SearchParams own = params;
  own.start = nullptr;
  if (std::optional<SearchResult> whole = solveWithoutFiles(problem, own)) {
    SLUICE_RETURN_IF_ERROR(boundWithFiles(problem, *whole));
    return std::move(*whole);
  }
  own.mayRecompute &= turned.mayRecompute();
  SLUICE_ASSIGN_OR_RETURN(SearchResult result, solveSearch(turned.turned(), own));
  result.plan = turned.turnBack(result.plan);
  SLUICE_RETURN_IF_ERROR(validatePlan(*problem.graph, *problem.machine, result.plan));
  auto timeOf = [&](const Plan &plan) {
    return simulate(*problem.graph, *problem.machine, *problem.costs, plan).makespanNs;
  };
  result.makespanNs = timeOf(result.plan);
  result.minimumBytes = turned.turnBack(result.minimumBytes);
  result.peakBytes = turned.turnBack(result.peakBytes);
  if (!result.history.empty())
    result.history.back().makespanNs = result.makespanNs;
  if (params.start) {
    SLUICE_RETURN_IF_ERROR(validatePlan(*problem.graph, *problem.machine, *params.start));
    if (const int64_t startNs = timeOf(*params.start); startNs <= result.makespanNs) {
      result.plan = *params.start;
      result.makespanNs = startNs;
    }
  }
  SLUICE_RETURN_IF_ERROR(boundWithFiles(problem, result));
  return result;
}

Expected<SearchResult> solveSearch(const SearchProblem &problem, const SearchParams &params) {
  std::vector<std::string> names = searchSolverNames();
  if (std::find(names.begin(), names.end(), params.solver) == names.end()) {
    return makeError(ErrorCode::NotFound, "search solver '", params.solver, "' does not exist, use ",
                     alternatives(names));
  }
  if (!(params.leastGain >= 0 && params.leastGain < 1))
    return makeError(ErrorCode::InvalidInput, "the least gain of the search is ", params.leastGain,
                     ", which is out of range, give a number of at least 0 and less than 1");
  if (problem.capacityBytes.size() != problem.machine->memories.size())
    return makeError(ErrorCode::InvalidInput, problem.capacityBytes.size(), " capacities are given and machine '",
                     problem.machine->name, "' has ", problem.machine->memories.size(),
                     " memories, give one capacity for each memory");
  SLUICE_ASSIGN_OR_RETURN(std::optional<FileBelowHost> turned, FileBelowHost::of(problem));
  if (turned)
    return solveTurned(problem, *turned, params);
  SearchState state(problem, params);
  SLUICE_RETURN_IF_ERROR(checkProblem(state));
  SLUICE_RETURN_IF_ERROR(choosePlacement(state));
  offerStart(state);
  if (!planWithUnlimitedMemory(state))
    searchWithinLimits(state);
  return finish(state);
}

} // namespace sluice
