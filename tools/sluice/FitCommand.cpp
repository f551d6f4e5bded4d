//===- FitCommand.cpp - sluice fit ----------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "SharedOptions.h"
#include "sluice/Machine/FileTier.h"
#include "sluice/Search/MemoryOption.h"
#include "sluice/Support/Units.h"

#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace sluice::driver {
namespace {

struct FitOptions {
  std::string model, format = "text";
  CompileOptions compile;
};

/// A step within a limit.
struct Fit {
  int percent = 0;                                   ///< The share of the full limit; 0 for the least limit.
  int64_t limitBytes = 0;                            ///< As it is printed: the printed limit gives the same plan.
  std::optional<SearchResult> result = std::nullopt; ///< None where the model does not fit.
  int64_t bytesCopied = 0;                           ///< Into the memory, by a step.
};

/// What a model needs of the memory in which it computes.
struct Needs {
  std::string memory, op;
  int64_t leastBytes = 0;   ///< The least limit: the minimum and the bytes for the process.
  int64_t fullBytes = 0;    ///< The full limit: what steps without copies need, and the bytes for the process.
  bool keepsStates = false; ///< The full limit has room for states between steps.
  int64_t processBytes = 0; ///< 0 if the limit is that of an accelerator's memory.
};

/// Greedy plans only: the number of plans for each limit, and the time for them.
constexpr int64_t kEvaluations = 40, kShareNs = 150'000'000;

/// The limits of the rows: quarters of the full limit, and the least limit if the model does not fit in three quarters.
std::vector<Fit> chooseLimits(const Needs &needs) {
  std::vector<Fit> fits;
  for (int percent : {25, 50, 75, 100})
    fits.push_back(
        {percent, roundUpToPrinted(needs.fullBytes / 100 * percent + needs.fullBytes % 100 * percent / 100)});
  const int64_t least = roundUpToPrinted(needs.leastBytes);
  if (fits[2].limitBytes < needs.leastBytes && least < fits[3].limitBytes)
    fits.insert(fits.end() - 1, {0, least});
  return fits;
}

Expected<Fit> fitWithin(SearchProblem problem, MemoryId memory, const Needs &needs, Fit fit,
                        const CompilerOptions &options) {
  if (fit.limitBytes < needs.leastBytes)
    return fit;
  problem.capacityBytes[memory.index()] = fit.limitBytes - needs.processBytes;
  SearchParams params;
  params.solver = "greedy";
  params.evaluations = kEvaluations;
  params.timeNs = kShareNs;
  params.seed = options.seed;
  params.threads = options.threads;
  params.interrupt = options.interrupt;
  Expected<SearchResult> result = solveSearch(problem, params);
  if (!result && result.error().code == ErrorCode::Infeasible)
    return fit; // The minimum is of one operator; addresses may waste some bytes.
  if (!result)
    return propagate(result);
  const Plan &plan = result->plan;
  fit.bytesCopied =
      saturatingAdd(plan.bytesRead(*problem.graph, *problem.machine), plan.bytesSwappedIn(*problem.graph));
  fit.result = std::move(*result);
  return fit;
}

/// Sizes that are needed are rounded up: what is printed suffices.
void printFits(const Needs &needs, const std::vector<Fit> &fits) {
  const std::string process = concat(formatBytes(needs.processBytes), " for the process");
  const std::string peak = needs.keepsStates ? "the peak with all states resident" : "the peak";
  const std::string minimum = concat("minimum of operator '", needs.op, "'");
  if (needs.processBytes > 0) {
    printLine("least limit",
              concat(formatBytes(roundUpToPrinted(needs.leastBytes)), " of memory '", needs.memory,
                     "': ", formatBytes(needs.leastBytes - needs.processBytes), ", the ", minimum, ", and ", process));
    printLine("full limit", concat(formatBytes(roundUpToPrinted(needs.fullBytes)), ": ",
                                   formatBytes(needs.fullBytes - needs.processBytes), ", ", peak, ", and ", process));
  } else {
    printLine("least limit", concat(formatBytes(roundUpToPrinted(needs.leastBytes)), " of memory '", needs.memory,
                                    "', the ", minimum));
    printLine("full limit", concat(formatBytes(roundUpToPrinted(needs.fullBytes)), ", ", peak));
  }
  std::cout << '\n';
  Table table({"limit", "of the full limit", "simulated step", "slowdown", "copied in a step"});
  const int64_t fastestNs = fits.back().result ? fits.back().result->makespanNs : 0;
  for (const Fit &fit : fits) {
    std::vector<std::string> row = {formatBytes(fit.limitBytes), fit.percent > 0 ? concat(fit.percent, "%") : "least"};
    if (fit.result) {
      row.push_back(formatDuration(fit.result->makespanNs));
      row.push_back(fastestNs > 0 ? concat(std::round(100.0 * static_cast<double>(fit.result->makespanNs) /
                                                      static_cast<double>(fastestNs)) /
                                               100,
                                           "x")
                                  : "-");
      row.push_back(formatBytes(fit.bytesCopied));
    } else {
      row.push_back(fit.limitBytes < needs.leastBytes ? "does not fit" : "no plan found");
    }
    table.add(std::move(row));
  }
  table.print();
}

Json fitsToJson(const Needs &needs, const std::vector<Fit> &fits) {
  Json json = {{"memory", needs.memory},
               {"leastBytes", needs.leastBytes},
               {"peakBytes", needs.fullBytes},
               {"processBytes", needs.processBytes},
               {"operator", needs.op}};
  for (const Fit &fit : fits) {
    Json entry = {{"limitBytes", fit.limitBytes}, {"fits", fit.result.has_value()}};
    if (fit.percent > 0)
      entry["percent"] = fit.percent;
    else
      entry["isLeast"] = true;
    if (fit.result) {
      entry["makespanNs"] = fit.result->makespanNs;
      entry["lowerBoundNs"] = fit.result->lowerBoundNs;
      entry["bytesCopied"] = fit.bytesCopied;
    }
    json["steps"].push_back(std::move(entry));
  }
  return json;
}

Status runFit(const FitOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(CompilerOptions resolved, options.compile.resolve());
  // A limit is what makes a computer's disk a part of the machine.
  resolved.memory = {"100%"};
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation,
                          Compilation::create(options.model, std::move(resolved)));
  SLUICE_RETURN_IF_ERROR(compilation->run(Phase::Fuse));
  clearProgress();
  const Machine &machine = compilation->machine();
  const std::vector<MemoryId> memories = limitableMemories(machine);
  if (memories.empty())
    return makeError(ErrorCode::InvalidInput, "machine '", machine.name,
                     "' has no memory to limit, option '--machine', give a machine with an accelerator or a file");
  const MemoryId memory = memories.front();
  SearchProblem problem{&compilation->graph(), &machine, &compilation->costs(), {}, {}};
  for (const Memory &each : machine.memories)
    problem.capacityBytes.push_back(each.capacityBytes);
  SLUICE_ASSIGN_OR_RETURN(const MemoryNeeds found, memoryNeeds(problem, memory));
  Needs needs;
  needs.memory = machine.memory(memory).name;
  needs.op = found.least.op.valid() ? compilation->graph().op(found.least.op).name : "";
  needs.processBytes = fileBelowHost(machine).valid() ? kRuntimeProcessBytes : 0;
  needs.leastBytes = saturatingAdd(found.least.bytes, needs.processBytes);
  needs.keepsStates = found.fullBytes > found.peakBytes;
  needs.fullBytes = saturatingAdd(found.fullBytes, needs.processBytes);
  std::vector<Fit> fits = chooseLimits(needs);
  for (Fit &fit : fits) {
    SLUICE_ASSIGN_OR_RETURN(fit, fitWithin(problem, memory, needs, std::move(fit), compilation->options()));
  }
  if (options.format == "json")
    printJson(fitsToJson(needs, fits));
  else
    printFits(needs, fits);
  return {};
}

} // namespace

void addFitCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<FitOptions>();
  CLI::App *command = driver::addCommand(app, "fit",
                                         "Print the least limit with which a model runs, and the simulated time of a "
                                         "step for several limits; loads no weights");
  addOption(*command, "MODEL", options->model, "an ONNX file, or a pipeline of models (.json)")->required();
  addFormatOption(*command, options->format);
  options->compile.addTo(*command);
  options->compile.hidePlanned();
  command->callback([options, &action] {
    if (const std::string given = options->compile.firstPlanned(); !given.empty())
      throw CLI::ValidationError(given, "'fit' chooses the limits and the search itself, leave the option out");
    action = [options] { return runFit(*options); };
  });
}

} // namespace sluice::driver
