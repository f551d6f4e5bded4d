//===- Gather.cpp - gather, scatter, one_hot ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/IR/HostElements.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

/// Reads an index tensor's element and brings it into [0, extent): negative
/// values count from the end, anything further out is clamped.
static Value emitIndex(KernelEmitter &kernel, Value indices, ValueRange at, int64_t extent) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Value raw = kernel.element(indices, at);
  Value i = arith::IndexCastOp::create(b, loc, b.getIndexType(), raw);
  Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, i, kernel.index(0));
  Value wrapped = arith::AddIOp::create(b, loc, i, kernel.index(extent));
  i = arith::SelectOp::create(b, loc, negative, wrapped, i);
  i = arith::MaxSIOp::create(b, loc, i, kernel.index(0));
  return arith::MinSIOp::create(b, loc, i, kernel.index(std::max<int64_t>(extent - 1, 0)));
}

/// The same on host data; -1 where out of range.
static int64_t hostIndex(int64_t i, int64_t extent) {
  if (i < 0)
    i += extent;
  return i >= 0 && i < extent ? i : -1;
}

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

Value GatherOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  int64_t axis = getAxis(), indexRank = typeOf(getIndices()).getRank();
  SmallVector<Value> from(indices.take_front(axis));
  from.push_back(emitIndex(kernel, getIndices(), indices.slice(axis, indexRank), shapeOf(getData())[axis]));
  llvm::append_range(from, indices.drop_front(axis + indexRank));
  return kernel.element(getData(), from);
}

LogicalResult GatherOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = operands[0].type.getShape();
  int64_t axis = getAxis(), outer = 1, inner = elementBytes(operands[0].type.getElementType());
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
      std::memcpy(results[0].data + (row * count + n) * inner, operands[0].data + (row * shape[axis] + i) * inner,
                  inner);
  }
  return success();
}

int64_t GatherOp::getFlops() { return 0; }

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
      return emitOptionalError(loc, "indices reach past dimension ", i, " of data");
  results.push_back(RankedTensorType::get(indices.getShape(), data.getElementType()));
  return success();
}

LogicalResult GatherElementsOp::verify() {
  if (shapeOf(getData())[getAxis()] == 0 && elementCount(getType()) != 0)
    return emitOpError("gathers from an empty dimension");
  return success();
}

Value GatherElementsOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  SmallVector<Value> from(indices);
  from[getAxis()] = emitIndex(kernel, getIndices(), indices, shapeOf(getData())[getAxis()]);
  return kernel.element(getData(), from);
}

LogicalResult GatherElementsOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = results[0].type.getShape();
  SmallVector<int64_t> strides = rowMajorStrides(operands[0].type.getShape()), digits(shape.size(), 0);
  ElementReader indices(operands[1], shape);
  int64_t width = elementBytes(results[0].type.getElementType());
  for (int64_t at = 0, total = elementCount(results[0].type); at < total; ++at) {
    int64_t raw, offset = 0;
    indices.read(at, 1, &raw);
    int64_t chosen = hostIndex(raw, operands[0].type.getDimSize(getAxis()));
    if (chosen < 0)
      return failure();
    for (size_t d = 0; d < shape.size(); ++d)
      offset += (d == getAxis() ? chosen : digits[d]) * strides[d];
    std::memcpy(results[0].data + at * width, operands[0].data + offset * width, width);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++digits[d] < shape[d])
        break;
      digits[d] = 0;
    }
  }
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
    return emitOptionalError(loc, "batch_dims ", batch, " does not suit ranks ", data.getRank(), " and ",
                             indices.getRank());
  int64_t tuple = indices.getShape().back();
  if (tuple < 0 || batch + tuple > data.getRank())
    return emitOptionalError(loc, "index tuples of ", tuple, " are longer than data's rank allows");
  for (int64_t i = 0; i < batch; ++i)
    if (data.getDimSize(i) != indices.getDimSize(i))
      return emitOptionalError(loc, "batch dimension ", i, " differs");
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

