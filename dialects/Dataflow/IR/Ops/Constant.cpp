//===- Constant.cpp - range, extents --------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Extents.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace sluice::dataflow;

LogicalResult RangeOp::verify() {
  auto type = getType();
  if (type.getRank() != 1)
    return emitOpError("result must have rank 1");
  for (Value operand : getOperands())
    if (elementCount(operand.getType()) != 1 || getElementTypeOrSelf(operand.getType()) != type.getElementType())
      return emitOpError("start and delta must be single elements of the element type of the result");
  if (type.getElementType().isInteger(1))
    return emitOpError("must not have elements of type bool");
  return success();
}

LogicalResult ExtentsOp::verify() {
  const AffineMap map = getMap();
  if (map.getNumDims() != 0 || map.getNumSymbols() != getSymbols().size())
    return emitOpError("has expressions whose dimensions and symbols differ from those of its attribute 'symbols', use "
                       "the listed symbols only");
  if (extentsOf(Type(getType())) || elementCount(getType()) != map.getNumResults())
    return emitOpError("has ") << map.getNumResults() << " expressions for a result of " << getType()
                               << ", and needs one for each element";
  for (const Point &point : samplePoints(getSymbols()))
    for (AffineExpr expression : map.getResults())
      if (!valueAt(expression, point))
        return emitOpError(
            "has an expression that is undefined for some values of the symbols, such as a division by 0");
  return success();
}

int64_t ExtentsOp::getFlops() { return 0; }
