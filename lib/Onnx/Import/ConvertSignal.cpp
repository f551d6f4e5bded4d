//===- ConvertSignal.cpp - Fourier transforms, windows, random numbers ----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A transform of known length is a product with a constant matrix, and a short-time transform is a convolution. Kernels
// for both are fast.
//
//===----------------------------------------------------------------------===//
#include "Extents.h"
#include "StepIntegers.h"
#include "StepReals.h"

#include "sluice/Onnx/TensorData.h"

#include "llvm/Support/xxhash.h"

#include <cmath>
#include <cstring>
#include <numbers>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// Entries of the largest matrix that a transform may become.
constexpr int64_t kMostEntries = int64_t(1) << 26;

/// A constant of computed values.
Value table(NodeContext &node, Type elementType, ArrayRef<int64_t> dims, ArrayRef<double> values) {
  Type stored = elementType.isF64() ? elementType : Float32Type::get(node.context());
  auto type = RankedTensorType::get(dims, stored);
  if (failed(node.spend(dataflow::tensorBytes(type))))
    return {};
  std::vector<char> bytes(values.size() * static_cast<size_t>(dataflow::elementBytes(stored)));
  for (auto [i, value] : llvm::enumerate(values)) {
    auto narrow = static_cast<float>(value);
    if (stored.isF64())
      std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
    else
      std::memcpy(&bytes[i * sizeof narrow], &narrow, sizeof narrow);
  }
  Value constant = ConstantOp::create(node.mlir(), node.loc(), makeDense(type, bytes));
  return node.cast(constant, elementType);
}

struct Complex {
  double real, imaginary;
};
/// e^(2 pi i numerator / denominator), exact at quarters of the circle.
Complex rootOfUnity(int64_t numerator, int64_t denominator) {
  int64_t at = numerator % denominator;
  if (at < 0)
    at += denominator;
  if (4 * at % denominator == 0) {
    static constexpr Complex kQuarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    return kQuarters[4 * at / denominator];
  }
  double angle = 2 * std::numbers::pi * static_cast<double>(at) / static_cast<double>(denominator);
  return {std::cos(angle), std::sin(angle)};
}

/// What a transform of `length` is, of `given` elements with 1 or 2 components.
struct Transform {
  int64_t length, given, components;
  bool inverse, onesided;
  Value count = {}; ///< Where only a step says the length, an i64 scalar: `length` is the most then.

  /// A spectrum of a real signal is symmetric: its inverse is real, of half the spectrum.
  bool isReal() const { return inverse && onesided; }
  int64_t outputs() const { return onesided && !inverse ? length / 2 + 1 : length; }
  int64_t outputComponents() const { return isReal() ? 1 : 2; }

  /// [given, components, outputs, outputComponents].
  std::vector<double> matrix() const {
    std::vector<double> entries;
    entries.reserve(static_cast<size_t>(given * components * outputs() * outputComponents()));
    double scale = inverse ? 1 / static_cast<double>(length) : 1;
    for (int64_t n = 0; n < given; ++n)
      for (int64_t c = 0; c < components; ++c)
        for (int64_t k = 0; k < outputs(); ++k) {
          Complex root = rootOfUnity(inverse ? n * k : -n * k, length);
          // Half of a spectrum stands for the other half too.
          double weight = isReal() && n != 0 && 2 * n != length ? 2 * scale : scale;
          entries.push_back(weight * (c == 0 ? root.real : -root.imaginary));
          if (!isReal())
            entries.push_back(weight * (c == 0 ? root.imaginary : root.real));
        }
    return entries;
  }
};

/// How many of its outputs hold; null: all.
Value outputCount(NodeContext &node, const Transform &transform) {
  if (!transform.count || !transform.onesided || transform.inverse)
    return transform.count;
  StepIntegers integer(node);
  Value two = integer.scalar(2), one = integer.scalar(1);
  return node.add(node.div(transform.count, two), one);
}

