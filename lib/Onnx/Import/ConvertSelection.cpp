//===- ConvertSelection.cpp - Results whose size the data says ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Extents.h"
#include "StepIntegers.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// Positions, and how many of them hold.
struct Selected {
  Value positions, count;
};

/// Where x is not zero, [rank, elements].
Selected nonzero(NodeContext &node, Value x) {
  SmallVector<Value> results = node.createAll<NonzeroOp>({x});
  return results.size() == 2 ? Selected{results[0], results[1]} : Selected();
}

/// `x`, of which only the first `count` positions of a dimension hold: cut there where the count is known.
Value bounded(NodeContext &node, Value x, int64_t dimension, Value count) {
  if (!x || !count)
    return {};
  if (std::optional<SmallVector<int64_t>> known = getIntegers(count))
    return node.sliceAxis(x, dimension, 0, known->front());
  node.extents->set(x, dimension, count);
  return x;
}

LogicalResult nonZero(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  if (rankOf(x) == 0)
    x = node.reshape(x, {1});
  Selected found = nonzero(node, x);
  return node.result(bounded(node, found.positions, 1, found.count));
}

LogicalResult compress(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0), condition = node.input(1);
  int64_t axis = 0;
  if (node.find("axis")) {
    FailureOr<int64_t> given = node.axis(node.integerOr("axis", 0), rankOf(x));
    if (failed(given))
      return failure();
    axis = *given;
  } else {
    x = node.reshape(x, {elementCount(x.getType())});
  }
  if (!x || rankOf(condition) != 1 || shapeOf(condition)[0] > shapeOf(x)[axis])
    return node.invalid("its condition must be a list of at most as many elements as its input has along the axis");
  int64_t length = shapeOf(condition)[0];
  Selected found = nonzero(node, condition);
  Value positions = node.reshape(found.positions, {length});
  return node.result(
      bounded(node, node.create<GatherOp>({x, positions}, node.integer("axis", axis)), axis, found.count));
}

/// Rows in ascending order, the first column first; of equal rows the first: sorted by one column after the other, the
/// last one first, each time leaving equal ones in order.
Value sortedOrder(NodeContext &node, Value rows) {
  int64_t count = shapeOf(rows)[0];
  Value order;
  for (int64_t column = shapeOf(rows)[1]; column-- > 0;) {
    Value keys = node.reshape(node.sliceAxis(rows, 1, column, 1), {count});
    if (order)
      keys = node.create<GatherOp>({keys, order}, node.integer("axis", 0));
    SmallVector<Value> sorted = node.createAll<TopkOp>(
        {keys}, {node.integer("k", count), node.integer("axis", 0), node.flag("largest", false)});
    if (sorted.size() != 2)
      return {};
    order = order ? node.create<GatherOp>({order, sorted[1]}, node.integer("axis", 0)) : sorted[1];
  }
  return order;
}

Value scatter(NodeContext &node, ScatterKind kind, Value data, Value indices, Value updates) {
  return node.create<ScatterElementsOp>(
      {data, indices, updates},
      {node.attribute("kind", ScatterKindAttr::get(node.context(), kind)), node.integer("axis", 0)});
}

