//===- StepMovement.cpp - Shapes and orders that a step says --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "StepMovement.h"
#include "Extents.h"
#include "StepIntegers.h"

#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

using Size = NodeContext::Size;
using Element = NodeContext::Element;

/// Numbers of the data are clamped to this before they are added and multiplied, so that nothing overflows. No extent
/// is as large.
constexpr int64_t kMostNumber = int64_t(1) << 40;

/// The node's first operand, all of which holds; null, and reported, where that cannot be.
Value wholeInput(NodeContext &node, StringRef what) {
  Value x = node.whole(node.input(0));
  if (!node.extents->isBounded(x))
    return x;
  (void)node.unsupported("its " + what + " and an extent of its operand are both known only when the model runs");
  return {};
}

/// A number for each of `rank` axes, from one for each of a node's axes.
class ByAxis {
public:
  /// `input` is the index of the operand with the axes. Without that operand the axes are 0 to `count` - 1.
  static FailureOr<ByAxis> create(NodeContext &node, size_t input, int64_t rank, int64_t count) {
    ByAxis result(node, rank, count);
    if (node.has(input) && elementCount(node.input(input).getType()) != count)
      return node.invalid("it has " + Twine(elementCount(node.input(input).getType()).value()) +
                          " axes and values for " + Twine(count) + " axes, both numbers must be equal");
    if (!node.has(input) && count > rank)
      return node.invalid("it has values for " + Twine(count) +
                          " axes, and the number of dimensions of its input is only " + Twine(rank));
    if (node.has(input) && count > 0 && !getIntegers(node.input(input))) {
      FailureOr<Value> axes = StepIntegers(node).axes(input, rank);
      if (failed(axes))
        return failure();
      result.axes = *axes;
      result.among = result.step.isAmong(*axes, rank);
      return result;
    }
    Dims known = trailingAxes(0, count);
    if (node.has(input)) {
      FailureOr<Dims> given = node.constantIntegers(input, "axes");
      if (failed(given) || failed(node.axes(*given, rank)))
        return failure();
      known = *given;
    }
    for (auto [i, axis] : llvm::enumerate(known))
      result.places[axis < 0 ? axis + rank : axis] = static_cast<int64_t>(i);
    return result;
  }

  /// Whether the axis may be one of the node's.
  bool mayBe(int64_t axis) const { return axes || places[axis] >= 0; }
  /// A vector of one number for each of the node's axes, as `of` takes it.
  Value spread(Value numbers) { return axes ? step.sumByAxis(axes, numbers, rank) : numbers; }
  /// The axis' number; `otherwise` where it is none of the node's axes.
  Value of(Value spread, int64_t axis, int64_t otherwise) {
    if (!axes)
      return step.elementOf(spread, places[axis]);
    Value own = step.elementOf(spread, axis), fallback = step.scalar(otherwise);
    return node.select(step.isEqual(step.elementOf(among, axis), 1), own, fallback);
  }
  /// The range of the axis' number, and of others.
  Interval rangeOf(ArrayRef<Element> numbers, int64_t axis) const {
    if (!axes)
      return numbers[places[axis]].range;
    Interval all{0, 0};
    for (const Element &number : numbers)
      all = {std::min(all.low, number.range.low), std::max(all.high, number.range.high)};
    return all;
  }
  /// Null where the axes are known to differ.
  Value areDistinct() { return axes && count > 1 ? step.areDistinct(axes, rank) : Value(); }

private:
  ByAxis(NodeContext &node, int64_t rank, int64_t count)
      : node(node), step(node), rank(rank), count(count), places(rank, -1) {}

  NodeContext &node;
  StepIntegers step;
  int64_t rank, count;
  Dims places;       ///< By axis: which of the node's axes it is, where they are known; or -1.
  Value axes, among; ///< Where they are not known.
};

/// Positions along a dimension of a result, from 0 on.
Value positionsIn(NodeContext &node, int64_t room) { return node.iota(node.mlir().getI64Type(), room, 0, 1); }

