//===- Phases.h - The phases of a compilation and their values --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
//   importProgram -> Imported -> simplify -> Simplified [-> differentiate]
//     -> partition -> Partitioned -> fuse -> Fused -> plan -> Planned
//     -> place, schedule, buildProgram, lowerProgram -> Program -> link -> Artifact
//
// A phase is a free function, which takes the options. The phases up to fuse() consume the
// value of the previous phase and return the next one. plan() and place() only read their
// value, so plan() can be called again with other limits, devices or placements. schedule(),
// buildProgram() and lowerProgram() change a Program in place. Only passes change the IR. The
// member `passes` of a value lists the passes that ran since the import, and sluice-opt can
// run them.
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

/// The origin of a program and its target; the same in all phases.
struct Origin {
  std::string modelPath; ///< Empty if the program was made from another program.
  std::string name;
  std::optional<ModelFile> model; ///< Absent if the input is a program in the dialect.
  std::shared_ptr<mlir::MLIRContext> context;
  /// The imported program, for exports; null without a model.
  std::shared_ptr<ImportedProgram> imported;
  Machine described; ///< The machine that the option names.
  TargetSpec target;
};

/// Whether devices of this kind run grids, like GPUs, instead of CPU kernels.
inline bool runsGrids(DeviceKind kind, const TargetSpec &target) {
  return kind == DeviceKind::Cuda || (kind == DeviceKind::Emulated && target.emulatesGrids);
}

/// The common part of the values of all phases.
struct Stage {
  std::shared_ptr<Origin> origin;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Pipeline passes; ///< The passes that ran on the module since its import.

  /// The program's function. It does not exist from buildProgram on.
  mlir::func::FuncOp main() const { return *mlir::ModuleOp(*module).getOps<mlir::func::FuncOp>().begin(); }
  /// A copy of this stage: the IR is copied, and the origin is shared.
  Stage clone() const { return {origin, mlir::OwningOpRef<mlir::ModuleOp>(mlir::ModuleOp(*module).clone()), passes}; }
  /// Runs passes and appends them to `passes`. Fails with the first diagnostic.
  Status run(const Pipeline &pipeline);
};

/// The model in the dataflow dialect. The shape of every type is static: an extent that varies has its upper bound
/// there (Onnx/Import.h). Weights stay in the mapped file.
struct Imported : Stage {};

/// A context with every dialect of a compilation.
std::shared_ptr<mlir::MLIRContext> makeContext();

/// Opens and imports a model, or reads a program in the dialect, and resolves machine
/// and target. It writes no file. If it fails, the error has the first diagnostic. A context
/// of makeContext() may be shared by programs that are compiled one after the other; without
/// one the program gets its own.
Expected<Imported> importProgram(const std::string &modelPath, const CompilerOptions &options,
                                 std::shared_ptr<mlir::MLIRContext> context = nullptr);

/// The simplified model, or a training step of it.
struct Simplified : Stage {};

Expected<Simplified> simplify(Imported imported, const CompilerOptions &options);
/// With options.training, adds the loss, the gradients and the updates to the program.
/// Otherwise the program is unchanged.
Expected<Simplified> differentiate(Simplified simplified, const CompilerOptions &options);

/// The plan that was made when split operators were chosen. It was made for a copy of the program with the chosen
/// splits.
struct SplitChoice {
  std::vector<std::string> memory; ///< The memory limits of the plan, as texts for the option `--memory`, in bytes.
  SearchResult result;
};

/// The program of one rank, with split operators.
struct Partitioned : Stage {
  int64_t ranks = 1; ///< Number of ranks that share the machine: CompilerOptions::devices.
  /// The rank's part of the described machine; all of it with a single rank.
  Machine ofRank;
  std::string partitionFile; ///< The chosen tiling as text, to be written; empty with a single rank.
  std::vector<NamedSplit> splits;
  std::optional<SplitChoice> choice; ///< Present if planning decided the splits.

  Partitioned copy() const { return {clone(), ranks, ofRank, partitionFile, splits, choice}; }
};

Expected<Partitioned> partition(Simplified simplified, const CompilerOptions &options);

/// A set of sizes that has its own plan: all sizes in which no symbol exceeds its bound.
struct Bucket {
  std::vector<int64_t> bounds;
  Graph graph; ///< The graph of the program, with the bytes at the bounds.
  CostTable costs;
};

