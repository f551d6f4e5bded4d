//===- Movement.cpp - Values of transpose, reshape, expand, tile, slice, concat, pad ===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Evaluate/Models.h"
#include "dialects/Dataflow/IR/HostElements.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

static LogicalResult evaluateTranspose(TransposeOp op, ArrayRef<TensorView> operands,
                                       ArrayRef<MutableTensorView> results) {
  stridedCopy(operands[0].data, results[0].data, results[0].type.getShape(),
              permuted<int64_t>(rowMajorStrides(operands[0].type.getShape()), op.getPermutation()), 0,
              elementBytes(operands[0].type.getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

static LogicalResult evaluateReshape(ReshapeOp, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  // Not memcpy: a tensor of no elements may have no address.
  std::copy_n(operands[0].data, tensorBytes(operands[0].type), results[0].data);
  return success();
}

//===----------------------------------------------------------------------===//
// expand, tile
//===----------------------------------------------------------------------===//

static LogicalResult evaluateExpand(ExpandOp, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> own = operands[0].type.getShape(), shape = results[0].type.getShape();
  SmallVector<int64_t> ownStrides = rowMajorStrides(own), strides(shape.size(), 0);
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i] != 1)
      strides[shape.size() - own.size() + i] = ownStrides[i];
  stridedCopy(operands[0].data, results[0].data, shape, strides, 0, elementBytes(operands[0].type.getElementType()));
  return success();
}

static LogicalResult evaluateTile(TileOp, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  // As a strided copy over [repeat, extent] pairs of dimensions.
  ArrayRef<int64_t> from = operands[0].type.getShape(), to = results[0].type.getShape();
  SmallVector<int64_t> ownStrides = rowMajorStrides(from), shape, strides;
  for (size_t i = 0; i < from.size(); ++i) {
    shape.append({from[i] == 0 ? 0 : to[i] / from[i], from[i]});
    strides.append({0, ownStrides[i]});
  }
  stridedCopy(operands[0].data, results[0].data, shape, strides, 0, elementBytes(operands[0].type.getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

static LogicalResult evaluateSlice(SliceOp op, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  SmallVector<int64_t> strides = rowMajorStrides(operands[0].type.getShape());
  int64_t base = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    base += op.getStarts()[i] * strides[i];
    strides[i] *= op.getSteps()[i];
  }
  stridedCopy(operands[0].data, results[0].data, results[0].type.getShape(), strides, base,
              elementBytes(operands[0].type.getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

static LogicalResult evaluateConcat(ConcatOp op, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = results[0].type.getShape();
  int64_t outer = 1, innerBytes = elementBytes(results[0].type.getElementType());
  for (int64_t i = 0; i < static_cast<int64_t>(op.getAxis()); ++i)
    outer *= shape[i];
  for (size_t i = op.getAxis() + 1; i < shape.size(); ++i)
    innerBytes *= shape[i];
  char *out = results[0].data;
  for (int64_t row = 0; row < outer; ++row)
    for (const TensorView &operand : operands) {
      int64_t run = operand.type.getDimSize(op.getAxis()) * innerBytes;
      out = std::copy_n(operand.data + row * run, run, out);
    }
  return success();
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

static LogicalResult evaluatePad(PadOp op, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> from = operands[0].type.getShape(), to = results[0].type.getShape();
  int64_t width = elementBytes(results[0].type.getElementType());
  SmallVector<int64_t> strides = rowMajorStrides(from), digits(to.size(), 0);
  for (int64_t at = 0, total = elementCount(results[0].type); at < total; ++at) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t d = 0; d < to.size(); ++d) {
      int64_t i = digits[d] - op.getLow()[d], extent = from[d];
      if (i < 0 || i >= extent) {
        if (op.getMode() == PadMode::constant)
          inside = false;
        else if (op.getMode() == PadMode::edge)
          i = std::clamp<int64_t>(i, 0, extent - 1);
        else if (op.getMode() == PadMode::reflect)
          i = std::min(std::abs(i), 2 * (extent - 1) - std::abs(i));
        else
          i = ((i % extent) + extent) % extent;
      }
      offset += i * strides[d];
    }
    std::memcpy(results[0].data + at * width, inside ? operands[0].data + offset * width : operands[1].data, width);
    for (size_t d = to.size(); d-- > 0;) {
      if (++digits[d] < to[d])
        break;
      digits[d] = 0;
    }
  }
  return success();
}

void sluice::dataflow::attachMovementValues(MLIRContext *context) {
  attach<EvaluateModel<evaluateTranspose>, EvaluateModel<evaluateReshape>, EvaluateModel<evaluateExpand>,
         EvaluateModel<evaluateTile>, EvaluateModel<evaluateSlice>, EvaluateModel<evaluateConcat>,
         EvaluateModel<evaluatePad>>(context);
}
