//===- PartitionModel.h - Partitioning as tiling problems -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_TILING_PARTITIONMODEL_H
#define SLUICE_LIB_TILING_PARTITIONMODEL_H

#include "sluice/Tiling/Partition.h"
#include "sluice/Tiling/Tiling.h"

#include <array>
#include <compare>
#include <functional>
#include <unordered_map>

namespace sluice {

/// The time of one device for its share of an operator: the roofline time and the launch overhead. 0 for an operator
/// that moves no data.
int64_t operatorNs(const ProgramOperator &op, const std::vector<uint32_t> &rules, const PartitionMachine &machine);
int64_t conversionCost(PartitionCost cost, const ProgramTensor &tensor, const std::vector<AxisTiling> &from,
                       const std::vector<AxisTiling> &to, const Mesh &mesh);
int64_t stepsCost(PartitionCost cost, const std::vector<CollectiveStep> &steps, const Mesh &mesh);
/// A code that differs between any two tilings on a mesh. Each of its two numbers has 5 bits for each axis. In the
/// first number, they are the dimension (of kMostTiledDims), one of three kinds of partial results, or replicated. In
/// the second number, they are the number of blocks.
struct TilingCode {
  uint64_t kinds = 0, blocks = 0;
  auto operator<=>(const TilingCode &) const = default;
};
TilingCode codeOf(const std::vector<AxisTiling> &tilings);
/// The costs of a tiling's operators and conversions, where operators that read the same tiling share a conversion.
int64_t sharedCost(PartitionCost cost, const TensorProgram &program, const PartitionMachine &machine,
                   const Tiling &tiling);
int64_t partBytes(const ProgramTensor &tensor, const std::vector<AxisTiling> &tilings, const Mesh &mesh);

/// The shape that a conversion along `axis` moves in the recursive count. It is the part that remains after the axes
/// before it; dimensions of partial sums are whole.
std::vector<int64_t> shapeWithin(const ProgramTensor &tensor, const std::vector<AxisTiling> &from,
                                 const std::vector<AxisTiling> &to, size_t axis, const Mesh &mesh);

/// The operators [begin, end) during which a tensor is in memory.
struct LiveRange {
  int64_t begin = 0, end = 0;
};
std::vector<LiveRange> liveRanges(const TensorProgram &program);

/// The tiling with every tensor whole on every device, and every operator replicated.
Tiling replicatedTiling(const TensorProgram &program, size_t axes);

/// Turns the choice of a tiling along some axes, with given tilings along the other axes, into a TilingProblem. Each
/// tensor is a node (a state and its next value are one node), each operator is a node, and an edge joins an operator
/// with each of its operands and results.
class PartitionModel {
public:
  /// Which tilings and rules are candidates; an empty member accepts all.
  struct Filter {
    /// A tensor is whole if the filter accepts none of its tilings.
    std::function<bool(TensorId, AxisTiling)> tensor;
    /// An operator uses the first filter that accepts at least one of its rules. If no filter does, the operator is
    /// replicated.
    std::vector<std::function<bool(OperatorId, uint32_t)>> rules;
  };

  PartitionModel(const TensorProgram &program, const PartitionMachine &machine, PartitionCost cost);

