/*===- sluice.h - Running compiled models -------------------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The C API that applications link (libsluice_runtime). An application opens an
 * artifact directory that `sluice compile` wrote, passes inputs and runs steps.
 * Functions that can fail return NULL or non-zero, and sluice_last_error() then
 * returns the message of the calling thread. Only one thread at a time may use a
 * session.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SLUICE_RUNTIME_SLUICE_H
#define SLUICE_RUNTIME_SLUICE_H

#include "sluice/Runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An opened artifact with its arenas, states and threads. */
typedef struct sluice_session sluice_session;

/* Exchanges bytes between the ranks that run a model together. */
typedef struct sluice_communicator {
  size_t size;
  uint32_t rank, num_ranks;
  void *self;
  /* For each i: sends send[i] to members[i] and receives receive[i] from members[i]. All members make the same calls in
   * the same order. This rank is one of the members, and the bytes that it sends to itself are copied. Each member must
   * send exactly the number of bytes that the receiver expects. The call blocks. It returns 0 on success. If the call
   * fails for one member, or if a member has failed before, the call fails for all members. It then returns non-zero,
   * and `error` returns the reason. */
  int32_t (*exchange)(void *self, const uint32_t *members, uint32_t num_members, const void *const *send,
                      const int64_t *send_bytes, void *const *receive, const int64_t *receive_bytes);
  const char *(*error)(void *self);
  /* Non-zero: only the thread that made the communicator may call `exchange`. A session
   * then computes nothing during an exchange. This field and the following ones exist
   * since minor version 6 of the ABI (SLUICE_ABI_MINOR in abi.h). */
  uint32_t calling_thread;
  /* This rank's index among the ranks of its host. The index selects the rank's GPUs. */
  uint32_t host_rank;
  /* Returns non-zero once no exchange can succeed any more. A thread that waits for
   * something other than an exchange calls this function to learn that a rank was lost.
   * Any thread may call it. Null if the state is unknown. */
  int32_t (*is_broken)(void *self);
} sluice_communicator;

/* A group of ranks that are threads of this process. Only one thread or session at a
 * time may use a member. */
typedef struct sluice_local_group sluice_local_group;
/* Returns NULL if memory is exhausted or num_ranks is 0. */
sluice_local_group *sluice_local_group_create(uint32_t num_ranks);
/* Destroys the group. No member may be in use. */
void sluice_local_group_destroy(sluice_local_group *group);
const sluice_communicator *sluice_local_group_member(sluice_local_group *group, uint32_t rank);
/* Removes this rank from the group. All exchanges of the group that are not complete, and
 * all later ones, fail with this reason. */
void sluice_local_group_leave(sluice_local_group *group, uint32_t rank, const char *reason);

typedef struct sluice_options {
  size_t size;
  /* Threads of each CPU and emulated device. 0 means one for each core that the process may use. With 0, an emulated
   * device has no more threads than its description says (sluice_device_desc.threads). */
  uint32_t threads;
  uint32_t trace;  /* non-zero: record command times for sluice_trace */
  uint32_t verify; /* non-zero: check the hash of the parameter file even if the file is large */
  /* Must outlive the session; NULL for a model that runs on a single rank. */
  const sluice_communicator *communicator;
  /* A directory for unnamed files, or NULL. There are two cases:
   *
   * - The machine of the plan has no memory of kind file. The files hold the host's arena and the states, and the
   *   operating system can write their pages to the disk. NULL: the arena and the states are in memory.
   * - The machine has a memory of kind file (sluice compile --memory on a CPU). The files hold the activations that the
   *   plan evicts, and the states are in memory. NULL: the directory TMPDIR; without TMPDIR, /var/tmp if it can be
   *   written, and otherwise /tmp. */
  const char *spill_directory;
  /* A byte that the caller sets to non-zero to stop a running step. The step then fails before the next iteration of a
   * loop of the model (such as ONNX's Loop), the next copy from or to a file, or the next launch of an expert. Other
   * commands run to their end. The byte must outlive the session. NULL: a step cannot be stopped. */
  const volatile unsigned char *stop;
} sluice_options;

