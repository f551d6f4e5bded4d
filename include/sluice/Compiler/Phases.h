//===- Phases.h - A value per phase, and what leads on ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
//   importProgram -> Imported -> simplify -> Simplified [-> differentiate]
//     -> partition -> Partitioned -> fuse -> Fused -> plan -> Planned
//     -> place, schedule, buildProgram, lowerProgram -> Program -> link -> Artifact
//
// A phase is a free function that takes the value of the phase before, which it
// consumes, and the options. Plans of one Fused value (for other budgets, devices or
// mappings) are plan() again, with other options. Everything that changes the IR is a
// pass: a value's `passes` are those run since the import, and sluice-opt runs them too.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_PHASES_H
#define SLUICE_COMPILER_PHASES_H

#include "passes/Bridge/GraphBridge.h"
#include "passes/Bridge/ParameterLayout.h"
#include "passes/DataflowToExec/Passes.h"
#include "sluice/Codegen/Target.h"
#include "sluice/Compiler/Compilation.h"
#include "sluice/Compiler/Options.h"
#include "sluice/Compiler/Pipeline.h"
#include "sluice/Onnx/ModelFile.h"

#include "mlir/IR/OwningOpRef.h"

namespace sluice {

class ImportedProgram;

/// Where a program is from and what it is compiled for; the same in all phases.
struct Origin {
  std::string modelPath; ///< Empty: the program was made from another one.
  std::string name;
  std::optional<ModelFile> model; ///< Absent: a program in the dialect.
  std::shared_ptr<mlir::MLIRContext> context;
  /// The program as the model has it, for exports; null where there is no model.
  std::shared_ptr<ImportedProgram> imported;
  Machine described; ///< As the option machine names it.
  TargetSpec target;
};

/// Whether devices of a kind run grids, as GPUs do, and not CPU kernels.
inline bool runsGrids(DeviceKind kind, const TargetSpec &target) {
  return kind == DeviceKind::Cuda || (kind == DeviceKind::Emulated && target.emulatesGrids);
}

/// What the values of all phases have.
struct Stage {
  std::shared_ptr<Origin> origin;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Pipeline passes; ///< Run on the module since its import.

  /// The program's function; there is none from buildProgram on.
  mlir::func::FuncOp main() const { return *mlir::ModuleOp(*module).getOps<mlir::func::FuncOp>().begin(); }
  /// A copy of the IR, under the same origin.
  Stage clone() const { return {origin, mlir::OwningOpRef<mlir::ModuleOp>(mlir::ModuleOp(*module).clone()), passes}; }
  /// Runs passes and remembers them. Fails with the first diagnostic.
  Status run(const Pipeline &pipeline);
};

/// The model in the dataflow dialect, shapes static, weights in the mapped file.
struct Imported : Stage {};

/// Opens and imports a model, or reads a program in the dialect, and resolves machine
/// and target. Fails with a diagnostic; nothing is written.
Expected<Imported> importProgram(const std::string &modelPath, const CompilerOptions &options);

/// The model without what inference does not need, or a training step of it.
struct Simplified : Stage {};

Expected<Simplified> simplify(Imported imported, const CompilerOptions &options);
/// Loss, gradients and updates join the program, with options.training; else the
/// program is as it was.
Expected<Simplified> differentiate(Simplified simplified, const CompilerOptions &options);

/// What is known of a program with operators split: the plan was made on a copy.
struct SplitChoice {
  std::vector<std::string> memory; ///< The limits planned within, as options in bytes.
  SearchResult result;
};

/// The program that one rank runs, with the operators that run as several split.
struct Partitioned : Stage {
  int64_t ranks = 1; ///< That the machine is divided among, by the option devices.
  /// What the rank has of the described machine; all of it where nothing is divided.
  Machine ofRank;
  std::string partitionFile; ///< The decided tiling, to be written; empty where nothing is divided.
  std::vector<NamedSplit> splits;
  std::optional<SplitChoice> choice; ///< Where planning decided the splits.

