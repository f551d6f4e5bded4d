//===- MatmulShape.h - The extents of a matrix product ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_MATMULSHAPE_H
#define SLUICE_DATAFLOW_IR_MATMULSHAPE_H

#include "dialects/Dataflow/IR/Extents.h"

namespace sluice::dataflow {

/// M, N, K and the batch shape of a matmul.
struct MatmulShape {
  llvm::SmallVector<int64_t> batch;
  int64_t m, n, k;
};
MatmulShape shapeOfMatmul(MatmulOp op);

/// Whether the whole batch is one taller product, because all of it shares one right-hand side.
bool isFlatMatmul(MatmulOp op);

/// MatmulShape with the extents of a step.
struct MatmulSizes {
  explicit MatmulSizes(MatmulOp op);

  Extents batch;
  Extent m = 1, n = 1, k = 1; ///< `m` counts all rows of the batch if the product is flat.
  Extent lda = 1, ldb = 1;
  Extents lhsBatch, rhsBatch;
  Extent lhsMatrix = 1, rhsMatrix = 1; ///< Elements of one matrix.
  bool isFlat = false;                 ///< isFlatMatmul at all points.
  Extents rows;                        ///< The batch shape, then the rows of a matrix.
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_MATMULSHAPE_H
