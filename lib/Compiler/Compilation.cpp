//===- Compilation.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Compilation.h"

#include "GpuLibraries.h"
#include "ImportedProgram.h"
#include "ModuleFile.h"
#include "Parameters.h"
#include "SplitProgram.h"
#include "Splitting.h"
#include "WeightProgram.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Indices.h"
#include "dialects/Exec/Exec.h"
#include "passes/Bridge/GraphBridge.h"
#include "passes/Bridge/PlanToExec.h"
#include "passes/Bridge/TilingAttributes.h"
#include "passes/Gradients.h"
#include "passes/Passes.h"
#include "sluice/Codegen/CompileProgram.h"
#include "sluice/Codegen/GridLowering.h"
#include "sluice/Codegen/KernelLowering.h"
#include "sluice/Compiler/Partitioning.h"
#include "sluice/Compiler/PlanFile.h"
#include "sluice/Cost/LearnedCostModel.h"
#include "sluice/Onnx/Export.h"
#include "sluice/Onnx/Import.h"
#include "sluice/Placement/Placement.h"
#include "sluice/Search/Mappings.h"
#include "sluice/Search/MemoryOption.h"
#include "sluice/Search/ProblemJson.h"
#include "sluice/Support/Units.h"
#include "sluice/TensorIO/ElementType.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>
#include <optional>

using namespace mlir;

namespace sluice {

const std::vector<std::string> &phaseNames() {
  static const std::vector<std::string> names{"import", "simplify", "differentiate", "partition", "fuse",
                                              "place",  "schedule", "exec",          "codegen",   "link"};
  return names;
}

static std::string listed(const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ", ") + name;
  return list;
}

Expected<Phase> parsePhase(std::string_view name) {
  for (size_t i = 0; i < phaseNames().size(); ++i)
    if (phaseNames()[i] == name)
      return static_cast<Phase>(i);
  return makeError(ErrorCode::InvalidInput, "'", name, "' is not a phase, use one of ", listed(phaseNames()));
}

const std::vector<std::string> &matmulPrecisionNames() {
  // In the order of dataflow::MatmulPrecision.
  static const std::vector<std::string> names = {"f32", "tf32", "bf16", "f16"};
  return names;
}

Expected<std::map<std::string, std::string>> parseSolvers(std::string_view text) {
  std::map<std::string, std::string> result;
  while (!text.empty()) {
    size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    size_t equals = part.find('=');
    std::string step(part.substr(0, equals));
    std::string solver(equals == std::string_view::npos ? "" : part.substr(equals + 1));
    std::vector<std::string> known;
    if (step == "search")
      known = searchSolverNames();
    else if (step == "place")
      known = placementSolverNames();
    else if (step == "tile")
      known = partitionSolverNames();
    else
      return makeError(ErrorCode::InvalidInput, "'", step, "' is not a step with solvers, option '--solver', use ",
                       "search=NAME, place=NAME or tile=NAME");
    if (std::find(known.begin(), known.end(), solver) == known.end()) {
      return makeError(ErrorCode::InvalidInput, "'", solver, "' is not a solver of step '", step, "', use one of ",
                       listed(known));
    }
    result[step] = solver;
  }
  return result;
}

struct Compilation::State {
  CompilerOptions options;
  std::string modelPath;
  std::optional<ModelFile> model; ///< Absent: a program in the dialect.
  std::string modelName;
  std::shared_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  ImportedProgram imported;
  Machine described; ///< As `--machine` has it: what a throttled link enforces.
  Machine machine;   ///< With the links that a profile measured.
  TargetSpec target;
  dataflow::MatmulPrecision matmulPrecision = dataflow::MatmulPrecision::F32;
  BridgedGraph bridge;
  CostTable costs;
  std::vector<NamedSplit> splits;    ///< Of operators that run as several.
  std::optional<SearchResult> found; ///< With those, before Place asked for it.
  size_t numMeasured = 0;            ///< Mappings, by `measure`.
  std::function<Expected<int64_t>(Compilation &)> measure;
  std::vector<MeasuredMapping> measured;
  SearchProblem problem;
  std::optional<SearchResult> result;
  std::vector<TriedBudget> triedBudgets;
  ParameterLayout parameters;
  /// The program and its kernels, from Exec on.
  OwningOpRef<ModuleOp> program;
  std::optional<Phase> done;

  func::FuncOp main() { return *module->getOps<func::FuncOp>().begin(); }
  /// The model's, or of one that is a sequence, an element's. Empty: a result that is no output.
  std::string inputName(unsigned i) { return main().getArgAttrOfType<StringAttr>(i, "dataflow.name").str(); }
  std::string outputName(unsigned i) {
    auto name = main().getResultAttrOfType<StringAttr>(i, "dataflow.name");
    return name ? name.str() : std::string();
  }
  /// How many run the program, each on its own parts.
  int64_t numRanks() {
    auto ranks = main()->getAttrOfType<IntegerAttr>(kRanksAttribute);
    return ranks ? ranks.getInt() : 1;
  }
  emit::VectorTarget vectorTarget() const {
    emit::VectorTarget result;
    result.lanesF32 = target.vectorLanes(32);
    result.registers = target.numVectorRegisters;
    return result;
  }

  Status runPasses(llvm::function_ref<void(OpPassManager &)> add);
  Status simplify();
  Status differentiate();
  Status chooseTiling();
  Status partition();
  std::unique_ptr<Compilation> trial(CompilerOptions how, Phase reached);
  Status requireDevices(std::string_view option);
  Expected<std::unique_ptr<Compilation>> planWith(const std::vector<NamedSplit> &with, const CompilerOptions &how);
  Status chooseSplits();
  Status split();
  Status fuse();
  Status buildProblem();
  Expected<Profile> readProfile() const;
  bool runsGrids(const Device &device) const {
    return device.kind == DeviceKind::Cuda || (device.kind == DeviceKind::Emulated && target.emulatesGrids);
  }
  Status chooseGpuTargets();
  Status chooseGpuLibraries();
  Status pinToHost();
  Status pinToDevice();
  Status chooseMapping();
  Status search();
  void layOutParameters(ExecBinding &binding);
  Status countBytesSent(ExecBinding &binding);
  Status buildProgram();
  Status lowerKernels();
  Status dump(Phase phase);
  Status runPhase(Phase phase);
};

Compilation::Compilation() : state(std::make_unique<State>()) {}
Compilation::~Compilation() = default;

