/*===- abi.h - Interface between compiled models and the runtime --*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The interface between compiled models and the runtime. A compiled model is a
 * shared library that exports `sluice_model_get` (and, for GPUs, a table of grids). It imports nothing from the
 * runtime and calls it only through the tables below. A change that breaks old models raises the major version. New
 * fields raise the minor version; they are added only at the end of structures that begin with their size. A runtime
 * refuses a model whose major version differs from its own or whose minor version is greater than its own.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SLUICE_RUNTIME_ABI_H
#define SLUICE_RUNTIME_ABI_H

#include "sluice/Runtime/services.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_ABI_MAJOR 1
#define SLUICE_ABI_MINOR 17

/* The kinds of places that hold bytes. Memory 0 is the host's. */
enum sluice_segment {
  SLUICE_SEGMENT_ARENA = 0,     /* offset into the memory's arena */
  SLUICE_SEGMENT_PARAMETER = 1, /* host, or a file: offset into the parameter file */
  SLUICE_SEGMENT_INPUT = 2,     /* host: input number `index` of this step */
  SLUICE_SEGMENT_OUTPUT = 3,    /* host: output number `index` of this step */
  SLUICE_SEGMENT_STATE = 4      /* host: offset into the state store */
};

typedef struct sluice_slot {
  uint32_t memory;
  uint32_t segment;
  uint32_t index; /* SLUICE_SEGMENT_INPUT and _OUTPUT, else 0 */
  uint32_t reserved;
  int64_t offset;
  int64_t bytes;
} sluice_slot;

/* An element of a tensor of strings (element type 8): `size` bytes of text without a
 * terminating zero. The structure does not own the text. The address may be null if size
 * is 0. */
typedef struct sluice_string {
  const char *data;
  int64_t size;
} __attribute__((aligned(16))) sluice_string;

/* Functions of the runtime for text and for images, which run on the host. The comment of a function has the form
 * `operands -> results: settings`. `args` has the addresses of the operands, then of the results. `settings` has data
 * in the machine's byte order: first the number of elements of the operand, then the settings of the comment. A number
 * is an int64_t, a text is its number of bytes followed by the bytes, and a list is its number of entries followed by
 * the entries. */
enum sluice_string_function {
  SLUICE_STRING_CONSTANT = 0, /* () -> text: a list of texts; the number of elements is not in `settings` */
  SLUICE_STRING_EQUAL = 1,    /* text, text -> bool */
  SLUICE_STRING_CONCAT = 2,   /* text, text -> text */
  /* text -> int64, the index of the text among the keys; if no key is equal, the number of keys: list of keys */
  SLUICE_STRING_FIND = 3,
  /* text -> text, int64 number of texts that remain (one empty text if none remains): case (0 unchanged, 1 lower,
   * 2 upper), whether the comparison with words to remove distinguishes case, list of words to remove */
  SLUICE_STRING_NORMALIZE = 4,
  /* text -> parts of each text, int64 number of parts of each text, int64 largest of these numbers: limit of the parts
   * of a text, delimiter (white space if empty), and since minor version 9 whether a text with more parts is an error.
   * If it is no error, the last part is the whole rest of the text. */
  SLUICE_STRING_SPLIT = 5,
  /* This function and the following ones exist since minor version 9. */
  SLUICE_STRING_MATCH = 6,       /* text -> bool, whether the whole text matches: regular expression of RE2 */
  SLUICE_STRING_TO_NUMBER = 7,   /* text -> number: sluice_number_type */
  SLUICE_STRING_FROM_NUMBER = 8, /* number -> text: sluice_number_type */
  SLUICE_CHECK = 9,              /* bool -> the same; fails if an element is false: message of the failure */
  SLUICE_DECODE_IMAGE = 10       /* bytes of a file -> uint8: height, width, format (0 RGB, 1 BGR, 2 grey) */
};
enum sluice_number_type { SLUICE_NUMBER_F32 = 0, SLUICE_NUMBER_F64 = 1, SLUICE_NUMBER_I64 = 2, SLUICE_NUMBER_U64 = 3 };

/* Runs one chunk [begin, end) of a parallel loop; `args` are the arguments of the kernel. */
typedef void (*sluice_chunk_fn)(void **args, int64_t begin, int64_t end);

/* A grid is a kernel for GPUs, which many threads run in blocks. This is one thread of a block of a grid that runs on a
 * CPU. */
