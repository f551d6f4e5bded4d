//===- ConvertMovement.cpp - Shapes and orders of data --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Extents.h"
#include "StepIntegers.h"
#include "StepMovement.h"

#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// A list that is an attribute in old versions and an input in new ones.
FailureOr<std::optional<Dims>> listAt(NodeContext &node, StringRef attribute, size_t input, StringRef what,
                                      bool asInput) {
  if (!asInput)
    return node.integersAt(attribute);
  if (!node.has(input))
    return std::optional<Dims>();
  FailureOr<Dims> values = node.constantIntegers(input, what);
  if (failed(values))
    return failure();
  return std::optional<Dims>(*values);
}

/// Whether an operand that decides the result's shape is a constant, empty or absent.
bool isKnown(NodeContext &node, size_t input) {
  return !node.has(input) || elementCount(node.input(input).getType()) == 0 || getIntegers(node.input(input));
}

LogicalResult reshape(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  if (!isKnown(node, 1))
    return reshapeFound(node);
  FailureOr<Dims> wanted = node.constantIntegers(1, "shape");
  if (failed(wanted))
    return failure();
  Value x = node.input(0);
  bool allowZero = node.integerOr("allowzero", 0) != 0;
  int inferred = -1;
  int64_t known = 1;
  for (auto [i, dim] : llvm::enumerate(*wanted)) {
    if (dim == 0 && !allowZero) {
      if (static_cast<int64_t>(i) >= rankOf(x))
        return node.invalid("its shape has a 0 for dimension " + Twine(i) + ", and its input has only " +
                            Twine(rankOf(x)) + " dimensions");
      dim = shapeOf(x)[i];
    }
    if (dim == -1) {
      if (inferred >= 0)
        return node.invalid("its shape has -1 for two dimensions, only one is allowed");
      inferred = static_cast<int>(i);
      continue;
    }
    if (dim < 0 || llvm::MulOverflow(known, dim, known))
      return node.invalid("its shape has the extent " + Twine(dim) + ", which is out of range");
  }
  int64_t count = product(shapeOf(x));
  if (inferred >= 0) {
    if (known == 0 || count % known != 0)
      return node.invalid("its input has " + Twine(count) + " elements, which must be a multiple of " + Twine(known) +
                          ", the product of the known extents of its shape");
    (*wanted)[inferred] = count / known;
  } else if (known != count) {
    return node.invalid("its input has " + Twine(count) + " elements, and its shape has " + Twine(known));
  }
  return node.result(node.reshape(x, *wanted));
}

LogicalResult flatten(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  int64_t axis = node.integerOr("axis", 1), rank = rankOf(x);
  if (axis < -rank || axis > rank)
    return node.invalid("axis " + Twine(axis) + " is out of range, which is from " + Twine(-rank) + " to " +
                        Twine(rank));
  if (axis < 0)
    axis += rank;
  return node.result(node.reshape(x, {product(shapeOf(x).take_front(axis)), product(shapeOf(x).drop_front(axis))}));
}

LogicalResult squeeze(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  if (node.opset >= 13 && !isKnown(node, 1))
    return squeezeFound(node);
  Value x = node.input(0);
  auto given = listAt(node, "axes", 1, "axes", node.opset >= 13);
  if (failed(given))
    return failure();
  Dims axes;
  if (*given) {
    FailureOr<Dims> normal = node.axes(**given, rankOf(x));
    if (failed(normal))
      return failure();
    axes = *normal;
  } else {
    FailureOr<Dims> found = axesOfOne(node, x);
    if (failed(found))
      return failure();
    axes = *found;
  }
  Dims dims;
  for (int64_t axis = 0; axis < rankOf(x); ++axis) {
    if (!llvm::is_contained(axes, axis))
      dims.push_back(shapeOf(x)[axis]);
    else if (shapeOf(x)[axis] != 1)
      return node.invalid("dimension " + Twine(axis) + " has extent " + Twine(shapeOf(x)[axis]) +
                          ", only dimensions of extent 1 can be removed");
  }
  return node.result(node.reshape(x, dims));
}

