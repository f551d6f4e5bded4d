/*===- abi.h - What compiled models and the runtime agree on ------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A compiled model is a shared library that exports one symbol,
 * `sluice_model_get`, and imports none: everything it calls comes through the
 * tables below. A change that breaks an old model raises the ABI's major
 * number; fields are only ever added at the end, which raises the minor one,
 * and every structure begins with its size. A runtime refuses a model with
 * another major or a greater minor number than its own.
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
#define SLUICE_ABI_MINOR 14

/* Where bytes are. Memory 0 is the host's. */
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

/* An element of a tensor of strings (element type 8): `size` bytes of text, no
 * zero behind them. Not owned; the address may be null where size is 0. */
typedef struct sluice_string {
  const char *data;
  int64_t size;
} __attribute__((aligned(16))) sluice_string;

/* Functions of the host: on text, and what else kernels do not compute. `args` are
 * the addresses of operands, then results; `settings` hold, in this machine's byte
 * order, numbers (int64_t) and texts (a number of bytes, then those), lists as a
 * number of entries before them: elements of the operand first, then what stands
 * beside the name. */
enum sluice_string_function {
  SLUICE_STRING_CONSTANT = 0,  /* () -> text: list of texts (alone) */
  SLUICE_STRING_EQUAL = 1,     /* text, text -> bool */
  SLUICE_STRING_CONCAT = 2,    /* text, text -> text */
  SLUICE_STRING_FIND = 3,      /* text -> int64: list of keys */
  SLUICE_STRING_NORMALIZE = 4, /* text -> text, int64 count: case (0, 1 lower, 2 upper), case matters, list of words */
  /* text -> text, int64 counts, int64 most: room, delimiter; since minor version 9 whether more parts are an error */
  SLUICE_STRING_SPLIT = 5,
  /* Since minor version 9, as what follows. */
  SLUICE_STRING_MATCH = 6,       /* text -> bool: RE2's regular expression */
  SLUICE_STRING_TO_NUMBER = 7,   /* text -> number: sluice_number_type */
  SLUICE_STRING_FROM_NUMBER = 8, /* number -> text: sluice_number_type */
  SLUICE_CHECK = 9,              /* bool -> bool: what is wrong where one is false */
  SLUICE_DECODE_IMAGE = 10       /* uint8 -> uint8: height, width, format (0 RGB, 1 BGR, 2 grey) */
};
enum sluice_number_type { SLUICE_NUMBER_F32 = 0, SLUICE_NUMBER_F64 = 1, SLUICE_NUMBER_I64 = 2, SLUICE_NUMBER_U64 = 3 };

/* One chunk [begin, end) of a parallel loop; `args` are the kernel's own. */
typedef void (*sluice_chunk_fn)(void **args, int64_t begin, int64_t end);

/* One thread of a block, where a grid runs on a CPU. */
typedef struct sluice_thread {
  size_t size;
  int64_t thread, block;
  void *shared; /* the block's memory */
  /* Returns when all threads of the block have come here. */
  void (*barrier)(const struct sluice_thread *self);
  /* The value that thread `thread` ^ `distance`, of the same 32, comes with;
   * returns when all of those have. */
  uint64_t (*exchange)(const struct sluice_thread *self, uint64_t value, uint32_t distance);
  /* sums += A * B, the 32 threads' fragments together, as PTX's mma.sync.m16n8k8
   * (tf32, one a word) and m16n8k16 (two of 16 bits a word) with f32 sums have
   * them: 4 words of A, 2 of B and 4 sums are this thread's. Since minor version 4. */
  void (*multiply)(const struct sluice_thread *self, uint32_t type, const uint32_t *a, const uint32_t *b, float *sums);
  /* Copies to the block's memory, and zeros from `valid` to `bytes`, no later than
   * in finish_copies. Since minor version 4. */
  void (*copy_later)(const struct sluice_thread *self, void *to, const void *from, uint32_t bytes, uint32_t valid);
  void (*finish_copies)(const struct sluice_thread *self);
} sluice_thread;
enum sluice_multiply_type { SLUICE_MULTIPLY_TF32 = 0, SLUICE_MULTIPLY_BF16 = 1, SLUICE_MULTIPLY_F16 = 2 };
typedef void (*sluice_thread_fn)(const sluice_thread *self, void **args);

