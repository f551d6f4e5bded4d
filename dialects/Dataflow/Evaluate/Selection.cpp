//===- Selection.cpp - Values of nonzero, non_max_suppression -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Evaluate/Models.h"
#include "dialects/Dataflow/IR/HostElements.h"

#include <algorithm>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// nonzero
//===----------------------------------------------------------------------===//

static LogicalResult evaluateNonzero(NonzeroOp, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = operands[0].type.getShape();
  int64_t count = elementCount(operands[0].type), found = 0;
  ElementReader input(operands[0], shape);
  SmallVector<int64_t> strides = rowMajorStrides(shape);
  std::fill_n(results[0].data, tensorBytes(results[0].type), 0);
  for (int64_t i = 0; i < count; ++i) {
    bool isSet;
    if (isa<FloatType>(operands[0].type.getElementType())) {
      double x;
      input.read(i, 1, &x);
      isSet = x != 0;
    } else {
      int64_t x;
      input.read(i, 1, &x);
      isSet = x != 0;
    }
    if (!isSet)
      continue;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t digit = i / strides[d] % shape[d];
      writeElements(results[0], static_cast<int64_t>(d) * count + found, 1, &digit);
    }
    ++found;
  }
  writeElements(results[1], 0, 1, &found);
  return success();
}

void sluice::dataflow::attachSelectionValues(MLIRContext *context) { attach<EvaluateModel<evaluateNonzero>>(context); }
