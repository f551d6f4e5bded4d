//===- Choice.cpp ---------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Barriers/Choice.h"

#include "sluice/Barriers/CheckTrace.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include "Numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice {
namespace {

constexpr double kMostRatio = 100;
constexpr int64_t kMostSimulated = 10'000;
constexpr double kLeastGain = 1.05;

/// Full views first, then samples, which cost fewer messages and let ranks run further ahead.
std::vector<Barrier> candidatesFor(int64_t ranks) {
  std::vector<Barrier> barriers = {{0, std::nullopt}};
  for (int64_t staleness : {1, 2, 4, 8, 16})
    barriers.push_back({staleness, std::nullopt});
  for (int64_t sample : {10, 1})
    if (sample < ranks - 1)
      for (int64_t staleness : {0, 4})
        barriers.push_back({staleness, sample});
  barriers.push_back({0, 0});
  return barriers;
}

/// The rate at which the logarithm of the loss falls in a step; nothing if a loss has no logarithm.
std::optional<double> fallOf(const std::vector<double> &losses) {
  const auto count = static_cast<double>(losses.size());
  const double middle = (count - 1) / 2;
  double product = 0, square = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    if (!(losses[i] > 0) || !std::isfinite(losses[i]))
      return std::nullopt;
    const double x = static_cast<double>(i) - middle;
    product += x * std::log(losses[i]);
    square += x * x;
  }
  return std::max(-product / square, 0.0);
}

Expected<BarrierRun> simulateChecked(const BarrierProblem &problem) {
  SLUICE_ASSIGN_OR_RETURN(BarrierRun run, simulateBarrier(problem));
  SLUICE_RETURN_IF_ERROR(checkTrace(problem, run));
  return run;
}

/// The run of `problem`, whose duration is a first guess, until the first rank has done so many steps.
Expected<BarrierRun> simulateSteps(BarrierProblem &problem, int64_t steps) {
  SLUICE_ASSIGN_OR_RETURN(BarrierRun guess, simulateChecked(problem));
  const int64_t most = guess.metrics.mostSteps;
  if (most == steps || most == 0)
    return guess;
  const double ns = static_cast<double>(problem.durationNs) * static_cast<double>(steps) / static_cast<double>(most);
  problem.durationNs = std::clamp<int64_t>(std::llround(std::min(ns, double(kLongestNs))), 1, kLongestNs);
  return simulateChecked(problem);
}

int64_t meanStepNs(const RecordedWorker &rank) {
  int64_t total = 0;
  for (int64_t ns : rank.stepsNs)
    total = saturatingAdd(total, ns);
  return total / static_cast<int64_t>(rank.stepsNs.size());
}

} // namespace

static Status checkRatio(double ratio, std::string_view text) {
  if (ratio >= 1 && ratio <= kMostRatio)
    return {};
  return makeError(ErrorCode::InvalidInput, "a barrier cannot be chosen for '", excerpt(text),
                   "', give auto:loss=RATIO with a ratio of losses from 1 to ", kMostRatio);
}

Expected<double> parseBarrierChoice(std::string_view text) {
  constexpr std::string_view kPrefix = "auto:loss=";
  const Expected<double> given =
      parseNumber(text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : std::string_view());
  const double ratio = given.value_or(0);
  SLUICE_RETURN_IF_ERROR(checkRatio(ratio, text));
  return ratio;
}

Status BarrierTrial::check() const {
  if (ranks.empty() || stepsLeft < 1 || losses.size() < 2 ||
      std::any_of(ranks.begin(), ranks.end(), [](const RecordedWorker &rank) { return rank.stepsNs.empty(); }))
    return makeError(ErrorCode::InvalidInput, "a trial of ", ranks.size(), " ranks with ", losses.size(),
                     " losses is too short to choose a barrier, give at least one rank, a step of each and two losses");
  return {};
}

Expected<BarrierChoice> chooseBarrier(const BarrierTrial &trial, double mostLossRatio) {
  SLUICE_RETURN_IF_ERROR(trial.check());
  SLUICE_RETURN_IF_ERROR(checkRatio(mostLossRatio, concat(mostLossRatio)));
  const auto numRanks = static_cast<int64_t>(trial.ranks.size());
  const std::optional<double> fall = fallOf(trial.losses);
  const int64_t steps = std::min(trial.stepsLeft, kMostSimulated);
  int64_t slowestNs = 1;
  BarrierProblem problem;
  problem.workers = numRanks;
  problem.retestNs = trial.retestNs;
  problem.seed = trial.seed;
  for (const RecordedWorker &rank : trial.ranks) {
    problem.recorded.push_back({0, rank.stepsNs});
    slowestNs = std::max(slowestNs, meanStepNs(rank));
  }
  BarrierChoice choice;
  double bulkRate = 0;
  for (const Barrier &barrier : candidatesFor(numRanks)) {
    problem.barrier = barrier;
    problem.durationNs = std::min(saturatingMul(slowestNs, steps), kLongestNs);
    SLUICE_ASSIGN_OR_RETURN(const BarrierRun run, simulateSteps(problem, steps));
    const double rate = run.metrics.meanSteps / static_cast<double>(problem.durationNs);
    BarrierCandidate candidate{barrier, 1, run.metrics.waitingShare, run.metrics.meanLate, 1};
    if (choice.candidates.empty())
      bulkRate = rate;
    else
      candidate.lossRatio = !fall ? std::numeric_limits<double>::infinity()
                                  : std::exp(*fall * candidate.meanLate / static_cast<double>(numRanks));
    candidate.speed = bulkRate > 0 ? rate / bulkRate : 1;
    choice.candidates.push_back(candidate);
  }
  auto isAllowed = [&](const BarrierCandidate &one) { return one.lossRatio <= mostLossRatio; };
  double best = 1;
  for (const BarrierCandidate &one : choice.candidates)
    if (isAllowed(one))
      best = std::max(best, one.speed);
  const auto found = std::find_if(choice.candidates.begin(), choice.candidates.end(), [&](const BarrierCandidate &one) {
    return isAllowed(one) && one.speed * kLeastGain >= best;
  });
  choice.chosen = static_cast<size_t>(found - choice.candidates.begin());
  return choice;
}

} // namespace sluice