Value GatherNdOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  ArrayRef<int64_t> data = shapeOf(getData()), tuples = shapeOf(getIndices());
  int64_t batch = getBatchDims(), tuple = tuples.back(), indexRank = tuples.size();
  SmallVector<Value> from(indices.take_front(batch));
  for (int64_t k = 0; k < tuple; ++k) {
    SmallVector<Value> at(indices.take_front(indexRank - 1));
    at.push_back(kernel.index(k));
    from.push_back(emitIndex(kernel, getIndices(), at, data[batch + k]));
  }
  llvm::append_range(from, indices.drop_front(indexRank - 1));
  return kernel.element(getData(), from);
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

/// result = data, element by element.
static void emitCopy(KernelEmitter &kernel, Value data) {
  int64_t count = elementCount(data.getType());
  Type element = typeOf(data).getElementType();
  kernel.parallel(count, 16384, [&](Value begin, Value end) {
    Value source = kernel.pointer(data), target = kernel.resultPointer(0);
    kernel.loop(begin, end, 1, [&](Value i) { kernel.store(target, element, i, kernel.load(source, element, i)); });
  });
}

/// How many positions a chunk has of each of `count` updates. With duplicate indices the
/// last one wins, or they are combined in order, as the standard's reference does: what
/// runs side by side are positions, not updates.
static int64_t scatterGrain(int64_t count) {
  constexpr int64_t kChunk = 16384, kLeast = 64;
  return std::max(kLeast, grainOf(kChunk, count));
}

/// Combines one update with what is at `linear` of the result.
static void emitUpdate(KernelEmitter &kernel, ScatterKind kind, Type element, Value linear, Value update) {
  Value target = kernel.resultPointer(0);
  if (kind != ScatterKind::none) {
    constexpr BinaryKind table[] = {BinaryKind::add, BinaryKind::add, BinaryKind::mul, BinaryKind::max,
                                    BinaryKind::min};
    Value old = kernel.load(target, element, linear);
    update = emitBinary(kernel.builder(), kernel.loc(), table[static_cast<unsigned>(kind)], old, update,
                        isUnsignedElement(element));
  }
  kernel.store(target, element, linear, update);
}

LogicalResult ScatterElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                  SmallVectorImpl<Type> &results) {
  auto data = typeOf(adaptor.getData()), indices = typeOf(adaptor.getIndices());
  if (failed(checkAxis(loc, adaptor.getAxis(), data.getRank())) ||
      failed(checkSameElement(loc, adaptor.getData(), adaptor.getUpdates())))
    return failure();
  if (indices.getShape() != typeOf(adaptor.getUpdates()).getShape() || indices.getRank() != data.getRank())
    return emitOptionalError(loc, "indices and updates differ in shape, or in rank from data");
  for (int64_t i = 0; i < data.getRank(); ++i)
    if (i != static_cast<int64_t>(adaptor.getAxis()) && indices.getDimSize(i) > data.getDimSize(i))
      return emitOptionalError(loc, "indices reach past dimension ", i, " of data");
  results.push_back(data);
  return success();
}

LogicalResult ScatterElementsOp::verify() {
  if (shapeOf(getData())[getAxis()] == 0 && elementCount(getIndices().getType()) != 0)
    return emitOpError("scatters into an empty dimension");
  return success();
}

void ScatterElementsOp::emitKernel(KernelEmitter &kernel) {
  ArrayRef<int64_t> shape = shapeOf(getData());
  Type element = typeOf(getData()).getElementType();
  emitCopy(kernel, getData());
  const auto axis = static_cast<size_t>(getAxis());
  SmallVector<int64_t> columns(shapeOf(getIndices()));
  const int64_t length = columns[axis];
  columns.erase(columns.begin() + axis);
  auto update = [&](Value column, Value along) {
    SmallVector<Value> at = kernel.delinearize(column, columns);
    at.insert(at.begin() + axis, along);
    SmallVector<Value> to(at);
    to[axis] = emitIndex(kernel, getIndices(), at, shape[axis]);
    emitUpdate(kernel, getKind(), element, kernel.linearize(to, shape), kernel.element(getUpdates(), at));
  };
  const bool isRow = axis + 1 == shape.size();
  // Updates of one column meet in no other.
  kernel.parallel(product(columns), scatterGrain(length), [&](Value begin, Value end) {
    auto walkAlong = [&](llvm::function_ref<void(Value)> body) { kernel.loop(0, length, 1, body); };
    auto walkColumns = [&](llvm::function_ref<void(Value)> body) { kernel.loop(begin, end, 1, body); };
    if (isRow)
      walkColumns([&](Value column) { walkAlong([&](Value along) { update(column, along); }); });
    else
      walkAlong([&](Value along) { walkColumns([&](Value column) { update(column, along); }); });
  });
}

