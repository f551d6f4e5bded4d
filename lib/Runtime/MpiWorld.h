//===- MpiWorld.h - What the parts of libsluice_mpi share -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_MPIWORLD_H
#define SLUICE_RUNTIME_MPIWORLD_H

#include <mpi.h>

#include <string>

namespace sluice::runtime {

/// The ranks of this library; MPI_COMM_NULL before sluice_mpi_start.
MPI_Comm mpiWorld();

/// Whether an MPI call returned success; otherwise the text of its error is in `error`.
bool succeeded(int code, std::string &error);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_MPIWORLD_H
