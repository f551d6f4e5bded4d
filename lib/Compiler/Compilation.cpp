//===- Compilation.cpp - The phases in order ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Compilation.h"

#include "Dump.h"
#include "ImportedProgram.h"
#include "Parameters.h"
#include "WeightProgram.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Exec/Exec.h"
#include "sluice/Compiler/Phases.h"
#include "sluice/Onnx/Export.h"
#include "sluice/TensorIO/ElementType.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace sluice {

/// One value at a time: a phase takes the value of the phase before. Planned and Fused
/// stay, since a program's parameters are expressions of the fused function.
struct Compilation::State {
  CompilerOptions options;
  MappingMeasurement measurement;
  Phase done = Phase::Import;
  std::shared_ptr<Origin> origin;
  std::optional<Imported> imported;
  std::optional<Simplified> simplified;
  std::optional<Partitioned> partitioned;
  std::shared_ptr<const Fused> fused;
  std::shared_ptr<const Planned> planned;
  std::optional<Program> program;
  std::optional<Artifact> artifact;
  /// Of the phase that failed, which has consumed the value of the phase before.
  std::optional<Error> failure;

  /// The value of the last phase done.
  const Stage &stage() const {
    require(!failure && (program || fused || partitioned || simplified || imported), "a phase that has not failed");
    if (program)
      return *program;
    if (fused)
      return *fused;
    if (partitioned)
      return *partitioned;
    return simplified ? static_cast<const Stage &>(*simplified) : *imported;
  }
  /// The function that the program is made of, which has the model's ports.
  func::FuncOp main() const { return fused ? fused->main() : stage().main(); }

  const Fused &fusedProgram() const {
    require(fused != nullptr, "phase fuse");
    return *fused;
  }
  const Planned &plannedProgram() const {
    require(planned != nullptr, "phase place");
    return *planned;
  }
  /// Getters document what they need: to ask for it before is an error of ours.
  static void require(bool isThere, const char *what) {
    if (!isThere)
      llvm::report_fatal_error(llvm::Twine("a compilation is asked for what comes of ") + what);
  }

  Status runPhase(Phase phase);
};

/// Moves the result of a phase into its place.
template <typename T, typename Place>
static Status keep(Expected<T> result, Place &place) {
  if (!result)
    return propagate(result);
  if constexpr (requires { place.emplace(std::move(*result)); })
    place.emplace(std::move(*result));
  else
    place = std::make_shared<const T>(std::move(*result));
  return {};
}

Status Compilation::State::runPhase(Phase phase) {
  auto take = [](auto &place) { return std::move(*std::exchange(place, std::nullopt)); };
  switch (phase) {
  case Phase::Import:
  case Phase::Link:
    return {};
  case Phase::Simplify:
    return keep(simplify(take(imported), options), simplified);
  case Phase::Differentiate:
    return keep(differentiate(take(simplified), options), simplified);
  case Phase::Partition:
    return keep(partition(take(simplified), options), partitioned);
  case Phase::Fuse:
    return keep(fuse(take(partitioned), options), fused);
  case Phase::Place:
    if (Status done =
            keep(measurement.count > 0 ? planMeasured(fused, options, measurement) : plan(fused, options), planned);
        !done)
      return done;
    return keep(place(planned, options), program);
  case Phase::Schedule:
    return schedule(*program);
  case Phase::Exec:
    return buildProgram(*program, options);
  case Phase::Codegen:
    return lowerProgram(*program, options);
  }
  return {};
}

Compilation::Compilation() : state(std::make_unique<State>()) {}
Compilation::~Compilation() = default;

