//===- PlacementCommand.cpp - sluice-bench placement ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The placement solvers against each other, against optima and against what is
// published.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "PlacementInstances.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Placement/HtfMpr.h"
#include "sluice/Placement/Offload.h"
#include "sluice/Search/ProblemJson.h"
#include "sluice/Support/Json.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

namespace sluice::bench {
namespace {

struct PlacementOptions {
  std::string suite = "families", instances, format = "text";
  std::vector<size_t> operators = {50, 200, 1000};
  std::vector<std::string> problems;
  int64_t count = 0, evaluations = 0, proof = 1'000'000;
  uint64_t seed = 0;
  int threads = 0;

  bool text() const { return format == "text"; }
};

double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<std::string> solversBut(std::initializer_list<std::string> left) {
  std::vector<std::string> names = placementSolverNames();
  std::erase_if(names,
                [&](const std::string &name) { return std::find(left.begin(), left.end(), name) != left.end(); });
  return names;
}

/// Instances side by side; the first error ends them.
template <typename Body>
Status forEachInstance(const PlacementOptions &options, size_t count, Body body) {
  std::mutex mutex;
  std::optional<Error> first;
  const int threads = usableThreads(options.threads);
  parallelFor(threads, count, [&](size_t i) {
    if (Status status = body(i); !status) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!first)
        first = std::move(status.error());
    }
  });
  if (first)
    return tl::unexpected<Error>(std::move(*first));
  return {};
}

