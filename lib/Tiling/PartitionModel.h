//===- PartitionModel.h - Partitioning as tiling problems -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_TILING_PARTITIONMODEL_H
#define SLUICE_LIB_TILING_PARTITIONMODEL_H

#include "sluice/Tiling/Partition.h"
#include "sluice/Tiling/Tiling.h"

#include <functional>
#include <unordered_map>

namespace sluice {

/// One device's time for its share of an operator: roofline and a launch; nothing for what moves no data.
int64_t operatorNs(const ProgramOperator &op, const std::vector<uint32_t> &rules, const PartitionMachine &machine);
int64_t conversionCost(PartitionCost cost, const ProgramTensor &tensor, const std::vector<AxisTiling> &from,
                       const std::vector<AxisTiling> &to, const Mesh &mesh);
int64_t stepsCost(PartitionCost cost, const std::vector<CollectiveStep> &steps, const Mesh &mesh);
/// Differs between any two tilings of a mesh: 5 bits an axis, for kMostTiledDims dimensions, three partial kinds and
/// whole.
uint64_t codeOf(const std::vector<AxisTiling> &tilings);
int64_t partBytes(const ProgramTensor &tensor, const std::vector<AxisTiling> &tilings, const Mesh &mesh);

/// What a conversion along `axis` is of, in the recursive count: the part that the axes before it leave where it ends,
/// all of what is partial.
std::vector<int64_t> shapeWithin(const ProgramTensor &tensor, const std::vector<AxisTiling> &from,
                                 const std::vector<AxisTiling> &to, size_t axis, const Mesh &mesh);

/// Operators, [begin, end), during which a tensor is in memory.
struct LiveRange {
  int64_t begin = 0, end = 0;
};
std::vector<LiveRange> liveRanges(const TensorProgram &program);

/// Everything whole, everywhere.
Tiling replicatedTiling(const TensorProgram &program, size_t axes);

/// Turns a choice along some axes, the others given, into a TilingProblem: a node a
/// tensor (a state and its next value are one) and an operator, an edge where a
/// tensor is an operand or a result.
class PartitionModel {
public:
  /// What a candidate may be; all where empty.
  struct Filter {
    /// What divides so nowhere is whole.
    std::function<bool(TensorId, AxisTiling)> tensor;
    /// The first that leaves an operator a rule with parts that it allows; the replicated one where none does.
    std::vector<std::function<bool(OperatorId, uint32_t)>> rules;
  };

  PartitionModel(const TensorProgram &program, const PartitionMachine &machine, PartitionCost cost);

  struct Instance {
    TilingProblem problem;
    std::vector<std::vector<std::vector<AxisTiling>>> tilings; ///< [node of a tensor][strategy][axis]
    std::vector<std::vector<std::vector<uint32_t>>> rules;     ///< [operator][strategy][axis]
    std::vector<bool> isView;                                  ///< Per node: an operator that moves no data.
  };
  /// `recursive`: of one axis: ghost bytes within the operators' parts of the axes before it.
  /// Nothing where there would be more than `mostEntries` entries in all matrices.
  std::optional<Instance> build(const std::vector<uint32_t> &axes, const Tiling &given, const Filter &filter,
                                bool recursive, std::optional<int64_t> memoryBytes, size_t mostEntries);
  Tiling decode(const Instance &instance, const std::vector<uint32_t> &choice) const;
  /// The choice that a tiling is; nothing where it is none of the instance's.
  std::optional<std::vector<uint32_t>> encode(const Instance &instance, const Tiling &tiling) const;
  /// The sum over operators of what each pays for its conversions and its work.
  int64_t charge(const Tiling &tiling);

private:
  const TensorProgram &program;
  const PartitionMachine &machine;
  PartitionCost cost;
  std::vector<uint32_t> nodeOf; ///< Per tensor.
  uint32_t numTensorNodes = 0;
  std::vector<std::vector<uint32_t>> dims; ///< Per tensor node: what rules split.
  std::vector<uint32_t> shapeOf;           ///< Per tensor: equal for equal shapes and element sizes.
  std::vector<uint32_t> kindOf;            ///< Per operator: equal where rules, shapes, work and who is read twice are.
  std::unordered_map<uint64_t, std::unordered_map<uint64_t, int64_t>> known;

  void findKinds();
  int64_t convert(TensorId tensor, const std::vector<AxisTiling> &from, const std::vector<AxisTiling> &to);
  /// What operator `op` by `rules` pays for `tensor` held as `held`; or, recursive, along one axis alone.
  int64_t pays(const ProgramOperator &op, TensorId tensor, const std::vector<uint32_t> &rules,
               const std::vector<AxisTiling> &held, std::optional<uint32_t> recursiveAxis);
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
