//===- SwapCommand.cpp - sluice-bench swap --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// SwapAdvisor's evaluation with our planner, its own and its baselines. Fractions
// are of the ideal's throughput: ideal makespan / makespan.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Csv.h"
#include "SwapModels.h"
#include "sluice/Search/Search.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

/// What a plan must reach of the greatest fraction that the bound allows, where
/// that is less than the target.
constexpr double kShareOfBound = 0.90;

struct SwapOptions {
  std::vector<std::string> models, problems, solvers = {"default", "odswap", "swapadvisor"};
  std::vector<int64_t> batches;
  std::vector<uint64_t> seeds = {0};
  std::vector<double> rates = {1.0};
  std::string scripts, machine = "v100-16gb", format = "text";
  int64_t timeNs = 60'000'000'000, rivalTimeNs = 0, evaluations = 0;
  int threads = 0;
  bool timeGiven = false, table2 = false, unfused = false, convergence = false;

  bool text() const { return format == "text"; }
};

/// One solver on one problem with one seed.
struct Run {
  Expected<SearchResult> result = makeError(ErrorCode::Internal, "not run");
  double seconds = 0;
  std::optional<double> secondsToPaper;
  std::vector<SearchProgress> generations; ///< Of a genetic search.

  std::optional<double> fraction() const {
    if (!result)
      return std::nullopt;
    return static_cast<double>(result->idealNs) / static_cast<double>(std::max<int64_t>(result->makespanNs, 1));
  }
};

Run runSolver(const ProblemFile &file, const SwapOptions &options, size_t solver, uint64_t seed,
              std::optional<double> paper) {
  Run run;
  SearchParams params;
  params.solver = options.solvers[solver];
  params.seed = seed;
  params.threads = options.threads;
  params.evaluations = options.evaluations;
  params.timeNs = solver > 0 && options.rivalTimeNs > 0 ? options.rivalTimeNs : options.timeNs;
  // A number of plans is the reproducible limit; it needs no clock beside it.
  if (options.evaluations > 0 && !options.timeGiven)
    params.timeNs = 0;
  params.progress = [&](const SearchProgress &progress) {
    if (!run.secondsToPaper && paper && progress.makespanNs &&
        static_cast<double>(progress.idealNs) >= *paper * static_cast<double>(*progress.makespanNs))
      run.secondsToPaper = static_cast<double>(progress.elapsedNs) * 1e-9;
    if (progress.meanNs)
      run.generations.push_back(progress);
  };
  const auto begin = std::chrono::steady_clock::now();
  run.result = solveSearch({&file.graph, &file.machine, &file.costs, file.capacities, file.placement}, params);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return run;
}

double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

/// A row of figures 6 to 8. The first solver is ours and counts with its worst
/// seed; the others are its rivals, with the first seed.
Json measure(const ProblemFile &file, const TrainingCase &entry, double rate, const SwapOptions &options) {
  Json row{{"model", entry.model}, {"batch", nullptr}, {"rate", rate}, {"operators", file.graph.numOperators()}};
  if (entry.batch > 0)
    row["batch"] = entry.batch;
  Run worst;
  Json seeds = Json::array();
  for (uint64_t seed : options.seeds) {
    Run run = runSolver(file, options, 0, seed, entry.paper);
    seeds.push_back({{"seed", seed}, {"fraction", orNull(run.fraction())}, {"seconds", run.seconds}});
    if (seeds.size() == 1 || !run.result || (worst.result && run.result->makespanNs > worst.result->makespanNs))
      worst = std::move(run);
  }
  const std::optional<double> fraction = worst.fraction();
  bool passed = fraction.has_value();
  std::optional<double> required;
  if (worst.result) {
    const SearchResult &result = *worst.result;
    const double allowed = ratio(result.idealNs, result.lowerBoundNs);
    row["ideal_seconds"] = seconds(result.idealNs);
    row["makespan_seconds"] = seconds(result.makespanNs);
    row["fraction"] = *fraction;
    row["bound_seconds"] = seconds(result.lowerBoundNs);
    row["bound_fraction"] = allowed;
    row["once_bound_fraction"] = ratio(result.idealNs, result.onceBoundNs);
    row["gap"] = ratio(result.makespanNs, result.lowerBoundNs) - 1;
    row["evaluations"] = result.evaluations;
    row["bound_by"] = result.certificate ? Json(describeBound(file.graph, file.machine, *result.certificate)) : Json();
    row["computed_again"] = result.plan.computedAgain().size();
    if (entry.target) {
      required = std::min(*entry.target, kShareOfBound * allowed);
      passed &= *fraction >= *required;
    }
  } else {
    row["reason"] = worst.result.error().message;
  }
  row["paper_fraction"] = orNull(entry.paper);
  row["seconds_to_paper"] = orNull(worst.secondsToPaper);
  Json rivals = Json::object(), reasons = Json::object();
  for (size_t solver = 1; solver < options.solvers.size(); ++solver) {
    const Run run = runSolver(file, options, solver, options.seeds.front(), std::nullopt);
    rivals[options.solvers[solver]] = orNull(run.fraction());
    if (!run.result)
      reasons[options.solvers[solver]] = run.result.error().message;
    else
      passed &= worst.result && worst.result->makespanNs <= run.result->makespanNs;
  }
  row["rivals"] = std::move(rivals);
  row["rivals_infeasible"] = std::move(reasons);
  row["required_fraction"] = orNull(required);
  row["passed"] = passed;
  // No plan that runs each operator once reaches what is required.
  row["passed_by_recomputation"] = passed && required && row["once_bound_fraction"].get<double>() < *required;
  row["seeds"] = std::move(seeds);
  return row;
}

