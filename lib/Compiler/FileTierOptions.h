//===- FileTierOptions.h - Limits of the memory that computes ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_FILETIEROPTIONS_H
#define SLUICE_LIB_COMPILER_FILETIEROPTIONS_H

#include "sluice/Compiler/Options.h"
#include "sluice/Machine/Machine.h"
#include "sluice/Search/Search.h"

#include <string>

namespace sluice {

/// Adds the measured disk to a machine in which only processors compute, if the options limit the host's memory.
Status attachDiskFor(Machine &machine, const std::string &modelPath, const CompilerOptions &options);

/// Applies the options that limit memory. If the host's memory streams from a file, a limit in bytes includes
/// `processBytes`, which the process that runs the model occupies itself. Fails if less than the model's least is left.
Status limitMemory(SearchProblem &problem, const std::vector<std::string> &limits, int64_t processBytes);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_FILETIEROPTIONS_H