/// The file's stem; its folder's name where that says only "model".
static std::string nameOf(std::string_view path) {
  auto takeLast = [&] {
    size_t slash = path.find_last_of('/');
    std::string_view last = slash == std::string_view::npos ? path : path.substr(slash + 1);
    path = slash == std::string_view::npos ? "" : path.substr(0, slash);
    return last;
  };
  std::string_view file = takeLast();
  std::string_view stem = file.substr(0, file.find_last_of('.'));
  if (stem != "model")
    return std::string(stem);
  std::string_view folder = takeLast();
  return std::string(folder.empty() || folder == "." || folder == ".." ? stem : folder);
}

Expected<std::unique_ptr<Compilation>> Compilation::create(const std::string &modelPath, CompilerOptions options) {
  std::unique_ptr<Compilation> compilation(new Compilation());
  State &state = *compilation->state;
  state.options = std::move(options);
  Expected<Machine> machine = loadMachine(state.options.machine);
  if (!machine)
    return propagate(machine);
  state.described = *machine;
  state.machine = std::move(*machine);
  Expected<TargetSpec> target = resolveTarget(state.options.target);
  if (!target)
    return propagate(target);
  state.target = std::move(*target);
  if (Status chosen = state.chooseGpuTargets(); !chosen)
    return propagate(chosen);
  if (!isModuleFile(modelPath)) {
    Expected<ModelFile> model = ModelFile::open(modelPath);
    if (!model)
      return propagate(model);
    state.model = std::move(*model);
  } else if (!state.options.dims.values.empty() || !state.options.fixedInputs.empty()) {
    return makeError(ErrorCode::InvalidInput, "the shapes and inputs of '", modelPath,
                     "' are as it is written, options '--dim' and '--fix', leave them out");
  }
  state.modelPath = modelPath;
  state.modelName = nameOf(modelPath);

  DialectRegistry registry;
  registerCodegenDialects(registry);
  registry.insert<dataflow::DataflowDialect, exec::ExecDialect, func::FuncDialect>();
  state.context = std::make_shared<MLIRContext>(registry);
  state.context->loadAllAvailableDialects();
  ImportOptions importing;
  importing.dims = state.options.dims;
  importing.fixedInputs = state.options.fixedInputs;
  importing.buildGradient = [](OpBuilder &builder, Value root, Value seed,
                               ArrayRef<Value> wrt) -> FailureOr<SmallVector<Value>> {
    SmallVector<Value> gradients(wrt.size());
    if (failed(buildGradients(builder, root, seed, wrt, [&](size_t i, Value gradient) { gradients[i] = gradient; })))
      return failure();
    return gradients;
  };
  if (const std::optional<TrainingOptions> &training = state.options.training)
    importing.training = TrainingImport{training->trainable, training->seed};
  Expected<OwningOpRef<ModuleOp>> module =
      state.model ? importModel(*state.context, *state.model, importing) : readModuleFile(*state.context, modelPath);
  if (!module)
    return propagate(module);
  state.module = std::move(*module);
  state.imported = ImportedProgram(*state.module);
  if (Status dumped = state.dump(Phase::Import); !dumped)
    return propagate(dumped);
  state.done = Phase::Import;
  return compilation;
}

bool mayDecideShapes(const HostTensor &tensor) {
  constexpr int64_t kMostIntegers = 1024, kMostNumbers = 64;
  if (tensor.type == ElementType::String)
    return false;
  if (!isFloatingPoint(tensor.type))
    return tensor.numElements() <= kMostIntegers;
  return tensor.shape.size() <= 1 && tensor.numElements() <= kMostNumbers;
}

Expected<std::unique_ptr<Compilation>> Compilation::createFor(const std::string &modelPath, CompilerOptions options,
                                                              const std::map<std::string, HostTensor> &values) {
  auto general = create(modelPath, options);
  if (general || general.error().code != ErrorCode::Unsupported)
    return general;
  std::vector<std::string> added;
  for (const auto &[name, tensor] : values)
    if (mayDecideShapes(tensor) && options.fixedInputs.emplace(name, tensor).second)
      added.push_back(name);
  auto special = create(modelPath, options);
  if (!special)
    return general;
  // Each that it can be compiled without stays open.
  for (const std::string &name : added) {
    auto value = options.fixedInputs.extract(name);
    if (auto fewer = create(modelPath, options))
      special = std::move(fewer);
    else
      options.fixedInputs.insert(std::move(value));
  }
  return special;
}

Status Compilation::State::runPasses(llvm::function_ref<void(OpPassManager &)> add) {
  std::string problem;
  ScopedDiagnosticHandler capture(context.get(), [&](Diagnostic &diagnostic) {
    if (problem.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      problem = diagnostic.str();
      if (std::string node = dataflow::nodeName(diagnostic.getLocation()); !node.empty())
        problem += concat(", node '", node, "'");
    }
    return success();
  });
  PassManager manager(context.get());
  add(manager.nest<func::FuncOp>());
  if (failed(manager.run(*module)))
    return makeError(ErrorCode::Internal, problem.empty() ? "a pass failed" : problem);
  return {};
}

Status Compilation::State::simplify() {
  return runPasses([&](OpPassManager &manager) {
    if (options.prune.parts > 0) {
      PrunePassOptions prune;
      prune.parts = options.prune.parts;
      prune.layers = options.prune.layers;
      prune.seed = options.seed;
      prune.threads = options.threads;
      manager.addPass(createPrunePass(prune));
    }
    SimplifyPassOptions simplify;
    simplify.differentiable = options.training.has_value();
    manager.addPass(createSimplifyPass(simplify));
  });
}

Status Compilation::State::differentiate() {
  if (!options.training)
    return {};
  const TrainingOptions &training = *options.training;
  auto weights = main().getBody().getOps<dataflow::StateOp>();
  if (llvm::none_of(weights, [](dataflow::StateOp state) { return state.getTrainable(); }))
    return makeError(ErrorCode::InvalidInput, "model '", modelPath, "' has no weights to train",
                     training.trainable.empty() ? "" : concat(", none is called '", training.trainable, "'"),
                     ", give a pattern of initializers' whole names, option '--trainable'");
  TrainPassOptions pass;
  pass.loss = training.loss;
  pass.output = training.output;
  pass.axis = training.classAxis;
  if (training.ignoreIndex)
    pass.ignoreIndex = *training.ignoreIndex;
  pass.accumulate = training.accumulate;
  pass.optimizer = training.optimizer;
  pass.learningRate = training.learningRate;
  pass.momentum = training.momentum;
  pass.nesterov = training.nesterov;
  pass.beta1 = training.beta1;
  pass.beta2 = training.beta2;
  pass.epsilon = training.epsilon;
  pass.weightDecay = training.weightDecay;
  return runPasses([&](OpPassManager &manager) {
    manager.addPass(createTrainPass(pass));
    manager.addPass(createSimplifyPass());
  });
}

