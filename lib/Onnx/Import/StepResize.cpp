//===- StepResize.cpp - Resampling by what a step says --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Interpolation is separable. Along each axis, elements are gathered at positions that the step computes, and are
// weighted with weights that the step computes. The result has room for the greatest sizes, and its first positions
// along each axis are valid.
//
//===----------------------------------------------------------------------===//
#include "Resize.h"

#include "Extents.h"
#include "StepIntegers.h"
#include "StepReals.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

constexpr int64_t kMostExtent = int64_t(1) << 40;

class StepResize {
public:
  StepResize(NodeContext &node, const ResizeForm &form)
      : node(node), form(form), integer(node), real(node), x(node.whole(node.input(0))) {}

  LogicalResult run();

private:
  /// One resampled axis.
  struct Along {
    int64_t axis, in;
    NodeContext::Size size;
    Value scale, out;    ///< The latter `size`, as a real.
    Value stretched;     ///< scale * in, before it is rounded to `out`.
    Value start, end;    ///< Of the region.
    bool isSame = false; ///< Known to be neither resampled nor cropped.
  };
  struct Tap {
    Value index, weight; ///< A vector of positions, and reals as many; no weight: 1.
  };

  LogicalResult readRegion();
  LogicalResult readScales();
  LogicalResult readSizes();
  void keepAspect();
  void finish(Along &along);
  /// The most that a result's extent may be by what the model declares; a large number if nothing.
  int64_t declaredMost(int64_t axis) const;

  /// Where the result's positions lie in the input.
  Value positions(const Along &along);
  Value rounded(Value x);
  SmallVector<Tap> taps(const Along &along, Value x);
  Value cubicWeight(Value distance);
  Value resample(Value value, const Along &along, Value at);
  Value antialiased(Value value, const Along &along, Value at);
  Value isBelow(Value a, Value c) { return node.compare(ComparePredicate::lt, a, c); }
  /// `several` where the result has more than one element along the axis.
  Value ifSeveral(const Along &along, Value several, Value one) {
    Value isSeveral = real.compare(ComparePredicate::gt, along.out, 1);
    return node.select(isSeveral, several, one);
  }

  NodeContext &node;
  const ResizeForm &form;
  StepIntegers integer;
  StepReals real;
  Value x;
  SmallVector<Along> all;
};

int64_t StepResize::declaredMost(int64_t axis) const {
  const int64_t declared = integer.declaredAt({axis}, rankOf(x)).front();
  return declared < 0 ? kMostExtent : declared;
}

LogicalResult StepResize::readRegion() {
  Value region = node.input(*form.region);
  const auto count = static_cast<int64_t>(all.size());
  if (elementCount(region.getType()) != 2 * count)
    return node.invalid("its roi has " + Twine(elementCount(region.getType()).value()) + " values, " +
                        Twine(2 * count) + " are needed: a start and an end for each dimension");
  for (auto [i, along] : llvm::enumerate(all)) {
    along.start = real.of(integer.elementOf(region, static_cast<int64_t>(i)));
    along.end = real.of(integer.elementOf(region, static_cast<int64_t>(i) + count));
  }
  return success();
}

/// Of an input whose elements are not negative: floor(in * part * scale).
LogicalResult StepResize::readScales() {
  Value scales = node.input(*form.scales);
  if (elementCount(scales.getType()) != static_cast<int64_t>(all.size()) || rankOf(scales) != 1)
    return node.invalid("it has " + Twine(elementCount(scales.getType()).value()) + " scales for " + Twine(all.size()) +
                        " dimensions, one for each is needed");
  const double mostGiven = real.intervalAt(*form.scales).high;
  for (auto [i, along] : llvm::enumerate(all)) {
    along.scale = real.of(integer.elementOf(scales, static_cast<int64_t>(i)));
    if (!along.scale)
      return node.result({});
    along.stretched = real.times(along.scale, static_cast<double>(along.in));
    Value span = along.stretched;
    double mostPart = 1;
    if (form.crops()) {
      Value part = node.sub(along.end, along.start);
      span = part ? node.mul(span, part) : Value();
      mostPart = part ? real.intervalOf(part).high : 1;
    }
    const double mostScale = std::min(real.intervalOf(along.scale).high, mostGiven);
    const double most = std::floor(static_cast<double>(along.in) * mostPart * mostScale);
    const int64_t room =
        std::min(most < static_cast<double>(kMostExtent) ? static_cast<int64_t>(std::max(most, 0.0)) : kMostExtent,
                 declaredMost(along.axis));
    if (room == kMostExtent)
      return node.unsupported(
          "its scales are not known before the model runs and have no upper bound, give an upper bound by --bound " +
          node.proto.input(static_cast<int>(*form.scales)) + "=N, or declare the shape of its output");
    Value isPositive = real.compare(ComparePredicate::gt, along.scale, 0);
    along.size = {node.roomOf(room, i), real.count(real.floor(span), isPositive)};
  }
  return success();
}