/// Random kinds and costs, from much communication to little.
InstanceSpec randomSpec(uint64_t seed, size_t operators, size_t devices) {
  Rng rng = Rng(seed).fork(1);
  InstanceSpec spec;
  spec.family = placementFamilies()[rng.below(placementFamilies().size())];
  // The other families have no graph of so few operators.
  if (operators < 11)
    spec.family = "layered";
  spec.operators = operators;
  spec.devices = devices;
  spec.communication = std::pow(10.0, 2 * rng.uniform() - 1);
  spec.heterogeneity = rng.uniform();
  spec.seed = seed;
  return spec;
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

/// Makespans relative to the lower bound, means of `count` graphs of each kind.
Status runFamilies(const PlacementOptions &options, Json &rows) {
  const std::vector<std::string> solvers = solversBut({"htf-mpr", "exhaustive"});
  const size_t count = options.count > 0 ? static_cast<size_t>(options.count) : 10;
  if (options.text()) {
    std::printf("%-10s %9s %5s", "family", "operators", "ccr");
    for (const std::string &solver : solvers)
      std::printf(" %14s", solver.c_str());
    std::printf("\n");
  }
  for (const std::string &family : placementFamilies())
    for (size_t operators : options.operators)
      for (double communication : {0.1, 1.0, 5.0}) {
        std::vector<std::vector<double>> ratios(solvers.size(), std::vector<double>(count));
        size_t made = 0;
        Status status = forEachInstance(options, count, [&](size_t i) -> Status {
          PlacementInstance instance =
              makePlacementInstance({family, operators, 4, communication, 0.5, options.seed * 1'000'003 + i});
          const PlacementProblem problem = instance.problem();
          const double bound = static_cast<double>(placementLowerBoundNs(problem));
          if (i == 0)
            made = instance.graph.numOperators();
          for (size_t s = 0; s < solvers.size(); ++s) {
            SLUICE_ASSIGN_OR_RETURN(PlacementSolution solution,
                                    solvePlacement(problem, {solvers[s], options.evaluations}));
            ratios[s][i] = static_cast<double>(solution.makespanNs) / bound;
          }
          return {};
        });
        if (!status)
          return status;
        Json row{{"family", family}, {"operators", made}, {"ccr", communication}};
        if (options.text())
          std::printf("%-10s %9zu %5.1f", family.c_str(), made, communication);
        for (size_t s = 0; s < solvers.size(); ++s) {
          double mean = 0;
          for (double ratio : ratios[s])
            mean += ratio / static_cast<double>(count);
          row[solvers[s]] = mean;
          if (options.text())
            std::printf(" %14.3f", mean);
        }
        if (options.text()) {
          std::printf("\n");
          std::fflush(stdout);
        }
        rows.push_back(std::move(row));
      }
  return {};
}

//===----------------------------------------------------------------------===//
// Optima
//===----------------------------------------------------------------------===//

/// The portfolio and its members against the optimum over placements and orders.
Status runExact(const PlacementOptions &options, Json &rows) {
  const size_t count = options.count > 0 ? static_cast<size_t>(options.count) : 1000;
  std::vector<std::string> solvers = solversBut({"htf-mpr", "exhaustive"});
  std::vector<std::vector<double>> ratios(solvers.size(), std::vector<double>(count, 0));
  std::vector<uint8_t> proven(count);
  Status status = forEachInstance(options, count, [&](size_t i) -> Status {
    const uint64_t seed = options.seed * 1'000'003 + i;
    PlacementInstance instance = makePlacementInstance(randomSpec(seed, 4 + i % 9, 3));
    const PlacementProblem problem = instance.problem();
    Expected<PlacementSolution> optimum = solvePlacement(problem, {"exhaustive", options.proof});
    if (!optimum)
      return {};
    proven[i] = optimum->optimal;
    for (size_t s = 0; s < solvers.size(); ++s) {
      SLUICE_ASSIGN_OR_RETURN(PlacementSolution solution, solvePlacement(problem, {solvers[s], options.evaluations}));
      ratios[s][i] = static_cast<double>(solution.makespanNs) / static_cast<double>(optimum->makespanNs);
    }
    return {};
  });
  if (!status)
    return status;
  const size_t solved = static_cast<size_t>(std::count(proven.begin(), proven.end(), 1));
  if (options.text()) {
    std::printf("%zu random graphs of 4 to 12 operators on 3 devices, %zu optima proven\n", count, solved);
    std::printf("%-15s %10s %10s %10s %10s\n", "solver", "optimal", "within 1%", "mean", "worst");
  }
  for (size_t s = 0; s < solvers.size(); ++s) {
    double optimal = 0, within = 0, mean = 0, worst = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!proven[i])
        continue;
      const double ratio = ratios[s][i], share = 1 / static_cast<double>(std::max<size_t>(solved, 1));
      optimal += ratio <= 1 ? share : 0;
      within += ratio <= 1.01 ? share : 0;
      mean += ratio * share;
      worst = std::max(worst, ratio);
    }
    if (options.text())
      std::printf("%-15s %9.1f%% %9.1f%% %10.4f %10.4f\n", solvers[s].c_str(), 100 * optimal, 100 * within, mean,
                  worst);
    rows.push_back({{"solver", solvers[s]},
                    {"instances", count},
                    {"proven", solved},
                    {"optimal", optimal},
                    {"within1percent", within},
                    {"mean", mean},
                    {"worst", worst}});
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

/// How often the portfolio is worse than some member, on graphs of 2 to
/// `operators` operators; and who would have won without the others.
Status runMembers(const PlacementOptions &options, Json &rows) {
  const std::vector<std::string> solvers = solversBut({"best", "htf-mpr"});
  if (options.text())
    std::printf("%10s %10s %12s %12s\n", "operators", "instances", "comparisons", "worse");
  for (size_t operators : options.operators) {
    const size_t count = options.count > 0 ? static_cast<size_t>(options.count) : 1000;
    std::vector<int64_t> compared(count), worse(count);
    Status status = forEachInstance(options, count, [&](size_t i) -> Status {
      const uint64_t seed = options.seed * 1'000'003 + i;
      // Small ones are of all sizes, large ones of the size said.
      const size_t size = operators <= 50 ? 2 + i % (operators - 1) : operators;
      PlacementInstance instance = makePlacementInstance(randomSpec(seed, size, 1 + i % 5 + (i % 5 == 0)));
      const PlacementProblem problem = instance.problem();
      SLUICE_ASSIGN_OR_RETURN(PlacementSolution best, solvePlacement(problem, {"best", options.evaluations}));
      for (const std::string &solver : solvers) {
        Expected<PlacementSolution> member = solvePlacement(problem, {solver, options.evaluations});
        if (!member && solver == "exhaustive") // Too large for it.
          continue;
        if (!member)
          return propagate(member);
        ++compared[i];
        worse[i] += best.makespanNs > member->makespanNs;
      }
      return {};
    });
    if (!status)
      return status;
    int64_t allCompared = 0, allWorse = 0;
    for (size_t i = 0; i < count; ++i) {
      allCompared += compared[i];
      allWorse += worse[i];
    }
    if (options.text()) {
      std::printf("%10zu %10zu %12lld %12lld\n", operators, count, static_cast<long long>(allCompared),
                  static_cast<long long>(allWorse));
      std::fflush(stdout);
    }
    rows.push_back({{"operators", operators}, {"instances", count}, {"comparisons", allCompared}, {"worse", allWorse}});
  }
  return {};
}

//===----------------------------------------------------------------------===//
// MNIST-Softmax
//===----------------------------------------------------------------------===//

/// All 59,049 mappings, each in HEFT's order and in its best order.
Status runMnist(const PlacementOptions &options, Json &rows) {
  const PlacementInstance instance = makeMnistSoftmax();
  const size_t numOps = instance.graph.numOperators(), devices = instance.machine.devices.size();
  size_t count = 1;
  for (size_t i = 0; i < numOps; ++i)
    count *= devices;
  std::vector<int64_t> listed(count), best(count);
  const auto begin = std::chrono::steady_clock::now();
  Status status = forEachInstance(options, count, [&](size_t mapping) -> Status {
    PlacementProblem problem = instance.problem();
    problem.pinned.resize(numOps);
    size_t left = mapping;
    for (DeviceId &device : problem.pinned) {
      device = DeviceId(left % devices);
      left /= devices;
    }
    SLUICE_ASSIGN_OR_RETURN(PlacementSolution heft, solvePlacement(problem, {"heft"}));
    SLUICE_ASSIGN_OR_RETURN(PlacementSolution exact, solvePlacement(problem, {"exhaustive"}));
    listed[mapping] = heft.makespanNs;
    best[mapping] = exact.makespanNs;
    return {};
  });
  if (!status)
    return status;
  const double seconds = secondsSince(begin);
  // All operators on the fast GPU: what frameworks do by default.
  size_t byDefault = 0;
  for (size_t i = 0, digit = 1; i < numOps; ++i, digit *= devices)
    byDefault += digit;
  const int64_t defaultNs = best[byDefault];
  const int64_t optimum = *std::min_element(best.begin(), best.end());
  const auto beating = std::count_if(best.begin(), best.end(), [&](int64_t ns) { return ns < defaultNs; });
  const auto optimal = std::count(best.begin(), best.end(), optimum);
  const double share = static_cast<double>(beating) / static_cast<double>(count);
  if (options.text()) {
    std::printf("%zu mappings of %zu operators on %zu devices in %.1f s\n", count, numOps, devices, seconds);
    std::printf(
        "optimum %lld ns (%lld mappings), in HEFT's order %lld ns; default %lld ns, %.2f%% of mappings beat it\n",
        static_cast<long long>(optimum), static_cast<long long>(optimal),
        static_cast<long long>(*std::min_element(listed.begin(), listed.end())), static_cast<long long>(defaultNs),
        100 * share);
    std::printf("%-15s %12s %10s\n", "solver", "ns", "optimal");
  }
  Json solvers = Json::object();
  for (const std::string &solver : placementSolverNames()) {
    SLUICE_ASSIGN_OR_RETURN(PlacementSolution solution,
                            solvePlacement(instance.problem(), {solver, options.evaluations}));
    if (options.text())
      std::printf("%-15s %12lld %10s\n", solver.c_str(), static_cast<long long>(solution.makespanNs),
                  solution.makespanNs == optimum ? "yes" : "no");
    solvers[solver] = solution.makespanNs;
  }
  rows.push_back({{"mappings", count},
                  {"seconds", seconds},
                  {"optimum", optimum},
                  {"optimalMappings", optimal},
                  {"default", defaultNs},
                  {"beatDefault", share},
                  {"solvers", std::move(solvers)}});
  return {};
}

//===----------------------------------------------------------------------===//
// Published instances
//===----------------------------------------------------------------------===//

Status runInstances(const PlacementOptions &options, Json &rows) {
  if (options.instances.empty())
    return makeError(ErrorCode::InvalidInput,
                     "the directory of the published instances is missing, give this directory by --instances");
  std::error_code code;
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(options.instances, code))
    if (entry.path().extension() == ".json")
      paths.push_back(entry.path().string());
  if (code)
    return makeError(ErrorCode::NotFound, "cannot read directory '", options.instances, "': ", code.message(),
                     ", give the directory of the published instances");
  std::sort(paths.begin(), paths.end());
  const std::vector<std::string> solvers = offloadSolverNames();
  if (options.text()) {
    std::printf("%-32s %6s %10s", "instance", "nodes", "bound");
    for (const std::string &solver : solvers)
      std::printf(" %10s", solver.c_str());
    std::printf(" %8s\n", "seconds");
  }
  size_t found = 0;
  for (const std::string &path : paths) {
    Expected<Json> json = readJsonFile(path);
    if (!json)
      continue; // Beside the instances are files that are not quite JSON.
    if (!isOffloadJson(*json))
      continue;
    ++found;
    SLUICE_ASSIGN_OR_RETURN(OffloadProblem problem, offloadFromJson(JsonReader(*json, path)));
    const std::string name = std::filesystem::path(path).stem().string();
    Json row{{"instance", name}, {"nodes", problem.nodes.size()}};
    std::vector<std::optional<double>> latencies;
    double seconds = 0, bound = 0;
    for (const std::string &solver : solvers) {
      OffloadParams params{solver, {}, options.seed, usableThreads(options.threads)};
      if (options.evaluations > 0)
        params.budget.evaluations = options.evaluations;
      const auto begin = std::chrono::steady_clock::now();
      Expected<OffloadSolution> solution = solveOffload(problem, params);
      if (solver == solvers.front()) {
        if (!solution)
          return propagate(solution);
        seconds = secondsSince(begin);
        bound = solution->bound;
      }
      latencies.push_back(solution ? std::optional(solution->latency) : std::nullopt);
      row[solver] = solution ? Json(solution->latency) : Json();
    }
    row["bound"] = bound;
    row["seconds"] = seconds;
    if (options.text()) {
      std::printf("%-32s %6zu %10.2f", name.c_str(), problem.nodes.size(), bound);
      for (const std::optional<double> &latency : latencies)
        latency ? std::printf(" %10.2f", *latency) : std::printf(" %10s", "-");
      std::printf(" %8.1f\n", seconds);
      std::fflush(stdout);
    }
    rows.push_back(std::move(row));
  }
  if (found == 0)
    return makeError(ErrorCode::NotFound, "directory '", options.instances,
                     "' has no instances, give the directory of the published instances");
  return {};
}

