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

/* How the ranks that run a model together exchange bytes. */
typedef struct sluice_communicator {
  size_t size;
  uint32_t rank, num_ranks;
  void *self;
  /* For each i: sends send[i] to members[i] and receives receive[i] from it. The
   * members, this rank among them (its own parts are moved too), call it together
   * and in one order; sizes agree in pairs. Blocks. Returns 0, or non-zero where
   * `error` says why: then, or where a member has failed, it does so on all. */
  int32_t (*exchange)(void *self, const uint32_t *members, uint32_t num_members, const void *const *send,
                      const int64_t *send_bytes, void *const *receive, const int64_t *receive_bytes);
  const char *(*error)(void *self);
  /* Non-zero: only the thread that made it may call `exchange`, so that a session
   * computes nothing meanwhile. Since minor version 6, as what follows. */
  uint32_t calling_thread;
  /* This rank's number among those of its host, by which it takes its GPUs. */
  uint32_t host_rank;
  /* Non-zero once no exchange can succeed any more, for who waits elsewhere. Any
   * thread; null: nobody knows. */
  int32_t (*is_broken)(void *self);
} sluice_communicator;

/* Ranks that are threads of this process. A member is used by one thread, or one
 * session, at a time. */
typedef struct sluice_local_group sluice_local_group;
/* NULL where there is no memory, or no rank. */
sluice_local_group *sluice_local_group_create(uint32_t num_ranks);
/* Once no member is in use. */
void sluice_local_group_destroy(sluice_local_group *group);
const sluice_communicator *sluice_local_group_member(sluice_local_group *group, uint32_t rank);
/* This rank takes part no more: exchanges that wait for it, now and later, fail
 * with this reason. */
void sluice_local_group_leave(sluice_local_group *group, uint32_t rank, const char *reason);

typedef struct sluice_options {
  size_t size;
  uint32_t threads; /* a device; 0: one a core, or fewer where an emulated device has fewer */
  uint32_t trace;   /* non-zero: keep command times for sluice_trace */
  uint32_t verify;  /* non-zero: hash the parameter file even where it is large */
  /* Must outlive the session; NULL for a model that runs alone. */
  const sluice_communicator *communicator;
  /* What the plan keeps in host memory, and the states, are in files without names
   * in this directory, so that the system may write them out; NULL: in memory. Of a plan that has files, only what it
   * writes to these is there; NULL: in TMPDIR, else /var/tmp. */
  const char *spill_directory;
  /* A byte that the caller makes non-zero to stop a step that runs: the loops of the step end before their next
   * iteration, and the step fails. It must outlive the session. NULL: nothing stops a step. */
  const volatile unsigned char *stop;
} sluice_options;

/* Opens DIR (model.so, parameters.bin, manifest.json), allocates the arenas and
 * loads what stays on devices. Refuses another ABI major, a CPU that lacks a
 * feature, a parameter file of another size or hash. A file above 64 MiB is
 * hashed only where `verify` asks. It is mapped, not read: it must not change
 * while the session is open. Parameters that a plan keeps in a file are read from it at each step, with direct I/O where
 * the file system has it; a step fails where the file has changed. `options` may be NULL. */
sluice_session *sluice_open(const char *directory, const sluice_options *options);
/* The same for a model linked into the application. The parameters, aligned to
 * 64 bytes, stay the caller's and must outlive the session. */
sluice_session *sluice_open_model(const sluice_model *model, const void *parameters, int64_t parameter_bytes,
                                  const sluice_options *options);
void sluice_close(sluice_session *session);
/* A copy of the model's description, until the session closes: fields that an older minor version lacks are zero.
 * Entries of the model's tables lie as far apart as the first one's `size` says, which may be
 * another minor version's: C++ reads them with tableEntry() of sluice/Runtime/Tables.h. */
const sluice_model *sluice_describe(const sluice_session *session);

/* One step. On one GPU alone, without other ranks, an untraced session's steps from the
 * second on run as one graph of its driver's each. inputs[i] and outputs[i] point to the bytes of the model's input
 * and output number i, dense, row-major, of the current shape (sluice_set_shapes), in host memory. After a failure the
 * outputs and the model's states hold no promise; the session can run again, but
 * not one of several ranks: they may be elsewhere in the step. Such a rank takes part no
 * more (sluice_local_group_leave, MPI_Abort) before anything waits for the others,
 * whose exchanges fail for it.
 * Elements of tensors of strings are sluice_string: an output's text is the
 * session's, the model's or an input's, and stays until the next step or close. */
int32_t sluice_run(sluice_session *session, const void *const *inputs, void *const *outputs);

/* The shapes of the inputs from the next step on: shapes[i] are the extents of input number i, one for each of its
 * dimensions (it may be NULL where it has none). A model with symbols takes the value of each from its input and
 * dimension; at first the symbols have their upper bounds. Fails where a value is not in its symbol's range, where an
 * input has other extents than follow from the symbols, and, for a model without symbols, where a shape is not the
 * model's: then all stays as it was. Between steps only. Since minor version 11. */
int32_t sluice_set_shapes(sluice_session *session, const int64_t *const *shapes);

enum sluice_port { SLUICE_PORT_INPUT = 0, SLUICE_PORT_OUTPUT = 1 };
/* The shape of input or output (`port`) number `index` in the next step: its extents, as many as its description's
 * rank says, to `shape`, and its bytes to *bytes. After a step, that of an output is the step's; that of an input may
 * have changed where a state has grown. Each may be NULL. Fails where there is none of that number. Since
 * minor version 11. */
