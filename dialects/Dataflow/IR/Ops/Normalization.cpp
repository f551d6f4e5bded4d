//===- Normalization.cpp - softmax, layer, instance, batch norm, lrn ------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside rank ", type.getRank());
  results.push_back(type);
  return success();
}

LogicalResult SoftmaxOp::verify() { return success(); }
int64_t SoftmaxOp::getFlops() { return 20 * elementCount(getType()); }

FailureOr<Operation *> SoftmaxOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  int64_t axis = llvm::find(permutation, static_cast<int64_t>(getAxis())) - permutation.begin();
  return SoftmaxOp::create(builder, getLoc(), operands[0], axis, getLog()).getOperation();
}

//===----------------------------------------------------------------------===//
// layer_norm
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside rank ", type.getRank());
  for (Value other : adaptor.getOperands().drop_front()) {
    auto shape = broadcastShapes({type.getShape(), shapeOf(other)});
    if (failed(shape) || ArrayRef(*shape) != type.getShape())
      return emitOptionalError(loc, "scale or bias does not broadcast to the input");
    if (typeOf(other).getElementType() != type.getElementType())
      return emitOptionalError(loc, "input, scale and bias differ in element type");
  }
  results.push_back(type);
  return success();
}

LogicalResult LayerNormOp::verify() { return success(); }
int64_t LayerNormOp::getFlops() { return 8 * elementCount(getType()); }

//===----------------------------------------------------------------------===//
// instance_norm
//===----------------------------------------------------------------------===//

static LogicalResult checkChannelVectors(std::optional<Location> loc, ValueRange operands) {
  auto type = typeOf(operands.front());
  if (type.getRank() < 2)
    return emitOptionalError(loc, "normalises a tensor of rank ", type.getRank(), ", at least 2 is needed");
  for (Value other : operands.drop_front()) {
    if (shapeOf(other) != ArrayRef<int64_t>{type.getDimSize(1)})
      return emitOptionalError(loc, "a per-channel operand must have the shape [", type.getDimSize(1), "]");
    if (typeOf(other).getElementType() != type.getElementType())
      return emitOptionalError(loc, "operands differ in element type");
  }
  return success();
}

LogicalResult InstanceNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                               SmallVectorImpl<Type> &results) {
  if (failed(checkChannelVectors(loc, adaptor.getOperands())))
    return failure();
  results.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult InstanceNormOp::verify() { return success(); }
int64_t InstanceNormOp::getFlops() { return 8 * elementCount(getType()); }
bool InstanceNormOp::allowsEpilogue() { return false; }

//===----------------------------------------------------------------------===//
// batch_norm
//===----------------------------------------------------------------------===//

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  if (failed(checkChannelVectors(loc, adaptor.getOperands())))
    return failure();
  results.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult BatchNormOp::verify() { return success(); }
int64_t BatchNormOp::getFlops() { return 2 * elementCount(getType()); }

//===----------------------------------------------------------------------===//
// lrn
//===----------------------------------------------------------------------===//

LogicalResult LrnOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  int64_t axis = adaptor.getChannelAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "channel axis ", axis, " is outside rank ", type.getRank());
  if (static_cast<int64_t>(adaptor.getSize()) < 1)
    return emitOptionalError(loc, "size is not positive");
  results.push_back(type);
  return success();
}

LogicalResult LrnOp::verify() { return success(); }
int64_t LrnOp::getFlops() { return elementCount(getType()) * (2 * Count(getSize()) + 16); }

FailureOr<Operation *> LrnOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  int64_t axis = llvm::find(permutation, static_cast<int64_t>(getChannelAxis())) - permutation.begin();
  return LrnOp::create(builder, getLoc(), operands[0], getSize(), getAlpha(), getBeta(), getBias(), axis)
      .getOperation();
}
