//===- BarrierFigures.cpp - Experiments with barriers ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BarrierFigures.h"

#include "sluice/Barriers/CheckTrace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sluice::bench {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// Width of the bins of progress inconsistencies.
constexpr double kBin = 0.25;

BarrierProblem settingOf(int64_t workers, int64_t seconds, double stragglers = 0, double slowness = 1) {
  BarrierProblem problem;
  problem.workers = workers;
  problem.durationNs = seconds * 1'000'000'000;
  problem.stragglers = stragglers;
  problem.slowness = slowness;
  return problem;
}

/// The least number of steps that x percent of the workers have not exceeded.
double stepsQuantile(const BarrierRun &run, double x) {
  std::vector<int64_t> clocks;
  for (const StepRecord &step : run.trace.steps) {
    clocks.resize(std::max<size_t>(clocks.size(), step.worker + 1));
    clocks[step.worker] += step.pushNs >= 0;
  }
  std::sort(clocks.begin(), clocks.end());
  const auto rank = static_cast<size_t>(std::ceil(x / 100 * static_cast<double>(clocks.size())));
  return static_cast<double>(clocks[std::max<size_t>(rank, 1) - 1]);
}

/// The share of updates whose progress inconsistency is in the bin that begins at x.
double progressShare(const BarrierRun &run, double x) {
  const auto workers = static_cast<double>(
      1 +
      std::max_element(run.trace.steps.begin(), run.trace.steps.end(), [](const StepRecord &a, const StepRecord &b) {
        return a.worker < b.worker;
      })->worker);
  const std::vector<int64_t> missed = progressInconsistencies(run.trace);
  const auto updates = std::count_if(missed.begin(), missed.end(), [](int64_t count) { return count >= 0; });
  const auto inBin = std::count_if(missed.begin(), missed.end(), [&](int64_t count) {
    return count >= 0 && std::floor(static_cast<double>(count) / workers / kBin) == std::round(x / kBin);
  });
  return static_cast<double>(inBin) / static_cast<double>(updates);
}

/// The mean of the last ten sequence inconsistencies.
double lastSequences(const BarrierRun &run, double) {
  const std::vector<double> &all = run.metrics.sequence;
  const size_t count = std::min<size_t>(all.size(), 10);
  return count == 0 ? kNone
                    : std::accumulate(all.end() - static_cast<std::ptrdiff_t>(count), all.end(), 0.0) /
                          static_cast<double>(count);
}

const std::vector<std::string> kFive = {"asp", "bsp", "ssp:4", "pbsp:10", "pssp:4,10"};
const std::vector<double> kQuantiles = {0, 5, 25, 50, 75, 95, 100}, kSizes = {50, 100, 200, 350, 500},
                          kShares = {0, 5, 10, 15, 20, 25, 30};
const BarrierMeasure kSteps = {"mean steps", [](const BarrierRun &run, double) { return run.metrics.meanSteps; }};
const BarrierMeasure kQuantile = {"steps that a share of the workers has at most", stepsQuantile};
const std::vector<BarrierMeasure> kProgress = {
    {"mean progress inconsistency", [](const BarrierRun &run, double) { return run.metrics.meanProgress; }},
    {"standard deviation of progress inconsistency",
     [](const BarrierRun &run, double) { return run.metrics.sdProgress; }}};
const BarrierMeasure kSequence = {"sequence inconsistency, mean of the last ten", lastSequences};

void changeStragglers(BarrierProblem &problem, double percent) { problem.stragglers = percent / 100; }
void changeSlowness(BarrierProblem &problem, double slowness) { problem.slowness = slowness; }
void changeWorkers(BarrierProblem &problem, double workers) { problem.workers = std::llround(workers); }

void addStepFigures(std::vector<BarrierFigure> &figures) {
  figures.push_back(
      {"6.3a", "200 workers, 200 s", "% of the workers", kQuantiles, kFive, {}, {kQuantile}, settingOf(200, 200)});
  figures.push_back({"6.3b",
                     "200 workers, 200 s",
                     "% of the workers",
                     kQuantiles,
                     {"pbsp:0", "pbsp:1", "pbsp:2", "pbsp:4", "pbsp:8", "pbsp:16", "pbsp:32", "pbsp:64"},
                     {},
                     {kQuantile},
                     settingOf(200, 200)});
  figures.push_back({"6.4a",
                     "200 workers, 100 s, stragglers twice as slow, relative to none",
                     "stragglers, %",
                     kShares,
                     kFive,
                     changeStragglers,
                     {kSteps},
                     settingOf(200, 100, 0, 2),
                     true});
  figures.push_back({"6.4b",
                     "200 workers, 100 s, 5 % stragglers, relative to none",
                     "slowness",
                     {1, 2, 4, 8, 16},
                     kFive,
                     changeSlowness,
                     {kSteps},
                     settingOf(200, 100, 0.05),
                     true});
  const std::vector<std::string> scaled = {"asp", "bsp", "pbsp:5", "pbsp:10", "ssp:4", "pssp:4,5", "pssp:4,10"};
  figures.push_back({"6.5", "100 s", "workers", kSizes, scaled, changeWorkers, {kSteps}, settingOf(100, 100)});
  figures.push_back({"6.5-polls",
                     "100 s, waiting workers test every 0.1 s instead of at each arrival",
                     "workers",
                     kSizes,
                     scaled,
                     changeWorkers,
                     {kSteps},
                     settingOf(100, 100)});
  figures.back().setting.retestNs = 100'000'000;
}