/* A part of a kernel that runs as `blocks` blocks of `threads` threads, a
 * multiple of 32. `args` has `num_args` words: the addresses of the kernel's own
 * first tensors, then, since minor version 13, extents of the step. `blocks` is 0
 * where the launch says how many there are. */
typedef struct sluice_grid {
  size_t size;
  const char *name; /* its function's in device code */
  uint32_t blocks, threads;
  uint32_t shared_bytes;
  uint32_t num_args;
  uint32_t waits;          /* non-zero: threads wait for each other */
  sluice_thread_fn thread; /* on a CPU; null where the model was compiled without */
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

/* What a kernel may call. */
typedef struct sluice_kernel_env {
  size_t size;
  void *pool;
  /* Runs fn over [0, extent) in chunks of `grain` (the last may be shorter),
   * and returns when all are done. Chunks depend on extent and grain alone,
   * never on the number of threads, so results do not either. */
  void (*parallel_for)(void *pool, int64_t extent, int64_t grain, sluice_chunk_fn fn, void **args);
  /* Text that functions make lives as long as the session, or until its next
   * step. Since minor version 2. */
  void *strings;
  int32_t (*string_function)(void *strings, uint32_t function, void *const *args, const void *settings, int64_t bytes);
  /* Runs a grid, or has it run behind those before it. Since minor version 3. */
  void *grids;
  int32_t (*launch_grid)(void *grids, const sluice_grid *grid, void **args);
  /* `args` are the operand, the result and the workspace; `settings` a
   * sluice_collective. Every rank of the group calls it, all in one order. Since
   * minor version 3. */
  void *ranks;
  int32_t (*collective)(void *ranks, uint32_t kind, void *const *args, const void *settings, int64_t bytes);
  /* `args` are two operands, the result and the workspace, `settings` what
   * sluice_library_function says. Has it computed, behind the grids before it; or does
   * nothing and returns SLUICE_LIBRARY_ABSENT. Since minor version 5. */
  void *libraries;
  int32_t (*library)(void *libraries, uint32_t function, void *const *args, const void *settings, int64_t bytes);
  /* A byte that is non-zero once the step has to stop. Loops read it before each iteration. Since minor version 10. */
  const volatile unsigned char *stop;
  /* The values of the model's symbols in this step, in the order of sluice_model.symbols. A tensor lies dense and
   * row-major, at the extents that follow from them, at the start of its slot. Since minor version 11. A kernel that
   * finds a symbol's value in its data stores it, since minor version 12. */
  const int64_t *symbols;
  /* As launch_grid, for a grid whose number of blocks depends on symbols: `blocks`, none where it is 0. Since minor
   * version 13. */
  int32_t (*launch_blocks)(void *grids, const sluice_grid *grid, int64_t blocks, void **args);
} sluice_kernel_env;

/* A host kernel: args are pointers to its inputs, its outputs, and its
 * workspace where it has one. Returns 0, or non-zero for a run-time failure
 * (an index out of range): the step then fails naming the operator. */
#define SLUICE_KERNEL_ENDLESS 1001   /* a loop would run more often than it may */
#define SLUICE_KERNEL_STOPPED 1002   /* sluice_kernel_env.stop has ended a loop */
#define SLUICE_KERNEL_UNBOUNDED 1003 /* an extent that the data says is above its bound */
#define SLUICE_KERNEL_UNFIT 1004     /* an extent that the data says is negative: no result fits the data */
typedef int32_t (*sluice_kernel_fn)(const sluice_kernel_env *env, void **args);

typedef struct sluice_context sluice_context;

/* What a model's program may call. Every call enqueues and returns: 0, or
 * non-zero once the step has failed (the program then returns that value).
 * Commands of a program (init, step) are numbered in issue order from 0;
 * `waits` are numbers of earlier commands on other streams that must be
 * complete first. A kernel's slots are all in its device's memory, a copy's
 * stream is of a device at either end, or for files where one end is a file; `link` is UINT32_MAX for a copy within
 * one memory. What the tables point to is read before the call returns. */
typedef struct sluice_api {
  size_t size;
  int32_t (*launch)(sluice_context *context, uint32_t command, uint32_t stream, sluice_kernel_fn kernel, uint32_t op,
                    const sluice_slot *slots, uint32_t num_slots, const uint32_t *waits, uint32_t num_waits);
  int32_t (*copy)(sluice_context *context, uint32_t command, uint32_t stream, uint32_t link,
                  const sluice_slot *destination, const sluice_slot *source, int64_t bytes, uint32_t tensor,
                  const uint32_t *waits, uint32_t num_waits);
} sluice_api;

/* A cut of a tensor along a dimension among ranks: rank r has part
 * r / stride % count of `count` equal ones. */
typedef struct sluice_cut {
  int64_t dimension, count, stride;
} sluice_cut;

/* Element types, with ONNX's TensorProto.DataType numbers. */
typedef struct sluice_tensor_desc {
  size_t size;
  const char *name;
  int32_t element_type;
  uint32_t rank;
  /* Of an input or output whose extents depend on symbols: their upper bounds, and the bytes that those take. */
  const int64_t *shape;
  int64_t bytes;
  /* Of an input whose value the model was compiled for: that value, and a step
   * with another one fails. Else null. */
  const void *fixed;
  /* Of a state that each rank has a part of: how the whole was cut, one cut after
   * the other. Since minor version 3. */
  const sluice_cut *cuts;
  uint32_t num_cuts;
  /* Of an input of int32 or int64 elements that are indices: the least and the
   * greatest allowed, and one more value that is allowed, which may be among
   * those; a step with another value fails. Else null. Since minor version 8. */
  const int64_t *range;
} sluice_tensor_desc;

#define SLUICE_SYMBOL_FOUND UINT32_MAX
#define SLUICE_SYMBOL_STATE (UINT32_MAX - 1)
/* An integer that one step may have another value of than the next: the extent of dimension `dimension` of input number
 * `input`, or, where `input` is SLUICE_SYMBOL_FOUND, what a kernel finds in a step's data, or, where it is
 * SLUICE_SYMBOL_STATE, the length of state number `dimension`, `least` at first (since minor version 13). The values
 * are `least`, `least` + `step` and so on to `most`. Since minor version 11. */
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
  int64_t arena_bytes;    /* what the plan uses; the runtime enforces it */
  int64_t capacity_bytes; /* INT64_MAX: unknown */
  /* sluice_memory_kind. In a file are parameters, which are read from the parameter file instead of mapped, and an
   * arena, to which copies alone come. Since minor version 14. */
  uint32_t kind;
} sluice_memory_desc;

