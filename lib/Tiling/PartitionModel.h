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

/// One device's time for its share of an operator: roofline and a launch; nothing for what moves no data.
int64_t operatorNs(const ProgramOperator &op, const std::vector<uint32_t> &rules, const PartitionMachine &machine);
int64_t conversionCost(PartitionCost cost, const ProgramTensor &tensor, const std::vector<AxisTiling> &from,
                       const std::vector<AxisTiling> &to, const Mesh &mesh);
int64_t stepsCost(PartitionCost cost, const std::vector<CollectiveStep> &steps, const Mesh &mesh);
/// Differs between any two tilings of a mesh: 5 bits an axis in each number. One says the dimension of kMostTiledDims,
/// three partial kinds or whole, the other the number of blocks.
struct TilingCode {
  uint64_t kinds = 0, blocks = 0;
  auto operator<=>(const TilingCode &) const = default;
};
TilingCode codeOf(const std::vector<AxisTiling> &tilings);
/// The costs of a tiling's operators and conversions, where operators that read the same tiling share a conversion.
int64_t sharedCost(PartitionCost cost, const TensorProgram &program, const PartitionMachine &machine,
                   const Tiling &tiling);
int64_t partBytes(const ProgramTensor &tensor, const std::vector<AxisTiling> &tilings, const Mesh &mesh);

/// The shape that a conversion along `axis` moves in the recursive count: the part that the axes before it leave, and
/// whole dimensions of partial sums.
std::vector<int64_t> shapeWithin(const ProgramTensor &tensor, const std::vector<AxisTiling> &from,
                                 const std::vector<AxisTiling> &to, size_t axis, const Mesh &mesh);

/// The operators [begin, end) during which a tensor is in memory.
struct LiveRange {
  int64_t begin = 0, end = 0;
};
std::vector<LiveRange> liveRanges(const TensorProgram &program);

/// Every tensor whole on every device, every operator replicated.
Tiling replicatedTiling(const TensorProgram &program, size_t axes);

/// Turns the choice of a tiling along some axes, the others given, into a TilingProblem.
/// Each tensor is a node (a state and its next value are one node), each operator is a
/// node, and an edge joins an operator with each of its operands and results.
class PartitionModel {
public:
  /// Which tilings and rules are candidates; an empty member accepts all.
  struct Filter {
    /// A tensor of which it accepts no tiling is whole.
    std::function<bool(TensorId, AxisTiling)> tensor;
    /// The first filter that leaves an operator a rule applies to it; if none does, the operator is replicated.
    std::vector<std::function<bool(OperatorId, uint32_t)>> rules;
  };

  PartitionModel(const TensorProgram &program, const PartitionMachine &machine, PartitionCost cost);

  struct Instance {
    TilingProblem problem;
    std::vector<std::vector<std::vector<AxisTiling>>> tilings; ///< [node of a tensor][strategy][axis]
    std::vector<std::vector<std::vector<uint32_t>>> rules;     ///< [operator][strategy][axis]
    std::vector<bool> isView;                                  ///< Per node: an operator that moves no data.
  };
  /// Which choices an instance leaves open.
  struct Request {
    std::vector<uint32_t> axes; ///< The axes to choose for; the others are as in `given`.
    const Tiling &given;
    size_t mostEntries; ///< The limit of all matrices' entries together.
    std::optional<int64_t> memoryBytes = {};
    Filter filter = {};
    /// Costs are ghost bytes along the single axis, within the operators' parts of the axes before it.
    bool recursive = false;
    /// A tensor that several operators read has a second tiling, that of one converted copy. Its conversion is paid
    /// once, and operators read the copy for nothing. Without this, each operator pays for its own conversion.
    bool sharesCopies = false;
  };
  /// Nothing if the matrices would have more entries than the request allows.
  std::optional<Instance> build(const Request &request);
  Tiling decode(const Instance &instance, const std::vector<uint32_t> &choice) const;
  /// The choice that makes the tiling; nothing if the instance does not contain it.
  std::optional<std::vector<uint32_t>> encode(const Instance &instance, const Tiling &tiling) const;
  /// The sum over operators of the costs of their conversions and their work.
  int64_t charge(const Tiling &tiling);
  /// Whether every device may do all of the operator although it could be divided. A cost that counts bytes alone must
  /// not save them by having every device do everything. If all bytes that are sent count, only work that is negligible
  /// beside the program's greatest operator may be repeated: Megatron repeats layer norms, and the transpose of a
  /// gathered tensor is not gathered again.
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
  std::vector<std::vector<AxisTiling>> splits; ///< Per tensor node: how some rule splits it.
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
  /// The cost for operator `op`, run by `rules`, of `tensor` held as `held`; with `recursiveAxis`, along that axis
  /// alone. `copy` is read for nothing; `held` again if there is none.
  int64_t pays(const ProgramOperator &op, TensorId tensor, const std::vector<uint32_t> &rules,
               const std::vector<AxisTiling> &held, const std::vector<AxisTiling> &copy,
               std::optional<uint32_t> recursiveAxis);
  int64_t work(const ProgramOperator &op, const std::vector<uint32_t> &rules) const;
};

/// The level-by-level dynamic program of SoyBean's one cut (section 4.3), one operator at a time: states are the
/// tilings of tensors that operators before and after have in common. The optimum; nothing where levels are too wide
/// for millions of states.
std::optional<std::vector<uint32_t>> solveByLevels(const TilingProblem &problem, const std::vector<bool> &isOperator);

/// Spartan's greedy (Huang's thesis, figure 2.8): the first `tensors` nodes are decided one by one, those of most
/// adjacent ones first; operators between take their cheapest rules. A view's strategies follow from its neighbour's:
/// costs are looked up behind it. Strategies that use more than the node's least are taken while the sum of that is
/// within `duplicationBytes`.
std::vector<uint32_t> solveSpartan(const TilingProblem &problem, size_t tensors, const std::vector<bool> &isView,
                                   int64_t duplicationBytes);

} // namespace sluice

#endif // SLUICE_LIB_TILING_PARTITIONMODEL_H
