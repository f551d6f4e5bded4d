//===- HostInfo.h - Cores and memory of this computer -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MACHINE_HOSTINFO_H
#define SLUICE_MACHINE_HOSTINFO_H

#include <cstdint>

namespace sluice {

/// Number of cores that this process may use, at least 1.
int hostCores();
/// Physical memory in bytes, or the limit of the process's control groups if that is less; max() if the system reports
/// neither.
int64_t hostMemoryBytes();

} // namespace sluice

#endif // SLUICE_MACHINE_HOSTINFO_H
