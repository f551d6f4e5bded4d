//===- Gather.cpp - Values of gather, scatter, one_hot --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Evaluate/Models.h"
#include "dialects/Dataflow/IR/HostElements.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace sluice::dataflow;

/// The same on host data; -1 where out of range.
static int64_t hostIndex(int64_t i, int64_t extent) {
  if (i < 0)
    i += extent;
  return i >= 0 && i < extent ? i : -1;
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

static LogicalResult evaluateGather(GatherOp op, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = operands[0].type.getShape();
  int64_t axis = op.getAxis(), outer = 1, inner = elementBytes(operands[0].type.getElementType());
  for (int64_t i = 0; i < axis; ++i)
    outer *= shape[i];
  for (size_t i = axis + 1; i < shape.size(); ++i)
    inner *= shape[i];
  ElementReader indices(operands[1], operands[1].type.getShape());
  int64_t count = elementCount(operands[1].type);
  for (int64_t n = 0; n < count; ++n) {
    int64_t raw;
    indices.read(n, 1, &raw);
    int64_t i = hostIndex(raw, shape[axis]);
    if (i < 0)
      return failure();
    for (int64_t row = 0; row < outer; ++row)
      std::copy_n(operands[0].data + (row * shape[axis] + i) * inner, inner,
                  results[0].data + (row * count + n) * inner);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// gather_elements
//===----------------------------------------------------------------------===//

static LogicalResult evaluateGatherElements(GatherElementsOp op, ArrayRef<TensorView> operands,
                                            ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = results[0].type.getShape();
  SmallVector<int64_t> strides = rowMajorStrides(operands[0].type.getShape()), digits(shape.size(), 0);
  ElementReader indices(operands[1], shape);
  int64_t width = elementBytes(results[0].type.getElementType());
  for (int64_t at = 0, total = elementCount(results[0].type); at < total; ++at) {
    int64_t raw, offset = 0;
    indices.read(at, 1, &raw);
    int64_t chosen = hostIndex(raw, operands[0].type.getDimSize(op.getAxis()));
    if (chosen < 0)
      return failure();
    for (size_t d = 0; d < shape.size(); ++d)
      offset += (d == op.getAxis() ? chosen : digits[d]) * strides[d];
    std::memcpy(results[0].data + at * width, operands[0].data + offset * width, width);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++digits[d] < shape[d])
        break;
      digits[d] = 0;
    }
  }
  return success();
}

void sluice::dataflow::attachGatherValues(MLIRContext *context) {
  attach<EvaluateModel<evaluateGather>, EvaluateModel<evaluateGatherElements>>(context);
}