LogicalResult StepResize::readSizes() {
  FailureOr<SmallVector<NodeContext::Size>> sizes =
      node.sizesAt(*form.sizes, "sizes", integer.declaredAt(form.axes, rankOf(x)));
  if (failed(sizes))
    return failure();
  if (sizes->size() != all.size())
    return node.invalid("it has " + Twine(sizes->size()) + " sizes for " + Twine(all.size()) +
                        " dimensions, one for each is needed");
  for (auto [along, size] : llvm::zip(all, *sizes)) {
    if (size.room < 0 || size.room >= kMostExtent)
      return node.invalid("the size of its result is out of range");
    along.size = size;
    along.stretched = real.of(integer.countOf(size));
    Value in = real.number(static_cast<double>(along.in));
    along.scale = node.div(along.stretched, in);
  }
  if (form.policy != AspectPolicy::stretch)
    keepAspect();
  return success();
}

/// One scale for all axes, the least or the greatest that a size asks for.
void StepResize::keepAspect() {
  const bool isLeast = form.policy == AspectPolicy::notLarger;
  Value scale = all.front().scale;
  double most = 0;
  for (const Along &along : all) {
    const double own = static_cast<double>(along.size.room) / static_cast<double>(along.in);
    most = std::max(most, own);
    scale = node.binary(isLeast ? BinaryKind::min : BinaryKind::max, scale, along.scale);
  }
  for (auto [i, along] : llvm::enumerate(all)) {
    along.scale = scale;
    along.stretched = real.times(scale, static_cast<double>(along.in));
    Value size = real.count(real.floor(real.plus(along.stretched, 0.5)));
    // The least scale makes no axis longer than its size, the greatest one may.
    const double room = isLeast ? static_cast<double>(along.size.room)
                                : std::floor(std::min(most * static_cast<double>(along.in) + 0.5, 0x1p40));
    along.size = {node.roomOf(std::min(static_cast<int64_t>(room), declaredMost(along.axis)), i), size};
  }
}

void StepResize::finish(Along &along) {
  along.out = real.of(integer.countOf(along.size));
  auto isOne = [](Value value) {
    ElementsAttr constant = value ? getConstant(value) : ElementsAttr();
    auto numbers = constant ? NodeContext::numbersOf(constant) : std::nullopt;
    return numbers && numbers->front() == 1;
  };
  if (std::optional<SmallVector<int64_t>> known =
          along.size.count ? getIntegers(along.size.count) : std::optional<SmallVector<int64_t>>()) {
    along.size.room = known->front();
    along.size.count = {};
  }
  along.isSame = !along.size.count && along.size.room == along.in && isOne(along.scale) && !form.crops();
}

Value StepResize::positions(const Along &along) {
  Value i = real.positions(along.size.room), in = real.number(static_cast<double>(along.in));
  Value half = real.plus(node.div(real.plus(i, 0.5), along.scale), -0.5), zero = real.number(0);
  switch (form.coordinates) {
  case CoordinateMode::half_pixel:
    return half;
  case CoordinateMode::pytorch_half_pixel:
    return ifSeveral(along, half, zero);
  case CoordinateMode::align_corners: {
    Value last = real.plus(along.stretched, -1);
    Value spread = node.div(real.times(i, static_cast<double>(along.in - 1)), last);
    return ifSeveral(along, spread, zero);
  }
  case CoordinateMode::asymmetric:
    return node.div(i, along.scale);
  case CoordinateMode::tf_half_pixel_for_nn:
    return node.div(real.plus(i, 0.5), along.scale);
  case CoordinateMode::half_pixel_symmetric: {
    // What rounding the size down cuts off is cut off at both ends.
    Value cut = real.plus(real.times(node.div(along.out, along.stretched), -1), 1);
    Value offset = real.times(node.mul(cut, in), 0.5);
    return node.add(offset, half);
  }
  case CoordinateMode::tf_crop_and_resize: {
    Value last = real.plus(in, -1), steps = real.plus(along.out, -1);
    Value first = node.mul(along.start, last);
    Value width = node.sub(along.end, along.start);
    Value reach = node.mul(width, last);
    Value moved = node.div(node.mul(i, reach), steps);
    Value spread = node.add(first, moved);
    Value middle = real.times(node.mul(node.add(along.start, along.end), last), 0.5);
    return ifSeveral(along, spread, middle);
  }
  }
  llvm_unreachable("unknown coordinate mode");
}

