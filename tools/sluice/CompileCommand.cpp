//===- CompileCommand.cpp - sluice compile --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "MeasuredMappings.h"
#include "SharedOptions.h"
#include "StagedCompile.h"
#include "sluice/Machine/FileTier.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <iostream>
#include <memory>

namespace sluice::driver {
namespace {

constexpr const char *kNoRuntime = "none"; ///< Of --runtime, where other values are directories.

struct CompileCommandOptions {
  std::string model, output, compileTo = "link", emit = packageFormNames().front(), runtime;
  bool isFormGiven = false, printPipeline = false;
  size_t measured = 0;
  CompileOptions compile;
};

/// The IR as text, weights left out.
std::string moduleText(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, mlir::OpPrintingFlags().elideLargeElementsAttrs().elideLargeResourceString());
  out << '\n';
  return text;
}

/// All of the IR, names of nodes and weights included.
Status writeBytecode(mlir::ModuleOp module, const std::string &path) {
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  if (failed(mlir::writeBytecodeToFile(module, out, mlir::BytecodeWriterConfig("sluice"))))
    return makeError(ErrorCode::Internal, "the IR cannot be written as bytecode, '", path,
                     "', this is a bug of Sluice, please report it");
  return writeFileAtomically(path, bytes);
}

std::string describePlan(const PlanFile &file) {
  const Plan &plan = file.plan;
  const Graph &graph = file.problem.graph;
  const Machine &machine = file.problem.machine;
  std::string text = concat(formatDuration(file.summary.makespanNs), " planned, ");
  if (fileBelowHost(machine).valid())
    text += concat(formatBytes(plan.bytesRead(graph, machine)), " read and ",
                   formatBytes(plan.bytesWritten(graph, machine)), " written a step");
  else
    text += concat(formatBytes(plan.bytesSwappedIn(graph)), " in and ", formatBytes(plan.bytesSwappedOut(graph)),
                   " out a step");
  for (size_t m = 0; m < plan.arenaBytes.size(); ++m)
    text += concat(", ", formatBytes(plan.arenaBytes[m]), " of '", file.problem.machine.memories[m].name, "'");
  if (const std::string experts = describeExperts(graph); !experts.empty())
    text += ", experts: " + experts;
  return text;
}

void printSummary(const CompileCommandOptions &options, const Compilation &compilation) {
  std::cout << options.output << ": " << compilation.graph().numOperators() << " operators, "
            << describePlan(compilation.planFile()) << '\n';
  for (const BucketPlan &bucket : compilation.bucketPlans())
    std::cout << describeBounds(bucket.bounds) << ": " << describePlan(bucket.file) << '\n';
}

/// What --emit and --runtime choose.
Expected<PackageOptions> packageOf(const CompileCommandOptions &options) {
  const std::vector<std::string> &names = packageFormNames();
  const auto form = static_cast<PackageForm>(std::find(names.begin(), names.end(), options.emit) - names.begin());
  if (options.runtime == kNoRuntime) {
    if (options.isFormGiven && form != PackageForm::Object && form != PackageForm::Wasm)
      return makeError(ErrorCode::InvalidInput, "'--emit ", options.emit,
                       "' includes the runtime, and '--runtime none' excludes it, give --emit object or wasm, or leave "
                       "--runtime out");
    return PackageOptions{options.isFormGiven ? form : PackageForm::Object, /*isFreestanding=*/true, ""};
  }
  const PackageOptions package{form, /*isFreestanding=*/form == PackageForm::Wasm, options.runtime};
  if (!options.runtime.empty() && !package.linksRuntime())
    return makeError(ErrorCode::InvalidInput, "'--emit ", options.emit,
                     "' does not include the runtime, so '--runtime ", excerpt(options.runtime),
                     "' has no effect, leave --runtime out, or give --emit executable or oci");
  return package;
}

void printChoice(const PipelineChoice &choice) {
  Table table({"stages", "ranks of a stage", "simulated step", "peak of a rank", ""});
  for (size_t i = 0; i < choice.candidates.size(); ++i) {
    const PipelineCandidate &candidate = choice.candidates[i];
    const bool runs = candidate.problem.empty();
    std::string note = i == choice.best ? "chosen" : candidate.problem;
    if (candidate.isLimited)
      note += concat(note.empty() ? "" : ", ", "above the memory limit");
    table.add({concat(candidate.stages), concat(candidate.groupRanks), runs ? formatDuration(candidate.stepNs) : "-",
               runs ? formatBytes(candidate.peakBytes) : "-", note});
  }
  table.print();
}

/// The number of stages that is best, if the options leave it open.
Expected<std::optional<PipelineChoice>> chooseStages(const CompileCommandOptions &options, CompilerOptions &resolved) {
  if (!resolved.training || !resolved.training->pipeline || resolved.training->pipeline->stages > 0)
    return std::nullopt;
  SLUICE_ASSIGN_OR_RETURN(PipelineChoice choice, choosePipeline(options.model, resolved));
  PipelineOptions &pipeline = *resolved.training->pipeline;
  pipeline.stages = pipeline.groups = choice.chosen().stages;
  pipeline.groupRanks = choice.chosen().groupRanks;
  return choice;
}

Status compilePipeline(const CompileCommandOptions &options, const CompilerOptions &resolved,
                       const std::optional<PipelineChoice> &choice) {
  if (choice) {
    clearProgress();
    printChoice(*choice);
  }
  return compileStages(options.model, resolved, choice, options.output,
                       [&](uint32_t rank, const Compilation &compilation) {
                         clearProgress();
                         std::cout << options.output << ", rank " << rank << ": " << compilation.graph().numOperators()
                                   << " operators, " << describePlan(compilation.planFile()) << '\n';
                       });
}

Status runCompile(const CompileCommandOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(Phase last, parsePhase(options.compileTo));
  SLUICE_ASSIGN_OR_RETURN(CompilerOptions resolved,
                          options.measured > 0 ? options.compile.resolveToRun() : options.compile.resolve());
  SLUICE_ASSIGN_OR_RETURN(resolved.package, packageOf(options));
  const bool isStaged = last == Phase::Link && resolved.training && resolved.training->pipeline;
  if (isStaged) {
    if (options.printPipeline || options.measured > 0)
      return makeError(ErrorCode::Unsupported, "option '",
                       options.printPipeline ? "--print-pipeline' prints the passes" : "--measure-mappings' runs plans",
                       " of a single program, and a model that is split into stages has a program for each rank, "
                       "leave the option out");
    SLUICE_RETURN_IF_ERROR(checkStagedOptions(resolved));
  }
  SLUICE_ASSIGN_OR_RETURN(const std::optional<PipelineChoice> choice, chooseStages(options, resolved));
  if (isStaged)
    return compilePipeline(options, resolved, choice);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation,
                          Compilation::create(options.model, std::move(resolved)));
  if (last >= Phase::Place)
    SLUICE_RETURN_IF_ERROR(compilation->machine().checkCompilable());
  if (options.measured > 0)
    measureMappings(*compilation, options.measured, {});
  if (last == Phase::Link) {
    if (isPipelineDirectory(options.output)) {
      // A refused model must not cost an older pipeline.
      SLUICE_RETURN_IF_ERROR(compilation->run(Phase::Codegen));
      forgetPipeline(options.output);
    }
    SLUICE_RETURN_IF_ERROR(compilation->link(options.output));
    clearProgress();
    if (options.printPipeline) {
      std::cout << compilation->pipelineText() << '\n';
      return {};
    }
    printPruned(compilation->prunedLayers());
    printMappings(compilation->measuredMappings());
    printSummary(options, *compilation);
    return {};
  }
  SLUICE_RETURN_IF_ERROR(compilation->run(last));
  clearProgress();
  if (options.output.ends_with(".mlirbc"))
    return writeBytecode(compilation->module(), options.output);
  const std::string text = moduleText(compilation->module());
  if (!options.output.empty())
    return writeFileAtomically(options.output, text);
  std::cout << text;
  return {};
}

} // namespace

void addCompileCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<CompileCommandOptions>();
  CLI::App *command =
      driver::addCommand(app, "compile", "Compile a model into a directory that 'run' and applications open");
  addOption(*command, "MODEL", options->model, "an ONNX file, or a pipeline of models (.json)")->required();
  addOption(
      *command, "-o,--output", options->output,
      "directory of the compiled model; with --compile-to the file of the IR, which is bytecode with all weights if "
      "its name ends in .mlirbc");
  std::string phases;
  for (const std::string &name : phaseNames())
    phases += (phases.empty() ? "" : ", ") + name;
  addOption(*command, "--compile-to", options->compileTo, "stop after a phase and print its IR: " + phases)
      ->check(oneOf(phaseNames()))
      ->type_name("PHASE")
      ->capture_default_str();
  addOption(*command, "--emit", options->emit,
            "form of the compiled model: shared, a directory to run; object and static, for an application's linker; "
            "executable, a static program that reads and writes .npy files; oci, an image of that program for "
            "containers; wasm, a module for browsers, for the target wasm32")
      ->check(oneOf(packageFormNames()))
      ->excludes(command->get_option("--compile-to"))
      ->capture_default_str();
  addOption(
      *command, "--runtime", options->runtime,
      "directory of libsluice_standalone.a for the target of --emit executable and oci; or none, for an object that "
      "needs no runtime and no C library (./none is a directory)")
      ->type_name("DIR")
      ->excludes(command->get_option("--compile-to"));
  addFlag(*command, "--print-pipeline", options->printPipeline,
          "print the passes that made the model's objects, for sluice-opt on the IR of --compile-to import")
      ->excludes(command->get_option("--compile-to"));
  options->compile.addTo(*command);
  options->compile.addDevicesTo(*command);
  options->compile.addPipelineTo(*command);
  options->compile.addSplitTo(*command)->excludes(command->get_option("--devices"));
  addMeasureOption(*command, options->measured);
  command->callback([options, command, &action] {
    if (options->output.empty() && options->compileTo == phaseNames().back())
      throw CLI::RequiredError("--output");
    options->isFormGiven = command->count("--emit") > 0;
    action = [options] { return runCompile(*options); };
  });
}

} // namespace sluice::driver
