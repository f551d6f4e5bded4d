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

/// Runs `body` in a child of this process and returns what it returns, so that the memory that it takes is given back.
/// To be called before this process has threads. A child that a signal ends is an error that names the signal.
Expected<Json> runInChild(const std::function<Expected<Json>()> &body);

/// What this process holds now, and the most that it has held: resident memory, in bytes; 0 where the system does not
/// say.
int64_t residentBytes();
int64_t peakResidentBytes();

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_CHILDPROCESS_H
