//===- ControlGroups.h - Memory limits of the process -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MACHINE_CONTROLGROUPS_H
#define SLUICE_MACHINE_CONTROLGROUPS_H

#include <cstdint>
#include <string>

namespace sluice {

/// The least memory limit of this process's control groups and of all groups above them, of version 1 and 2; max()
/// where there is none. `root` comes before the paths /proc/self/cgroup, /proc/self/mountinfo, and those of the groups.
int64_t controlGroupMemoryBytes(const std::string &root = "");

} // namespace sluice

#endif // SLUICE_MACHINE_CONTROLGROUPS_H
