//===- TilingPropagation.h - Splits spread by rules -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_TILINGPROPAGATION_H
#define SLUICE_TILING_TILINGPROPAGATION_H

#include "sluice/Tiling/TensorProgram.h"

#include <functional>
#include <optional>
#include <set>

namespace sluice {

/// Spreads the splits of some tensors through a program by the operators' own rules,
/// forwards and backwards (sharding propagation: Xu et al., "GSPMD", 2021, section 3.5).
/// An operator runs by the rule that splits its already split tensors, and the other
/// tensors that this rule splits become split too. No two rules of an operator split one
/// dimension of a tensor, so each tensor asks for at most one rule; if an operator's
/// tensors ask for several rules, or for one that does not suit them all, nothing spreads
/// through the operator. Partial results count as whole. The program passes check() and
/// outlives the object. Deterministic.
class TilingPropagation {
public:
  /// Tensors for which `stays` is true are never split; an empty function holds none back.
  explicit TilingPropagation(const TensorProgram &program, std::function<bool(TensorId)> stays = {});

  /// Splits a tensor along one of its dimensions and spreads that split. A tensor that is split already keeps its
  /// split.
  void split(TensorId tensor, uint32_t dim);

  /// The dimension along which a tensor is split; nothing for a whole tensor.
  std::optional<uint32_t> dimOf(TensorId tensor) const { return dims[tensor.index()]; }
  /// Whether an operator that runs on parts reads the tensor, directly or through other operators.
  bool isReached(TensorId tensor) const { return reached[tensor.index()]; }
  /// The rules by which an operator keeps its split tensors split. Empty if none of its tensors is split or no rule
  /// fits; several if no single rule suits all its tensors.
  std::vector<uint32_t> rulesOf(OperatorId op) const;
  /// The tiling that splits alike along all axes of a mesh: split tensors, operators with exactly one rule run by it,
  /// and everything else whole.
  Tiling tiling(size_t axes) const;

private:
  const TensorProgram &program;
  std::function<bool(TensorId)> stays;
  std::vector<std::optional<uint32_t>> dims;
  std::vector<bool> reached;
  std::vector<std::vector<uint32_t>> users; ///< Per tensor: the operators that read or make it.
  std::vector<uint32_t> producer;           ///< Per tensor; an operator that does not exist where there is none.
  std::set<uint32_t> open;                  ///< Operators to look at.

  void note(TensorId tensor, AxisTiling tiling);
  void reach(TensorId tensor);
  void spread(uint32_t op);
};

} // namespace sluice

#endif // SLUICE_TILING_TILINGPROPAGATION_H
