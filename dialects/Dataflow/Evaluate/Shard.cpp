//===- Shard.cpp - Values of parts of constants ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Evaluate/Models.h"

using namespace mlir;
using namespace sluice::dataflow;

static LogicalResult evaluateShard(ShardOp op, int64_t rank, ArrayRef<TensorView> operands,
                                   ArrayRef<MutableTensorView> results) {
  if (UnevenAttr uneven = op.getUnevenAttr()) {
    const auto [begin, end] = uneven.elementsOf(rank, op.getGroup());
    const int64_t first = uneven.elementsOf(rank, {}).first;
    copyElements(operands[0], op.getDim(), begin - first, end - first, results[0]);
    return success();
  }
  copyPart(operands[0], op.getDim(), op.getGroup().positionOf(rank), results[0]);
  return success();
}

void sluice::dataflow::attachShardValues(MLIRContext *context) { attach<EvaluateModel<evaluateShard>>(context); }