/// The matrix of a length that only the step says, zeros for elements past it.
Value matrixOfStep(NodeContext &node, const Transform &transform) {
  StepIntegers integer(node);
  StepReals real(node);
  const int64_t given = transform.given, outputs = transform.outputs();
  Value one = integer.scalar(1), two = integer.scalar(2), length = node.binary(BinaryKind::max, transform.count, one);
  Value n = node.reshape(integer.positions(given), {given, 1}),
        k = node.reshape(integer.positions(outputs), {1, outputs});
  // Whole turns are taken off before the angle is rounded.
  Value turns = node.mul(n, k);
  Value rest = node.sub(turns, node.mul(node.div(turns, length), length)), circle = real.of(length);
  const double full = transform.inverse ? 2 * std::numbers::pi : -2 * std::numbers::pi;
  Value angle = node.div(real.times(real.of(rest), full), circle);
  Value weight = real.number(1), none = real.number(0), last = length;
  if (transform.inverse)
    weight = node.div(weight, circle);
  if (transform.isReal()) {
    // Half of a spectrum stands for the other half too.
    Value isFirst = integer.isEqual(n, 0), isMiddle = node.compare(ComparePredicate::eq, node.mul(n, two), length);
    Value isSingle = node.binary(BinaryKind::logical_or, isFirst, isMiddle), both = real.times(weight, 2);
    weight = node.select(isSingle, weight, both);
    last = node.add(node.div(length, two), one);
  }
  Value isGiven = node.compare(ComparePredicate::lt, n, last);
  weight = node.select(isGiven, weight, none);
  auto part = [&](UnaryKind kind, double sign) {
    Value value = node.mul(node.unary(kind, angle), weight);
    return node.reshape(real.times(value, sign), {given, 1, outputs, 1});
  };
  SmallVector<Value> rows;
  for (int64_t c = 0; c < transform.components; ++c) {
    SmallVector<Value> parts{c == 0 ? part(UnaryKind::cos, 1) : part(UnaryKind::sin, -1)};
    if (!transform.isReal())
      parts.push_back(c == 0 ? part(UnaryKind::sin, 1) : part(UnaryKind::cos, 1));
    rows.push_back(llvm::is_contained(parts, Value()) ? Value() : node.concat(parts, 3));
  }
  return llvm::is_contained(rows, Value()) ? Value() : node.concat(rows, 1);
}

/// Of [given * components, outputs * outputComponents].
Value matrixOf(NodeContext &node, const Transform &transform, Type type) {
  const Dims dims{transform.given * transform.components, transform.outputs() * transform.outputComponents()};
  if (!transform.count)
    return table(node, type, dims, transform.matrix());
  return node.reshape(node.cast(matrixOfStep(node, transform), type), dims);
}

/// Along one axis of many: null, and reported, where it is too long.
Value transformAlong(NodeContext &node, Value x, int64_t axis, const Transform &transform) {
  if (transform.length < 1 || transform.length > kMostEntries ||
      Count(transform.length) * std::max<int64_t>(transform.given, 1) > kMostEntries / 4) {
    (void)node.unsupported("its transform has " + Twine(transform.length) + " elements of " + Twine(transform.given) +
                           " values, and the product of both numbers must be from 1 to " + Twine(kMostEntries / 4));
    return {};
  }
  const int64_t rank = rankOf(x);
  Dims order, back(rank);
  for (int64_t i = 0; i < rank - 1; ++i)
    if (i != axis)
      order.push_back(i);
  order.push_back(axis);
  order.push_back(rank - 1);
  for (auto [to, from] : llvm::enumerate(order))
    back[from] = static_cast<int64_t>(to);
  Value rows = node.sliceAxis(node.transpose(x, order), rank - 2, 0, transform.given);
  if (!rows)
    return {};
  Dims result(shapeOf(rows).drop_back(2));
  int64_t count = 1;
  for (int64_t dim : result)
    count *= dim;
  result.push_back(transform.outputs());
  result.push_back(transform.outputComponents());
  Value matrix = matrixOf(node, transform, elementTypeOf(x));
  Value product = node.matmul(node.reshape(rows, {count, transform.given * transform.components}), matrix);
  return node.transpose(node.reshape(product, result), back);
}