/// What a machine is to the rank that runs on its first device, or on one of so many
/// shares of its only one.
static Machine machineOfRank(const Machine &machine, int64_t ranks) {
  const DeviceId own = machine.computeDevices().front();
  const auto shares = machine.computeDevices().size() == 1 ? static_cast<double>(ranks) : 1.0;
  Machine result = machine;
  result.name = concat("a rank's part of ", machine.name);
  result.memories.clear(), result.devices.clear(), result.links.clear();
  std::vector<MemoryId> kept(machine.memories.size());
  for (size_t i = 0; i < machine.memories.size(); ++i)
    if (MemoryId(i) == Machine::hostMemory() || MemoryId(i) == machine.device(own).memory) {
      kept[i] = MemoryId(result.memories.size());
      result.memories.push_back(machine.memories[i]);
      if (int64_t &bytes = result.memories.back().capacityBytes; bytes != std::numeric_limits<int64_t>::max())
        bytes = static_cast<int64_t>(static_cast<double>(bytes) / shares);
    }
  for (size_t i = 0; i < machine.devices.size(); ++i)
    if (Device device = machine.devices[i]; DeviceId(i) == own || !device.computes)
      if (device.memory = kept[device.memory.index()]; device.memory.valid()) {
        if (device.computes) {
          device.flopsPerSec /= shares, device.memoryBytesPerSec /= shares;
          device.threads = std::max(1, static_cast<int>(device.threads / shares));
        }
        result.devices.push_back(std::move(device));
      }
  for (Link link : machine.links) {
    link.a = kept[link.a.index()], link.b = kept[link.b.index()];
    link.bytesPerSec /= shares, link.duplexBytesPerSec /= shares;
    if (link.a.valid() && link.b.valid())
      result.links.push_back(link);
  }
  return result;
}

/// How each tensor is held on the devices, and each operator runs there, as attributes.
Status Compilation::State::chooseTiling() {
  Expected<SplitProgram> split = splitProgram(main(), modelName, machine, options.devices, partitionParams(options));
  if (!split)
    return propagate(split);
  machine = described = machineOfRank(machine, options.devices);
  return {};
}

/// To the program that each rank runs on its own parts, and operators to several.
Status Compilation::State::partition() {
  if (Status chosen = options.devices > 1 ? chooseTiling() : Status(); !chosen)
    return chosen;
  if (main()->hasAttr(kMeshAttribute)) {
    Status partitioned = runPasses([&](OpPassManager &manager) {
      manager.addPass(createPartitionPass());
      manager.addPass(createSimplifyPass());
    });
    if (!partitioned)
      return partitioned;
  }
  return split();
}

/// A copy of the program as it is, to be taken further by itself.
std::unique_ptr<Compilation> Compilation::State::trial(CompilerOptions how, Phase reached) {
  std::unique_ptr<Compilation> copy(new Compilation());
  State &own = *copy->state;
  own.options = std::move(how);
  own.options.splitOperators = false;
  own.options.dumpPhases.clear();
  own.options.dumpProblem.clear();
  own.modelName = modelName;
  own.context = context;
  own.module = module->clone();
  own.described = described;
  own.machine = machine;
  own.target = target;
  own.matmulPrecision = matmulPrecision;
  own.done = reached;
  return copy;
}

/// What only several devices give a meaning.
Status Compilation::State::requireDevices(std::string_view option) {
  if (machine.computeDevices().size() < 2)
    return makeError(ErrorCode::InvalidInput, "machine '", machine.name, "' has one device that computes, option '",
                     option, "', give --machine one with several or leave it out");
  if (numRanks() > 1)
    return makeError(ErrorCode::Unsupported, "'", modelPath, "' is the program of ", numRanks(), " ranks, option '",
                     option, "', leave it out");
  return {};
}

/// The program planned with operators split so. Its own are marked with their ids in the
/// tensor program.
Expected<std::unique_ptr<Compilation>> Compilation::State::planWith(const std::vector<NamedSplit> &with,
                                                                    const CompilerOptions &how) {
  std::unique_ptr<Compilation> planned = trial(how, Phase::Differentiate);
  State &own = *planned->state;
  own.splits = with;
  Expected<BridgedProgram> bridged = buildTensorProgram(own.main());
  if (!bridged)
    return propagate(bridged);
  for (auto [i, op] : llvm::enumerate(bridged->operators))
    markOperator(op, NameLoc::get(StringAttr::get(context.get(), dataflow::nodeName(op->getLoc()))), i);
  if (Status placed = planned->run(Phase::Place); !placed)
    return propagate(placed);
  return planned;
}

