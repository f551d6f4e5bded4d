//===- PlanPhase.cpp - From a graph with costs to a plan ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BucketBounds.h"
#include "FileTierOptions.h"
#include "Splitting.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "sluice/Compiler/Phases.h"
#include "sluice/Search/Mappings.h"
#include "sluice/Search/ProblemJson.h"
#include "sluice/Support/Text.h"

#include "llvm/ADT/StringMap.h"

#include <filesystem>
#include <nlohmann/json.hpp>

using namespace mlir;

namespace sluice {

PlanFile Planned::file() const {
  PlanFile file = makePlanFile(problem, result);
  file.summary.splits = fused->splits;
  file.summary.buckets = bucketTable;
  return file;
}

Status Planned::writeFiles(const std::string &path) const {
  for (const OfBucket &each : buckets)
    SLUICE_RETURN_IF_ERROR(
        writePlanFile(bucketPlanFile(path, each.bucket->bounds), makePlanFile(each.problem, each.result)));
  return writePlanFile(path, file());
}

/// Binds operators that read or write text, or that have no grid on a machine whose
/// other devices run grids, to the device of the host's memory. Those that exchange data
/// with other ranks are bound to one device too, a GPU where one computes.
static Status pinToHost(const Fused &fused, SearchProblem &problem) {
  const Machine &machine = fused.measured;
  const std::vector<DeviceId> devices = machine.computeDevices();
  auto hasGrid = [&](DeviceId id) { return runsGrids(machine.device(id).kind, fused.origin->target); };
  auto host = llvm::find_if(devices, [&](DeviceId id) { return machine.device(id).memory == Machine::hostMemory(); });
  const bool hasGrids = llvm::any_of(devices, hasGrid);
  llvm::StringMap<std::string> problems; // By kernel: emission is what finds them.
  for (size_t i = 0; i < fused.bridge.operators.size(); ++i) {
    Operation *op = fused.bridge.operators[i];
    std::string why;
    auto where = host;
    if (isa<dataflow::CollectiveOpInterface>(op)) {
      // All on one device: ranks exchange in the order of its stream.
      why = "exchanges data with other ranks";
      where = hasGrids ? llvm::find_if(devices, hasGrid) : host;
      if (where == devices.end())
        where = devices.begin();
    } else if (dataflow::usesStrings(op)) {
      why = "works on strings, which stay in the host's memory";
    } else if (hasGrids) {
      auto [entry, isNew] = problems.try_emplace(kernelKey(op, fused.bridge.operandSlots[i]));
      if (isNew)
        entry->second = dataflow::gridProblem(op);
      why = entry->second;
    }
    if (why.empty())
      continue;
    if (where == devices.end())
      return makeError(
          ErrorCode::Unsupported, "operator '", fused.bridge.graph.operators()[i].name, "' ", why,
          ", and no device of machine '", machine.name,
          "' can run this operator, compile for 'host' or add a compute device of kind cpu to the machine");
    problem.placement.resize(fused.bridge.operators.size());
    problem.placement[i] = *where;
  }
  return {};
}

/// Binds all other operators to the device that was asked for.
static Status pinToDevice(const Fused &fused, SearchProblem &problem, const std::string &name) {
  if (name.empty())
    return {};
  const Machine &machine = fused.measured;
  const std::vector<DeviceId> devices = machine.computeDevices();
  auto only = llvm::find_if(devices, [&](DeviceId id) { return machine.device(id).name == name; });
  if (only == devices.end()) {
    std::vector<std::string> known;
    for (DeviceId id : devices)
      known.push_back(machine.device(id).name);
    return makeError(ErrorCode::InvalidInput, "machine '", machine.name, "' has no compute device '", name, "', use ",
                     alternatives(known));
  }
  problem.placement.resize(fused.bridge.operators.size());
  for (DeviceId &device : problem.placement)
    if (!device.valid())
      device = *only;
  return {};
}

Expected<SearchProblem> problemOf(const Fused &fused, const CompilerOptions &options) {
  SearchProblem problem;
  problem.graph = &fused.bridge.graph;
  problem.machine = &fused.measured;
  problem.costs = &fused.costs;
  for (const Memory &memory : fused.measured.memories)
    problem.capacityBytes.push_back(memory.capacityBytes);
  SLUICE_RETURN_IF_ERROR(pinToHost(fused, problem));
  SLUICE_RETURN_IF_ERROR(pinToDevice(fused, problem, options.device));
  SLUICE_RETURN_IF_ERROR(
      limitMemory(problem, fused.choice ? fused.choice->memory : options.memory, options.processBytes));
  if (!fused.limitBytes.empty() && fused.limitTexts == options.memory)
    problem.capacityBytes = fused.limitBytes;
  if (options.dumpProblem.empty())
    return problem;
  ProblemFile file{*problem.graph, *problem.machine, *problem.costs, problem.capacityBytes, problem.placement};
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(options.dumpProblem, jsonText(problemToJson(file), 1) + "\n"));
  return problem;
}

SearchParams searchParams(const CompilerOptions &options) {
  SearchParams params;
  if (auto it = options.solvers.find(SolverStep::Search); it != options.solvers.end())
    params.solver = it->second;
  if (auto it = options.solvers.find(SolverStep::Place); it != options.solvers.end())
    params.placementSolver = it->second;
  params.leastGain = options.leastGain;
  params.timeNs = options.searchTimeNs;
  params.evaluations = options.searchEvaluations;
  params.seed = options.seed;
  params.threads = options.threads;
  params.interrupt = options.interrupt;
  params.progress = options.progress;
  return params;
}