Value StepResize::rounded(Value x) {
  if (form.shrinksUp) {
    Value one = real.number(1), least = all.front().scale;
    for (const Along &along : all)
      least = node.binary(BinaryKind::min, least, along.scale);
    Value shrinks = isBelow(least, one), up = real.ceil(x), down = real.floor(x);
    return node.select(shrinks, up, down);
  }
  switch (form.nearest) {
  case NearestMode::round_prefer_floor:
    return real.ceil(real.plus(x, -0.5));
  case NearestMode::round_prefer_ceil:
    return real.floor(real.plus(x, 0.5));
  case NearestMode::floor:
    return real.floor(x);
  case NearestMode::ceil:
    return real.ceil(x);
  }
  llvm_unreachable("unknown nearest mode");
}

/// Keys' cubic convolution, by the distance from a position.
Value StepResize::cubicWeight(Value distance) {
  const double a = node.numberOr("cubic_coeff_a", -0.75);
  Value square = node.mul(distance, distance);
  Value near = real.plus(node.mul(real.plus(real.times(distance, a + 2), -(a + 3)), square), 1);
  Value inner = real.plus(node.mul(real.plus(real.times(distance, a), -5 * a), distance), 8 * a);
  Value far = real.plus(node.mul(inner, distance), -4 * a);
  Value isNear = real.compare(ComparePredicate::le, distance, 1);
  Value isFar = real.compare(ComparePredicate::lt, distance, 2);
  Value none = real.number(0);
  Value outer = node.select(isFar, far, none);
  return node.select(isNear, near, outer);
}

SmallVector<StepResize::Tap> StepResize::taps(const Along &along, Value at) {
  if (form.mode == ResizeMode::nearest)
    return {{real.indices(rounded(at), along.in), {}}};
  Value base = real.floor(at);
  Value fraction = node.sub(at, base);
  if (form.mode == ResizeMode::linear) {
    // Past an edge both taps are the edge, so clamping the index is enough.
    Value lower = real.plus(real.times(fraction, -1), 1);
    Value first = real.indices(base, along.in), second = real.indices(real.plus(base, 1), along.in);
    return {{first, lower}, {second, fraction}};
  }
  const bool excludes = node.integerOr("exclude_outside", 0) != 0;
  SmallVector<Tap> result;
  Value sum;
  for (int k = -1; k <= 2; ++k) {
    Value tap = real.plus(base, k);
    Value weight = cubicWeight(node.unary(UnaryKind::abs, real.plus(fraction, -k)));
    if (excludes) {
      Value isAbove = real.compare(ComparePredicate::ge, tap, 0);
      Value isUnder = real.compare(ComparePredicate::lt, tap, static_cast<double>(along.in));
      Value isInside = node.binary(BinaryKind::logical_and, isAbove, isUnder), none = real.number(0);
      weight = node.select(isInside, weight, none);
      sum = sum ? node.add(sum, weight) : weight;
    }
    result.push_back({real.indices(tap, along.in), weight});
  }
  if (excludes)
    for (Tap &tap : result)
      tap.weight = node.div(tap.weight, sum);
  return result;
}

Value StepResize::resample(Value value, const Along &along, Value at) {
  Value result;
  for (const Tap &tap : taps(along, at)) {
    if (!value || !tap.index)
      return {};
    Value taken = node.create<GatherOp>({value, tap.index}, node.integer("axis", along.axis));
    if (tap.weight) {
      Value weight = integer.laid(node.cast(tap.weight, elementTypeOf(value)), along.axis, rankOf(x));
      taken = node.mul(taken, weight);
    }
    result = result ? node.add(result, taken) : taken;
  }
  return result;
}

