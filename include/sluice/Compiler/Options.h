//===- Options.h - The options of a compilation ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_OPTIONS_H
#define SLUICE_COMPILER_OPTIONS_H

#include "sluice/Codegen/Package.h"
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

/// Which matrix products and convolutions on GPUs are computed by the vendor's libraries.
enum class GpuLibraries : uint8_t {
  Auto, ///< Those products and convolutions for which the library is faster, by measurements or estimates.
  On,   ///< All of them. It is an error if other devices than GPUs compute.
  Off,  ///< None of them.
};
/// "auto", "on" and "off", in the order of GpuLibraries.
const std::vector<std::string> &gpuLibrariesNames();
Expected<GpuLibraries> parseGpuLibraries(std::string_view name);

/// How CPUs compute convolutions of f32 images.
enum class ConvChoice : uint8_t {
  Auto,     ///< Inference on a machine where only CPUs compute: Winograd's algorithm where an estimate says that it is
            ///< faster and its error bound allows it. Otherwise like Direct.
  Direct,   ///< Always sums over taps and channels.
  Winograd, ///< Winograd's algorithm wherever its error bound allows it.
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
/// For each step the name of a solver: one of placementSolverNames(), searchSolverNames() or
/// partitionSolverNames(). An absent step uses the default.
using SolverChoices = std::map<SolverStep, std::string>;
/// Parses a text such as "place=heft,search=odswap". Fails on an unknown step or solver, and
/// lists the known ones.
Expected<SolverChoices> parseSolvers(std::string_view text);

/// Options of partition pruning (Tiling/Pruning.h). It divides each listed layer into blocks and removes the weights
/// outside of the blocks, so the model's results change.
struct PruneOptions {
  int64_t parts = 0;  ///< Number of blocks of each layer; 0 means no pruning.
  std::string layers; ///< Regular expression that must match the whole name of a layer's node.
};

/// A layer that was pruned.
struct PrunedLayer {
  std::string name;
  int64_t parts = 0;
  double weightLoss = 0; ///< Fraction of the magnitude of its weights that is lost.
};

/// Options for the automatic choice of buckets (chooseBuckets). A bucket is a set of sizes that has a plan of its own.
struct BucketOptions {
  int64_t count = 0;     ///< Upper limit of the number of plans; 0 means no automatic choice.
  std::string dim;       ///< The dimension. If empty, the only dimension that has a range without a list of sizes.
  std::string sizesFile; ///< A file for readSizes. If empty, all sizes of the range are equally frequent.
};
/// Parses "auto:4" or "sequence=auto:4". Fails on other texts, and if the number of plans is not in 1 to 64.
Expected<BucketOptions> parseBuckets(std::string_view text);

/// The process reserve of an application that has the runtime and nothing else: bytes for its libraries, the model's
/// code, stacks and buffers.
inline constexpr int64_t kRuntimeProcessBytes = int64_t(16) << 20;

/// The options of a compilation, which all tools share. With the default of every field, a model is compiled for this
/// computer.
struct CompilerOptions {
  /// The name of a preset, or the path of a machine file.
  std::string machine = "host";
  /// The device that runs every operator except those that only the host can run: operators on strings, and operators
  /// without a kernel for the devices that run grids. If it is empty, placement decides.
  std::string device;
  /// Number of devices of the machine over which the model is split; each device runs its own parts. From phase
  /// Partition on, the program, its plan and the memory limits belong to one device.
  int64_t devices = 1;
  /// Splits operators that take most of the step into several operators on different devices, if the simulated step
  /// becomes faster.
  bool splitOperators = false;
  /// The least gain, as a share of the makespan, for which several devices or split operators are used: see
  /// SearchParams::leastGain.
  double leastGain = 0.05;
  /// Limits of memories, such as "accel0=8GiB" and "gpu0=60%": see applyMemoryOption.
  std::vector<std::string> memory;
  /// The process reserve: bytes that the process which runs the model needs in addition to the arena and to inputs,
  /// outputs and states. If parameters stream from a file into the host's memory, a limit of this memory that is given
  /// in bytes, such as "2GiB", includes the reserve. A limit that is given in percent does not include it.
  int64_t processBytes = kRuntimeProcessBytes;
  /// The hit rate that the simulator assumes if memory has slots for experts: the share of uses of experts that find
  /// the weights in a slot. If it is absent, the number of slots divided by the number of experts is used.
  std::optional<double> expertHitRate;
  int64_t searchTimeNs = 5'000'000'000;
  /// Number of plans to make; 0 means that the clock limits the search.
  int64_t searchEvaluations = 0;
  uint64_t seed = 0;
  /// Number of threads of the search and of code generation; 0 means one for each core. The number does not change the
  /// result if searchEvaluations is the only limit of the search.
  int threads = 0;
  /// Optimization level of the code: see EmissionParams::optLevel.
  int optLevel = 3;
  SolverChoices solvers;
  /// "native", "x86-64-v3" and so on, with or without "cpu:".
  std::string target = "native";
  PackageOptions package;
  /// The type to which f32 operands of matrix products and convolutions are rounded on GPUs,
  /// from sm_80 on. The default is exact.
  dataflow::MatmulPrecision matmulPrecision{};
  GpuLibraries gpuLibraries = GpuLibraries::Auto;
  /// How CPUs compute convolutions in inference. In other programs all convolutions are direct.
  ConvChoice convChoice = ConvChoice::Auto;
  DimBindings dims;
  /// Pairs of an input and an output, "PAST=PRESENT", that become states: see --dataflow-carry-states.
  std::vector<std::string> states;
  /// Number of requests that a step computes at once, each in another stage: see --dataflow-overlap-requests.
  int64_t requests = 1;
  BucketOptions buckets;
  /// Bounds of the elements of tensors that determine extents, by the name of the tensor: see ImportOptions::bounds.
  std::map<std::string, ValueBounds> bounds;
  /// Inputs for whose values the program is specialised: see ImportOptions.
  std::map<std::string, HostTensor> fixedInputs;
  /// Limit of the iterations of a loop whose end depends on data; 0 means no limit. See ImportOptions.
  int64_t maxIterations = 0;
  /// Unrolls loops, as on a machine with devices that cannot run loops.
  bool unrollsLoops = false;
  PruneOptions prune;
  /// If present, a training step of the model is compiled; else the model is compiled for inference.
  std::optional<TrainingOptions> training;
  /// Directory in which the IR of each phase is written. If empty, no IR is written.
  std::string dumpPhases;
  /// If present, the plan uses the least memory for which the search finds a step of at most `slowdown` times the ideal
  /// time, which is the simulated time with unlimited memory (findLeastMemory). If it is absent, the plan may use the
  /// whole limit.
  std::optional<double> slowdown;
  /// Operators that are split into several. With a `planFile`, the splits of the plan replace these.
  std::vector<NamedSplit> splits;
  /// A plan file to follow instead of searching, including its splits. If empty, the plan is searched.
  std::string planFile;
  /// Starts a search from the plan of `planFile` instead of following that plan.
  bool resume = false;
  /// A profile whose times replace the analytic times. If empty, there is no profile.
  std::string profileFile;
  /// A tuning file of this machine, which decides the forms and the costs of kernels. If empty, estimates decide.
  std::string tuningFile;
  /// For each name of a device: the factor by which operators on this device take longer than the costs say. The factor
  /// of a device that is absent is 1.
  std::map<std::string, double> slowdowns;
  /// Path to which the planning problem is written. If empty, the problem is not written.
  std::string dumpProblem;
  const std::atomic<bool> *interrupt = nullptr;
  std::function<void(const SearchProgress &)> progress;
};

} // namespace sluice

#endif // SLUICE_COMPILER_OPTIONS_H
