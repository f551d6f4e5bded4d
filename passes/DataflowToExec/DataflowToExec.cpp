//===- DataflowToExec.cpp - From a planned function to a program ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/Collective.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Dataflow/IR/Indices.h"
#include "dialects/Exec/ProgramName.h"
#include "passes/Bridge/GraphBridge.h"
#include "passes/Bridge/ParameterLayout.h"
#include "passes/Bridge/PlanAttributes.h"
#include "passes/Bridge/PlanToExec.h"
#include "passes/Bridge/TilingAttributes.h"
#include "passes/DataflowToExec/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace sluice {
#define GEN_PASS_DEF_DATAFLOWTOEXECPASS
#include "passes/DataflowToExec/Passes.h.inc"
} // namespace sluice

using namespace sluice;
using namespace sluice::dataflow;

namespace {

/// Results that a caller gets; the others are states' next values.
SmallVector<unsigned> outputIndices(func::FuncOp function) {
  SmallVector<unsigned> indices;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (!updatedState(function, i))
      indices.push_back(i);
  return indices;
}

/// Turns one planned function into a program, beside it in the module.
class Converter {
public:
  Converter(func::FuncOp function, const BridgedGraph &bridge, const Machine &machine, ArrayRef<PlannedStep> steps)
      : function(function), bridge(bridge), machine(machine), steps(steps), plan(*steps.back().plan),
        numRanks(numRanksOf(function)) {}

  Status run(StringRef name) {
    binding.name = exec::programSymbol(name);
    if (SymbolsAttr symbols = symbolsOf(function.getOperation()); symbols && symbols.getFound() > 0)
      binding.symbols = symbols;
    SLUICE_RETURN_IF_ERROR(outlineKernels());
    bindParameters();
    SLUICE_RETURN_IF_ERROR(countBytesSent());
    SLUICE_RETURN_IF_ERROR(bindPorts());
    bindStates();
    OpBuilder builder = OpBuilder::atBlockEnd(function->getBlock());
    SLUICE_RETURN_IF_ERROR(buildExecProgram(builder, machine, steps, binding));
    return {};
  }

private:
  Status outlineKernels();
  void outline(size_t index, StringRef symbol);
  void bindParameters();
  Status countBytesSent();
  Status bindPorts();
  void bindStates();
  ExecBinding::Port describe(TensorId id, StringRef name, Type type) {
    return {id, name.str(), cast<RankedTensorType>(type)};
  }

