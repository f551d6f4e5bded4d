//===- Constant.cpp - range -----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Dataflow.h"

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