//===----------------------------------------------------------------------===//
// Predictors
//===----------------------------------------------------------------------===//

/// How well mappings' times are predicted: of MNIST-Softmax, and of problem files.
Status runPredictors(const PlacementOptions &options, Json &rows) {
  if (options.text())
    std::printf("%-24s %9s %7s %8s | %8s %8s %8s %8s\n", "graph", "operators", "devices", "mappings", "boosted",
                "integers", "linear", "of integers");
  auto measure = [&](const std::string &name, const PlacementProblem &problem) -> Status {
    SLUICE_ASSIGN_OR_RETURN(PredictorErrors errors,
                            measureMappingPredictors(problem,
                                                     options.count > 0 ? static_cast<size_t>(options.count) : 700,
                                                     options.seed, std::max(options.threads, 1)));
    const size_t operators = problem.graph->numOperators(), devices = problem.machine->computeDevices().size();
    if (options.text())
      std::printf("%-24s %9zu %7zu %8zu | %8.4f %8.4f %8.4f %8.4f\n", name.c_str(), operators, devices, errors.mappings,
                  errors.boosted, errors.integerEncoded, errors.linear, errors.integerLinear);
    std::fflush(stdout);
    rows.push_back({{"graph", name},
                    {"operators", operators},
                    {"devices", devices},
                    {"mappings", errors.mappings},
                    {"boosted", errors.boosted},
                    {"boostedIntegers", errors.integerEncoded},
                    {"linear", errors.linear},
                    {"linearIntegers", errors.integerLinear}});
    return {};
  };
  const PlacementInstance mnist = makeMnistSoftmax();
  SLUICE_RETURN_IF_ERROR(measure("mnist-softmax", mnist.problem()));
  for (const std::string &path : options.problems) {
    SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path));
    SLUICE_ASSIGN_OR_RETURN(ProblemFile file, problemFromJson(JsonReader(json, path + ":")));
    if (Status status = measure(file.graph.name, {&file.graph, &file.machine, &file.costs, file.placement}); !status)
      return status;
  }
  return {};
}