/// A condition on the positions of a dimension, to broadcast to a tensor.
Value alongDimension(NodeContext &node, Value condition, int64_t dimension, int64_t rank) {
  if (!condition)
    return {};
  Dims dims(rank, 1);
  dims[dimension] = shapeOf(condition)[0];
  return node.reshape(condition, dims);
}

} // namespace

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

namespace {

/// The extents that a Reshape's shape gives `x`, a vector: 0 copies an extent of the operand, -1 leaves one open. All
/// are negative where `x` has another number of elements, or the shape leaves more open.
Value reshapedExtents(NodeContext &node, Value x) {
  StepIntegers step(node);
  Value given = step.vectorOf(node.input(1)), one = step.scalar(1), zero = step.scalar(0);
  const int64_t count = elementCount(x.getType());
  if (node.integerOr("allowzero", 0) == 0) {
    Dims own(shapeOf(x));
    own.resize(shapeOf(given)[0], -2); // There is none to copy.
    Value copies = step.isEqual(given, 0), copied = node.integers(own);
    given = node.select(copies, copied, given);
  }
  Value isOpen = step.isEqual(given, -1);
  Value closed = node.select(isOpen, one, given);
  Value known = node.reduce(ReduceKind::prod, closed, {0}, false),
        least = node.reduce(ReduceKind::min, closed, {0}, false),
        open = node.reduce(ReduceKind::sum, step.asNumber(isOpen), {0}, false);
  // The open extent follows from the others if none of them is 0.
  Value total = step.scalar(count), divisor = node.binary(BinaryKind::max, known, one);
  Value left = node.div(total, divisor);
  Value extents = node.select(isOpen, left, given);
  Value fits = step.isEqual(node.reduce(ReduceKind::prod, extents, {0}, false), count);
  Value isDetermined = node.compare(ComparePredicate::ge, node.binary(BinaryKind::min, known, one), open);
  fits = step.both(fits, isDetermined);
  fits = step.both(fits, node.compare(ComparePredicate::ge, least, zero));
  return step.onlyIf(fits, extents);
}

/// How much room each extent of a Reshape's result has: the number of elements divided by what the others are at least,
/// or what it is at most itself. Where that is much in all, what the user or the model says limits an open extent too.
FailureOr<Dims> reshapedRooms(NodeContext &node, Value x, ArrayRef<Element> elements) {
  const std::optional<Dims> declared = node.declaredShape(0);
  const int64_t count = elementCount(x.getType());
  const bool allowsZero = node.integerOr("allowzero", 0) != 0;
  auto leastOf = [](const Element &element) { return std::max<int64_t>(element.range.low, 1); };
  Count least = 1, all = 1;
  for (const Element &element : elements)
    least *= leastOf(element);
  Dims rooms, smaller;
  bool isSaid = true;
  for (auto [d, element] : llvm::enumerate(elements)) {
    const bool mayCopy = !allowsZero && element.range.low <= 0 && static_cast<int64_t>(d) < rankOf(x);
    int64_t said = Interval::kNone;
    if (element.range.hasHigh() && element.range.high >= 0)
      said = std::max(element.range.high, mayCopy ? shapeOf(x)[d] : 0);
    else if (declared && declared->size() == elements.size() && (*declared)[d] >= 0)
      said = (*declared)[d];
    const bool isLimit = said != Interval::kNone;
    int64_t room = count > 0 ? (Count(count) / (least / leastOf(element))).value() : isLimit ? said : 0;
    if (isLimit && (element.range.low >= 0 || !element.range.hasHigh()))
      room = std::min(room, said);
    isSaid &= isLimit || element.known;
    rooms.push_back(room);
    smaller.push_back(std::min(room, said));
    all *= room;
  }
  constexpr int64_t kMostRoom = int64_t(1) << 24;
  if (all > kMostRoom && !isSaid)
    return node.unbounded(1, "shape");
  return all > kMostRoom ? smaller : rooms;
}

/// The elements of `x`, which holds whole, at the extents that the step finds. It has no more room than `x`, unlike a
/// result with room for each extent beside the others. Null where the step cannot find them all.
Value reshapeDense(NodeContext &node, Value x, ArrayRef<Size> sizes) {
  Dims dims;
  for (const Size &size : sizes) {
    Value row = size.count ? node.held(node.splat(node.mlir().getI64Type(), 0, {size.room}), 0, size.count) : Value();
    Value found = row ? node.whole(row) : Value();
    if (row && found == row)
      return {};
    dims.push_back(found ? shapeOf(found)[0] : size.room);
  }
  Value flat = node.reshape(x, {elementCount(x.getType())}), zero = node.splat(elementTypeOf(x), 0);
  // A constant would fold to another one at each size.
  if (flat && getConstant(flat))
    flat = node.create<CopyOp>({flat});
  Value all = node.create<PadOp>(
      {flat, zero},
      {node.attribute("mode", PadModeAttr::get(node.context(), PadMode::constant)), node.list("low", {0})},
      {node.type(elementTypeOf(x), {product(dims)})});
  return node.reshape(all, dims);
}

} // namespace

