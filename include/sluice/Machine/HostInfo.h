//===- HostInfo.h - What the operating system says of this computer -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MACHINE_HOSTINFO_H
#define SLUICE_MACHINE_HOSTINFO_H

#include <cstdint>

namespace sluice {

/// Cores this process may use, at least 1.
int hostCores();
/// Physical memory, or the limit of the process's control groups where that is less; max() where the system does not
/// say.
int64_t hostMemoryBytes();

} // namespace sluice

#endif // SLUICE_MACHINE_HOSTINFO_H