  struct Instance {
    TilingProblem problem;
    std::vector<std::vector<std::vector<AxisTiling>>> tilings; ///< [node of a tensor][strategy][axis]
    std::vector<std::vector<std::vector<uint32_t>>> rules;     ///< [operator][strategy][axis]
    std::vector<bool> isView;                                  ///< Per node: an operator that moves no data.
  };
  /// The choices that an instance leaves open.
  struct Request {
    std::vector<uint32_t> axes; ///< The axes to choose for; the others are as in `given`.
    const Tiling &given;
    size_t mostEntries; ///< The limit of all matrices' entries together.
    std::optional<int64_t> memoryBytes = {};
    Filter filter = {};
    /// Costs are ghost bytes along the single axis, within the operators' parts of the axes before it.
    bool recursive = false;
    /// True: a tensor that several operators read also has the tiling of one converted copy. The conversion to this
    /// copy is paid once, and operators read the copy at no cost. False: each operator pays for its own conversion.
    bool sharesCopies = false;
  };
  /// Nothing if the matrices would have more entries than the request allows.
  std::optional<Instance> build(const Request &request);
  Tiling decode(const Instance &instance, const std::vector<uint32_t> &choice) const;
  /// The choice that makes the tiling; nothing if the instance does not contain it.
  std::optional<std::vector<uint32_t>> encode(const Instance &instance, const Tiling &tiling) const;
  /// The sum over operators of the costs of their conversions and their work.
  int64_t charge(const Tiling &tiling);
  /// Whether every device may compute the whole operator although the operator could be divided. A cost that counts
  /// bytes alone must not save them by having every device do everything. If all bytes that are sent count, only work
  /// that is negligible beside the program's greatest operator may be repeated: Megatron repeats layer norms, and the
  /// transpose of a gathered tensor is not gathered again.
  bool mayRepeat(const ProgramOperator &op) const {
    return cost == PartitionCost::Time || (cost == PartitionCost::Volume && op.flops <= negligibleFlops);
  }

private:
  class Builder;

  const TensorProgram &program;
  const PartitionMachine &machine;
  PartitionCost cost;
  int64_t negligibleFlops = 0;
  std::vector<uint32_t> nodeOf; ///< Per tensor.
  uint32_t numTensorNodes = 0;
  std::vector<std::vector<AxisTiling>> splits; ///< Per tensor node: the splits that rules use for it.
  std::vector<uint32_t> shapeOf;               ///< Per tensor: equal for equal shapes and element sizes.
  std::vector<uint32_t> kindOf; ///< Per operator: equal if rules, shapes, work and repeated operands are equal.
  struct HashCodes {
    size_t operator()(const std::array<uint64_t, 5> &codes) const {
      uint64_t hash = 0;
      for (uint64_t code : codes)
        hash = (hash ^ code ^ code >> 29) * 0x9e3779b97f4a7c15U;
      return hash ^ hash >> 32;
    }
  };
  std::unordered_map<std::array<uint64_t, 5>, int64_t, HashCodes> known; ///< By two TilingCodes and shapeOf.

  void findKinds();
  int64_t convert(TensorId tensor, const std::vector<AxisTiling> &from, const std::vector<AxisTiling> &to);
  /// The cost for operator `op`, which runs by `rules`, of a tensor that is held in tiling `held`; with
  /// `recursiveAxis`, only along that axis. Reading the tiling `copy` costs nothing; without a copy, `copy` equals
  /// `held`.
  int64_t pays(const ProgramOperator &op, TensorId tensor, const std::vector<uint32_t> &rules,
               const std::vector<AxisTiling> &held, const std::vector<AxisTiling> &copy,
               std::optional<uint32_t> recursiveAxis);
  int64_t work(const ProgramOperator &op, const std::vector<uint32_t> &rules) const;
};

/// The level-by-level dynamic program of SoyBean's one cut (section 4.3), one operator at a time: states are the
/// tilings of the tensors that operators before and after a position have in common. Returns the optimum, or nothing if
/// levels are so wide that there would be millions of states.
std::optional<std::vector<uint32_t>> solveByLevels(const TilingProblem &problem, const std::vector<bool> &isOperator);

/// Spartan's greedy algorithm (Huang's thesis, figure 2.8). The first `tensors` nodes are decided one by one; nodes
/// with more neighbours come first. Operators between them use their cheapest rules. The strategies of a view (an
/// operator that moves no data) follow from its neighbour's strategies, so the costs behind the view are used. A
/// strategy that uses more memory than the node's smallest strategy is used only while the sum of these extra bytes is
/// within `duplicationBytes`.
std::vector<uint32_t> solveSpartan(const TilingProblem &problem, size_t tensors, const std::vector<bool> &isView,
                                   int64_t duplicationBytes);

} // namespace sluice

#endif // SLUICE_LIB_TILING_PARTITIONMODEL_H
