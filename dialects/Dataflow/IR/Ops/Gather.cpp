//===- Gather.cpp - gather, scatter, one_hot ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto data = typeOf(adaptor.getData()), indices = typeOf(adaptor.getIndices());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(loc, axis, data.getRank())))
    return failure();
  SmallVector<int64_t> shape(data.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, data.getShape().drop_front(axis + 1));
  results.push_back(RankedTensorType::get(shape, data.getElementType()));
  return success();
}

LogicalResult GatherOp::verify() {
  if (shapeOf(getData())[getAxis()] == 0 && elementCount(getType()) != 0)
    return emitOpError("gathers from an empty dimension");
  return success();
}

int64_t GatherOp::getFlops() { return 0; }
bool GatherOp::isPermutedOperand(unsigned index) { return index == 1; }

FailureOr<Operation *> GatherOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  // Entries of a table lie as their indices do.
  if (typeOf(getData()).getRank() != 1)
    return failure();
  return GatherOp::create(builder, getLoc(), permutedType(getType(), permutation), operands[0], operands[1], getAxis())
      .getOperation();
}

//===----------------------------------------------------------------------===//
// gather_elements
//===----------------------------------------------------------------------===//

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &results) {
  auto data = typeOf(adaptor.getData()), indices = typeOf(adaptor.getIndices());
  if (failed(checkAxis(loc, adaptor.getAxis(), data.getRank())))
    return failure();
  if (indices.getRank() != data.getRank())
    return emitOptionalError(loc, "data and indices differ in rank");
  for (int64_t i = 0; i < data.getRank(); ++i)
    if (i != static_cast<int64_t>(adaptor.getAxis()) && indices.getDimSize(i) > data.getDimSize(i))
      return emitOptionalError(loc, "indices are larger than data in dimension ", i);
  results.push_back(RankedTensorType::get(indices.getShape(), data.getElementType()));
  return success();
}

LogicalResult GatherElementsOp::verify() {
  if (shapeOf(getData())[getAxis()] == 0 && elementCount(getType()) != 0)
    return emitOpError("gathers from an empty dimension");
  return success();
}

int64_t GatherElementsOp::getFlops() { return 0; }

//===----------------------------------------------------------------------===//
// gather_nd
//===----------------------------------------------------------------------===//

LogicalResult GatherNdOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                           SmallVectorImpl<Type> &results) {
  auto data = typeOf(adaptor.getData()), indices = typeOf(adaptor.getIndices());
  int64_t batch = adaptor.getBatchDims();
  if (indices.getRank() < 1 || batch < 0 || batch >= indices.getRank() || batch > data.getRank())
    return emitOptionalError(loc, "batch_dims ", batch, " is out of range for data of rank ", data.getRank(),
                             " and indices of rank ", indices.getRank());
  int64_t tuple = indices.getShape().back();
  if (tuple < 0 || batch + tuple > data.getRank())
    return emitOptionalError(loc, "index tuples of ", tuple, " entries exceed the rank of data");
  for (int64_t i = 0; i < batch; ++i)
    if (data.getDimSize(i) != indices.getDimSize(i))
      return emitOptionalError(loc, "data and indices differ in batch dimension ", i);
  SmallVector<int64_t> shape(indices.getShape().drop_back());
  llvm::append_range(shape, data.getShape().drop_front(batch + tuple));
  results.push_back(RankedTensorType::get(shape, data.getElementType()));
  return success();
}

LogicalResult GatherNdOp::verify() {
  if (elementCount(getData().getType()) == 0 && elementCount(getType()) != 0)
    return emitOpError("gathers from empty data");
  return success();
}

int64_t GatherNdOp::getFlops() { return 0; }

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

static LogicalResult checkSameElement(std::optional<Location> loc, Value a, Value c) {
  if (typeOf(a).getElementType() != typeOf(c).getElementType())
    return emitOptionalError(loc, "data and updates have different element types");
  return success();
}

LogicalResult ScatterElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                  SmallVectorImpl<Type> &results) {
  auto data = typeOf(adaptor.getData()), indices = typeOf(adaptor.getIndices());
  if (failed(checkAxis(loc, adaptor.getAxis(), data.getRank())) ||
      failed(checkSameElement(loc, adaptor.getData(), adaptor.getUpdates())))
    return failure();
  if (indices.getShape() != typeOf(adaptor.getUpdates()).getShape() || indices.getRank() != data.getRank())
    return emitOptionalError(loc, "indices and updates must have the same shape, and the rank of data");
  for (int64_t i = 0; i < data.getRank(); ++i)
    if (i != static_cast<int64_t>(adaptor.getAxis()) && indices.getDimSize(i) > data.getDimSize(i))
      return emitOptionalError(loc, "indices are larger than data in dimension ", i);
  results.push_back(data);
  return success();
}

LogicalResult ScatterElementsOp::verify() {
  if (shapeOf(getData())[getAxis()] == 0 && elementCount(getIndices().getType()) != 0)
    return emitOpError("scatters into an empty dimension");
  return success();
}

bool ScatterElementsOp::allowsEpilogue() { return false; }
int64_t ScatterElementsOp::getFlops() { return elementCount(getUpdates().getType()); }

LogicalResult ScatterNdOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  auto data = typeOf(adaptor.getData()), indices = typeOf(adaptor.getIndices());
  if (failed(checkSameElement(loc, adaptor.getData(), adaptor.getUpdates())))
    return failure();
  if (indices.getRank() < 1 || indices.getShape().back() > data.getRank())
    return emitOptionalError(loc, "index tuples have more entries than data has dimensions");
  SmallVector<int64_t> wanted(indices.getShape().drop_back());
  llvm::append_range(wanted, data.getShape().drop_front(indices.getShape().back()));
  if (typeOf(adaptor.getUpdates()).getShape() != ArrayRef(wanted))
    return emitOptionalError(loc, "shape of updates does not match data and indices");
  results.push_back(data);
  return success();
}

LogicalResult ScatterNdOp::verify() {
  if (elementCount(getData().getType()) == 0 && elementCount(getUpdates().getType()) != 0)
    return emitOpError("scatters into empty data");
  return success();
}

bool ScatterNdOp::allowsEpilogue() { return false; }
int64_t ScatterNdOp::getFlops() { return elementCount(getUpdates().getType()); }

//===----------------------------------------------------------------------===//
// one_hot
//===----------------------------------------------------------------------===//

LogicalResult OneHotOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  SmallVector<int64_t> shape(typeOf(adaptor.getIndices()).getShape());
  if (failed(checkAxis(loc, adaptor.getAxis(), shape.size() + 1)))
    return failure();
  if (static_cast<int64_t>(adaptor.getDepth()) < 0)
    return emitOptionalError(loc, "depth is negative");
  if (elementCount(adaptor.getValues().getType()) != 2)
    return emitOptionalError(loc, "values must have two elements, [off, on]");
  shape.insert(shape.begin() + adaptor.getAxis(), adaptor.getDepth());
  results.push_back(RankedTensorType::get(shape, typeOf(adaptor.getValues()).getElementType()));
  return success();
}

LogicalResult OneHotOp::verify() { return success(); }
int64_t OneHotOp::getFlops() { return elementCount(getType()); }