bool ScatterElementsOp::allowsEpilogue() { return false; }
int64_t ScatterElementsOp::getFlops() { return elementCount(getUpdates().getType()); }

LogicalResult ScatterNdOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  auto data = typeOf(adaptor.getData()), indices = typeOf(adaptor.getIndices());
  if (failed(checkSameElement(loc, adaptor.getData(), adaptor.getUpdates())))
    return failure();
  if (indices.getRank() < 1 || indices.getShape().back() > data.getRank())
    return emitOptionalError(loc, "index tuples are longer than data's rank");
  SmallVector<int64_t> wanted(indices.getShape().drop_back());
  llvm::append_range(wanted, data.getShape().drop_front(indices.getShape().back()));
  if (typeOf(adaptor.getUpdates()).getShape() != ArrayRef(wanted))
    return emitOptionalError(loc, "updates' shape does not follow from data and indices");
  results.push_back(data);
  return success();
}

LogicalResult ScatterNdOp::verify() {
  if (elementCount(getData().getType()) == 0 && elementCount(getUpdates().getType()) != 0)
    return emitOpError("scatters into empty data");
  return success();
}

void ScatterNdOp::emitKernel(KernelEmitter &kernel) {
  ArrayRef<int64_t> shape = shapeOf(getData()), tuples = shapeOf(getIndices());
  Type element = typeOf(getData()).getElementType();
  int64_t tuple = tuples.back();
  emitCopy(kernel, getData());
  // Slices are replaced one after the other, but each of their elements by itself.
  ArrayRef<int64_t> slice = shape.drop_front(tuple), outer = tuples.drop_back();
  kernel.parallel(product(slice), scatterGrain(product(outer)), [&](Value begin, Value end) {
    kernel.nest(outer, [&](ValueRange number) {
      SmallVector<Value> to;
      for (int64_t k = 0; k < tuple; ++k) {
        SmallVector<Value> from(number);
        from.push_back(kernel.index(k));
        to.push_back(emitIndex(kernel, getIndices(), from, shape[k]));
      }
      kernel.loop(begin, end, 1, [&](Value i) {
        SmallVector<Value> within = kernel.delinearize(i, slice), at(number), target(to);
        llvm::append_range(at, within);
        llvm::append_range(target, within);
        emitUpdate(kernel, getKind(), element, kernel.linearize(target, shape), kernel.element(getUpdates(), at));
      });
    });
  });
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
    return emitOptionalError(loc, "values are not [off, on]");
  shape.insert(shape.begin() + adaptor.getAxis(), adaptor.getDepth());
  results.push_back(RankedTensorType::get(shape, typeOf(adaptor.getValues()).getElementType()));
  return success();
}

LogicalResult OneHotOp::verify() { return success(); }

Value OneHotOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  SmallVector<Value> at(indices);
  Value position = at[getAxis()];
  at.erase(at.begin() + getAxis());
  Type from = typeOf(getIndices()).getElementType();
  Value raw = emitCast(b, loc, kernel.element(getIndices(), at), from, b.getI64Type(), /*saturate=*/true);
  Value i = arith::IndexCastOp::create(b, loc, b.getIndexType(), raw);
  Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, i, kernel.index(0));
  i = arith::SelectOp::create(b, loc, negative, arith::AddIOp::create(b, loc, i, kernel.index(getDepth())), i);
  Value hit = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, i, position);
  Value off = kernel.element(getValues(), {kernel.index(0)}), on = kernel.element(getValues(), {kernel.index(1)});
  return arith::SelectOp::create(b, loc, hit, on, off);
}

int64_t OneHotOp::getFlops() { return elementCount(getType()); }
