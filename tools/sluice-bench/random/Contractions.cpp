//===- Contractions.cpp - Random products, convolutions and recurrences ---===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice::bench {
namespace {

/// The result of sums of `count` products of elements of two tensors.
Result sumOfProducts(const Value &a, const Value &b, int64_t count, Shape shape) {
  const auto terms = static_cast<double>(count);
  const double most = terms * a.largest() * b.largest();
  const double error = terms * (a.error * b.largest() + b.error * a.largest()) + roundingOf(a.type, most);
  return {a.type, std::move(shape), -most - error, most + error, error};
}

Value takeFactor(ModelWriter &w, int64_t leastRank, int64_t mostRank) {
  return w.take(
      [&](const Value &value) {
        return value.type == ElementType::Float32 && value.rank() >= leastRank && value.rank() <= mostRank &&
               value.elements() > 0 && value.elements() <= 2000 && value.largest() <= 20 &&
               value.error <= 1e-3 * std::max(value.largest(), 1e-3);
      },
      ElementType::Float32, w.between(leastRank, mostRank));
}

void makeMatMul(ModelWriter &w) {
  const Value a = takeFactor(w, 1, 4);
  const int64_t depth = a.shape.back();
  const Value *found = w.random().chance(0.5) ? w.find([&](const Value &value) {
    return value.type == a.type && value.rank() == 2 && value.shape[0] == depth && value.largest() <= 20 &&
           value.error <= 1e-3;
  })
                                              : nullptr;
  Shape shape = {depth, w.between(1, 20)};
  // A batch of matrices on the right: of the left one's extents, or ones.
  if (!found && a.rank() >= 3 && w.random().chance(0.5)) {
    Shape batch(a.shape.begin(), a.shape.end() - 2);
    for (int64_t &extent : batch)
      if (w.random().chance(0.3))
        extent = 1;
    shape.insert(shape.begin(), batch.begin(), batch.end());
  } else if (!found && w.random().chance(0.1)) {
    shape = {depth};
  }
  const Value b = found ? *found : w.source(a.type, shape, -1, 1);
  Shape result(a.shape.begin(), a.shape.end() - 1);
  if (b.rank() > 1)
    result.push_back(b.shape.back());
  w.add("MatMul", {a, b}, sumOfProducts(a, b, depth, result));
}

void makeGemm(ModelWriter &w) {
  const Value a = takeFactor(w, 2, 2);
  const bool transA = w.random().chance(0.3), transB = w.random().chance(0.5);
  const int64_t rows = a.shape[transA ? 1 : 0], depth = a.shape[transA ? 0 : 1], columns = w.between(1, 20);
  const Value b = w.source(a.type, transB ? Shape{columns, depth} : Shape{depth, columns}, -1, 1);
  Result result = sumOfProducts(a, b, depth, {rows, columns});
  std::vector<Value> operands = {a, b};
  if (w.random().chance(0.7)) {
    static const std::vector<int> kForms = {0, 1, 2, 3};
    const int form = w.oneOf(kForms);
    const Shape shape = form == 0   ? Shape{columns}
                        : form == 1 ? Shape{1}
                        : form == 2 ? Shape{rows, 1}
                                    : Shape{rows, columns};
    operands.push_back(w.source(a.type, shape, -1, 1));
  }
  ::onnx::NodeProto &node = w.node("Gemm", operands);
  ModelWriter::set(node, "transA", static_cast<int64_t>(transA));
  ModelWriter::set(node, "transB", static_cast<int64_t>(transB));
  if (w.random().chance(0.3))
    ModelWriter::set(node, "alpha", 0.5);
  if (w.random().chance(0.3))
    ModelWriter::set(node, "beta", 0.5);
  result.low -= 1;
  result.high += 1;
  w.finish(node, result);
}

/// The geometry of a window over one axis.
struct Window {
  int64_t kernel, stride, dilation, before, after, result;
};

/// Whether a position has no element but padding. Runtimes disagree on the largest element of such a window.
bool hasEmptyPosition(const Window &window, int64_t extent) {
  for (int64_t position = 0; position < window.result; ++position) {
    const int64_t start = position * window.stride - window.before;
    const int64_t skipped = start < 0 ? (-start - 1) / window.dilation + 1 : 0;
    if (skipped >= window.kernel || start + skipped * window.dilation >= extent)
      return true;
  }
  return false;
}

/// A window over an axis of `extent` elements, with at least one position, and elements in each.
Window chooseWindow(ModelWriter &w, int64_t extent, bool dilates, int64_t mostPad) {
  Window window{};
  window.stride = w.between(1, 3);
  window.dilation = dilates && w.random().chance(0.3) ? 2 : 1;
  window.kernel = w.between(1, 4);
  for (;; --window.kernel) {
    const int64_t reach = (window.kernel - 1) * window.dilation;
    const int64_t limit = std::min(mostPad, window.kernel - 1);
    window.before = w.random().chance(0.5) ? w.between(0, limit) : 0;
    window.after = w.random().chance(0.5) ? w.between(0, limit) : 0;
    const int64_t room = extent + window.before + window.after - reach - 1;
    window.result = room >= 0 ? room / window.stride + 1 : 0;
    if (window.result > 0 && !hasEmptyPosition(window, extent))
      return window;
  }
}

/// A window of about 2^`bits` taps, most of them padding, with elements in each position.
Window chooseVastWindow(ModelWriter &w, int64_t extent, int64_t bits, int64_t mostPositions) {
  Window window{};
  window.stride = w.between(1, 3);
  window.dilation = 1;
  // Products of powers of two wrap around to 0 first.
  const bool isPower = w.random().chance(0.7);
  window.kernel =
      std::max(int64_t(1) << bits, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent + 192))));
  window.kernel -= isPower ? 0 : w.between(1, 3);
  for (window.result = isPower ? 64 : w.between(1, 9); window.result > mostPositions;)
    window.result /= 2;
  // As much padding as the positions take, on both sides less than the kernel.
  const int64_t padding = (window.result - 1) * window.stride + window.kernel - extent;
  const int64_t least = std::max<int64_t>(0, padding - (window.kernel - 1));
  const int64_t most = std::min(padding, window.kernel - 1);
  window.before = w.random().chance(0.5) ? std::clamp(window.kernel / 2, least, most) : w.between(least, most);
  window.after = padding - window.before;
  return window;
}