Expected<std::unique_ptr<Compilation>> Compilation::create(const std::string &modelPath, CompilerOptions options) {
  SLUICE_ASSIGN_OR_RETURN(Imported imported, importProgram(modelPath, options));
  SLUICE_RETURN_IF_ERROR(dumpPhase(*imported.module, Phase::Import, options.dumpPhases));
  std::unique_ptr<Compilation> compilation(new Compilation());
  compilation->state->options = std::move(options);
  compilation->state->origin = imported.origin;
  compilation->state->imported = std::move(imported);
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

void Compilation::measureMappings(MappingMeasurement measurement) { state->measurement = std::move(measurement); }

Status Compilation::requireData() const {
  return state->origin->model ? state->origin->model->requireData() : Status();
}

Status Compilation::run(Phase last) {
  if (state->failure)
    return tl::unexpected<Error>(*state->failure);
  Status ran = runPhases(last);
  if (!ran)
    state->failure = ran.error();
  return ran;
}

Status Compilation::runPhases(Phase last) {
  for (auto phase = static_cast<unsigned>(state->done) + 1; phase <= static_cast<unsigned>(last); ++phase) {
    auto next = static_cast<Phase>(phase);
    SLUICE_RETURN_IF_ERROR(state->runPhase(next));
    if (next != Phase::Link)
      SLUICE_RETURN_IF_ERROR(dumpPhase(*state->stage().module, next, state->options.dumpPhases));
    state->done = next;
  }
  return {};
}

Status Compilation::link(const std::string &directory) {
  SLUICE_RETURN_IF_ERROR(requireData());
  SLUICE_RETURN_IF_ERROR(run(Phase::Codegen));
  SLUICE_RETURN_IF_ERROR(keep(sluice::link(*state->program, state->options, directory), state->artifact));
  state->done = Phase::Link;
  return {};
}

std::string Compilation::pipelineText() const {
  State::require(state->artifact.has_value(), "link()");
  return state->artifact->passes.text();
}

Expected<std::optional<WeightProgram>> Compilation::weightProgram() {
  SLUICE_RETURN_IF_ERROR(run(Phase::Exec));
  // Of several ranks each has its own: nobody reads the file whole.
  std::optional<WeightModule> made;
  const ParameterLayout layout = layOutParameters(state->fused->bridge, numRanksOf(state->main()));
  if (numRanksOf(state->main()) == 1)
    made = buildWeightModule(layout.values);
  if (!made)
    return std::nullopt;
  auto origin = std::make_shared<Origin>();
  origin->name = state->origin->name + "_weights";
  origin->context = state->origin->context;
  origin->target = state->origin->target;
  origin->target.architectures.clear();
  origin->target.emulatesGrids = false;
  WeightProgram program;
  program.compilation.reset(new Compilation());
  State &own = *program.compilation->state;
  own.options.threads = state->options.threads;
  own.options.searchEvaluations = 1;
  own.options.searchTimeNs = 0;
  SLUICE_ASSIGN_OR_RETURN(Machine host, loadMachine(own.options.machine));
  origin->described = std::move(host);
  own.origin = origin;
  own.simplified = Simplified{{std::move(origin), std::move(made->module), {}}};
  own.done = Phase::Differentiate;
  const std::vector<ModelPort> ports = program.compilation->inputs();
  for (size_t i = 0; i < ports.size(); ++i) {
    Expected<ElementType> type = elementTypeFromOnnx(ports[i].elementType);
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor,
                            type ? makeTensor(ports[i].name, *type, ports[i].shape) : propagate(type));
    std::memcpy(tensor.bytes.data(), made->arguments[i].data(), made->arguments[i].size());
    program.inputs.push_back(std::move(tensor));
  }
  for (size_t weight : made->weights)
    program.offsets.push_back(layout.offsets[weight]);
  return program;
}

Status Compilation::exportModel(const std::string &path, const ExportOptions &options, const PlanFile *plan) {
  ImportedProgram &imported = *state->origin->imported;
  if (plan) {
    state->options.splits = plan->summary.splits;
    SLUICE_RETURN_IF_ERROR(run(Phase::Fuse));
    llvm::StringMap<Operation *> operators;
    for (size_t i = 0; i < state->fused->bridge.operators.size(); ++i)
      operators[graph().operators()[i].name] = state->fused->bridge.operators[i];
    std::vector<Operation *> planned;
    for (const Operator &op : plan->problem.graph.operators()) {
      planned.push_back(operators.lookup(op.name));
      if (!planned.back())
        return makeError(ErrorCode::InvalidInput, "the plan's operator '", op.name, "' is not in model '",
                         state->origin->modelPath,
                         "', give the model and the options --dim and --target for which the plan was made");
    }
    imported.decide(planned, plan->problem.graph, plan->problem.machine, plan->problem.costs, plan->plan);
  }
  return sluice::exportModel(imported.module(), path, options);
}