LogicalResult unsqueeze(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  if (node.opset >= 13 && !isKnown(node, 1))
    return unsqueezeFound(node);
  Value x = node.input(0);
  auto given = listAt(node, "axes", 1, "axes", node.opset >= 13);
  if (failed(given))
    return failure();
  if (!*given)
    return node.invalid("it has no axes");
  int64_t rank = rankOf(x) + static_cast<int64_t>((*given)->size());
  FailureOr<Dims> axes = node.axes(**given, rank);
  if (failed(axes))
    return failure();
  Dims dims;
  const int64_t *next = shapeOf(x).begin();
  for (int64_t axis = 0; axis < rank; ++axis)
    dims.push_back(llvm::is_contained(*axes, axis) ? 1 : *next++);
  return node.result(node.reshape(x, dims));
}

LogicalResult transpose(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  int64_t rank = rankOf(node.input(0));
  Dims reversed;
  for (int64_t axis = rank - 1; axis >= 0; --axis)
    reversed.push_back(axis);
  Dims permutation = node.integersAt("perm").value_or(reversed);
  Dims sorted = permutation;
  llvm::sort(sorted);
  std::reverse(reversed.begin(), reversed.end());
  if (sorted != reversed)
    return node.invalid("its perm must have each dimension of its input once");
  return node.result(node.transpose(node.input(0), permutation));
}

/// Upper bounds of an Expand's extents that have no other bound: an operand's extent other than 1 is the result's, and
/// the model may declare the others. -1 stands for no bound.
Dims expandBounds(NodeContext &node, int64_t count) {
  const int64_t own = rankOf(node.input(0)), rank = std::max(own, count);
  const std::optional<Dims> declared = node.declaredShape(0);
  Dims bounds;
  for (int64_t d = rank - count; d < rank; ++d) {
    const int64_t from = d - (rank - own), extent = from < 0 ? 1 : shapeOf(node.input(0))[from];
    const bool isDeclared = declared && static_cast<int64_t>(declared->size()) == rank;
    bounds.push_back(extent != 1 ? extent : isDeclared ? (*declared)[d] : -1);
  }
  return bounds;
}

LogicalResult expand(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0);
  const FailureOr<int64_t> count = node.countAt(1, "shape");
  if (failed(count))
    return failure();
  FailureOr<SmallVector<NodeContext::Size>> sizes = node.sizesAt(1, "shape", expandBounds(node, *count));
  if (failed(sizes))
    return failure();
  StepIntegers step(node);
  const int64_t own = rankOf(x), given = static_cast<int64_t>(sizes->size()), rank = std::max(own, given);
  Dims wanted;
  for (auto [i, size] : llvm::enumerate(*sizes)) {
    if (size.room < 0)
      return node.invalid("its shape has the extent " + Twine(size.room) + ", which is negative");
    const int64_t from = static_cast<int64_t>(i) - given + own, extent = from < 0 ? 1 : shapeOf(x)[from];
    if (size.count && extent != 1) {
      if (node.extents->of(x, from))
        return node.unsupported(
            "in one dimension, the extents of its shape and of its input are both known only when the model runs");
      // The result has the operand's extent, and the entry must be that extent or 1.
      Value isExtent = step.isEqual(size.count, extent), isOne = step.isEqual(size.count, 1);
      if (failed(step.require(node.binary(BinaryKind::logical_or, isExtent, isOne))))
        return failure();
      size = {extent};
    }
    wanted.push_back(size.room);
  }
  FailureOr<SmallVector<int64_t>> dims = broadcastShapes({shapeOf(x), wanted});
  if (failed(dims))
    return node.invalid("its input must broadcast to its shape");
  Value result = node.expand(x, *dims);
  for (auto [i, size] : llvm::enumerate(*sizes))
    result = node.held(result, rank - given + static_cast<int64_t>(i), size.count);
  return node.result(result);
}