LogicalResult reshapeFound(NodeContext &node) {
  Value x = wholeInput(node, "shape");
  FailureOr<SmallVector<Element>> elements = node.elementsAt(1, "shape");
  if (!x || failed(elements))
    return failure();
  Value extents = reshapedExtents(node, x);
  FailureOr<Dims> rooms = reshapedRooms(node, x, *elements);
  if (failed(rooms))
    return failure();
  StepIntegers step(node);
  SmallVector<Size> sizes;
  Count room = 1;
  for (auto [d, element] : llvm::enumerate(*elements)) {
    const auto dimension = static_cast<int64_t>(d);
    const bool copies = element.known == 0 && dimension < rankOf(x) && node.integerOr("allowzero", 0) == 0;
    if (copies || element.known.value_or(0) > 0)
      sizes.push_back({copies ? shapeOf(x)[dimension] : *element.known});
    else
      sizes.push_back({node.roomOf((*rooms)[d], d), step.elementOf(extents, dimension)});
    room *= sizes.back().room;
  }
  if (node.decide(room > elementCount(x.getType())))
    if (Value dense = reshapeDense(node, x, sizes))
      return node.result(dense);
  return node.result(step.reshape(x, sizes));
}

//===----------------------------------------------------------------------===//
// Squeeze, Unsqueeze
//===----------------------------------------------------------------------===//

/// Whether the data of a step says extents that a value follows from.
static bool followsFound(Value value) {
  llvm::SmallPtrSet<Operation *, 32> visited;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !visited.insert(op).second)
      continue;
    if (isa<TakeFirstOp>(op))
      return true;
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

FailureOr<Dims> axesOfOne(NodeContext &node, Value &x) {
  const bool follows = node.found && !node.found->bounds.empty() && followsFound(x);
  Dims axes;
  for (auto [d, extent] : llvm::enumerate(shapeOf(x)))
    if (follows ? node.roomOf(extent == 1, d) != 0 : extent == 1)
      axes.push_back(static_cast<int64_t>(d));
  if (!follows && !node.extents->isBounded(x))
    return axes;
  if (llvm::any_of(axes, [&](int64_t d) { return bool(node.extents->of(x, d)); }))
    return node.unsupported("its operand has an extent that depends on data and is known only when the model runs");
  // A constant would fold to another one at each size.
  StepIntegers step(node);
  Value extents = node.create<CopyOp>({node.integers(shapeOf(x))}), isSure;
  for (int64_t d = 0; d < rankOf(x); ++d) {
    Value count = node.extents->of(x, d), one = step.scalar(1);
    if (!count && !follows)
      continue;
    Value fits = node.compare(llvm::is_contained(axes, d) ? ComparePredicate::eq : ComparePredicate::ne,
                              count ? count : step.elementOf(extents, d), one);
    isSure = isSure ? step.both(isSure, fits) : fits;
  }
  if (isSure && failed(step.require(isSure)))
    return failure();
  auto mayBeNone = [](const std::pair<std::string, int64_t> &bound) { return bound.second == 1; };
  if (follows && !axes.empty() && llvm::any_of(node.found->bounds, mayBeNone)) {
    Dims dims(shapeOf(x));
    for (int64_t axis : axes)
      dims[axis] = 1;
    x = step.padTo(x, SmallVector<Size>(llvm::map_range(dims, [](int64_t extent) { return Size{extent}; })));
  }
  return axes;
}

