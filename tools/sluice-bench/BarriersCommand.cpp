//===- BarriersCommand.cpp - sluice-bench barriers ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Prints the simulated figures of Zhao's thesis, chapter 6, or an experiment that the command line describes. Every run
// is checked.
//
//===----------------------------------------------------------------------===//

#include "BarrierFigures.h"
#include "Commands.h"
#include "Timing.h"
#include "sluice/Barriers/CheckTrace.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace sluice::bench {
namespace {

struct BarriersOptions {
  std::vector<std::string> figures, barriers;
  int64_t workers = 100, shards = 1, seeds = 5;
  std::string duration = "100s", stepTime = "exponential:1s,1s", exchange = "free", machine = "v100-16gb", bytes = "0B",
              retest, fromRun, format = "text";
  double stragglers = 0, slowness = 1;
  int threads = 0;

  bool json() const { return format == "json"; }
};

/// Numbers of one run, or their means over several runs.
using Values = std::vector<double>;

/// The values of each problem, averaged over the seeds, NaN where a run has none.
Expected<std::vector<Values>> measureAll(const std::vector<BarrierProblem> &problems,
                                         const std::function<Values(const BarrierRun &, size_t)> &measure,
                                         const BarriersOptions &options) {
  const auto seeds = static_cast<size_t>(options.seeds);
  std::vector<Values> values(problems.size() * seeds);
  std::vector<Status> states(values.size());
  parallelFor(usableThreads(options.threads), values.size(), [&](size_t i) {
    BarrierProblem problem = problems[i / seeds];
    problem.seed = i % seeds;
    Expected<BarrierRun> run = simulateBarrier(problem);
    states[i] = run ? checkTrace(problem, *run) : Status(propagate(run));
    if (states[i])
      values[i] = measure(*run, i / seeds);
  });
  std::vector<Values> means(problems.size());
  for (size_t i = 0; i < values.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(states[i]);
    Values &mean = means[i / seeds];
    mean.resize(values[i].size());
    for (size_t k = 0; k < mean.size(); ++k)
      mean[k] += values[i][k] / static_cast<double>(seeds);
  }
  return means;
}

std::string cellOf(double value) {
  if (std::isnan(value))
    return "-";
  char text[32];
  std::snprintf(text, sizeof text, std::abs(value) >= 1e6 ? "%.3g" : std::abs(value) >= 10 ? "%.1f" : "%.3f", value);
  return text;
}

/// Prints Markdown, which docs/results/barriers.md has as it is.
void printTable(const std::vector<std::vector<std::string>> &rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const std::string &cell : rows[i])
      std::printf("| %s ", cell.c_str());
    std::printf("|\n");
    for (size_t k = 0; i == 0 && k < rows[i].size(); ++k)
      std::printf("|---:");
    if (i == 0)
      std::printf("|\n");
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// A figure's numbers: a table for each measure, of rows for each x, of columns for each barrier.
using Tables = std::vector<std::vector<Values>>;

Expected<Tables> measureFigure(const BarrierFigure &figure, const BarriersOptions &options) {
  const size_t numXs = figure.xs.size(), numMeasures = figure.measures.size(), columns = figure.barriers.size();
  const size_t settings = figure.change ? numXs : 1;
  std::vector<BarrierProblem> problems;
  for (size_t setting = 0; setting < settings; ++setting)
    for (const std::string &barrier : figure.barriers) {
      problems.push_back(figure.setting);
      SLUICE_ASSIGN_OR_RETURN(problems.back().barrier, parseBarrier(barrier));
      if (figure.change)
        figure.change(problems.back(), figure.xs[setting]);
    }
  // A run gives each measure at each x that it is for.
  auto measure = [&](const BarrierRun &run, size_t problem) {
    Values values;
    for (const BarrierMeasure &each : figure.measures)
      for (size_t x = 0; x < numXs; ++x)
        if (settings == 1 || x == problem / columns)
          values.push_back(each.value(run, figure.xs[x]));
    return values;
  };
  SLUICE_ASSIGN_OR_RETURN(std::vector<Values> means, measureAll(problems, measure, options));
  Tables tables(numMeasures, std::vector<Values>(numXs, Values(columns)));
  for (size_t m = 0; m < numMeasures; ++m)
    for (size_t x = 0; x < numXs; ++x)
      for (size_t column = 0; column < columns; ++column) {
        tables[m][x][column] = settings == 1 ? means[column][m * numXs + x] : means[x * columns + column][m];
        if (figure.isRelative && x > 0)
          tables[m][x][column] /= tables[m][0][column];
      }
  for (std::vector<Values> &table : tables)
    if (figure.isRelative)
      std::fill(table.front().begin(), table.front().end(), 1);
  return tables;
}

Status runFigures(const BarriersOptions &options) {
  Json figures = Json::array();
  for (const BarrierFigure &figure : barrierFigures()) {
    if (!options.figures.empty() &&
        std::find(options.figures.begin(), options.figures.end(), figure.id) == options.figures.end())
      continue;
    SLUICE_ASSIGN_OR_RETURN(Tables tables, measureFigure(figure, options));
    for (size_t m = 0; m < tables.size(); ++m) {
      const std::string &measure = figure.measures[m].name;
      const std::string xName = concat(figure.id, figure.measures.size() > 1 && m > 0 ? " sd: " : ": ", figure.xName);
      std::vector<std::vector<std::string>> cells = {{xName}};
      cells[0].insert(cells[0].end(), figure.barriers.begin(), figure.barriers.end());
      Json rows = Json::array();
      for (size_t x = 0; x < figure.xs.size(); ++x) {
        cells.push_back({concat(figure.xs[x])});
        Json row = {{"x", figure.xs[x]}};
        for (size_t column = 0; column < figure.barriers.size(); ++column) {
          const double value = tables[m][x][column];
          cells.back().push_back(cellOf(value));
          if (!std::isnan(value))
            row[figure.barriers[column]] = value;
        }
        rows.push_back(std::move(row));
      }
      if (!options.json()) {
        std::printf("Figure %s: %s; %s.\n\n", figure.id.c_str(), measure.c_str(), figure.title.c_str());
        printTable(cells);
      }
      figures.push_back({{"figure", figure.id},
                         {"measure", measure},
                         {"setting", figure.title},
                         {"x", figure.xName},
                         {"rows", std::move(rows)}});
    }
  }
  if (options.json())
    driver::printJson({{"benchmark", "barriers"}, {"seeds", options.seeds}, {"figures", std::move(figures)}});
  return {};
}

struct Metric {
  const char *key, *label;
  double (*value)(const BarrierMetrics &);
};

/// The rows of an experiment's table.
constexpr Metric kMetrics[] = {
    {"meanSteps", "steps, mean", [](const BarrierMetrics &m) { return m.meanSteps; }},
    {"sdSteps", "steps, standard deviation", [](const BarrierMetrics &m) { return m.sdSteps; }},
    {"leastSteps", "steps, least", [](const BarrierMetrics &m) { return static_cast<double>(m.leastSteps); }},
    {"mostSteps", "steps, most", [](const BarrierMetrics &m) { return static_cast<double>(m.mostSteps); }},
    {"waitingShare", "share of the time at the barrier", [](const BarrierMetrics &m) { return m.waitingShare; }},
    {"meanProgress", "progress inconsistency, mean", [](const BarrierMetrics &m) { return m.meanProgress; }},
    {"sdProgress", "progress inconsistency, standard deviation", [](const BarrierMetrics &m) { return m.sdProgress; }},
    {"sequence", "sequence inconsistency, at the end",
     [](const BarrierMetrics &m) { return m.sequence.empty() ? 0 : m.sequence.back(); }},
    {"meanLate", "updates seen late", [](const BarrierMetrics &m) { return m.meanLate; }},
    {"tests", "tests of the barrier per update",
     [](const BarrierMetrics &m) { return static_cast<double>(m.tests) / static_cast<double>(m.updates); }},
    {"controlMessages", "messages of the barrier per update",
     [](const BarrierMetrics &m) { return static_cast<double>(m.controlMessages) / static_cast<double>(m.updates); }},
    {"modelMessages", "messages of pushes and pulls per update",
     [](const BarrierMetrics &m) { return static_cast<double>(m.modelMessages) / static_cast<double>(m.updates); }},
};

/// The ranks of a run, from the report that `sluice run --barrier` prints: their starts, the times of their steps, and
/// the mean time between two tests, or the time that was asked for if no test failed.
Expected<BarrierProblem> recordedProblem(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path));
  const JsonReader report(json, path);
  BarrierProblem problem;
  SLUICE_ASSIGN_OR_RETURN(JsonReader common, report.member("common"));
  SLUICE_ASSIGN_OR_RETURN(problem.durationNs, common.integer("durationNs"));
  SLUICE_ASSIGN_OR_RETURN(problem.retestNs, report.integer("retestNs"));
  if (problem.retestNs < 0)
    return makeError(ErrorCode::InvalidInput, "the file gives ", problem.retestNs,
                     " ns as the time between two tests of the barrier, which must not be negative, '", path,
                     "', give a report of sluice run --barrier");
  SLUICE_ASSIGN_OR_RETURN(JsonReader ranks, report.member("ranks"));
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> elements, ranks.elements());
  if (elements.empty())
    return makeError(ErrorCode::InvalidInput, "the report has no ranks, '", path,
                     "', give a report of sluice run --barrier");
  constexpr int64_t kMost = 1'000'000'000'000'000;
  double waitedNs = 0, failed = 0;
  for (const JsonReader &rank : elements) {
    const char *const keys[] = {"passNs", "pushNs", "waitNs", "tests"};
    std::vector<int64_t> lists[4];
    for (size_t k = 0; k < 4; ++k) {
      SLUICE_ASSIGN_OR_RETURN(JsonReader list, rank.member(keys[k]));
      SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> values, list.elements());
      for (const JsonReader &value : values) {
        SLUICE_ASSIGN_OR_RETURN(const int64_t number, value.asInteger());
        if (number < 0 || number > kMost)
          return makeError(ErrorCode::InvalidInput, "the number ", number, " is out of range, ", value.where(),
                           ", give a number from 0 to 1e15");
        lists[k].push_back(number);
      }
      if (lists[k].empty() || lists[k].size() != lists[0].size())
        return makeError(ErrorCode::InvalidInput, "the list '", keys[k], "' has ", lists[k].size(),
                         lists[k].size() == 1 ? " entry" : " entries", " for the ", lists[0].size(),
                         " steps of a rank, ", rank.where(), ", give one entry for each step");
    }
    const auto &[passNs, pushNs, waitNs, tests] = lists;
    RecordedWorker worker;
    worker.startNs = std::max<int64_t>(passNs[0] - waitNs[0], 0);
    for (size_t i = 0; i < passNs.size(); ++i) {
      if (pushNs[i] < passNs[i] || (i > 0 && passNs[i] < pushNs[i - 1]))
        return makeError(ErrorCode::InvalidInput, "step ", i, " of the rank ends before it begins, or begins before ",
                         "the step before it ends, ", rank.where(), ", give a report of sluice run --barrier");
      worker.stepsNs.push_back(std::max<int64_t>(pushNs[i] - passNs[i], 1));
      if (tests[i] > 1) {
        waitedNs += static_cast<double>(waitNs[i]);
        failed += static_cast<double>(tests[i] - 1);
      }
    }
    problem.recorded.push_back(std::move(worker));
  }
  problem.workers = static_cast<int64_t>(problem.recorded.size());
  if (failed > 0)
    problem.retestNs = std::max<int64_t>(std::llround(waitedNs / failed), 1);
  return problem;
}

