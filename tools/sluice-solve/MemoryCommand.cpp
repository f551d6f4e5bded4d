//===- MemoryCommand.cpp - sluice-solve memory ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Memory/OffsetsCsv.h"
#include "sluice/Search/Orders.h"
#include "sluice/Support/Units.h"
#include "sluice/Swap/SwapPlanner.h"

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace sluice::solve {
namespace {

struct MemoryOptions {
  std::string file, solver = "search", memory, output, format = "text";
  int64_t capacity = 0, timeNs = 0, evaluations = 0;
  uint64_t seed = 1;
  bool validate = false, progress = false;
};

struct Instance {
  OffsetProblem problem;
  std::vector<int64_t> offsets; ///< The file's own; empty: none.
};

/// The arena residencies of a problem's ideal plan, each live from the first to
/// the last command that touches it.
Expected<OffsetProblem> buffersOf(const ProblemFile &file, const std::string &memoryName) {
  std::vector<DeviceId> placement = file.placement;
  placement.resize(file.graph.numOperators());
  const DeviceId first = file.machine.computeDevices().front();
  for (DeviceId &device : placement)
    if (!device.valid())
      device = first;
  MemoryId memory = file.machine.device(first).memory;
  if (!memoryName.empty()) {
    SLUICE_ASSIGN_OR_RETURN(MemoryId named, file.machine.findMemory(memoryName));
    memory = named;
  }
  SwapProblem swap{file.graph, file.machine, file.costs, placement, modelOrder(file.graph), file.capacities};
  Status status = check(swap);
  if (!status)
    return propagate(status);
  SLUICE_ASSIGN_OR_RETURN(Plan plan, planIdeal(swap, /*keepsStates=*/false));

  const int64_t end = static_cast<int64_t>(plan.commands.size());
  std::vector<Buffer> buffers(plan.residencies.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Residency &residency = plan.residencies[i];
    buffers[i].lower = residency.initial ? 0 : end;
    buffers[i].upper = residency.initial ? end : 0;
    buffers[i].bytes = residency.bytes;
    buffers[i].alignment = kArenaAlignment;
  }
  for (int64_t c = 0; c < end; ++c)
    for (const auto *list :
         {&plan.commands[static_cast<size_t>(c)].reads, &plan.commands[static_cast<size_t>(c)].writes})
      for (ResidencyId id : *list) {
        Buffer &buffer = buffers[id.index()];
        buffer.lower = std::min(buffer.lower, c);
        buffer.upper = std::max(buffer.upper, c + 1);
      }
  OffsetProblem problem;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Residency &residency = plan.residencies[i];
    if (residency.segment != Segment::Arena || residency.memory != memory || buffers[i].lower >= buffers[i].upper)
      continue;
    problem.buffers.push_back(buffers[i]);
    problem.ids.push_back(
        concat(residency.tensor.valid() ? file.graph.tensor(residency.tensor).name : "workspace", '#', i));
  }
  return problem;
}

Expected<Instance> readInstance(const MemoryOptions &options) {
  Instance instance;
  if (std::filesystem::path(options.file).extension() == ".json") {
    SLUICE_ASSIGN_OR_RETURN(ProblemFile file, readProblemFile(options.file));
    SLUICE_ASSIGN_OR_RETURN(OffsetProblem problem, buffersOf(file, options.memory));
    instance.problem = std::move(problem);
    return instance;
  }
  SLUICE_ASSIGN_OR_RETURN(std::string text, readFile(options.file));
  SLUICE_ASSIGN_OR_RETURN(OffsetProblem problem, offsetsFromCsv(text, options.file, &instance.offsets));
  instance.problem = std::move(problem);
  return instance;
}

/// What the search may take where neither --time nor --evals says: a capacity is
/// worth waiting for.
constexpr int64_t kLeastPeakNs = 8'000'000'000, kCapacityNs = 60'000'000'000;
constexpr int64_t kBestFitPackings = 64;

/// "0.52 s: peak 1.5 GiB, 0.270 % above the bound".
std::string describe(const OffsetProgress &progress, double seconds) {
  char numbers[64];
  const double gap =
      progress.boundBytes == 0
          ? 0.0
          : 100.0 * (static_cast<double>(progress.peakBytes) / static_cast<double>(progress.boundBytes) - 1);
  std::snprintf(numbers, sizeof numbers, "%.3f %%", gap);
  std::string text = concat(formatBytes(progress.peakBytes), ", ", numbers, " above the bound");
  std::snprintf(numbers, sizeof numbers, "%.2f s: peak ", seconds);
  return numbers + text;
}

Expected<OffsetSolution> solveInstance(const OffsetProblem &problem, const MemoryOptions &options,
                                       const std::atomic<bool> &interrupt) {
  if (options.solver == "owl")
    return solveOffsetsOwl(problem);
  if (options.solver == "best-fit")
    return solveOffsetsBestFit(problem,
                               {options.evaluations > 0 ? options.evaluations : kBestFitPackings, options.seed});
  OffsetParams params;
  params.seed = options.seed;
  params.budget = {std::numeric_limits<int64_t>::max(), std::nullopt, &interrupt};
  int64_t timeNs = options.timeNs;
  if (options.evaluations > 0)
    params.budget.evaluations = options.evaluations;
  else if (timeNs == 0)
    timeNs = problem.capacityBytes ? kCapacityNs : kLeastPeakNs;
  if (timeNs > 0)
    params.budget.deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeNs);
  // On a terminal one line, rewritten; with --progress a line for each packing.
  const bool rewrites = !options.progress && isatty(STDERR_FILENO);
  Stopwatch watch;
  if (options.progress || rewrites)
    params.progress = [&](const OffsetProgress &progress) {
      std::cerr << (rewrites ? "\r\033[K" : "") << describe(progress, watch.seconds()) << (rewrites ? "" : "\n")
                << std::flush;
    };
  Expected<OffsetSolution> solution = solveOffsets(problem, params);
  if (rewrites)
    std::cerr << "\r\033[K";
  return solution;
}