LogicalResult squeezeFound(NodeContext &node) {
  Value x = wholeInput(node, "axes");
  if (!x)
    return failure();
  const int64_t rank = rankOf(x), count = elementCount(node.input(1).getType());
  Dims candidates;
  for (int64_t d = 0; d < rank; ++d)
    if (shapeOf(x)[d] == 1)
      candidates.push_back(d);
  StepIntegers step(node);
  FailureOr<Value> axes = step.axes(1, rank);
  if (failed(axes))
    return failure();
  // A single axis must be the only candidate, which the session checks before a step.
  const bool isSure = candidates.size() == 1 && count == 1;
  if (isSure && failed(node.limit(node.input(1), AllowedIndices{candidates[0], candidates[0], candidates[0] - rank})))
    return failure();
  FailureOr<AxesChoice> choice = AxesChoice::create(node, *axes, candidates, count);
  if (failed(choice))
    return failure();
  auto shapeFor = [&](ArrayRef<int64_t> set) {
    Dims dims;
    for (int64_t d = 0; d < rank; ++d)
      if (!llvm::is_contained(set, d))
        dims.push_back(shapeOf(x)[d]);
    return dims;
  };
  FailureOr<SmallVector<Size>> sizes = choice->sizes(shapeFor, isSure);
  return failed(sizes) ? failure() : node.result(step.reshape(x, *sizes));
}

LogicalResult unsqueezeFound(NodeContext &node) {
  Value x = wholeInput(node, "axes");
  if (!x)
    return failure();
  const FailureOr<int64_t> count = node.countAt(1, "axes");
  if (failed(count))
    return failure();
  const int64_t rank = rankOf(x) + *count;
  StepIntegers step(node);
  FailureOr<Value> axes = step.axes(1, rank);
  if (failed(axes))
    return failure();
  FailureOr<AxesChoice> choice = AxesChoice::create(node, *axes, trailingAxes(0, rank), *count);
  if (failed(choice))
    return failure();
  auto shapeFor = [&](ArrayRef<int64_t> set) {
    Dims dims;
    const int64_t *next = shapeOf(x).begin();
    for (int64_t d = 0; d < rank; ++d)
      dims.push_back(llvm::is_contained(set, d) ? 1 : *next++);
    return dims;
  };
  FailureOr<SmallVector<Size>> sizes = choice->sizes(shapeFor, /*isSure=*/*count == 1);
  return failed(sizes) ? failure() : node.result(step.reshape(x, *sizes));
}

//===----------------------------------------------------------------------===//
// Tile, Split
//===----------------------------------------------------------------------===//

LogicalResult tileFound(NodeContext &node) {
  Value x = wholeInput(node, "repeats");
  FailureOr<SmallVector<Element>> repeats = node.elementsAt(1, "repeats");
  if (!x || failed(repeats))
    return failure();
  const int64_t rank = rankOf(x);
  if (static_cast<int64_t>(repeats->size()) != rank)
    return node.invalid("it has " + Twine(repeats->size()) + " repeats for " + Twine(rank) +
                        " dimensions, one for each is needed");
  const std::optional<Dims> declared = node.declaredShape(0);
  StepIntegers step(node);
  SmallVector<Size> sizes(rank);
  for (auto [i, repeat] : llvm::enumerate(*repeats)) {
    const auto d = static_cast<int64_t>(i);
    const int64_t extent = shapeOf(x)[d];
    int64_t most = repeat.range.high;
    if (most == Interval::kNone && declared && static_cast<int64_t>(declared->size()) == rank && (*declared)[i] >= 0)
      most = (*declared)[i] / std::max<int64_t>(extent, 1);
    if (most == Interval::kNone)
      return node.unbounded(1, "repeats");
    if (most < 0 || most > kMostNumber)
      return node.invalid("one of its repeats is negative or too large");
    // One repeat above the bound fails the step, as any greater number would.
    if (!repeat.known && extent > 0) {
      sizes[i].room = node.roomOf((Count(most) * extent).value(), i);
      Value times = step.clamp(repeat.value, -1, most + 1), whole = step.scalar(extent);
      sizes[i].count = node.mul(times, whole);
    } else {
      sizes[i].room = (Count(most) * extent).value();
    }
    if (extent == 0 || (repeat.known == 1 && !node.keepsAll()))
      continue;
    Value places = positionsIn(node, sizes[i].room), period = step.scalar(extent);
    x = step.gather(x, d, node.binary(BinaryKind::mod, places, period));
  }
  return node.result(step.hold(x, sizes));
}