  Partitioned copy() const { return {clone(), ranks, ofRank, partitionFile, splits, choice}; }
};

Expected<Partitioned> partition(Simplified simplified, const CompilerOptions &options);

/// Sizes of the program that have a plan of their own: all up to a bound for each symbol of its extents.
struct Bucket {
  std::vector<int64_t> bounds;
  Graph graph; ///< That of the program, with the bytes at the bounds.
  CostTable costs;
};

/// The program in groups that run as one kernel each, as a graph with costs.
struct Fused : Stage {
  int64_t ranks = 1;
  Machine ofRank;
  std::string partitionFile;
  std::vector<NamedSplit> splits;
  std::optional<SplitChoice> choice;
  Machine measured; ///< The rank's machine with the links that a profile measured.
  BridgedGraph bridge;
  CostTable costs;
  std::string chunks; ///< From which times on loops are cut, as dataflow-emit-kernels reads it; empty: its defaults.
  /// What operators cost at other sizes: of a graph with the bytes there.
  std::function<CostTable(const Graph &)> costsOf;
};

/// What measurements of kernels belong to: the compiler, the processor, and what products are rounded to.
std::string measurementOrigin(const TargetSpec &target, dataflow::MatmulPrecision precision);

Expected<Fused> fuse(Partitioned partitioned, const CompilerOptions &options);

/// Every decision, for one Fused program. The problem points into `fused`.
struct Planned {
  std::shared_ptr<const Fused> fused;
  SearchProblem problem;
  SearchResult result;
  std::vector<TriedBudget> triedBudgets;         ///< With options.slowdown, in the order tried.
  std::vector<MeasuredMapping> measuredMappings; ///< Where mappings were run.
  struct OfBucket {
    std::shared_ptr<const Bucket> bucket;
    SearchProblem problem; ///< Within the same limits of memory.
    SearchResult result;
  };
  BucketTable bucketTable;       ///< Where the option `buckets` lets bounds be chosen; else empty.
  std::vector<OfBucket> buckets; ///< By their bounds, in lexicographic order; without that of the upper bounds.

  PlanFile file() const;
  /// Writes the plan to this path, and those of the buckets beside it (bucketPlanFile).
  Status writeFiles(const std::string &path) const;
};

/// "16x512"; empty where there are none.
std::string boundsText(const std::vector<int64_t> &bounds);
/// The name of the plan file of a bucket, beside that for the upper bounds: "plan-16x512.json" beside "plan.json".
std::string bucketPlanFile(const std::string &planFile, const std::vector<int64_t> &bounds);

/// The planning problem of a program: capacities by options.memory, and what is bound
/// to a device by itself or by options.device.
Expected<SearchProblem> problemOf(const Fused &fused, const CompilerOptions &options);
/// Searches a plan of the problem, or follows options.planFile. The plan is valid.
Expected<Planned> plan(std::shared_ptr<const Fused> fused, const CompilerOptions &options);
/// As plan(), for a problem with the mapping that is fastest when it is run: of those
/// that solver htf-mpr promises most of, `measurement.count` are planned and run.
Expected<Planned> planMeasured(std::shared_ptr<const Fused> fused, const CompilerOptions &options,
                               const MappingMeasurement &measurement);

/// The program on its way from the planned function to LLVM's dialect.
struct Program : Stage {
  std::shared_ptr<const Planned> planned;
  std::shared_ptr<const Decisions> decisions; ///< The plan's, for the passes.
  std::vector<std::shared_ptr<const Decisions>> ofBuckets;
};

/// A copy of the planned function whose operators have devices.
Expected<Program> place(std::shared_ptr<const Planned> planned, const CompilerOptions &options);
/// The operators have their order, the function its slots and commands.
Status schedule(Program &program);
/// The exec program and its kernels, one for each distinct operator.
Status buildProgram(Program &program, const CompilerOptions &options);
/// Kernels in the LLVM dialect, grids as PTX and host code.
Status lowerProgram(Program &program);

/// A compiled model's directory, and how its objects were made.
struct Artifact {
  std::string directory;
  Pipeline passes; ///< From the import's IR to the objects; the plan is the directory's.
};

/// Writes the artifact directory: model.so, parameters.bin, manifest.json, model.h,
/// plan.json and program.mlirbc. The manifest comes last, and nothing is half-written.
/// With options.dumpPhases the objects stay there.
Expected<Artifact> link(Program &program, const CompilerOptions &options, const std::string &directory);

/// All of it from a plan on: place, schedule, build, lower and link.
Expected<Artifact> compilePlan(std::shared_ptr<const Planned> planned, const CompilerOptions &options,
                               const std::string &directory);

} // namespace sluice

#endif // SLUICE_COMPILER_PHASES_H