typedef struct sluice_thread {
  size_t size;
  int64_t thread, block;
  void *shared; /* the block's memory */
  /* Returns when all threads of the block have called it. */
  void (*barrier)(const struct sluice_thread *self);
  /* Exchanges values within a warp of 32 threads. Returns the `value` that the thread with number `thread` XOR
   * `distance` passed, after all threads of the warp have called it. */
  uint64_t (*exchange)(const struct sluice_thread *self, uint64_t value, uint32_t distance);
  /* Computes sums += A * B on the fragments of the 32 threads of a warp, in the layout of
   * PTX's mma.sync.m16n8k8 (tf32, one element in a word) and m16n8k16 (two 16-bit elements
   * in a word) with f32 sums. This thread has 4 words of A, 2 words of B and 4 sums. Since
   * minor version 4. */
  void (*multiply)(const struct sluice_thread *self, uint32_t type, const uint32_t *a, const uint32_t *b, float *sums);
  /* Copies `valid` bytes to the block's memory and writes zeros from `valid` to `bytes`. The
   * copy may end later, but not after finish_copies has returned. Since minor version 4. */
  void (*copy_later)(const struct sluice_thread *self, void *to, const void *from, uint32_t bytes, uint32_t valid);
  void (*finish_copies)(const struct sluice_thread *self);
} sluice_thread;
enum sluice_multiply_type { SLUICE_MULTIPLY_TF32 = 0, SLUICE_MULTIPLY_BF16 = 1, SLUICE_MULTIPLY_F16 = 2 };
typedef void (*sluice_thread_fn)(const sluice_thread *self, void **args);

/* A part of a kernel that runs as `blocks` blocks of `threads` threads each; `threads` is a
 * multiple of 32. `args` has `num_args` words: the addresses of the first tensors of the kernel's
 * argument list, then, since minor version 13, the extents that the grid needs. `blocks` is 0 if the launch gives the
 * number of blocks. */
typedef struct sluice_grid {
  size_t size;
  const char *name; /* name of its function in device code */
  uint32_t blocks, threads;
  uint32_t shared_bytes;
  uint32_t num_args;
  uint32_t waits;          /* non-zero: threads of a block wait for each other, by `barrier` for example */
  sluice_thread_fn thread; /* null if the model was compiled without CPU code for grids */
  /* Device code: PTX as zero-terminated text, or a cubin, by architecture ("sm_80": 80). */
  uint32_t num_images;
  const struct sluice_image *images;
} sluice_grid;

typedef struct sluice_image {
  size_t size;
  uint32_t architecture;
  uint32_t is_binary;
  const void *data;
  int64_t bytes;
} sluice_image;

/* The functions and data that a kernel may use. */
typedef struct sluice_kernel_env {
  size_t size;
  void *pool;
  /* Runs fn over [0, extent) in chunks of `grain` (the last may be shorter), and returns
   * when all chunks are done. Chunks depend only on extent and grain. Results therefore do
   * not depend on the number of threads. */
  void (*parallel_for)(void *pool, int64_t extent, int64_t grain, sluice_chunk_fn fn, void **args);
  /* The store for text that functions make, which lives until the session's next step or
   * until the session closes. Since minor version 2. */
  void *strings;
  int32_t (*string_function)(void *strings, uint32_t function, void *const *args, const void *settings, int64_t bytes);
  /* Runs a grid, or enqueues it after the previous grids. Since minor version 3. */
  void *grids;
  int32_t (*launch_grid)(void *grids, const sluice_grid *grid, void **args);
  /* Runs a collective. `args` are the operand, the result and the workspace; `settings` is a
   * sluice_collective. Every rank of the group calls it, and all ranks in the same order.
   * Since minor version 3. */
  void *ranks;
  int32_t (*collective)(void *ranks, uint32_t kind, void *const *args, const void *settings, int64_t bytes);
  /* Calls a function of a GPU library. `args` are two operands, the result and the
   * workspace; sluice_library_function describes `settings`. The call is enqueued after the
   * previous grids. If the library is absent, the call does nothing and returns SLUICE_LIBRARY_ABSENT. Since minor
   * version 5. */
  void *libraries;
  int32_t (*library)(void *libraries, uint32_t function, void *const *args, const void *settings, int64_t bytes);
  /* A byte that becomes non-zero when the step must stop. Loops read it before each iteration. Since minor version 10.
   */
  const volatile unsigned char *stop;
  /* The values of the model's symbols in this step, in the order of sluice_model.symbols. They determine the extents of
   * tensors. Each tensor is stored densely and row-major at the start of its slot. Since minor version 11. Since minor
   * version 12, a kernel that finds the value of a symbol in its data stores the value in this array: the array can be
   * written, although its type is const. */
  const int64_t *symbols;
  /* Like launch_grid, for a grid whose number of blocks depends on symbols. With `blocks` 0 nothing is launched. Since
   * minor version 13. */
  int32_t (*launch_blocks)(void *grids, const sluice_grid *grid, int64_t blocks, void **args);
} sluice_kernel_env;

