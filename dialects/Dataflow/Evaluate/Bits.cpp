//===- Bits.cpp - Values of bitcast, random -------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Evaluate/Models.h"

#include <algorithm>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// bitcast
//===----------------------------------------------------------------------===//

static LogicalResult evaluateBitcast(BitcastOp, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  std::copy_n(operands[0].data, tensorBytes(results[0].type), results[0].data);
  return success();
}

void sluice::dataflow::attachBitsValues(MLIRContext *context) { attach<EvaluateModel<evaluateBitcast>>(context); }
