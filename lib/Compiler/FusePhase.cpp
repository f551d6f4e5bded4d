//===- FusePhase.cpp - Groups, their graph and their costs ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ExpertSlots.h"
#include "passes/Passes.h"
#include "passes/Tuning.h"
#include "sluice/Codegen/Artifact.h"
#include "sluice/Compiler/Phases.h"
#include "sluice/Cost/LearnedCostModel.h"
#include "sluice/Cost/Tuning.h"
#include "sluice/TensorIO/Compare.h"

#include <nlohmann/json.hpp>

using namespace mlir;

namespace sluice {

static Expected<Profile> readProfile(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path));
  return profileFromJson(JsonReader(json, path + ":"));
}

std::string measurementOrigin(const TargetSpec &target, dataflow::MatmulPrecision precision) {
  std::string origin = concat(compilerVersion(), ", ", target.tune, ", ", target.cpu, " ", target.required);
  if (precision != dataflow::MatmulPrecision::F32)
    origin += ", " + matmulPrecisionName(precision);
  return origin;
}

/// The tuning that the options name, of this target and of a device of the machine.
static Expected<std::shared_ptr<const Tuning>> readTuningFor(const Partitioned &program,
                                                             const CompilerOptions &options) {
  std::shared_ptr<const Tuning> none;
  if (options.tuningFile.empty())
    return none;
  SLUICE_ASSIGN_OR_RETURN(Tuning tuning, readTuning(options.tuningFile));
  const std::vector<DeviceId> devices = program.ofRank.computeDevices();
  auto found =
      llvm::find_if(devices, [&](DeviceId id) { return deviceKey(program.ofRank.device(id)) == tuning.device; });
  if (found == devices.end() && program.ofRank.device(devices.front()).kind != DeviceKind::Cpu)
    return makeError(ErrorCode::InvalidInput, "the tuning in '", options.tuningFile, "' was measured on device '",
                     tuning.device.substr(0, 80), "', and no device of this kind computes in machine '",
                     program.ofRank.name, "', give --machine host or leave --tuning out");
  const Device &device = program.ofRank.device(found == devices.end() ? devices.front() : *found);
  SLUICE_RETURN_IF_ERROR(checkTuning(tuning, measurementOrigin(program.origin->target, options.matmulPrecision),
                                     deviceKey(device), options.tuningFile));
  return std::make_shared<const Tuning>(std::move(tuning));
}

/// How convolutions are computed, as dataflow-assign-layout names it.
static Expected<std::string> convChoice(const Machine &machine, const TargetSpec &target,
                                        const CompilerOptions &options) {
  const std::vector<DeviceId> devices = machine.computeDevices();
  auto kindOf = [&](DeviceId id) { return machine.device(id).kind; };
  const bool hasGrids = llvm::any_of(devices, [&](DeviceId id) { return runsGrids(kindOf(id), target); });
  if (options.convChoice == ConvChoice::Winograd && hasGrids)
    return makeError(
        ErrorCode::InvalidInput, "machine '", machine.name,
        "' has GPUs or other devices that run grids, for which Winograd's algorithm has no kernels, option "
        "'--conv-algorithm winograd', give a machine of CPUs only or leave the option out");
  if (options.convChoice == ConvChoice::Winograd && options.training)
    return makeError(ErrorCode::InvalidInput,
                     "a training step changes the weights that Winograd's algorithm transforms ahead of time, option "
                     "'--conv-algorithm winograd', leave out this option or '--train'");
  // An accelerator would copy up to four times the weights into its memory.
  const bool isCpus = llvm::all_of(devices, [&](DeviceId id) { return kindOf(id) == DeviceKind::Cpu; });
  if (options.convChoice == ConvChoice::Auto && (!isCpus || options.training))
    return "direct";
  return convChoiceNames()[static_cast<size_t>(options.convChoice)];
}

