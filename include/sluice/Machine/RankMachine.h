//===- RankMachine.h - The part of a machine that a rank has ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MACHINE_RANKMACHINE_H
#define SLUICE_MACHINE_RANKMACHINE_H

#include "sluice/Machine/Machine.h"

namespace sluice {

/// The part of a machine that one rank uses. It has the first device that computes and the memory of this device, the
/// host's memory, and the files. It also has the devices of these memories that do not compute, and the links between
/// these memories. If the machine has a single compute device, all `ranks` ranks share this device. Each rank then has
/// an equal part of the rates, threads and memories.
Machine machineOfRank(const Machine &machine, int64_t ranks);

} // namespace sluice

#endif // SLUICE_MACHINE_RANKMACHINE_H