/* A host kernel. `args` has pointers to the kernel's inputs, then its outputs, then its workspace if there is one. The
 * kernel returns 0 on success. Any other number is a failure, such as one of the numbers below. The step then fails,
 * and its error names the operator. */
#define SLUICE_KERNEL_ENDLESS 1001   /* a loop would exceed its limit of iterations */
#define SLUICE_KERNEL_STOPPED 1002   /* sluice_kernel_env.stop has ended a loop */
#define SLUICE_KERNEL_UNBOUNDED 1003 /* an extent found in the data is above its bound */
#define SLUICE_KERNEL_UNFIT 1004     /* an extent found in the data is negative: no result fits the data */
typedef int32_t (*sluice_kernel_fn)(const sluice_kernel_env *env, void **args);

typedef struct sluice_context sluice_context;

/* The functions that a model's program (init or step) calls. Each call enqueues a command. A call returns 0, or a
 * non-zero value after the step has failed; the program then returns this value. The commands of a program are numbered
 * in issue order from 0. `waits` has the numbers of earlier commands on other streams that must be complete first. All
 * slots of a kernel are in the memory of its device. A copy runs on a stream of a device whose memory it reads or
 * writes, or, if one end of the copy is a file, on a file stream. `link` is UINT32_MAX for a copy within one memory.
 * The arrays are read before the call returns. */
typedef struct sluice_api {
  size_t size;
  int32_t (*launch)(sluice_context *context, uint32_t command, uint32_t stream, sluice_kernel_fn kernel, uint32_t op,
                    const sluice_slot *slots, uint32_t num_slots, const uint32_t *waits, uint32_t num_waits);
  int32_t (*copy)(sluice_context *context, uint32_t command, uint32_t stream, uint32_t link,
                  const sluice_slot *destination, const sluice_slot *source, int64_t bytes, uint32_t tensor,
                  const uint32_t *waits, uint32_t num_waits);
} sluice_api;

/* A division of a tensor along a dimension into `count` equal parts. Rank r has part
 * r / stride % count. */
typedef struct sluice_cut {
  int64_t dimension, count, stride;
} sluice_cut;

/* An input, an output or a state. `element_type` is a number of ONNX's TensorProto.DataType. */
typedef struct sluice_tensor_desc {
  size_t size;
  const char *name;
  int32_t element_type;
  uint32_t rank;
  /* If the extents of an input or output depend on symbols, `shape` has their upper bounds, and `bytes` is the size of
   * this shape. */
  const int64_t *shape;
  int64_t bytes;
  /* The value of an input for which the model was compiled; a step with another value fails.
   * Null for all other tensors. */
  const void *fixed;
  /* For a state that is divided over ranks: the cuts of the whole state, applied one after
   * the other. Since minor version 3. */
  const sluice_cut *cuts;
  uint32_t num_cuts;
  /* For an input of int32 or int64 elements that are indices, three numbers: the least allowed
   * value, the greatest allowed value, and one further allowed value, such as an ignored label.
   * If there is no further value, the third number is between the first two. A step with an
   * element that is not allowed fails. Null for all other tensors. Since minor version 8. */
  const int64_t *range;
  /* For each cut, the number of equal blocks of the dimension. A rank has a part of each block,
   * and its parts follow each other. Null if every cut has one block. Since minor version 16. */
  const int64_t *cut_blocks;
} sluice_tensor_desc;

#define SLUICE_SYMBOL_FOUND UINT32_MAX
#define SLUICE_SYMBOL_STATE (UINT32_MAX - 1)
/* An integer whose value may change from step to step. Normally it is the extent of dimension `dimension` of input
 * number `input`. If `input` is SLUICE_SYMBOL_FOUND, a kernel finds the value in the data of a step. If `input` is
 * SLUICE_SYMBOL_STATE, the symbol is the length of state number `dimension`, and its value in the first step is `least`
 * (since minor version 13). The possible values are `least`, `least` + `step` and so on up to `most`. Since minor
 * version 11. */