  func::FuncOp function;
  const BridgedGraph &bridge;
  const Machine &machine;
  ArrayRef<PlannedStep> steps;
  const Plan &plan; ///< For the upper bounds.
  int64_t numRanks;
  ExecBinding binding;
};

/// Operators of one key and form have one kernel, named by its number.
Status Converter::outlineKernels() {
  llvm::StringMap<std::string> symbols;
  for (size_t i = 0; i < bridge.operators.size(); ++i) {
    Operation *op = bridge.operators[i];
    auto device = DataflowDialect::DeviceAttrHelper(op->getContext()).getAttr(op);
    if (!device || device.getName() != machine.device(plan.placement[i]).name)
      return makeError(ErrorCode::InvalidInput, "operator '", bridge.graph.operators()[i].name,
                       "' is not on the device that the plan gives, attribute '",
                       DataflowDialect::DeviceAttrHelper::getNameStr().str(),
                       "', run the pass dataflow-apply-plan with phase=place first");
    std::string key = kernelKey(op, bridge.operandSlots[i]);
    if (device.getForm() == KernelForm::Grids)
      key += "|grids";
    const size_t numInputs = bridge.graph.operators()[i].inputs.size();
    if (bridge.operandSlots[i].empty() ? numInputs > 0 : numInputs > *llvm::max_element(bridge.operandSlots[i]) + 1)
      key += concat("|", numInputs, " inputs");
    auto [entry, isNew] = symbols.try_emplace(key);
    if (isNew) {
      entry->second = concat("kernel", symbols.size() - 1);
      outline(i, entry->second);
    }
    binding.kernels.push_back(entry->second);
  }
  return {};
}

/// Copies an operator into a function of its own. An argument is a tensor, in the
/// order of the operator's inputs; an operand that is a reshape of one stays a reshape
/// of the argument, so that the kernel knows which operands have the same memory.
void Converter::outline(size_t index, StringRef symbol) {
  Operation *op = bridge.operators[index];
  const Operator &entry = bridge.graph.operators()[index];
  SmallVector<Type> types;
  for (TensorId input : entry.inputs)
    types.push_back(bridge.values[input.index()].getType());
  OpBuilder builder = OpBuilder::atBlockEnd(function->getBlock());
  auto kernel =
      func::FuncOp::create(builder, op->getLoc(), symbol, builder.getFunctionType(types, op->getResultTypes()));
  DataflowDialect::KernelAttrHelper(builder.getContext()).setAttr(kernel, builder.getUnitAttr());
  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  for (auto [operand, slot] : llvm::zip(op->getOperands(), bridge.operandSlots[index])) {
    if (mapping.contains(operand))
      continue;
    Value argument = body->getArgument(slot);
    const bool isTensor = operand == bridge.values[entry.inputs[slot].index()];
    mapping.map(operand, isTensor ? argument
                                  : ReshapeOp::create(builder, op->getLoc(), operand.getType(), argument).getResult());
  }
  Operation *copy = builder.clone(*op, mapping);
  for (StringRef decision :
       {DataflowDialect::OrderAttrHelper::getNameStr(), DataflowDialect::ExpertAttrHelper::getNameStr(),
        DataflowDialect::ChoicesAttrHelper::getNameStr(), DataflowDialect::MaterializedAttrHelper::getNameStr()})
    copy->removeAttr(decision);
  func::ReturnOp::create(builder, op->getLoc(), copy->getResults());
}

void Converter::bindParameters() {
  ParameterLayout layout = layOutParameters(bridge, numRanks);
  binding.homeOffsets = std::move(layout.homeOffsets);
  binding.parameterBytes = layout.bytes;
  binding.stateBytes = layout.stateBytes;
  binding.stateInitial = layout.stateInitial;
  for (auto [expert, offset] : llvm::zip(bridge.experts, layout.expertOffsets))
    binding.experts.push_back({expert.op, expert.group, expert.element, expert.mask, offset, expert.bytes});
  binding.expertSlots = bridge.expertSlots;
}

/// What each rank sends to others in a step.
Status Converter::countBytesSent() {
  const IntegerAttr only = DataflowDialect::RankAttrHelper(function.getContext()).getAttr(function);
  if (only && only.getInt() >= numRanks)
    return makeError(ErrorCode::InvalidInput, "the program is for rank ", only.getInt(), " of ", numRanks,
                     ", attribute '", DataflowDialect::RankAttrHelper::getNameStr().str(),
                     "', give one of these ranks");
  if (numRanks > 1)
    binding.bytesSent.assign(static_cast<size_t>(numRanks), only ? -1 : 0);
  if (only)
    binding.bytesSent[only.getInt()] = 0;
  // The error below names the operator, and says what bytesSent's own does.
  const FirstError quiet(function.getContext());
  for (const Command &command : plan.commands) {
    Operation *op = command.kind == CommandKind::Launch ? bridge.operators[command.op.index()] : nullptr;
    if (!op || !isa<CollectiveOpInterface>(op))
      continue;
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      if (only && rank != only.getInt())
        continue;
      FailureOr<int64_t> bytes = bytesSent(op, rank, numRanks);
      if (failed(bytes))
        return makeError(ErrorCode::InvalidInput, "operator '", bridge.graph.op(command.op).name,
                         "' uses ranks that do not exist, the program has ", numRanks, " ranks, use ranks below ",
                         numRanks, " or raise the attribute '", DataflowDialect::RanksAttrHelper::getNameStr().str(),
                         "'");
      if (numRanks > 1)
        binding.bytesSent[static_cast<size_t>(rank)] += *bytes;
    }
  }
  return {};
}

Status Converter::bindPorts() {
  for (auto [i, id] : llvm::enumerate(bridge.inputs)) {
    const auto number = static_cast<unsigned>(i);
    auto name = inputName(function, number);
    binding.inputs.push_back(describe(id, name ? name.str() : concat("input", i), function.getArgumentTypes()[i]));
    auto fixed = function.getArgAttrOfType<DenseElementsAttr>(number, DataflowDialect::FixedAttrHelper::getNameStr());
    std::vector<int8_t> &bytes = binding.inputs.back().fixed;
    bytes.resize(fixed ? static_cast<size_t>(tensorBytes(fixed.getType())) : 0);
    if (fixed && failed(copyConstant(fixed, reinterpret_cast<char *>(bytes.data()))))
      return makeError(ErrorCode::Internal, "the value of input '", binding.inputs.back().name,
                       "' is missing, this is a bug of Sluice, please report it");
    binding.inputs.back().range = function.getArgAttr(number, DataflowDialect::RangeAttrHelper::getNameStr());
  }
  for (auto [i, id, index] : llvm::enumerate(bridge.outputs, outputIndices(function))) {
    auto name = outputName(function, index);
    binding.outputs.push_back(describe(id, name ? name.str() : concat("output", i), function.getResultTypes()[index]));
  }
  return {};
}

