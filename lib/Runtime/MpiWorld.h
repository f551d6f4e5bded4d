//===- MpiWorld.h - What the parts of libsluice_mpi share -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_MPIWORLD_H
#define SLUICE_RUNTIME_MPIWORLD_H

#include <mpi.h>

namespace sluice::runtime {

/// The ranks of this library; MPI_COMM_NULL before sluice_mpi_start.
MPI_Comm mpiWorld();

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_MPIWORLD_H
