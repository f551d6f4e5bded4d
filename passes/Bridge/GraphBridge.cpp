//===- GraphBridge.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Bridge/GraphBridge.h"

#include "dialects/Dataflow/IR/Experts.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FoundSymbols.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "passes/Bridge/FunctionCheck.h"
#include "passes/Bridge/UniqueNames.h"
#include "sluice/Machine/FileTier.h"
#include "sluice/Support/Count.h"
#include "sluice/Support/Units.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace sluice {

using namespace dataflow;

std::string kernelKey(Operation *op, ArrayRef<unsigned> slots) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (!isa<FusedOp>(op)) {
    out << op->getName() << " ";
    if (Attribute properties = op->getPropertiesAsAttribute())
      out << properties;
    if (auto tuning = DataflowDialect::TuningAttrHelper(op->getContext()).getAttr(op))
      out << tuning;
  }
  if (op->getNumRegions() > 0) {
    // Printed alone, an operator's values are numbered from its own first.
    OpPrintingFlags flags;
    flags.useLocalScope().elideLargeElementsAttrs();
    AsmState state(op, flags);
    for (Region &region : op->getRegions())
      for (Operation &member : region.front()) {
        member.print(out, state);
        out << "\n";
      }
  }
  for (auto [type, slot] : llvm::zip(op->getOperandTypes(), slots))
    out << " " << slot << ":" << type;
  out << " -> ";
  llvm::interleaveComma(op->getResultTypes(), out);
  return text;
}

static std::string signatureOf(Operation *op, ArrayRef<unsigned> slots) {
  auto digest = llvm::SHA256::hash(llvm::arrayRefFromStringRef(kernelKey(op, slots)));
  return llvm::toHex(digest, /*LowerCase=*/true).substr(0, 32);
}

static std::string typeName(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << type.getElementType() << "[";
  llvm::interleave(type.getShape(), out, ",");
  out << "]";
  return text;
}

namespace {
class Builder {
public:
  explicit Builder(func::FuncOp function) : block(function.getBody().front()), constants(block) {
    result.graph.name = function.getSymName().str();
    for (StateOp state : block.getOps<StateOp>())
      declaredStates.try_emplace(state.getName(), state);
  }

  Expected<BridgedGraph> run() {
    auto function = cast<func::FuncOp>(block.getParentOp());
    result.graph.keepsOrder = function->hasAttr(DataflowDialect::RankAttrHelper::getNameStr());
    for (BlockArgument argument : block.getArguments()) {
      auto name = inputName(function, argument.getArgNumber());
      result.inputs.push_back(
          addTensor(argument, TensorKind::Input, name ? name.str() : concat("input", argument.getArgNumber())));
    }
    SmallVector<Operation *> running;
    for (Operation &op : block.without_terminator()) {
      if (!constants.runs(&op))
        continue;
      if (!isa<CostOpInterface>(op))
        return makeError(ErrorCode::InvalidInput, "'", op.getName().getStringRef().str(),
                         "' has no cost because it is only a part of other operators, function '", result.graph.name,
                         "', remove this operator from the function");
      running.push_back(&op);
    }
    const SymbolsAttr symbols = symbolsOf(function.getOperation());
    if (symbols && symbols.getFound() > 0) {
      SLUICE_RETURN_IF_ERROR(addAfterFinders(running));
    } else {
      for (Operation *op : running)
        addOperator(*op, {});
    }
    for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands())) {
      TensorId id = tensorOf(value);
      const Tensor &tensor = result.graph.tensor(id);
      if (!tensor.producer.valid() || tensor.isOutput || tensor.updates.valid())
        return makeError(ErrorCode::Internal, "result '", tensor.name, "' has no operator of its own that writes it");
      if (auto state = updatedState(function, i)) {
        SLUICE_RETURN_IF_ERROR(update(id, state.getValue()));
        continue;
      }
      result.graph.mutableTensor(id).isOutput = true;
      result.outputs.push_back(id);
    }
    SLUICE_RETURN_IF_ERROR(result.graph.check());
    return std::move(result);
  }

