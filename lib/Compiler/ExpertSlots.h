//===- ExpertSlots.h - How many experts stay in memory ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_EXPERTSLOTS_H
#define SLUICE_LIB_COMPILER_EXPERTSLOTS_H

#include "sluice/Compiler/Phases.h"

#include <optional>

namespace sluice {

struct ExpertSlots {
  int64_t count = 0;
  double hitRate = 0;                 ///< The hit rate that the simulator assumes.
  std::vector<int64_t> capacityBytes; ///< Per memory: the limits for which the number is chosen.
};

/// The slots for experts (--dataflow-pool-experts) within the limits of memory of the options. Returns nothing without
/// a limit of memory, if parameters do not stream from a file, with several ranks, if the program has no experts, if
/// all parameters fit, or if no expert fits beside the largest operator. Needs the graph and the costs of `fused`.
///
/// All other parameters are read in each step, and an expert in some: they come first. What they leave of the memory
/// has slots, at least two of them where two fit, so that one expert is read while another computes.
std::optional<ExpertSlots> chooseExpertSlots(const Fused &fused, const CompilerOptions &options);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_EXPERTSLOTS_H
