//===- MpiWindows.h - The windows of MPI processes --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_MPIWINDOWS_H
#define SLUICE_TOOLS_SLUICE_MPIWINDOWS_H

#include "sluice/Barriers/Windows.h"

#include <memory>

namespace sluice::driver {

/// Windows of `doubles` zeros for each process that mpirun started; all processes call it together, after
/// mpiCommunicator(). All destroy them together, when none uses them any more. Fails where MPI cannot make them.
Expected<std::unique_ptr<Windows>> createMpiWindows(int64_t doubles);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_MPIWINDOWS_H
