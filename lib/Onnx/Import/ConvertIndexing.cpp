//===- ConvertIndexing.cpp - Gathers and scatters -------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Extents.h"
#include "StepIntegers.h"
#include "StepReals.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// ONNX: "It is an error if any of the index values are out of bounds", [-s, s - 1] for an axis of size s. Indices are
/// tuples of one for each of the axes.
LogicalResult limitToAxes(NodeContext &node, ArrayRef<int64_t> extents) {
  SmallVector<AllowedIndices> allowed;
  for (int64_t extent : extents)
    allowed.push_back({-extent, extent - 1, std::nullopt});
  return node.limit(node.input(1), allowed);
}

LogicalResult gather(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 0), rankOf(node.input(0)));
  if (failed(axis) || failed(limitToAxes(node, shapeOf(node.input(0))[*axis])))
    return failure();
  return node.result(node.create<GatherOp>({node.input(0), node.input(1)}, node.integer("axis", *axis)));
}

/// Indices may have room for more positions than data has: those that hold reach no further.
LogicalResult gatherElements(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value data = node.input(0), indices = node.input(1);
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 0), rankOf(data));
  if (failed(axis) || failed(limitToAxes(node, shapeOf(data)[*axis])))
    return failure();
  StepIntegers integer(node);
  for (int64_t d = 0; d < std::min(rankOf(data), rankOf(indices)); ++d) {
    Value count = node.extents->of(indices, d);
    if (d == *axis || !count || shapeOf(indices)[d] <= shapeOf(data)[d])
      continue;
    Value kept = integer.positions(shapeOf(data)[d]);
    indices = node.create<GatherOp>({indices, kept}, node.integer("axis", d));
    if (!indices)
      return node.result({});
    indices = node.held(indices, d, count);
  }
  return node.result(node.create<GatherElementsOp>({data, indices}, node.integer("axis", *axis)));
}

/// Of indices whose last dimension is a tuple's.
LogicalResult limitTuples(NodeContext &node, int64_t batch) {
  ArrayRef<int64_t> data = shapeOf(node.input(0)), indices = shapeOf(node.input(1));
  // Tuples that do not fit are refused with the operator.
  if (indices.empty() || batch + indices.back() > static_cast<int64_t>(data.size()))
    return success();
  return limitToAxes(node, data.slice(batch, indices.back()));
}

LogicalResult gatherNd(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  int64_t batch = node.integerOr("batch_dims", 0);
  int64_t least = std::min(rankOf(node.input(0)), rankOf(node.input(1)));
  if (batch < 0 || batch >= least)
    return node.invalid("its batch_dims is " + Twine(batch) + " and must be from 0 to " + Twine(least - 1));
  if (failed(limitTuples(node, batch)))
    return failure();
  return node.result(node.create<GatherNdOp>({node.input(0), node.input(1)}, node.integer("batch_dims", batch)));
}

FailureOr<NamedAttribute> scatterKind(NodeContext &node) {
  FailureOr<ScatterKind> kind = node.choiceOr<ScatterKind>("reduction", "none",
                                                           {{"none", ScatterKind::none},
                                                            {"add", ScatterKind::add},
                                                            {"mul", ScatterKind::mul},
                                                            {"max", ScatterKind::max},
                                                            {"min", ScatterKind::min}});
  if (failed(kind))
    return failure();
  return node.attribute("kind", ScatterKindAttr::get(node.context(), *kind));
}

LogicalResult scatterElements(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 0), rankOf(node.input(0)));
  FailureOr<NamedAttribute> kind = scatterKind(node);
  if (failed(axis) || failed(kind) || failed(limitToAxes(node, shapeOf(node.input(0))[*axis])))
    return failure();
  return node.result(node.create<ScatterElementsOp>({node.input(0), node.input(1), node.input(2)},
                                                    {*kind, node.integer("axis", *axis)}));
}

LogicalResult scatterNd(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  FailureOr<NamedAttribute> kind = scatterKind(node);
  if (failed(kind) || failed(limitTuples(node, 0)))
    return failure();
  return node.result(node.create<ScatterNdOp>({node.input(0), node.input(1), node.input(2)}, *kind));
}

LogicalResult oneHot(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  const int64_t rank = rankOf(node.input(0)) + 1;
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", -1), rank);
  if (failed(axis))
    return failure();
  StepIntegers integer(node);
  FailureOr<NodeContext::Size> depth = StepReals(node).sizeAt(1, "depth", integer.declaredAt({*axis}, rank).front());
  if (failed(depth))
    return failure();
  if (!(depth->room >= (depth->count ? 0 : 1) && depth->room < int64_t(1) << 40))
    return node.invalid("its depth must be one positive number");
  Value indices = node.input(0);
  if (depth->count) {
    // Those that are negative count from the depth of the step; none else may mean a position beyond it.
    Value own = node.cast(indices, node.mlir().getI64Type(), /*saturate=*/true), first = integer.scalar(0);
    Value fromEnd = node.add(own, depth->count), isNegative = node.compare(ComparePredicate::lt, own, first);
    Value place = node.select(isNegative, fromEnd, own), beyond = integer.scalar(depth->room);
    Value isAbove = node.compare(ComparePredicate::ge, place, first);
    indices = node.select(isAbove, place, beyond);
  }
  Value result = node.create<OneHotOp>({indices, node.input(2)},
                                       {node.integer("depth", depth->room), node.integer("axis", *axis)});
  return node.result(node.held(result, *axis, depth->count));
}

constexpr OperatorEntry kOperators[] = {
    {"", "Gather", 1, gather},           {"", "GatherElements", 11, gatherElements},   {"", "GatherND", 11, gatherNd},
    {"", "Scatter", 9, scatterElements}, {"", "ScatterElements", 11, scatterElements}, {"", "ScatterND", 11, scatterNd},
    {"", "OneHot", 9, oneHot},
};

} // namespace

ArrayRef<OperatorEntry> indexingOperators() { return kOperators; }

} // namespace sluice::onnximport