LogicalResult tile(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  if (!isKnown(node, 1))
    return tileFound(node);
  Value x = node.input(0);
  FailureOr<Dims> repeats = node.constantIntegers(1, "repeats");
  if (failed(repeats))
    return failure();
  Dims dims(shapeOf(x));
  if (repeats->size() != dims.size())
    return node.invalid("it has " + Twine(repeats->size()) + " repeats for " + Twine(dims.size()) +
                        " dimensions, one for each is needed");
  for (auto [dim, repeat] : llvm::zip(dims, *repeats))
    if (repeat < 0 || llvm::MulOverflow(dim, repeat, dim))
      return node.invalid("one of its repeats is negative, or the result is too large");
  if (!node.keepsAll() && ArrayRef<int64_t>(dims) == shapeOf(x))
    return node.result(x);
  return node.result(node.create<TileOp>({x}, {}, {node.type(elementTypeOf(x), dims)}));
}

LogicalResult concat(NodeContext &node) {
  if (failed(node.require(std::max<size_t>(1, node.inputCount()))))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 1), rankOf(node.input(0)));
  if (failed(axis))
    return failure();
  // Operands that are empty at all sizes contribute nothing; exporters leave some behind.
  SmallVector<Value> values;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    if (rankOf(node.input(i)) != rankOf(node.input(0)))
      return node.invalid("the ranks of its operands differ");
    if (node.roomOf(shapeOf(node.input(i))[*axis], i) != 0)
      values.push_back(node.input(i));
  }
  if (values.empty())
    values.push_back(node.input(0));
  return node.result(node.concat(values, *axis));
}

LogicalResult split(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 0), rankOf(x));
  if (failed(axis))
    return failure();
  int64_t extent = shapeOf(x)[*axis], parts = node.proto.output_size();
  if (parts < 1)
    return node.invalid("it has no outputs");
  if (node.opset >= 13 && !isKnown(node, 1)) {
    FailureOr<SmallVector<Value>> results = splitFound(node, *axis, parts);
    return failed(results) ? failure() : node.results(*results);
  }
  auto given = listAt(node, "split", 1, "split", node.opset >= 13);
  if (failed(given))
    return failure();
  Dims sizes;
  if (*given) {
    sizes = **given;
  } else {
    if (const int64_t count = node.integerOr("num_outputs", parts); count != parts)
      return node.invalid("its num_outputs is " + Twine(count) + " and it has " + Twine(parts) +
                          " outputs, both numbers must be equal");
    if (node.opset < 18 && extent % parts != 0)
      return node.invalid("the extent of the split axis, " + Twine(extent) +
                          ", must be a multiple of the number of outputs, " + Twine(parts));
    // The last part may be smaller.
    int64_t size = (extent + parts - 1) / parts, left = extent;
    for (int64_t i = 0; i < parts; ++i, left -= sizes.back())
      sizes.push_back(std::min(size, left));
  }
  int64_t sum = 0;
  for (int64_t size : sizes)
    if (size < 0 || llvm::AddOverflow(sum, size, sum))
      return node.invalid("its split has the size " + Twine(size) + ", which is out of range");
  if (static_cast<int64_t>(sizes.size()) != parts || sum != extent)
    return node.invalid("its split must have " + Twine(parts) + " sizes, one for each output, with the sum " +
                        Twine(extent));
  SmallVector<Value> results;
  int64_t start = 0;
  for (int64_t size : sizes) {
    results.push_back(size == extent ? x : node.sliceAxis(x, *axis, size ? start : 0, size));
    start += size;
  }
  return node.results(results);
}

