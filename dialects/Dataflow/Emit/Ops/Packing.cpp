//===- Packing.cpp - Kernels of packing -----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/Packing.h"
#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sluice::dataflow;

LogicalResult sluice::dataflow::checkPackedWeight(Operation *op, Value weight, int64_t block) {
  const int64_t given = shapeOf(weight).back();
  if (given == block)
    return success();
  return op->emitOpError("has a weight in blocks of ")
         << given << ", and the target needs blocks of " << block
         << ", give dataflow-assign-layout the target's lanes and registers";
}

/// What `read` gives, where blocks reach behind the last of `extent` positions zero.
static Value orZero(KernelEmitter &kernel, Value position, int64_t extent, int64_t block, Type type,
                    function_ref<Value()> read) {
  if (extent % block == 0)
    return read();
  OpBuilder &b = kernel.builder();
  Type compute = computeType(getElementTypeOrSelf(type));
  Value inside = arith::CmpIOp::create(b, kernel.loc(), arith::CmpIPredicate::ult, position, kernel.index(extent));
  return kernel.choose(inside, read, [&] { return emitConstant(b, kernel.loc(), compute, 0); });
}

/// At run time, where the weight is trained.
static Value emitPackConvWeightElement(PackConvWeightOp op, KernelEmitter &kernel, ValueRange at) {
  ArrayRef<int64_t> weight = shapeOf(op.getWeight());
  const auto groups = static_cast<int64_t>(op.getGroups()), block = static_cast<int64_t>(op.getBlock());
  // [KH][KW][M up to the block] or [groups][M/groups/block][KH][KW][C/groups][block].
  Value position = op.getDepthwise() ? at[2] : kernel.add(kernel.mul(at[1], block), at[5]);
  const int64_t perGroup = op.getDepthwise() ? weight[0] : weight[0] / groups;
  auto read = [&] {
    if (op.getDepthwise())
      return kernel.element(op.getWeight(), {position, kernel.index(0), at[0], at[1]});
    Value filter = kernel.add(kernel.mul(at[0], perGroup), position);
    return kernel.element(op.getWeight(), {filter, at[4], at[2], at[3]});
  };
  return orZero(kernel, position, perGroup, block, op.getType(), read);
}

/// [..., N/block, K, block].
static Value emitPackMatmulRhsElement(PackMatmulRhsOp op, KernelEmitter &kernel, ValueRange at) {
  const size_t batch = at.size() - 3;
  const auto block = static_cast<int64_t>(op.getBlock());
  ArrayRef<int64_t> rhs = shapeOf(op.getRhs());
  const int64_t columns = op.getTransposed() ? rhs[batch] : rhs[batch + 1];
  Value column = kernel.add(kernel.mul(at[batch], block), at[batch + 2]);
  return orZero(kernel, column, columns, block, op.getType(), [&] {
    SmallVector<Value> from(at.take_front(batch));
    from.push_back(op.getTransposed() ? column : at[batch + 1]);
    from.push_back(op.getTransposed() ? at[batch + 1] : column);
    return kernel.element(op.getRhs(), from);
  });
}

void sluice::dataflow::attachPackingKernels(MLIRContext *context) {
  attach<ElementModel<emitPackConvWeightElement>, ElementModel<emitPackMatmulRhsElement>>(context);
}
