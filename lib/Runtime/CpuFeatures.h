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
/// of which "+name" is required and "-name" is ignored, and levels ("x86-64-v3"). Fails and names the first one that is
/// unknown, or that this CPU or its operating system lacks. SLUICE_CPU_FEATURES lists features that a CPU has though
/// its operating system, or an emulator, does not report them: "+v,+zvl256b".
Status checkCpuFeatures(std::string_view features);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_CPUFEATURES_H