/// Plans the program whole, then with the operators that dominate split, tried out with
/// quick plans; and, where those gain, fully. Split it stays where that gains enough.
Status Compilation::State::chooseSplits() {
  constexpr int64_t kTrialPlans = 64, kPartsPerDevice = 4;
  if (Status has = requireDevices("--split-operators"); !has)
    return has;
  Expected<BridgedProgram> bridged = buildTensorProgram(main());
  if (!bridged)
    return propagate(bridged);
  CompilerOptions full = options;
  Expected<std::unique_ptr<Compilation>> whole = planWith({}, full);
  if (!whole)
    return propagate(whole);
  // A percentage is one of the program's needs: all are to have the same bytes.
  options.memory.clear();
  for (size_t m = 0; m < machine.memories.size(); ++m)
    if (int64_t bytes = (*whole)->problem().capacityBytes[m]; bytes != machine.memories[m].capacityBytes)
      options.memory.push_back(concat(machine.memories[m].name, "=", bytes));
  full.memory = options.memory;
  found = (*whole)->result();

  CompilerOptions quick = full;
  quick.solvers["search"] = "greedy";
  quick.searchEvaluations = kTrialPlans;
  quick.searchTimeNs = 0;
  quick.progress = nullptr;
  quick.leastGain = 0; // What one split gains, the next may add to.
  SplitProblem splitting;
  splitting.program = &bridged->program;
  splitting.mostParts = static_cast<int64_t>(machine.computeDevices().size()) * kPartsPerDevice;
  splitting.run = [&](const std::vector<OperatorSplit> &candidate) -> Expected<SplitTrial> {
    Expected<std::unique_ptr<Compilation>> tried = planWith(namesOf(bridged->program, candidate), quick);
    if (!tried)
      return propagate(tried);
    const State &own = *(*tried)->state;
    return describeTrial(own.bridge, own.machine, own.costs, own.result->plan);
  };
  SplitParams params;
  params.budget.interrupt = options.interrupt;
  if (options.searchEvaluations == 0)
    params.budget.deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(options.searchTimeNs);
  Expected<SplitSolution> solution = solveSplits(splitting, params);
  if (!solution)
    return propagate(solution);
  if (solution->splits.empty())
    return {};
  std::vector<NamedSplit> named = namesOf(bridged->program, solution->splits);
  Expected<std::unique_ptr<Compilation>> divided = planWith(named, full);
  if (!divided && divided.error().code != ErrorCode::Infeasible && divided.error().code != ErrorCode::Interrupted)
    return propagate(divided);
  if (!divided || (*divided)->result().makespanNs >= found->makespanNs)
    return {};
  const int64_t splitNs = (*divided)->result().makespanNs;
  if (static_cast<double>(splitNs) > (1 - options.leastGain) * static_cast<double>(found->makespanNs)) {
    found->baselines.push_back(
        {"split", splitNs, concat("gains less than ", options.leastGain * 100, "% over operators whole")});
    return {};
  }
  Baseline unsplit{"unsplit", found->makespanNs, {}};
  found = (*divided)->result();
  found->baselines.push_back(std::move(unsplit));
  splits = std::move(named);
  return {};
}

Status Compilation::State::split() {
  if (!options.planFile.empty()) {
    Expected<std::vector<NamedSplit>> read = readPlanSplits(options.planFile);
    if (!read)
      return propagate(read);
    splits = std::move(*read);
  } else if (options.splitOperators) {
    if (Status chosen = chooseSplits(); !chosen)
      return chosen;
  }
  if (!splits.empty()) {
    Expected<BridgedProgram> bridged = buildTensorProgram(main());
    if (!bridged)
      return propagate(bridged);
    Expected<std::vector<OperatorSplit>> known = findSplits(bridged->program, splits);
    if (!known)
      return propagate(known);
    annotateSplits(*bridged, *known);
  }
  if (llvm::none_of(main().getBody().front(), [](Operation &op) { return op.hasAttr(kSplitAttribute); }))
    return {};
  return runPasses([&](OpPassManager &manager) {
    manager.addPass(createSplitPass());
    manager.addPass(createSimplifyPass());
  });
}

/// What GPUs ask a library for: known before layouts are, since a library takes operands that are not packed.
Status Compilation::State::chooseGpuLibraries() {
  const std::vector<DeviceId> devices = machine.computeDevices();
  const bool isGpus = llvm::all_of(devices, [&](DeviceId id) { return machine.device(id).kind == DeviceKind::Cuda; });
  if (options.gpuLibraries == "on" && !isGpus)
    return makeError(ErrorCode::InvalidInput, "machine '", machine.name,
                     "' computes on what is no GPU too, give one whose GPUs alone compute or leave out option "
                     "'--gpu-libraries on'");
  if (options.gpuLibraries == "off" || !isGpus)
    return {};
  KernelTimes byLibrary, byGrids;
  if (options.gpuLibraries == "auto" && !options.profileFile.empty()) {
    Expected<Profile> profile = readProfile();
    if (!profile)
      return propagate(profile);
    for (auto [choice, times] : {std::pair("on", &byLibrary), std::pair("off", &byGrids)}) {
      CompilerOptions how = options;
      how.gpuLibraries = choice;
      std::unique_ptr<Compilation> fused = trial(std::move(how), Phase::Partition);
      if (Status done = fused->run(Phase::Fuse); !done)
        return done;
      *times = measuredKernels(fused->state->bridge, *profile, machine.device(devices.front()));
    }
  }
  chooseLibraries(main(), options.gpuLibraries == "on", byLibrary, byGrids);
  return {};
}

Status Compilation::State::fuse() {
  if (Status chosen = chooseGpuLibraries(); !chosen)
    return chosen;
  AssignLayoutPassOptions layout;
  layout.lanes = vectorTarget().lanesF32;
  layout.registers = vectorTarget().registers;
  // What packing in each step gains on a CPU it costs on a GPU.
  layout.dynamic =
      llvm::none_of(machine.computeDevices(), [&](DeviceId id) { return machine.device(id).kind == DeviceKind::Cuda; });
  Status status = runPasses([&](OpPassManager &manager) {
    manager.addPass(createAssignLayoutPass(layout));
    manager.addPass(createFusePass());
  });
  if (!status)
    return status;
  Expected<BridgedGraph> built = buildGraph(main());
  if (!built)
    return propagate(built);
  bridge = std::move(*built);
  bridge.graph.name = modelName;
  return buildProblem();
}

/// Every GPU target has a device, and every GPU a target: those of the presets where none is named.
Status Compilation::State::chooseGpuTargets() {
  auto has = [&](DeviceKind kind) {
    return llvm::any_of(machine.devices, [&](const Device &device) { return device.kind == kind; });
  };
  if (!target.architectures.empty() && !has(DeviceKind::Cuda))
    return makeError(ErrorCode::InvalidInput, "machine '", machine.name, "' has no device for target 'cuda:sm_",
                     target.architectures.front(), "', give one with a GPU, option '--machine'");
  if (target.emulatesGrids && !has(DeviceKind::Emulated) && !has(DeviceKind::Cuda))
    return makeError(ErrorCode::InvalidInput, "machine '", machine.name,
                     "' has no device for target 'cuda:emulated', give --machine emulated");
  if (target.architectures.empty() && has(DeviceKind::Cuda))
    target.architectures = {70, 80, 90};
  const std::vector<std::string> &names = matmulPrecisionNames();
  auto precision = std::find(names.begin(), names.end(), options.matmulPrecision);
  auto fail = [&](auto... what) {
    return makeError(ErrorCode::InvalidInput, what..., ", option '--matmul-precision ", options.matmulPrecision, "'");
  };
  if (precision == names.end())
    return fail("no such precision, give one of ", listed(names));
  matmulPrecision = static_cast<dataflow::MatmulPrecision>(precision - names.begin());
  constexpr unsigned kTensorCores = 80;
  if (matmulPrecision == dataflow::MatmulPrecision::F32)
    return {};
  if (target.architectures.empty() && !target.emulatesGrids)
    return fail("machine '", machine.name, "' has no GPU to round for, give one with a GPU or leave it out");
  if (!target.architectures.empty() && target.architectures.back() < kTensorCores)
    return fail("no target has tensor cores of this precision, give one from cuda:sm_", kTensorCores, " on");
  return {};
}

