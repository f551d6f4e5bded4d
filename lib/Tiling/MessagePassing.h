//===- MessagePassing.h - Bounds for a tiling problem -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_TILING_MESSAGEPASSING_H
#define SLUICE_LIB_TILING_MESSAGEPASSING_H

#include "TilingModel.h"

namespace sluice {

/// Sequential tree-reweighted message passing (TRW-S: Kolmogorov, "Convergent
/// Tree-Reweighted Message Passing for Energy Minimization", PAMI 2006, sections 4
/// and 6) in the order of node numbers. Multipliers relax the memory limit and follow
/// Polyak's subgradient step. Messages stay between calls.
class MessagePassing {
public:
  explicit MessagePassing(const TilingModel &model);

  /// One forward and one backward pass with the present multipliers.
  void sweep();
  /// A lower bound of the cost of all choices within the memory: the bound of the last
  /// sweep minus the value of the limit at the multipliers.
  double bound() const { return lowerBound; }
  /// The choice that follows from the messages, node by node.
  const std::vector<uint32_t> &rounded() const { return choice; }

  std::vector<double> multipliers; ///< For each moment, not negative.
  /// Takes a step that would reach `target` if the dual were linear.
  void moveMultipliers(double target);

private:
  const TilingModel &model;
  std::vector<size_t> messageFirst; ///< For each entry of the adjacency: the message from the neighbour to the node.
  std::vector<size_t> reverse;      ///< For each entry: the entry of the same edge at the neighbour.
  std::vector<size_t> entryFirst;   ///< For each node: its first entry.
  std::vector<double> share;        ///< For each node: 1 / max(number of earlier neighbours, number of later ones).
  std::vector<double> messages;
  std::vector<double> belief, part;
  std::vector<double> prices; ///< Prefix sums of multipliers.
  std::vector<uint32_t> choice;
  double lowerBound = 0;

  void gather(uint32_t node);
  /// Computes the message from the node to the neighbour of an entry, normalises its minimum to zero, and returns the
  /// subtracted minimum.
  double tell(uint32_t node, size_t entry, const TilingModel::Neighbour &other);
};

} // namespace sluice

#endif // SLUICE_LIB_TILING_MESSAGEPASSING_H