/// numpy's basic slicing, but for starts of negative steps.
LogicalResult sliceBy(NodeContext &node, ArrayRef<int64_t> starts, ArrayRef<int64_t> ends,
                      std::optional<Dims> givenAxes, std::optional<Dims> givenSteps) {
  Value x = node.input(0);
  int64_t rank = rankOf(x);
  if (!givenAxes) {
    givenAxes.emplace();
    for (size_t i = 0; i < starts.size(); ++i)
      givenAxes->push_back(static_cast<int64_t>(i));
  }
  Dims given = givenSteps.value_or(Dims(starts.size(), 1));
  if (ends.size() != starts.size() || givenAxes->size() != starts.size() || given.size() != starts.size())
    return node.invalid("its starts, ends, axes and steps must have equal numbers of elements");
  if (failed(node.axes(*givenAxes, rank)))
    return failure();
  Dims from(rank, 0), steps(rank, 1), dims(shapeOf(x));
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t axis = (*givenAxes)[i] + ((*givenAxes)[i] < 0 ? rank : 0), extent = dims[axis];
    int64_t step = std::max<int64_t>(given[i], -INT64_MAX);
    if (step == 0)
      return node.invalid("a step is 0");
    int64_t start = starts[i] < 0 ? starts[i] + extent : starts[i], end = ends[i] < 0 ? ends[i] + extent : ends[i];
    int64_t span;
    if (step > 0) {
      start = std::clamp<int64_t>(start, 0, extent);
      span = std::clamp<int64_t>(end, 0, extent) - start;
    } else {
      // Other than numpy's, a start before the first element is the first element.
      start = extent > 0 ? std::clamp<int64_t>(start, 0, extent - 1) : -1;
      span = start - std::clamp<int64_t>(end, -1, extent - 1);
    }
    dims[axis] = span <= 0 ? 0 : (span - 1) / std::abs(step) + 1;
    from[axis] = dims[axis] ? start : 0;
    steps[axis] = dims[axis] > 1 ? step : 1;
  }
  if (!node.keepsAll() && ArrayRef<int64_t>(dims) == shapeOf(x) &&
      llvm::all_of(steps, [](int64_t step) { return step == 1; }))
    return node.result(x);
  return node.result(node.slice(x, from, steps, dims));
}

LogicalResult sliceAttributes(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  return sliceBy(node, node.integersAt("starts").value_or(Dims()), node.integersAt("ends").value_or(Dims()),
                 node.integersAt("axes"), std::nullopt);
}

LogicalResult sliceInputs(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  for (size_t input = 1; input <= 4; ++input)
    if (!isKnown(node, input))
      return sliceFound(node);
  FailureOr<Dims> starts = node.constantIntegers(1, "starts"), ends = node.constantIntegers(2, "ends");
  if (failed(starts) || failed(ends))
    return failure();
  auto axes = listAt(node, "", 3, "axes", true), steps = listAt(node, "", 4, "steps", true);
  if (failed(axes) || failed(steps))
    return failure();
  return sliceBy(node, *starts, *ends, *axes, *steps);
}

FailureOr<PadMode> padMode(NodeContext &node) {
  return node.choiceOr<PadMode>("mode", "constant",
                                {{"constant", PadMode::constant},
                                 {"reflect", PadMode::reflect},
                                 {"edge", PadMode::edge},
                                 {"wrap", PadMode::wrap}});
}

LogicalResult padBy(NodeContext &node, ArrayRef<int64_t> pads, ArrayRef<int64_t> axes, Value value) {
  Value x = node.input(0);
  FailureOr<PadMode> mode = padMode(node);
  if (failed(mode))
    return failure();
  if (pads.size() != 2 * axes.size())
    return node.invalid("it has " + Twine(pads.size()) + " pads for " + Twine(axes.size()) +
                        " dimensions, two for each are needed");
  Dims low(rankOf(x), 0), dims(shapeOf(x));
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = axes[i], before = pads[i], after = pads[axes.size() + i], extent = dims[axis];
    int64_t limit = int64_t(1) << 40;
    if (std::clamp(before, -limit, limit) != before || std::clamp(after, -limit, limit) != after)
      return node.invalid("its pads are out of range");
    low[axis] = before;
    dims[axis] = extent + before + after;
    if (dims[axis] < 0)
      return node.invalid("its negative pads remove more elements than dimension " + Twine(axis) + " has");
    if (*mode == PadMode::constant || (before <= 0 && after <= 0))
      continue;
    int64_t most = *mode == PadMode::reflect ? extent - 1 : limit;
    if (extent == 0 || std::max(before, after) > most)
      return node.unsupported("its padding of " + Twine(std::max(before, after)) + " elements in mode '" +
                              node.stringOr("mode", "constant") + "' exceeds the " + Twine(extent == 0 ? 0 : most) +
                              " that dimension " + Twine(axis) + " allows");
  }
  if (!node.keepsAll() && ArrayRef<int64_t>(dims) == shapeOf(x) &&
      llvm::all_of(low, [](int64_t one) { return one == 0; }))
    return node.result(x);
  return node.result(node.create<PadOp>(
      {x, value}, {node.attribute("mode", PadModeAttr::get(node.context(), *mode)), node.list("low", low)},
      {node.type(elementTypeOf(x), dims)}));
}