/// What reads or writes text, or is no grid for a device that runs grids alone, runs where the host's memory is; what
/// exchanges data with other ranks too, but where a GPU computes, there.
Status Compilation::State::pinToHost() {
  const std::vector<DeviceId> devices = machine.computeDevices();
  auto host = llvm::find_if(devices, [&](DeviceId id) { return machine.device(id).memory == Machine::hostMemory(); });
  bool hasGrids = llvm::any_of(devices, [&](DeviceId id) { return runsGrids(machine.device(id)); });
  llvm::StringMap<std::string> problems; // By kernel: emission is what finds them.
  for (size_t i = 0; i < bridge.operators.size(); ++i) {
    Operation *op = bridge.operators[i];
    std::string why;
    auto where = host;
    if (isa<dataflow::CollectiveOpInterface>(op)) {
      // All on one device: ranks exchange in the order of its stream.
      why = "exchanges data with other ranks";
      where = hasGrids ? llvm::find_if(devices, [&](DeviceId id) { return runsGrids(machine.device(id)); }) : host;
      if (where == devices.end())
        where = devices.begin();
    } else if (dataflow::usesStrings(op)) {
      why = "works on strings, which stay in the host's memory";
    } else if (hasGrids) {
      auto [entry, isNew] = problems.try_emplace(kernelKey(op, bridge.operandSlots[i]));
      if (isNew)
        entry->second = dataflow::gridProblem(op);
      why = entry->second;
    }
    if (why.empty())
      continue;
    if (where == devices.end())
      return makeError(ErrorCode::Unsupported, "operator '", bridge.graph.operators()[i].name, "' ", why,
                       ", and no device of machine '", machine.name,
                       "' computes there, compile for 'host' or let the machine's CPU compute");
    problem.placement.resize(bridge.operators.size());
    problem.placement[i] = *where;
  }
  return {};
}

Status Compilation::State::pinToDevice() {
  if (options.device.empty())
    return {};
  const std::vector<DeviceId> devices = machine.computeDevices();
  auto only = std::find_if(devices.begin(), devices.end(),
                           [&](DeviceId id) { return machine.device(id).name == options.device; });
  if (only == devices.end()) {
    std::string known;
    for (DeviceId id : devices)
      known += (known.empty() ? "" : ", ") + machine.device(id).name;
    return makeError(ErrorCode::InvalidInput, "no device '", options.device, "' computes in machine '", machine.name,
                     "', use one of ", known);
  }
  problem.placement.resize(bridge.operators.size());
  for (DeviceId &device : problem.placement)
    if (!device.valid())
      device = *only;
  return {};
}

Expected<Profile> Compilation::State::readProfile() const {
  Expected<Json> json = readJsonFile(options.profileFile);
  if (!json)
    return propagate(json);
  return profileFromJson(JsonReader(*json, options.profileFile + ":"));
}

Status Compilation::State::buildProblem() {
  if (options.profileFile.empty()) {
    costs = makeCostTable(bridge.graph, machine, RooflineCostModel());
  } else {
    Expected<Profile> profile = readProfile();
    if (!profile)
      return propagate(profile);
    machine = withMeasuredLinks(machine, *profile);
    const LearnedCostModel learned(*profile, machine);
    costs = makeCostTable(bridge.graph, machine, ProfiledCostModel(*profile, learned));
  }
  for (size_t d = 0; d < machine.devices.size(); ++d)
    if (auto slower = options.slowdowns.find(machine.devices[d].name); slower != options.slowdowns.end())
      for (size_t cell = d; cell < costs.operatorNs.size(); cell += costs.numDevices)
        costs.operatorNs[cell] =
            static_cast<int64_t>(std::clamp(static_cast<double>(costs.operatorNs[cell]) * slower->second, 1.0, 0x1p50));
  problem.graph = &bridge.graph;
  problem.machine = &machine;
  problem.costs = &costs;
  for (const Memory &memory : machine.memories)
    problem.capacityBytes.push_back(memory.capacityBytes);
  if (Status pinned = pinToHost(); !pinned)
    return pinned;
  if (Status pinned = pinToDevice(); !pinned)
    return pinned;
  for (const std::string &option : options.memory)
    if (Status applied = applyMemoryOption(problem, option); !applied)
      return applied;
  if (!options.dumpProblem.empty()) {
    ProblemFile file{bridge.graph, machine, costs, problem.capacityBytes, problem.placement};
    return writeFileAtomically(options.dumpProblem, problemToJson(file).dump(1) + "\n");
  }
  return {};
}

/// Plans and runs what htf-mpr promises most of; the fastest is the plan.
Status Compilation::State::chooseMapping() {
  if (auto place = options.solvers.find("place"); place == options.solvers.end() || place->second != "htf-mpr")
    return makeError(ErrorCode::InvalidInput, "option '--measure-mappings' runs what solver 'htf-mpr' proposes, ",
                     "give --solver place=htf-mpr");
  if (Status has = requireDevices("--measure-mappings"); !has)
    return has;
  SearchParams params;
  params.seed = options.seed;
  params.threads = options.threads;
  params.interrupt = options.interrupt;
  Expected<std::vector<std::vector<DeviceId>>> mappings = proposeMappings(problem, numMeasured, params);
  if (!mappings)
    return propagate(mappings);
  std::optional<size_t> best;
  Status unplanned;
  for (std::vector<DeviceId> &mapping : *mappings) {
    std::unique_ptr<Compilation> mapped = trial(options, Phase::Fuse);
    State &own = *mapped->state;
    Expected<BridgedGraph> built = buildGraph(own.main());
    if (!built)
      return propagate(built);
    own.bridge = std::move(*built);
    own.bridge.graph.name = modelName;
    own.costs = costs;
    own.problem = {&own.bridge.graph, &own.machine, &own.costs, problem.capacityBytes, std::move(mapping)};
    if (Status planned = mapped->run(Phase::Place); !planned) {
      if (planned.error().code != ErrorCode::Infeasible)
        return planned;
      // Where memory is short not every mapping has a plan.
      unplanned = std::move(planned);
      continue;
    }
    Expected<int64_t> ns = measure(*mapped);
    if (!ns)
      return propagate(ns);
    measured.push_back({mapped->result().makespanNs, *ns});
    if (best && *ns >= measured[*best].measuredNs)
      continue;
    best = measured.size() - 1;
    found = mapped->result();
  }
  if (!best)
    return unplanned;
  measured[*best].kept = true;
  return {};
}