Expected<BarrierProblem> settingOf(const BarriersOptions &options) {
  BarrierProblem problem;
  if (!options.fromRun.empty()) {
    SLUICE_ASSIGN_OR_RETURN(problem, recordedProblem(options.fromRun));
  } else {
    problem.workers = options.workers;
    problem.stragglers = options.stragglers;
    problem.slowness = options.slowness;
    SLUICE_ASSIGN_OR_RETURN(problem.durationNs, parseDuration(options.duration));
    SLUICE_ASSIGN_OR_RETURN(problem.stepTime, parseStepTime(options.stepTime));
  }
  if (!options.retest.empty()) {
    SLUICE_ASSIGN_OR_RETURN(problem.retestNs, parseDuration(options.retest));
  }
  if (options.exchange != "free") {
    SLUICE_ASSIGN_OR_RETURN(Machine machine, loadMachine(options.machine));
    SLUICE_ASSIGN_OR_RETURN(int64_t bytes, parseBytes(options.bytes));
    SLUICE_ASSIGN_OR_RETURN(problem.exchange,
                            exchangeOver(machine,
                                         options.exchange == "server" ? Exchange::Kind::Server : Exchange::Kind::Peers,
                                         bytes, options.shards));
  }
  SLUICE_RETURN_IF_ERROR(problem.check());
  return problem;
}

