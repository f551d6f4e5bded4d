//===- MachineJson.h - Machines as JSON -------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MACHINE_MACHINEJSON_H
#define SLUICE_MACHINE_MACHINEJSON_H

#include "sluice/Machine/Machine.h"
#include "sluice/Support/Json.h"

namespace sluice {

inline constexpr int kMachineSchema = 1;

Json machineToJson(const Machine &machine);
/// Reads a machine, which passes Machine::check(). Sizes and times may be numbers, or texts with units.
Expected<Machine> machineFromJson(const JsonReader &reader);

} // namespace sluice

#endif // SLUICE_MACHINE_MACHINEJSON_H