/// Vast windows over all axes of an image. Sluice counts the taps in 64 bits, and takes extents below 2^30.
std::vector<Window> chooseVastWindows(ModelWriter &w, const Value &x) {
  constexpr int64_t kMostElements = 2500;
  const int64_t mostBits = std::min<int64_t>(29, 61 / (x.rank() - 2));
  std::vector<Window> windows;
  int64_t elements = x.shape[0] * x.shape[1];
  for (int64_t axis = x.rank() - 1; axis >= 2; --axis) {
    const int64_t bits = w.random().chance(0.7) ? mostBits : w.between(6, mostBits);
    const int64_t mostPositions = std::max<int64_t>(1, kMostElements / elements);
    windows.push_back(chooseVastWindow(w, x.shape[static_cast<size_t>(axis)], bits, mostPositions));
    elements *= windows.back().result;
  }
  std::reverse(windows.begin(), windows.end());
  return windows;
}

void setWindows(::onnx::NodeProto &node, const std::vector<Window> &windows, bool dilates) {
  std::vector<int64_t> kernel, strides, dilations, pads;
  for (const Window &window : windows) {
    kernel.push_back(window.kernel);
    strides.push_back(window.stride);
    dilations.push_back(window.dilation);
    pads.push_back(window.before);
  }
  for (const Window &window : windows)
    pads.push_back(window.after);
  ModelWriter::set(node, "kernel_shape", kernel);
  ModelWriter::set(node, "strides", strides);
  ModelWriter::set(node, "pads", pads);
  if (dilates)
    ModelWriter::set(node, "dilations", dilations);
}