/// The transform along each axis that a step may choose, all with room for the longest result.
LogicalResult dftOfStep(NodeContext &node, Value x, llvm::function_ref<Transform(int64_t)> transformAt) {
  const int64_t rank = rankOf(x);
  StepIntegers integer(node);
  FailureOr<Value> axes = integer.axes(2, rank);
  if (failed(axes) || failed(node.limit(node.input(2), AllowedIndices{-rank, rank - 2, std::nullopt})))
    return failure();
  Value chosen = integer.elementOf(*axes, 0);
  Value first = integer.scalar(0), beyond = integer.scalar(int64_t(1) << 40);
  Value wrong = node.splat(elementTypeOf(x), std::nan(""));
  SmallVector<Value> transformed;
  SmallVector<SmallVector<Value>> counts(rank);
  Dims rooms(rank, 0);
  for (int64_t axis = 0; axis < rank - 1; ++axis) {
    const Transform transform = transformAt(axis);
    // A single element is no half of a spectrum: a step that chooses it fails.
    const bool isEmpty = transform.length < 1;
    Value result = isEmpty ? wrong : transformAlong(node, x, axis, transform);
    Value found = isEmpty ? beyond : outputCount(node, transform);
    if (!result)
      return node.result({});
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t extent = isEmpty ? shapeOf(x)[d] : shapeOf(result)[d];
      counts[d].push_back(d == axis && found ? found : integer.scalar(extent));
      if (!isEmpty)
        rooms[d] = std::max(rooms[d], extent);
    }
    transformed.push_back(result);
  }
  if (llvm::all_of(transformed, [&](Value value) { return value == wrong; }))
    return node.unsupported(
        "it computes an inverse transform of half of a spectrum, and every axis of its input has a single element");
  Value result = integer.choose(chosen, rank - 1, [&](int64_t axis) {
    Value padded = transformed[axis];
    for (int64_t d = 0; d < rank; ++d)
      if (padded && padded != wrong && shapeOf(padded)[d] != rooms[d])
        padded = integer.cut(padded, d, first, {rooms[d], {}});
    return padded;
  });
  // The components are no axis of signals. An input is refused for most other axes, what is computed for none.
  Value end = integer.scalar(rank - 1);
  Value isAbove = node.compare(ComparePredicate::ge, chosen, first);
  Value isBelow = node.compare(ComparePredicate::lt, chosen, end);
  result = node.select(node.binary(BinaryKind::logical_and, isAbove, isBelow), result, wrong);
  auto isRoom = [](Value count, int64_t room) {
    std::optional<SmallVector<int64_t>> known = count ? getIntegers(count) : std::nullopt;
    return known && known->front() == room;
  };
  for (int64_t d = 0; d < rank - 1; ++d)
    if (!llvm::all_of(counts[d], [&](Value count) { return isRoom(count, rooms[d]); }))
      result = node.held(result, d, integer.choose(chosen, rank - 1, [&](int64_t axis) { return counts[d][axis]; }));
  return node.result(result);
}

/// Axis: an attribute before opset 20, an input since.
LogicalResult dft(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  const int64_t rank = rankOf(x);
  const bool isAxisGiven = node.opset >= 20 && node.has(2), isAxisFound = isAxisGiven && !getIntegers(node.input(2));
  int64_t chosen = node.opset < 20 ? node.integerOr("axis", 1) : -2;
  if (isAxisGiven && elementCount(node.input(2).getType()) != 1)
    return node.invalid("its axis must be one number");
  if (isAxisGiven && !isAxisFound)
    chosen = getIntegers(node.input(2))->front();
  FailureOr<int64_t> axis = node.axis(chosen, rank);
  if (failed(axis))
    return failure();
  if (rank < 2 || *axis == rank - 1 || shapeOf(x).back() < 1 || shapeOf(x).back() > 2)
    return node.invalid(
        "the last dimension of its input must have extent 1 or 2, and its axis must be another dimension");
  Transform form{0, 0, shapeOf(x).back(), node.integerOr("inverse", 0) != 0, node.integerOr("onesided", 0) != 0};
  NodeContext::Size length;
  if (node.has(1)) {
    int64_t declared = isAxisFound ? -1 : StepIntegers(node).declaredAt({*axis}, rank).front();
    if (declared > 0 && form.onesided && !form.inverse)
      declared = 2 * declared - 1;
    FailureOr<NodeContext::Size> given = StepReals(node).sizeAt(1, "dft_length", declared);
    if (failed(given))
      return failure();
    length = *given;
  }
  auto transformAt = [&](int64_t along) {
    Transform transform = form;
    transform.given = shapeOf(x)[along];
    transform.length = node.has(1) ? length.room : form.isReal() ? 2 * (transform.given - 1) : transform.given;
    transform.count = length.count;
    // What is longer than the transform is cut off; zeros beyond what is given change nothing.
    transform.given = std::min(transform.given, form.isReal() ? transform.length / 2 + 1 : transform.length);
    return transform;
  };
  if (isAxisFound || length.count) {
    x = node.whole(x);
    if (node.extents->isBounded(x))
      return node.unsupported("its operand has an extent that depends on data and is known only when the model runs");
  }
  if (isAxisFound)
    return dftOfStep(node, x, transformAt);
  const Transform transform = transformAt(*axis);
  Value result = transformAlong(node, x, *axis, transform);
  return node.result(node.held(result, *axis, outputCount(node, transform)));
}

