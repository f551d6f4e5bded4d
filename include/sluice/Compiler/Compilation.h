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

/// Whether an input with this value may determine shapes, axes, counts, conditions or scales. True for tensors of
/// integers or booleans with few elements, and for short lists of floating-point numbers.
bool mayDecideShapes(const HostTensor &tensor);

/// Whether a model's path names a program in the dataflow dialect ('.mlir'), which can be
/// compiled like an ONNX file.
bool isModuleFile(const std::string &path);

/// A model's input or output.
struct ModelPort {
  std::string name;
  int32_t elementType = 0; ///< ONNX's number.
  std::vector<int64_t> shape;
  int64_t bytes = 0;
};

class Compilation;

/// The times of one mapping of operators to devices that was measured.
struct MeasuredMapping {
  int64_t simulatedNs = 0, measuredNs = 0; ///< Time of a step.
  bool kept = false;                       ///< Whether the plan with this mapping is the result.
};

/// How mappings are measured. This is the last step of the placement solver HTF-MPR (Placement/HtfMpr.h). The solver
/// proposes its `count` best mappings, and each of them is planned. `run` compiles and runs a plan and returns the time
/// of a step. The fastest mapping is used.
struct MappingMeasurement {
  size_t count = 0; ///< Number of measured mappings; 0 if none is measured.
  std::function<Expected<int64_t>(std::shared_ptr<const Planned>)> run;
};

/// The plan for steps in which no symbol exceeds its bound.
struct BucketPlan {
  std::vector<std::pair<std::string, int64_t>> bounds; ///< Per symbol: its name and its bound.
  PlanFile file;
};

/// A program for the host that computes weights of another program, together with the inputs on which it must run.
struct WeightProgram {
  std::unique_ptr<Compilation> compilation; ///< The caller links it before it runs.
  std::vector<HostTensor> inputs;
  std::vector<int64_t> offsets; ///< Per output: its offset in the other program's parameter file.
};

/// A model and its compilation through the phases of Phases.h. The tools use this class: they
/// run phases and read the results. After a phase has failed, run() fails with the same error again. options(),
/// machine() and name() stay valid. Results of phase Fuse, and of phases after it, also stay valid if their phase
/// completed before the failure. Two mistakes end the process with a message: calling a getter before its phase, and
/// calling module(), inputs(), outputs() or prunedLayers() after a failure.
class Compilation {
public:
  /// Opens and imports the model, and reads the machine. It writes no files. If it
  /// fails, the error holds the diagnostic.
  static Expected<std::unique_ptr<Compilation>> create(const std::string &modelPath, CompilerOptions options);
  /// Like create, with known values of the inputs. If the model cannot be compiled without the values of some inputs,
  /// the values of as few inputs as possible are fixed; only small inputs can be fixed. A step with other values of
  /// these inputs then fails. options().fixedInputs has these inputs.
  static Expected<std::unique_ptr<Compilation>> createFor(const std::string &modelPath, CompilerOptions options,
                                                          const std::map<std::string, HostTensor> &values);
  ~Compilation();

  /// Fails and names the files if external data is missing. Planning does not need the data,
  /// but linking does.
  Status requireData() const;
  /// Requests that mappings are measured. It must be called before phase Place, and only with the solver place=htf-mpr.
  void measureMappings(MappingMeasurement measurement);
  /// Measured mappings, by ascending simulated time; empty if none was measured.
  const std::vector<MeasuredMapping> &measuredMappings() const;
  /// Runs all phases up to `last` that have not run yet. Use link() for phase Link. Fails again if an earlier phase
  /// failed.
  Status run(Phase last);
  /// Runs the remaining phases and writes the artifact directory: see link() of Phases.h.
  Status link(const std::string &directory);
  /// The passes that made the artifact, as a pipeline for sluice-opt. The pipeline reads the plan
  /// from the artifact's directory and writes objects there as model.0.o and so on. Call it
  /// after link().
  std::string pipelineText() const;

  /// A program that computes those weights of the model that are results of operators on small constants.
  /// A machine that receives the parameter file without these weights can run the program to compute them. The results
  /// are exactly the bytes of the complete file. Absent if these weights have less than 1 MiB in total, or if there are
  /// several ranks.
  Expected<std::optional<WeightProgram>> weightProgram();

  /// Writes the imported program as an ONNX model: see Onnx/Export.h. With a plan, which must be of this model and
  /// target, the decisions become metadata of the nodes. If the program lacks an operator of the plan, the call fails
  /// and names the operator.
  Status exportModel(const std::string &path, const ExportOptions &options, const PlanFile *plan = nullptr);

  const CompilerOptions &options() const;
  mlir::ModuleOp module();
  const Machine &machine() const;
  std::string name() const;
  /// Inputs and outputs of the program. With training, from phase Differentiate on, they are the inputs and outputs of
  /// a training step.
  std::vector<ModelPort> inputs() const;
  std::vector<ModelPort> outputs() const;
  /// The states of the program, in the program's order. A state whose parts are on several ranks is listed once, with
  /// its whole shape.
  std::vector<ModelPort> states() const;

  // Valid from phase Simplify on.
  std::vector<PrunedLayer> prunedLayers() const;

  // Valid from phase Fuse on.
  const Graph &graph() const;
  const CostTable &costs() const;

  // Valid from phase Schedule on.
  const SearchProblem &problem() const;
  const SearchResult &result() const;
  /// All decisions, as a plan file.
  PlanFile planFile() const;
  /// The plans of buckets, by ascending bounds; empty without buckets. The plan for the upper bounds is planFile() and
  /// is not among them.
  std::vector<BucketPlan> bucketPlans() const;
  /// Writes planFile() to a path, and bucketPlans() beside it, with their bounds in the file names.
  Status writePlanFiles(const std::string &path) const;
  /// The limits that were tried for options.slowdown, in the order tried; empty without a slowdown.
  const std::vector<TriedBudget> &triedBudgets() const;

private:
  Compilation();
  Status runPhases(Phase last);
  struct State;
  std::unique_ptr<State> state;
};

/// Writes the program from which an artifact was compiled as an ONNX model, with the plan's decisions as metadata of
/// the nodes. Weights are read from the model at `modelPath`; an empty path stands for the model's place at compile
/// time. Fails if the model is missing or has changed. The model is not needed if the program has no weights, or if
/// ExportOptions::weights omits them.
Status exportArtifact(const std::string &directory, const std::string &modelPath, const std::string &path,
                      const ExportOptions &options);

} // namespace sluice

#endif // SLUICE_COMPILER_COMPILATION_H
