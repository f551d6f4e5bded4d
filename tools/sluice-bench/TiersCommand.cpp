//===- TiersCommand.cpp - sluice-bench tiers ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// G10's evaluation: training steps that exceed the memory of a GPU and swap to the host's memory and an SSD. The
// fractions are the sum of the kernels' times over the simulated makespan.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Csv.h"
#include "TierSteps.h"
#include "sluice/Search/Search.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

struct TiersOptions {
  std::vector<std::string> steps, solvers = {"default", "no-recompute"}, host;
  std::string format = "text";
  int64_t timeNs = 60'000'000'000, evaluations = 0;
  uint64_t seed = 0;
  int threads = 0;
  bool timeGiven = false, sweep = false;

  bool text() const { return format == "text"; }
};

/// G10's published sweep.
constexpr int64_t kSweepGiB[] = {0, 16, 32, 64, 128, 256};
/// Published fractions have three or four digits.
constexpr double kRounding = 0.0005;
constexpr const char *kFourDigits = "%.4f";

std::optional<double> publishedAt(const PublishedStep &step, int64_t hostBytes, int64_t defaultBytes) {
  for (const PublishedStep::Point &point : step.sweep)
    if (hostBytes == point.hostGiB << 30 && hostBytes != defaultBytes)
      return point.fraction;
  return hostBytes == defaultBytes ? step.g10 : std::nullopt;
}

Json measure(const TierStep &step, int64_t hostBytes, const TiersOptions &options) {
  ProblemFile file = step.problem;
  file.capacities[0] = file.machine.memories[0].capacityBytes = hostBytes;
  Json row{{"step", file.graph.name}, {"host_gib", ratio(hostBytes, int64_t(1) << 30)}};
  row["kernels"] = file.graph.numOperators();
  row["kernels_seconds"] = static_cast<double>(step.kernelsNs) * 1e-9;
  bool isAbove = true;
  std::optional<double> published;
  const PublishedStep *known = findPublished(file.graph.name);
  if (known)
    published = publishedAt(*known, hostBytes, step.hostBytes);
  for (const std::string &solver : options.solvers) {
    SearchParams params;
    params.solver = solver;
    params.seed = options.seed;
    params.threads = options.threads;
    params.evaluations = options.evaluations;
    params.timeNs = options.evaluations > 0 && !options.timeGiven ? 0 : options.timeNs;
    const Expected<SearchResult> result =
        solveSearch({&file.graph, &file.machine, &file.costs, file.capacities, file.placement}, params);
    row[solver] = nullptr;
    if (!result) {
      row[solver + "_reason"] = result.error().message;
      isAbove = false;
      continue;
    }
    const double fraction = ratio(step.kernelsNs, result->makespanNs);
    row[solver] = fraction;
    row["bound"] = ratio(step.kernelsNs, result->lowerBoundNs);
    row["once_bound"] = ratio(step.kernelsNs, result->onceBoundNs);
    row[solver + "_seconds"] = static_cast<double>(result->makespanNs) * 1e-9;
    row[solver + "_bytes_read"] = result->plan.bytesRead(file.graph, file.machine);
    row[solver + "_bytes_written"] = result->plan.bytesWritten(file.graph, file.machine);
    row[solver + "_plans"] = result->evaluations;
    isAbove &= !published || fraction >= *published - kRounding;
  }
  row["g10"] = orNull(published);
  // The rivals' results are published for the default size alone.
  if (known && hostBytes == step.hostBytes) {
    row["deepum"] = orNull(known->deepUm);
    row["flashneuron"] = orNull(known->flashNeuron);
    row["lru"] = orNull(known->lru);
  }
  row["above"] = isAbove;
  return row;
}

void printHeader(const TiersOptions &options) {
  std::printf("%-18s %9s %10s", "step", "host, GiB", "kernels, s");
  for (const std::string &solver : options.solvers)
    std::printf(" %12s", solver.c_str());
  std::printf(" %7s %8s %7s %7s %11s %7s %s\n", "bound", "run once", "G10", "DeepUM", "FlashNeuron", "LRU", "above");
}

