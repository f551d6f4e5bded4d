/*===- services.h - Runtime functions for operators ---------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The part of the ABI that operators use; abi.h includes it. It is a separate file so
 * that changes of the rest of the ABI do not affect operators.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SLUICE_RUNTIME_SERVICES_H
#define SLUICE_RUNTIME_SERVICES_H

#include <stdint.h>

/* Collective operations of several ranks. An axis of a mesh of ranks is a count and a stride. A group consists of the
 * ranks whose coordinates differ only along the axes of the collective. Ranks of a group are ordered by their
 * coordinates; the coordinate of the first axis changes slowest. A tensor that is split or joined along a dimension has
 * the layout [outer][rank of the group][inner bytes]; rank i of the group has or receives part i. */
enum sluice_collective_kind {
  SLUICE_COLLECTIVE_ALL_REDUCE = 0,     /* result: all operands combined element by element */
  SLUICE_COLLECTIVE_ALL_GATHER = 1,     /* result: all operands joined */
  SLUICE_COLLECTIVE_REDUCE_SCATTER = 2, /* result: this rank's part of all operands, combined */
  SLUICE_COLLECTIVE_ALL_TO_ALL = 3,     /* part i of the operand goes to rank i; the received parts are joined */
  SLUICE_COLLECTIVE_SHARD = 4,          /* result: this rank's part of the operand; nothing is sent */
  /* result: the operand [outer][extent][inner], preceded by the last `low` rows of the previous
   * rank and followed by the first `high` rows of the next rank. The first rank has the fill
   * value instead of the preceding rows, and the last rank instead of the following rows. */
  SLUICE_COLLECTIVE_HALO = 5,
  /* A message between two ranks, which run different programs. A receive has no operand: its
   * arguments are the result and the workspace. Since minor version 17. */
  SLUICE_COLLECTIVE_SEND = 6,   /* the operand goes to rank `peer` */
  SLUICE_COLLECTIVE_RECEIVE = 7 /* result: the `bytes` bytes that rank `peer` sends */
};
enum sluice_reduction { SLUICE_REDUCTION_SUM = 0, SLUICE_REDUCTION_MAX = 1, SLUICE_REDUCTION_MIN = 2 };

#define SLUICE_COLLECTIVE_AXES 8
typedef struct sluice_rank_axis {
  int64_t count, stride;
} sluice_rank_axis;
/* The parts into which a dimension of `extent` rows is divided; their sizes differ by at most one row. `axes` first
 * divide the dimension into pieces, and the ranks of the collective's group divide each piece. If there are n parts in
 * all, part p begins with row floor(extent * p / n). The memory of a part has room for the rows of the largest part. In
 * the result of a collective, a smaller part is followed by a spare row. The spare row is a copy of the part's last row
 * and is never sent. (Operators may replace the spare row: TilingRule::uneven in sluice/Tiling/TilingRule.h.) If
 * `extent` is 0, all parts are equal. */
typedef struct sluice_uneven {
  int64_t extent;
  int64_t num_axes; /* number of further axes, outside of the group, that split the dimension */
  sluice_rank_axis axes[SLUICE_COLLECTIVE_AXES];
} sluice_uneven;

typedef struct sluice_collective {
  int64_t reduction;    /* sluice_reduction, for collectives that combine */
  int64_t element_type; /* of combined elements: float, double, int32 or int64 */
  int64_t bytes;        /* of the operand; for a receive, of the result */
  int64_t split_outer, split_inner;
  int64_t join_outer, join_inner;
  int64_t extent, low, high; /* halo: numbers of rows of split_inner bytes each */
  int64_t fill, fill_bytes;  /* halo: bits of the fill value, and its size (1, 2, 4 or 8 bytes; 0 fills zeros) */
  int64_t num_axes;
  sluice_rank_axis axes[SLUICE_COLLECTIVE_AXES];
  /* Since minor version 15. The parts of the dimension that is split (or that a halo extends)
   * and of the dimension that is joined. If split.extent is not 0, split_outer and split_inner describe the largest
   * part; if join.extent is not 0, so do join_outer and join_inner. */
  sluice_uneven split, join;
  /* all_to_all of uneven parts, where `split` and `join` both have an extent. The tensor has the
   * layout [before][dimension 1][between][dimension 2][after bytes]. Dimension 1 is the joined
   * one if join_first is not 0, and otherwise the split one. */
  int64_t before, between, after, join_first;
  int64_t peer; /* send and receive: the other rank. Since minor version 17 */
} sluice_collective;

/* Functions that the GPU vendor's libraries may compute instead of a grid. They read two
 * operands, write the result and use a workspace. */
enum sluice_library_function {
  SLUICE_LIBRARY_MATMUL = 0, /* settings: a sluice_product */
  /* The settings of the following three functions are a sluice_convolution. CONV convolves images with filters.
   * CONV_DATA_GRADIENT computes the gradient of the images from the result's gradient and the filters.
   * CONV_WEIGHT_GRADIENT computes the gradient of the filters from the images and the result's gradient. Since minor
   * version 7. */
  SLUICE_LIBRARY_CONV = 1,
  SLUICE_LIBRARY_CONV_DATA_GRADIENT = 2,
  SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT = 3
};
/* A flag that is added to a function's number. The function then adds its result to the values that the result's memory
 * already holds. Since minor version 7. */
#define SLUICE_LIBRARY_ACCUMULATE 256
/* The library is absent, and nothing was done. */
#define SLUICE_LIBRARY_ABSENT (-1)
/* The type to which f32 operands are rounded; sums are f32. */
enum sluice_precision {
  SLUICE_PRECISION_F32 = 0,
  SLUICE_PRECISION_TF32 = 1,
  SLUICE_PRECISION_BF16 = 2,
  SLUICE_PRECISION_F16 = 3
};

/* C[m, n] = A[m, k] * B[k, n] for each batch. All matrices are dense and row-major. */
typedef struct sluice_product {
  int64_t element_type; /* of operands and result: float, float16 or bfloat16 */
  int64_t precision;
  int64_t batches, m, n, k;
  int64_t transpose_lhs, transpose_rhs; /* transpose_lhs non-zero: A is [k, m]; transpose_rhs non-zero: B is [n, k] */
  int64_t lhs_stride, rhs_stride;       /* elements from one batch to the next; 0 if all batches share one matrix */
  int64_t workspace_bytes;
} sluice_product;

/* A convolution of images. All tensors are dense. Elements outside the image are zeros; `pad`
 * is the padding at the top and at the left. */
typedef struct sluice_convolution {
  int64_t element_type; /* of operands and result: float, float16 or bfloat16 */
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