Value takeImage(ModelWriter &w, double most) {
  const Value *found = w.find([&](const Value &value) {
    return value.type == ElementType::Float32 && value.rank() >= 3 && value.rank() <= 5 && value.elements() <= 2500 &&
           value.elements() > 0 && value.largest() <= most && value.error <= 1e-3 * std::max(value.largest(), 1e-3);
  });
  if (found && w.random().chance(0.8))
    return *found;
  Shape shape = {w.between(1, 2), w.between(1, 6)};
  static const std::vector<int64_t> kDimensions = {1, 2, 2, 2, 3};
  for (int64_t dimensions = w.oneOf(kDimensions); dimensions > 0; --dimensions)
    shape.push_back(w.between(1, 12));
  return w.source(ElementType::Float32, shape, -1, 1);
}

Value makeConvolution(ModelWriter &w, const Value &x) {
  std::vector<int64_t> divisors;
  for (int64_t groups = 1; groups <= x.shape[1]; ++groups)
    if (x.shape[1] % groups == 0)
      divisors.push_back(groups);
  const int64_t groups = w.random().chance(0.5) ? 1 : w.oneOf(divisors);
  const int64_t filters = groups * w.between(1, groups > 2 ? 2 : 9);
  std::vector<Window> windows;
  Shape weights = {filters, x.shape[1] / groups}, shape = {x.shape[0], filters};
  for (int64_t axis = 2; axis < x.rank(); ++axis) {
    windows.push_back(chooseWindow(w, x.shape[static_cast<size_t>(axis)], true, 3));
    weights.push_back(windows.back().kernel);
    shape.push_back(windows.back().result);
  }
  const Value filter = w.constant(x.type, weights, -1, 1);
  Result result = sumOfProducts(x, filter, elementsOf(weights) / filters, shape);
  std::vector<Value> operands = {x, filter};
  if (w.random().chance(0.6)) {
    operands.push_back(w.constant(x.type, {filters}, -1, 1));
    result.low -= 1;
    result.high += 1;
  }
  // Padding by the standard's rules replaces explicit padding now and then.
  ::onnx::NodeProto &node = w.node("Conv", operands);
  ModelWriter::set(node, "group", groups);
  setWindows(node, windows, true);
  return w.finish(node, result);
}

void makeConv(ModelWriter &w) { makeConvolution(w, takeImage(w, 20)); }

/// A 3x3 convolution with unit strides and padding, as networks have most: Winograd's algorithm may serve it.
void makeSquareConv(ModelWriter &w) {
  const Value x = w.source(ElementType::Float32, {1, w.between(4, 20), w.between(5, 14), w.between(5, 14)}, -1, 1);
  const int64_t filters = w.between(4, 20);
  const Value filter = w.constant(x.type, {filters, x.shape[1], 3, 3}, -0.5, 0.5);
  Result result = sumOfProducts(x, filter, x.shape[1] * 9, {1, filters, x.shape[2], x.shape[3]});
  result.error *= 8; // Winograd's algorithm rounds more.
  ::onnx::NodeProto &node = w.node("Conv", {x, filter});
  ModelWriter::set(node, "pads", {1, 1, 1, 1});
  ModelWriter::set(node, "kernel_shape", {3, 3});
  const Value y = w.finish(node, result);
  if (w.random().chance(0.5))
    w.add("Relu", {y}, {y.type, y.shape, 0, y.high, y.error});
}

void makeConvTranspose(ModelWriter &w) {
  Value x = takeImage(w, 20);
  if (x.rank() > 4 || x.elements() > 600)
    x = w.source(ElementType::Float32, {1, w.between(1, 4), w.between(1, 6), w.between(1, 6)}, -1, 1);
  const int64_t filters = w.between(1, 4);
  Shape weights = {x.shape[1], filters}, shape = {x.shape[0], filters};
  std::vector<int64_t> kernel, strides, pads, extra;
  for (int64_t axis = 2; axis < x.rank(); ++axis) {
    const int64_t taps = w.between(1, 4), stride = w.between(1, 3);
    kernel.push_back(taps);
    strides.push_back(stride);
    extra.push_back(w.random().chance(0.3) ? w.between(0, stride - 1) : 0);
    weights.push_back(taps);
    shape.push_back((x.shape[static_cast<size_t>(axis)] - 1) * stride + taps + extra.back());
  }
  const Value filter = w.constant(x.type, weights, -1, 1);
  ::onnx::NodeProto &node = w.node("ConvTranspose", {x, filter});
  ModelWriter::set(node, "kernel_shape", kernel);
  ModelWriter::set(node, "strides", strides);
  ModelWriter::set(node, "output_padding", extra);
  w.finish(node, sumOfProducts(x, filter, elementsOf(weights) / filters, shape));
}

