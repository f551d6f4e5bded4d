//===- ConvertReduce.cpp - Reductions, scans and orders -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Extents.h"
#include "StepIntegers.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

LogicalResult reduceOver(NodeContext &node, ReduceKind kind, std::optional<Dims> given, bool emptyMeansNone) {
  Value x = node.input(0);
  int64_t rank = rankOf(x);
  Dims all;
  for (int64_t axis = 0; axis < rank; ++axis)
    all.push_back(axis);
  if (!given || given->empty()) {
    if (emptyMeansNone)
      return node.result(x);
    given = all;
  }
  FailureOr<Dims> axes = node.axes(*given, rank);
  if (failed(axes))
    return failure();
  return node.result(node.reduce(kind, x, *axes, node.integerOr("keepdims", 1) != 0));
}

template <ReduceKind kind>
LogicalResult axesAsAttribute(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  return reduceOver(node, kind, node.integersAt("axes"), false);
}

/// Reduces over axes that are known only when the model runs: computes the reduction over each set of that many axes,
/// and the axes of the step choose one.
LogicalResult reduceOverFound(NodeContext &node, ReduceKind kind) {
  Value x = node.whole(node.input(0));
  if (node.extents->isBounded(x))
    return node.unsupported("its axes and an extent of its operand are both known only when the model runs");
  StepIntegers step(node);
  const int64_t rank = rankOf(x), count = elementCount(node.input(1).getType());
  const bool keepsDims = node.integerOr("keepdims", 1) != 0;
  FailureOr<Value> axes = step.axes(1, rank);
  if (failed(axes))
    return failure();
  FailureOr<AxesChoice> choice = AxesChoice::create(node, *axes, trailingAxes(0, rank), count);
  if (failed(choice))
    return failure();
  auto shapeFor = [&](ArrayRef<int64_t> set) {
    Dims dims;
    for (int64_t d = 0; d < rank; ++d)
      if (const bool isReduced = llvm::is_contained(set, d); keepsDims || !isReduced)
        dims.push_back(isReduced ? 1 : shapeOf(x)[d]);
    return dims;
  };
  FailureOr<SmallVector<NodeContext::Size>> sizes = choice->sizes(shapeFor, /*isSure=*/count == 1);
  if (failed(sizes))
    return failure();
  Value result =
      choice->choose([&](ArrayRef<int64_t> set) { return step.padTo(node.reduce(kind, x, set, keepsDims), *sizes); });
  return node.result(step.hold(result, *sizes));
}

template <ReduceKind kind>
LogicalResult axesAsInput(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  std::optional<Dims> axes;
  if (node.has(1)) {
    if (elementCount(node.input(1).getType()) != 0 && !getIntegers(node.input(1)))
      return reduceOverFound(node, kind);
    FailureOr<Dims> given = node.constantIntegers(1, "axes");
    if (failed(given))
      return failure();
    axes = *given;
  }
  return reduceOver(node, kind, axes, node.integerOr("noop_with_empty_axes", 0) != 0);
}

template <bool largest>
LogicalResult argReduce(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 0), rankOf(node.input(0)));
  if (failed(axis))
    return failure();
  return node.result(node.create<ArgReduceOp>({node.input(0)},
                                              {node.integer("axis", *axis), node.flag("largest", largest),
                                               node.flag("keep_dims", node.integerOr("keepdims", 1) != 0),
                                               node.flag("select_last", node.integerOr("select_last_index", 0) != 0)}));
}

LogicalResult cumulate(NodeContext &node, bool product) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0);
  if (elementCount(node.input(1).getType()) != 1)
    return node.invalid("its axis must be one number");
  auto along = [&](int64_t axis) {
    return node.create<CumsumOp>(
        {x}, {node.integer("axis", axis), node.flag("exclusive", node.integerOr("exclusive", 0) != 0),
              node.flag("reverse", node.integerOr("reverse", 0) != 0), node.flag("product", product)});
  };
  if (std::optional<SmallVector<int64_t>> known = getIntegers(node.input(1))) {
    FailureOr<int64_t> axis = node.axis(known->front(), rankOf(x));
    return failed(axis) ? failure() : node.result(along(*axis));
  }
  StepIntegers step(node);
  FailureOr<Value> axes = step.axes(1, rankOf(x));
  return failed(axes) ? failure() : node.result(step.choose(step.elementOf(*axes, 0), rankOf(x), along));
}
LogicalResult cumSum(NodeContext &node) { return cumulate(node, false); }
LogicalResult cumProd(NodeContext &node) { return cumulate(node, true); }

