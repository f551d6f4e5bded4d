//===- Partitioning.cpp - A model split over devices ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Partitioning.h"

#include "passes/Bridge/ProgramBridge.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>
#include <thread>

using namespace mlir;

namespace sluice {

/// "axis0: split 0, axis1: whole"
static std::string describe(const std::vector<AxisTiling> &tilings, const Mesh &mesh) {
  std::string text;
  for (size_t axis = 0; axis < tilings.size(); ++axis)
    text += concat(axis ? ", " : "", mesh.axes[axis].name, ": ", tilingName(tilings[axis]));
  return text;
}

static void annotate(const BridgedProgram &bridged, const PlannedPartition &planned) {
  const Tiling &tiling = planned.solution.tiling;
  for (size_t i = 0; i < bridged.operators.size(); ++i) {
    const ProgramOperator &op = bridged.program.operators[i];
    Builder builder(bridged.operators[i]->getContext());
    SmallVector<Attribute> results, rules;
    for (TensorId id : op.results)
      results.push_back(builder.getStringAttr(describe(tiling.tensors[id.index()], planned.machine.mesh)));
    for (uint32_t rule : tiling.rules[i])
      rules.push_back(builder.getStringAttr(op.rules[rule].name));
    bridged.operators[i]->setAttr("dataflow.tiling", builder.getArrayAttr(results));
    bridged.operators[i]->setAttr("dataflow.rules", builder.getArrayAttr(rules));
  }
}

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

Expected<PlannedPartition> planPartition(Compilation &compilation, int64_t devices, PartitionParams params) {
  PlannedPartition planned;
  Expected<PartitionMachine> machine = partitionMachine(compilation.machine(), devices);
  if (!machine)
    return propagate(machine);
  planned.machine = std::move(*machine);
  if (Status status = compilation.run(Phase::Differentiate); !status)
    return propagate(status);
  auto main = *compilation.module().getOps<func::FuncOp>().begin();
  Expected<BridgedProgram> bridged = buildTensorProgram(main);
  if (!bridged)
    return propagate(bridged);
  bridged->program.name = compilation.name();
  params.seed = compilation.options().seed;
  params.threads = compilation.options().threads;
  if (params.threads == 0)
    params.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  Expected<PartitionSolution> solution = solvePartition(bridged->program, planned.machine, params);
  if (!solution)
    return propagate(solution);
  planned.solution = std::move(*solution);
  Expected<PartitionMachine> one = partitionMachine(compilation.machine(), 1);
  if (!one)
    return propagate(one);
  Tiling whole;
  whole.tensors.assign(bridged->program.tensors.size(), std::vector<AxisTiling>(1));
  whole.rules.assign(bridged->program.operators.size(), std::vector<uint32_t>(1));
  planned.singleNs = measurePartition(bridged->program, *one, whole).makespanNs;
  annotate(*bridged, planned);
  if (const std::string &directory = compilation.options().dumpPhases; !directory.empty())
    if (Status status = dump(compilation.module(), directory); !status)
      return propagate(status);
  planned.program = std::move(bridged->program);
  return planned;
}

} // namespace sluice
