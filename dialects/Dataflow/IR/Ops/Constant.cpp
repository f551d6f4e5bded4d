//===- Constant.cpp - range -----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/IR/HostElements.h"

using namespace mlir;
using namespace sluice::dataflow;

LogicalResult RangeOp::verify() {
  auto type = getType();
  if (type.getRank() != 1)
    return emitOpError("result is not of rank 1");
  for (Value operand : getOperands())
    if (elementCount(operand.getType()) != 1 || getElementTypeOrSelf(operand.getType()) != type.getElementType())
      return emitOpError("start and delta are single elements of the result's type");
  if (type.getElementType().isInteger(1))
    return emitOpError("bool has no ranges");
  return success();
}

LogicalResult RangeOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ElementReader start(operands[0], {1}), delta(operands[1], {1});
  int64_t total = elementCount(results[0].type);
  auto run = [&](auto sample) {
    using T = decltype(sample);
    T first, step, values[kRun];
    start.read(0, 1, &first);
    delta.read(0, 1, &step);
    for (int64_t at = 0; at < total; at += kRun) {
      int64_t count = std::min(kRun, total - at);
      for (int64_t i = 0; i < count; ++i)
        // Integers wrap, which only unsigned arithmetic may.
        if constexpr (std::is_same_v<T, int64_t>)
          values[i] = static_cast<T>(static_cast<uint64_t>(first) +
                                     static_cast<uint64_t>(at + i) * static_cast<uint64_t>(step));
        else
          values[i] = first + static_cast<T>(at + i) * step;
      writeElements(results[0], at, count, values);
    }
  };
  if (isa<FloatType>(results[0].type.getElementType()))
    run(double());
  else
    run(int64_t());
  return success();
}

Value RangeOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type element = getType().getElementType();
  auto single = [&](Value operand) {
    SmallVector<Value> zero(cast<RankedTensorType>(operand.getType()).getRank(), kernel.index(0));
    return kernel.element(operand, zero);
  };
  Value i = arith::IndexCastOp::create(b, loc, b.getI64Type(), indices[0]);
  Value position = emitCast(b, loc, i, b.getI64Type(), element, /*saturate=*/false);
  Value offset = emitBinary(b, loc, BinaryKind::mul, position, single(getDelta()), isUnsignedElement(element));
  return emitBinary(b, loc, BinaryKind::add, single(getStart()), offset, isUnsignedElement(element));
}
