/*===- mpi.h - Ranks that MPI started -----------------------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * libsluice_mpi: the communicator of a process that mpirun started. It is a separate
 * library so that the runtime does not need MPI.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SLUICE_RUNTIME_MPI_H
#define SLUICE_RUNTIME_MPI_H

#include "sluice/Runtime/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Initialises MPI if necessary and returns a communicator of all its ranks. If MPI only
 * supports calls from the main thread, call this function on the main thread; models then
 * run on that thread too. Returns NULL on failure and writes the reason to *error, if
 * `error` is not NULL. Call it once in a process. */
const sluice_communicator *sluice_mpi_start(const char **error);
/* Ends this rank: waits for the other ranks, and finalises MPI if this library initialised
 * it. With a reason it does not wait, but prints the reason and ends all ranks
 * (MPI_Abort). */
void sluice_mpi_stop(const char *reason);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_RUNTIME_MPI_H */