/// Frames of a distance or a length that only the step says, each gathered.
LogicalResult stftOfStep(NodeContext &node) {
  Value x = node.whole(node.input(0)), window = node.input(2);
  if (rankOf(x) == 2)
    x = node.reshape(x, {shapeOf(x)[0], shapeOf(x)[1], 1});
  if (!x || rankOf(x) != 3 || shapeOf(x)[2] < 1 || shapeOf(x)[2] > 2 || shapeOf(x)[1] < 1 ||
      elementCount(node.input(1).getType()) != 1 || node.extents->isBounded(x))
    return node.invalid(
        "its signal must have 3 dimensions, the last of extent 1 or 2, and its frame_step and frame_length must be "
        "single numbers of at least 1, and frame_length must be at most the length of the signal");
  StepIntegers integer(node);
  const int64_t batch = shapeOf(x)[0], samples = shapeOf(x)[1], components = shapeOf(x)[2];
  const bool onesided = node.integerOr("onesided", 1) != 0;
  const Dims declared = integer.declaredAt({1, 2}, 4);
  NodeContext::Size length{window ? elementCount(window.getType()).value() : 0, {}};
  Value given;
  if (node.has(3)) {
    FailureOr<NodeContext::Size> size = StepReals(node).sizeAt(3, "frame_length", samples);
    if (failed(size))
      return failure();
    given = integer.countOf(*size);
    if (!window)
      length = *size;
  }
  if (length.count) {
    length.room = std::min(length.room, samples);
    if (declared[1] > 0)
      length.room = std::min(length.room, onesided ? 2 * declared[1] - 1 : declared[1]);
  }
  if (length.room < 1 || length.room > samples)
    return node.invalid(
        "its signal must have 3 dimensions, the last of extent 1 or 2, and its frame_step and frame_length must be "
        "single numbers of at least 1, and frame_length must be at most the length of the signal");
  if (failed(node.limit(node.input(1), AllowedIndices{1, INT64_MAX, std::nullopt})))
    return failure();
  const double leastStep = std::max(StepReals(node).intervalAt(1).low, 1.0);
  int64_t frames =
      1 + static_cast<int64_t>(static_cast<double>(samples - (length.count ? 1 : length.room)) / leastStep);
  if (declared[0] >= 0)
    frames = std::min(frames, declared[0]);
  Transform transform{length.room, length.room, components, false, onesided, length.count};
  if (Count(batch) * frames * length.room * components > kMostEntries ||
      Count(length.room) * length.room > kMostEntries / 4)
    return node.unsupported("it may have " + Twine(frames) + " frames of " + Twine(length.room) +
                            " elements, which is too many, give a lower bound of the step by --bound " +
                            node.proto.input(1) + "=LOW..N");
  Type index = node.mlir().getI64Type(), type = elementTypeOf(x);
  Value one = integer.scalar(1), first = integer.scalar(0), last = integer.scalar(samples - 1);
  Value step = node.cast(node.reshape(node.input(1), {}), index), own = integer.countOf(length);
  Value distance = node.binary(BinaryKind::max, step, one), space = node.sub(integer.scalar(samples), own);
  Value count = node.add(node.div(space, distance), one);
  Value start = node.mul(node.iota(index, frames, 0, 2), distance);
  Value place = integer.clamp(node.add(start, node.iota(index, length.room, 1, 2)), first, last);
  Value cut = node.create<GatherOp>({x, place}, node.integer("axis", 1));
  if (window)
    cut = node.mul(cut, node.cast(node.reshape(window, {1, 1, length.room, 1}), type));
  Value matrix = matrixOf(node, transform, type);
  Value product = node.matmul(node.reshape(cut, {batch * frames, length.room * components}), matrix);
  Value result = node.reshape(product, {batch, frames, transform.outputs(), 2});
  // Numbers that do not fit make a count that no bound allows.
  Value fits = node.compare(ComparePredicate::ge, step, one), beyond = integer.scalar(int64_t(1) << 40);
  fits = node.binary(BinaryKind::logical_and, fits, node.compare(ComparePredicate::ge, own, one));
  fits = node.binary(BinaryKind::logical_and, fits, node.compare(ComparePredicate::ge, space, first));
  if (given)
    fits = node.binary(BinaryKind::logical_and, fits, node.compare(ComparePredicate::eq, given, own));
  result = node.held(result, 1, node.select(fits, count, beyond));
  return node.result(node.held(result, 2, outputCount(node, transform)));
}