/// Sorted, equal rows lie side by side: each run of them is a result.
LogicalResult unique(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  constexpr int64_t kMostColumns = 64, kMostRows = 1 << 14;
  Value x = node.input(0);
  int64_t axis = 0;
  if (node.find("axis")) {
    FailureOr<int64_t> given = node.axis(node.integerOr("axis", 0), rankOf(x));
    if (failed(given))
      return failure();
    axis = *given;
  } else {
    x = node.reshape(x, {elementCount(x.getType())});
  }
  int64_t count = shapeOf(x)[axis];
  Dims order{axis};
  for (int64_t d = 0; d < rankOf(x); ++d)
    if (d != axis)
      order.push_back(d);
  if (count < 1 || elementCount(x.getType()) == 0)
    return node.unsupported("its input has no elements");
  int64_t columns = elementCount(x.getType()) / count;
  if (columns > kMostColumns || count > kMostRows)
    return node.unsupported("it compares " + Twine(count) + " slices of " + Twine(columns) + " elements, at most " +
                            Twine(kMostRows) + " slices of " + Twine(kMostColumns) + " are supported");
  Type index = node.mlir().getI64Type(), bit = node.mlir().getI1Type();
  Value rows = node.reshape(node.transpose(x, order), {count, columns});
  Value sorted = sortedOrder(node, rows);
  Value inOrder = node.create<GatherOp>({rows, sorted}, node.integer("axis", 0));
  Value isNew = node.splat(bit, 1, {1});
  if (count > 1) {
    const Value previous = node.sliceAxis(inOrder, 0, 0, count - 1);
    Value differs = node.compare(ComparePredicate::ne, node.sliceAxis(inOrder, 0, 1, count - 1), previous);
    isNew = node.concat({isNew, node.reduce(ReduceKind::max, differs, {1}, false)}, 0);
  }
  Value group = node.create<CumsumOp>({node.cast(isNew, index)}, node.integer("axis", 0));
  group = node.sub(group, node.splat(index, 1));
  Selected starts = nonzero(node, isNew);
  auto pick = [&](Value from, Value at) { return node.create<GatherOp>({from, at}, node.integer("axis", 0)); };
  Value zeros = node.splat(index, 0, {count});
  Value firsts = pick(sorted, node.reshape(starts.positions, {count}));
  Value inverse = scatter(node, ScatterKind::none, zeros, sorted, group);
  Value counts = scatter(node, ScatterKind::add, zeros, group, node.splat(index, 1, {count}));
  if (node.integerOr("sorted", 1) == 0) {
    // In order of first occurrence; what does not hold comes last.
    Value line = node.iota(index, count, 0, 1);
    Value holds = node.compare(ComparePredicate::lt, line, starts.count);
    Value keys = node.select(holds, firsts, node.splat(index, static_cast<double>(count)));
    SmallVector<Value> byOccurrence = node.createAll<TopkOp>(
        {keys}, {node.integer("k", count), node.integer("axis", 0), node.flag("largest", false)});
    if (byOccurrence.size() != 2)
      return node.result({});
    Value place = scatter(node, ScatterKind::none, zeros, byOccurrence[1], line);
    firsts = pick(firsts, byOccurrence[1]);
    counts = pick(counts, byOccurrence[1]);
    inverse = pick(place, inverse);
  }
  Value y = node.create<GatherOp>({x, firsts}, node.integer("axis", axis));
  return node.results({bounded(node, y, axis, starts.count), bounded(node, firsts, 0, starts.count), inverse,
                       bounded(node, counts, 0, starts.count)});
}

/// A number of f32 that bounds a selection, as a scalar.
FailureOr<Value> thresholdAt(NodeContext &node, size_t index, const char *name) {
  Value given = node.input(index);
  if (!elementTypeOf(given).isF32() || elementCount(given.getType()) != 1)
    return node.invalid(Twine("its ") + name + " must be one number of type float");
  return node.reshape(given, {});
}