void printRow(const TiersOptions &options, const Json &row) {
  std::printf("%-18s %9s %10s", row["step"].get<std::string>().c_str(), cell(row, "host_gib", "%g").c_str(),
              cell(row, "kernels_seconds", kFourDigits).c_str());
  for (const std::string &solver : options.solvers)
    std::printf(" %12s", cell(row, solver, kFourDigits).c_str());
  std::printf(" %7s %8s %7s %7s %11s %7s %s\n", cell(row, "bound", kFourDigits).c_str(),
              cell(row, "once_bound", kFourDigits).c_str(), cell(row, "g10", kFourDigits).c_str(),
              cell(row, "deepum", kFourDigits).c_str(), cell(row, "flashneuron", kFourDigits).c_str(),
              cell(row, "lru", kFourDigits).c_str(), row["above"].get<bool>() ? "yes" : "no");
  std::fflush(stdout);
}

Status runTiers(const TiersOptions &options) {
  std::vector<int64_t> sizes;
  for (const std::string &text : options.host) {
    SLUICE_ASSIGN_OR_RETURN(int64_t bytes, parseBytes(text));
    sizes.push_back(bytes);
  }
  if (options.sweep)
    for (int64_t gib : kSweepGiB)
      sizes.push_back(gib << 30);
  std::vector<TierStep> steps;
  for (const std::string &path : options.steps) {
    SLUICE_ASSIGN_OR_RETURN(TierStep step, readTierStep(path));
    steps.push_back(std::move(step));
  }
  if (options.text())
    printHeader(options);
  Json rows = Json::array();
  for (const TierStep &step : steps)
    for (int64_t bytes : sizes.empty() ? std::vector<int64_t>{step.hostBytes} : sizes) {
      rows.push_back(measure(step, bytes, options));
      if (options.text())
        printRow(options, rows.back());
    }
  if (options.format == "csv")
    printCsv(rows);
  else if (options.format == "json")
    std::cout << jsonText(Json{{"benchmark", "tiers"}, {"rows", std::move(rows)}}, 2) << '\n';
  return {};
}

} // namespace

void addTiersCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<TiersOptions>();
  CLI::App *command = driver::addCommand(
      app, "tiers", "Run the evaluation of the G10 paper: training steps that swap to host memory and an SSD");
  driver::addOption(*command, "steps", options->steps, "training steps of the artifact of G10, as JSON or .json.gz")
      ->required()
      ->type_name("FILE...");
  driver::addOption(*command, "--host", options->host, "sizes of host memory; by default that of the step")
      ->delimiter(',')
      ->type_name("SIZE,...");
  driver::addFlag(*command, "--sweep", options->sweep, "use the sizes of G10's published sweep, 0 to 256 GiB");
  driver::addOption(*command, "--solvers", options->solvers, "solvers, each with a column")
      ->delimiter(',')
      ->check(driver::oneOf(searchSolverNames()))
      ->capture_default_str();
  CLI::Option *time = command
                          ->add_option_function<std::string>(
                              "--time",
                              [options](const std::string &text) {
                                Expected<int64_t> ns = parseDuration(text);
                                if (!ns)
                                  throw CLI::ValidationError(ns.error().message);
                                options->timeNs = *ns;
                              },
                              "limit of the search for a plan (60s); with --evals no limit")
                          ->type_name("TIME");
  driver::addOption(*command, "--evals", options->evaluations,
                    "number of plans to make; the fractions are then the same on any machine")
      ->check(CLI::PositiveNumber);
  driver::addOption(*command, "--seed", options->seed, "seed of the searches")->capture_default_str();
  driver::addOption(*command, "--threads", options->threads, "number of threads, 0: one for each core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  driver::addOption(*command, "--format", options->format, "text for readers, json and csv for programs")
      ->check(driver::oneOf({"text", "json", "csv"}))
      ->capture_default_str();
  command->callback([options, time, &action] {
    options->timeGiven = time->count() > 0;
    action = [options] { return runTiers(*options); };
  });
}

} // namespace sluice::bench