/// `count`: how many of the k hold; null: all.
LogicalResult topK(NodeContext &node, int64_t k, Value count) {
  Value x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", -1), rankOf(x));
  if (failed(axis))
    return failure();
  if (k < 0 || k > shapeOf(x)[*axis])
    return node.invalid("its k is " + Twine(k) + " and must be from 0 to " + Twine(shapeOf(x)[*axis]) +
                        ", the extent of the axis");
  // Sorted results are a valid answer where any order is asked for.
  SmallVector<Value> results = node.createAll<TopkOp>({x}, {node.integer("k", k), node.integer("axis", *axis),
                                                            node.flag("largest", node.integerOr("largest", 1) != 0)});
  if (results.size() != 2)
    return node.result({});
  return node.results({node.held(results[0], *axis, count), node.held(results[1], *axis, count)});
}

LogicalResult topKAttribute(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  return topK(node, node.integerOr("k", -1), {});
}

LogicalResult topKInput(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", -1), rankOf(node.input(0)));
  if (failed(axis))
    return failure();
  if (elementCount(node.input(1).getType()) != 1)
    return node.invalid("its k must be one number");
  if (std::optional<SmallVector<int64_t>> known = getIntegers(node.input(1)))
    return topK(node, known->front(), {});
  // All are sorted, and the first k hold: there are no more than elements.
  Value count = node.cast(node.reshape(node.input(1), {}), node.mlir().getI64Type());
  return count ? topK(node, shapeOf(node.input(0))[*axis], count) : node.result({});
}

constexpr OperatorEntry kOperators[] = {
    {"", "ReduceSum", 1, axesAsAttribute<ReduceKind::sum>},
    {"", "ReduceSum", 13, axesAsInput<ReduceKind::sum>},
    {"", "ReduceMean", 1, axesAsAttribute<ReduceKind::mean>},
    {"", "ReduceMean", 18, axesAsInput<ReduceKind::mean>},
    {"", "ReduceMax", 1, axesAsAttribute<ReduceKind::max>},
    {"", "ReduceMax", 18, axesAsInput<ReduceKind::max>},
    {"", "ReduceMin", 1, axesAsAttribute<ReduceKind::min>},
    {"", "ReduceMin", 18, axesAsInput<ReduceKind::min>},
    {"", "ReduceProd", 1, axesAsAttribute<ReduceKind::prod>},
    {"", "ReduceProd", 18, axesAsInput<ReduceKind::prod>},
    {"", "ReduceL1", 1, axesAsAttribute<ReduceKind::l1>},
    {"", "ReduceL1", 18, axesAsInput<ReduceKind::l1>},
    {"", "ReduceL2", 1, axesAsAttribute<ReduceKind::l2>},
    {"", "ReduceL2", 18, axesAsInput<ReduceKind::l2>},
    {"", "ReduceLogSum", 1, axesAsAttribute<ReduceKind::log_sum>},
    {"", "ReduceLogSum", 18, axesAsInput<ReduceKind::log_sum>},
    {"", "ReduceLogSumExp", 1, axesAsAttribute<ReduceKind::log_sum_exp>},
    {"", "ReduceLogSumExp", 18, axesAsInput<ReduceKind::log_sum_exp>},
    {"", "ReduceSumSquare", 1, axesAsAttribute<ReduceKind::sum_square>},
    {"", "ReduceSumSquare", 18, axesAsInput<ReduceKind::sum_square>},
    {"", "ArgMax", 1, argReduce<true>},
    {"", "ArgMin", 1, argReduce<false>},
    {"", "CumSum", 11, cumSum},
    {"", "CumProd", 26, cumProd},
    {"", "TopK", 1, topKAttribute},
    {"", "TopK", 10, topKInput},
};

} // namespace

ArrayRef<OperatorEntry> reduceOperators() { return kOperators; }

} // namespace sluice::onnximport
