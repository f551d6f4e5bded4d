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
  /// --devices, of the commands that split the model.
  CLI::Option *addDevicesTo(CLI::App &app);
  /// --pipeline, of the command that compiles for several ranks.
  void addPipelineTo(CLI::App &app);
  /// --split-operators, of the commands that plan.
  CLI::Option *addSplitTo(CLI::App &app);
  /// The compiler's record of them, with progress on a terminal and Ctrl-C
  /// heard. Fails naming an unknown solver or training option.
  Expected<CompilerOptions> resolve() const;
  /// The same for a command that runs what it compiles: also fails if this host cannot run the target's code.
  Expected<CompilerOptions> resolveToRun() const;
  /// The name of an option of planning or code generation that was given, other than those of
  /// `besides`; empty: none.
  std::string firstGiven(std::initializer_list<std::string_view> besides = {}) const;
  /// The name of an option that limits memory or the search, divides ranges, or names solvers or files; empty: none
  /// was given.
  std::string firstPlanned() const;
  /// Leaves these options out of the command's help, for a command that refuses them.
  void hidePlanned();
  /// --dim.
  const DimBindings &dims() const { return options.dims; }
  int threads() const { return options.threads; }
  /// --devices, of the commands that have it.
  int64_t devices() const { return options.devices; }
  uint64_t seed() const { return options.seed; }
  /// Whether --memory limits the whole process: all devices that compute use the host's memory, and a limit is that of
  /// this memory. Reads the machine's file and measures nothing.
  bool limitsProcess() const;
  /// Takes --prune-partitions back.
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

/// --dim; `dims` outlives the parse.
CLI::Option *addDimOption(CLI::App &app, DimBindings &dims);
/// --max-iterations.
CLI::Option *addBoundOption(CLI::App &app, std::map<std::string, ValueBounds> &bounds);
CLI::Option *addMaxIterationsOption(CLI::App &app, int64_t &most);
/// --fix, for readFixedInputs.
CLI::Option *addFixOption(CLI::App &app, std::vector<std::string> &texts);

/// What layers lost, a line each.
void printPruned(const std::vector<PrunedLayer> &layers);
Json prunedToJson(const std::vector<PrunedLayer> &layers);

/// Compiles a model to run it at once. A Ctrl-C that ends the search does not
/// end the run that follows.
Status linkToRun(Compilation &compilation, const std::string &directory);

/// Columns as wide as their widest cell; the first row is the header.
class Table {
public:
  explicit Table(std::vector<std::string> header) { rows.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  void print() const;

private:
  std::vector<std::vector<std::string>> rows;
};

/// "batch up to 4, sequence up to 64".
std::string describeBounds(const std::vector<std::pair<std::string, int64_t>> &bounds);
/// 0.1234 as "12.34%".
std::string formatPercent(double share);
/// "64.00 MiB of slots, 8.00 MiB expected to be read a step", of a plan's experts; empty if it has no slots for them.
std::string describeExperts(const Graph &graph);
/// How often experts were in memory, beside the best that any cache could have done; nothing without slots for experts.
void printExperts(const sluice_expert_stats &stats);
Json expertsToJson(const sluice_expert_stats &stats);
/// "8.00 GiB", or "no limit".
std::string formatCapacity(int64_t bytes);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_SHAREDOPTIONS_H