/// Transforms of a signal's frames, each `frame_step` after the one before, times a window.
LogicalResult stft(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  if (!getIntegers(node.input(1)) || (node.has(3) && !getIntegers(node.input(3))))
    return stftOfStep(node);
  Value x = node.input(0), window = node.input(2);
  if (rankOf(x) == 2)
    x = node.reshape(x, {shapeOf(x)[0], shapeOf(x)[1], 1});
  FailureOr<Dims> step = node.constantIntegers(1, "frame_step");
  if (failed(step))
    return failure();
  int64_t length = window ? elementCount(window.getType()).value() : 0;
  if (node.has(3)) {
    FailureOr<Dims> given = node.constantIntegers(3, "frame_length");
    if (failed(given))
      return failure();
    if (given->size() != 1 || (window && given->front() != length))
      return node.invalid(
          "its frame_length must be one number, and must equal the length of its window if both are given");
    length = given->front();
  }
  if (rankOf(x) != 3 || shapeOf(x)[2] < 1 || shapeOf(x)[2] > 2 || step->size() != 1 || step->front() < 1 ||
      step->front() > (1 << 30) || length < 1 || length > shapeOf(x)[1])
    return node.invalid(
        "its signal must have 3 dimensions, the last of extent 1 or 2, and its frame_step and frame_length must be "
        "single numbers of at least 1, and frame_length must be at most the length of the signal");
  Transform transform{length, length, shapeOf(x)[2], false, node.integerOr("onesided", 1) != 0};
  if (Count(length) * length > kMostEntries / 4)
    return node.unsupported("its frames have " + Twine(length) + " elements, which is too many");
  Type type = elementTypeOf(x);
  Value matrix = table(node, type, {length, transform.components, transform.outputs() * 2}, transform.matrix());
  Value filters = node.transpose(matrix, {2, 1, 0});
  if (window)
    filters = node.mul(filters, node.cast(node.reshape(window, {1, 1, length}), type));
  Value frames = node.create<ConvOp>({node.transpose(x, {0, 2, 1}), filters},
                                     {node.list("strides", {step->front()}), node.list("pads", {0, 0}),
                                      node.list("dilations", {1}), node.integer("groups", 1)});
  if (!frames)
    return node.result({});
  Dims dims(shapeOf(frames));
  Value split = node.reshape(frames, {dims[0], transform.outputs(), 2, dims[2]});
  return node.result(node.transpose(split, {0, 3, 1, 2}));
}

