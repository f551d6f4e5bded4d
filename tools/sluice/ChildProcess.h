//===- ChildProcess.h - Work in a process of its own ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_CHILDPROCESS_H
#define SLUICE_TOOLS_SLUICE_CHILDPROCESS_H

#include "sluice/Support/Error.h"
#include "sluice/Support/Json.h"

#include <functional>

namespace sluice::driver {

/// Runs `body` in a child of this process and returns its result, so that the memory of `body` is freed. To be called
/// before this process has threads. If a signal ends the child, the error names the signal.
Expected<Json> runInChild(const std::function<Expected<Json>()> &body);

/// The resident memory of this process in bytes, now and at its peak; 0 if the system does not provide it.
int64_t residentBytes();
int64_t peakResidentBytes();

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_CHILDPROCESS_H
