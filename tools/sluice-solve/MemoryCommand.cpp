//===- MemoryCommand.cpp - sluice-solve memory ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Memory/OffsetsCsv.h"
#include "sluice/Search/Orders.h"
#include "sluice/Support/Units.h"
#include "sluice/Swap/SwapPlanner.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::solve {
namespace {

struct Options {
  std::string file, solver = "best-fit", memory, output, format = "text";
  int64_t capacity = 0, timeNs = 0, evaluations = 64;
  uint64_t seed = 1;
  bool validate = false;
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
    Expected<MemoryId> named = file.machine.findMemory(memoryName);
    if (!named)
      return propagate(named);
    memory = *named;
  }
  SwapProblem swap{file.graph, file.machine, file.costs, placement, modelOrder(file.graph), file.capacities};
  Status status = check(swap);
  if (!status)
    return propagate(status);
  Expected<Plan> plan = planIdeal(swap);
  if (!plan)
    return propagate(plan);

  const int64_t end = static_cast<int64_t>(plan->commands.size());
  std::vector<Buffer> buffers(plan->residencies.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Residency &residency = plan->residencies[i];
    buffers[i].lower = residency.initial ? 0 : end;
    buffers[i].upper = residency.initial ? end : 0;
    buffers[i].bytes = residency.bytes;
    buffers[i].alignment = kArenaAlignment;
  }
  for (int64_t c = 0; c < end; ++c)
    for (const auto *list :
         {&plan->commands[static_cast<size_t>(c)].reads, &plan->commands[static_cast<size_t>(c)].writes})
      for (ResidencyId id : *list) {
        Buffer &buffer = buffers[id.index()];
        buffer.lower = std::min(buffer.lower, c);
        buffer.upper = std::max(buffer.upper, c + 1);
      }
  OffsetProblem problem;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Residency &residency = plan->residencies[i];
    if (residency.segment != Segment::Arena || residency.memory != memory || buffers[i].lower >= buffers[i].upper)
      continue;
    problem.buffers.push_back(buffers[i]);
    problem.ids.push_back(
        concat(residency.tensor.valid() ? file.graph.tensor(residency.tensor).name : "workspace", '#', i));
  }
  return problem;
}

Expected<Instance> readInstance(const Options &options) {
  Instance instance;
  if (std::filesystem::path(options.file).extension() == ".json") {
    Expected<ProblemFile> file = readProblemFile(options.file);
    if (!file)
      return propagate(file);
    Expected<OffsetProblem> problem = buffersOf(*file, options.memory);
    if (!problem)
      return propagate(problem);
    instance.problem = std::move(*problem);
    return instance;
  }
  Expected<std::string> text = readFile(options.file);
  if (!text)
    return propagate(text);
  Expected<OffsetProblem> problem = offsetsFromCsv(*text, options.file, &instance.offsets);
  if (!problem)
    return propagate(problem);
  instance.problem = std::move(*problem);
  return instance;
}

/// Without a time one run; with one, restarts with other seeds until it is up or
/// the live bytes are reached.
Expected<OffsetSolution> solveInstance(const OffsetProblem &problem, const Options &options, const Stopwatch &watch) {
  if (options.solver == "owl")
    return solveOffsetsOwl(problem);
  const int64_t least = maxLive(problem).bytes;
  Expected<OffsetSolution> best = solveOffsetsBestFit(problem, {options.evaluations, options.seed});
  for (uint64_t restart = 1; watch.seconds() * 1e9 < static_cast<double>(options.timeNs); ++restart) {
    if (best && (best->peakBytes == least || problem.capacityBytes))
      break;
    Expected<OffsetSolution> other = solveOffsetsBestFit(problem, {options.evaluations, options.seed + restart});
    if (!other)
      continue;
    int64_t evaluations = other->evaluations + (best ? best->evaluations : 0);
    if (!best || other->peakBytes < best->peakBytes)
      best = std::move(other);
    best->evaluations = evaluations;
  }
  return best;
}

Status runMemory(const Options &options) {
  Expected<Instance> instance = readInstance(options);
  if (!instance)
    return propagate(instance);
  OffsetProblem &problem = instance->problem;
  if (options.capacity > 0)
    problem.capacityBytes = options.capacity;
  Stopwatch watch;
  Expected<OffsetSolution> solution(OffsetSolution{});
  if (options.validate) {
    if (instance->offsets.empty() && !problem.buffers.empty())
      return makeError(ErrorCode::InvalidInput, "no offsets to validate, '", options.file,
                       "', give a CSV file with a column 'offset'");
    solution->offsets = instance->offsets;
    for (size_t i = 0; i < problem.buffers.size(); ++i)
      solution->peakBytes =
          std::max(solution->peakBytes, saturatingAdd(solution->offsets[i], problem.buffers[i].bytes));
  } else {
    solution = solveInstance(problem, options, watch);
    if (!solution)
      return propagate(solution);
  }
  if (Status status = validate(problem, *solution); !status)
    return status;
  const double seconds = watch.seconds();
  if (!options.output.empty()) {
    Expected<std::string> text = offsetsToCsv(problem, &*solution);
    if (!text)
      return propagate(text);
    if (Status status = writeFileAtomically(options.output, *text); !status)
      return status;
  }
  const LiveBytes live = maxLive(problem);
  const std::string solver = options.validate ? "the file's" : options.solver;
  if (options.format == "json") {
    printJson({{"problem", "memory"},
               {"solver", solver},
               {"buffers", problem.buffers.size()},
               {"objective", solution->peakBytes},
               {"bound", live.bytes},
               {"evaluations", solution->evaluations},
               {"seconds", seconds}});
    return {};
  }
  printLine("buffers", std::to_string(problem.buffers.size()));
  printLine("peak", concat(solution->peakBytes, " bytes (", formatBytes(solution->peakBytes), ")"));
  printLine("bound", concat(live.bytes, " bytes live at ", live.time));
  printLine("solver",
            options.validate ? concat(solver, ": valid") : concat(solver, ", ", solution->evaluations, " packings"));
  printLine("seconds", concat(seconds));
  return {};
}

} // namespace

void addMemoryCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("memory", "Give buffers addresses: the least peak");
  command->add_option("FILE", options->file, "buffers as CSV (id, lower, upper, size), or a planning problem as JSON")
      ->required();
  addBytesOption(*command, "--capacity", options->capacity, "stop at the first packing within this; fail without one");
  command->add_option("--solver", options->solver, "best-fit, or the baseline owl")
      ->check(CLI::IsMember({"best-fit", "owl"}))
      ->capture_default_str();
  addDurationOption(*command, "--time", options->timeNs, "restart best-fit with other seeds for so long (5s)");
  command->add_option("--evals", options->evaluations, "packings of each best-fit run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of best-fit's local search")->capture_default_str();
  command->add_option("--memory", options->memory, "which memory of a planning problem; else the first device's");
  command->add_flag("--validate", options->validate, "check the file's own column 'offset' instead of solving");
  command->add_option("-o,--output", options->output, "write the buffers with their offsets as CSV");
  addFormatOption(*command, options->format);
  command->callback([options, &action] { action = [options] { return runMemory(*options); }; });
}

} // namespace sluice::solve
