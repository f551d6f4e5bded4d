/*===- mpi.h - Ranks that MPI started -----------------------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * libsluice_mpi: the communicator of a process that mpirun started, and memory that all ranks read and change without
 * help of the rank that owns it. It is a separate library so that the runtime does not need MPI.
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
 * it. If `reason` is not NULL, the function does not wait, but prints the reason and ends all ranks (MPI_Abort). */
void sluice_mpi_stop(const char *reason);

/* Windows: each rank owns counters and doubles. While the owner computes, any rank can read them and change the doubles
 * (MPI's one-sided communication, passive target). Only the owner advances its counters. All are zero at first. `first`
 * and `count` select doubles of the owner's window. Each double and each counter is read and changed atomically.
 * Functions return 0 on success; otherwise `error` returns the reason. Only the thread that created the windows may
 * call these functions. */
typedef struct sluice_windows {
  size_t size;
  uint32_t rank, num_ranks;
  void *self;
  int32_t (*write)(void *self, uint32_t owner, int64_t first, const double *values, int64_t count);
  int32_t (*add)(void *self, uint32_t owner, int64_t first, const double *values, int64_t count);
  int32_t (*read)(void *self, uint32_t owner, int64_t first, double *values, int64_t count);
  /* Adds one to this rank's counter. A rank that has read the new value sees everything that
   * this rank has written and added before. */
  int32_t (*advance)(void *self, uint32_t counter);
  int32_t (*read_counter)(void *self, uint32_t owner, uint32_t counter, int64_t *value);
  const char *(*error)(void *self);
} sluice_windows;
/* All ranks must call this function together, with the same sizes, after sluice_mpi_start. Returns NULL on failure,
 * with the reason in *error, if `error` is not NULL. A process has one set of windows at a time. */
const sluice_windows *sluice_mpi_windows_create(uint32_t num_counters, int64_t doubles, const char **error);
/* All ranks must call this function together, when no rank uses the windows any more. */
void sluice_mpi_windows_destroy(const sluice_windows *windows);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_RUNTIME_MPI_H */