/// Places and schedules together; the devices and the order become attributes.
Status Compilation::State::search() {
  if (!options.planFile.empty()) {
    Expected<SearchResult> read = readPlanFor(problem, options.planFile);
    if (!read)
      return propagate(read);
    result = std::move(*read);
  }
  if (measure)
    if (Status chosen = chooseMapping(); !chosen)
      return chosen;
  if (found) {
    // Of a copy of this program.
    result = std::move(*std::exchange(found, std::nullopt));
    if (Status valid = validatePlan(bridge.graph, machine, result->plan); !valid)
      return valid;
  } else if (options.planFile.empty() || options.resume) {
    SearchParams params;
    if (options.resume)
      params.start = &result->plan;
    if (auto it = options.solvers.find("search"); it != options.solvers.end())
      params.solver = it->second;
    if (auto it = options.solvers.find("place"); it != options.solvers.end())
      params.placementSolver = it->second;
    params.leastGain = options.leastGain;
    params.timeNs = options.searchTimeNs;
    params.evaluations = options.searchEvaluations;
    params.seed = options.seed;
    params.threads = options.threads;
    params.interrupt = options.interrupt;
    params.progress = options.progress;
    if (options.slowdown) {
      Expected<LeastMemoryResult> least = findLeastMemory(problem, *options.slowdown, params);
      if (!least)
        return propagate(least);
      problem.capacityBytes = std::move(least->capacityBytes);
      triedBudgets = std::move(least->tried);
      result = std::move(least->search);
    } else {
      Expected<SearchResult> solved = solveSearch(problem, params);
      if (!solved)
        return propagate(solved);
      result = std::move(*solved);
    }
  }
  const Plan &plan = result->plan;
  for (size_t i = 0; i < bridge.operators.size(); ++i)
    bridge.operators[i]->setAttr("dataflow.device",
                                 StringAttr::get(context.get(), machine.device(plan.placement[i]).name));
  return {};
}

static Status annotateOrder(MLIRContext *context, const BridgedGraph &bridge, const Plan &plan) {
  int64_t position = 0;
  std::vector<char> launched(bridge.operators.size(), 0);
  for (const Command &command : plan.commands)
    if (command.kind == CommandKind::Launch && !std::exchange(launched[command.op.index()], 1))
      bridge.operators[command.op.index()]->setAttr("dataflow.order",
                                                    IntegerAttr::get(IntegerType::get(context, 64), position++));
  return {};
}

/// Results that a caller gets; the others are states' next values.
static std::vector<unsigned> outputIndices(func::FuncOp function) {
  std::vector<unsigned> indices;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (!function.getResultAttr(i, "dataflow.updates"))
      indices.push_back(i);
  return indices;
}

/// Parameters follow each other in a rank's view of the file; behind them the
/// first contents of states, as they lie in the state store. States that begin as
/// zeros come last there and take no file. What the same ranks share lies together.
void Compilation::State::layOutParameters(ExecBinding &binding) {
  const int64_t ranks = numRanks();
  binding.homeOffsets.assign(bridge.graph.numTensors(), 0);
  enum class Part { None, Parameter, State, ZeroState };
  auto partOf = [&](size_t i) {
    if (bridge.graph.tensors()[i].kind == TensorKind::Parameter)
      return Part::Parameter;
    auto held = bridge.values[i].getDefiningOp<dataflow::StateOp>();
    if (!held)
      return Part::None;
    auto splat = dyn_cast<SplatElementsAttr>(held.getValue());
    bool isZero = splat && splat.getSplatValue<Attribute>() == OpBuilder(held).getZeroAttr(splat.getElementType());
    return isZero ? Part::ZeroState : Part::State;
  };
  std::map<std::vector<uint32_t>, std::vector<size_t>> shared[2];
  std::vector<size_t> zeros;
  for (size_t i = 0; i < bridge.values.size(); ++i)
    if (Part part = partOf(i); part == Part::ZeroState)
      zeros.push_back(i);
    else if (part != Part::None)
      shared[part == Part::State][ranks > 1 ? differentValues(bridge.values[i], ranks) : std::vector<uint32_t>()]
          .push_back(i);
  for (const auto &[pieces, tensors] : shared[0])
    for (size_t i : tensors)
      binding.homeOffsets[i] = parameters.append(bridge.values[i], pieces);
  for (const auto &[pieces, tensors] : shared[1])
    for (size_t i : tensors) {
      const int64_t offset = parameters.append(bridge.values[i], pieces);
      if (binding.stateInitial < 0)
        binding.stateInitial = offset;
      binding.homeOffsets[i] = offset - binding.stateInitial;
    }
  parameters.finish();
  binding.parameterBytes = parameters.bytes;
  binding.stateBytes = binding.stateInitial < 0 ? 0 : parameters.bytes - binding.stateInitial;
  for (size_t i : zeros) {
    binding.homeOffsets[i] = alignUp(binding.stateBytes);
    binding.stateBytes = binding.homeOffsets[i] + bridge.graph.tensors()[i].bytes;
  }
}

/// What each rank sends to others in a step.
Status Compilation::State::countBytesSent(ExecBinding &binding) {
  const int64_t ranks = numRanks();
  if (ranks > 1)
    binding.bytesSent.assign(static_cast<size_t>(ranks), 0);
  for (const Command &command : result->plan.commands) {
    Operation *op = command.kind == CommandKind::Launch ? bridge.operators[command.op.index()] : nullptr;
    if (!op || !isa<dataflow::CollectiveOpInterface>(op))
      continue;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      FailureOr<int64_t> bytes = dataflow::bytesSent(op, rank, ranks);
      if (failed(bytes))
        return makeError(ErrorCode::InvalidInput, "operator '", bridge.graph.op(command.op).name,
                         "' runs on ranks that are not there, the program has ", ranks, ", attribute '",
                         kRanksAttribute, "'");
      if (ranks > 1)
        binding.bytesSent[static_cast<size_t>(rank)] += *bytes;
    }
  }
  return {};
}