void makePool(ModelWriter &w) {
  const Value x = takeImage(w, 100);
  const bool isMax = w.random().chance(0.5), isVast = w.random().chance(0.25);
  std::vector<Window> windows = isVast ? chooseVastWindows(w, x) : std::vector<Window>();
  Shape shape = {x.shape[0], x.shape[1]};
  const bool dilates = isMax || w.opset() >= 19;
  double taps = 1;
  for (int64_t axis = 2; axis < x.rank(); ++axis) {
    const int64_t extent = x.shape[static_cast<size_t>(axis)];
    // Padding may not hold a whole window.
    if (!isVast)
      windows.push_back(chooseWindow(w, extent, isMax, 1));
    const Window &window = windows[static_cast<size_t>(axis - 2)];
    shape.push_back(window.result);
    taps *= static_cast<double>(window.kernel);
  }
  // ONNX Runtime visits padding, too.
  constexpr double kMostTaps = 1e4;
  if (taps > kMostTaps)
    w.keepFromOthers();
  ::onnx::NodeProto &node = w.node(isMax ? "MaxPool" : "AveragePool", {x});
  setWindows(node, windows, dilates && isMax);
  Result result = ModelWriter::moved(x, shape);
  if (!isMax) {
    // Runtimes count the taps in 64 bits.
    ModelWriter::set(node, "count_include_pad", taps < 1e18 ? w.between(0, 1) : 0);
    result.low = std::min(result.low, 0.0);
    result.high = std::max(result.high, 0.0);
    result.error += 4 * roundingOf(x.type, x.largest());
  }
  w.finish(node, result);
}

void makeGlobalPool(ModelWriter &w) {
  const Value x = takeImage(w, 100);
  Shape shape(x.shape.size(), 1);
  shape[0] = x.shape[0];
  shape[1] = x.shape[1];
  Result result = ModelWriter::moved(x, shape);
  const bool isMax = w.random().chance(0.4);
  if (!isMax)
    result.error += 4 * roundingOf(x.type, x.largest());
  w.add(isMax ? "GlobalMaxPool" : "GlobalAveragePool", {x}, result);
}

void makeEinsum(ModelWriter &w) {
  const int64_t b = w.between(1, 3), i = w.between(1, 9), j = w.between(1, 9), k = w.between(1, 9);
  struct Form {
    const char *equation;
    Shape left, right, result;
    int64_t terms;
  };
  const std::vector<Form> forms = {{"bij,bjk->bik", {b, i, j}, {b, j, k}, {b, i, k}, j},
                                   {"ij,kj->ik", {i, j}, {k, j}, {i, k}, j},
                                   {"i,j->ij", {i}, {j}, {i, j}, 1},
                                   {"bij,bij->b", {b, i, j}, {b, i, j}, {b}, i * j},
                                   {"bhid,bhjd->bhij", {b, 2, i, k}, {b, 2, j, k}, {b, 2, i, j}, k},
                                   {"...ij,jk->...ik", {b, i, j}, {j, k}, {b, i, k}, j}};
  const Form &form = w.oneOf(forms);
  const Value left = w.source(ElementType::Float32, form.left, -1, 1);
  const Value right = w.source(ElementType::Float32, form.right, -1, 1);
  ::onnx::NodeProto &node = w.node("Einsum", {left, right});
  ModelWriter::set(node, "equation", form.equation);
  w.finish(node, sumOfProducts(left, right, form.terms, form.result));
}