typedef struct sluice_symbol_desc {
  size_t size;
  const char *name;
  int64_t least, most, step;
  uint32_t input, dimension;
} sluice_symbol_desc;

enum sluice_device_kind { SLUICE_DEVICE_CPU = 0, SLUICE_DEVICE_EMULATED = 1, SLUICE_DEVICE_CUDA = 2 };

enum sluice_memory_kind { SLUICE_MEMORY_RAM = 0, SLUICE_MEMORY_FILE = 1 };

typedef struct sluice_memory_desc {
  size_t size;
  const char *name;
  int64_t arena_bytes;    /* bytes that the plan uses; the runtime allocates exactly these */
  int64_t capacity_bytes; /* INT64_MAX: unknown */
  /* sluice_memory_kind. A memory of kind SLUICE_MEMORY_FILE has parameters, which copies read from the parameter file
   * and not from its mapping, and an arena for evicted tensors. No kernel accesses it. Since minor version 14. */
  uint32_t kind;
} sluice_memory_desc;

typedef struct sluice_device_desc {
  size_t size;
  const char *name;
  uint32_t kind;
  uint32_t memory;
  uint32_t threads;
  double speed; /* of an emulated device: after each launch, it sleeps so that the launch takes 1/speed times as long */
} sluice_device_desc;

typedef struct sluice_link_desc {
  size_t size;
  uint32_t memory_a, memory_b;
  double bytes_per_sec, duplex_bytes_per_sec;
  int64_t latency_ns;
  uint32_t throttle; /* non-zero: emulated copies are slowed down to these rates */
} sluice_link_desc;

enum sluice_stream_kind {
  SLUICE_STREAM_COMPUTE = 0,
  SLUICE_STREAM_IN = 1,
  SLUICE_STREAM_OUT = 2,
  SLUICE_STREAM_COMMUNICATE = 3, /* launches of collectives. Since minor version 6 */
  SLUICE_STREAM_FILE_IN = 4, /* copies from files; may belong to any device. This and the next since minor version 14 */
  SLUICE_STREAM_FILE_OUT = 5 /* copies to files */
};

typedef struct sluice_stream_desc {
  size_t size;
  uint32_t device;
  uint32_t kind;
} sluice_stream_desc;

/* A bucket: a step function and a plan for those steps in which no symbol exceeds its bound. Each bound is a possible
 * value of its symbol. Since minor version 12. */
typedef struct sluice_bucket_desc {
  size_t size;
  const int64_t *bounds;      /* per symbol */
  const int64_t *arena_bytes; /* per memory: used by this plan, at most sluice_memory_desc.arena_bytes */
  /* These fields have the same meaning as in sluice_model. */
  int64_t planned_bytes_in, planned_bytes_out;
  uint32_t num_commands;
  int32_t (*init)(const sluice_api *api, sluice_context *context);
  int32_t (*step)(const sluice_api *api, sluice_context *context);
  int64_t planned_bytes_read, planned_bytes_written; /* since minor version 14 */
} sluice_bucket_desc;

/* An expert: an operator that reads its weights only if the data of a step chooses it. Experts with the same `group`
 * follow each other in the table, by ascending `element`. Since minor version 17. */
typedef struct sluice_expert_desc {
  size_t size;
  uint32_t op;      /* the operator, in sluice_model.op_names */
  uint32_t mask;    /* index of the operator's slot that has a byte for each expert of the layer; non-zero: chosen */
  uint32_t group;   /* the number of the group */
  uint32_t element; /* the index of the expert's byte in the mask */
  /* The range of the parameter file with the expert's weights. `offset` and `bytes` are multiples of 4096, except that
   * the last range may end with the file. If the expert is chosen, the runtime reads the range into memory and gives
   * the kernel, for each of its parameters in the range, the address in this memory. If the expert is not chosen, the
   * kernel reads none of these parameters. */
  int64_t offset, bytes;
} sluice_expert_desc;

