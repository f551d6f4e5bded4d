//===- ModuleFile.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ModuleFile.h"

#include "dialects/Dataflow/FunctionAttributes.h"
#include "passes/Bridge/TilingAttributes.h"
#include "sluice/Compiler/Compilation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <filesystem>

using namespace mlir;

namespace sluice {

bool isModuleFile(const std::string &path) { return std::filesystem::path(path).extension() == ".mlir"; }

namespace {
class Checker {
public:
  Checker(func::FuncOp function, const std::string &path) : function(function), path(path) {}

  Status run() {
    SLUICE_RETURN_IF_ERROR(checkOperators());
    SLUICE_RETURN_IF_ERROR(checkResults());
    Attribute ranks = function->getAttr(dataflow::DataflowDialect::RanksAttrHelper::getNameStr());
    constexpr int64_t kMostRanks = 1 << 20;
    auto number = dyn_cast_if_present<IntegerAttr>(ranks);
    if (ranks && (!number || !number.getType().isSignlessInteger() || number.getValue().getBitWidth() > 64 ||
                  number.getInt() < 1 || number.getInt() > kMostRanks))
      return bad("attribute '", dataflow::DataflowDialect::RanksAttrHelper::getNameStr().str(),
                 "' is no number of ranks");
    return {};
  }

private:
  func::FuncOp function;
  const std::string &path;
  llvm::StringMap<Type> states;

  template <typename... Ts>
  Status bad(const Ts &...what) {
    return makeError(ErrorCode::InvalidInput, what..., ", '", path,
                     "', write one function as --compile-to=import prints it");
  }

  static bool isStatic(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  }

  Status checkOperators() {
    for (BlockArgument argument : function.getArguments())
      if (!isStatic(argument.getType()))
        return bad("argument ", argument.getArgNumber(), " is no tensor of static shape");
    if (!llvm::hasSingleElement(function.getBody()))
      return bad("the function has several blocks");
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (!isa<dataflow::DataflowDialect>(op.getDialect()))
        return bad("'", op.getName().getStringRef().str(), "' is no operator of the dataflow dialect");
      if (!llvm::all_of(op.getResultTypes(), isStatic))
        return bad("'", op.getName().getStringRef().str(), "' has a result of dynamic shape");
      if (auto state = dyn_cast<dataflow::StateOp>(op);
          state && !states.try_emplace(state.getName(), state.getType()).second)
        return bad("there are two states '", state.getName().str(), "'");
    }
    return {};
  }

  Status checkResults() {
    llvm::StringSet<> inputs, outputs, updated;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (!dataflow::inputName(function, i))
        dataflow::setInputName(function, i, "input" + Twine(i));
      auto name = dataflow::inputName(function, i);
      if (!inputs.insert(name.getValue()).second)
        return bad("there are two inputs '", name.str(), "'");
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      if (auto state = dataflow::updatedState(function, i)) {
        auto found = states.find(state.getValue());
        if (found == states.end() || found->second != function.getResultTypes()[i])
          return bad("result ", i, " updates '", state.str(), "', which is no state of its type");
        if (!updated.insert(state.getValue()).second)
          return bad("two results update state '", state.str(), "'");
        continue;
      }
      if (!dataflow::outputName(function, i))
        dataflow::setOutputName(function, i, "output" + Twine(i));
      auto name = dataflow::outputName(function, i);
      if (!outputs.insert(name.getValue()).second)
        return bad("there are two outputs '", name.str(), "'");
    }
    return {};
  }
};
} // namespace

Expected<OwningOpRef<ModuleOp>> readModuleFile(MLIRContext &context, const std::string &path) {
  std::string problem;
  ScopedDiagnosticHandler capture(&context, [&](Diagnostic &diagnostic) {
    if (problem.empty()) {
      problem = diagnostic.str();
      if (auto at = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
        problem += concat(", line ", at.getLine());
    }
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return makeError(ErrorCode::InvalidInput, problem.empty() ? "no program" : problem, ", '", path,
                     "', give a module of the dataflow dialect");
  auto functions = llvm::to_vector(module->getOps<func::FuncOp>());
  if (!llvm::hasSingleElement(*module->getBody()) || functions.size() != 1 || functions.front().isExternal())
    return makeError(ErrorCode::InvalidInput, "the module is not one function, '", path,
                     "', write it as --compile-to=import prints it");
  SLUICE_RETURN_IF_ERROR(Checker(functions.front(), path).run());
  return module;
}

} // namespace sluice
