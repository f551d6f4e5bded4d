//===- Shuffles.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/Shuffles.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

SmallVector<Value, 16> sluice::emit::transposeSquare(OpBuilder &b, Location loc, SmallVector<Value, 16> rows) {
  int64_t width = rows.size();
  for (int64_t half = 1; half < width; half *= 2) {
    // Round: exchange the off-diagonal half x half blocks of every 2*half x 2*half block.
    SmallVector<int64_t, 16> low, high;
    for (int64_t lane = 0; lane < width; ++lane) {
      bool second = lane & half;
      low.push_back(second ? width + lane - half : lane);
      high.push_back(second ? width + lane : lane + half);
    }
    for (int64_t r = 0; r < width; ++r) {
      if (r & half)
        continue;
      Value upper = rows[r], lower = rows[r + half];
      rows[r] = vector::ShuffleOp::create(b, loc, upper, lower, low);
      rows[r + half] = vector::ShuffleOp::create(b, loc, upper, lower, high);
    }
  }
  return rows;
}
