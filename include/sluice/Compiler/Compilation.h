//===- Compilation.h - A model on its way through the phases ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_COMPILATION_H
#define SLUICE_COMPILER_COMPILATION_H

#include "sluice/Compiler/Training.h"
#include "sluice/Machine/Machine.h"
#include "sluice/Onnx/Dimensions.h"
#include "sluice/Search/LeastMemory.h"
#include "sluice/Support/Error.h"

#include <atomic>
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
struct PlanFile;

/// The phases of `--compile-to` and `--dump-phases`, in order.
enum class Phase { Import, Simplify, Differentiate, Partition, Fuse, Place, Schedule, Exec, Codegen, Link };
const std::vector<std::string> &phaseNames();
Expected<Phase> parsePhase(std::string_view name);

/// Partition pruning, which changes what a model computes.
struct PruneOptions {
  int64_t parts = 0;  ///< Blocks of each layer; 0: none is pruned.
  std::string layers; ///< Regular expression of their nodes' whole names.
};

/// A layer that was pruned.
struct PrunedLayer {
  std::string name;
  int64_t parts = 0;
  double weightLoss = 0; ///< Share of the magnitude of its weights.
};

/// The one options record every tool uses. Each field's default serves.
struct CompilerOptions {
  /// A preset's name or a machine file.
  std::string machine = "host";
  /// The device that runs every operator, but for those on strings, which stay on
  /// the host; empty: placement decides.
  std::string device;
  /// Split the model over so many of the machine's devices, each running its own parts: the program from Partition on,
  /// its plan and the memory limits are one device's.
  int64_t devices = 1;
  /// Operators that dominate may run as several, on several devices, where the whole gets faster so under the
  /// simulator.
  bool splitOperators = false;
  /// What several devices, or operators split, must gain over one, or over none: see SearchParams::leastGain.
  double leastGain = 0.05;
  /// "accel0=8GiB", "gpu0=60%": see parseMemoryOption.
  std::vector<std::string> memory;
  int64_t searchTimeNs = 5'000'000'000;
  /// 0: the clock decides.
  int64_t searchEvaluations = 0;
  uint64_t seed = 0;
  /// Of the search and of code generation; 0: one a core. Never changes a result.
  int threads = 0;
  /// Solver by step: "place", "search", "tile". Absent: the default.
  std::map<std::string, std::string> solvers;
  /// "native", "x86-64-v3"... with or without "cpu:".
  std::string target = "native";
  /// What f32 operands of matrix products and convolutions are rounded to on GPUs,
  /// from sm_80 on: one of matmulPrecisionNames().
  std::string matmulPrecision = "f32";
  /// Whether GPUs ask their maker's library for matrix products first, where no CPU
  /// computes: "on" for all, "off" for none, "auto" for those where it was measured to
  /// be faster, or may be expected to be.
  std::string gpuLibraries = "auto";
  DimBindings dims;
  /// Inputs whose values the program is specialised to: see ImportOptions.
  std::map<std::string, HostTensor> fixedInputs;
  PruneOptions prune;
  /// Makes a training step of the model; absent: inference.
  std::optional<TrainingOptions> training;
  /// Directory for each phase's IR; empty: none.
  std::string dumpPhases;
  /// Plans within the least memory whose plan takes so many times the ideal at
  /// most; absent: within all that is allowed. See findLeastMemory.
  std::optional<double> slowdown;
  /// A plan file to follow instead of searching, its splits too; empty: search.
  std::string planFile;
  /// Search on from that plan instead.
  bool resume = false;
  /// A profile whose times replace the analytic ones; empty: none.
  std::string profileFile;
  /// By device's name: how many times as long as its costs say it takes; absent: 1.
  std::map<std::string, double> slowdowns;
  /// Where to write the planning problem; empty: nowhere.
  std::string dumpProblem;
  const std::atomic<bool> *interrupt = nullptr;
  std::function<void(const SearchProgress &)> progress;
};

/// "f32" (exact), "tf32", "bf16" and "f16".
const std::vector<std::string> &matmulPrecisionNames();
/// "auto", "on" and "off".
const std::vector<std::string> &gpuLibraryChoices();

/// "place=heft,search=odswap" -> the options' map. Fails naming an unknown step
/// or solver and listing what there is.
Expected<std::map<std::string, std::string>> parseSolvers(std::string_view text);

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

/// A program for the host that computes weights of another, and what to give it.
struct WeightProgram {
  std::unique_ptr<Compilation> compilation; ///< To link.
  std::vector<HostTensor> inputs;
  std::vector<int64_t> offsets; ///< Per output: where it lies in the other's parameter file.
};

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
  /// To be called before Place, with solver place=htf-mpr: so many of the mappings that it promises most of are
  /// planned, each is given to `run`, which links it, runs it and says how long a step takes, and the fastest is
  /// followed (HTF-MPR's last step).
  void measureMappings(size_t count, std::function<Expected<int64_t>(Compilation &)> run);
  /// They, the simulated fastest first; else empty.
  const std::vector<MeasuredMapping> &measuredMappings() const;
  /// Runs every phase not yet run, up to `last`. Link is reached through link().
  Status run(Phase last);
  /// Runs what is left and writes the artifact directory: model.so,
  /// parameters.bin, manifest.json, model.h, plan.json. Nothing half-written.
  Status link(const std::string &directory);

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
  /// What was decided, to be written.
  PlanFile planFile() const;
  /// With a slowdown to keep to, in the order tried; else empty.
  const std::vector<TriedBudget> &triedBudgets() const;

private:
  Compilation();
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
