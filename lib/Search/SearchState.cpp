//===- SearchState.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SearchState.h"

#include "sluice/Optimize/Parallel.h"
#include "sluice/Simulator/Simulator.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace sluice::search {

static constexpr int64_t kDefaultEvaluations = 10'000;
/// Longer limits would overflow the clock's time points.
static constexpr int64_t kLongestTimeNs = int64_t(1) << 60;
static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

bool Wave::isComplete() const {
  return std::all_of(evaluations.begin(), evaluations.end(),
                     [](const Evaluation &evaluation) { return evaluation.isDone; });
}

SearchState::SearchState(const SearchProblem &problem, const SearchParams &params)
    : graph(*problem.graph), machine(*problem.machine), costs(*problem.costs), pinned(problem.placement),
      params(params), begin(Clock::now()), threads(usableThreads(params.threads)),
      evaluationLimit(params.evaluations > 0 ? params.evaluations : kNoLimit) {
  for (size_t m = 0; m < machine.memories.size() && m < problem.capacityBytes.size(); ++m) {
    int64_t &capacity = machine.memories[m].capacityBytes;
    capacity = std::min(capacity, problem.capacityBytes[m]);
    capacities.push_back(capacity);
  }
  if (params.evaluations <= 0 && params.timeNs <= 0)
    evaluationLimit = kDefaultEvaluations;
  budget.interrupt = params.interrupt;
  if (params.timeNs > 0)
    budget.deadline = begin + std::chrono::nanoseconds(std::min(params.timeNs, kLongestTimeNs));
}

bool SearchState::hasEvaluationLimit() const { return evaluationLimit != kNoLimit; }

bool SearchState::mayContinue() const {
  return !budget.mustStop() && result.evaluations < evaluationLimit && bestNs > targetNs();
}

bool SearchState::fits(const std::vector<int64_t> &arenaBytes) const {
  return std::equal(arenaBytes.begin(), arenaBytes.end(), capacities.begin(), std::less_equal<>());
}

Wave SearchState::evaluateUncounted(size_t count, bool firstAlways, const MakePlan &make) const {
  Wave wave;
  wave.evaluations.resize(count);
  std::mutex mutex;
  parallelFor(threads, count, [&](size_t i) {
    if (!(firstAlways && i == 0) && budget.mustStop())
      return;
    Evaluation &evaluation = wave.evaluations[i];
    Expected<Plan> plan = make(i);
    evaluation.isDone = true;
    if (!plan) {
      evaluation.error = std::move(plan.error());
      return;
    }
    evaluation.makespanNs = simulate(graph, machine, costs, *plan).makespanNs;
    std::lock_guard<std::mutex> lock(mutex);
    if (std::pair(evaluation.makespanNs, i) < std::pair(wave.bestNs, wave.best)) {
      wave.best = i;
      wave.bestNs = evaluation.makespanNs;
      wave.plan = std::move(*plan);
    }
  });
  return wave;
}

Wave SearchState::evaluate(size_t count, bool firstAlways, const MakePlan &make) {
  Wave wave = evaluateUncounted(count, firstAlways, make);
  result.evaluations += std::count_if(wave.evaluations.begin(), wave.evaluations.end(),
                                      [](const Evaluation &evaluation) { return evaluation.isDone; });
  return wave;
}

void SearchState::offer(Wave &wave, const std::string &name) {
  if (!wave.plan || wave.bestNs >= bestNs)
    return;
  bestNs = wave.bestNs;
  result.plan = std::move(*wave.plan);
  result.plan.solver = name;
  noteBest(bestNs);
  report(bestNs);
}

void SearchState::noteBest(int64_t soFarNs) {
  std::vector<SearchPoint> &history = result.history;
  if (soFarNs == kInfeasibleObjective || (!history.empty() && soFarNs >= history.back().makespanNs))
    return;
  if (history.empty() || history.back().evaluations < result.evaluations)
    history.emplace_back();
  history.back() = {result.evaluations, soFarNs};
}

void SearchState::addBaseline(std::string name, const Evaluation &evaluation) {
  Baseline baseline{std::move(name), std::nullopt, evaluation.error.message};
  if (evaluation.makespanNs != kInfeasibleObjective)
    baseline.makespanNs = evaluation.makespanNs;
  result.baselines.push_back(std::move(baseline));
}

void SearchState::noteError(const Evaluation &evaluation) {
  if (evaluation.isDone && evaluation.makespanNs == kInfeasibleObjective && !firstError)
    firstError = evaluation.error;
}

void SearchState::report(int64_t soFarNs, const Generation *generation) const {
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

std::shared_ptr<CandidateSpace> SearchState::spaceFor(std::vector<DeviceId> placement, const Schedule &order) const {
  return std::make_shared<CandidateSpace>(graph, machine, costs, capacities, std::move(placement), order);
}

Schedule firstLaunches(const Graph &graph, const Plan &plan) {
  Schedule order;
  std::vector<char> isLaunched(graph.numOperators(), 0);
  for (const Command &command : plan.commands)
    if (command.kind == CommandKind::Launch && !std::exchange(isLaunched[command.op.index()], 1))
      order.push_back(command.op);
  return order;
}

} // namespace sluice::search
