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
  double hitRate = 0;                 ///< That the simulator assumes.
  std::vector<int64_t> capacityBytes; ///< Per memory: the limits for which the number is chosen.
};

/// The slots for experts (--dataflow-pool-experts) within the limits of memory of the options. Nothing on machines
/// where parameters do not stream from a file, for programs without experts, where all parameters fit, and where not
/// even one expert fits beside what an operator needs. Needs the graph and the costs of `fused`.
///
/// All other parameters are read in each step, and an expert in some: they come first. What they leave of the memory
/// has slots, at least two of them where two fit, so that one expert is read while another computes.
std::optional<ExpertSlots> chooseExpertSlots(const Fused &fused, const CompilerOptions &options);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_EXPERTSLOTS_H
