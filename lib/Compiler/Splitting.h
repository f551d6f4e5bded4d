//===- Splitting.h - Which operators run as several -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_SPLITTING_H
#define SLUICE_LIB_COMPILER_SPLITTING_H

#include "sluice/Compiler/Phases.h"

namespace sluice {

/// Plans the program without splits. Then tries splits of the operators that dominate, with quick plans, and plans
/// fully with those that gain. Puts the splits that gain enough, and the plan made with them, into `program`.
Status chooseSplits(Partitioned &program, const CompilerOptions &options);

/// Splits the operators in `program.splits`, and those that are marked in the IR.
Status applySplits(Partitioned &program);

/// Fails if the machine has a single compute device, or if the program has ranks, because `option` needs several
/// devices for one program.
Status requireDevices(const Stage &program, const Machine &machine, std::string_view option);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_SPLITTING_H