/// Attention as exporters write it: MatMul, scale, mask, Softmax, MatMul.
void makeAttention(ModelWriter &w) {
  const int64_t batch = w.between(1, 2), heads = w.between(1, 3), queries = w.between(1, 9), keys = w.between(1, 17);
  const int64_t width = w.between(1, 12), depth = w.between(1, 12);
  const Value q = w.source(ElementType::Float32, {batch, heads, queries, width}, -1, 1);
  const Value k = w.source(ElementType::Float32, {batch, heads, width, keys}, -1, 1);
  const Value v = w.source(ElementType::Float32, {batch, heads, keys, depth}, -1, 1);
  const Shape scores = {batch, heads, queries, keys};
  Value s = w.add("MatMul", {q, k}, sumOfProducts(q, k, width, scores));
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  if (w.random().chance(0.8)) {
    const Value factor = w.scalar(w.random().chance(0.5) ? scale : 1 / scale, ElementType::Float32);
    const bool divides = factor.high > 1;
    Result scaled = ModelWriter::moved(s, scores);
    scaled.error += roundingOf(s.type, s.largest());
    s = w.add(divides ? "Div" : "Mul", {s, factor}, scaled);
  }
  if (w.random().chance(0.5)) {
    const Value mask =
        w.source(ElementType::Float32,
                 {w.random().chance(0.5) ? batch : 1, 1, w.random().chance(0.5) ? queries : 1, keys}, -4, 0);
    Result masked = ModelWriter::moved(s, scores);
    masked.low -= 4;
    masked.error += roundingOf(s.type, s.largest() + 4);
    s = w.add("Add", {s, mask}, masked);
  }
  ::onnx::NodeProto &softmax = w.node("Softmax", {s});
  ModelWriter::set(softmax, "axis", -1);
  const Value p = w.finish(softmax, {s.type, scores, 0, 1, 2 * s.error + 20 * roundingOf(s.type, 1)});
  Result result{v.type, {batch, heads, queries, depth}, -1, 1, 2 * p.error + 20 * roundingOf(v.type, 1)};
  w.add("MatMul", {p, v}, result);
}

void makeRecurrence(ModelWriter &w) {
  struct Kind {
    const char *op;
    int64_t gates;
  };
  static const std::vector<Kind> kKinds = {{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}};
  static const std::vector<const char *> kDirections = {"forward", "reverse", "bidirectional"};
  const Kind kind = w.oneOf(kKinds);
  const std::string direction = w.oneOf(kDirections);
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const int64_t steps = w.between(1, 7), batch = w.between(1, 3), width = w.between(1, 9), hidden = w.between(1, 9);
  const ElementType type = ElementType::Float32;
  const Value x = w.source(type, {steps, batch, width}, -1, 1);
  std::vector<Value> operands = {x};
  operands.push_back(w.constant(type, {directions, kind.gates * hidden, width}, -0.5, 0.5));
  operands.push_back(w.constant(type, {directions, kind.gates * hidden, hidden}, -0.2, 0.2));
  if (w.random().chance(0.6))
    operands.push_back(w.constant(type, {directions, 2 * kind.gates * hidden}, -0.5, 0.5));
  else
    operands.push_back(Value{});
  if (w.random().chance(0.3))
    operands.push_back(w.source(ElementType::Int32, {batch}, 1, static_cast<double>(steps)));
  else
    operands.push_back(Value{});
  if (w.random().chance(0.5))
    operands.push_back(w.source(type, {directions, batch, hidden}, -1, 1));
  ::onnx::NodeProto &node = w.node(kind.op, operands);
  ModelWriter::set(node, "hidden_size", hidden);
  ModelWriter::set(node, "direction", direction);
  if (std::string(kind.op) == "GRU")
    ModelWriter::set(node, "linear_before_reset", w.between(0, 1));
  const double error = 1e-4;
  // Any of the results may be absent, but not all.
  std::vector<Shape> shapes = {{steps, directions, batch, hidden}, {directions, batch, hidden}};
  if (kind.gates == 4)
    shapes.push_back({directions, batch, hidden});
  const auto wanted = w.between(1, (int64_t(1) << shapes.size()) - 1);
  for (size_t i = 0; wanted >> i != 0; ++i)
    if ((wanted >> i & 1) != 0)
      w.finish(node, {type, shapes[i], -8, 8, error});
    else
      node.add_output("");
}

