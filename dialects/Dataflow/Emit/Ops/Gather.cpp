//===- Gather.cpp - Kernels of gather, scatter, one_hot -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

using namespace mlir;
using namespace sluice::dataflow;

/// Reads an index tensor's element and brings it into [0, extent): negative
/// values count from the end, anything further out is clamped.
static Value emitIndex(KernelEmitter &kernel, Value indices, ValueRange at, const Extent &extent) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Value raw = kernel.element(indices, at);
  constexpr int64_t kBytes = 256;
  const bool isTable = raw.getType().isInteger(8) && extent.is(kBytes);
  // Negative bytes count from the end of a table of 256 if their bits are read without a sign.
  Value i = isTable || isUnsignedElement(typeOf(indices).getElementType())
                ? arith::IndexCastUIOp::create(b, loc, b.getIndexType(), raw).getResult()
                : arith::IndexCastOp::create(b, loc, b.getIndexType(), raw).getResult();
  if (isTable)
    return i;
  Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, i, kernel.index(0));
  Value wrapped = arith::AddIOp::create(b, loc, i, kernel.index(extent));
  i = arith::SelectOp::create(b, loc, negative, wrapped, i);
  i = arith::MaxSIOp::create(b, loc, i, kernel.index(0));
  Value last = extent.isConstant() ? kernel.index(std::max<int64_t>(extent.most() - 1, 0)) : kernel.index(extent - 1);
  if (!extent.isConstant() && mayBeZero(extent))
    last = arith::MaxSIOp::create(b, loc, last, kernel.index(0));
  return arith::MinSIOp::create(b, loc, i, last);
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

static Value emitGatherElement(GatherOp op, KernelEmitter &kernel, ValueRange indices) {
  int64_t axis = op.getAxis(), indexRank = typeOf(op.getIndices()).getRank();
  SmallVector<Value> from(indices.take_front(axis));
  from.push_back(emitIndex(kernel, op.getIndices(), indices.slice(axis, indexRank), extentsOf(op.getData())[axis]));
  llvm::append_range(from, indices.drop_front(axis + indexRank));
  return kernel.element(op.getData(), from);
}

//===----------------------------------------------------------------------===//
// gather_elements
//===----------------------------------------------------------------------===//

static Value emitGatherElementsElement(GatherElementsOp op, KernelEmitter &kernel, ValueRange indices) {
  SmallVector<Value> from(indices);
  from[op.getAxis()] = emitIndex(kernel, op.getIndices(), indices, extentsOf(op.getData())[op.getAxis()]);
  return kernel.element(op.getData(), from);
}

//===----------------------------------------------------------------------===//
// gather_nd
//===----------------------------------------------------------------------===//