/// Triangles of equal width on the mel scale, as weights of a spectrum's bins, by numbers of which a step says some.
LogicalResult melWeightsOfStep(NodeContext &node, Type type) {
  StepIntegers integer(node);
  StepReals real(node);
  const Dims declared = integer.declaredAt({0, 1}, 2);
  FailureOr<NodeContext::Size> bins = real.sizeAt(0, "num_mel_bins", declared[1]);
  FailureOr<NodeContext::Size> length = real.sizeAt(1, "dft_length", declared[0] > 0 ? 2 * declared[0] - 1 : -1);
  if (failed(bins) || failed(length))
    return failure();
  const int64_t rows = length->room / 2 + 1, columns = bins->room;
  if (columns < 0 || length->room < 0 || Count(rows) * columns > kMostEntries)
    return node.invalid(
        "its num_mel_bins, dft_length, sample_rate, lower_edge_hertz or upper_edge_hertz is out of range");
  SmallVector<Value> numbers;
  for (size_t i = 2; i < 5; ++i)
    numbers.push_back(real.of(node.reshape(node.input(i), {})));
  Value rate = numbers[0], low = numbers[1], high = numbers[2];
  auto mel = [&](Value hertz) {
    return real.times(node.unary(UnaryKind::log, real.plus(real.times(hertz, 1 / 700.0), 1)),
                      2595 / std::numbers::ln10);
  };
  Value melLow = mel(low), melHigh = mel(high), one = real.number(1), none = real.number(0);
  Value count = real.of(integer.countOf(*bins)), width = node.sub(melHigh, melLow), parts = real.plus(count, 2);
  Value step = node.div(width, parts), points = real.plus(real.of(integer.countOf(*length)), 1);
  auto edgeAt = [&](Value i) {
    Value at = node.add(node.mul(i, step), melLow);
    Value hertz = real.times(real.plus(node.unary(UnaryKind::exp, real.times(at, std::numbers::ln10 / 2595)), -1), 700);
    return real.floor(node.div(node.mul(hertz, points), rate));
  };
  Value edges = edgeAt(real.positions(columns + 2)), greatest = edgeAt(real.plus(count, 1));
  auto edge = [&](int64_t from) { return node.reshape(node.sliceAxis(edges, 0, from, columns), {1, columns}); };
  Value left = edge(0), centre = edge(1), right = edge(2), row = node.reshape(real.positions(rows), {rows, 1});
  auto share = [&](Value part, Value whole) { return node.div(part, node.binary(BinaryKind::max, whole, one)); };
  Value rise = node.sub(row, left), up = node.sub(centre, left), fall = node.sub(right, row),
        down = node.sub(right, centre);
  Value isFlat = node.compare(ComparePredicate::eq, left, centre), rising = node.select(isFlat, one, share(rise, up));
  Value falling = share(fall, down), isPast = node.compare(ComparePredicate::ge, row, left);
  Value isUp = node.compare(ComparePredicate::le, row, centre),
        isDown = node.compare(ComparePredicate::ge, row, centre);
  Value isBefore = node.compare(ComparePredicate::lt, row, right);
  Value held = real.floor(real.plus(real.times(real.plus(points, -1), 0.5), 1));
  Value isWithin = node.compare(ComparePredicate::lt, centre, held);
  Value isRising = node.binary(BinaryKind::logical_and, isPast, isUp);
  Value isFalling = node.binary(BinaryKind::logical_and, isDown, isBefore);
  Value weights = node.select(isRising, rising, none);
  weights = node.select(isFalling, falling, weights);
  weights = node.select(isWithin, weights, none);
  // Numbers that do not fit make an error where the step counts, and else no numbers.
  Value fits = node.compare(ComparePredicate::le, greatest, held);
  fits = node.binary(BinaryKind::logical_and, fits, node.compare(ComparePredicate::gt, rate, none));
  fits = node.binary(BinaryKind::logical_and, fits, node.compare(ComparePredicate::ge, low, none));
  fits = node.binary(BinaryKind::logical_and, fits, node.compare(ComparePredicate::ge, high, low));
  Value wrong = real.number(std::nan(""));
  weights = node.select(fits, weights, wrong);
  Value result = node.cast(weights, type);
  if (length->count)
    result = node.held(result, 0, real.count(held, fits));
  return node.result(node.held(result, 1, bins->count));
}

/// Triangles of equal width on the mel scale, as weights of a spectrum's bins.
LogicalResult melWeightMatrix(NodeContext &node) {
  if (failed(node.require(5)))
    return failure();
  Type type = elementTypeFromOnnx(node.context(), node.integerOr("output_datatype", 1));
  if (!type)
    return node.unsupported("its output_datatype is element type " + Twine(node.integerOr("output_datatype", 1)) +
                            " of ONNX, which is not supported here");
  double parameters[5];
  static constexpr StringRef kNames[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                                         "upper_edge_hertz"};
  for (size_t i = 0; i < 5; ++i) {
    if (elementCount(node.input(i).getType()) != 1)
      return node.invalid("its " + kNames[i] + " must be one number");
    if (!getConstant(node.input(i)))
      return melWeightsOfStep(node, type);
    FailureOr<SmallVector<double>> value = node.constantNumbers(i, kNames[i]);
    if (failed(value))
      return failure();
    parameters[i] = value->front();
  }
  auto [bins, length, rate, low, high] = parameters;
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  auto hertz = [](double value) { return 700 * (std::pow(10, value / 2595) - 1); };
  if (!(bins >= 1 && bins < 1e6 && length >= 1 && length < 1e8 && rate > 0 && low >= 0 && high >= low) ||
      (length / 2 + 1) * bins > static_cast<double>(kMostEntries))
    return node.invalid(
        "its num_mel_bins, dft_length, sample_rate, lower_edge_hertz or upper_edge_hertz is out of range");
  auto count = static_cast<int64_t>(bins), rows = static_cast<int64_t>(length) / 2 + 1;
  double step = (mel(high) - mel(low)) / (bins + 2);
  SmallVector<int64_t> edges;
  for (int64_t i = 0; i < count + 2; ++i) {
    double edge = std::floor((length + 1) * hertz(mel(low) + static_cast<double>(i) * step) / rate);
    if (!(edge >= 0 && edge <= static_cast<double>(rows)))
      return node.invalid("its upper_edge_hertz must be at most half of its sample_rate");
    edges.push_back(static_cast<int64_t>(edge));
  }
  std::vector<double> weights(static_cast<size_t>(rows * count));
  auto at = [&](int64_t row, int64_t column) -> double & { return weights[static_cast<size_t>(row * count + column)]; };
  for (int64_t i = 0; i < count; ++i) {
    int64_t left = edges[i], centre = edges[i + 1], right = edges[i + 2];
    if (centre >= rows)
      continue;
    for (int64_t row = left; row <= centre; ++row)
      at(row, i) = centre == left ? 1 : static_cast<double>(row - left) / static_cast<double>(centre - left);
    for (int64_t row = centre; row < right; ++row)
      at(row, i) = static_cast<double>(right - row) / static_cast<double>(right - centre);
  }
  return node.result(node.cast(table(node, Float64Type::get(node.context()), {rows, count}, weights), type));
}

