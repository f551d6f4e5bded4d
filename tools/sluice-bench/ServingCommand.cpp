//===- ServingCommand.cpp - sluice-bench serving --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// SwapAdvisor's serving experiment (Huang, Jin and Li, ASPLOS 2020, section 6.3
// and figure 8): several models on one device, which either keep a part of its
// memory each or have all of it in turns.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Csv.h"
#include "SwapModels.h"
#include "sluice/Search/Search.h"
#include "sluice/Simulator/Serving.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace sluice::bench {
namespace {

/// What the paper says of figure 8: a part of the memory for each of 4 or 16
/// models makes the p99 latency at most twice the unshared model's below 400
/// clients a second; in turns, 16 models make it eight times that at 300.
constexpr double kPaperRatio = 2, kPaperRate = 400;

struct ServingOptions {
  std::vector<int64_t> models = {4, 16}, batches = {16, 32, 64};
  std::vector<std::string> memories;
  std::vector<double> rates = {100, 200, 300, 350, 400, 450};
  std::vector<uint64_t> seeds = {0, 1, 2};
  std::string problem, scripts, machine = "v100-16gb", format = "text";
  int64_t requests = 100'000, evaluations = 200;
  int threads = 0;
  bool unfused = false;

  bool text() const { return format == "text"; }
};

/// How the models share the memory, with a request's time on the device.
struct Sharing {
  std::string name;
  int64_t models = 1, bytes = 0; ///< `bytes` for the model that runs.
  std::optional<ServedModel> times;
  std::string reason; ///< Why there are no times.
};

/// Plans of one model under any budget.
class Planner {
public:
  Planner(const ProblemFile &file, const ServingOptions &options) : file(file), options(options) {
    for (DeviceId device : file.machine.computeDevices())
      if (file.machine.device(device).memory != Machine::hostMemory())
        memory = file.machine.device(device).memory;
  }

  Status check() const {
    if (file.machine.computeDevices().size() != 1 || !memory.valid())
      return makeError(
          ErrorCode::InvalidInput, "machine '", file.machine.name,
          "' must have an accelerator that is the only compute device, option '--machine', give another machine");
    return {};
  }
  int64_t capacityBytes() const { return file.capacities[memory.index()]; }

  Expected<SearchResult> search(int64_t bytes) const { return search(file.graph, bytes); }
  /// Of a step that begins with no parameter in place, as if they were inputs:
  /// each comes ahead of its operator.
  Expected<SearchResult> searchCold(int64_t bytes) const {
    Graph cold = file.graph;
    for (size_t i = 0; i < cold.numTensors(); ++i)
      if (Tensor &tensor = cold.mutableTensor(TensorId(i)); tensor.kind == TensorKind::Parameter)
        tensor.kind = TensorKind::Input;
    return search(cold, bytes);
  }

  /// Copying in every parameter and waiting for it, as the paper's time sharing
  /// does.
  int64_t loadNs() const {
    const LinkId link = file.machine.findLink(Machine::hostMemory(), memory);
    int64_t ns = 0;
    for (size_t i = 0; i < file.graph.numTensors(); ++i) {
      const Tensor &tensor = file.graph.tensor(TensorId(i));
      if (tensor.kind == TensorKind::Parameter && !tensor.consumers.empty())
        ns = saturatingAdd(ns, movingTimeNs(static_cast<double>(tensor.bytes), file.machine.link(link).bytesPerSec));
    }
    // The copies follow each other; one latency is not hidden.
    return saturatingAdd(ns, file.machine.link(link).latencyNs);
  }

private:
  Expected<SearchResult> search(const Graph &graph, int64_t bytes) const {
    std::vector<int64_t> capacities = file.capacities;
    capacities[memory.index()] = bytes;
    SearchParams params;
    params.evaluations = options.evaluations;
    params.timeNs = 0;
    params.threads = options.threads;
    return solveSearch({&graph, &file.machine, &file.costs, std::move(capacities), file.placement}, params);
  }

