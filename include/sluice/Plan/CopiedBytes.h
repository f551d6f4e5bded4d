//===- CopiedBytes.h - Bytes that a step copies, by direction ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Memories have levels: files are below the host's memory, and the host's memory is below the memories of accelerators.
// A copy to a higher level brings a tensor closer to the devices that compute.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLAN_COPIEDBYTES_H
#define SLUICE_PLAN_COPIEDBYTES_H

#include "sluice/Plan/Plan.h"

namespace sluice {

/// Files have the lowest level, the host's memory has the next one, and memories of accelerators have the highest
/// level. `In` is a copy to a higher level, `Out` a copy to a lower level, and `Between` a copy between two memories of
/// one level.
enum class CopyDirection : uint8_t { In, Out, Between };

CopyDirection copyDirection(const Machine &machine, MemoryId from, MemoryId to);
/// The direction of a copy of the plan.
CopyDirection copyDirection(const Machine &machine, const Plan &plan, const Command &copy);

/// Bytes that copies move. Each copy counts with the size of its tensor (Tensor::bytes), even if the address range that
/// holds the tensor (Residency::bytes) is larger. Sums saturate.
struct CopiedBytes {
  int64_t in = 0;      ///< Bytes from the host's memory to accelerators.
  int64_t out = 0;     ///< Bytes from accelerators to the host's memory.
  int64_t between = 0; ///< Between accelerators, and between files.
  int64_t read = 0;    ///< Bytes from files to other memories.
  int64_t written = 0; ///< Bytes from other memories to files.
};

/// Counts the bytes of all copies of a plan in O(commands).
CopiedBytes copiedBytes(const Graph &graph, const Machine &machine, const Plan &plan);

} // namespace sluice

#endif // SLUICE_PLAN_COPIEDBYTES_H
