//===- ControlGroups.h - Memory limits of the process -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MACHINE_CONTROLGROUPS_H
#define SLUICE_MACHINE_CONTROLGROUPS_H

#include <cstdint>
#include <string>

namespace sluice {

/// The least memory limit of this process's control groups (versions 1 and 2) and of all groups above them; max() if
/// there is no limit. `root` is a prefix of all paths that are read: /proc/self/cgroup, /proc/self/mountinfo and the
/// paths of the groups.
int64_t controlGroupMemoryBytes(const std::string &root = "");

} // namespace sluice

#endif // SLUICE_MACHINE_CONTROLGROUPS_H