typedef struct sluice_model {
  size_t size;
  uint32_t abi_major, abi_minor;
  const char *name;
  const char *compiler;     /* "sluice 0.1.0 (LLVM 22.1.8)" */
  const char *cpu_features; /* required of the host: "x86-64-v3", or a list "+avx512f,+avx2" */
  /* SHA-256 of the parameter file in hexadecimal digits; "" without a file. */
  const char *parameter_hash;
  int64_t parameter_bytes;
  int64_t state_bytes;
  uint32_t num_inputs, num_outputs, num_memories, num_devices, num_links, num_streams, num_commands;
  uint32_t num_ops, num_tensors;
  const sluice_tensor_desc *inputs, *outputs;
  const sluice_memory_desc *memories;
  const sluice_device_desc *devices;
  const sluice_link_desc *links;
  const sluice_stream_desc *streams;
  const char *const *op_names;     /* for errors, traces and profiles */
  const char *const *tensor_names; /* tensors that copies move */
  /* Planned bytes that one step copies into and out of device memories; an upper bound if the model has symbols. */
  int64_t planned_bytes_in, planned_bytes_out;
  /* Loads the tensors that the plan keeps on devices between steps. May be null. A state that `init` copies from the
   * state store into an arena stays there between steps. Since minor version 16, the runtime copies this state into the
   * state store when a caller reads it, and into the arena after a caller has written it. */
  int32_t (*init)(const sluice_api *api, sluice_context *context);
  int32_t (*step)(const sluice_api *api, sluice_context *context);
  /* The states, which callers may read and write between steps, and their offsets in the
   * state store. */
  uint32_t num_states;
  const sluice_tensor_desc *states;
  const int64_t *state_offsets;
  /* The initial contents of the state store are the parameter file from this offset to its
   * end, followed by zeros; with -1, all zeros. */
  int64_t state_initial;
  /* The number of ranks that run this program together; 0 or 1 for a single rank. Since
   * minor version 3. */
  uint32_t num_ranks;
  /* Per rank: bytes that one step sends to other ranks. Null with a single rank. Since minor version 17, -1 stands for
   * a rank of a pipeline that runs another program; this program then runs on the one rank whose entry is not -1. */
  const int64_t *planned_bytes_sent;
  /* The symbols, and the function that computes the extents of inputs and outputs from them. Each value must be in the
   * range of its symbol. The function writes the extents of all inputs, then the extents of all outputs, one after the
   * other. An extent never exceeds the tensor's `shape`. Null without symbols. Since minor version 11. */
  uint32_t num_symbols;
  const sluice_symbol_desc *symbols;
  void (*extents)(const int64_t *symbols, int64_t *extents);
  /* Computes `sluice_tensor_desc.range` for the current values of the symbols; the ranges in the descriptions hold for
   * the upper bounds of the symbols. Writes three numbers for each input that has a range, one input after the other.
   * Null if no range depends on symbols. Since minor version 12. */
  void (*ranges)(const int64_t *symbols, int64_t *ranges);
  /* Buckets, each with a smaller plan than the plan of `step`. A step uses the first bucket in which no symbol exceeds
   * its bound; symbols whose values the step itself finds are not compared. If there is no such bucket, `step` is used.
   * Tensors that the `init` of one bucket has loaded stay on devices until the `init` of another bucket runs. Since
   * minor version 12. */
  uint32_t num_buckets;
  const sluice_bucket_desc *buckets;
  /* Computes the values of the symbols in the step that follows a step with these values. Lengths of states change, and
   * all other symbols keep their values. If a next length exceeds its symbol's `most`, there is no room for another
   * step. Null if no symbol is a length. Since minor version 13. */
  void (*advance)(const int64_t *symbols, int64_t *next);
  /* Planned bytes that one step reads from files and writes to them; upper bounds if the model has symbols. Since minor
   * version 14. */
  int64_t planned_bytes_read, planned_bytes_written;
  /* The experts, and the number of slots in the host's memory that hold experts from step to step. Each slot has room
   * for the largest expert, in multiples of 4096 bytes. Arenas do not include the slots. Since minor version 17. */
  uint32_t num_experts, expert_slots;
  const sluice_expert_desc *experts;
} sluice_model;

/* The symbol that every model exports. Models for GPUs also export SLUICE_GRID_TABLE: the addresses of the descriptors
 * of all their grids, terminated by null. The runtime uses the table to decide whether the GPU can run the grids, and
 * test drivers find the grids' CPU code in it. */
const sluice_model *sluice_model_get(void);
#define SLUICE_GRID_TABLE "sluice_model_grids"

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_RUNTIME_ABI_H */
