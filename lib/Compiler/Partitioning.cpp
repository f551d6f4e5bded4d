//===- Partitioning.cpp - A model split over devices ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Partitioning.h"

#include "SplitProgram.h"
#include "passes/Bridge/TilingAttributes.h"
#include "sluice/Optimize/Parallel.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>

using namespace mlir;

namespace sluice {

static Status dump(ModuleOp module, const std::string &directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed)
    return makeError(ErrorCode::Io, "cannot create directory '", directory, "', ", failed.message());
  std::string text;
  llvm::raw_string_ostream out(text);
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs().elideLargeResourceString();
  module->print(out, flags);
  return writeFileAtomically((std::filesystem::path(directory) / "partition.mlir").string(), text);
}

PartitionParams partitionParams(const CompilerOptions &options) {
  PartitionParams params;
  if (auto found = options.solvers.find("tile"); found != options.solvers.end())
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

Expected<SplitProgram> splitProgram(func::FuncOp function, std::string_view name, const Machine &machine,
                                    int64_t devices, const PartitionParams &params) {
  if (function->hasAttr(kMeshAttribute) || function->hasAttr(kRanksAttribute))
    return makeError(ErrorCode::InvalidInput, "model '", name,
                     "' says itself how it is split, option '--devices', leave it out");
  Expected<BridgedProgram> bridged = buildTensorProgram(function);
  if (!bridged)
    return propagate(bridged);
  bridged->program.name = name;
  Expected<PartitionMachine> mesh = partitionMachine(machine, devices);
  if (!mesh)
    return propagate(mesh);
  Expected<PartitionSolution> solution = solvePartition(bridged->program, *mesh, params);
  if (!solution)
    return propagate(solution);
  annotateTiling(function, *bridged, {mesh->mesh, solution->tiling});
  return SplitProgram{std::move(bridged->program), std::move(*mesh), std::move(*solution)};
}

Expected<PlannedPartition> planPartition(Compilation &compilation, int64_t devices, const PartitionParams &params) {
  if (Status status = compilation.run(Phase::Differentiate); !status)
    return propagate(status);
  auto main = *compilation.module().getOps<func::FuncOp>().begin();
  Expected<SplitProgram> split = splitProgram(main, compilation.name(), compilation.machine(), devices, params);
  if (!split)
    return propagate(split);
  Expected<PartitionMachine> one = partitionMachine(compilation.machine(), 1);
  if (!one)
    return propagate(one);
  Tiling whole;
  whole.tensors.assign(split->program.tensors.size(), std::vector<AxisTiling>(1));
  whole.rules.assign(split->program.operators.size(), std::vector<uint32_t>(1));
  const int64_t singleNs = measurePartition(split->program, *one, whole).makespanNs;
  if (const std::string &directory = compilation.options().dumpPhases; !directory.empty())
    if (Status status = dump(compilation.module(), directory); !status)
      return propagate(status);
  return PlannedPartition{std::move(split->program), std::move(split->machine), std::move(split->solution), singleNs};
}

} // namespace sluice