LogicalResult nonMaxSuppression(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value boxes = node.input(0);
  // The greatest number of boxes bounds what a class selects where nothing else does.
  const int64_t available = rankOf(boxes) == 3 ? shapeOf(boxes)[1] : 0;
  NodeContext::Size limit;
  if (node.has(2)) {
    if (elementCount(node.input(2).getType()) != 1)
      return node.invalid("its max_output_boxes_per_class must be one number");
    auto given = node.sizesAt(2, "max_output_boxes_per_class", Dims{available});
    if (failed(given))
      return failure();
    limit = given->front();
  }
  const int64_t most = node.roomOf(std::clamp<int64_t>(limit.room, 0, available));
  SmallVector<Value> operands{boxes, node.input(1), StepIntegers(node).countOf(limit)};
  Value none = node.splat(node.mlir().getF32Type(), 0);
  FailureOr<Value> overlap = node.has(3) ? thresholdAt(node, 3, "iou_threshold") : none;
  if (failed(overlap))
    return failure();
  operands.push_back(*overlap);
  if (node.has(4)) {
    FailureOr<Value> leastScore = thresholdAt(node, 4, "score_threshold");
    if (failed(leastScore))
      return failure();
    operands.push_back(*leastScore);
  }
  SmallVector<NamedAttribute> attributes{node.integer("most", most)};
  if (node.integerOr("center_point_box", 0) != 0)
    attributes.push_back(node.attribute("centered", node.mlir().getUnitAttr()));
  SmallVector<Value> results = node.createAll<NonMaxSuppressionOp>(operands, attributes);
  if (results.size() != 2)
    return node.result({});
  return node.result(bounded(node, results[0], 0, results[1]));
}

/// What `sluice export` writes for the operators above: results with room for all there can be, and a count.
LogicalResult exportedNonZero(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  return node.results(node.createAll<NonzeroOp>({node.input(0)}));
}

LogicalResult exportedNonMaxSuppression(NodeContext &node) {
  const std::optional<Dims> most = node.integersAt("most");
  if (failed(node.require(4)))
    return failure();
  if (!most || most->size() != 1 || most->front() < 0)
    return node.invalid("its attribute 'most' must be one number of at least 0");
  SmallVector<Value> operands;
  for (size_t i = 0; i < 5 && node.has(i); ++i)
    operands.push_back(node.input(i));
  SmallVector<NamedAttribute> attributes{node.integer("most", most->front())};
  if (node.integerOr("centered", 0) != 0)
    attributes.push_back(node.attribute("centered", node.mlir().getUnitAttr()));
  return node.results(node.createAll<NonMaxSuppressionOp>(operands, attributes));
}

LogicalResult exportedTakeFirst(NodeContext &node) {
  const std::optional<Dims> axes = node.integersAt("axes");
  if (failed(node.require(2)))
    return failure();
  const Value x = node.input(0), count = node.input(1);
  if (!axes || axes->size() != 1 || axes->front() < 0 || axes->front() >= rankOf(x))
    return node.invalid("its attribute 'axes' must be one axis of its input");
  if (rankOf(count) != 0 || !elementTypeOf(count).isSignlessInteger(64))
    return node.invalid("its count must be one int64");
  if (std::optional<SmallVector<int64_t>> known = getIntegers(count))
    return known->front() < 0 || known->front() > shapeOf(x)[axes->front()]
               ? node.invalid("its count must be from 0 to the extent of its input along the axis")
               : node.result(node.sliceAxis(x, axes->front(), 0, known->front()));
  Value part = node.whole(node.held(x, axes->front(), count));
  // The importer names a part after what it is a part of.
  if (auto take = part ? part.getDefiningOp<TakeFirstOp>() : TakeFirstOp())
    take->setLoc(node.loc());
  return node.result(part);
}

LogicalResult exportedCheck(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  if (!elementTypeOf(node.input(0)).isInteger(1))
    return node.invalid("its input must be of type bool");
  return node.result(node.create<CheckOp>(
      {node.input(0)}, node.attribute("message", node.mlir().getStringAttr(node.stringOr("message", "")))));
}

constexpr OperatorEntry kOperators[] = {
    {"", "NonZero", 9, nonZero},
    {"", "Compress", 9, compress},
    {"", "Unique", 11, unique},
    {"", "NonMaxSuppression", 10, nonMaxSuppression},
    {"sluice", "NonZero", 1, exportedNonZero},
    {"sluice", "NonMaxSuppression", 1, exportedNonMaxSuppression},
    {"sluice", "TakeFirst", 1, exportedTakeFirst},
    {"sluice", "Check", 1, exportedCheck},
};

} // namespace

ArrayRef<OperatorEntry> selectionOperators() { return kOperators; }

} // namespace sluice::onnximport