/* Opens DIR (model.so, parameters.bin, manifest.json), allocates the arenas and loads the tensors that stay on devices.
 * Fails if the model has another major version or a greater minor version of the ABI, or if the CPU lacks a feature
 * that the model needs. Also fails if the hash of the code (model.so), or the size or hash of the parameter file,
 * differs from the manifest. The hash of a parameter file above 64 MiB is checked only if `verify` is set. The
 * parameter file is mapped and must not change while the session is open. If the plan's machine has a memory of kind
 * file, each step reads parameters from the file, with direct I/O if the file system supports it, and fails if the file
 * has changed. `options` may be NULL. */
sluice_session *sluice_open(const char *directory, const sluice_options *options);
/* Opens a model that is linked into the application. The parameters must be aligned to
 * 64 bytes. They belong to the caller and must outlive the session. */
sluice_session *sluice_open_model(const sluice_model *model, const void *parameters, int64_t parameter_bytes,
                                  const sluice_options *options);
void sluice_close(sluice_session *session);
/* Returns a copy of the model's description, which is valid until the session closes. Fields that an older minor
 * version lacks are zero. To iterate over a table of the model, advance by the `size` field of its first entry and not
 * by sizeof: the model may be from another minor version. In C++, tableEntry() of sluice/Runtime/Tables.h reads such
 * entries. */
const sluice_model *sluice_describe(const sluice_session *session);

/* Runs one step. inputs[i] and outputs[i] point to the bytes of input and output number i of the model in host memory,
 * dense and row-major, with the current shape (sluice_set_shapes).
 *
 * After a failure the contents of outputs and states are undefined. A session of a single rank can run again. A session
 * of several ranks cannot, because the other ranks may be at another place of the step. If a step fails on a rank, the
 * application must make this rank leave the group (sluice_local_group_leave, MPI_Abort). Exchanges of the other ranks
 * then fail. Without this they would wait forever.
 *
 * Elements of tensors of strings are sluice_string. The text of an output belongs to the session, the model or an
 * input, and stays valid until the next step or until the session closes.
 *
 * On a single GPU, without other ranks and without a trace, each step from the second on is replayed as one CUDA graph,
 * unless the shapes have changed. */
int32_t sluice_run(sluice_session *session, const void *const *inputs, void *const *outputs);

/* Sets the shapes of the inputs from the next step on. shapes[i] has one extent for each dimension of input number i;
 * it may be NULL for an input without dimensions. If a dimension of an input is a symbol (a named size that may differ
 * between steps), the extent of this dimension becomes the value of the symbol. Until the first call, such symbols have
 * their upper bounds. The call fails, and changes nothing, in four cases: a value is not in the range of its symbol;
 * the extents of an input contradict the values of the symbols; the model has no symbols, and a shape differs from the
 * model's shape; or a state has no room for another step. Call it only between steps. Since minor version 11. */
int32_t sluice_set_shapes(sluice_session *session, const int64_t *const *shapes);

enum sluice_port { SLUICE_PORT_INPUT = 0, SLUICE_PORT_OUTPUT = 1 };
/* Writes the current extents of input or output (`port`) number `index` to `shape`, one for each dimension of its
 * description, and its size in bytes to *bytes. Either pointer may be NULL. The current shape of an input is its shape
 * in the next step. The shape of an input changes after a step if it depends on the length of a state that has grown.
 * The current shape of an output is normally its shape in the last step. After sluice_open, sluice_set_shapes,
 * sluice_reset and sluice_set_length, it is the shape that the output will have in the next step, until this step has
 * run. Extents that the next step finds in its data are then given as their upper bounds. Fails if the index is out of
 * range. Since minor version 11.
 */
