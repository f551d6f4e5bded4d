//===- Compilation.h - A model on its way through the phases ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_COMPILATION_H
#define SLUICE_COMPILER_COMPILATION_H

#include "sluice/Compiler/Options.h"
#include "sluice/Machine/Machine.h"
#include "sluice/Search/PlanFile.h"
#include "sluice/Search/Search.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace sluice {

struct ExportOptions;
struct Planned;

/// True where an input of this value may say shapes, axes, counts, switches or
/// scales: small integers and booleans, and short lists of numbers.
bool mayDecideShapes(const HostTensor &tensor);

/// Whether a model's path is of a program in the dataflow dialect ('.mlir'), which
/// compiles as an ONNX file does.
bool isModuleFile(const std::string &path);

/// A model's input or output.
struct ModelPort {
  std::string name;
  int32_t elementType = 0; ///< ONNX's number.
  std::vector<int64_t> shape;
  int64_t bytes = 0;
};

class Compilation;

/// A mapping that was really run.
struct MeasuredMapping {
  int64_t simulatedNs = 0, measuredNs = 0; ///< Of a step.
  bool kept = false;
};

/// How mappings are tried: so many of those that solver htf-mpr promises most of are
/// planned, each is given to `run`, which compiles and runs it and says how long a step
/// takes, and the fastest is followed (HTF-MPR's last step).
struct MappingMeasurement {
  size_t count = 0; ///< 0: none is measured.
  std::function<Expected<int64_t>(std::shared_ptr<const Planned>)> run;
};

/// The plan for steps in which no symbol of the model's extents is above its bound.
struct BucketPlan {
  std::vector<std::pair<std::string, int64_t>> bounds; ///< Per symbol: its name and its bound.
  PlanFile file;
};

/// A program for the host that computes weights of another, and what to give it.
struct WeightProgram {
  std::unique_ptr<Compilation> compilation; ///< To link.
  std::vector<HostTensor> inputs;
  std::vector<int64_t> offsets; ///< Per output: where it lies in the other's parameter file.
};

/// A model on its way through the phases of Phases.h, one value at a time: the door of
/// the tools, which ask for a phase and look at what there is. After a phase that failed,
/// run() fails with the same error again; options(), machine(), name(), and what phases
/// from Fuse on left stay. To call a getter before its phase, or module(), inputs(),
/// outputs() and prunedLayers() after a failure, ends the process with a message.
class Compilation {
public:
  /// Opens and imports the model, and reads the machine. Fails with a
  /// diagnostic; nothing is written.
  static Expected<std::unique_ptr<Compilation>> create(const std::string &modelPath, CompilerOptions options);
  /// As create, for a model whose inputs' values are known: where the model cannot be compiled for every value, it is
  /// compiled for those of as few inputs as it takes, small ones, and refuses others at run time.
  /// options().fixedInputs says which.
  static Expected<std::unique_ptr<Compilation>> createFor(const std::string &modelPath, CompilerOptions options,
                                                          const std::map<std::string, HostTensor> &values);
  ~Compilation();

  /// Fails, naming the files, where external data is missing: enough to plan with,
  /// not to link.
  Status requireData() const;
  /// To be called before Place, with solver place=htf-mpr.
  void measureMappings(MappingMeasurement measurement);
  /// The mappings that were run, by ascending simulated time; else empty.
  const std::vector<MeasuredMapping> &measuredMappings() const;
  /// Runs every phase not yet run, up to `last`. Link is reached through link(). Fails as a phase before did.
  Status run(Phase last);
  /// Runs what is left and writes the artifact directory: see link() of Phases.h.
  Status link(const std::string &directory);
  /// The passes that made the artifact, as sluice-opt takes them: the plan is read from
  /// the artifact's directory, and objects are written there as model.0.o... After link().
  std::string pipelineText() const;

  /// Of the weights that constant expressions of little data define, for machines that get the parameter file without
  /// them; absent where they are less than 1 MiB. Its results are the file's bytes, to the last.
  Expected<std::optional<WeightProgram>> weightProgram();

  /// Writes the program as it was imported as an ONNX model: see Onnx/Export.h. With a plan, which must be of this
  /// model and target, its decisions become the nodes' metadata; fails naming an operator of it that is not here.
  Status exportModel(const std::string &path, const ExportOptions &options, const PlanFile *plan = nullptr);

  const CompilerOptions &options() const;
  mlir::ModuleOp module();
  const Machine &machine() const;
  std::string name() const;
  /// The program's: with training, from Differentiate on, those of a step.
  std::vector<ModelPort> inputs() const;
  std::vector<ModelPort> outputs() const;

  // From Simplify on.
  std::vector<PrunedLayer> prunedLayers() const;

  // From Fuse on.
  const Graph &graph() const;
  const CostTable &costs() const;

  // From Schedule on.
  const SearchProblem &problem() const;
  const SearchResult &result() const;
  /// What was decided.
  PlanFile planFile() const;
  /// By their bounds, smaller first, without that of the upper bounds, which is planFile(); none where `--dim` asks for
  /// no buckets.
  std::vector<BucketPlan> bucketPlans() const;
  /// Writes planFile() to a path, and bucketPlans() beside it, their bounds added to the name.
  Status writePlanFiles(const std::string &path) const;
  /// With a slowdown to keep to, in the order tried; else empty.
  const std::vector<TriedBudget> &triedBudgets() const;

private:
  Compilation();
  Status runPhases(Phase last);
  struct State;
  std::unique_ptr<State> state;
};

/// Writes the program that an artifact was compiled from as an ONNX model, its plan's decisions as the nodes' metadata.
/// Weights are read from the model at `modelPath`; empty: where it was when the artifact was compiled. Fails where it
/// is not there, or not the same; not asked for with ExportOptions::weights omitted, or where there are none.
Status exportArtifact(const std::string &directory, const std::string &modelPath, const std::string &path,
                      const ExportOptions &options);

} // namespace sluice

#endif // SLUICE_COMPILER_COMPILATION_H
