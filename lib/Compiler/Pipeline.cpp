//===- Pipeline.cpp - The passes of a compilation, as text ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Pipeline.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "passes/DataflowToExec/Passes.h"
#include "passes/EmitKernels/Passes.h"
#include "passes/ExecToLLVM/Passes.h"
#include "passes/LowerKernels/Passes.h"
#include "passes/Passes.h"
#include "sluice/Codegen/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <charconv>
#include <mutex>

using namespace mlir;

namespace sluice {

void registerCompilerPasses() {
  static std::once_flag registered;
  std::call_once(registered, [] {
    registerSluicePasses();
    registerDataflowToExecPasses();
    registerEmitKernelsPasses();
    registerLowerKernelsPasses();
    registerLowerKernelsPipeline();
    registerCodegenPasses();
    registerExecToLLVMPasses();
  });
}

std::string optionText(double value) {
  char digits[64];
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  return error == std::errc() ? std::string(digits, end) : concat(value);
}
std::string optionText(bool value) { return value ? "true" : "false"; }
std::string optionText(int64_t value) { return std::to_string(value); }

static std::string optionsText(const Pipeline::Options &options) {
  std::string text;
  // An option without a value has its default, which is empty for all that may be.
  for (const auto &[name, value] : options)
    if (!value.empty())
      text += concat(text.empty() ? "" : " ", name, "=", encodeOption(value));
  return text;
}

Pipeline &Pipeline::onModule(std::string pass, Options options, Maker make) {
  steps.push_back({std::move(pass), std::move(options), false, std::move(make)});
  return *this;
}

Pipeline &Pipeline::onFunctions(std::string pass, Options options) {
  steps.push_back({std::move(pass), std::move(options), true, {}});
  return *this;
}

Pipeline &Pipeline::append(const Pipeline &other) {
  steps.insert(steps.end(), other.steps.begin(), other.steps.end());
  return *this;
}

Pipeline Pipeline::with(const std::string &pass, const std::string &option, const std::string &value) const {
  Pipeline changed = *this;
  for (Step &step : changed.steps)
    if (step.pass == pass)
      for (auto &[name, old] : step.options)
        if (name == option)
          old = value;
  return changed;
}

Pipeline Pipeline::inDirectory(const std::string &directory) const {
  Pipeline changed = *this;
  for (Step &step : changed.steps)
    for (auto &[name, value] : step.options)
      if (step.pass == "dataflow-apply-plan" && name == "plan")
        value = concat(directory, "/", value);
  return changed;
}

std::string Pipeline::text() const {
  std::string text;
  bool inFunctions = false;
  for (const Step &step : steps) {
    if (inFunctions && !step.onFunctions)
      text += ")";
    text += text.empty() ? "" : ",";
    if (!inFunctions && step.onFunctions)
      text += "func.func(";
    inFunctions = step.onFunctions;
    text += step.pass;
    if (const std::string options = optionsText(step.options); !options.empty())
      text += "{" + options + "}";
  }
  return "builtin.module(" + text + (inFunctions ? "))" : ")");
}

/// The name of the node at a location; empty if there is none. The location of a module or function has the name of
/// the model's graph, which is not a node.
static std::string nodeOf(ModuleOp module, mlir::LocationAttr where) {
  auto isAt = [&](mlir::Operation *op) { return mlir::LocationAttr(op->getLoc()) == where; };
  if (!where || isAt(module) || llvm::any_of(module.getOps<func::FuncOp>(), isAt))
    return "";
  return dataflow::nodeName(where);
}

Status Pipeline::run(ModuleOp module) const {
  registerCompilerPasses();
  MLIRContext *context = module.getContext();
  const FirstError problem(context);
  PassManager manager(context, ModuleOp::getOperationName());
  std::string refusal;
  auto refuse = [&](const Twine &reason) {
    refusal = reason.str();
    return failure();
  };
  OpPassManager *functions = nullptr;
  for (const Step &step : steps) {
    if (step.onFunctions && !functions)
      functions = &manager.nest<func::FuncOp>();
    if (!step.onFunctions)
      functions = nullptr;
    OpPassManager &to = functions ? *functions : manager;
    if (step.make) {
      to.addPass(step.make());
      continue;
    }
    const PassRegistryEntry *entry = PassInfo::lookup(step.pass);
    if (!entry)
      entry = PassPipelineInfo::lookup(step.pass);
    if (!entry || failed(entry->addToPipeline(to, optionsText(step.options), refuse)))
      return makeError(ErrorCode::Internal, "pass '", step.pass,
                       "' does not exist or rejects its options: ", problem.messageOr(refusal),
                       ", this is a bug of Sluice, please report it");
  }
  if (succeeded(manager.run(module)))
    return {};
  const std::string message = problem.messageOr("a pass failed"), node = nodeOf(module, problem.where());
  if (node.empty() || message.find("'" + node + "'") != std::string::npos)
    return makeError(problem.code(), message);
  return makeError(problem.code(), "node '", node, "': ", message);
}

} // namespace sluice