int32_t sluice_get_shape(const sluice_session *session, uint32_t port, uint32_t index, int64_t *shape, int64_t *bytes);

/* Copies state number `index` of the model out of the session or into it, dense and
 * row-major. States are parameters that training updates, optimizer states, and caches.
 * `bytes` must be the state's size. Call it only between steps. */
int32_t sluice_read_state(const sluice_session *session, uint32_t index, void *data, int64_t bytes);
int32_t sluice_write_state(sluice_session *session, uint32_t index, const void *data, int64_t bytes);

/* Resets all states to their initial contents. A state that grows becomes empty: it has no positions. Such a state has
 * room for its largest number of positions, and a step that needs more room fails. Call it only between steps. Since
 * minor version 13. */
int32_t sluice_reset(sluice_session *session);
/* Sets the length of all states whose length is symbol number `symbol` of the model to `length` positions. The contents
 * of positions below both the old and the new length stay. A smaller length removes the last positions. A larger length
 * adds positions, whose contents are undefined until sluice_write_state writes them. Fails, and changes nothing, if the
 * symbol is not the length of a state, or if the length is not in its range. Call it only between steps. Since minor
 * version 17. */
int32_t sluice_set_length(sluice_session *session, uint32_t symbol, int64_t length);

/* Selects how the next token is chosen from the logits. Since minor version 13. */
typedef struct sluice_sampling {
  size_t size;
  uint32_t top_k; /* draw from the top_k greatest logits; 0 draws from all, 1 takes the greatest */
  double top_p;   /* draw from the smallest set of greatest logits with total probability >= top_p; 1 draws from all */
  double temperature; /* divides the logits; 0 takes the greatest logit */
  uint64_t seed;
} sluice_sampling;

/* Generates text. The model computes the logits of the next token and keeps what it needs of the previous tokens in its
 * states (sluice compile --state). sluice_generator_open, sluice_generator_feed and sluice_generator_next are the loop:
 *
 *   sluice_generator *text = sluice_generator_open(session, NULL, NULL);
 *   sluice_generator_feed(text, prompt, count);
 *   while (n < most && sluice_generator_next(text, &tokens[n]) == 0 && tokens[n] != end) ++n;
 */
typedef struct sluice_generator sluice_generator;

/* Resets the session and opens a generator. Inputs are recognised by name, and have type int32 or int64: 'input_ids' or
 * 'tokens' receives the tokens; 'attention_mask' receives 1 for each token; 'position_ids' receives the positions of
 * the tokens, counted from 0. inputs[i] points to the bytes of any other input number i, with its current shape, and
 * must stay valid until the generator closes. `inputs` may be NULL; entries may be NULL for the inputs above and for
 * inputs whose value was fixed at compile time. The logits (the unnormalized scores of the vocabulary's tokens) are the
 * output 'logits', or the only output, with type float32. Their last dimension is the vocabulary, and their last row
 * belongs to the next token. If `sampling` is NULL, the greatest logit is chosen. Returns NULL on failure. The session
 * must outlive the generator, and must not be used in another way until the generator is closed. Since minor version
 * 13. */
sluice_generator *sluice_generator_open(sluice_session *session, const void *const *inputs,
                                        const sluice_sampling *sampling);
/* Appends tokens to the previous ones. Each step takes as many of them as the model accepts in one step. Fails if the
 * tokens cannot be divided into steps of sizes that the model accepts. */
int32_t sluice_generator_feed(sluice_generator *generator, const int64_t *tokens, size_t count);
/* Returns the next token and appends it. */
int32_t sluice_generator_next(sluice_generator *generator, int64_t *token);
void sluice_generator_close(sluice_generator *generator);

/* From the next command on, makes each command of device number `index` of the model take `factor` times
 * as long. The device must be emulated, and the factor must be 1 to 1000000; 1 restores the
 * normal speed. Tests use this to simulate a change of speed. */