/// a - b cos(t) + c cos(2 t), over a period of `size`, or of one less.
LogicalResult cosineWindow(NodeContext &node, double a, double b, double c) {
  StepIntegers integer(node);
  StepReals real(node);
  FailureOr<NodeContext::Size> size = real.sizeAt(0, "size", integer.declaredAt({0}, 1).front());
  if (failed(size))
    return failure();
  const int64_t count = size->room;
  if (count < 0 || count > kMostEntries)
    return node.invalid("its size must be one number from 0 to " + Twine(kMostEntries));
  const bool isPeriodic = node.integerOr("periodic", 1) != 0;
  Type type = elementTypeFromOnnx(node.context(), node.integerOr("output_datatype", 1));
  if (!type)
    return node.unsupported("its output_datatype is element type " + Twine(node.integerOr("output_datatype", 1)) +
                            " of ONNX, which is not supported here");
  if (size->count) {
    Value given = real.plus(real.of(size->count), isPeriodic ? 0 : -1), least = real.number(1);
    Value period = node.binary(BinaryKind::max, given, least);
    Value angle = node.div(real.times(real.positions(count), 2 * std::numbers::pi), period);
    Value once = real.times(node.unary(UnaryKind::cos, angle), -b);
    Value twice = real.times(node.unary(UnaryKind::cos, real.times(angle, 2)), c);
    Value window = node.cast(real.plus(node.add(once, twice), a), type);
    return node.result(node.held(window, 0, size->count));
  }
  const int64_t period = std::max<int64_t>(1, isPeriodic ? count : count - 1);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(a - b * rootOfUnity(i, period).real + c * rootOfUnity(2 * i, period).real);
  return node.result(node.cast(table(node, Float64Type::get(node.context()), {count}, values), type));
}
LogicalResult hannWindow(NodeContext &node) { return cosineWindow(node, 0.5, 0.5, 0); }
LogicalResult hammingWindow(NodeContext &node) { return cosineWindow(node, 25.0 / 46, 21.0 / 46, 0); }
LogicalResult blackmanWindow(NodeContext &node) { return cosineWindow(node, 0.42, 0.5, 0.08); }

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

/// Uniform in [0, 1). Without a seed, each node has one of its own, by its result's name: runs are alike. `draw` tells
/// several uses of one node apart.
Value uniform(NodeContext &node, ArrayRef<int64_t> dims, int64_t draw = 0) {
  uint64_t seed = 0;
  if (node.find("seed")) {
    double value = node.numberOr("seed", 0);
    std::memcpy(&seed, &value, sizeof seed);
  } else if (node.proto.output_size() > 0) {
    seed = llvm::xxh3_64bits(StringRef(node.proto.output(0)));
  }
  auto own = static_cast<int64_t>(seed + static_cast<uint64_t>(draw));
  return node.create<RandomOp>({}, node.integer("seed", own), {node.type(Float32Type::get(node.context()), dims)});
}

/// The type and shape of what a random operator makes: its attributes', else those of its input.
struct RandomResult {
  Type type;
  Dims dims;
};
FailureOr<RandomResult> randomResult(NodeContext &node) {
  RandomResult result;
  if (node.has(0)) {
    result.type = elementTypeOf(node.input(0));
    result.dims.assign(shapeOf(node.input(0)).begin(), shapeOf(node.input(0)).end());
  } else {
    result.type = Float32Type::get(node.context());
    result.dims = node.integersAt("shape").value_or(Dims());
  }
  if (int64_t number = node.integerOr("dtype", 0))
    result.type = elementTypeFromOnnx(node.context(), number);
  if (!result.type)
    return node.unsupported("its dtype is element type " + Twine(node.integerOr("dtype", 0)) +
                            " of ONNX, which is not supported here");
  if (llvm::any_of(result.dims, [](int64_t dim) { return dim < 0; }))
    return node.invalid("its shape has a negative extent");
  return result;
}