static bool hasPrograms(const Partitioned &program) {
  return program.main().walk([](dataflow::ProgramsOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Layouts, libraries' kernels and groups, as passes.
static Expected<Pipeline> fusionPasses(const Partitioned &program, const CompilerOptions &options,
                                       const std::shared_ptr<const Profile> &profile,
                                       const std::shared_ptr<const Tuning> &tuning) {
  const Machine &machine = program.ofRank;
  const std::vector<DeviceId> devices = machine.computeDevices();
  auto isGpu = [&](DeviceId id) { return machine.device(id).kind == DeviceKind::Cuda; };
  const TargetSpec &target = program.origin->target;
  const bool isGpus = llvm::all_of(devices, isGpu);
  // Packing in each step, which is an advantage on a CPU, costs time on a GPU.
  const Pipeline::Options layout = {{"lanes", optionText(target.vectorLanes(32))},
                                    {"registers", optionText(target.numVectorRegisters)},
                                    {"dynamic", optionText(llvm::none_of(devices, isGpu))},
                                    {"dot", isGpus ? "none" : target.byteProducts}};
  Pipeline passes;
  if (options.gpuLibraries == GpuLibraries::On && !isGpus)
    return makeError(ErrorCode::InvalidInput, "machine '", machine.name,
                     "' has compute devices other than GPUs, option '--gpu-libraries on', give a machine on which only "
                     "GPUs compute or leave the option out");
  if (options.gpuLibraries != GpuLibraries::Off && isGpus) {
    Pipeline::Options choice = {{"choice", gpuLibrariesNames()[static_cast<size_t>(options.gpuLibraries)]}};
    Pipeline::Maker make;
    if (options.gpuLibraries == GpuLibraries::Auto && profile) {
      const std::string device = deviceKey(machine.device(devices.front()));
      choice.push_back({"profile", options.profileFile});
      choice.push_back({"device", device});
      choice.insert(choice.end(), layout.begin(), layout.end());
      make = [profile, device, lanes = target.vectorLanes(32), registers = target.numVectorRegisters] {
        AskLibrariesPassOptions asking;
        asking.device = device;
        asking.lanes = lanes;
        asking.registers = registers;
        asking.dot = "none";
        return createAskLibrariesPass(asking, profile.get());
      };
    }
    passes.onModule("dataflow-ask-libraries", std::move(choice), std::move(make));
  }
  if (llvm::none_of(devices, [&](DeviceId id) { return runsGrids(machine.device(id).kind, target); }))
    passes.onFunctions("dataflow-fuse-attention");
  if (tuning)
    passes.onModule("dataflow-apply-tuning",
                    {{"file", options.tuningFile}, {"device", tuning->device}, {"origin", tuning->origin}},
                    [tuning] { return createApplyTuningPass({}, tuning.get()); });
  SLUICE_ASSIGN_OR_RETURN(std::string conv, convChoice(machine, target, options));
  Pipeline::Options assigned = layout;
  assigned.push_back({"l2", optionText(target.l2Bytes)});
  assigned.push_back({"conv", std::move(conv)});
  assigned.push_back({"tolerance", optionText(defaultTolerance(ElementType::Float32).maxRatio)});
  // Where grids are compiled too, an operator's operands lie as either form reads them.
  const bool isOnlyChunks = target.architectures.empty() && !target.emulatesGrids;
  if (isOnlyChunks)
    assigned.push_back({"rounded-bits", optionText(target.roundedBits)});
  if (target.halfProducts != "none" && isOnlyChunks) {
    assigned.push_back({"half", target.halfProducts});
    assigned.push_back({"round", optionText(options.matmulPrecision == dataflow::MatmulPrecision::BF16)});
  }
  passes.onFunctions("dataflow-assign-layout", std::move(assigned)).onFunctions("dataflow-fuse");
  if (hasPrograms(program)) {
    // On several devices, placement decides what runs at the same time.
    if (devices.size() == 1)
      passes.onFunctions("dataflow-group-loops");
    passes.onFunctions("dataflow-plan-programs");
  }
  return passes;
}

/// Reserves slots for experts where memory is limited, and makes the graph and the costs again.
static Status poolExperts(Fused &fused, const CompilerOptions &options) {
  const std::optional<ExpertSlots> slots = chooseExpertSlots(fused, options);
  if (!slots && options.expertHitRate)
    return makeError(
        ErrorCode::InvalidInput,
        "the plan does not read experts from the disk, so a hit rate has no effect, option '--expert-hit-rate', leave "
        "this option out, or give a model with experts and a --memory smaller than its weights");
  if (!slots)
    return {};
  Pipeline passes;
  passes.onFunctions("dataflow-pool-experts",
                     {{"slots", std::to_string(slots->count)}, {"hit-rate", optionText(slots->hitRate)}});
  SLUICE_RETURN_IF_ERROR(fused.run(passes));
  SLUICE_ASSIGN_OR_RETURN(BridgedGraph pooled, buildGraph(fused.main()));
  pooled.graph.name = fused.bridge.graph.name;
  fused.bridge = std::move(pooled);
  fused.costs = fused.costsOf(fused.bridge.graph);
  fused.limitTexts = options.memory;
  fused.limitBytes = slots->capacityBytes;
  return {};
}

Expected<Fused> fuse(Partitioned partitioned, const CompilerOptions &options) {
  std::shared_ptr<const Profile> profile;
  if (!options.profileFile.empty()) {
    SLUICE_ASSIGN_OR_RETURN(Profile read, readProfile(options.profileFile));
    profile = std::make_shared<const Profile>(std::move(read));
  }
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const Tuning> tuning, readTuningFor(partitioned, options));
  SLUICE_ASSIGN_OR_RETURN(Pipeline passes, fusionPasses(partitioned, options, profile, tuning));
  SLUICE_RETURN_IF_ERROR(partitioned.run(passes));
  Fused fused{std::move(static_cast<Stage &>(partitioned)),
              partitioned.ranks,
              std::move(partitioned.ofRank),
              std::move(partitioned.partitionFile),
              std::move(partitioned.splits),
              std::move(partitioned.choice),
              {},
              {},
              {},
              tuning ? chunkTimes(*tuning) : "",
              {},
              {},
              {}};
  SLUICE_ASSIGN_OR_RETURN(BridgedGraph built, buildGraph(fused.main()));
  fused.bridge = std::move(built);
  fused.bridge.graph.name = fused.origin->name;
  if (tuning) {
    // A profile's own times come before a tuning's.
    Profile both = profile ? *profile : Profile();
    both.operators.insert(tuning->profile.operators.begin(), tuning->profile.operators.end());
    profile = std::make_shared<const Profile>(std::move(both));
  }
  fused.measured = profile ? withMeasuredLinks(fused.ofRank, *profile) : fused.ofRank;
  fused.costsOf = [profile, machine = fused.measured, slowdowns = options.slowdowns](const Graph &graph) {
    CostTable costs;
    if (profile) {
      const LearnedCostModel learned(*profile, machine);
      costs = makeCostTable(graph, machine, ProfiledCostModel(*profile, learned));
    } else {
      costs = makeCostTable(graph, machine, RooflineCostModel());
    }
    for (size_t d = 0; d < machine.devices.size(); ++d)
      if (auto slower = slowdowns.find(machine.devices[d].name); slower != slowdowns.end())
        for (size_t cell = d; cell < costs.operatorNs.size(); cell += costs.numDevices)
          costs.operatorNs[cell] = static_cast<int64_t>(
              std::clamp(static_cast<double>(costs.operatorNs[cell]) * slower->second, 1.0, 0x1p50));
    return costs;
  };
  fused.costs = fused.costsOf(fused.bridge.graph);
  SLUICE_RETURN_IF_ERROR(poolExperts(fused, options));
  return fused;
}

} // namespace sluice