  const ProblemFile &file;
  const ServingOptions &options;
  MemoryId memory;
};

/// The model alone; then, for each number of models, in parts and in turns.
Expected<std::vector<Sharing>> planSharings(const Planner &planner, int64_t bytes, const ServingOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(SearchResult whole, planner.search(bytes));
  const int64_t warmNs = whole.makespanNs;
  SLUICE_ASSIGN_OR_RETURN(SearchResult cold, planner.searchCold(bytes));
  std::vector<Sharing> sharings = {{"alone", 1, bytes, ServedModel{warmNs, warmNs}, {}}};
  for (int64_t models : options.models) {
    Sharing parts{"parts", models, bytes / models, {}, {}};
    Expected<SearchResult> part = planner.search(parts.bytes);
    if (part)
      parts.times = ServedModel{part->makespanNs, part->makespanNs};
    else if (part.error().code == ErrorCode::Infeasible)
      parts.reason = part.error().message;
    else
      return propagate(part);
    sharings.push_back(std::move(parts));
    sharings.push_back({"turns", models, bytes, ServedModel{warmNs, saturatingAdd(warmNs, planner.loadNs())}, {}});
    sharings.push_back(
        {"turns, prefetching", models, bytes, ServedModel{warmNs, std::max(warmNs, cold.makespanNs)}, {}});
  }
  return sharings;
}

/// A sharing at one rate: the median of the seeds' p99, and how far they lie
/// apart.
Expected<Json> measure(const Sharing &sharing, double clientsPerSec, int64_t batch, const ServingOptions &options) {
  Json row{{"batch", batch},
           {"sharing", sharing.name},
           {"models", sharing.models},
           {"bytes", sharing.bytes},
           {"clients_per_second", clientsPerSec}};
  if (!sharing.times) {
    row["reason"] = sharing.reason;
    return row;
  }
  ServingProblem problem;
  problem.models.assign(static_cast<size_t>(sharing.models), *sharing.times);
  problem.requestsPerSec = clientsPerSec / static_cast<double>(batch);
  row["warm_seconds"] = static_cast<double>(sharing.times->warmNs) * 1e-9;
  row["cold_seconds"] = static_cast<double>(sharing.times->coldNs) * 1e-9;
  std::vector<int64_t> p99s;
  double mean = 0;
  for (uint64_t seed : options.seeds) {
    SLUICE_ASSIGN_OR_RETURN(ServingStats stats,
                            simulateServing(problem, {options.requests, options.requests / 10, seed}));
    p99s.push_back(stats.p99Ns);
    mean += stats.meanLatencyNs / static_cast<double>(options.seeds.size());
  }
  const double load = offeredLoad(problem);
  row["load"] = load;
  if (load >= 1) // No steady state: the figures would be the run's length.
    return row;
  std::sort(p99s.begin(), p99s.end());
  row["p99_seconds"] = static_cast<double>(p99s[p99s.size() / 2]) * 1e-9;
  row["p99_spread_seconds"] = static_cast<double>(p99s.back() - p99s.front()) * 1e-9;
  row["mean_seconds"] = mean * 1e-9;
  const double service = load / problem.requestsPerSec; // Of a request, switches included.
  row["expected_mean_seconds"] = expectedWaitNs(problem) * 1e-9 + service;
  return row;
}

std::string milliseconds(const Json &row, const char *key) {
  if (!row.contains(key))
    return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", row[key].get<double>() * 1e3);
  return text;
}

void printSharing(const Sharing &sharing, const std::vector<Json> &rows) {
  std::printf("%-19s %6lld %11s %8s %8s", sharing.name.c_str(), static_cast<long long>(sharing.models),
              formatBytes(sharing.bytes).c_str(), milliseconds(rows.front(), "warm_seconds").c_str(),
              milliseconds(rows.front(), "cold_seconds").c_str());
  for (const Json &row : rows)
    std::printf(" %8s", milliseconds(row, "p99_seconds").c_str());
  std::printf("%s\n", sharing.reason.empty() ? "" : ("  " + sharing.reason).c_str());
  std::fflush(stdout);
}

/// The paper's sentence about parts, of the rows of one batch and memory.
void printVerdict(const std::vector<Json> &rows) {
  double worst = 0, at = 0;
  bool overloaded = false;
  for (const Json &row : rows) {
    if (row["sharing"] != "parts" || row["clients_per_second"] >= kPaperRate)
      continue;
    if (row.contains("ratio") && row["ratio"] > worst) {
      worst = row["ratio"];
      at = row["clients_per_second"];
    }
    overloaded |= !row.contains("ratio");
  }
  if (worst > 0)
    std::printf("parts below %g/s: p99 at most %.2f times that of the model alone (at %g/s)%s; paper: %g\n", kPaperRate,
                worst, at, overloaded ? ", where both keep up" : "", kPaperRatio);
}

Status measureBatch(const ProblemFile &file, int64_t batch, const ServingOptions &options, Json &rows) {
  const Planner planner(file, options);
  SLUICE_RETURN_IF_ERROR(planner.check());
  std::vector<int64_t> memories;
  for (const std::string &text : options.memories) {
    SLUICE_ASSIGN_OR_RETURN(int64_t bytes, parseBytes(text));
    memories.push_back(bytes);
  }
  if (memories.empty())
    memories.push_back(planner.capacityBytes());
  for (int64_t bytes : memories) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<Sharing> sharings, planSharings(planner, bytes, options));
    if (options.text()) {
      std::printf("%s, %lld clients a request, %s: p99 latency in ms at clients a second\n%-19s %6s %11s %8s %8s",
                  file.graph.name.c_str(), static_cast<long long>(batch), formatBytes(bytes).c_str(), "sharing",
                  "models", "memory", "warm, ms", "cold, ms");
      for (double rate : options.rates)
        std::printf(" %8g", rate);
      std::printf("\n");
    }
    std::map<double, double> alone;
    std::vector<Json> all;
    for (const Sharing &sharing : sharings) {
      std::vector<Json> line;
      for (double rate : options.rates) {
        SLUICE_ASSIGN_OR_RETURN(Json measured, measure(sharing, rate, batch, options));
        Json row{{"model", file.graph.name}, {"memory_bytes", bytes}};
        row.update(measured);
        if (row.contains("p99_seconds")) {
          if (sharing.name == "alone")
            alone[rate] = row["p99_seconds"];
          if (alone.count(rate))
            row["ratio"] = row["p99_seconds"].get<double>() / alone[rate];
        }
        line.push_back(std::move(row));
      }
      if (options.text())
        printSharing(sharing, line);
      all.insert(all.end(), line.begin(), line.end());
    }
    if (options.text()) {
      printVerdict(all);
      std::printf("\n");
    }
    for (Json &row : all)
      rows.push_back(std::move(row));
  }
  return {};
}