/// Kernels, one for each distinct operator, and the exec program.
Status Compilation::State::buildProgram() {
  program = ModuleOp::create(UnknownLoc::get(context.get()), modelName);
  std::string problemText;
  ScopedDiagnosticHandler capture(context.get(), [&](Diagnostic &diagnostic) {
    if (problemText.empty())
      problemText = diagnostic.str();
    return success();
  });
  ExecBinding binding;
  binding.name = modelName;
  llvm::StringMap<std::string> symbols;
  for (size_t i = 0; i < bridge.operators.size(); ++i) {
    Operation *op = bridge.operators[i];
    auto form = runsGrids(machine.device(result->plan.placement[i])) ? dataflow::KernelForm::Grids
                                                                     : dataflow::KernelForm::Chunks;
    std::string key = kernelKey(op, bridge.operandSlots[i]);
    auto [entry, isNew] = symbols.try_emplace(form == dataflow::KernelForm::Grids ? key + "|grids" : key);
    if (isNew) {
      entry->second = concat("kernel", symbols.size() - 1);
      if (failed(dataflow::KernelEmitter::emit(op, entry->second, *program, vectorTarget(), bridge.operandSlots[i],
                                               form, matmulPrecision)))
        return makeError(ErrorCode::Internal, problemText, ", operator '", bridge.graph.operators()[i].name, "'");
    }
    binding.kernels.push_back(entry->second);
  }
  layOutParameters(binding);
  if (Status counted = countBytesSent(binding); !counted)
    return counted;
  auto describe = [&](TensorId id, std::string name, Type type) {
    return ExecBinding::Port{id, std::move(name), cast<RankedTensorType>(type)};
  };
  for (size_t i = 0; i < bridge.inputs.size(); ++i) {
    binding.inputs.push_back(describe(bridge.inputs[i], inputName(i), main().getArgumentTypes()[i]));
    auto fixed = main().getArgAttrOfType<DenseElementsAttr>(static_cast<unsigned>(i), "dataflow.fixed");
    std::vector<int8_t> &bytes = binding.inputs.back().fixed;
    bytes.resize(fixed ? static_cast<size_t>(dataflow::tensorBytes(fixed.getType())) : 0);
    if (fixed && failed(dataflow::copyConstant(fixed, reinterpret_cast<char *>(bytes.data()))))
      return makeError(ErrorCode::Internal, "the value of input '", binding.inputs.back().name, "' is missing");
    if (auto range = main().getArgAttrOfType<DenseI64ArrayAttr>(static_cast<unsigned>(i), dataflow::kRangeAttribute))
      llvm::append_range(binding.inputs.back().range, range.asArrayRef());
  }
  for (auto [id, index] : llvm::zip(bridge.outputs, outputIndices(main())))
    binding.outputs.push_back(describe(id, outputName(index), main().getResultTypes()[index]));
  for (size_t i = 0; i < bridge.graph.numTensors(); ++i)
    if (auto held = bridge.values[i].getDefiningOp<dataflow::StateOp>()) {
      binding.states.push_back(describe(TensorId(i), held.getName().str(), held.getType()));
      if (std::optional<ArrayAttr> cuts = held.getCuts())
        for (auto cut : cuts->getAsRange<dataflow::CutAttr>())
          for (auto [count, stride] : llvm::zip(cut.getGroup().getCounts(), cut.getGroup().getStrides()))
            llvm::append_values(binding.states.back().cuts, cut.getDim(), count, stride);
    }
  OpBuilder builder = OpBuilder::atBlockEnd(program->getBody());
  Expected<exec::ProgramOp> built = buildExecProgram(builder, bridge.graph, described, result->plan, binding);
  if (!built)
    return propagate(built);
  return {};
}

Status Compilation::State::dump(Phase phase) {
  if (options.dumpPhases.empty())
    return {};
  if (std::error_code error = llvm::sys::fs::create_directories(options.dumpPhases))
    return makeError(ErrorCode::Io, "cannot create directory '", options.dumpPhases, "': ", error.message());
  std::string text;
  llvm::raw_string_ostream out(text);
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(64).elideLargeResourceString(64);
  (phase >= Phase::Exec ? *program : *module)->print(out, flags);
  auto index = static_cast<unsigned>(phase);
  return writeFileAtomically(concat(options.dumpPhases, "/", index, "-", phaseNames()[index], ".mlir"), text + "\n");
}

/// With phases dumped, PTX is beside the IR, where it can be read.
Status Compilation::State::lowerKernels() {
  Expected<std::vector<DeviceCode>> codes = lowerGrids(*program, {target.architectures, target.emulatesGrids});
  if (!codes)
    return propagate(codes);
  if (!options.dumpPhases.empty())
    for (const DeviceCode &code : *codes)
      if (Status written = writeFileAtomically(concat(options.dumpPhases, "/", static_cast<unsigned>(Phase::Codegen),
                                                      "-", phaseNames()[static_cast<unsigned>(Phase::Codegen)], ".sm_",
                                                      code.architecture, ".ptx"),
                                               code.ptx);
          !written)
        return written;
  return lowerKernelsToLLVM(*program);
}

Status Compilation::State::runPhase(Phase phase) {
  switch (phase) {
  case Phase::Import:
  case Phase::Link:
    return {};
  case Phase::Simplify:
    return simplify();
  case Phase::Differentiate:
    return differentiate();
  case Phase::Partition:
    return partition();
  case Phase::Fuse:
    return fuse();
  case Phase::Place:
    return search();
  case Phase::Schedule:
    return annotateOrder(context.get(), bridge, result->plan);
  case Phase::Exec:
    return buildProgram();
  case Phase::Codegen:
    return lowerKernels();
  }
  return {};
}

void Compilation::measureMappings(size_t count, std::function<Expected<int64_t>(Compilation &)> run) {
  state->numMeasured = count;
  state->measure = std::move(run);
}

Status Compilation::requireData() const { return state->model ? state->model->requireData() : Status(); }

Status Compilation::run(Phase last) {
  for (auto phase = static_cast<unsigned>(*state->done) + 1; phase <= static_cast<unsigned>(last); ++phase) {
    auto next = static_cast<Phase>(phase);
    if (Status status = state->runPhase(next); !status)
      return status;
    if (next != Phase::Link)
      if (Status dumped = state->dump(next); !dumped)
        return dumped;
    state->done = next;
  }
  return {};
}

