//===- Reduction.cpp - reduce, arg_reduce, cumsum, topk -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include <algorithm>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  SmallVector<bool> reduced(type.getRank());
  for (int64_t axis : adaptor.getAxes()) {
    if (failed(checkAxis(loc, axis, type.getRank())))
      return failure();
    if (reduced[axis])
      return emitOptionalError(loc, "axis ", axis, " is named twice");
    reduced[axis] = true;
  }
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (!reduced[i])
      shape.push_back(type.getDimSize(i));
    else if (adaptor.getKeepDims())
      shape.push_back(1);
  results.push_back(RankedTensorType::get(shape, type.getElementType()));
  return success();
}

LogicalResult ReduceOp::verify() {
  Type element = getType().getElementType();
  bool isFloat = isa<FloatType>(element);
  if (element.isInteger(1) && getKind() != ReduceKind::max && getKind() != ReduceKind::min)
    return emitOpError("'") << stringifyReduceKind(getKind()) << "' is not defined on bool";
  if (!isFloat &&
      (getKind() == ReduceKind::l2 || getKind() == ReduceKind::log_sum || getKind() == ReduceKind::log_sum_exp))
    return emitOpError("'") << stringifyReduceKind(getKind()) << "' needs float elements, got " << element;
  return success();
}

int64_t ReduceOp::getFlops() {
  return elementCount(getInput().getType()) * (getKind() == ReduceKind::log_sum_exp ? 16 : 1);
}

bool ReduceOp::allowsPrologue(unsigned) { return getKind() != ReduceKind::log_sum_exp; }

FailureOr<Operation *> ReduceOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  // Without kept dimensions the result's own permutation would be another one.
  if (!getKeepDims())
    return failure();
  SmallVector<int64_t> axes;
  for (auto [to, from] : llvm::enumerate(permutation))
    if (llvm::is_contained(getAxes(), from))
      axes.push_back(to);
  return ReduceOp::create(builder, getLoc(), getKind(), operands[0], axes, /*keep_dims=*/true).getOperation();
}

//===----------------------------------------------------------------------===//
// arg_reduce
//===----------------------------------------------------------------------===//

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(loc, axis, type.getRank())))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  if (adaptor.getKeepDims())
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + axis);
  results.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
  return success();
}

LogicalResult ArgReduceOp::verify() {
  if (shapeOf(getInput())[getAxis()] == 0)
    return emitOpError("has no elements along axis ") << getAxis();
  return success();
}

bool ArgReduceOp::allowsPrologue(unsigned) { return true; }

//===----------------------------------------------------------------------===//
// cumsum
//===----------------------------------------------------------------------===//

LogicalResult CumsumOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  if (failed(checkAxis(loc, adaptor.getAxis(), type.getRank())))
    return failure();
  results.push_back(type);
  return success();
}

LogicalResult CumsumOp::verify() {
  if (getType().getElementType().isInteger(1))
    return emitOpError("is not defined on bool");
  return success();
}

//===----------------------------------------------------------------------===//
// topk
//===----------------------------------------------------------------------===//

LogicalResult TopkOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis(), k = adaptor.getK();
  if (failed(checkAxis(loc, axis, type.getRank())))
    return failure();
  if (k < 0 || k > type.getDimSize(axis))
    return emitOptionalError(loc, "k is ", k, ", and must be from 0 to the ", type.getDimSize(axis),
                             " elements of the axis");
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = k;
  results.push_back(RankedTensorType::get(shape, type.getElementType()));
  results.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
  return success();
}

LogicalResult TopkOp::verify() { return success(); }
int64_t TopkOp::getFlops() { return elementCount(getInput().getType()) * std::max<int64_t>(1, getK()); }