/// Where an axis shrinks, the kernel is as wide as what an element of the result covers, so that all of the input
/// counts: a product with a matrix [room, in]. An axis shrinks to one element at least, which bounds the taps beside
/// the input; they count as its edges.
Value StepResize::antialiased(Value value, const Along &along, Value at) {
  const int64_t reach = form.mode == ResizeMode::linear ? 1 : 2, in = along.in;
  const bool excludes = node.integerOr("exclude_outside", 0) != 0;
  const int64_t beside = excludes ? 0 : reach * in + 1, count = in + 2 * beside;
  constexpr int64_t kMostWeights = int64_t(1) << 28;
  if (Count(along.size.room) * count > kMostWeights) {
    (void)node.unsupported("it resamples " + Twine(in) + " elements to up to " + Twine(along.size.room) +
                           ", which needs too many weights");
    return {};
  }
  Value one = real.number(1);
  Value narrow = node.binary(BinaryKind::min, along.scale, one);
  Value tap = node.reshape(real.plus(real.positions(count), -static_cast<double>(beside)), {1, count});
  Value place = node.reshape(at, {along.size.room, 1});
  Value distance = node.unary(UnaryKind::abs, node.mul(node.sub(tap, place), narrow));
  Value weights;
  if (form.mode == ResizeMode::linear) {
    Value none = real.number(0);
    weights = node.binary(BinaryKind::max, real.plus(real.times(distance, -1), 1), none);
  } else {
    weights = cubicWeight(distance);
  }
  Value sum = node.reduce(ReduceKind::sum, weights, {1}, true);
  if (!excludes && in == 1) {
    weights = sum;
  } else if (!excludes) {
    SmallVector<Value> columns{
        node.reduce(ReduceKind::sum, node.sliceAxis(weights, 1, 0, beside + 1), {1}, true),
        node.sliceAxis(weights, 1, beside + 1, in - 2),
        node.reduce(ReduceKind::sum, node.sliceAxis(weights, 1, beside + in - 1, beside + 1), {1}, true)};
    weights = llvm::is_contained(columns, Value()) ? Value() : node.concat(columns, 1);
  }
  weights = node.div(weights, sum);
  if (!value || !weights)
    return {};
  Dims dims(shapeOf(value));
  int64_t outer = 1, inner = 1;
  for (auto [d, dim] : llvm::enumerate(dims))
    (static_cast<int64_t>(d) < along.axis ? outer : inner) *= static_cast<int64_t>(d) == along.axis ? 1 : dim;
  dims[along.axis] = along.size.room;
  Value slices = node.reshape(value, {outer, in, inner}), matrix = node.cast(weights, elementTypeOf(value));
  return node.reshape(node.matmul(matrix, slices), dims);
}

LogicalResult StepResize::run() {
  if (node.extents->isBounded(x))
    return node.unsupported("its operand has an extent that depends on data and is known only when the model runs");
  Type type = elementTypeOf(x);
  const bool isNearest = form.mode == ResizeMode::nearest;
  const bool antialiases = !isNearest && node.integerOr("antialias", 0) != 0;
  if (!isNearest && !isa<FloatType>(type))
    return node.unsupported("it interpolates integers, and only floating-point elements are supported");
  if (antialiases && form.crops())
    return node.unsupported("antialiasing of a cropped region is not supported");
  for (int64_t axis : form.axes) {
    if (shapeOf(x)[axis] == 0)
      return node.invalid("its input has no elements");
    all.push_back({axis, shapeOf(x)[axis], {}, {}, {}, {}, {}, {}, false});
  }
  if (all.empty())
    return node.result(x);
  if ((form.crops() && failed(readRegion())) || failed(form.sizes ? readSizes() : readScales()))
    return failure();
  for (Along &along : all)
    finish(along);
  // Narrow types round at the end alone.
  Type wide = isNearest || type.isF64() ? type : Float32Type::get(node.context());
  Value result = node.cast(x, wide), outside;
  for (const Along &along : all) {
    if (along.isSame)
      continue;
    Value at = positions(along);
    result = antialiases ? antialiased(result, along, at) : resample(result, along, at);
    if (!form.crops())
      continue;
    Value before = real.compare(ComparePredicate::lt, at, 0);
    Value after = real.compare(ComparePredicate::gt, at, static_cast<double>(along.in - 1));
    Value either = integer.laid(node.binary(BinaryKind::logical_or, before, after), along.axis, rankOf(x));
    outside = outside ? node.binary(BinaryKind::logical_or, outside, either) : either;
  }
  if (outside && result) {
    Value value = node.splat(wide, node.numberOr("extrapolation_value", 0));
    result = node.select(outside, value, result);
  }
  result = node.cast(result, type);
  for (const Along &along : all)
    result = node.held(result, along.axis, along.size.count);
  return node.result(result);
}

} // namespace

LogicalResult resizeInStep(NodeContext &node, const ResizeForm &form) { return StepResize(node, form).run(); }

} // namespace sluice::onnximport
