//===- GpuLibraries.h - Which kernels are a library's -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_GPULIBRARIES_H
#define SLUICE_LIB_COMPILER_GPULIBRARIES_H

#include "passes/Bridge/GraphBridge.h"
#include "sluice/Cost/Profile.h"

#include <map>
#include <string>
#include <tuple>

namespace sluice {

/// Nanoseconds of kernels that a library might compute, by their model node, operator
/// and result's elements: a node's gradients are its kernels too.
using KernelTimes = std::map<std::tuple<std::string, std::string, int64_t>, int64_t>;

/// Those a profile has of `device`; of kernels that are alike in all of these none.
KernelTimes measuredKernels(const BridgedGraph &bridge, const Profile &profile, const Device &device);

/// Marks the operators that GPUs ask a library for first (LibraryOpInterface): all that
/// it has a form for where `always`; else where it was faster, and where not both were
/// measured, from 2^28 operations on.
void chooseLibraries(mlir::func::FuncOp function, bool always, const KernelTimes &byLibrary,
                     const KernelTimes &byGrids);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_GPULIBRARIES_H
