//===- Attention.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

int64_t AttentionOp::getRows() { return shapeOf(getQuery()).drop_back().back(); }
int64_t AttentionOp::getKeys() { return shapeOf(getValue()).drop_back().back(); }
int64_t AttentionOp::getDepth() { return shapeOf(getQuery()).back(); }
int64_t AttentionOp::getColumns() { return shapeOf(getValue()).back(); }

bool AttentionOp::readsSlice(unsigned index) { return index == 1 || index == 2; }

static LogicalResult checkRanks(std::optional<Location> loc, Value query, Value key, Value value) {
  const size_t rank = shapeOf(query).size(), keys = shapeOf(key).size(), values = shapeOf(value).size();
  if (rank < 2 || keys != rank || values != rank)
    return emitOptionalError(loc, "attention operands have ranks ", rank, ", ", keys, " and ", values,
                             ", give equal ranks of at least 2");
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  if (failed(checkRanks(loc, adaptor.getQuery(), adaptor.getKey(), adaptor.getValue())))
    return failure();
  SmallVector<int64_t> result(shapeOf(adaptor.getQuery()));
  result.back() = shapeOf(adaptor.getValue()).back();
  results.push_back(RankedTensorType::get(result, typeOf(adaptor.getQuery()).getElementType()));
  return success();
}

LogicalResult AttentionOp::verify() {
  // The result's type is compared after this: nothing is known of the operands yet.
  if (failed(checkRanks(getLoc(), getQuery(), getKey(), getValue())))
    return failure();
  ArrayRef<int64_t> query = shapeOf(getQuery()), key = shapeOf(getKey()), value = shapeOf(getValue());
  const size_t batch = query.size() - 2;
  for (size_t d = 0; d < batch; ++d)
    if ((key[d] != 1 && key[d] != query[d]) || (value[d] != 1 && value[d] != query[d]))
      return emitOpError("has keys and values of ") << key[d] << " and " << value[d] << " elements in dimension " << d
                                                    << ", in which the query has " << query[d] << " elements";
  const int64_t keys = key[getTransposed() ? batch + 1 : batch], depth = key[getTransposed() ? batch : batch + 1];
  if (depth != getDepth() || keys != getKeys())
    return emitOpError("has ") << keys << " keys of depth " << depth << ", and must have " << getKeys()
                               << " keys, one for each value, of the query's depth, " << getDepth();
  if (keys < 1)
    return emitOpError("has no keys");
  if (!getMask())
    return success();
  SmallVector<int64_t> scores(query);
  scores.back() = keys;
  auto shape = broadcastShapes({ArrayRef<int64_t>(scores), shapeOf(getMask())});
  if (failed(shape) || *shape != scores)
    return emitOpError("has a mask that does not broadcast to the scores");
  return success();
}

StringRef AttentionOp::getCostClass() { return "matmul"; }

int64_t AttentionOp::getFlops() {
  // Softmax counts as much: an exponential and the arithmetic around it.
  constexpr int64_t kPerScore = 20;
  const Count scores = product(shapeOf(getQuery()).drop_back()) * getKeys();
  return scores * (2 * Count(getDepth()) + 2 * Count(getColumns()) + kPerScore);
}
