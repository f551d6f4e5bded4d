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
/// A rule of an operator matches a split tensor if the rule splits this tensor along the
/// same dimension. If exactly one rule matches tensors of the operator, the operator runs by
/// this rule, and the other tensors that the rule splits become split too. If no rule or
/// several rules match, nothing spreads through the operator. No tensor is split in strides
/// (AxisTiling::blocks). Partial results count as whole tensors. The program must pass check() and outlive the object.
/// Deterministic.
class TilingPropagation {
public:
  /// Propagation never splits a tensor for which `stays` is true. With an empty function, it may split every tensor.
  explicit TilingPropagation(const TensorProgram &program, std::function<bool(TensorId)> stays = {});

  /// Splits a tensor along one of its dimensions and spreads that split. A tensor that is split already keeps its
  /// split.
  void split(TensorId tensor, uint32_t dim);

  /// The dimension along which a tensor is split; nothing for a whole tensor.
  std::optional<uint32_t> dimOf(TensorId tensor) const { return dims[tensor.index()]; }
  /// True for a split tensor, for the unsplit operands and results of operators through which a split has spread, and
  /// for all tensors from which these unsplit tensors are computed.
  bool isReached(TensorId tensor) const { return reached[tensor.index()]; }
  /// The rules that match at least one split tensor of the operator, ascending.
  std::vector<uint32_t> rulesOf(OperatorId op) const;
  /// A tiling that is the same along all axes of a mesh. Split tensors are split, an operator for which rulesOf() has
  /// exactly one rule runs by this rule, and everything else is whole.
  Tiling tiling(size_t axes) const;

private:
  const TensorProgram &program;
  std::function<bool(TensorId)> stays;
  std::vector<std::optional<uint32_t>> dims;
  std::vector<bool> reached;
  std::vector<std::vector<uint32_t>> users; ///< Per tensor: the operators that read or make it.
  std::vector<uint32_t> producer;           ///< Per tensor: its producer; the number of operators if there is none.
  std::set<uint32_t> open;                  ///< Operators through which a split may spread.

  void note(TensorId tensor, AxisTiling tiling);
  void reach(TensorId tensor);
  void spread(uint32_t op);
};

} // namespace sluice

#endif // SLUICE_TILING_TILINGPROPAGATION_H