LogicalResult randomUniform(NodeContext &node) {
  FailureOr<RandomResult> made = randomResult(node);
  if (failed(made))
    return failure();
  double low = node.numberOr("low", 0), high = node.numberOr("high", 1);
  Type wide = Float32Type::get(node.context());
  const Value least = node.splat(wide, low);
  const Value span = node.splat(wide, high - low);
  Value value = node.add(node.mul(uniform(node, made->dims), span), least);
  return node.result(node.cast(value, made->type));
}

/// Box and Muller's transform of two uniform numbers.
LogicalResult randomNormal(NodeContext &node) {
  FailureOr<RandomResult> made = randomResult(node);
  if (failed(made))
    return failure();
  Type wide = Float32Type::get(node.context());
  auto c = [&](double value) { return node.splat(wide, value); };
  const Value first = uniform(node, made->dims);
  Value logarithm = node.unary(UnaryKind::log, node.sub(c(1), first));
  Value radius = node.unary(UnaryKind::sqrt, node.mul(logarithm, c(-2)));
  const Value turn = c(2 * std::numbers::pi);
  Value angle = node.mul(uniform(node, made->dims, 1), turn);
  Value normal = node.mul(radius, node.unary(UnaryKind::cos, angle));
  const Value mean = c(node.numberOr("mean", 0));
  Value value = node.add(node.mul(normal, c(node.numberOr("scale", 1))), mean);
  return node.result(node.cast(value, made->type));
}

LogicalResult bernoulli(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  FailureOr<RandomResult> made = randomResult(node);
  if (failed(made))
    return failure();
  Value chance = node.cast(node.input(0), Float32Type::get(node.context()));
  return node.result(node.cast(node.compare(ComparePredicate::lt, uniform(node, made->dims), chance), made->type));
}

/// Classes drawn by their unnormalised log probabilities: the greatest of these with Gumbel noise added.
LogicalResult multinomial(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value logits = node.cast(node.input(0), Float32Type::get(node.context()));
  int64_t samples = node.integerOr("sample_size", 1);
  if (!logits || rankOf(logits) != 2 || samples < 1 || samples > kMostEntries)
    return node.invalid("its input must be a matrix, and its sample_size is " + Twine(samples) + ", 1 to " +
                        Twine(kMostEntries) + " is allowed");
  int64_t rows = shapeOf(logits)[0], classes = shapeOf(logits)[1];
  Type wide = Float32Type::get(node.context());
  // 1 - u is in (0, 1]: its logarithm is finite, and a tiny number keeps the second one so.
  const Value random = uniform(node, {rows, samples, classes});
  Value draw = node.unary(UnaryKind::log, node.sub(node.splat(wide, 1), random));
  const Value tiny = node.splat(wide, 1e-30);
  Value noise = node.unary(UnaryKind::log, node.add(node.unary(UnaryKind::neg, draw), tiny));
  Value scores = node.sub(node.reshape(logits, {rows, 1, classes}), noise);
  Value drawn = node.create<ArgReduceOp>({scores}, {node.integer("axis", 2), node.flag("keep_dims", false)});
  Type type = elementTypeFromOnnx(node.context(), node.integerOr("dtype", onnxtype::Int32));
  if (!type)
    return node.unsupported("its dtype is element type " + Twine(node.integerOr("dtype", 0)) +
                            " of ONNX, which is not supported here");
  return node.result(node.cast(drawn, type));
}

constexpr OperatorEntry kOperators[] = {
    {"", "DFT", 17, dft},
    {"", "STFT", 17, stft},
    {"", "MelWeightMatrix", 17, melWeightMatrix},
    {"", "HannWindow", 17, hannWindow},
    {"", "HammingWindow", 17, hammingWindow},
    {"", "BlackmanWindow", 17, blackmanWindow},
    {"", "RandomUniform", 1, randomUniform},
    {"", "RandomUniformLike", 1, randomUniform},
    {"", "RandomNormal", 1, randomNormal},
    {"", "RandomNormalLike", 1, randomNormal},
    {"", "Bernoulli", 15, bernoulli},
    {"", "Multinomial", 7, multinomial},
};

} // namespace

ArrayRef<OperatorEntry> signalOperators() { return kOperators; }

} // namespace sluice::onnximport