constexpr std::pair<const char *, Status (*)(const PlacementOptions &, Json &)> kSuites[] = {
    {"families", runFamilies}, {"exact", runExact},         {"members", runMembers},
    {"mnist", runMnist},       {"instances", runInstances}, {"predictors", runPredictors},
};

Status runPlacement(const PlacementOptions &options) {
  Json rows = Json::array();
  for (const auto &[name, run] : kSuites)
    if (options.suite == name)
      SLUICE_RETURN_IF_ERROR(run(options, rows));
  if (!options.text())
    std::cout << jsonText(Json{{"benchmark", "placement"}, {"suite", options.suite}, {"rows", std::move(rows)}}, 2)
              << '\n';
  return {};
}

} // namespace

void addPlacementCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<PlacementOptions>();
  CLI::App *command = driver::addCommand(app, "placement", "Compare placement solvers with each other and with optima");
  std::vector<std::string> suites;
  for (const auto &[name, run] : kSuites)
    suites.push_back(name);
  driver::addOption(
      *command, "SUITE", options->suite,
      "families: makespans over the lower bound; exact: against optima of up to 12 operators; members: is "
      "the portfolio ever worse than one; mnist: all mappings of a small model; instances: those "
      "published by Tarnawski et al.; predictors: fold errors of mappings' predicted times")
      ->check(driver::oneOf(suites))
      ->capture_default_str();
  driver::addOption(*command, "--operators", options->operators, "sizes of families and members")
      ->delimiter(',')
      ->check(CLI::Range(2, 100'000))
      ->type_name("N,...")
      ->capture_default_str();
  driver::addOption(
      *command, "--count", options->count,
      "number of graphs of each kind (10) or of all graphs (1000); number of mappings of predictors (700)")
      ->check(CLI::Range(1, 1'000'000));
  driver::addOption(*command, "--evals", options->evaluations,
                    "number of evaluations of the searches; by default that of each search")
      ->check(CLI::PositiveNumber);
  driver::addOption(*command, "--proof", options->proof,
                    "for exact: limit of the evaluations for the proof of an optimum")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  driver::addOption(*command, "--instances", options->instances, "directory of the published instances")
      ->type_name("DIR");
  driver::addOption(*command, "--problem", options->problems,
                    "for predictors: planning problems from 'sluice plan --dump-problem'")
      ->type_name("FILE")
      ->allow_extra_args(false);
  driver::addOption(*command, "--seed", options->seed, "seed of the graphs and of annealing")->capture_default_str();
  driver::addOption(*command, "--threads", options->threads, "number of threads, 0: one for each core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  driver::addFormatOption(*command, options->format);
  command->callback([options, &action] { action = [options] { return runPlacement(*options); }; });
}

} // namespace sluice::bench
