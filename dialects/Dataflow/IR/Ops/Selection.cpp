//===- Selection.cpp - nonzero, non_max_suppression -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include <algorithm>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// nonzero
//===----------------------------------------------------------------------===//

LogicalResult NonzeroOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  Type i64 = IntegerType::get(context, 64);
  results.push_back(RankedTensorType::get({type.getRank(), elementCount(type)}, i64));
  results.push_back(RankedTensorType::get({}, i64));
  return success();
}

bool NonzeroOp::allowsPrologue(unsigned) { return true; }

//===----------------------------------------------------------------------===//
// take_first
//===----------------------------------------------------------------------===//

bool TakeFirstOp::allowsEpilogue() { return false; }

LogicalResult TakeFirstOp::verify() {
  const RankedTensorType from = typeOf(getInput()), to = typeOf(getResult());
  const int64_t dim = static_cast<int64_t>(getDim());
  if (typeOf(getCount()).getRank() != 0 || !typeOf(getCount()).getElementType().isInteger(64))
    return emitOpError() << "has a count of " << getCount().getType() << ", give a tensor<i64>";
  if (from.getRank() != to.getRank() || from.getElementType() != to.getElementType() || dim < 0 ||
      dim >= from.getRank())
    return emitOpError()
           << "must keep the rank and the element type and select along an existing dimension, got dimension " << dim
           << " of " << from << " and " << to;
  const Extents all = extentsOf(from), kept = extentsOf(to);
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (d != dim && all[d] != kept[d])
      return emitOpError() << "must change only dimension " << dim << ", got dimension " << d << " changed from "
                           << from << " to " << to;
  // Without symbols it is the program of one point.
  const SymbolsAttr symbols = symbolsOf(to);
  if (!symbols || kept[dim].isConstant())
    return success();
  if (getSymbol() >= symbols.size() || !symbols.isFound(getSymbol()) ||
      kept[dim].expr() != getAffineSymbolExpr(static_cast<unsigned>(getSymbol()), getContext()))
    return emitOpError() << "computes symbol " << getSymbol() << ", which is not the extent of dimension " << dim
                         << " of " << to;
  return success();
}

//===----------------------------------------------------------------------===//
// non_max_suppression
//===----------------------------------------------------------------------===//

LogicalResult NonMaxSuppressionOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                                    SmallVectorImpl<Type> &results) {
  auto boxes = typeOf(adaptor.getBoxes()), scores = typeOf(adaptor.getScores());
  if (boxes.getRank() != 3 || scores.getRank() != 3 || boxes.getDimSize(2) != 4 ||
      boxes.getDimSize(0) != scores.getDimSize(0) || boxes.getDimSize(1) != scores.getDimSize(2))
    return emitOptionalError(loc, "scores of ", scores, " do not match boxes of ", boxes);
  const auto most = static_cast<int64_t>(adaptor.getMost());
  int64_t rows = product({scores.getDimSize(0), scores.getDimSize(1), std::max<int64_t>(most, 0)});
  Type i64 = IntegerType::get(context, 64);
  results.push_back(RankedTensorType::get({rows, 3}, i64));
  results.push_back(RankedTensorType::get({}, i64));
  return success();
}

LogicalResult NonMaxSuppressionOp::verify() {
  if (static_cast<int64_t>(getMost()) < 0)
    return emitOpError("selects a negative number of boxes");
  if (!typeOf(getBoxes()).getElementType().isF32() || !typeOf(getScores()).getElementType().isF32())
    return emitOpError("needs f32 boxes and scores");
  return success();
}

int64_t NonMaxSuppressionOp::getFlops() {
  return elementCount(getScores().getType()) * std::max<int64_t>(1, std::min<int64_t>(getMost(), 1 << 20)) * 16;
}

/// A byte a box: whether it may still be selected.
int64_t NonMaxSuppressionOp::getWorkspaceBytes() { return std::max<int64_t>(1, shapeOf(getBoxes())[1]); }