int32_t sluice_slow_device(sluice_session *session, uint32_t index, double factor);

typedef struct sluice_stats {
  size_t size;
  int64_t step_ns;             /* wall clock of the last step */
  int64_t bytes_in, bytes_out; /* copied into and out of device memories by the last step */
  int64_t init_bytes_in;       /* copied into device memories before the first step of the current plan */
  const int64_t
      *arena_peak_bytes; /* per memory: highest arena address touched by the current plan; valid until the next call */
  int64_t bytes_sent;    /* sent to other ranks by the last step */
  int64_t parameter_bytes; /* bytes of the parameter file that this session maps */
  /* How ranks with GPUs exchange device memory. If the data passes through the host's memory, the text also says why.
   * Null if nothing was exchanged. Valid until the session closes. */
  const char *device_exchange;
  /* Figures of the current plan. The current plan is the plan of the last step; before the first step it is the plan
   * for the upper bounds. A model with buckets has several plans, and `bounds` has the greatest values of the symbols
   * in this plan; otherwise `bounds` is null. Valid until the session closes. */
  int64_t planned_bytes_in, planned_bytes_out;
  const int64_t *planned_arena_bytes; /* per memory */
  const int64_t *bounds;
  /* Bytes that the last step read from files and wrote to files, and the plan's prediction of both numbers.
   * Since minor version 14.
   */
  int64_t bytes_read, bytes_written, planned_bytes_read, planned_bytes_written;
  int64_t init_bytes_read; /* read from files before the first step of the current plan */
} sluice_stats;
/* The caller sets stats->size. */
void sluice_get_stats(const sluice_session *session, sluice_stats *stats);

/* Statistics of experts since the session was opened. A use is a step's choice of an expert; it is a hit if the expert
 * was already in memory. The session records the first 262144 uses, in order. `recorded_uses` is the number of uses
 * recorded, and `recorded_hits` the number of hits among them. `best_hits` is the greatest number of hits that any
 * cache with `slots` slots could have had on the recorded uses (Belady's rule). All numbers are 0 if the plan has no
 * slots for experts. Since minor version 17. */
typedef struct sluice_expert_stats {
  size_t size;
  uint32_t experts, slots;
  int64_t uses, hits;
  int64_t bytes_read; /* of the experts that were not in memory */
  int64_t recorded_uses, recorded_hits, best_hits;
} sluice_expert_stats;
/* The caller sets stats->size. The call takes time in proportion to the number of recorded uses. */
void sluice_get_expert_stats(const sluice_session *session, sluice_expert_stats *stats);

typedef struct sluice_command_time {
  uint32_t command, stream, op, tensor; /* a launch has tensor UINT32_MAX, a copy has op UINT32_MAX */
  int64_t start_ns, end_ns;             /* since the start of the step, by the host's clock */
} sluice_command_time;
/* Returns the commands of the last step in issue order, and sets *count to their number. A command's time begins when
 * its waits for commands of other streams are over. On a GPU the time includes the host's wait for the GPU. */
const sluice_command_time *sluice_trace(const sluice_session *session, size_t *count);

/* The start and end of a command of sluice_trace, measured by events of the GPU. The start is just before the command's
 * first request to the GPU. Both are -1 if the command's device has no clock of its own, if the GPU's driver reports no
 * times, or if the command copies over a throttled link. */
typedef struct sluice_device_time {
  int64_t start_ns, end_ns; /* since the start of the step */
} sluice_device_time;
/* Returns the device times of each command of sluice_trace, in the same order. */
const sluice_device_time *sluice_device_times(const sluice_session *session, size_t *count);

/* Returns a text with one line for each part of the session's work that was slower than possible, with the reason;
 * empty if there is none. Valid until this thread calls the function again. Call it only between steps. */
const char *sluice_notes(const sluice_session *session);

const char *sluice_last_error(void);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_RUNTIME_SLUICE_H */
