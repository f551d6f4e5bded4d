//===- CpuFeatures.h - What this CPU can run --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CPUFEATURES_H
#define SLUICE_RUNTIME_CPUFEATURES_H

#include "Result.h"

#include <string_view>

namespace sluice::runtime {

/// Checks a compiled model's `cpu_features`: comma-separated LLVM feature names,
/// each "+name" one that must be there ("-name" asks nothing), and levels
/// ("x86-64-v3"). Fails naming the first that this CPU, or its operating system,
/// lacks, or that is not known here. SLUICE_CPU_FEATURES lists features that a CPU has
/// though its operating system, or an emulator, does not report them: "+v,+zvl256b".
Status checkCpuFeatures(std::string_view features);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_CPUFEATURES_H
