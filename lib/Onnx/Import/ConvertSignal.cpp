//===- ConvertSignal.cpp - Fourier transforms, windows, random numbers ----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A transform of known length is a product with a constant matrix, and a
// short-time one a convolution: both are what the kernels are fast at.
//
//===----------------------------------------------------------------------===//
#include "NodeContext.h"

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

/// Axis: an attribute before opset 20, an input since.
LogicalResult dft(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  int64_t rank = rankOf(x), chosen = node.opset < 20 ? node.integerOr("axis", 1) : -2;
  if (node.opset >= 20 && node.has(2)) {
    FailureOr<Dims> given = node.constantIntegers(2, "axis");
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return node.invalid("its axis is not one number");
    chosen = given->front();
  }
  FailureOr<int64_t> axis = node.axis(chosen, rank);
  if (failed(axis))
    return failure();
  if (rank < 2 || *axis == rank - 1 || shapeOf(x).back() < 1 || shapeOf(x).back() > 2)
    return node.invalid("its input's last dimension is not 1 or 2, or is its axis");
  Transform transform{shapeOf(x)[*axis], shapeOf(x)[*axis], shapeOf(x).back(), node.integerOr("inverse", 0) != 0,
                      node.integerOr("onesided", 0) != 0};
  if (transform.isReal())
    transform.length = 2 * (transform.given - 1);
  if (node.has(1)) {
    FailureOr<Dims> length = node.constantIntegers(1, "dft_length");
    if (failed(length))
      return failure();
    if (length->size() != 1)
      return node.invalid("its dft_length is not one number");
    transform.length = length->front();
  }
  // What is longer than the transform is cut off; zeros beyond what is given change nothing.
  transform.given = std::min(transform.given, transform.isReal() ? transform.length / 2 + 1 : transform.length);
  if (transform.length < 1 || transform.length > kMostEntries ||
      Count(transform.length) * std::max<int64_t>(transform.given, 1) > kMostEntries / 4)
    return node.unsupported("its transform has " + Twine(transform.length) + " elements");
  Dims order, back(rank);
  for (int64_t i = 0; i < rank - 1; ++i)
    if (i != *axis)
      order.push_back(i);
  order.push_back(*axis);
  order.push_back(rank - 1);
  for (auto [to, from] : llvm::enumerate(order))
    back[from] = static_cast<int64_t>(to);
  Value rows = node.sliceAxis(node.transpose(x, order), rank - 2, 0, transform.given);
  if (!rows)
    return node.result({});
  Dims result(shapeOf(rows).drop_back(2));
  int64_t count = 1;
  for (int64_t dim : result)
    count *= dim;
  result.push_back(transform.outputs());
  result.push_back(transform.outputComponents());
  int64_t inner = transform.given * transform.components, outer = transform.outputs() * transform.outputComponents();
  Value matrix = table(node, elementTypeOf(x), {inner, outer}, transform.matrix());
  Value product = node.matmul(node.reshape(rows, {count, inner}), matrix);
  return node.result(node.transpose(node.reshape(product, result), back));
}

/// Transforms of a signal's frames, each `frame_step` after the one before, times a window.
LogicalResult stft(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
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
      return node.invalid("its frame_length is not one number, or not its window's");
    length = given->front();
  }
  if (rankOf(x) != 3 || shapeOf(x)[2] < 1 || shapeOf(x)[2] > 2 || step->size() != 1 || step->front() < 1 ||
      step->front() > (1 << 30) || length < 1 || length > shapeOf(x)[1])
    return node.invalid("its signal, frame_step and frame_length do not fit together");
  Transform transform{length, length, shapeOf(x)[2], false, node.integerOr("onesided", 1) != 0};
  if (Count(length) * length > kMostEntries / 4)
    return node.unsupported("its frames have " + Twine(length) + " elements");
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

