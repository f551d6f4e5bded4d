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
/// and 6) along the nodes' numbers, with the memory relaxed by multipliers that
/// follow Polyak's subgradient step. Messages stay between calls.
class MessagePassing {
public:
  explicit MessagePassing(const TilingModel &model);

  /// One pass forth and one back under the multipliers as they are.
  void sweep();
  /// No choice within the memory costs less: the last sweep's bound less what the
  /// multipliers charge for the limit.
  double bound() const { return lowerBound; }
  /// The choice read off the messages, node by node.
  const std::vector<uint32_t> &rounded() const { return choice; }

  std::vector<double> multipliers; ///< Per moment, not negative.
  /// A step that would reach `target` were the dual linear.
  void moveMultipliers(double target);

private:
  const TilingModel &model;
  std::vector<size_t> messageFirst; ///< Per entry of the adjacency: what the neighbour says to the node.
  std::vector<size_t> reverse;      ///< Per entry: the entry of the same edge at the neighbour.
  std::vector<size_t> entryFirst;   ///< Per node: its first entry.
  std::vector<double> share;        ///< Per node: one over the most of earlier and later neighbours.
  std::vector<double> messages;
  std::vector<double> belief, part;
  std::vector<double> prices; ///< Prefix sums of multipliers.
  std::vector<uint32_t> choice;
  double lowerBound = 0;

  void gather(uint32_t node);
  /// Says the neighbour of an entry what the node knows; returns what was taken off.
  double tell(uint32_t node, size_t entry, const TilingModel::Neighbour &other);
};

} // namespace sluice

#endif // SLUICE_LIB_TILING_MESSAGEPASSING_H