Expected<ProblemFile> readProblem(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path));
  return problemFromJson(JsonReader(json, path));
}

Status runServing(const ServingOptions &options) {
  Json rows = Json::array();
  std::unique_ptr<ModelBuilders> builders;
  if (options.problem.empty()) {
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<ModelBuilders> created, ModelBuilders::create(options.scripts));
    builders = std::move(created);
  }
  for (int64_t batch : options.batches) {
    SLUICE_ASSIGN_OR_RETURN(ProblemFile file, builders
                                                  ? inferenceProblem(*builders, batch, options.machine, options.unfused)
                                                  : readProblem(options.problem));
    if (builders)
      file.graph.name = "resnet-152"; // The builder's file says "model".
    SLUICE_RETURN_IF_ERROR(measureBatch(file, batch, options, rows));
  }
  if (options.format == "csv")
    printCsv(rows);
  else if (options.format == "json")
    std::cout << jsonText(Json{{"benchmark", "serving"}, {"machine", options.machine}, {"rows", std::move(rows)}}, 2)
              << '\n';
  return {};
}

} // namespace

void addServingCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<ServingOptions>();
  CLI::App *command = driver::addCommand(
      app, "serving", "Simulate models that share a device: p99 latency against throughput, by default of ResNet-152");
  driver::addOption(*command, "--models", options->models, "numbers of models that share the device")
      ->delimiter(',')
      ->check(CLI::Range(1, 1000))
      ->type_name("N,...")
      ->capture_default_str();
  CLI::Option *batch =
      driver::addOption(*command, "--batch", options->batches, "number of clients of a request, which arrive together")
          ->delimiter(',')
          ->check(CLI::Range(1, 100'000))
          ->type_name("N,...")
          ->capture_default_str();
  driver::addOption(*command, "--memory", options->memories,
                    "sizes of the shared memory; by default that of the accelerator")
      ->delimiter(',')
      ->type_name("SIZE,...");
  driver::addOption(*command, "--rate", options->rates, "clients per second")
      ->delimiter(',')
      ->check(CLI::Range(0.001, 1e9))
      ->type_name("R,...")
      ->capture_default_str();
  driver::addOption(*command, "--requests", options->requests,
                    "number of requests of each run, after a warm-up of a tenth of this number")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  driver::addOption(*command, "--seeds", options->seeds, "seeds of the arrivals; the median run is used")
      ->delimiter(',')
      ->type_name("N,...")
      ->capture_default_str();
  driver::addOption(*command, "--evals", options->evaluations, "number of plans to make for each memory size")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  driver::addOption(*command, "--threads", options->threads, "number of threads, 0: one for each core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  CLI::Option *problem =
      driver::addOption(*command, "--problem", options->problem, "a planning problem as JSON, used as the model")
          ->type_name("FILE");
  driver::addFlag(*command, "--unfused", options->unfused, "plan the operators of the network without fusion")
      ->excludes(problem);
  driver::addOption(*command, "--machine", options->machine, "a preset or a machine file")
      ->excludes(problem)
      ->capture_default_str();
  driver::addOption(*command, "--scripts", options->scripts, "directory of the model builders, scripts/models")
      ->excludes(problem)
      ->type_name("DIR");
  driver::addOption(*command, "--format", options->format, "text for readers, json and csv for programs")
      ->check(driver::oneOf({"text", "json", "csv"}))
      ->capture_default_str();
  command->callback([options, problem, batch, &action] {
    // A problem's requests are what they are.
    if (problem->count() > 0 && batch->count() == 0)
      options->batches = {1};
    action = [options] { return runServing(*options); };
  });
}

} // namespace sluice::bench