void addProgressFigures(std::vector<BarrierFigure> &figures) {
  std::vector<double> bins(12);
  for (size_t bin = 0; bin < bins.size(); ++bin)
    bins[bin] = static_cast<double>(bin) * kBin;
  figures.push_back({"6.9",
                     "100 workers, 100 s, bins of 0.25",
                     "progress inconsistency from",
                     bins,
                     {"asp", "pbsp:4", "pbsp:20", "pbsp:80", "pbsp:95", "pbsp:98", "bsp"},
                     {},
                     {{"share of the updates", progressShare}},
                     settingOf(100, 100)});
  figures.push_back({"6.10",
                     "100 s",
                     "workers",
                     kSizes,
                     {"asp", "pbsp:1", "pbsp:5", "pbsp:20", "bsp"},
                     changeWorkers,
                     kProgress,
                     settingOf(100, 100)});
  figures.push_back({"6.11",
                     "100 s",
                     "workers",
                     kSizes,
                     {"asp", "pssp:4,1", "pssp:4,5", "pssp:4,20", "ssp:4"},
                     changeWorkers,
                     kProgress,
                     settingOf(100, 100)});
  figures.push_back({"6.12",
                     "100 workers, 100 s, stragglers four times as slow",
                     "stragglers, %",
                     kShares,
                     {"asp", "pbsp:1", "pbsp:5", "pbsp:20", "pbsp:80", "bsp"},
                     changeStragglers,
                     kProgress,
                     settingOf(100, 100, 0, 4)});
  figures.push_back({"6.13",
                     "100 workers, 100 s, stragglers four times as slow",
                     "stragglers, %",
                     kShares,
                     {"asp", "pssp:4,1", "pssp:4,5", "pssp:4,20", "pssp:4,80", "ssp:4"},
                     changeStragglers,
                     kProgress,
                     settingOf(100, 100, 0, 4)});
}

void addSequenceFigures(std::vector<BarrierFigure> &figures) {
  const std::vector<std::string> barriers = {"asp", "ssp:4", "pbsp:5", "pssp:4,5", "pssp:4,20"};
  figures.push_back({"6.14a",
                     "100 workers, 100 s",
                     "updates per worker",
                     {5, 10, 15, 20, 25, 30, 35, 40, 45},
                     barriers,
                     {},
                     {{"sequence inconsistency",
                       [](const BarrierRun &run, double x) {
                         const auto index = static_cast<size_t>(x) - 1;
                         return index < run.metrics.sequence.size() ? run.metrics.sequence[index] : kNone;
                       }}},
                     settingOf(100, 100)});
  figures.push_back({"6.14b", "100 s", "workers", kSizes, barriers, changeWorkers, {kSequence}, settingOf(100, 100)});
  figures.push_back({"6.15a",
                     "100 workers, 100 s, stragglers four times as slow",
                     "stragglers, %",
                     {0, 10, 25, 50, 75, 90, 100},
                     barriers,
                     changeStragglers,
                     {kSequence},
                     settingOf(100, 100, 0, 4)});
  figures.push_back({"6.15b",
                     "100 workers, 100 s, 10 % stragglers",
                     "slowness",
                     {1, 2, 4, 8, 16},
                     {"asp", "pssp:4,1", "pssp:4,5", "pssp:4,20", "pssp:4,40", "pssp:4,80", "ssp:4"},
                     changeSlowness,
                     {kSequence},
                     settingOf(100, 100, 0.1)});
}

} // namespace

std::vector<BarrierFigure> barrierFigures() {
  std::vector<BarrierFigure> figures;
  addStepFigures(figures);
  addProgressFigures(figures);
  addSequenceFigures(figures);
  return figures;
}

} // namespace sluice::bench