/// Rows of figure 9: generations of each genetic solver, with the first seed.
void measureConvergence(const ProblemFile &file, const TrainingCase &entry, const SwapOptions &options, Json &rows) {
  for (size_t solver = 0; solver < options.solvers.size(); ++solver) {
    const Run run = runSolver(file, options, solver, options.seeds.front(), std::nullopt);
    if (!run.result && options.text())
      std::printf("%-16s %s: %s\n", entry.model.c_str(), options.solvers[solver].c_str(),
                  run.result.error().message.c_str());
    for (const SearchProgress &generation : run.generations) {
      Json row{{"model", entry.model}, {"batch", nullptr}, {"solver", options.solvers[solver]}};
      if (entry.batch > 0)
        row["batch"] = entry.batch;
      row["evaluations"] = generation.evaluations;
      row["search_seconds"] = seconds(generation.elapsedNs);
      row["best_seconds"] = generation.makespanNs ? Json(seconds(*generation.makespanNs)) : Json(nullptr);
      row["mean_seconds"] = *generation.meanNs * 1e-9;
      row["worst_seconds"] = seconds(*generation.worstNs);
      if (options.text())
        std::printf("%-16s %5s %-20s %8s %9s %9s %9s %9s\n", entry.model.c_str(), cell(row, "batch", "%.0f").c_str(),
                    options.solvers[solver].c_str(), cell(row, "evaluations", "%.0f").c_str(),
                    cell(row, "search_seconds", "%.1f").c_str(), cell(row, "best_seconds").c_str(),
                    cell(row, "mean_seconds").c_str(), cell(row, "worst_seconds").c_str());
      rows.push_back(std::move(row));
    }
  }
}

void printHeader(const SwapOptions &options) {
  if (options.convergence) {
    std::printf("%-16s %5s %-20s %8s %9s %9s %9s %9s\n", "model", "batch", "solver", "plans", "after, s", "best, s",
                "mean, s", "worst, s");
    return;
  }
  std::printf("%-16s %5s %5s %9s %9s %8s %7s %9s %7s %6s %8s", "model", "batch", "rate", "ideal, s", "plan, s",
              "fraction", "bound", "run once", "gap, %", "paper", "reached");
  for (size_t solver = 1; solver < options.solvers.size(); ++solver)
    std::printf(" %8s", options.solvers[solver].c_str());
  std::printf(" %7s %s\n", "needed", "passed");
}

void printRow(const SwapOptions &options, const Json &row) {
  const std::string gap = row.contains("gap") ? concat(std::llround(row["gap"].get<double>() * 1000) / 10.0) : "-";
  std::printf("%-16s %5s %5s %9s %9s %8s %7s %9s %7s %6s %8s", row["model"].get<std::string>().c_str(),
              cell(row, "batch", "%.0f").c_str(), cell(row, "rate", "%g").c_str(), cell(row, "ideal_seconds").c_str(),
              cell(row, "makespan_seconds").c_str(), cell(row, "fraction").c_str(), cell(row, "bound_fraction").c_str(),
              cell(row, "once_bound_fraction").c_str(), gap.c_str(), cell(row, "paper_fraction", "%.2f").c_str(),
              cell(row, "seconds_to_paper", "%.1f").c_str());
  for (size_t solver = 1; solver < options.solvers.size(); ++solver)
    std::printf(" %*s", static_cast<int>(std::max<size_t>(options.solvers[solver].size(), 8)),
                cell(row["rivals"], options.solvers[solver].c_str()).c_str());
  const bool again = row["passed_by_recomputation"].get<bool>();
  std::printf(" %7s %s\n", cell(row, "required_fraction").c_str(),
              again                       ? "by recomputation"
              : row["passed"].get<bool>() ? "yes"
                                          : "no");
  std::fflush(stdout);
}

