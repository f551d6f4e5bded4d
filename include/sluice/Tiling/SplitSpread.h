//===- SplitSpread.h - What the splits of some tensors lead to --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_SPLITSPREAD_H
#define SLUICE_TILING_SPLITSPREAD_H

#include "sluice/Tiling/TensorProgram.h"

#include <functional>
#include <optional>
#include <set>

namespace sluice {

/// Splits of some tensors spread through a program by the operators' own rules,
/// forwards and backwards: an operator runs by the rule that splits what is split
/// already, and what else that rule splits is split too (sharding propagation: Xu et
/// al., "GSPMD", 2021, section 3.5). No two rules of an operator split one dimension of a
/// tensor, so each of its tensors asks for at most one; where they ask for several, or
/// for one that does not suit them all, nothing spreads through it. Partial results are
/// whole from there on. Of a program that passes check(), which must outlive the
/// object. Deterministic.
class SplitSpread {
public:
  /// What `stays` is not split, whatever rules say; nothing where it is empty.
  explicit SplitSpread(const TensorProgram &program, std::function<bool(TensorId)> stays = {});

  /// Splits a tensor along a dimension that it has, and whatever follows. A tensor that is split already stays as it
  /// is.
  void split(TensorId tensor, uint32_t dim);

  /// Along which dimension a tensor is split.
  std::optional<uint32_t> dimOf(TensorId tensor) const { return dims[tensor.index()]; }
  /// Whether an operator that runs on parts reads it, whole or split, or what it is made into.
  bool isReached(TensorId tensor) const { return reached[tensor.index()]; }
  /// The rules by which an operator keeps something split as it is: none where none of its tensors is, or none of its
  /// rules does; several where no one rule suits them all.
  std::vector<uint32_t> rulesOf(OperatorId op) const;
  /// Over all axes of a mesh alike: what is split, and operators by their one rule for that; else whole.
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

#endif // SLUICE_TILING_SPLITSPREAD_H