LogicalResult padAttributes(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  return padBy(node, node.integersAt("pads").value_or(Dims()), trailingAxes(0, rankOf(x)),
               node.splat(elementTypeOf(x), node.numberOr("value", 0)));
}

LogicalResult padInputs(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0);
  Value value = node.has(2) ? node.reshape(node.input(2), {}) : node.splat(elementTypeOf(x), 0);
  if (!isKnown(node, 1) || !isKnown(node, 3)) {
    FailureOr<PadMode> mode = padMode(node);
    return failed(mode) ? failure() : padFound(node, *mode, value);
  }
  FailureOr<Dims> pads = node.constantIntegers(1, "pads");
  if (failed(pads))
    return failure();
  Dims axes = trailingAxes(0, rankOf(x));
  if (node.has(3)) {
    FailureOr<Dims> given = node.constantIntegers(3, "axes");
    if (failed(given) || failed(node.axes(*given, rankOf(x))))
      return failure();
    axes.clear();
    for (int64_t axis : *given)
      axes.push_back(axis < 0 ? axis + rankOf(x) : axis);
  }
  return padBy(node, *pads, axes, value);
}

/// Cuts [left, top, right, bottom] off images: an experimental operator that first exporters used.
LogicalResult crop(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  std::optional<Dims> border = node.integersAt("border"), scale = node.integersAt("scale");
  Value x = node.input(0);
  if (!border || border->size() != 4 || rankOf(x) != 4 || (scale && scale->size() != 2))
    return node.invalid("its border must be four numbers, and its input must have 4 dimensions");
  Dims starts{(*border)[1], (*border)[0]}, ends;
  for (int i = 0; i < 2; ++i) {
    int64_t extent = shapeOf(x)[2 + i], end = 0;
    if (llvm::SubOverflow(extent, (*border)[3 - i], end) || (scale && llvm::AddOverflow(starts[i], (*scale)[i], end)) ||
        starts[i] < 0 || end > extent || end < starts[i])
      return node.invalid("its border and scale reach beyond its input");
    ends.push_back(end);
  }
  return sliceBy(node, starts, ends, Dims{2, 3}, std::nullopt);
}

LogicalResult centerCropPadOfStep(NodeContext &node) {
  Value x = node.whole(node.input(0));
  const int64_t rank = rankOf(x);
  StepIntegers integer(node);
  Dims axes;
  for (int64_t axis : node.integersAt("axes").value_or(trailingAxes(0, rank)))
    axes.push_back(axis < 0 ? axis + rank : axis);
  if (failed(node.axes(axes, rank)))
    return failure();
  FailureOr<SmallVector<NodeContext::Size>> sizes = node.sizesAt(1, "shape", integer.declaredAt(axes, rank));
  if (failed(sizes))
    return failure();
  if (axes.size() != sizes->size())
    return node.invalid("its shape has " + Twine(sizes->size()) + " sizes for " + Twine(axes.size()) +
                        " axes, one for each is needed");
  if (node.extents->isBounded(x))
    return node.unsupported("its operand has an extent that depends on data and is known only when the model runs");
  for (auto [axis, size] : llvm::zip(axes, *sizes)) {
    if (!x || size.room < 0)
      return node.invalid("its shape has the extent " + Twine(size.room) + ", which is out of range");
    Value extent = integer.scalar(shapeOf(x)[axis]), two = integer.scalar(2);
    Value beyond = node.sub(extent, integer.countOf(size));
    x = integer.cut(x, axis, node.div(beyond, two), size);
  }
  for (auto [axis, size] : llvm::zip(axes, *sizes))
    x = node.held(x, axis, size.count);
  return node.result(x);
}