void Converter::bindStates() {
  for (size_t i = 0; i < bridge.graph.numTensors(); ++i) {
    auto held = bridge.values[i].getDefiningOp<dataflow::StateOp>();
    if (!held)
      continue;
    binding.states.push_back(describe(TensorId(i), held.getName(), held.getType()));
    if (ExtentsAttr length = held.getLengthAttr()) {
      binding.states.back().length = length;
      binding.symbols = length.getSymbols();
    }
    std::vector<int64_t> blocks;
    if (std::optional<ArrayAttr> cuts = held.getCuts())
      for (auto cut : cuts->getAsRange<CutAttr>())
        for (auto [count, stride] : llvm::zip(cut.getGroup().getCounts(), cut.getGroup().getStrides())) {
          llvm::append_values(binding.states.back().cuts, cut.getDim(), count, stride);
          blocks.push_back(cut.getBlocks());
        }
    if (llvm::any_of(blocks, [](int64_t count) { return count > 1; }))
      binding.states.back().cutBlocks = std::move(blocks);
  }
}

struct Bucket {
  std::vector<int64_t> bounds;
  Graph graph;
  Plan plan;
};

struct DataflowToExec : sluice::impl::DataflowToExecPassBase<DataflowToExec> {
  using DataflowToExecPassBase::DataflowToExecPassBase;

  void runOnOperation() override {
    if (Status converted = convert(); !converted) {
      emitError(getOperation(), converted.error());
      signalPassFailure();
    }
  }

private:
  Status convert() {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    if (functions.size() != 1 || functions.front().isExternal())
      return makeError(ErrorCode::InvalidInput,
                       "the module must have exactly one function, give a module with a planned function");
    func::FuncOp function = functions.front();
    auto attribute = exec::ExecDialect::MachineAttrHelper(&getContext()).getAttr(getOperation());
    auto schedule = exec::ExecDialect::PlanAttrHelper(&getContext()).getAttr(function);
    if (!attribute || !schedule)
      return makeError(ErrorCode::InvalidInput, "the module has no attribute '",
                       (attribute ? exec::ExecDialect::PlanAttrHelper::getNameStr()
                                  : exec::ExecDialect::MachineAttrHelper::getNameStr())
                           .str(),
                       "', run the passes exec-attach-machine and dataflow-apply-plan first");
    const Machine machine = machineFromAttribute(attribute);
    SLUICE_ASSIGN_OR_RETURN(BridgedGraph bridge, buildGraph(function));
    if (!bridge.experts.empty() && !machine.hasFiles())
      return makeError(ErrorCode::InvalidInput, "machine '", machine.name,
                       "' has no memory of kind file, from which experts are read, attribute '",
                       DataflowDialect::ExpertSlotsAttrHelper::getNameStr().str(),
                       "', give a machine that has this memory");
    SLUICE_ASSIGN_OR_RETURN(Plan plan, planFromAttribute(schedule, bridge.graph, machine));
    std::vector<Bucket> buckets;
    if (ArrayAttr list = exec::ExecDialect::BucketsAttrHelper(&getContext()).getAttr(function))
      for (auto each : list.getAsRange<exec::BucketAttr>()) {
        const ArrayRef<int64_t> bounds = each.getBounds().asArrayRef();
        SLUICE_ASSIGN_OR_RETURN(Graph graph, graphAt(function, bridge, bounds));
        SLUICE_ASSIGN_OR_RETURN(Plan own, planFromAttribute(each.getPlan(), graph, machine));
        buckets.push_back({bounds.vec(), std::move(graph), std::move(own)});
      }
    std::vector<PlannedStep> steps;
    for (const Bucket &bucket : buckets)
      steps.push_back({&bucket.graph, &bucket.plan, bucket.bounds});
    steps.push_back({&bridge.graph, &plan});
    SLUICE_RETURN_IF_ERROR(Converter(function, bridge, machine, steps).run(name));
    function.erase();
    return {};
  }
};

} // namespace