Status runMemory(const MemoryOptions &options, const std::atomic<bool> &interrupt) {
  SLUICE_ASSIGN_OR_RETURN(Instance instance, readInstance(options));
  OffsetProblem &problem = instance.problem;
  if (options.capacity > 0)
    problem.capacityBytes = options.capacity;
  Stopwatch watch;
  const LiveBytes live = maxLive(problem);
  const bool given = !instance.offsets.empty();
  Expected<OffsetSolution> solution(OffsetSolution{});
  if (options.validate && given) {
    solution->offsets = instance.offsets;
    solution->boundBytes = live.bytes;
    for (size_t i = 0; i < problem.buffers.size(); ++i)
      if (const Buffer &buffer = problem.buffers[i]; buffer.bytes > 0 && buffer.lower < buffer.upper)
        solution->peakBytes = std::max(solution->peakBytes, saturatingAdd(solution->offsets[i], buffer.bytes));
  } else {
    solution = solveInstance(problem, options, interrupt);
    if (!solution)
      return propagate(solution);
  }
  if (Status valid = validate(problem, *solution); !valid) {
    if (options.validate && given)
      return makeError(ErrorCode::InvalidInput, valid.error().message, ", '", options.file,
                       "', correct column 'offset', or leave it out to solve");
    return valid;
  }
  const double seconds = watch.seconds();
  if (!options.output.empty()) {
    SLUICE_ASSIGN_OR_RETURN(std::string text, offsetsToCsv(problem, &*solution));
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(options.output, text));
  }
  const std::string solver = options.validate && given ? "the file's" : options.solver;
  const int64_t bound = std::max(solution->boundBytes, live.bytes);
  if (options.format == "json") {
    printJson({{"problem", "memory"},
               {"solver", solver},
               {"buffers", problem.buffers.size()},
               {"objective", solution->peakBytes},
               {"bound", bound},
               {"live", live.bytes},
               {"optimal", solution->peakBytes == bound},
               {"evaluations", solution->evaluations},
               {"stoppedByClock", solution->stoppedByClock},
               {"seconds", seconds}});
    return {};
  }
  std::string peak = concat(solution->peakBytes, " bytes (", formatBytes(solution->peakBytes), ")");
  if (solution->peakBytes == bound)
    peak += ", optimal";
  else if (problem.capacityBytes)
    peak += concat(", ", *problem.capacityBytes - solution->peakBytes, " bytes below the capacity");
  std::string how = solver;
  if (solution->evaluations > 0)
    how += concat(", ", solution->evaluations, " evaluations");
  if (solution->stoppedByClock)
    how += ", stopped by the clock";
  if (options.validate)
    how += ": valid";
  printLine("buffers", std::to_string(problem.buffers.size()));
  printLine("peak", peak);
  printLine("bound", bound > live.bytes
                         ? concat(bound, " bytes, proven by search; ", live.bytes, " live at ", live.time)
                         : concat(live.bytes, " bytes live at ", live.time));
  printLine("solver", how);
  printLine("seconds", concat(seconds));
  return {};
}

} // namespace

void addMemoryCommand(CLI::App &app, Action &action, const std::atomic<bool> &interrupt) {
  auto options = std::make_shared<MemoryOptions>();
  CLI::App *command = driver::addCommand(app, "memory", "Assign addresses to buffers, for the least peak");
  driver::addOption(*command, "FILE", options->file,
                    "buffers as CSV (id, lower, upper, size), or a planning problem as JSON")
      ->required();
  addBytesOption(*command, "--capacity", options->capacity,
                 "stop at the first packing within this capacity; fail if none is found");
  driver::addOption(*command, "--solver", options->solver, "search, or one of the baselines best-fit and owl")
      ->check(driver::oneOf({"search", "best-fit", "owl"}))
      ->capture_default_str();
  addDurationOption(*command, "--time", options->timeNs,
                    "limit of the search; by default 8s, with a capacity 60s, with --evals no limit");
  driver::addOption(*command, "--evals", options->evaluations,
                    "number of evaluations of the search, or of packings of best-fit (64)")
      ->check(CLI::PositiveNumber);
  driver::addOption(*command, "--seed", options->seed, "seed of search and best-fit")->capture_default_str();
  driver::addOption(*command, "--memory", options->memory,
                    "memory of a planning problem; by default that of the first device");
  driver::addFlag(*command, "--validate", options->validate,
                  "validate the packing again; if the file has a column 'offset', validate that packing");
  driver::addFlag(*command, "--progress", options->progress,
                  "print the seconds, the peak and the gap to the bound of each better packing on stderr");
  driver::addOption(*command, "-o,--output", options->output, "write the buffers with their offsets as CSV");
  addFormatOption(*command, options->format);
  command->callback(
      [options, &action, &interrupt] { action = [options, &interrupt] { return runMemory(*options, interrupt); }; });
}

} // namespace sluice::solve