Status measureTraining(const SwapOptions &options, Json &rows) {
  auto add = [&](ProblemFile file, const TrainingCase &entry) {
    for (double rate : options.rates) {
      ProblemFile scaled = file;
      if (rate != 1)
        scaleComputeRate(scaled, rate);
      if (options.convergence) {
        measureConvergence(scaled, entry, options, rows);
        continue;
      }
      rows.push_back(measure(scaled, entry, rate, options));
      if (options.text())
        printRow(options, rows.back());
    }
  };
  if (options.text())
    printHeader(options);
  for (const std::string &path : options.problems) {
    SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path));
    SLUICE_ASSIGN_OR_RETURN(ProblemFile file, problemFromJson(JsonReader(json, path)));
    TrainingCase entry;
    entry.model = file.graph.name;
    add(std::move(file), entry);
  }
  if (!options.problems.empty() && options.models.empty())
    return {};
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<ModelBuilders> builders, ModelBuilders::create(options.scripts));
  const std::vector<std::string> models = options.models.empty() ? trainingModels() : options.models;
  for (const std::string &model : models) {
    std::vector<TrainingCase> cases;
    for (const TrainingCase &entry : trainingCases())
      if (entry.model == model && (options.batches.empty() || std::find(options.batches.begin(), options.batches.end(),
                                                                        entry.batch) != options.batches.end()))
        cases.push_back(entry);
    for (int64_t batch : options.batches)
      if (std::none_of(cases.begin(), cases.end(), [&](const TrainingCase &entry) { return entry.batch == batch; }))
        cases.push_back({model, batch, {}, {}});
    for (const TrainingCase &entry : cases) {
      SLUICE_ASSIGN_OR_RETURN(ProblemFile file, trainingProblem(*builders, model, entry.batch, options.machine));
      add(std::move(file), entry);
    }
  }
  return {};
}

/// Of every accelerator's memory.
void limitMemory(ProblemFile &file, int64_t bytes) {
  for (DeviceId device : file.machine.computeDevices())
    if (MemoryId memory = file.machine.device(device).memory; memory != Machine::hostMemory())
      file.capacities[memory.index()] = bytes;
}

/// Table 2. Slowdowns are against the largest budget's time, each its own; the
/// paper's are known to half a millisecond, which counts for us.
Status measureInference(const SwapOptions &options, Json &rows) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<ModelBuilders> builders, ModelBuilders::create(options.scripts));
  if (options.text())
    std::printf("%6s %7s %10s %10s %10s %9s %9s %9s %s\n", "batch", "MB", "plan, s", "bound, s", "paper, s", "slowdown",
                "paper's", "allowed", "passed");
  std::optional<ProblemFile> file;
  int64_t batch = 0;
  for (const InferenceCase &entry : inferenceCases()) {
    if (!options.batches.empty() &&
        std::find(options.batches.begin(), options.batches.end(), entry.batch) == options.batches.end())
      continue;
    if (!file || batch != entry.batch) {
      SLUICE_ASSIGN_OR_RETURN(ProblemFile built,
                              inferenceProblem(*builders, entry.batch, options.machine, options.unfused));
      file = std::move(built);
      batch = entry.batch;
    }
    auto largest = std::find_if(inferenceCases().begin(), inferenceCases().end(), [&](const InferenceCase &other) {
      return other.batch == batch && other.megabytes == inferenceCases().back().megabytes;
    });
    limitMemory(*file, entry.megabytes * 1'000'000);
    const Run run = runSolver(*file, options, 0, options.seeds.front(), std::nullopt);
    Json row{{"model", "resnet-152"},
             {"batch", batch},
             {"operators", file->graph.numOperators()},
             {"megabytes", entry.megabytes}};
    std::optional<double> planned, bound, slowdown, paperSlowdown;
    if (run.result) {
      planned = seconds(run.result->makespanNs);
      bound = seconds(run.result->lowerBoundNs);
      slowdown = ratio(run.result->makespanNs, run.result->idealNs);
    } else {
      row["reason"] = run.result.error().message;
    }
    if (entry.seconds)
      paperSlowdown = *entry.seconds / *largest->seconds;
    row["seconds"] = orNull(planned);
    row["bound_seconds"] = orNull(bound);
    row["paper_seconds"] = orNull(entry.seconds);
    row["slowdown"] = orNull(slowdown);
    row["paper_slowdown"] = orNull(paperSlowdown);
    constexpr double kRounding = 0.0005;
    std::optional<double> allowed;
    if (entry.seconds)
      allowed = (*entry.seconds + kRounding) / (*largest->seconds - kRounding);
    row["allowed_slowdown"] = orNull(allowed);
    row["passed"] = !allowed || (slowdown && *slowdown <= *allowed);
    if (options.text()) {
      std::printf("%6s %7s %10s %10s %10s %9s %9s %9s %s\n", cell(row, "batch", "%.0f").c_str(),
                  cell(row, "megabytes", "%.0f").c_str(), cell(row, "seconds", "%.4f").c_str(),
                  cell(row, "bound_seconds", "%.4f").c_str(), cell(row, "paper_seconds").c_str(),
                  cell(row, "slowdown").c_str(), cell(row, "paper_slowdown").c_str(),
                  cell(row, "allowed_slowdown").c_str(), row["passed"].get<bool>() ? "yes" : "no");
      std::fflush(stdout);
    }
    rows.push_back(std::move(row));
  }
  return {};
}