private:
  TensorId addTensor(Value value, TensorKind kind, std::string name) {
    Tensor tensor;
    tensor.name = std::move(name);
    tensor.kind = kind;
    tensor.bytes = tensorBytes(value.getType());
    tensor.type = typeName(cast<RankedTensorType>(value.getType()));
    TensorId id = result.graph.addTensor(std::move(tensor));
    result.values.push_back(value);
    ids[value] = id;
    return id;
  }

  TensorId tensorOf(Value value) {
    // A parameter's shape is part of its expression; elsewhere a reshape is its
    // operand.
    while (!constants.contains(value) && value.getDefiningOp<ReshapeOp>())
      value = value.getDefiningOp<ReshapeOp>().getInput();
    if (auto it = ids.find(value); it != ids.end())
      return it->second;
    if (auto state = value.getDefiningOp<StateOp>()) {
      states[state.getName()] = addTensor(value, TensorKind::State, tensorNames.make(state.getName().str()));
      return ids[value];
    }
    std::string name = nodeName(value.getLoc());
    return addTensor(value, TensorKind::Parameter, tensorNames.make(name.empty() ? "parameter" : name));
  }

  Status update(TensorId newValue, StringRef name) {
    if (auto declared = declaredStates.find(name); declared != declaredStates.end() && !states.contains(name))
      tensorOf(declared->second);
    auto state = states.find(name);
    if (state == states.end())
      return makeError(ErrorCode::InvalidInput, "state '", name.str(),
                       "' to update does not exist, name a state of the program");
    result.graph.setUpdates(newValue, state->second);
    return {};
  }

  /// Adds operators that compute with extents found in the step behind those that find them, which some of them depend
  /// on through no operand.
  Status addAfterFinders(SmallVector<Operation *> left) {
    SmallVector<Value> finders(SymbolsAttr::kMostSymbols);
    for (Operation *op : left)
      op->walk([&](TakeFirstOp take) {
        if (!finders[take.getSymbol()])
          finders[take.getSymbol()] = op->getResult(0);
      });
    llvm::DenseMap<Operation *, SymbolSet> known; // Symbols found before or by an operator that was added.
    while (!left.empty()) {
      SmallVector<Operation *> later;
      for (Operation *op : left) {
        SymbolSet behind = 0;
        auto isReady = [&](Value value) {
          Operation *maker = producerOf(value);
          if (!maker)
            return true;
          auto found = known.find(maker);
          if (found == known.end())
            return false;
          behind |= found->second;
          return true;
        };
        bool canRun = llvm::all_of(op->getOperands(), isReady);
        const SymbolSet finds = symbolsFoundBy(op);
        SmallVector<Value> after;
        for (uint64_t s = 0; s < finders.size(); ++s)
          if (const SymbolSet bit = SymbolSet(1) << s; finders[s] && (symbolsUsedBy(op) & ~finds & ~behind & bit)) {
            canRun = isReady(finders[s]) && canRun;
            after.push_back(finders[s]);
          }
        if (!canRun) {
          later.push_back(op);
          continue;
        }
        addOperator(*op, after);
        known[op] = behind | finds;
      }
      if (later.size() == left.size())
        return makeError(ErrorCode::Internal, "operator '", nodeName(left.front()->getLoc()),
                         "' needs an extent that a later operator computes");
      left = std::move(later);
    }
    return {};
  }

  /// The operator of the graph that writes a value's data; null of arguments and parameters.
  Operation *producerOf(Value value) {
    while (!constants.contains(value) && value.getDefiningOp<ReshapeOp>())
      value = value.getDefiningOp<ReshapeOp>().getInput();
    Operation *op = value.getDefiningOp();
    return op && constants.runs(op) ? op : nullptr;
  }

  /// `after`: values that an operator before it makes, which it does not read.
  void addOperator(Operation &op, ArrayRef<Value> after) {
    Operator entry;
    auto cost = modelOf<CostOpInterface>(&op);
    entry.kind = cost.getCostClass().str();
    std::string name = nodeName(op.getLoc());
    entry.name = operatorNames.make(name.empty() ? entry.kind : name);
    std::vector<unsigned> slots;
    for (Value operand : op.getOperands()) {
      TensorId id = tensorOf(operand);
      auto at = std::find(entry.inputs.begin(), entry.inputs.end(), id);
      slots.push_back(at - entry.inputs.begin());
      if (at == entry.inputs.end())
        entry.inputs.push_back(id);
    }
    for (Value value : after)
      if (TensorId id = tensorOf(value); !llvm::is_contained(entry.inputs, id))
        entry.inputs.push_back(id);
    for (auto [i, value] : llvm::enumerate(op.getResults()))
      entry.outputs.push_back(
          addTensor(value, TensorKind::Activation, tensorNames.make(i ? concat(entry.name, ":", i) : entry.name)));
    for (unsigned operand : overwritableOperands(&op)) {
      std::pair<uint32_t, uint32_t> pair(slots[operand], 0);
      if (std::find(entry.inPlace.begin(), entry.inPlace.end(), pair) == entry.inPlace.end())
        entry.inPlace.push_back(pair);
    }
    entry.flops = cost.getFlops();
    entry.bytesMoved = cost.getBytesMoved();
    entry.workspaceBytes = cost.getWorkspaceBytes();
    entry.communicates = communicates(&op);
    entry.signature = signatureOf(&op, slots);
    result.graph.addOperator(std::move(entry));
    result.operators.push_back(&op);
    result.operandSlots.push_back(std::move(slots));
  }

  Block &block;
  ConstantExpressions constants;
  BridgedGraph result;
  llvm::DenseMap<Value, TensorId> ids;
  llvm::StringMap<StateOp> declaredStates;
  llvm::StringMap<TensorId> states;
  UniqueNames operatorNames, tensorNames;
};
} // namespace