int32_t sluice_get_shape(const sluice_session *session, uint32_t port, uint32_t index, int64_t *shape, int64_t *bytes);

/* Copies state number `index` of the model, dense and row-major, out of the
 * session or into it: parameters that training updates, optimizer states,
 * caches. `bytes` must be the state's size. Between steps only. */
int32_t sluice_read_state(const sluice_session *session, uint32_t index, void *data, int64_t bytes);
int32_t sluice_write_state(sluice_session *session, uint32_t index, const void *data, int64_t bytes);

/* Gives all states their first contents, and those that grow no positions. A state that grows has room for the most
 * positions that it may have; a step that has no more room fails. Between steps only. Since minor version 13. */
int32_t sluice_reset(sluice_session *session);

/* How the next token is chosen by the logits. Since minor version 13. */
typedef struct sluice_sampling {
  size_t size;
  uint32_t top_k;     /* of so many of the greatest; 0: of all; 1: the greatest */
  double top_p;       /* of the fewest that have so much of the probability together; 1: of all */
  double temperature; /* logits are divided by it; 0: the greatest is chosen */
  uint64_t seed;
} sluice_sampling;

/* Text from a model that gives the logits of the next token, and holds what came before in its states (sluice compile
 * --state). Three calls make the loop:
 *
 *   sluice_generator *text = sluice_generator_open(session, NULL, NULL);
 *   sluice_generator_feed(text, prompt, count);
 *   while (n < most && sluice_generator_next(text, &tokens[n]) == 0 && tokens[n] != end) ++n;
 */
typedef struct sluice_generator sluice_generator;

/* Resets the session. Tokens go to the input 'input_ids' or 'tokens', ones to 'attention_mask', and the numbers of the
 * tokens, from 0, to 'position_ids', each int32 or int64; inputs[i] are the bytes of any other input number i, of its
 * current shape, until the generator closes. `inputs` may be NULL, and so may entries of those inputs and of inputs
 * that the model was compiled for. The output 'logits', or the only one, has the logits in its last dimension, float32,
 * and the last row is the next token's. `sampling` may be NULL: the greatest logit is chosen. NULL: see
 * sluice_last_error. The session outlives the generator, and is not used for anything else meanwhile. Since minor
 * version 13. */
sluice_generator *sluice_generator_open(sluice_session *session, const void *const *inputs,
                                        const sluice_sampling *sampling);
/* Puts tokens behind those before, in steps of as many as the model takes. */
int32_t sluice_generator_feed(sluice_generator *generator, const int64_t *tokens, size_t count);
/* The next token. It counts as fed. */
int32_t sluice_generator_next(sluice_generator *generator, int64_t *token);
void sluice_generator_close(sluice_generator *generator);

/* From the next command on, device number `index` of the model, which must be an
 * emulated one, takes `factor` (1 or more) times as long as it would; 1 is its
 * own speed again. For trying what a change of speed does. */
int32_t sluice_slow_device(sluice_session *session, uint32_t index, double factor);

typedef struct sluice_stats {
  size_t size;
  int64_t step_ns;             /* wall clock of the last step */
  int64_t bytes_in, bytes_out; /* copied into and out of device memories by the last step */
  int64_t init_bytes_in;       /* copied into device memories before the first step of the current plan */
  const int64_t
      *arena_peak_bytes;   /* per memory: highest arena address touched by the current plan; until the next call */
  int64_t bytes_sent;      /* to other ranks, by the last step */
  int64_t parameter_bytes; /* of the parameter file, mapped by this session */
  /* How GPUs' ranks exchange device memory, with the reason where it is by way of
   * the host's; null where none did. Until the session closes. */
  const char *device_exchange;
  /* What the current plan says: that of the last step, before the first one that for the upper bounds. A model with
   * buckets has several, and `bounds` are the symbols' greatest values of this one, else null. Until the session
   * closes. */
  int64_t planned_bytes_in, planned_bytes_out;
  const int64_t *planned_arena_bytes; /* per memory */
  const int64_t *bounds;
  /* Read from files, and written to them, by the last step, and by the current plan's. Since minor version 14. */
  int64_t bytes_read, bytes_written, planned_bytes_read, planned_bytes_written;
  int64_t init_bytes_read; /* read from files before the first step of the current plan */
} sluice_stats;
/* The caller sets stats->size. */
void sluice_get_stats(const sluice_session *session, sluice_stats *stats);

typedef struct sluice_command_time {
  uint32_t command, stream, op, tensor; /* op or tensor: UINT32_MAX where it is the other */
  int64_t start_ns, end_ns;             /* from the step's start, by the host's clock: waits included */
} sluice_command_time;
/* The last step's commands, in issue order; *count is set to how many. */
const sluice_command_time *sluice_trace(const sluice_session *session, size_t *count);

/* The same command's times by a GPU's own events, from just before it is first asked to
 * its end. Both are -1 where the device has no clock but the host's, its driver does not
 * say, or a link is throttled. */
typedef struct sluice_device_time {
  int64_t start_ns, end_ns; /* from the step's start */
} sluice_device_time;
/* Of each of sluice_trace's commands. */
const sluice_device_time *sluice_device_times(const sluice_session *session, size_t *count);

/* What did not go as fast as it might have, and why, a line each; empty: nothing.
 * Until the thread's next call. Between steps only. */
const char *sluice_notes(const sluice_session *session);

const char *sluice_last_error(void);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_RUNTIME_SLUICE_H */