const CompilerOptions &Compilation::options() const { return state->options; }
ModuleOp Compilation::module() { return *state->stage().module; }
const Machine &Compilation::machine() const {
  if (state->fused)
    return state->fused->measured;
  return state->partitioned ? state->partitioned->ofRank : state->origin->described;
}
std::string Compilation::name() const { return state->origin->name; }

static ModelPort describePort(StringAttr name, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  ModelPort port;
  port.name = name.str();
  port.elementType = exec::onnxElementType(tensor.getElementType()).value_or(0);
  port.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  port.bytes = dataflow::tensorBytes(tensor);
  return port;
}

std::vector<ModelPort> Compilation::inputs() const {
  func::FuncOp main = state->main();
  std::vector<ModelPort> ports;
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    ports.push_back(describePort(dataflow::inputName(main, i), main.getArgumentTypes()[i]));
  return ports;
}

std::vector<ModelPort> Compilation::outputs() const {
  func::FuncOp main = state->main();
  std::vector<ModelPort> ports;
  // The other results are states' next values.
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (!dataflow::updatedState(main, i))
      ports.push_back(describePort(dataflow::outputName(main, i), main.getResultTypes()[i]));
  return ports;
}

std::vector<ModelPort> Compilation::states() const {
  std::vector<ModelPort> ports;
  for (auto held : state->main().getBody().getOps<dataflow::StateOp>()) {
    ModelPort &port = ports.emplace_back(describePort(held.getNameAttr(), held.getType()));
    if (const ArrayAttr cuts = held.getCutsAttr())
      for (auto cut : cuts.getAsRange<dataflow::CutAttr>()) {
        port.shape[cut.getDim()] *= cut.getGroup().size();
        port.bytes *= cut.getGroup().size();
      }
  }
  return ports;
}

const Graph &Compilation::graph() const { return state->fusedProgram().bridge.graph; }
const CostTable &Compilation::costs() const { return state->fusedProgram().costs; }
const SearchProblem &Compilation::problem() const { return state->plannedProgram().problem; }
const SearchResult &Compilation::result() const { return state->plannedProgram().result; }

std::vector<PrunedLayer> Compilation::prunedLayers() const {
  std::vector<PrunedLayer> layers;
  func::FuncOp main = state->main();
  auto report = dataflow::DataflowDialect::PrunedAttrHelper(main.getContext()).getAttr(main);
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

const std::vector<MeasuredMapping> &Compilation::measuredMappings() const {
  return state->plannedProgram().measuredMappings;
}
PlanFile Compilation::planFile() const { return state->plannedProgram().file(); }

std::vector<BucketPlan> Compilation::bucketPlans() const {
  const Planned &planned = state->plannedProgram();
  std::vector<BucketPlan> plans;
  for (const Planned::OfBucket &each : planned.buckets) {
    BucketPlan &plan = plans.emplace_back();
    plan.file = makePlanFile(each.problem, each.result);
    const dataflow::SymbolsAttr symbols = dataflow::symbolsOf(planned.fused->main().getOperation());
    for (auto [name, bound] : llvm::zip(symbols.getNames(), each.bucket->bounds))
      plan.bounds.emplace_back(name.str(), bound);
  }
  return plans;
}

Status Compilation::writePlanFiles(const std::string &path) const { return state->plannedProgram().writeFiles(path); }
const std::vector<TriedBudget> &Compilation::triedBudgets() const { return state->plannedProgram().triedBudgets; }

} // namespace sluice
