//===- MemoryUse.h - What fits where ----------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_PLACEMENT_MEMORYUSE_H
#define SLUICE_LIB_PLACEMENT_MEMORYUSE_H

#include "sluice/Placement/Placement.h"

#include <unordered_set>

namespace sluice {

/// placementBytes of operators that are placed one by one. Takes no time if the problem has
/// no capacities.
class MemoryUse {
public:
  explicit MemoryUse(const PlacementProblem &problem);

  bool limited() const { return !problem->capacityBytes.empty(); }
  void add(OperatorId op, DeviceId device);
  /// The bytes by which a memory would be too small if these operators were also on the
  /// device. The operators fit if the number is not positive.
  int64_t excessWith(std::span<const OperatorId> ops, DeviceId device) const;

private:
  int64_t workingSet(OperatorId op) const;
  bool stays(TensorId input, MemoryId memory) const;

  const PlacementProblem *problem;
  std::vector<int64_t> residentBytes;                    ///< For each memory.
  std::vector<int64_t> workingBytes;                     ///< For each device: its largest working set.
  std::vector<std::unordered_set<uint32_t>> residentIds; ///< For each memory: the counted tensors.
};

} // namespace sluice

#endif // SLUICE_LIB_PLACEMENT_MEMORYUSE_H
