/*===- sluice.h - Running compiled models -------------------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The C API that applications link (libsluice_runtime): open an artifact
 * directory written by `sluice compile`, give it inputs, run steps.
 * Functions that can fail return NULL or non-zero; sluice_last_error() then
 * says why, per thread. A session is used by one thread at a time.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SLUICE_RUNTIME_SLUICE_H
#define SLUICE_RUNTIME_SLUICE_H

#include "sluice/Runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_session sluice_session;

typedef struct sluice_options {
  size_t size;
  uint32_t threads; /* 0: one a core */
  uint32_t trace;   /* non-zero: keep command times for sluice_trace */
} sluice_options;

/* Opens DIR (model.so, parameters.bin, manifest.json). Refuses another ABI
 * major, a CPU that lacks a feature, a parameter file of another size or hash. */
sluice_session *sluice_open(const char *directory, const sluice_options *options);
void sluice_close(sluice_session *session);
const sluice_model *sluice_describe(const sluice_session *session);

/* One step. inputs[i] and outputs[i] point to the bytes of the model's input
 * and output number i, dense, row-major, in host memory. */
int32_t sluice_run(sluice_session *session, const void *const *inputs, void *const *outputs);

typedef struct sluice_stats {
  size_t size;
  int64_t step_ns;                 /* wall clock of the last step */
  int64_t bytes_in, bytes_out;     /* copied into and out of device memories by the last step */
  int64_t init_bytes_in;           /* copied into device memories before the first step */
  const int64_t *arena_peak_bytes; /* per memory: highest arena address touched; until the next call */
} sluice_stats;
void sluice_get_stats(const sluice_session *session, sluice_stats *stats);

typedef struct sluice_command_time {
  uint32_t command, stream, op, tensor; /* op or tensor: UINT32_MAX where it is the other */
  int64_t start_ns, end_ns;             /* from the step's start */
} sluice_command_time;
/* The last step's commands, in issue order; *count is set to how many. */
const sluice_command_time *sluice_trace(const sluice_session *session, size_t *count);

const char *sluice_last_error(void);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_RUNTIME_SLUICE_H */
