//===- ProgramBridge.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Bridge/ProgramBridge.h"

#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Dataflow/Tiling/Tiling.h"
#include "passes/Bridge/FunctionCheck.h"
#include "passes/Bridge/UniqueNames.h"

using namespace mlir;

namespace sluice {

using namespace dataflow;

namespace {
class Builder {
public:
  explicit Builder(func::FuncOp function) : function(function), block(function.getBody().front()), constants(block) {
    result.program.name = function.getSymName().str();
  }

  Expected<BridgedProgram> run() {
    for (BlockArgument argument : block.getArguments()) {
      auto name = inputName(function, argument.getArgNumber());
      addTensor(argument, TensorRole::Input, name ? name.str() : concat("input", argument.getArgNumber()));
    }
    for (Operation &op : block.without_terminator()) {
      if (auto state = dyn_cast<StateOp>(op))
        states[state.getName()] = addTensor(state.getResult(), TensorRole::State, state.getName().str());
      else if (!isa<ConstantOp>(op) &&
               llvm::none_of(op.getResults(), [&](Value value) { return constants.contains(value); }))
        addOperator(op);
    }
    for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands())) {
      ProgramTensor &tensor = result.program.tensors[tensorOf(value).index()];
      if (tensor.role == TensorRole::Intermediate)
        tensor.role = TensorRole::Output;
      auto updates = updatedState(function, i);
      if (!updates)
        continue;
      auto state = states.find(updates.getValue());
      if (state == states.end())
        return makeError(ErrorCode::InvalidInput, "state '", updates.str(),
                         "' to update does not exist, name a state of the program");
      if (tensor.updates.valid())
        return makeError(ErrorCode::Unsupported, "'", tensor.name, "' is the next value of two states, '",
                         result.program.tensors[tensor.updates.index()].name, "' and '", updates.str(),
                         "', return a separate value for each state");
      tensor.updates = state->second;
    }
    SmallVector<std::vector<TilingRule> *> rules;
    for (ProgramOperator &op : result.program.operators)
      rules.push_back(&op.rules);
    addStridedRules(result.operators, rules);
    SLUICE_RETURN_IF_ERROR(result.program.check());
    return std::move(result);
  }

private:
  TensorId addTensor(Value value, TensorRole role, std::string name) {
    auto type = cast<RankedTensorType>(value.getType());
    ProgramTensor tensor;
    tensor.name = tensorNames.make(std::move(name));
    tensor.shape.assign(type.getShape().begin(), type.getShape().end());
    tensor.elementBytes = elementBytes(type.getElementType());
    tensor.role = role;
    TensorId id(result.program.tensors.size());
    result.program.tensors.push_back(std::move(tensor));
    result.values.push_back(value);
    ids[value] = id;
    return id;
  }

  /// A value no operator of the program makes, and that is none of the function's, is a parameter.
  TensorId tensorOf(Value value) {
    if (auto it = ids.find(value); it != ids.end())
      return it->second;
    std::string name = nodeName(value.getLoc());
    return addTensor(value, TensorRole::Parameter, name.empty() ? "parameter" : name);
  }

  void addOperator(Operation &op) {
    ProgramOperator entry;
    std::string name = nodeName(op.getLoc());
    entry.name = operatorNames.make(name.empty() ? op.getName().stripDialect().str() : name);
    for (Value operand : op.getOperands())
      entry.operands.push_back(tensorOf(operand));
    for (auto [i, value] : llvm::enumerate(op.getResults()))
      entry.results.push_back(addTensor(value, TensorRole::Intermediate, i ? concat(entry.name, ":", i) : entry.name));
    if (auto cost = modelOf<CostOpInterface>(&op)) {
      entry.kind = cost.getCostClass().str();
      entry.flops = cost.getFlops();
      entry.bytesMoved = cost.getBytesMoved();
    }
    entry.rules = tilingRules(&op);
    // Of the operators that exchange data, messages alone have no group of ranks.
    if (auto exchange = dyn_cast<CollectiveOpInterface>(&op); exchange && !exchange.getRankGroup())
      entry.peer = op.getAttrOfType<IntegerAttr>("peer").getInt();
    result.program.operators.push_back(std::move(entry));
    result.operators.push_back(&op);
  }

  func::FuncOp function;
  Block &block;
  ConstantExpressions constants;
  BridgedProgram result;
  llvm::DenseMap<Value, TensorId> ids;
  llvm::StringMap<TensorId> states;
  UniqueNames operatorNames, tensorNames;
};
} // namespace

Expected<BridgedProgram> buildTensorProgram(func::FuncOp function) {
  SLUICE_RETURN_IF_ERROR(checkFunction(function));
  return Builder(function).run();
}

} // namespace sluice