typedef struct sluice_device_desc {
  size_t size;
  const char *name;
  uint32_t kind;
  uint32_t memory;
  uint32_t threads;
  double speed; /* emulated: below 1, sleeps in proportion */
} sluice_device_desc;

typedef struct sluice_link_desc {
  size_t size;
  uint32_t memory_a, memory_b;
  double bytes_per_sec, duplex_bytes_per_sec;
  int64_t latency_ns;
  uint32_t throttle; /* non-zero: emulated copies take as long as these say */
} sluice_link_desc;

enum sluice_stream_kind {
  SLUICE_STREAM_COMPUTE = 0,
  SLUICE_STREAM_IN = 1,
  SLUICE_STREAM_OUT = 2,
  SLUICE_STREAM_COMMUNICATE = 3, /* launches of what exchanges data with other ranks. Since minor version 6 */
  SLUICE_STREAM_FILE_IN = 4,     /* copies from files, of any device. Since minor version 14, as the next */
  SLUICE_STREAM_FILE_OUT = 5     /* copies to files */
};

typedef struct sluice_stream_desc {
  size_t size;
  uint32_t device;
  uint32_t kind;
} sluice_stream_desc;

/* A step for values of the symbols up to `bounds`, each a value of its symbol. Since minor version 12. */
typedef struct sluice_bucket_desc {
  size_t size;
  const int64_t *bounds;      /* per symbol */
  const int64_t *arena_bytes; /* per memory: what its plan uses, at most sluice_memory_desc.arena_bytes */
  /* As those of sluice_model. */
  int64_t planned_bytes_in, planned_bytes_out;
  uint32_t num_commands;
  int32_t (*init)(const sluice_api *api, sluice_context *context);
  int32_t (*step)(const sluice_api *api, sluice_context *context);
  int64_t planned_bytes_read, planned_bytes_written; /* since minor version 14 */
} sluice_bucket_desc;

