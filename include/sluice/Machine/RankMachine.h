//===- RankMachine.h - The part of a machine that a rank has ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MACHINE_RANKMACHINE_H
#define SLUICE_MACHINE_RANKMACHINE_H

#include "sluice/Machine/Machine.h"

namespace sluice {

/// What a machine is to the rank that runs on its first compute device, and on the
/// devices that only feed others. A machine of one compute device is shared: each of
/// `ranks` ranks has an equal part of its rates, threads and memories.
Machine machineOfRank(const Machine &machine, int64_t ranks);

} // namespace sluice

#endif // SLUICE_MACHINE_RANKMACHINE_H