FailureOr<SmallVector<Value>> splitFound(NodeContext &node, int64_t axis, int64_t count) {
  Value x = wholeInput(node, "split");
  FailureOr<SmallVector<Element>> parts = node.elementsAt(1, "split");
  if (!x || failed(parts))
    return failure();
  const int64_t extent = shapeOf(x)[axis];
  if (static_cast<int64_t>(parts->size()) != count)
    return node.invalid("its split has " + Twine(parts->size()) + " sizes for " + Twine(count) +
                        " outputs, one for each is needed");
  if (failed(node.limit(node.input(1), AllowedIndices{count == 1 ? extent : 0, extent, std::nullopt})))
    return failure();
  StepIntegers step(node);
  SmallVector<Value> lengths;
  Value sum = step.scalar(0);
  for (const Element &part : *parts) {
    lengths.push_back(step.clamp(part.value, -1, extent + 1));
    sum = node.add(sum, lengths.back());
  }
  Value addsUp = step.isEqual(sum, extent), start = step.scalar(0);
  SmallVector<Value> results;
  for (auto [i, part] : llvm::enumerate(*parts)) {
    const int64_t most = std::clamp<int64_t>(part.range.high, 0, extent);
    Size size{part.known ? most : node.roomOf(most, i), part.known ? Value() : step.onlyIf(addsUp, lengths[i])};
    Value places = positionsIn(node, size.room);
    Value one = step.gather(x, axis, node.add(places, start));
    results.push_back(node.held(one, axis, size.count));
    start = node.add(start, lengths[i]);
  }
  return results;
}