/// The blocks of 4 KiB, in bytes, that an operator reads at most of an operand of which it looks rows up; none where it
/// may read all.
static std::optional<Count> lookedUpBytes(Operation *op, unsigned operand) {
  constexpr int64_t kBlockBytes = 4096;
  if (auto gather = dyn_cast<GatherOp>(op)) {
    const auto table = cast<RankedTensorType>(gather.getData().getType());
    const auto indices = cast<RankedTensorType>(gather.getIndices().getType());
    if (operand != 0 || gather.getData() == gather.getIndices() || gather.getAxis() != 0 || table.getRank() == 0 ||
        table.getDimSize(0) == 0 || !indices.hasStaticShape())
      return std::nullopt;
    const int64_t rowBytes = tensorBytes(table) / table.getDimSize(0);
    return Count(indices.getNumElements()) * ((rowBytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes + kBlockBytes);
  }
  auto fused = dyn_cast<FusedOp>(op);
  if (!fused)
    return std::nullopt;
  Count bytes;
  for (OpOperand &use : fused.getBody().getArgument(operand).getUses()) {
    const std::optional<Count> inner = lookedUpBytes(use.getOwner(), use.getOperandNumber());
    if (!inner)
      return std::nullopt;
    bytes += *inner;
  }
  return bytes;
}

/// Fills Tensor::touchedBytes.
static void findLookups(BridgedGraph &bridge) {
  for (size_t t = 0; t < bridge.graph.numTensors(); ++t) {
    Tensor &tensor = bridge.graph.mutableTensor(TensorId(t));
    if (tensor.kind != TensorKind::Parameter || tensor.consumers.empty())
      continue;
    std::optional<Count> touched = Count();
    for (OperatorId consumer : tensor.consumers) {
      const std::vector<TensorId> &inputs = bridge.graph.op(consumer).inputs;
      const auto position = std::find(inputs.begin(), inputs.end(), TensorId(t)) - inputs.begin();
      for (auto [operand, slot] : llvm::enumerate(bridge.operandSlots[consumer.index()])) {
        if (slot != position || !touched)
          continue;
        const std::optional<Count> bytes = lookedUpBytes(bridge.operators[consumer.index()], operand);
        touched = bytes ? std::optional(*touched + *bytes) : std::nullopt;
      }
    }
    if (touched && *touched < tensor.bytes)
      tensor.touchedBytes = touched->value();
  }
}

int64_t expertSlotBytes(ArrayRef<BridgedExpert> experts) {
  int64_t most = 0;
  for (const BridgedExpert &expert : experts)
    most = std::max(most, alignUp(expert.bytes, kFileBlockBytes));
  return most;
}

/// Of the group's experts, the share that a step is expected to use: each token chooses as many of them, any of them
/// with the same probability.
static double chosenShare(Operation *op, int64_t elements) {
  auto choices = DataflowDialect::ChoicesAttrHelper(op->getContext()).getAttr(op);
  const auto type = cast<RankedTensorType>(op->getResult(0).getType());
  const int64_t width = type.getRank() > 0 ? std::max<int64_t>(type.getShape().back(), 1) : 1;
  if (!choices || choices.getInt() >= elements)
    return 1;
  const double others = 1 - static_cast<double>(choices.getInt()) / static_cast<double>(elements);
  return 1 - std::pow(others, static_cast<double>(elementCount(type)) / static_cast<double>(width));
}

/// What an expert costs in a step, which may not choose it and may have to read it. `op` is the operator at the sizes
/// of the graph, which has the costs of an operator that always runs.
static void setExpectedCost(Graph &graph, const BridgedExpert &expert, Operation *op, func::FuncOp function) {
  Operator &entry = graph.mutableOp(expert.op);
  const Tensor &mask = graph.tensor(entry.inputs[expert.mask]);
  const double share = chosenShare(op, mask.bytes); // The elements are bytes.
  auto hitRate = DataflowDialect::ExpertHitRateAttrHelper(function.getContext()).getAttr(function);
  const double missRate = 1 - (hitRate ? hitRate.getValueAsDouble() : 0);
  auto scaled = [](int64_t number, double factor) { return std::llround(static_cast<double>(number) * factor); };
  entry.flops = scaled(entry.flops, share);
  entry.bytesMoved = std::max<int64_t>(scaled(entry.bytesMoved, share), 1); // 0 would stand for all operands.
  entry.demandBytes = scaled(expert.bytes, share * missRate);
}

/// Divides the bytes of the slots among the weights that they hold, so that homes count what the slots take.
static void shareSlots(BridgedGraph &bridge) {
  const double slots = static_cast<double>(bridge.expertSlots) * static_cast<double>(expertSlotBytes(bridge.experts));
  double all = 0;
  for (const BridgedExpert &expert : bridge.experts)
    for (TensorId weight : expert.weights)
      all += static_cast<double>(bridge.graph.tensor(weight).bytes);
  for (const BridgedExpert &expert : bridge.experts)
    for (TensorId weight : expert.weights) {
      Tensor &tensor = bridge.graph.mutableTensor(weight);
      tensor.isPooled = true;
      tensor.touchedBytes = std::clamp<int64_t>(
          std::llround(std::ceil(static_cast<double>(tensor.bytes) * slots / all)), 1, tensor.bytes);
    }
}

/// Fills BridgedGraph::experts with those that the attributes of operators name.
static Status findPooled(BridgedGraph &bridge, func::FuncOp function) {
  auto slots = DataflowDialect::ExpertSlotsAttrHelper(function.getContext()).getAttr(function);
  if (!slots)
    return {};
  if (DataflowDialect::RanksAttrHelper(function.getContext()).isAttrPresent(function))
    return makeError(ErrorCode::InvalidInput, "function '", function.getSymName().str(),
                     "' has slots for experts, which programs of several ranks do not support, attribute '",
                     DataflowDialect::ExpertSlotsAttrHelper::getNameStr().str(), "', leave out the slots");
  llvm::DenseMap<Operation *, size_t> numbers;
  for (auto [i, op] : llvm::enumerate(bridge.operators))
    numbers[op] = i;
  uint32_t groups = 0;
  for (const ExpertGroup &group : findExperts(function.getBody().front())) {
    const size_t before = bridge.experts.size();
    for (const Expert &expert : group.members) {
      const auto number = numbers.find(expert.op);
      const auto operands = expert.op->getOperands();
      const auto mask = llvm::find(operands, group.mask);
      if (!DataflowDialect::ExpertAttrHelper(function.getContext()).getAttr(expert.op) || number == numbers.end() ||
          mask == operands.end())
        continue;
      const std::vector<unsigned> &positions = bridge.operandSlots[number->second];
      const std::vector<TensorId> &inputs = bridge.graph.operators()[number->second].inputs;
      BridgedExpert entry;
      entry.op = OperatorId(number->second);
      entry.group = groups;
      entry.element = static_cast<uint32_t>(expert.element);
      entry.mask = positions[static_cast<size_t>(mask - operands.begin())];
      for (unsigned operand : expert.weights) {
        entry.weights.push_back(inputs[positions[operand]]);
        entry.bytes = alignUp(entry.bytes) + bridge.graph.tensor(entry.weights.back()).bytes;
      }
      bridge.experts.push_back(std::move(entry));
    }
    groups += bridge.experts.size() > before ? 1 : 0;
  }
  if (bridge.experts.empty())
    return {};
  // No more than there are experts can be in memory.
  bridge.expertSlots = std::min<int64_t>(slots.getInt(), static_cast<int64_t>(bridge.experts.size()));
  shareSlots(bridge);
  for (const BridgedExpert &expert : bridge.experts)
    setExpectedCost(bridge.graph, expert, bridge.operators[expert.op.index()], function);
  return {};
}

Expected<BridgedGraph> buildGraph(func::FuncOp function) {
  SLUICE_RETURN_IF_ERROR(checkFunction(function));
  SLUICE_ASSIGN_OR_RETURN(BridgedGraph bridge, Builder(function).run());
  findLookups(bridge);
  SLUICE_RETURN_IF_ERROR(findPooled(bridge, function));
  return bridge;
}

static Status checkPoint(SymbolsAttr symbols, ArrayRef<int64_t> point) {
  const size_t count = symbols ? symbols.size() : 0;
  if (point.size() != count)
    return makeError(ErrorCode::InvalidInput, "the number of bounds of a bucket is ", point.size(),
                     ", and the number of symbols of the model is ", count, ", give one bound for each symbol");
  for (size_t s = 0; s < count; ++s)
    if (point[s] < symbols.getLeast()[s] || point[s] > symbols.getMost()[s] ||
        (point[s] - symbols.getLeast()[s]) % symbols.getSteps()[s] != 0)
      return makeError(ErrorCode::InvalidInput, "a bucket's bound ", point[s], " is not a value of symbol '",
                       symbols.getNames()[s].str(), "', give a value from ", symbols.getLeast()[s], " to ",
                       symbols.getMost()[s], " in steps of ", symbols.getSteps()[s]);
  return {};
}

Expected<Graph> graphAt(func::FuncOp function, const BridgedGraph &bridge, ArrayRef<int64_t> point) {
  SLUICE_RETURN_IF_ERROR(checkPoint(symbolsOf(function.getOperation()), point));
  IRMapping mapping;
  const OwningOpRef<func::FuncOp> instance = cast<func::FuncOp>(function->clone(mapping));
  // Operators that give extents become constants.
  std::vector<Operation *> operators;
  for (Operation *op : bridge.operators)
    operators.push_back(isa<ExtentsOp>(op) ? nullptr : mapping.lookup(op));
  const Point at(point);
  instantiate(*instance, at);
  Graph graph = bridge.graph;
  for (size_t i = 0; i < bridge.values.size(); ++i) {
    const auto type = cast<RankedTensorType>(bridge.values[i].getType());
    if (!symbolsOf(type))
      continue;
    const RankedTensorType known = typeAt(type, at);
    graph.mutableTensor(TensorId(i)).bytes = tensorBytes(known);
    graph.mutableTensor(TensorId(i)).type = typeName(known);
  }
  for (size_t i = 0; i < operators.size(); ++i) {
    if (!operators[i])
      continue;
    auto cost = modelOf<CostOpInterface>(operators[i]);
    Operator &entry = graph.mutableOp(OperatorId(i));
    entry.flops = cost.getFlops();
    entry.bytesMoved = cost.getBytesMoved();
    entry.signature = signatureOf(operators[i], bridge.operandSlots[i]);
  }
  for (const BridgedExpert &expert : bridge.experts)
    setExpectedCost(graph, expert, operators[expert.op.index()], function);
  return graph;
}

} // namespace sluice