/// Triangles of equal width on the mel scale, as weights of a spectrum's bins.
LogicalResult melWeightMatrix(NodeContext &node) {
  double parameters[5];
  static constexpr StringRef kNames[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                                         "upper_edge_hertz"};
  for (size_t i = 0; i < 5; ++i) {
    FailureOr<SmallVector<double>> value = node.constantNumbers(i, kNames[i]);
    if (failed(value))
      return failure();
    if (value->size() != 1)
      return node.invalid("its " + kNames[i] + " is not one number");
    parameters[i] = value->front();
  }
  auto [bins, length, rate, low, high] = parameters;
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  auto hertz = [](double value) { return 700 * (std::pow(10, value / 2595) - 1); };
  if (!(bins >= 1 && bins < 1e6 && length >= 1 && length < 1e8 && rate > 0 && low >= 0 && high >= low) ||
      (length / 2 + 1) * bins > static_cast<double>(kMostEntries))
    return node.invalid("its sizes or its edges are out of range");
  auto count = static_cast<int64_t>(bins), rows = static_cast<int64_t>(length) / 2 + 1;
  double step = (mel(high) - mel(low)) / (bins + 2);
  SmallVector<int64_t> edges;
  for (int64_t i = 0; i < count + 2; ++i) {
    double edge = std::floor((length + 1) * hertz(mel(low) + static_cast<double>(i) * step) / rate);
    if (!(edge >= 0 && edge <= static_cast<double>(rows)))
      return node.invalid("its upper_edge_hertz is above half of its sample_rate");
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
  Type type = elementTypeFromOnnx(node.context(), static_cast<int32_t>(node.integerOr("output_datatype", 1)));
  if (!type)
    return node.unsupported("its output_datatype is " + Twine(node.integerOr("output_datatype", 1)));
  return node.result(node.cast(table(node, Float64Type::get(node.context()), {rows, count}, weights), type));
}

/// a - b cos(t) + c cos(2 t), over a period of `size`, or of one less.
LogicalResult cosineWindow(NodeContext &node, double a, double b, double c) {
  FailureOr<Dims> size = node.constantIntegers(0, "size");
  if (failed(size))
    return failure();
  if (size->size() != 1 || size->front() < 0 || size->front() > kMostEntries)
    return node.invalid("its size is not one number, or out of range");
  int64_t count = size->front(), period = std::max<int64_t>(1, node.integerOr("periodic", 1) != 0 ? count : count - 1);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(a - b * rootOfUnity(i, period).real + c * rootOfUnity(2 * i, period).real);
  Type type = elementTypeFromOnnx(node.context(), static_cast<int32_t>(node.integerOr("output_datatype", 1)));
  if (!type)
    return node.unsupported("its output_datatype is " + Twine(node.integerOr("output_datatype", 1)));
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
    result.type = elementTypeFromOnnx(node.context(), static_cast<int32_t>(number));
  if (!result.type)
    return node.unsupported("its dtype is " + Twine(node.integerOr("dtype", 0)));
  if (llvm::any_of(result.dims, [](int64_t dim) { return dim < 0; }))
    return node.invalid("its shape has a negative dimension");
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
    return node.invalid("its input is no matrix, or its sample_size out of range");
  int64_t rows = shapeOf(logits)[0], classes = shapeOf(logits)[1];
  Type wide = Float32Type::get(node.context());
  // 1 - u is in (0, 1]: its logarithm is finite, and a tiny number keeps the second one so.
  const Value random = uniform(node, {rows, samples, classes});
  Value draw = node.unary(UnaryKind::log, node.sub(node.splat(wide, 1), random));
  const Value tiny = node.splat(wide, 1e-30);
  Value noise = node.unary(UnaryKind::log, node.add(node.unary(UnaryKind::neg, draw), tiny));
  Value scores = node.sub(node.reshape(logits, {rows, 1, classes}), noise);
  Value drawn = node.create<ArgReduceOp>({scores}, {node.integer("axis", 2), node.flag("keep_dims", false)});
  Type type = elementTypeFromOnnx(node.context(), static_cast<int32_t>(node.integerOr("dtype", onnxtype::Int32)));
  if (!type)
    return node.unsupported("its dtype is " + Twine(node.integerOr("dtype", 0)));
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
