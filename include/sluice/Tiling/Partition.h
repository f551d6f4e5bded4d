//===- Partition.h - Splitting a program over devices -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Data, model and hybrid parallelism as one search (Wang, Huang and Li: "Unifying Data, Model and Hybrid Parallelism in
// Deep Learning via Tensor Tiling", 2018; called SoyBean below). A partition gives every tensor a tiling and every
// operator a rule (TilingRule.h). A tensor is converted where its tiling and the tiling that a rule needs differ. The
// search minimizes the cost of these conversions.
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
#include <map>
#include <optional>

namespace sluice {

/// A mesh of identical devices, and the rates and the memory of each device.
struct PartitionMachine {
  Mesh mesh;
  double flopsPerSec = 1e12;
  double memoryBytesPerSec = 1e11;
  int64_t launchOverheadNs = 10'000;
  int64_t capacityBytes = std::numeric_limits<int64_t>::max(); ///< Memory of one device.
  std::map<std::string, double> efficiency = {};               ///< See Device::efficiency.
};

/// The first `devices` computing devices of a machine as a mesh with one axis for each
/// prime factor of `devices`. The rate of an axis is that of its slowest link: the rate that this link has in one
/// direction while both directions are busy. A machine with a single computing device is divided into `devices` equal
/// shares. Fails if the machine has fewer devices, if they differ, or if two of them that communicate have no link.
Expected<PartitionMachine> partitionMachine(const Machine &machine, int64_t devices);

/// The measure of a conversion's cost.
enum class PartitionCost : uint8_t {
  Paper,  ///< Bytes as SoyBean's example counts them, see paperBytes.
  Ghost,  ///< Bytes that a device needs and does not have, see ghostBytes.
  Volume, ///< Bytes that the collectives send.
  Time,   ///< Nanoseconds: collectives by the links' rates, operators by the roofline model.
};

/// Each tensor is held in one tiling. A conversion goes from the tiling that the producer writes to the held one, or
/// from the held one to a tiling that operators read. Operators that read the same tiling share the conversion.
struct PlannedConversion {
  TensorId tensor;
  OperatorId op;         ///< The producer, or the first operator that reads the converted tensor.
  bool isResult = false; ///< Whether `op` is the producer.
  std::vector<AxisTiling> from, to;
  std::vector<CollectiveStep> steps; ///< Exchanges of halos come last.
};

/// The costs of a tiling.
struct PartitionReport {
  int64_t paperBytes = 0, ghostBytes = 0;
  /// A sum over the axes, which are nested: the first axis of the mesh is the outermost one. Each axis adds the ghost
  /// bytes that it causes in one part, multiplied by the number of parts that the axes before it make. (SoyBean's
  /// recursion c_k = delta_k + 2 c_{k-1}, where cut k is the outermost.)
  int64_t recursiveGhostBytes = 0;
  int64_t bytes = 0;                          ///< Bytes that all devices together send.
  std::array<int64_t, 6> bytesByCollective{}; ///< The part of `bytes` of each CollectiveKind.
  int64_t computeNs = 0, communicationNs = 0; ///< Times of one device, as if nothing overlapped.
  /// Simulated time of a step, in which collectives overlap with operators that do not wait for them.
  int64_t makespanNs = 0;
  int64_t peakBytes = 0; ///< Peak memory of one device.
  std::vector<PlannedConversion> conversions;
};
/// Measures a valid tiling; arithmetic saturates.
PartitionReport measurePartition(const TensorProgram &program, const PartitionMachine &machine, const Tiling &tiling);

struct PartitionParams {
  std::string solver = "best"; ///< One of partitionSolverNames().
  PartitionCost cost = PartitionCost::Time;
  /// Memory limit of one device for its tensors and for their converted copies. If it is absent, the limit is
  /// PartitionMachine::capacityBytes.
  std::optional<int64_t> memoryBytes;
  /// Extra bytes of one device that `spartan` may use for replicated tensors.
  int64_t duplicationBytes = 0;
  /// Budget of the searches of `best`.
  Budget budget = {};
  uint64_t seed = 1;
  int threads = 1;
};

/// The result of another solver, for comparison.
struct PartitionBaseline {
  std::string solver;
  int64_t chargedCost = 0;
  PartitionReport report;             ///< `conversions` is empty.
  std::vector<std::string> gathering; ///< See PartitionSolution.
};

struct PartitionSolution {
  Tiling tiling;
  PartitionReport report;
  /// The sum of the conversions' costs over operators, counted as if operators shared no conversion.
  int64_t chargedCost = 0;
  /// Whether it is proven that no tiling within the memory limit has a lower chargedCost. The proof covers only the
  /// rules that the solver considers. If costs are in bytes, the solver considers for each operator only those
  /// combinations of rules that divide the operator along the greatest possible number of axes.
  bool proven = false;
  std::string solver;
  /// For `data-parallel` and `model-parallel`: the operators that have no rule with which they could read only a share
  /// of the batch, or only a part of a weight. They read the whole tensor.
  std::vector<std::string> gathering;
  std::vector<PartitionBaseline> baselines; ///< For `best`: the results of the other solvers.
};

/// The names of solvers, the default first.
///  best            Solves all axes at once by elimination, if the tables are small enough. If
///                  there is no such result, if it is not proven optimal, or if the cost is
///                  PartitionCost::Time, `best` also improves other tilings. It starts from several tilings: the
///                  results of the other solvers, and one that is found by solving the axes one after another. With n
///                  operators, only the best 40,000 / (n + 1) of these tilings are used, but at least two. From each
///                  start, one axis at a time is solved with the others fixed, until no axis improves or four rounds
///                  are over. These searches charge each operator for its conversions. With PartitionCost::Volume, two
///                  more searches charge a converted copy once, even if several operators read it. One solves all axes
///                  at once, if the tables are small enough. The other solves one axis at a time, as above, from the
///                  tilings that were found so far.
///                  Of all these tilings within the memory limit, `best` returns one. For PartitionCost::Time, it has
///                  the least makespan. Otherwise it has the fewest operators that several devices repeat; for
///                  PartitionCost::Volume, operators of negligible work may be repeated and do not count. Among equals,
///                  it has the fewest sent bytes (PartitionReport::bytes) for PartitionCost::Volume, and the least
///                  chargedCost for the other two costs.
///  soybean         SoyBean's k cuts. Each cut is solved by dynamic programming over levels of
///                  the graph, or by solveTiling if levels are too wide. It minimizes
///                  recursive ghost bytes, whichever PartitionCost is set.
///  spartan         Spartan's greedy algorithm (Huang's thesis, 3.4): one split over all
///                  devices. Tensors with the most neighbours are decided first.
///  data-parallel   Weights and optimizer states are replicated. Tensors that carry the batch
///                  (TilingPropagation from the first dimension of the inputs) are split along
///                  it, and their operators run on a share of it. Gradients are summed over
///                  devices by an all-reduce, or by reduce-scatter, update of parts and
///                  all-gather, which sends the same number of bytes. The tilings of gradients and of
///                  updates are chosen by least cost.
///  model-parallel  Weights of rank 2 and more are split along the cheapest dimension. On each device, an
///                  operator that reads such a weight computes with the device's part of the weight. The
///                  batch is replicated.
std::vector<std::string> partitionSolverNames();

/// Fails on an invalid program or mesh, on an unknown solver, and if `best` finds no tiling within
/// the memory limit. The other solvers ignore the memory limit. The result passes
/// validatePartition.
Expected<PartitionSolution> solvePartition(const TensorProgram &program, const PartitionMachine &machine,
                                           const PartitionParams &params = {});

/// Checks a solution independently of the solvers. Four things are checked: the tiling is valid; the steps of every
/// conversion, halos included, lead from the tiling that exists to the tiling that is read; each step states the right
/// number of bytes, and these numbers add up to the bytes of the report; and the peak memory, counted independently,
/// equals the reported one and is within the memory limit.
Status validatePartition(const TensorProgram &program, const PartitionMachine &machine,
                         const PartitionSolution &solution, std::optional<int64_t> memoryBytes = {});

/// { schema, program, solver, mesh: [{name, size}], tensors: [{name, shape, tiling}],
/// operators: [{name, rules}], conversions: [{tensor, operator, from, to, steps:
/// [{collective, axes, bytes}]}], summary }. A tiling has an entry for each axis: "whole",
/// "split 0", "split 1 in 3 blocks" or "partial sum".
Json partitionToJson(const TensorProgram &program, const PartitionMachine &machine, const PartitionSolution &solution);
/// The summary of the solution and of its baselines: makespan, times, bytes by collective, counts and memory.
Json partitionSummaryToJson(const PartitionMachine &machine, const PartitionSolution &solution);
/// The text of one axis' tiling, such as "split 0".
std::string tilingName(AxisTiling tiling);

} // namespace sluice

#endif // SLUICE_TILING_PARTITION_H