Status Compilation::link(const std::string &directory) {
  if (Status complete = requireData(); !complete)
    return complete;
  if (Status status = run(Phase::Codegen); !status)
    return status;
  if (Status fits = checkEvaluationBudget(state->parameters); !fits)
    return fits;
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return makeError(ErrorCode::Io, "cannot create directory '", directory, "': ", error.message(),
                     ", choose another with -o");
  // The manifest makes an artifact: an older one must not vouch for new files.
  llvm::sys::fs::remove(directory + "/" + kManifestFile);
  Expected<ParameterFileWriter> writer = ParameterFileWriter::create(directory + "/" + kParameterFile);
  if (!writer)
    return propagate(writer);
  if (Status written = writeParameters(state->parameters, *writer); !written)
    return written;
  Expected<ParameterFileWriter::Summary> summary = writer->finish();
  if (!summary)
    return propagate(summary);
  summary->sections = state->parameters.sections;
  if (Status written = writePlanFile(directory + "/plan.json", planFile()); !written)
    return written;
  if (!state->modelPath.empty()) {
    state->imported.decide(state->bridge.operators, graph(), state->machine, result().plan);
    if (Status written = state->imported.write(directory, state->modelPath); !written)
      return written;
  }
  EmissionParams emission;
  emission.threads = state->options.threads;
  if (Status compiled = compileProgram(*state->program, state->target, *summary, directory, emission); !compiled)
    return compiled;
  state->done = Phase::Link;
  return {};
}

Expected<std::optional<WeightProgram>> Compilation::weightProgram() {
  if (Status status = run(Phase::Exec); !status)
    return propagate(status);
  // Of several ranks each has its own: nobody reads the file whole.
  std::optional<WeightModule> made;
  if (state->numRanks() == 1)
    made = buildWeightModule(state->parameters.values);
  if (!made)
    return std::nullopt;
  WeightProgram program;
  program.compilation.reset(new Compilation());
  State &own = *program.compilation->state;
  own.options.threads = state->options.threads;
  own.options.searchEvaluations = 1;
  own.options.searchTimeNs = 0;
  own.modelName = state->modelName + "_weights";
  own.context = state->context;
  own.module = std::move(made->module);
  own.target = state->target;
  own.target.architectures.clear();
  own.target.emulatesGrids = false;
  Expected<Machine> host = loadMachine(own.options.machine);
  if (!host)
    return propagate(host);
  own.machine = own.described = std::move(*host);
  own.done = Phase::Differentiate;
  const std::vector<ModelPort> ports = program.compilation->inputs();
  for (size_t i = 0; i < ports.size(); ++i) {
    Expected<ElementType> type = elementTypeFromOnnx(ports[i].elementType);
    Expected<HostTensor> tensor = type ? makeTensor(ports[i].name, *type, ports[i].shape) : propagate(type);
    if (!tensor)
      return propagate(tensor);
    std::memcpy(tensor->bytes.data(), made->arguments[i].data(), made->arguments[i].size());
    program.inputs.push_back(std::move(*tensor));
  }
  for (size_t weight : made->weights)
    program.offsets.push_back(state->parameters.offsets[weight]);
  return program;
}

Status Compilation::exportModel(const std::string &path, const ExportOptions &options, const PlanFile *plan) {
  if (plan) {
    state->splits = plan->summary.splits;
    if (Status status = run(Phase::Fuse); !status)
      return status;
    llvm::StringMap<Operation *> operators;
    for (size_t i = 0; i < state->bridge.operators.size(); ++i)
      operators[graph().operators()[i].name] = state->bridge.operators[i];
    std::vector<Operation *> planned;
    for (const Operator &op : plan->problem.graph.operators()) {
      planned.push_back(operators.lookup(op.name));
      if (!planned.back())
        return makeError(ErrorCode::InvalidInput, "the plan's operator '", op.name, "' is not in model '",
                         state->modelPath, "', give the model, the --dim and the --target that the plan is for");
    }
    state->imported.decide(planned, plan->problem.graph, plan->problem.machine, plan->plan);
  }
  return sluice::exportModel(state->imported.module(), path, options);
}

const CompilerOptions &Compilation::options() const { return state->options; }
ModuleOp Compilation::module() { return *state->done >= Phase::Exec ? *state->program : *state->module; }
const Machine &Compilation::machine() const { return state->machine; }
std::string Compilation::name() const { return state->modelName; }

static ModelPort describePort(std::string name, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  ModelPort port;
  port.name = std::move(name);
  port.elementType = exec::onnxElementType(tensor.getElementType()).value_or(0);
  port.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  port.bytes = dataflow::tensorBytes(tensor);
  return port;
}

std::vector<ModelPort> Compilation::inputs() const {
  func::FuncOp main = state->main();
  std::vector<ModelPort> ports;
  for (auto [i, type] : llvm::enumerate(main.getArgumentTypes()))
    ports.push_back(describePort(state->inputName(i), type));
  return ports;
}

std::vector<ModelPort> Compilation::outputs() const {
  func::FuncOp main = state->main();
  std::vector<ModelPort> ports;
  for (unsigned i : outputIndices(main))
    ports.push_back(describePort(state->outputName(i), main.getResultTypes()[i]));
  return ports;
}

const Graph &Compilation::graph() const { return state->bridge.graph; }
const CostTable &Compilation::costs() const { return state->costs; }
const SearchProblem &Compilation::problem() const { return state->problem; }
const SearchResult &Compilation::result() const { return *state->result; }
std::vector<PrunedLayer> Compilation::prunedLayers() const {
  std::vector<PrunedLayer> layers;
  auto report = state->main()->getAttrOfType<ArrayAttr>("dataflow.pruned");
  for (Attribute each : report ? report.getValue() : ArrayRef<Attribute>()) {
    auto entry = dyn_cast<DictionaryAttr>(each);
    auto name = entry ? entry.getAs<StringAttr>("layer") : StringAttr();
    auto parts = entry ? entry.getAs<IntegerAttr>("partitions") : IntegerAttr();
    auto loss = entry ? entry.getAs<FloatAttr>("weight_loss") : FloatAttr();
    if (name && parts && loss)
      layers.push_back({name.str(), parts.getInt(), loss.getValueAsDouble()});
  }
  return layers;
}
const std::vector<MeasuredMapping> &Compilation::measuredMappings() const { return state->measured; }
PlanFile Compilation::planFile() const {
  PlanFile file = makePlanFile(state->problem, *state->result);
  file.summary.splits = state->splits;
  return file;
}
const std::vector<TriedBudget> &Compilation::triedBudgets() const { return state->triedBudgets; }

} // namespace sluice
