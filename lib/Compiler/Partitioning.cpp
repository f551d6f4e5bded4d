//===- Partitioning.cpp - A model split over devices ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Partitioning.h"

#include "SplitProgram.h"
#include "Splitting.h"
#include "passes/Bridge/TilingAttributes.h"
#include "sluice/Compiler/Phases.h"
#include "sluice/Machine/RankMachine.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Tiling/Groups.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>
#include <nlohmann/json.hpp>

using namespace mlir;

namespace sluice {

static Status dump(ModuleOp module, const std::string &directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed)
    return makeError(ErrorCode::Io, "cannot create directory '", directory, "', ", failed.message(),
                     ", choose another with --dump-phases");
  std::string text;
  llvm::raw_string_ostream out(text);
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs().elideLargeResourceString();
  module->print(out, flags);
  return writeFileAtomically((std::filesystem::path(directory) / "partition.mlir").string(), text);
}

PartitionParams partitionParams(const CompilerOptions &options) {
  PartitionParams params;
  if (auto found = options.solvers.find(SolverStep::Tile); found != options.solvers.end())
    params.solver = found->second;
  params.seed = options.seed;
  params.threads = usableThreads(options.threads);
  params.budget.interrupt = options.interrupt;
  if (options.searchEvaluations > 0)
    params.budget.evaluations = options.searchEvaluations;
  if (options.searchTimeNs > 0)
    params.budget.deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(options.searchTimeNs);
  return params;
}

static Expected<SplitProgram> splitOver(func::FuncOp function, std::string_view name, PartitionMachine machine,
                                        const PartitionParams &params) {
  SLUICE_ASSIGN_OR_RETURN(BridgedProgram bridged, buildTensorProgram(function));
  bridged.program.name = name;
  if (bridged.program.operators.empty())
    return makeError(ErrorCode::InvalidInput, "model '", name,
                     "' has no operators to split over devices, option '--devices', leave this option out");
  SLUICE_ASSIGN_OR_RETURN(PartitionSolution solution, solvePartition(bridged.program, machine, params));
  return SplitProgram{std::move(bridged.program), std::move(machine), std::move(solution)};
}

Expected<SplitProgram> splitStage(func::FuncOp function, std::string_view name, const Machine &machine,
                                  const PipelineOptions &pipeline, PartitionParams params) {
  SLUICE_ASSIGN_OR_RETURN(GroupMachine ranks, groupMachine(machine, pipeline.groups, pipeline.groupRanks));
  // The planner of each rank swaps or computes again what does not fit.
  params.memoryBytes = std::numeric_limits<int64_t>::max();
  // All ranks of the group decide the same tiling, whatever the clock says.
  params.budget.deadline = Budget().deadline;
  return splitOver(function, name, std::move(ranks.group), params);
}

Expected<SplitProgram> splitProgram(func::FuncOp function, std::string_view name, const Machine &machine,
                                    int64_t devices, const PartitionParams &params) {
  if (function->hasAttr(dataflow::DataflowDialect::MeshAttrHelper::getNameStr()) ||
      function->hasAttr(dataflow::DataflowDialect::RanksAttrHelper::getNameStr()))
    return makeError(ErrorCode::InvalidInput, "model '", name,
                     "' is already split over devices in its IR, option '--devices', leave this option out");
  SLUICE_ASSIGN_OR_RETURN(PartitionMachine mesh, partitionMachine(machine, devices));
  return splitOver(function, name, std::move(mesh), params);
}

/// Decides a tiling, and makes the program of a rank.
static Status applySplit(Partitioned &result, const SplitProgram &split) {
  auto decisions = std::make_shared<Decisions>();
  decisions->tiling = {split.machine.mesh, split.solution.tiling};
  Pipeline passes;
  passes.onModule("dataflow-apply-plan", {{"plan", kPartitionFileName}, {"phase", "tiling"}}, [decisions] {
    ApplyPlanPassOptions tiling;
    tiling.phase = "tiling";
    return createApplyPlanPass(tiling, decisions.get());
  });
  SLUICE_RETURN_IF_ERROR(result.run(passes));
  result.partitionFile = jsonText(partitionToJson(split.program, split.machine, split.solution), 1) + "\n";
  return {};
}

Expected<Partitioned> partition(Simplified simplified, const CompilerOptions &options) {
  Partitioned result{std::move(simplified), 1, {}, {}, options.splits, {}};
  result.ofRank = result.origin->described;
  const PipelineOptions *pipeline =
      options.training && options.training->pipeline ? &*options.training->pipeline : nullptr;
  if (pipeline && pipeline->groupRanks > 1) {
    SLUICE_ASSIGN_OR_RETURN(SplitProgram split, splitStage(result.main(), result.origin->name, result.ofRank, *pipeline,
                                                           partitionParams(options)));
    SLUICE_RETURN_IF_ERROR(applySplit(result, split));
  } else if (!pipeline && options.devices > 1) {
    SLUICE_ASSIGN_OR_RETURN(SplitProgram split, splitProgram(result.main(), result.origin->name, result.ofRank,
                                                             options.devices, partitionParams(options)));
    SLUICE_RETURN_IF_ERROR(applySplit(result, split));
  }
  result.ranks = pipeline ? pipeline->numRanks() : options.devices;
  if (result.ranks > 1)
    result.ofRank = machineOfRank(result.ofRank, result.ranks);
  if (result.main()->hasAttr(dataflow::DataflowDialect::MeshAttrHelper::getNameStr())) {
    Pipeline passes;
    passes.onFunctions("dataflow-partition").onFunctions("dataflow-simplify");
    SLUICE_RETURN_IF_ERROR(result.run(passes));
  }
  if (!options.planFile.empty()) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<NamedSplit> read, readPlanSplits(options.planFile));
    result.splits = std::move(read);
  } else if (options.splitOperators) {
    SLUICE_RETURN_IF_ERROR(chooseSplits(result, options));
  }
  SLUICE_RETURN_IF_ERROR(applySplits(result));
  return result;
}

Expected<PlannedPartition> planPartition(Compilation &compilation, int64_t devices, const PartitionParams &params) {
  SLUICE_RETURN_IF_ERROR(compilation.run(Phase::Differentiate));
  auto main = *compilation.module().getOps<func::FuncOp>().begin();
  SLUICE_ASSIGN_OR_RETURN(SplitProgram split,
                          splitProgram(main, compilation.name(), compilation.machine(), devices, params));
  SLUICE_ASSIGN_OR_RETURN(PartitionMachine one, partitionMachine(compilation.machine(), 1));
  Tiling whole;
  whole.tensors.assign(split.program.tensors.size(), std::vector<AxisTiling>(1));
  whole.rules.assign(split.program.operators.size(), std::vector<uint32_t>(1));
  SLUICE_ASSIGN_OR_RETURN(BridgedProgram bridged, buildTensorProgram(main));
  annotateTiling(main, bridged, {split.machine.mesh, split.solution.tiling});
  const int64_t singleNs = measurePartition(split.program, one, whole).makespanNs;
  if (const std::string &directory = compilation.options().dumpPhases; !directory.empty())
    SLUICE_RETURN_IF_ERROR(dump(compilation.module(), directory));
  return PlannedPartition{std::move(split.program), std::move(split.machine), std::move(split.solution), singleNs};
}

} // namespace sluice