/// Cuts or pads each axis to a size, as much before as after, or one less.
LogicalResult centerCropPad(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  if (!getIntegers(node.input(1)))
    return centerCropPadOfStep(node);
  Value x = node.input(0);
  FailureOr<Dims> shape = node.constantIntegers(1, "shape");
  if (failed(shape))
    return failure();
  Dims axes = node.integersAt("axes").value_or(trailingAxes(0, rankOf(x))), starts(rankOf(x), 0), low(rankOf(x), 0),
       kept(shapeOf(x));
  if (axes.size() != shape->size() || failed(node.axes(axes, rankOf(x))))
    return node.invalid("its shape has " + Twine(shape->size()) + " sizes for " + Twine(axes.size()) +
                        " axes, one for each is needed");
  Dims result(kept);
  for (auto [axis, extent] : llvm::zip(axes, *shape)) {
    int64_t at = axis < 0 ? axis + rankOf(x) : axis;
    if (extent < 0)
      return node.invalid("its shape has the extent " + Twine(extent) + ", which is negative");
    starts[at] = std::max<int64_t>(0, kept[at] - extent) / 2;
    low[at] = std::max<int64_t>(0, extent - kept[at]) / 2;
    kept[at] = std::min(kept[at], extent);
    result[at] = extent;
  }
  Value cut =
      !node.keepsAll() && ArrayRef<int64_t>(kept) == shapeOf(x) ? x : node.slice(x, starts, Dims(rankOf(x), 1), kept);
  if (result == kept)
    return node.result(cut);
  return node.result(node.create<PadOp>(
      {cut, node.splat(elementTypeOf(x), 0)},
      {node.attribute("mode", PadModeAttr::get(node.context(), PadMode::constant)), node.list("low", low)},
      {node.type(elementTypeOf(x), result)}));
}

/// Along time, the first lengths[i] elements of batch i from last to first.
LogicalResult reverseSequence(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0), lengths = node.input(1);
  FailureOr<int64_t> batch = node.axis(node.integerOr("batch_axis", 1), rankOf(x));
  FailureOr<int64_t> time = node.axis(node.integerOr("time_axis", 0), rankOf(x));
  if (failed(batch) || failed(time))
    return failure();
  if (*batch == *time || shapeOf(lengths) != ArrayRef<int64_t>(shapeOf(x)[*batch]))
    return node.invalid("its sequence_lens must have one length for each element of the batch, and its batch_axis and "
                        "time_axis must differ");
  if (failed(node.limit(lengths, AllowedIndices{0, shapeOf(x)[*time], std::nullopt})))
    return failure();
  Dims along(rankOf(x), 1);
  along[*batch] = shapeOf(x)[*batch];
  Type index = node.mlir().getI64Type();
  Value length = node.cast(node.reshape(lengths, along), index);
  Value position = node.iota(index, shapeOf(x)[*time], *time, rankOf(x));
  Value mirrored = node.sub(node.sub(length, node.splat(index, 1)), position);
  Value from = node.select(node.compare(ComparePredicate::lt, position, length), mirrored, position);
  return node.result(node.create<GatherElementsOp>({x, node.expand(from, shapeOf(x))}, node.integer("axis", *time)));
}

