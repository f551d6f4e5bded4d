//===- SharedOptions.h - What the subcommands share -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_SHAREDOPTIONS_H
#define SLUICE_TOOLS_SLUICE_SHAREDOPTIONS_H

#include "sluice/Compiler/Compilation.h"
#include "sluice/Runtime/sluice.h"
#include "tools/common/Driver.h"

#include <memory>
#include <string>

namespace sluice::driver {

/// The options of compile, run, plan and profile, as text until all are read.
class CompileOptions {
public:
  void addTo(CLI::App &app);
  /// Adds --devices, for commands that split the model.
  CLI::Option *addDevicesTo(CLI::App &app);
  /// Adds --pipeline, for the command that compiles for several ranks.
  void addPipelineTo(CLI::App &app);
  /// Adds --split-operators, for commands that plan.
  CLI::Option *addSplitTo(CLI::App &app);
  /// Returns the compiler's options, with progress on a terminal and a stop on Ctrl-C. Fails and names an unknown
  /// solver or training option.
  Expected<CompilerOptions> resolve() const;
  /// The same for a command that runs what it compiles: also fails if this host cannot run the target's code.
  Expected<CompilerOptions> resolveToRun() const;
  /// The name of a given option of planning or code generation that is not in `besides`; empty if there is none.
  std::string firstGiven(std::initializer_list<std::string_view> besides = {}) const;
  /// The name of an option that limits memory or the search, divides ranges, or names solvers or files; empty if none
  /// was given.
  std::string firstPlanned() const;
  /// Leaves these options out of the command's help, for a command that refuses them.
  void hidePlanned();
  /// --dim.
  const DimBindings &dims() const { return options.dims; }
  int threads() const { return options.threads; }
  int64_t requests() const { return options.requests; }
  /// The value of --devices, for commands that have it.
  int64_t devices() const { return options.devices; }
  uint64_t seed() const { return options.seed; }
  /// Whether --memory limits the whole process: all devices that compute use the host's memory, and a limit is that of
  /// this memory. Reads the machine's file and measures nothing.
  bool limitsProcess() const;
  /// Removes --prune-partitions again.
  void keepWhole() { options.prune = {}; }

private:
  /// The options of code generation.
  void addGenerationTo(CLI::App &app);

  CLI::App *command = nullptr;
  CompilerOptions options;
  std::string solvers, train, optimizer, trainable, pipeline, matmulPrecision = "f32", gpuLibraries = "auto",
                                                              convChoice = "auto";
  std::vector<std::string> fixed;
  CLI::Option *searchTime = nullptr, *trainOption = nullptr, *pipelineOption = nullptr;
};

/// Adds --dim. `dims` must outlive the parsing.
CLI::Option *addDimOption(CLI::App &app, DimBindings &dims);
/// Adds --max-iterations.
CLI::Option *addBoundOption(CLI::App &app, std::map<std::string, ValueBounds> &bounds);
CLI::Option *addMaxIterationsOption(CLI::App &app, int64_t &most);
/// Adds --fix, for readFixedInputs.
CLI::Option *addFixOption(CLI::App &app, std::vector<std::string> &texts);

/// Prints what each pruned layer lost, one line per layer.
void printPruned(const std::vector<PrunedLayer> &layers);
Json prunedToJson(const std::vector<PrunedLayer> &layers);

/// Compiles a model to run it right away. A Ctrl-C that ends the search does not end the following run.
Status linkToRun(Compilation &compilation, const std::string &directory);

/// A text table. Columns are as wide as their widest cell, and the first row is the header.
class Table {
public:
  explicit Table(std::vector<std::string> header) { rows.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  void print() const;

private:
  std::vector<std::vector<std::string>> rows;
};

/// The upper bounds in words: "batch up to 4, sequence up to 64".
std::string describeBounds(const std::vector<std::pair<std::string, int64_t>> &bounds);
/// A fraction as text: "12.34%" for 0.1234.
std::string formatPercent(double share);
/// The slots of a plan in words: "64.00 MiB of slots, 8.00 MiB expected to be read a step"; empty if it has no slots
/// for experts.
std::string describeExperts(const Graph &graph);
/// How often experts were in memory, beside the best that any cache could have done; nothing without slots for experts.
void printExperts(const sluice_expert_stats &stats);
Json expertsToJson(const sluice_expert_stats &stats);
/// A limit as text: "8.00 GiB" or "no limit".
std::string formatCapacity(int64_t bytes);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_SHAREDOPTIONS_H
