//===- Options.h - The one options record every tool uses -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_OPTIONS_H
#define SLUICE_COMPILER_OPTIONS_H

#include "sluice/Compiler/TrainingOptions.h"
#include "sluice/Onnx/Dimensions.h"
#include "sluice/Search/LeastMemory.h"
#include "sluice/Search/PlanFile.h"
#include "sluice/Support/Error.h"

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

namespace dataflow {
enum class MatmulPrecision : uint32_t;
}

/// The phases of `--compile-to` and `--dump-phases`, in order.
enum class Phase { Import, Simplify, Differentiate, Partition, Fuse, Place, Schedule, Exec, Codegen, Link };
const std::vector<std::string> &phaseNames();
Expected<Phase> parsePhase(std::string_view name);

/// Whether GPUs ask their maker's library for matrix products and convolutions first.
enum class GpuLibraries : uint8_t {
  Auto, ///< Those where it was measured to be faster, or may be expected to be.
  On,   ///< All, on a machine where only GPUs compute.
  Off,  ///< None.
};
/// "auto", "on" and "off", in the order of GpuLibraries.
const std::vector<std::string> &gpuLibrariesNames();
Expected<GpuLibraries> parseGpuLibraries(std::string_view name);

/// How CPUs compute convolutions of f32 images.
enum class ConvChoice : uint8_t {
  Auto,     ///< By Winograd's algorithm where it is estimated to be faster and exact enough, and CPUs alone compute.
  Direct,   ///< By sums over taps and channels alone.
  Winograd, ///< By Winograd's algorithm wherever it is exact enough.
};
/// "auto", "direct" and "winograd", in the order of ConvChoice.
const std::vector<std::string> &convChoiceNames();
Expected<ConvChoice> parseConvChoice(std::string_view name);

/// "f32" (exact), "tf32", "bf16" and "f16", in the order of dataflow::MatmulPrecision.
const std::vector<std::string> &matmulPrecisionNames();
Expected<dataflow::MatmulPrecision> parseMatmulPrecision(std::string_view name);
const std::string &matmulPrecisionName(dataflow::MatmulPrecision precision);

/// A step of planning that has several solvers.
enum class SolverStep : uint8_t { Place, Search, Tile };
/// Per step, a solver's name, one of placementSolverNames(), searchSolverNames() or
/// partitionSolverNames(). Absent: the default.
using SolverChoices = std::map<SolverStep, std::string>;
/// "place=heft,search=odswap". Fails naming an unknown step or solver and listing
/// what there is.
Expected<SolverChoices> parseSolvers(std::string_view text);

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

/// Buckets whose bounds are chosen: see chooseBuckets.
struct BucketOptions {
  int64_t count = 0;     ///< At most so many plans; 0: no bounds are chosen.
  std::string dim;       ///< Empty: the one that has a range without a list of sizes.
  std::string sizesFile; ///< See readSizes; empty: all sizes of the range, equally often.
};
/// "auto:4", "sequence=auto:4". Fails on other texts, and on a number of plans that is not 1 to 64.
Expected<BucketOptions> parseBuckets(std::string_view text);

/// An application with the runtime and nothing else: its libraries, the model's code, stacks and buffers.
inline constexpr int64_t kRuntimeProcessBytes = int64_t(16) << 20;

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
  /// What the process that runs the model holds beside the model's arenas, homes and code: a part of each limit of the
  /// host's memory, where parameters stream into it from a file.
  int64_t processBytes = kRuntimeProcessBytes;
  int64_t searchTimeNs = 5'000'000'000;
  /// 0: the clock decides.
  int64_t searchEvaluations = 0;
  uint64_t seed = 0;
  /// Of the search and of code generation; 0: one a core. Never changes a result.
  int threads = 0;
  SolverChoices solvers;
  /// "native", "x86-64-v3"... with or without "cpu:".
  std::string target = "native";
  /// What f32 operands of matrix products and convolutions are rounded to on GPUs,
  /// from sm_80 on. The default is exact.
  dataflow::MatmulPrecision matmulPrecision{};
  GpuLibraries gpuLibraries = GpuLibraries::Auto;
  /// How CPUs compute convolutions of inference; other programs' convolutions are direct.
  ConvChoice convChoice = ConvChoice::Auto;
  DimBindings dims;
  /// Pairs of an input and an output, "PAST=PRESENT", that become states: see --dataflow-carry-states.
  std::vector<std::string> states;
  BucketOptions buckets;
  /// What extents that the data says are at most: see ImportOptions.
  std::map<std::string, ValueBounds> bounds;
  /// Inputs whose values the program is specialised to: see ImportOptions.
  std::map<std::string, HostTensor> fixedInputs;
  /// The most iterations of a loop whose end only the data says; 0: no limit. See ImportOptions.
  int64_t maxIterations = 0;
  /// Unrolls loops, as for a machine with devices that run no loops.
  bool unrollsLoops = false;
  PruneOptions prune;
  /// Makes a training step of the model; absent: inference.
  std::optional<TrainingOptions> training;
  /// Directory for each phase's IR; empty: none.
  std::string dumpPhases;
  /// Plans within the least memory whose plan takes so many times the ideal at
  /// most; absent: within all that is allowed. See findLeastMemory.
  std::optional<double> slowdown;
  /// Operators that run as several; a plan file brings its own.
  std::vector<NamedSplit> splits;
  /// A plan file to follow instead of searching, its splits too; empty: search.
  std::string planFile;
  /// Search on from that plan instead.
  bool resume = false;
  /// A profile whose times replace the analytic ones; empty: none.
  std::string profileFile;
  /// A tuning of this machine, by which kernels are cut and costed; empty: by estimates.
  std::string tuningFile;
  /// By device's name: how many times as long as its costs say it takes; absent: 1.
  std::map<std::string, double> slowdowns;
  /// Where to write the planning problem; empty: nowhere.
  std::string dumpProblem;
  const std::atomic<bool> *interrupt = nullptr;
  std::function<void(const SearchProgress &)> progress;
};

} // namespace sluice

#endif // SLUICE_COMPILER_OPTIONS_H