Status runSwap(const SwapOptions &options) {
  Json rows = Json::array();
  SLUICE_RETURN_IF_ERROR(options.table2 ? measureInference(options, rows) : measureTraining(options, rows));
  if (options.format == "csv")
    printCsv(rows);
  else if (options.format == "json")
    std::cout << jsonText(Json{{"benchmark", "swap"}, {"machine", options.machine}, {"rows", std::move(rows)}}, 2)
              << '\n';
  return {};
}

CLI::Option *addDuration(CLI::App &command, const std::string &name, int64_t &ns, const std::string &help) {
  auto parse = [&ns](const std::string &text) {
    Expected<int64_t> value = parseDuration(text);
    if (!value)
      throw CLI::ValidationError(value.error().message);
    ns = *value;
  };
  return command.add_option_function<std::string>(name, parse, help)->type_name("TIME");
}

} // namespace

void addSwapCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<SwapOptions>();
  CLI::App *command = driver::addCommand(
      app, "swap", "Run the evaluation of the SwapAdvisor paper: training steps that exceed the memory");
  CLI::Option *models =
      driver::addOption(*command, "--models", options->models, "some of the five models; by default all")
          ->delimiter(',')
          ->check(driver::oneOf(trainingModels()))
          ->type_name("NAME,...");
  driver::addOption(*command, "--batch", options->batches, "batch sizes; by default those of the paper")
      ->delimiter(',')
      ->check(CLI::Range(1, 100'000))
      ->type_name("N,...");
  CLI::Option *problems = driver::addOption(*command, "--problem", options->problems,
                                            "planning problems as JSON, instead of models or in addition")
                              ->delimiter(',')
                              ->type_name("FILE,...");
  driver::addOption(*command, "--solvers", options->solvers,
                    "the measured solver, whose worst seed is used, followed by the solvers that it is compared with")
      ->delimiter(',')
      ->check(driver::oneOf(searchSolverNames()))
      ->capture_default_str();
  driver::addOption(*command, "--seeds", options->seeds,
                    "seeds of the first solver; the other solvers use the first seed")
      ->delimiter(',')
      ->type_name("N,...")
      ->capture_default_str();
  CLI::Option *time =
      addDuration(*command, "--time", options->timeNs, "limit of the search for a plan (60s); with --evals no limit");
  addDuration(*command, "--rival-time", options->rivalTimeNs, "limit of the other solvers; by default that of --time");
  driver::addOption(*command, "--evals", options->evaluations,
                    "number of plans to make; the fractions are then the same on any machine")
      ->check(CLI::PositiveNumber);
  driver::addOption(*command, "--threads", options->threads, "number of threads, 0: one for each core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  CLI::Option *rate =
      driver::addOption(*command, "--rate", options->rates, "compute rates, as multiples of the rate of the machine")
          ->delimiter(',')
          ->check(CLI::PositiveNumber)
          ->capture_default_str();
  CLI::Option *table2 = driver::addFlag(*command, "--table2", options->table2,
                                        "plan the inference of ResNet-152 in little memory instead")
                            ->excludes(rate)
                            ->excludes(models)
                            ->excludes(problems);
  driver::addFlag(*command, "--unfused", options->unfused, "plan the operators of the network without fusion")
      ->needs(table2);
  driver::addFlag(*command, "--convergence", options->convergence,
                  "print the population of each solver's genetic search after every generation instead")
      ->excludes(rate)
      ->excludes(table2);
  driver::addOption(*command, "--machine", options->machine, "a preset or a machine file")->capture_default_str();
  driver::addOption(*command, "--scripts", options->scripts, "directory of the model builders, scripts/models")
      ->type_name("DIR");
  driver::addOption(*command, "--format", options->format, "text for readers, json and csv for programs")
      ->check(driver::oneOf({"text", "json", "csv"}))
      ->capture_default_str();
  command->callback([options, time, &action] {
    options->timeGiven = time->count() > 0;
    action = [options] { return runSwap(*options); };
  });
}

} // namespace sluice::bench