static Value emitGatherNdElement(GatherNdOp op, KernelEmitter &kernel, ValueRange indices) {
  const Extents data = extentsOf(op.getData());
  ArrayRef<int64_t> tuples = shapeOf(op.getIndices());
  int64_t batch = op.getBatchDims(), tuple = tuples.back(), indexRank = tuples.size();
  SmallVector<Value> from(indices.take_front(batch));
  for (int64_t k = 0; k < tuple; ++k) {
    SmallVector<Value> at(indices.take_front(indexRank - 1));
    at.push_back(kernel.index(k));
    from.push_back(emitIndex(kernel, op.getIndices(), at, data[batch + k]));
  }
  llvm::append_range(from, indices.drop_front(indexRank - 1));
  return kernel.element(op.getData(), from);
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

/// result = data, element by element.
static void emitCopy(KernelEmitter &kernel, Value data) {
  const Extent count = productOf(extentsOf(data));
  Type element = typeOf(data).getElementType();
  const Work work{Rate::Vectors, 0, 2 * Count(count.most()) * elementBytes(element)};
  kernel.parallel(count, work, [&](Value begin, Value end) {
    Value source = kernel.pointer(data), target = kernel.resultPointer(0);
    kernel.loop(begin, end, 1, [&](Value i) { kernel.store(target, element, i, kernel.load(source, element, i)); });
  });
}

/// Positions that a chunk has of each update at least. With duplicate indices the last one
/// wins, or they are combined in order, as the standard's reference does: what runs side by
/// side are positions, not updates, and each chunk reads the indices of all updates.
constexpr int64_t kScatterRun = 64;

static Work scatterWork(Count positions, Count updates) { return {Rate::Scalars, positions * updates, 0}; }

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

static void emitScatterElementsKernel(ScatterElementsOp op, KernelEmitter &kernel) {
  const Extents shape = extentsOf(op.getData());
  Type element = typeOf(op.getData()).getElementType();
  emitCopy(kernel, op.getData());
  const auto axis = static_cast<size_t>(op.getAxis());
  Extents columns = extentsOf(op.getIndices());
  const Extent length = columns[axis];
  columns.erase(columns.begin() + axis);
  auto update = [&](Value column, Value along) {
    SmallVector<Value> at = kernel.delinearize(column, columns);
    at.insert(at.begin() + axis, along);
    SmallVector<Value> to(at);
    to[axis] = emitIndex(kernel, op.getIndices(), at, shape[axis]);
    emitUpdate(kernel, op.getKind(), element, kernel.linearize(to, shape), kernel.element(op.getUpdates(), at));
  };
  const bool isRow = axis + 1 == shape.size();
  // Updates of one column meet in no other.
  auto walk = [&](Value begin, Value end) {
    auto walkAlong = [&](llvm::function_ref<void(Value)> body) { kernel.loop(0, length, 1, body); };
    auto walkColumns = [&](llvm::function_ref<void(Value)> body) { kernel.loop(begin, end, 1, body); };
    if (isRow)
      walkColumns([&](Value column) { walkAlong([&](Value along) { update(column, along); }); });
    else
      walkAlong([&](Value along) { walkColumns([&](Value column) { update(column, along); }); });
  };
  const Extent count = productOf(columns);
  kernel.parallel(count, scatterWork(count.most(), length.most()), walk, kScatterRun);
}

static void emitScatterNdKernel(ScatterNdOp op, KernelEmitter &kernel) {
  const Extents shape = extentsOf(op.getData()), tuples = extentsOf(op.getIndices());
  Type element = typeOf(op.getData()).getElementType();
  const int64_t tuple = shapeOf(op.getIndices()).back();
  emitCopy(kernel, op.getData());
  // Slices are replaced one after the other, but each of their elements by itself.
  const ExtentList slice(ArrayRef(shape).drop_front(tuple)), outer(ArrayRef(tuples).drop_back());
  auto walk = [&](Value begin, Value end) {
    kernel.nest(outer, [&](ValueRange number) {
      SmallVector<Value> to;
      for (int64_t k = 0; k < tuple; ++k) {
        SmallVector<Value> from(number);
        from.push_back(kernel.index(k));
        to.push_back(emitIndex(kernel, op.getIndices(), from, shape[k]));
      }
      kernel.loop(begin, end, 1, [&](Value i) {
        SmallVector<Value> within = kernel.delinearize(i, slice), at(number), target(to);
        llvm::append_range(at, within);
        llvm::append_range(target, within);
        emitUpdate(kernel, op.getKind(), element, kernel.linearize(target, shape), kernel.element(op.getUpdates(), at));
      });
    });
  };
  const Extent count = productOf(slice);
  kernel.parallel(count, scatterWork(count.most(), productOf(outer).most()), walk, kScatterRun);
}

//===----------------------------------------------------------------------===//
// one_hot
//===----------------------------------------------------------------------===//

static Value emitOneHotElement(OneHotOp op, KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  SmallVector<Value> at(indices);
  Value position = at[op.getAxis()];
  at.erase(at.begin() + op.getAxis());
  Type from = typeOf(op.getIndices()).getElementType();
  Value raw = emitCast(b, loc, kernel.element(op.getIndices(), at), from, b.getI64Type(), /*saturate=*/true);
  Value i = arith::IndexCastOp::create(b, loc, b.getIndexType(), raw);
  Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, i, kernel.index(0));
  i = arith::SelectOp::create(b, loc, negative, arith::AddIOp::create(b, loc, i, kernel.index(op.getDepth())), i);
  Value hit = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, i, position);
  Value off = kernel.element(op.getValues(), {kernel.index(0)}), on = kernel.element(op.getValues(), {kernel.index(1)});
  return arith::SelectOp::create(b, loc, hit, on, off);
}

void sluice::dataflow::attachGatherKernels(MLIRContext *context) {
  constexpr auto kOfStep = KernelExtents::OfStep;
  attach<ElementModel<emitGatherElement, kOfStep>, ElementModel<emitGatherElementsElement, kOfStep>,
         ElementModel<emitGatherNdElement, kOfStep>, KernelModel<emitScatterElementsKernel, kOfStep>,
         KernelModel<emitScatterNdKernel, kOfStep>, ElementModel<emitOneHotElement, kOfStep>>(context);
}