LogicalResult depthToSpace(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  int64_t block = node.integerOr("blocksize", 0);
  if (rankOf(x) != 4 || block < 1 || block > (1 << 15) || shapeOf(x)[1] % (block * block) != 0)
    return node.invalid("its input must have 4 dimensions, and the square of its blocksize, " + Twine(block) +
                        ", must divide the channels");
  std::string mode = node.stringOr("mode", "DCR");
  int64_t n = shapeOf(x)[0], c = shapeOf(x)[1] / (block * block), h = shapeOf(x)[2], w = shapeOf(x)[3];
  bool depthFirst = mode == "DCR";
  if (!depthFirst && mode != "CRD")
    return node.invalid("its mode is '" + mode + "', not 'DCR' or 'CRD'");
  Value split = depthFirst ? node.reshape(x, {n, block, block, c, h, w}) : node.reshape(x, {n, c, block, block, h, w});
  Value moved = depthFirst ? node.transpose(split, {0, 3, 4, 1, 5, 2}) : node.transpose(split, {0, 1, 4, 2, 5, 3});
  return node.result(node.reshape(moved, {n, c, h * block, w * block}));
}

LogicalResult spaceToDepth(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  int64_t block = node.integerOr("blocksize", 0);
  if (rankOf(x) != 4 || block < 1 || block > (1 << 15) || shapeOf(x)[2] % block != 0 || shapeOf(x)[3] % block != 0)
    return node.invalid("its input must have 4 dimensions, and its blocksize, " + Twine(block) +
                        ", must divide the height and the width");
  int64_t n = shapeOf(x)[0], c = shapeOf(x)[1], h = shapeOf(x)[2] / block, w = shapeOf(x)[3] / block;
  Value split = node.reshape(x, {n, c, h, block, w, block});
  bool depthFirst = node.stringOr("mode", "DCR") == "DCR";
  Value moved =
      node.transpose(split, depthFirst ? ArrayRef<int64_t>{0, 3, 5, 1, 2, 4} : ArrayRef<int64_t>{0, 1, 3, 5, 2, 4});
  return node.result(node.reshape(moved, {n, c * block * block, h, w}));
}

LogicalResult trilu(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  int64_t rank = rankOf(x);
  if (rank < 2)
    return node.invalid("its input must have at least 2 dimensions");
  if (node.has(1) && (elementCount(node.input(1).getType()) != 1 || !isa<IntegerType>(elementTypeOf(node.input(1)))))
    return node.invalid("its k must be one integer");
  Type index = node.mlir().getI64Type();
  StepIntegers step(node);
  Value offset = step.scalar(0);
  if (node.has(1)) {
    // Beyond either extent every diagonal keeps all or nothing.
    Value k = node.cast(node.reshape(node.input(1), {}), index);
    offset = step.clamp(k, -shapeOf(x)[rank - 2] - 1, shapeOf(x)[rank - 1] + 1);
  }
  Value rows = node.add(node.iota(index, shapeOf(x)[rank - 2], 0, 2), offset);
  Value columns = node.iota(index, shapeOf(x)[rank - 1], 1, 2);
  bool upper = node.integerOr("upper", 1) != 0;
  Value kept = node.compare(upper ? ComparePredicate::ge : ComparePredicate::le, columns, rows);
  return node.result(node.select(kept, x, node.splat(elementTypeOf(x), 0)));
}

constexpr OperatorEntry kOperators[] = {
    {"", "Reshape", 5, reshape},
    {"", "Flatten", 1, flatten},
    {"", "Squeeze", 1, squeeze},
    {"", "Unsqueeze", 1, unsqueeze},
    {"", "Transpose", 1, transpose},
    {"", "Expand", 8, expand},
    {"", "Tile", 6, tile},
    {"", "Concat", 4, concat},
    {"", "Split", 2, split},
    {"", "Slice", 1, sliceAttributes},
    {"", "Slice", 10, sliceInputs},
    {"", "Pad", 2, padAttributes},
    {"", "Pad", 11, padInputs},
    {"", "Crop", 1, crop},
    {"", "CenterCropPad", 18, centerCropPad},
    {"", "ReverseSequence", 10, reverseSequence},
    {"", "DepthToSpace", 1, depthToSpace},
    {"", "SpaceToDepth", 1, spaceToDepth},
    {"", "Trilu", 14, trilu},
};

} // namespace

ArrayRef<OperatorEntry> movementOperators() { return kOperators; }

} // namespace sluice::onnximport