/// Solves `planned.problem`, from a plan to search on from, where there is one.
static Status search(Planned &planned, const CompilerOptions &options, const Plan *start = nullptr) {
  SearchParams params = searchParams(options);
  params.start = start;
  if (options.slowdown) {
    SLUICE_ASSIGN_OR_RETURN(LeastMemoryResult least, findLeastMemory(planned.problem, *options.slowdown, params));
    planned.problem.capacityBytes = std::move(least.capacityBytes);
    planned.triedBudgets = std::move(least.tried);
    planned.result = std::move(least.search);
    return {};
  }
  SLUICE_ASSIGN_OR_RETURN(SearchResult solved, solveSearch(planned.problem, params));
  planned.result = std::move(solved);
  return {};
}

std::string boundsText(const std::vector<int64_t> &bounds) {
  std::string text;
  for (int64_t bound : bounds)
    text += concat(text.empty() ? "" : "x", bound);
  return text;
}

std::string bucketPlanFile(const std::string &planFile, const std::vector<int64_t> &bounds) {
  const std::filesystem::path path(planFile);
  const std::string name = concat(path.stem().string(), "-", boundsText(bounds), path.extension().string());
  return (path.parent_path() / name).string();
}

/// Plans each bucket within the limits of memory that `planned` keeps.
static Status planBuckets(Planned &planned, const CompilerOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(const auto all, bucketBounds(planned, options));
  for (const std::vector<int64_t> &bounds : all) {
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const Bucket> bucket, bucketAt(*planned.fused, bounds));
    SearchProblem problem = problemOf(planned, *bucket);
    Expected<SearchResult> result = options.planFile.empty()
                                        ? solveSearch(problem, searchParams(options))
                                        : readPlanFor(problem, bucketPlanFile(options.planFile, bounds));
    if (!result)
      return propagate(result);
    if (!options.planFile.empty() && options.resume) {
      SearchParams params = searchParams(options);
      const Plan start = result->plan;
      params.start = &start;
      result = solveSearch(problem, params);
      if (!result)
        return propagate(result);
    }
    planned.buckets.push_back({bucket, std::move(problem), std::move(*result)});
  }
  return {};
}

/// As plan(), of the upper bounds alone.
static Expected<Planned> planWhole(std::shared_ptr<const Fused> fused, const CompilerOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(SearchProblem problem, problemOf(*fused, options));
  Planned planned{fused, std::move(problem), {}, {}, {}, {}, {}};
  if (fused->choice) {
    // A plan of a copy of this program.
    planned.result = fused->choice->result;
    SLUICE_RETURN_IF_ERROR(validatePlan(fused->bridge.graph, fused->measured, planned.result.plan));
    return planned;
  }
  std::optional<Plan> start;
  if (!options.planFile.empty()) {
    SLUICE_ASSIGN_OR_RETURN(SearchResult read, readPlanFor(planned.problem, options.planFile));
    planned.result = std::move(read);
    if (!options.resume)
      return planned;
    start = planned.result.plan;
  }
  SLUICE_RETURN_IF_ERROR(search(planned, options, start ? &*start : nullptr));
  return planned;
}

Expected<Planned> plan(std::shared_ptr<const Fused> fused, const CompilerOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(Planned planned, planWhole(std::move(fused), options));
  SLUICE_RETURN_IF_ERROR(planBuckets(planned, options));
  return planned;
}

Expected<Planned> planMeasured(std::shared_ptr<const Fused> fused, const CompilerOptions &options,
                               const MappingMeasurement &measurement) {
  if (auto place = options.solvers.find(SolverStep::Place);
      place == options.solvers.end() || place->second != "htf-mpr")
    return makeError(ErrorCode::InvalidInput,
                     "option '--measure-mappings' measures only mappings that solver 'htf-mpr' proposes, ",
                     "add --solver place=htf-mpr");
  SLUICE_RETURN_IF_ERROR(requireDevices(*fused, fused->measured, "--measure-mappings"));
  SLUICE_ASSIGN_OR_RETURN(SearchProblem problem, problemOf(*fused, options));
  SearchParams params;
  params.seed = options.seed;
  params.threads = options.threads;
  params.interrupt = options.interrupt;
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::vector<DeviceId>> mappings,
                          proposeMappings(problem, measurement.count, params));
  Planned kept{fused, problem, {}, {}, {}, {}, {}};
  std::optional<size_t> best;
  Status unplanned;
  for (std::vector<DeviceId> &mapping : mappings) {
    auto planned = std::make_shared<Planned>(Planned{fused, problem, {}, {}, {}, {}, {}});
    planned->problem.placement = std::move(mapping);
    if (Status done = search(*planned, options); !done) {
      if (done.error().code != ErrorCode::Infeasible)
        return propagate(done);
      // Where memory is short not every mapping has a plan.
      unplanned = std::move(done);
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(int64_t ns, measurement.run(planned));
    kept.measuredMappings.push_back({planned->result.makespanNs, ns});
    if (best && ns >= kept.measuredMappings[*best].measuredNs)
      continue;
    best = kept.measuredMappings.size() - 1;
    kept.result = planned->result;
  }
  if (!best)
    return propagate(unplanned);
  kept.measuredMappings[*best].kept = true;
  SLUICE_RETURN_IF_ERROR(planBuckets(kept, options));
  return kept;
}

} // namespace sluice
