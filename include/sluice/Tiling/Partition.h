//===- Partition.h - Splitting a program over devices -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Data, model and hybrid parallelism as one search (Wang, Huang and Li: "Unifying
// Data, Model and Hybrid Parallelism in Deep Learning via Tensor Tiling", 2018;
// SoyBean below): a tiling of every tensor and a rule for every operator, so that
// conversions between them cost least.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_PARTITION_H
#define SLUICE_TILING_PARTITION_H

#include "sluice/Machine/Machine.h"
#include "sluice/Optimize/Budget.h"
#include "sluice/Support/Json.h"
#include "sluice/Tiling/Conversion.h"

#include <array>
#include <limits>
#include <optional>

namespace sluice {

/// Equal devices in a mesh.
struct PartitionMachine {
  Mesh mesh;
  double flopsPerSec = 1e12;
  double memoryBytesPerSec = 1e11;
  int64_t launchOverheadNs = 10'000;
  int64_t capacityBytes = std::numeric_limits<int64_t>::max(); ///< Of one device.
};

/// The first `devices` of a machine's computing devices as a mesh, an axis a prime
/// factor, each with its slowest link, used in both directions at once; or, of a machine
/// with one, so many shares of it. Fails where there are not so many, or they differ.
Expected<PartitionMachine> partitionMachine(const Machine &machine, int64_t devices);

/// What a conversion costs.
enum class PartitionCost : uint8_t {
  Paper,  ///< paperBytes
  Ghost,  ///< ghostBytes
  Volume, ///< Bytes sent, of the collectives.
  Time,   ///< Nanoseconds of the collectives, and of operators by roofline.
};

/// A tensor brought from how it is held to how operators want it, or from how one
/// makes it to how it is held. Operators that want the same share it.
struct PlannedConversion {
  TensorId tensor;
  OperatorId op;         ///< The producer, or the first operator that wants it.
  bool isResult = false; ///< Of the producer.
  std::vector<AxisTiling> from, to;
  std::vector<CollectiveStep> steps; ///< Halos at the end.
};

/// What a tiling amounts to.
struct PartitionReport {
  int64_t paperBytes = 0, ghostBytes = 0;
  /// delta_k + 2 c_{k-1}: the first axis' ghost bytes, and those of what its parts do, as often as there are parts.
  int64_t recursiveGhostBytes = 0;
  int64_t bytes = 0;                          ///< Sent, by all devices.
  std::array<int64_t, 6> bytesByCollective{}; ///< By CollectiveKind.
  int64_t computeNs = 0, communicationNs = 0; ///< One device's, each alone.
  /// With collectives beside the operators that do not wait for them.
  int64_t makespanNs = 0;
  int64_t peakBytes = 0; ///< On one device, at its worst moment.
  std::vector<PlannedConversion> conversions;
};
/// Of a valid tiling. Saturating.
PartitionReport measurePartition(const TensorProgram &program, const PartitionMachine &machine, const Tiling &tiling);

struct PartitionParams {
  std::string solver = "best"; ///< One of partitionSolverNames().
  PartitionCost cost = PartitionCost::Time;
  /// Of one device; tensors held and converted. By default the machine's.
  std::optional<int64_t> memoryBytes;
  /// Extra bytes on one device that `spartan` may spend on tensors held whole.
  int64_t duplicationBytes = 0;
  /// Of `best`'s searches.
  Budget budget = {};
  uint64_t seed = 1;
  int threads = 1;
};

/// Another solver's answer, beside which one stands.
struct PartitionBaseline {
  std::string solver;
  int64_t chargedCost = 0;
  PartitionReport report;             ///< Without its conversions.
  std::vector<std::string> gathering; ///< As a solution's.
};

struct PartitionSolution {
  Tiling tiling;
  PartitionReport report;
  /// The sum over operators of their conversions, each paying for its own.
  int64_t chargedCost = 0;
  /// Of the rules looked at (a byte cost leaves those out that never send less), and where the
  /// memory allows it, no tiling has a lower chargedCost.
  bool proven = false;
  std::string solver;
  /// Of `data-parallel` and `model-parallel`: the operators that read a share of the batch, or a part of a weight, but
  /// have no rule to run on it, and get it whole.
  std::vector<std::string> gathering;
  std::vector<PartitionBaseline> baselines; ///< Of `best`: each of the others.
};

/// Names solvePartition knows, the default first.
///  best            every tiling of all axes at once where elimination takes that;
///                  else, from each of the others' answers and from axes solved one
///                  by one (of programs of more than 6,000 operators, from the best
///                  of these), one axis after the other given the rest, until nothing
///                  gets better. Never worse than the others.
///  soybean         SoyBean's k cuts, each by dynamic programming over levels of the
///                  graph, or, where levels are too wide for that, by solveTiling;
///                  recursive ghost bytes, whatever cost is asked for
///  spartan         Spartan's greedy (Huang's thesis, 3.4): one split over all
///                  devices, groups of most neighbours first
///  data-parallel   weights and optimizer states whole on every device; what carries the
///                  batch (TilingPropagation from the first dimension of the inputs) split along
///                  it, and operators that touch it on their share; gradients summed over
///                  devices, whole or as reduce-scatter, update of parts and all-gather,
///                  which sends the same. Only what does not carry the batch is free
///  model-parallel  weights of rank 2 and more split, whichever way is cheapest, and operators
///                  that read one work on their part of it; the batch whole
std::vector<std::string> partitionSolverNames();

/// Fails on an invalid program or mesh, an unknown solver, or where no tiling is found
/// that keeps within the memory (only `best` looks for one). The result passes
/// validatePartition.
Expected<PartitionSolution> solvePartition(const TensorProgram &program, const PartitionMachine &machine,
                                           const PartitionParams &params = {});

/// Independent of the solvers: the tiling is valid, every conversion of the report begins with
/// what there is and ends as wanted, step by step and halos included, its bytes are those of
/// its steps and add up; the report's peak, which is not computed again, is within the memory.
Status validatePartition(const TensorProgram &program, const PartitionMachine &machine,
                         const PartitionSolution &solution, std::optional<int64_t> memoryBytes = {});

/// { schema, program, solver, mesh: [{name, size}], tensors: [{name, shape, tiling}],
/// operators: [{name, rules}], conversions: [{tensor, operator, from, to, steps:
/// [{collective, axes, bytes}]}], summary }; a tiling is an entry an axis: "whole",
/// "split 0", "partial sum".
Json partitionToJson(const TensorProgram &program, const PartitionMachine &machine, const PartitionSolution &solution);
/// The summary alone: makespan, times, bytes by collective and count, memory; of the baselines too.
Json partitionSummaryToJson(const PartitionMachine &machine, const PartitionSolution &solution);
/// "split 0"
std::string tilingName(AxisTiling tiling);

} // namespace sluice

#endif // SLUICE_TILING_PARTITION_H