/// The program whose operators are grouped, and its graph with costs. Each group runs as one kernel.
struct Fused : Stage {
  int64_t ranks = 1;
  Machine ofRank;
  std::string partitionFile;
  std::vector<NamedSplit> splits;
  std::optional<SplitChoice> choice;
  Machine measured; ///< The rank's machine with the links that a profile measured.
  BridgedGraph bridge;
  CostTable costs;
  /// The value of the option `chunks` of dataflow-emit-kernels: the least time of a chunk for each kind of loop. If it
  /// is empty, the pass uses its defaults.
  std::string chunks;
  /// Computes the costs of operators at other sizes, from a graph with the bytes of these sizes.
  std::function<CostTable(const Graph &)> costsOf;
  /// The memory limits for which the number of slots for experts was chosen: the texts of the option `--memory`, and
  /// the bytes per memory. Empty without slots. A limit in percent refers to the program without slots.
  std::vector<std::string> limitTexts = {};
  std::vector<int64_t> limitBytes = {};
};

/// A text that says where kernel measurements come from: compiler, processor, and precision of matrix products.
/// Measurements with different texts are not comparable.
std::string measurementOrigin(const TargetSpec &target, dataflow::MatmulPrecision precision);

Expected<Fused> fuse(Partitioned partitioned, const CompilerOptions &options);

/// All decisions for one Fused program. The problem points into `fused`.
struct Planned {
  std::shared_ptr<const Fused> fused;
  SearchProblem problem;
  SearchResult result;
  std::vector<TriedBudget> triedBudgets;         ///< The memory limits that were tried for options.slowdown, in order.
  std::vector<MeasuredMapping> measuredMappings; ///< Measured mappings, if any.
  struct OfBucket {
    std::shared_ptr<const Bucket> bucket;
    SearchProblem problem; ///< Has the same memory limits as Planned::problem.
    SearchResult result;
  };
  BucketTable bucketTable;       ///< The possible choices of bounds with the option `buckets`; otherwise empty.
  std::vector<OfBucket> buckets; ///< In lexicographic order of their bounds, without the bucket of the upper bounds.

  PlanFile file() const;
  /// Writes the plan to this path, and those of the buckets beside it (bucketPlanFile).
  Status writeFiles(const std::string &path) const;
};

/// A text such as "16x512"; empty without bounds.
std::string boundsText(const std::vector<int64_t> &bounds);
/// The path of the plan file of a bucket, in the directory of the plan file for the upper bounds: "plan-16x512.json"
/// beside "plan.json".
std::string bucketPlanFile(const std::string &planFile, const std::vector<int64_t> &bounds);

/// The planning problem of a program, with the capacities of options.memory. The problem fixes the device of an
/// operator if the kind of the operator, or options.device, leaves no choice.
Expected<SearchProblem> problemOf(const Fused &fused, const CompilerOptions &options);
/// Searches for a plan, or follows options.planFile. The resulting plan is valid.
Expected<Planned> plan(std::shared_ptr<const Fused> fused, const CompilerOptions &options);
/// Like plan(), but chooses the mapping by measurement: see MappingMeasurement.
Expected<Planned> planMeasured(std::shared_ptr<const Fused> fused, const CompilerOptions &options,
                               const MappingMeasurement &measurement);

/// The program between the planned function and the LLVM dialect.
struct Program : Stage {
  std::shared_ptr<const Planned> planned;
  std::shared_ptr<const Decisions> decisions; ///< The decisions of the plan, for the passes.
  std::vector<std::shared_ptr<const Decisions>> ofBuckets;
};

/// Copies the planned function and gives its operators devices.
Expected<Program> place(std::shared_ptr<const Planned> planned, const CompilerOptions &options);
/// Gives the operators their order, and gives the function its slots (addresses of tensors) and commands.
Status schedule(Program &program);
/// Builds the exec program and its kernels, one for each distinct operator.
Status buildProgram(Program &program, const CompilerOptions &options);
/// Lowers kernels to the LLVM dialect, and grids to PTX and host code. In freestanding programs, calls of math
/// functions are replaced by arithmetic.
Status lowerProgram(Program &program, const CompilerOptions &options);

/// The directory of a compiled model, and the passes that made its objects.
struct Artifact {
  std::string directory;
  Pipeline passes; ///< The passes from the imported IR to the objects. They read the plan from the directory.
};

/// Writes the artifact directory: the files of the package (see PackageForm; by default model.so,
/// parameters.bin, manifest.json and model.h), plan.json and program.mlirbc. The manifest is
/// written last, and no file is half-written. With options.dumpPhases, the object files are kept
/// in the directory of this option.
Expected<Artifact> link(Program &program, const CompilerOptions &options, const std::string &directory);

/// Runs all phases after planning: place, schedule, build, lower and link.
Expected<Artifact> compilePlan(std::shared_ptr<const Planned> planned, const CompilerOptions &options,
                               const std::string &directory);

} // namespace sluice

#endif // SLUICE_COMPILER_PHASES_H
