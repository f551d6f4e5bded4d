//===- FunctionCheck.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Bridge/FunctionCheck.h"

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Exec/Exec.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace sluice {

namespace {
class Checker {
public:
  Checker(func::FuncOp function, const std::string &where) : function(function), where(where) {}

  Status run() {
    SLUICE_RETURN_IF_ERROR(checkOperators());
    SLUICE_RETURN_IF_ERROR(checkSymbols());
    return checkPorts();
  }

private:
  func::FuncOp function;
  const std::string &where;
  llvm::StringMap<Type> states;

  Status areTwice(const char *what, StringRef name) {
    return makeError(ErrorCode::InvalidInput, "two ", what, " have the name '", name.str(), "', ", where,
                     ", give each of the ", what, " a name of its own");
  }

  template <typename... Ts>
  Status bad(const Ts &...what) {
    return makeError(ErrorCode::InvalidInput, what..., ", ", where,
                     ", give a program in the form that --compile-to=import prints");
  }

  /// Whether the planner can count the value's bytes.
  static bool isStatic(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() &&
           (tensor.getElementType().isIntOrFloat() || dataflow::isString(tensor.getElementType()));
  }

  /// Whether a caller can give tensors of this type. The dialect allows operators no other types.
  static bool isPort(Type type) {
    return exec::onnxElementType(cast<RankedTensorType>(type).getElementType()).has_value();
  }

  Status checkOperators() {
    if (function.isExternal())
      return bad("the function has no body");
    for (BlockArgument argument : function.getArguments())
      if (!isStatic(argument.getType()))
        return bad("argument ", argument.getArgNumber(), " is not a tensor of static shape");
      else if (!isPort(argument.getType()))
        return bad("argument ", argument.getArgNumber(), " has an element type that ONNX does not have");
      else if (!exec::denseBytes(cast<RankedTensorType>(argument.getType())))
        return bad("argument ", argument.getArgNumber(), " has extents whose product does not fit 64 bits");
    if (!llvm::hasSingleElement(function.getBody()))
      return bad("the function has several blocks");
    for (Operation &op : function.getBody().front().without_terminator()) {
      const std::string name = op.getName().getStringRef().str();
      if (!isa_and_present<dataflow::DataflowDialect>(op.getDialect()))
        return bad("'", name, "' is not an operator of the dataflow dialect");
      if (!llvm::all_of(op.getResultTypes(), isStatic))
        return bad("'", name, "' has a result of dynamic shape");
      if (auto state = dyn_cast<dataflow::StateOp>(op);
          state && !states.try_emplace(state.getName(), state.getType()).second)
        return areTwice("states", state.getName());
    }
    if (!isa<func::ReturnOp>(function.getBody().front().getTerminator()))
      return bad("the function does not end with func.return");
    return {};
  }

  /// A step learns the value of a symbol from an input, from a state or from an operator.
  Status checkSymbols() {
    const dataflow::SymbolsAttr symbols = dataflow::symbolsOf(function.getOperation());
    if (!symbols)
      return {};
    llvm::SmallDenseSet<AffineExpr> known;
    for (BlockArgument argument : function.getArguments())
      for (const dataflow::Extent &extent : dataflow::extentsOf(argument))
        known.insert(extent.expr());
    for (auto state : function.getOps<dataflow::StateOp>())
      if (const dataflow::ExtentsAttr length = state.getLengthAttr())
        known.insert(length.getMap().getResult(0));
    for (size_t s = 0; s < symbols.size(); ++s)
      if (!symbols.isFound(s) && !known.contains(getAffineSymbolExpr(static_cast<unsigned>(s), function.getContext())))
        return bad("symbol '", symbols.getNames()[s].getValue().str(),
                   "' is neither the extent of an argument's dimension nor the length of a state");
    return {};
  }

  Status checkPorts() {
    llvm::StringSet<> inputs, outputs, updated;
    // The dialect verifies that names are strings.
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = dataflow::inputName(function, i); name && !inputs.insert(name.getValue()).second)
        return areTwice("inputs", name.getValue());
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      if (auto state = dataflow::updatedState(function, i)) {
        auto found = states.find(state.getValue());
        if (found == states.end() || found->second != function.getResultTypes()[i])
          return bad("result ", i, " updates '", state.str(), "', which is not a state of the same type");
        if (!updated.insert(state.getValue()).second)
          return bad("two results update state '", state.str(), "'");
        continue;
      }
      if (auto name = dataflow::outputName(function, i); name && !outputs.insert(name.getValue()).second)
        return areTwice("outputs", name.getValue());
    }
    return {};
  }
};
} // namespace

Status checkFunction(func::FuncOp function, const std::string &where) { return Checker(function, where).run(); }

Status checkFunction(func::FuncOp function) {
  return checkFunction(function, concat("function '", function.getSymName().str(), "'"));
}

} // namespace sluice