FailureOr<EvenParts> splitEvenlyFound(NodeContext &node, int64_t axis) {
  constexpr int64_t kMostParts = 128;
  Value x = wholeInput(node, "split");
  FailureOr<SmallVector<Element>> elements = node.elementsAt(1, "split");
  if (!x || failed(elements))
    return failure();
  if (failed(node.limit(node.input(1), AllowedIndices{1, Interval::kNone, std::nullopt})))
    return failure();
  const int64_t extent = shapeOf(x)[axis];
  const Interval range = elements->front().range;
  const int64_t least = std::clamp<int64_t>(range.low, 1, std::max<int64_t>(extent, 1)),
                most = std::max(least, std::min(range.high, extent)),
                count = node.roomOf(llvm::divideCeil(extent, least));
  if (count > kMostParts)
    return node.unsupported("it splits into up to " + Twine(count) + " tensors, at most " + Twine(kMostParts) +
                            " are supported, give a lower bound of their size by --bound " + node.inputName(1) +
                            "=LOW..N");
  StepIntegers step(node);
  Value size = step.clamp(elements->front().value, 0, extent), whole = step.scalar(extent), zero = step.scalar(0);
  Value isSize = step.isAtLeast(elements->front().value, 1);
  EvenParts result;
  for (int64_t k = 0; k < count; ++k) {
    // Part k is there where the parts are small enough that some of the tensor is behind the first k.
    const int64_t room = k == 0 ? most : std::min({most, (extent - 1) / k, extent - k * least});
    Value start = node.mul(step.scalar(k), size);
    Value left = node.binary(BinaryKind::max, node.sub(whole, start), zero);
    Value length = node.binary(BinaryKind::min, left, size);
    Value places = node.add(positionsIn(node, node.roomOf(room, static_cast<size_t>(k) + 1)), start);
    result.parts.push_back(node.held(step.gather(x, axis, places), axis, step.onlyIf(isSize, length)));
  }
  Value divisor = step.clamp(size, 1, std::max<int64_t>(extent, 1));
  result.count = step.divideUp(whole, divisor);
  return result;
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

namespace {

/// One axis of a slice.
struct FoundSlice {
  Value start, end, step; ///< i64 scalars, as the node has them.
  std::optional<int64_t> knownStep;
};

/// The positions that a slice takes of `extent`, the first `count` of a vector.
std::pair<Value, Value> placesOf(NodeContext &node, const FoundSlice &slice, int64_t extent) {
  StepIntegers step(node);
  // Counted from the end where it is negative.
  auto place = [&](Value at) {
    at = step.clamp(at, -kMostNumber, kMostNumber);
    Value whole = step.scalar(extent);
    Value fromEnd = node.add(at, whole), isFromStart = step.isAtLeast(at, 0);
    return node.select(isFromStart, at, fromEnd);
  };
  Value start = place(slice.start), end = place(slice.end), positions = positionsIn(node, extent);
  auto span = [&](bool isForwards) {
    const int64_t low = isForwards ? 0 : -1, high = isForwards ? extent : extent - 1;
    Value from = step.clamp(start, std::min<int64_t>(0, high), high), to = step.clamp(end, low, high);
    Value distance = isForwards ? node.sub(to, from) : node.sub(from, to), zero = step.scalar(0);
    return std::pair(from, node.binary(BinaryKind::max, distance, zero));
  };
  if (slice.knownStep == 1) {
    auto [from, count] = span(true);
    return {node.add(positions, from), count};
  }
  // A step longer than the dimension takes one position, as a step of the dimension's length does.
  Value stride = step.clamp(slice.step, -std::max<int64_t>(extent, 1), std::max<int64_t>(extent, 1));
  auto [ahead, aheadSpan] = span(true);
  auto [back, backSpan] = span(false);
  Value isForwards = step.isAtLeast(stride, 1), zero = step.scalar(0), one = step.scalar(1);
  Value from = node.select(isForwards, ahead, back), distance = node.select(isForwards, aheadSpan, backSpan);
  Value backwards = node.sub(zero, stride);
  Value length = node.binary(BinaryKind::max, stride, backwards);
  Value count = step.divideUp(distance, node.binary(BinaryKind::max, length, one));
  Value offsets = node.mul(positions, stride);
  // A step of 0 has no result.
  return {node.add(offsets, from), step.onlyIf(step.isAtLeast(length, 1), count)};
}

} // namespace

LogicalResult sliceFound(NodeContext &node) {
  const bool hasSteps = node.has(4);
  Value x = node.whole(node.input(0)), starts = node.input(1), ends = node.input(2);
  const int64_t rank = rankOf(x);
  if (rankOf(starts) != 1 || shapeOf(starts) != shapeOf(ends) ||
      (hasSteps && shapeOf(node.input(4)) != shapeOf(starts)))
    return node.invalid("its starts, ends and steps must have equal numbers of elements");
  const int64_t count = shapeOf(starts)[0];
  FailureOr<ByAxis> by = ByAxis::create(node, 3, rank, count);
  if (failed(by))
    return failure();
  StepIntegers step(node);
  std::optional<SmallVector<int64_t>> knownSteps = hasSteps ? getIntegers(node.input(4)) : Dims(count, 1);
  if (knownSteps && llvm::is_contained(*knownSteps, 0))
    return node.invalid("a step is 0");
  Value from = by->spread(step.vectorOf(starts)), to = by->spread(step.vectorOf(ends));
  Value strides = by->spread(hasSteps ? step.vectorOf(node.input(4)) : node.integers(Dims(count, 1)));
  Value distinct = by->areDistinct();
  SmallVector<Size> sizes(rank);
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t extent = shapeOf(x)[d];
    if (!by->mayBe(d) || (extent == 0 && !node.keepsAll()))
      continue;
    if (node.extents->of(x, d))
      return node.unsupported("its starts or ends are not known before the model runs");
    FoundSlice slice{by->of(from, d, 0), by->of(to, d, extent), by->of(strides, d, 1), std::nullopt};
    if (knownSteps && llvm::all_of(*knownSteps, [](int64_t one) { return one == 1; }))
      slice.knownStep = 1;
    auto [places, taken] = placesOf(node, slice, extent);
    x = step.gather(x, d, places);
    sizes[d].count = distinct ? step.onlyIf(distinct, taken) : taken;
  }
  return node.result(step.hold(x, sizes));
}

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

