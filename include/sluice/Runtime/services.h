/*===- services.h - What operators ask of the runtime -------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The part of abi.h, which includes it, that operators speak of. Apart, so that
 * a field more of the ABI is not every operator's business.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SLUICE_RUNTIME_SERVICES_H
#define SLUICE_RUNTIME_SERVICES_H

#include <stdint.h>

/* Operations of several ranks together. An axis of a mesh of ranks is a count and
 * a stride; a group is the ranks that differ along some axes alone, in the order
 * of their coordinates, the first axis slowest. A tensor that is split, or joined,
 * along a dimension is [outer][group][inner bytes]: rank i has, or gets, part i. */
enum sluice_collective_kind {
  SLUICE_COLLECTIVE_ALL_REDUCE = 0,     /* result: the operands combined, element by element */
  SLUICE_COLLECTIVE_ALL_GATHER = 1,     /* result: the operands, joined */
  SLUICE_COLLECTIVE_REDUCE_SCATTER = 2, /* result: this rank's part of the operands, split and combined */
  SLUICE_COLLECTIVE_ALL_TO_ALL = 3,     /* the operand is split, part i goes to rank i, what comes is joined */
  SLUICE_COLLECTIVE_SHARD = 4,          /* result: this rank's part of the operand, split; nothing is sent */
  /* The operand, [outer][extent][inner], with `low` of the extent before it from
   * the rank before, and `high` behind from the next; the fill at the ends. */
  SLUICE_COLLECTIVE_HALO = 5
};
enum sluice_reduction { SLUICE_REDUCTION_SUM = 0, SLUICE_REDUCTION_MAX = 1, SLUICE_REDUCTION_MIN = 2 };

#define SLUICE_COLLECTIVE_AXES 8

typedef struct sluice_collective {
  int64_t reduction;    /* sluice_reduction, of those that combine */
  int64_t element_type; /* combined: float, double, int32 or int64 */
  int64_t bytes;        /* of the operand */
  int64_t split_outer, split_inner;
  int64_t join_outer, join_inner;
  int64_t extent, low, high; /* halo: split_inner bytes each */
  int64_t fill, fill_bytes;  /* an element's bits and bytes: 1, 2, 4 or 8; 0: zeros */
  int64_t num_axes;
  struct {
    int64_t count, stride;
  } axes[SLUICE_COLLECTIVE_AXES];
} sluice_collective;

/* What a library of a GPU's maker may compute in the place of a grid, from two
 * operands: into the result, with a workspace. */
enum sluice_library_function {
  SLUICE_LIBRARY_MATMUL = 0, /* a sluice_product */
  /* A sluice_convolution: of images and filters; of its result's gradient and filters,
   * the images'; of images and its result's gradient, the filters'. Since minor version 7. */
  SLUICE_LIBRARY_CONV = 1,
  SLUICE_LIBRARY_CONV_DATA_GRADIENT = 2,
  SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT = 3
};
/* Or'd to a function: the result is added to what its memory holds. Since minor version 7. */
#define SLUICE_LIBRARY_ACCUMULATE 256
/* Nothing has been done: there is no such library here. */
#define SLUICE_LIBRARY_ABSENT (-1)
/* What f32 operands are rounded to; sums are f32. */
enum sluice_precision {
  SLUICE_PRECISION_F32 = 0,
  SLUICE_PRECISION_TF32 = 1,
  SLUICE_PRECISION_BF16 = 2,
  SLUICE_PRECISION_F16 = 3
};

/* C[m, n] = A[m, k] B[k, n] of each batch, all dense and row-major. */
typedef struct sluice_product {
  int64_t element_type; /* of all three: float, float16 or bfloat16 */
  int64_t precision;
  int64_t batches, m, n, k;
  int64_t transpose_lhs, transpose_rhs; /* non-zero: A is [k, m], B is [n, k] */
  int64_t lhs_stride, rhs_stride;       /* elements from a batch's to the next; 0: one for all */
  int64_t workspace_bytes;
} sluice_product;

/* A convolution of images, all dense; windows that reach over the edge have zeros
 * there, above and left of it `pad`. */
typedef struct sluice_convolution {
  int64_t element_type; /* of all three: float, float16 or bfloat16 */
  int64_t precision;
  int64_t channels_last; /* 0: [N, C, H, W] and [M, C/groups, KH, KW]; else [N, H, W, C] and [M, KH, KW, C/groups] */
  int64_t batch, channels, in_height, in_width;
  int64_t filters, out_height, out_width;
  int64_t kernel_height, kernel_width;
  int64_t pad_height, pad_width;
  int64_t stride_height, stride_width;
  int64_t dilation_height, dilation_width;
  int64_t groups;
  int64_t workspace_bytes;
} sluice_convolution;

#endif /* SLUICE_RUNTIME_SERVICES_H */