/// Prints all metrics of the barriers that the command line names.
Status runExperiment(const BarriersOptions &options) {
  std::vector<BarrierProblem> problems;
  SLUICE_ASSIGN_OR_RETURN(BarrierProblem setting, settingOf(options));
  for (const std::string &text : options.barriers) {
    problems.push_back(setting);
    SLUICE_ASSIGN_OR_RETURN(problems.back().barrier, parseBarrier(text));
  }
  auto measure = [](const BarrierRun &run, size_t) {
    Values values;
    for (const Metric &metric : kMetrics)
      values.push_back(metric.value(run.metrics));
    return values;
  };
  SLUICE_ASSIGN_OR_RETURN(std::vector<Values> means, measureAll(problems, measure, options));
  // One more run of each, alone, gives the simulation's time.
  for (size_t i = 0; i < problems.size(); ++i) {
    const double start = threadSeconds();
    SLUICE_ASSIGN_OR_RETURN(BarrierRun run, simulateBarrier(problems[i]));
    means[i].push_back(threadSeconds() - start);
  }
  constexpr size_t kCount = std::size(kMetrics);
  if (options.json()) {
    Json rows = Json::array();
    for (size_t i = 0; i < problems.size(); ++i) {
      Json row = {{"barrier", options.barriers[i]}};
      for (size_t k = 0; k < kCount; ++k)
        row[kMetrics[k].key] = means[i][k];
      row["simulationSeconds"] = means[i].back();
      rows.push_back(std::move(row));
    }
    driver::printJson({{"benchmark", "barriers"},
                       {"seeds", options.seeds},
                       {"workers", setting.workers},
                       {"durationNs", setting.durationNs},
                       {"retestNs", setting.retestNs},
                       {"barriers", std::move(rows)}});
    return {};
  }
  std::vector<std::vector<std::string>> cells = {{"metric"}};
  cells[0].insert(cells[0].end(), options.barriers.begin(), options.barriers.end());
  for (size_t k = 0; k <= kCount; ++k) {
    cells.push_back({k < kCount ? kMetrics[k].label : "simulation of a run, s of a core"});
    for (const Values &values : means)
      cells.back().push_back(cellOf(values[k]));
  }
  printTable(cells);
  return {};
}

} // namespace

void addBarriersCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<BarriersOptions>();
  CLI::App *command = driver::addCommand(
      app, "barriers",
      "Simulate workers that train together: by default figures of Zhao's thesis, or an experiment with --barrier");
  std::vector<std::string> ids;
  for (const BarrierFigure &figure : barrierFigures())
    ids.push_back(figure.id);
  CLI::Option *figures = driver::addOption(*command, "--figure", options->figures, "figures to print; by default all")
                             ->delimiter(',')
                             ->check(driver::oneOf(ids))
                             ->type_name("N,...");
  CLI::Option *barrier = driver::addOption(*command, "--barrier", options->barriers,
                                           "run an experiment with these barriers: bsp, ssp:STALENESS, asp, "
                                           "pbsp:SAMPLE, pssp:STALENESS,SAMPLE; may be repeated")
                             ->type_name("BARRIER")
                             ->excludes(figures);
  auto addSetting = [&](const char *name, auto &value, const char *description) {
    return driver::addOption(*command, name, value, description)->needs(barrier)->capture_default_str();
  };
  CLI::Option *fromRun = driver::addOption(*command, "--from-run", options->fromRun,
                                           "simulate the ranks of a report of 'sluice run --barrier --format json': "
                                           "their starts, the times of their steps, the time between tests and the "
                                           "duration")
                             ->needs(barrier)
                             ->type_name("FILE");
  addSetting("--workers", options->workers, "number of workers of the experiment")->excludes(fromRun);
  addSetting("--duration", options->duration, "simulated time of a run")->type_name("TIME")->excludes(fromRun);
  addSetting("--step-time", options->stepTime,
             "fixed:TIME, uniform:BASE,SPREAD, exponential:BASE,MEAN, lognormal:MEDIAN,SIGMA")
      ->type_name("DISTRIBUTION")
      ->excludes(fromRun);
  addSetting("--stragglers", options->stragglers, "share of slow workers, from 0 to 1")->excludes(fromRun);
  addSetting("--slowness", options->slowness, "factor by which steps of slow workers are longer")->excludes(fromRun);
  driver::addOption(*command, "--retest", options->retest,
                    "time from a failed test of a barrier to the next test; 0s, or by default without --from-run: test "
                    "at each arrival of an update")
      ->needs(barrier)
      ->type_name("TIME");
  addSetting("--exchange", options->exchange,
             "exchange of updates: free (takes no time), server (sharded parameter server) or peers")
      ->check(driver::oneOf({"free", "server", "peers"}))
      ->excludes(fromRun);
  addSetting("--machine", options->machine, "machine whose links carry the updates: a preset or a machine file");
  addSetting("--bytes", options->bytes, "size of the model, and of an update")->type_name("SIZE");
  addSetting("--shards", options->shards, "number of shards of the parameter server");
  driver::addOption(*command, "--seeds", options->seeds, "number of runs of each problem; the mean is used")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  driver::addOption(*command, "--threads", options->threads, "number of threads, 0: one for each core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  driver::addFormatOption(*command, options->format);
  command->callback([options, &action] {
    action = [options] { return options->barriers.empty() ? runFigures(*options) : runExperiment(*options); };
  });
}

} // namespace sluice::bench