typedef struct sluice_model {
  size_t size;
  uint32_t abi_major, abi_minor;
  const char *name;
  const char *compiler;     /* "sluice 0.1.0 (LLVM 22.1.8)" */
  const char *cpu_features; /* "x86-64-v3", or a list "+avx512f,+avx2" the host must have */
  /* SHA-256, in hex, of the parameter file; "" where there is none. */
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
  /* Planned bytes one step copies into and out of device memories; where there are symbols, at most. */
  int64_t planned_bytes_in, planned_bytes_out;
  /* Loads what the plan keeps on devices between steps. May be null. */
  int32_t (*init)(const sluice_api *api, sluice_context *context);
  int32_t (*step)(const sluice_api *api, sluice_context *context);
  /* States that callers may read and write between steps, and where each is in
   * the state store. */
  uint32_t num_states;
  const sluice_tensor_desc *states;
  const int64_t *state_offsets;
  /* The state store begins as the parameter file from this offset to its end,
   * and zeros behind; -1: all zeros. */
  int64_t state_initial;
  /* How many ranks run this program together; 0 and 1: it runs alone. Since minor
   * version 3. */
  uint32_t num_ranks;
  /* Per rank: bytes that one step sends to others. Null where it runs alone. */
  const int64_t *planned_bytes_sent;
  /* What extents of inputs and outputs depend on, and the function that computes them: from the values of the symbols,
   * each in its range, the extents of all inputs, then those of all outputs, one after the other. None is above the
   * tensor's `shape`. Null without symbols. Since minor version 11. */
  uint32_t num_symbols;
  const sluice_symbol_desc *symbols;
  void (*extents)(const int64_t *symbols, int64_t *extents);
  /* Computes what `sluice_tensor_desc.range` has at other values than the upper bounds: the three numbers of each input
   * that has a range, one input after the other. Null where no range depends on symbols. Since minor version 12. */
  void (*ranges)(const int64_t *symbols, int64_t *ranges);
  /* Steps that take less than `step`. The first one runs that has no bound below its symbol's value; where there is
   * none, `step` does. What an init has loaded stays until the init of another step runs. Since minor version 12. */
  uint32_t num_buckets;
  const sluice_bucket_desc *buckets;
  /* Computes the values that the symbols have in the step after one with these: those of lengths of states; others stay
   * as they are. A next length above its symbol's `most` leaves no room for another step. Null where no symbol is a
   * length. Since minor version 13. */
  void (*advance)(const int64_t *symbols, int64_t *next);
  /* Planned bytes one step reads from files and writes to them; where there are symbols, at most. Since minor version
   * 14. */
  int64_t planned_bytes_read, planned_bytes_written;
} sluice_model;

/* The one exported symbol; but models for GPUs also export, by this name, addresses
 * of all their grids' descriptors, null behind the last: loaders see whether the GPU
 * can run them, and drivers that stand for one in tests find the grids' host code. */
const sluice_model *sluice_model_get(void);
#define SLUICE_GRID_TABLE "sluice_model_grids"

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_RUNTIME_ABI_H */