/// Where positions behind or before a dimension are read, which are not negative within it.
static Value paddedFrom(NodeContext &node, PadMode mode, Value at, int64_t extent) {
  StepIntegers step(node);
  if (mode == PadMode::wrap)
    return node.binary(BinaryKind::mod, at, step.scalar(extent));
  if (mode != PadMode::reflect)
    return at;
  Value period = step.scalar(std::max<int64_t>(2 * (extent - 1), 1));
  Value within = node.binary(BinaryKind::mod, at, period);
  Value mirrored = node.sub(period, within);
  return node.binary(BinaryKind::min, within, mirrored);
}

LogicalResult padFound(NodeContext &node, PadMode mode, Value value) {
  Value x = wholeInput(node, "pads");
  FailureOr<SmallVector<Element>> pads = node.elementsAt(1, "pads");
  if (!x || failed(pads))
    return failure();
  const int64_t rank = rankOf(x), count = static_cast<int64_t>(pads->size()) / 2;
  if (static_cast<int64_t>(pads->size()) != 2 * count || (!node.has(3) && count != rank))
    return node.invalid("it has " + Twine(pads->size()) + " pads for " + Twine(node.has(3) ? count : rank) +
                        " dimensions, two for each are needed");
  FailureOr<ByAxis> by = ByAxis::create(node, 3, rank, count);
  if (failed(by))
    return failure();
  StepIntegers step(node);
  const std::optional<Dims> declared = node.declaredShape(0);
  const ArrayRef<Element> before = ArrayRef(*pads).take_front(count), after = ArrayRef(*pads).drop_front(count);
  Value all = step.vectorOf(node.input(1));
  Value lows = by->spread(node.sliceAxis(all, 0, 0, count)), highs = by->spread(node.sliceAxis(all, 0, count, count));
  Value distinct = by->areDistinct(), result = x;
  SmallVector<Size> sizes(rank);
  SmallVector<Value> inside;
  Dims rooms(shapeOf(x));
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t extent = shapeOf(x)[d];
    if (!by->mayBe(d))
      continue;
    const Interval most = by->rangeOf(before, d), more = by->rangeOf(after, d);
    const bool isDeclared = declared && static_cast<int64_t>(declared->size()) == rank && (*declared)[d] >= 0;
    if ((!most.hasHigh() || !more.hasHigh()) && !isDeclared)
      return node.unbounded(1, "pads");
    if (extent == 0 && mode != PadMode::constant)
      return node.unsupported("its " + node.stringOr("mode", "constant") + " padding is larger than its input");
    auto added = [](const Interval &pad) { return std::clamp<int64_t>(pad.high, 0, kMostNumber); };
    rooms[d] = node.roomOf(most.hasHigh() && more.hasHigh() ? extent + added(most) + added(more) : (*declared)[d],
                           static_cast<size_t>(d));
    Value low = step.clamp(by->of(lows, d, 0), -kMostNumber, kMostNumber),
          high = step.clamp(by->of(highs, d, 0), -kMostNumber, kMostNumber), own = step.scalar(extent);
    Value taken = node.add(node.add(own, low), high), places = positionsIn(node, rooms[d]);
    sizes[d].count = distinct ? step.onlyIf(distinct, taken) : taken;
    places = node.sub(places, low);
    if (mode == PadMode::constant) {
      Value isBehind = step.isAtLeast(places, 0), isBefore = node.compare(ComparePredicate::lt, places, own);
      inside.push_back(alongDimension(node, step.both(isBehind, isBefore), d, rank));
    }
    if (extent > 0)
      result = step.gather(result, d, paddedFrom(node, mode, places, extent));
  }
  if (elementCount(x.getType()) == 0)
    result = node.expand(value, rooms);
  else
    for (Value condition : inside)
      result = node.select(condition, result, value);
  return node.result(step.hold(result, sizes));
}

} // namespace sluice::onnximport
