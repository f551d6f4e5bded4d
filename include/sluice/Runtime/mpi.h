/*===- mpi.h - Ranks that MPI started -----------------------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * libsluice_mpi: the communicator of a process that mpirun started. A library of
 * its own, so that the runtime needs no MPI.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SLUICE_RUNTIME_MPI_H
#define SLUICE_RUNTIME_MPI_H

#include "sluice/Runtime/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Initialises MPI where that is not done, and takes a communicator of all its
 * ranks; where MPI was or could be started for its main thread only, call it there, and
 * models run there too. NULL where that fails; *error, if given, then says why. Once a
 * process. */
const sluice_communicator *sluice_mpi_start(const char **error);
/* This rank is done: waits for the others, and finalises MPI if this library
 * initialised it. With a reason it does not wait: it prints the reason and ends
 * all ranks (MPI_Abort). */
void sluice_mpi_stop(const char *reason);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_RUNTIME_MPI_H */
