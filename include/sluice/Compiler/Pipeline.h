//===- Pipeline.h - Passes of a compilation, as text ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_PIPELINE_H
#define SLUICE_COMPILER_PIPELINE_H

#include "sluice/Support/Error.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mlir {
class ModuleOp;
class Pass;
} // namespace mlir

namespace sluice {

/// A list of passes, each with its options as text. A compilation runs pipelines and can
/// print them. sluice-opt with the printed text runs the same passes with the same options.
class Pipeline {
public:
  using Options = std::vector<std::pair<std::string, std::string>>;
  using Maker = std::function<std::unique_ptr<mlir::Pass>()>;

  /// Appends a pass on the module, or on each of its functions. If `make` is empty, the registry
  /// creates the pass. Otherwise `make` creates it. Such a pass uses data that is already in memory,
  /// whereas the printed text names a file with the same data in one of its options.
  Pipeline &onModule(std::string pass, Options options = {}, Maker make = {});
  Pipeline &onFunctions(std::string pass, Options options = {});
  Pipeline &append(const Pipeline &other);

  /// The same passes, with another value for one option of a pass.
  Pipeline with(const std::string &pass, const std::string &option, const std::string &value) const;

  /// The same passes, with plan and partition files in the given directory.
  Pipeline inDirectory(const std::string &directory) const;

  /// The text for the option --pass-pipeline of sluice-opt.
  std::string text() const;
  /// Runs the passes, with the verifier after each. Fails with the first diagnostic, its error
  /// code, and the node of the model that it concerns.
  Status run(mlir::ModuleOp module) const;

private:
  struct Step {
    std::string pass;
    Options options;
    bool onFunctions = false;
    Maker make;
  };
  std::vector<Step> steps;
};

/// A value as the text of an option. Reading the text of a real number gives the same number.
std::string optionText(double value);
std::string optionText(bool value);
std::string optionText(int64_t value);

/// Registers Sluice's passes and pipelines with MLIR. Further calls in a process do nothing.
void registerCompilerPasses();

} // namespace sluice

#endif // SLUICE_COMPILER_PIPELINE_H