/// x + A view(x): the sum may not take the place of x while the product reads it in another order.
void makeViewedSum(ModelWriter &w) {
  const Value *found = w.find([](const Value &value) {
    return value.type == ElementType::Float32 && value.rank() == 2 && value.elements() <= 1000 && value.shape[0] > 1 &&
           value.shape[0] <= 40 && value.shape[1] > 1 && value.shape[1] <= 40 && value.largest() <= 20 &&
           value.error <= 1e-3 * std::max(value.largest(), 1e-3);
  });
  const Value given = found ? *found : w.source(ElementType::Float32, {w.between(2, 24), w.between(2, 40)}, -1, 1);
  const int64_t rows = given.shape[0], columns = given.shape[1];
  // What is computed alone may be overwritten.
  const Value x = w.add("Relu", {given}, {given.type, given.shape, 0, std::max(given.high, 0.0), given.error});
  const Value view = w.add("Reshape", {x, w.numbers({columns, rows})}, ModelWriter::moved(x, {columns, rows}));
  const bool isLeft = w.random().chance(0.5);
  const int64_t depth = isLeft ? columns : rows;
  const Value factor = w.source(x.type, {depth, depth}, -1, 1);
  ::onnx::NodeProto &node = isLeft ? w.node("Gemm", {view, factor}) : w.node("Gemm", {factor, view});
  ModelWriter::set(node, isLeft ? "transA" : "transB", 1);
  const Value y = w.finish(node, sumOfProducts(factor, view, depth, x.shape));
  Result sum = ModelWriter::moved(y, x.shape);
  sum.error += x.error + roundingOf(x.type, x.largest() + y.largest());
  sum.low += x.low - sum.error;
  sum.high += x.high + sum.error;
  w.add("Add", w.random().chance(0.5) ? std::vector<Value>{y, x} : std::vector<Value>{x, y}, sum);
}

/// Divides a tensor whose bound has grown large, so that more can follow.
void makeScale(ModelWriter &w) {
  const Value *found = w.find([](const Value &value) {
    return value.type == ElementType::Float32 && value.largest() > 5 && value.largest() < 1e6;
  });
  if (!found)
    return;
  const Value x = *found;
  const double factor = 1 / x.largest();
  w.add("Mul", {x, w.scalar(static_cast<float>(factor), x.type)},
        {x.type, x.shape, -1.01, 1.01, x.error * factor + roundingOf(x.type, 1)});
}

/// A residual block: convolution, normalization, activation, addition.
void makeResidual(ModelWriter &w) {
  const Value x = w.source(ElementType::Float32, {1, w.between(2, 9), w.between(3, 9), w.between(3, 9)}, -1, 1);
  const Value filter = w.constant(x.type, {x.shape[1], x.shape[1], 3, 3}, -0.5, 0.5);
  ::onnx::NodeProto &node = w.node("Conv", {x, filter});
  ModelWriter::set(node, "auto_pad", w.random().chance(0.5) ? "SAME_UPPER" : "SAME_LOWER");
  Result result = sumOfProducts(x, filter, x.shape[1] * 9, x.shape);
  result.error *= 8;
  const Value y = w.finish(node, result);
  const Value relu = w.add("Relu", {y}, {y.type, y.shape, 0, y.high, y.error});
  Result sum = ModelWriter::moved(relu, y.shape);
  sum.low -= 1;
  sum.high += 1;
  sum.error += roundingOf(y.type, sum.high);
  w.add("Add", {relu, x}, sum);
}

} // namespace

std::vector<OperatorMaker> contractionMakers() {
  return {{"matrix product", 6, makeMatMul},
          {"gemm", 3, makeGemm},
          {"convolution", 5, makeConv},
          {"3x3 convolution", 1, makeSquareConv},
          {"transposed convolution", 1, makeConvTranspose},
          {"pool", 3, makePool},
          {"global pool", 1, makeGlobalPool},
          {"einsum", 2, makeEinsum},
          {"attention", 2, makeAttention},
          {"recurrence", 1, makeRecurrence},
          {"scale", 5, makeScale},
          {"residual", 1, makeResidual},
          {"viewed sum", 2, makeViewedSum}};
}

} // namespace sluice::bench
