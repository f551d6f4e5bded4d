//===- IrFuzzer.cpp - Any text as IR of both dialects ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// IR that is accepted prints as text that is accepted. Then passes run on it: those that
// the first line names ("// passes: NAME [OPTION=VALUE]...; NAME"), or, for a module that
// is one function, all phases to code, as for a module file ("// options: NUMBER" selects
// the options). A pass succeeds or says why not.
//
//===----------------------------------------------------------------------===//
#include "test/fuzz/Compile.h"
#include "test/fuzz/Contexts.h"
#include "test/fuzz/Folder.h"
#include "test/fuzz/IrMutator.h"
#include "test/fuzz/Sizes.h"

#include "dialects/Dataflow/IR/FirstError.h"
#include "sluice/Compiler/Phases.h"
#include "sluice/Support/IrText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <charconv>
#include <cstdlib>

using namespace mlir;
using namespace sluice;

static std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out);
  return text;
}

static void checkRoundTrip(ModuleOp module) {
  const std::string once = printed(module);
  // A context gives a resource that it has already another name.
  if (once.find("dense_resource<") != std::string::npos)
    return;
  std::string diagnostic;
  const ScopedDiagnosticHandler listen(module.getContext(), [&](Diagnostic &each) { diagnostic = each.str(); });
  const OwningOpRef<ModuleOp> again = parseSourceString<ModuleOp>(once, module.getContext());
  if (again && printed(*again) == once)
    return;
  llvm::errs() << "ERROR: IR reads differently after it is printed: " << diagnostic << "\n" << once;
  std::abort();
}

/// Whether a program has what only passes make: fused operators, and weights in the layout of one target. What such a
/// program may hold is checked where it is made, and what is wrong with it counts as a bug.
static bool isLowered(ModuleOp module) {
  constexpr StringLiteral kMade[] = {"dataflow.fused", "dataflow.pack", "dataflow.half_", "dataflow.integer_"};
  const WalkResult result = module.walk([&](Operation *op) {
    const StringRef name = op->getName().getStringRef();
    const bool isMade = llvm::any_of(kMade, [&](StringRef made) { return name.starts_with(made); });
    const bool isPacked = llvm::any_of(op->getAttrs(), [](const NamedAttribute &attribute) {
      return attribute.getName().strref().starts_with("packed");
    });
    return isMade || isPacked ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// The passes that a line names; none: a pass that is not known, or one that opens files.
static std::optional<Pipeline> pipelineOf(StringRef line) {
  Pipeline pipeline;
  SmallVector<StringRef> steps;
  line.split(steps, ';', -1, false);
  constexpr size_t kMostSteps = 4;
  for (const StringRef step : steps) {
    SmallVector<StringRef> words;
    step.split(words, ' ', -1, false);
    const auto *pass = words.empty() ? nullptr : fuzz::findPass(words.front().str());
    if (!pass || steps.size() > kMostSteps || step.contains('/'))
      return std::nullopt;
    Pipeline::Options options;
    for (const StringRef word : ArrayRef(words).drop_front())
      options.emplace_back(word.split('=').first.str(), word.split('=').second.str());
    if (pass->onFunctions)
      pipeline.onFunctions(pass->name, std::move(options));
    else
      pipeline.onModule(pass->name, std::move(options));
  }
  return pipeline;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  if (seed % 8 == 0)
    return LLVMFuzzerMutate(data, size, most);
  const std::string text = fuzz::mutateIr({reinterpret_cast<const char *>(data), size}, seed);
  if (text.size() > most)
    return size;
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A copy, because MLIR's lexer reads the zero behind the text.
  const std::string text(reinterpret_cast<const char *>(data), size);
  if (!checkResultNumbers(text, "fuzz.mlir"))
    return 0;
  const std::shared_ptr<MLIRContext> shared = fuzz::nextContext(makeContext);
  MLIRContext &context = *shared;
  OwningOpRef<ModuleOp> module;
  {
    const ScopedDiagnosticHandler ignore(&context, [](Diagnostic &) {});
    module = parseSourceString<ModuleOp>(text, &context);
  }
  if (!module || !fuzz::isSmall(*module))
    return 0;
  checkRoundTrip(*module);
  StringRef line = StringRef(text).split('\n').first;
  if (line.consume_front("// passes: ")) {
    const std::optional<Pipeline> pipeline = pipelineOf(line);
    if (!pipeline)
      return 0;
    // Any diagnostic will do: passes alone also run on what the importer never makes.
    (void)pipeline->run(*module);
    return 0;
  }
  auto functions = llvm::to_vector(module->getOps<func::FuncOp>());
  if (functions.size() != 1 || !llvm::hasSingleElement(*module->getBody()) || isLowered(*module))
    return 0;
  uint64_t number = 0;
  if (line.consume_front("// options: "))
    std::from_chars(line.begin(), line.end(), number);
  if (const Status compiled = fuzz::compileToObjects(fuzz::fileWith("fuzz.mlir", text), fuzz::optionsOf(number));
      !compiled)
    fuzz::abortOnBug(compiled.error());
  return 0;
}
