//===- Movement.cpp - Random nodes that move elements ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <algorithm>
#include <numeric>

namespace sluice::bench {
namespace {

constexpr int64_t kMostElements = 3000;

Value takeAny(ModelWriter &w, int64_t leastRank, int64_t mostRank) {
  return w.take(
      [&](const Value &value) {
        return value.rank() >= leastRank && value.rank() <= mostRank && value.elements() > 0 &&
               value.type != ElementType::Float16 && value.type != ElementType::BFloat16;
      },
      w.random().chance(0.8) ? ElementType::Float32 : ElementType::Int64, w.between(leastRank, mostRank));
}

/// An axis as the standard allows it: counted from the front or from the back.
int64_t spelled(ModelWriter &w, int64_t axis, int64_t rank) { return w.random().chance(0.3) ? axis - rank : axis; }

/// Splits a number of elements into `rank` extents.
Shape factors(ModelWriter &w, int64_t elements, int64_t rank) {
  Shape shape(static_cast<size_t>(rank), 1);
  for (int64_t prime = 2; elements > 1; ++prime)
    while (elements % prime == 0) {
      shape[w.random().below(shape.size())] *= prime;
      elements /= prime;
    }
  return shape;
}

Value reshape(ModelWriter &w, const Value &x) {
  const Shape shape = factors(w, x.elements(), w.between(1, 5));
  std::vector<int64_t> asked = shape;
  if (w.random().chance(0.4))
    asked[w.random().below(asked.size())] = -1;
  for (size_t i = 0; i < std::min(asked.size(), x.shape.size()); ++i)
    if (asked[i] == x.shape[i] && w.random().chance(0.3))
      asked[i] = 0;
  return w.add("Reshape", {x, w.numbers(asked)}, ModelWriter::moved(x, shape));
}

Value transpose(ModelWriter &w, const Value &x) {
  std::vector<int64_t> order(x.shape.size());
  std::iota(order.begin(), order.end(), 0);
  w.random().shuffle(order);
  Shape shape;
  for (int64_t from : order)
    shape.push_back(x.shape[static_cast<size_t>(from)]);
  ::onnx::NodeProto &node = w.node("Transpose", {x});
  ModelWriter::set(node, "perm", order);
  return w.finish(node, ModelWriter::moved(x, shape));
}

void makeReshape(ModelWriter &w) { reshape(w, takeAny(w, 0, 5)); }

void makeTranspose(ModelWriter &w) { transpose(w, takeAny(w, 1, 5)); }

/// Reshapes between transposes, as channel shuffles, windows and patches consist of.
void makeRearrangement(ModelWriter &w) {
  Value x = transpose(w, takeAny(w, 2, 5));
  for (int64_t more = w.between(1, 2); more > 0; --more)
    x = transpose(w, reshape(w, x));
}

void makeFlatten(ModelWriter &w) {
  const Value x = takeAny(w, 0, 5);
  const int64_t axis = w.between(0, x.rank());
  const Shape front(x.shape.begin(), x.shape.begin() + axis);
  ::onnx::NodeProto &node = w.node("Flatten", {x});
  ModelWriter::set(node, "axis", x.rank() > 0 && axis < x.rank() ? spelled(w, axis, x.rank()) : axis);
  w.finish(node, ModelWriter::moved(x, {elementsOf(front), x.elements() / elementsOf(front)}));
}

void makeUnsqueeze(ModelWriter &w) {
  const Value x = takeAny(w, 0, 4);
  const int64_t axis = w.between(0, x.rank());
  Shape shape = x.shape;
  shape.insert(shape.begin() + axis, 1);
  w.add("Unsqueeze", {x, w.numbers({spelled(w, axis, x.rank() + 1)})}, ModelWriter::moved(x, shape));
}

void makeSqueeze(ModelWriter &w) {
  const Value *x = w.find([](const Value &value) {
    return std::count(value.shape.begin(), value.shape.end(), 1) > 0 && value.rank() <= 5;
  });
  if (!x)
    return makeUnsqueeze(w);
  const Value operand = *x;
  Shape shape;
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < operand.rank(); ++i)
    if (operand.shape[static_cast<size_t>(i)] == 1 && (axes.empty() || w.random().chance(0.5)))
      axes.push_back(i);
    else
      shape.push_back(operand.shape[static_cast<size_t>(i)]);
  for (int64_t &axis : axes)
    axis = spelled(w, axis, operand.rank());
  w.random().shuffle(axes);
  w.add("Squeeze", {operand, w.numbers(axes)}, ModelWriter::moved(operand, shape));
}

void makeSlice(ModelWriter &w) {
  const Value x = takeAny(w, 1, 5);
  std::vector<int64_t> starts, ends, axes, steps;
  Shape shape = x.shape;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (w.random().chance(0.5))
      continue;
    const int64_t extent = x.shape[static_cast<size_t>(axis)], step = w.between(1, 3);
    const int64_t first = w.between(0, extent - 1), count = w.between(1, (extent - 1 - first) / step + 1);
    shape[static_cast<size_t>(axis)] = count;
    axes.push_back(spelled(w, axis, x.rank()));
    if (w.random().chance(0.3)) { // Backwards over the same elements.
      const int64_t last = first + (count - 1) * step;
      starts.push_back(last);
      ends.push_back(first == 0 ? -extent - 1 : first - 1);
      steps.push_back(-step);
    } else {
      starts.push_back(w.random().chance(0.3) ? first - extent : first);
      const int64_t end = first + (count - 1) * step + 1;
      // The last element of a stride may lie anywhere before the next one.
      ends.push_back(end == extent && w.random().chance(0.5) ? INT64_MAX : end);
      steps.push_back(step);
    }
  }
  if (axes.empty())
    return;
  w.add("Slice", {x, w.numbers(starts), w.numbers(ends), w.numbers(axes), w.numbers(steps)},
        ModelWriter::moved(x, shape));
}

void makeConcat(ModelWriter &w) {
  const Value x = takeAny(w, 1, 4);
  const int64_t axis = w.between(0, x.rank() - 1);
  std::vector<Value> operands = {x};
  Result result = ModelWriter::moved(x, x.shape);
  for (int64_t more = w.between(1, 3); more > 0; --more) {
    const Value *found = w.find([&](const Value &value) {
      if (value.type != x.type || value.rank() != x.rank() || value.elements() > 1000)
        return false;
      for (int64_t i = 0; i < x.rank(); ++i)
        if (i != axis && value.shape[static_cast<size_t>(i)] != x.shape[static_cast<size_t>(i)])
          return false;
      return true;
    });
    Shape shape = x.shape;
    shape[static_cast<size_t>(axis)] = w.between(1, 5);
    const Value other = found ? *found : w.source(x.type, shape, x.isFloat() ? -1 : 0, 1);
    operands.push_back(other);
    result.shape[static_cast<size_t>(axis)] += other.shape[static_cast<size_t>(axis)];
    result.low = std::min(result.low, other.low);
    result.high = std::max(result.high, other.high);
    result.error = std::max(result.error, other.error);
  }
  w.random().shuffle(operands);
  ::onnx::NodeProto &node = w.node("Concat", operands);
  ModelWriter::set(node, "axis", spelled(w, axis, x.rank()));
  w.finish(node, result);
}

void makeSplit(ModelWriter &w) {
  const Value x = takeAny(w, 1, 4);
  const int64_t axis = w.between(0, x.rank() - 1);
  int64_t left = x.shape[static_cast<size_t>(axis)];
  std::vector<int64_t> sizes;
  for (int64_t parts = w.between(1, 3); parts > 1 && left > 1; --parts) {
    sizes.push_back(w.between(1, left - 1));
    left -= sizes.back();
  }
  sizes.push_back(left);
  ::onnx::NodeProto &node = w.node("Split", {x, w.numbers(sizes)});
  ModelWriter::set(node, "axis", spelled(w, axis, x.rank()));
  for (int64_t size : sizes) {
    Shape shape = x.shape;
    shape[static_cast<size_t>(axis)] = size;
    w.finish(node, ModelWriter::moved(x, shape));
  }
}

void makeExpand(ModelWriter &w) {
  const Value x = takeAny(w, 0, 4);
  Shape shape = x.shape;
  for (int64_t &extent : shape)
    if (extent == 1 && elementsOf(shape) < 500)
      extent = w.between(1, 5);
  if (w.random().chance(0.3) && elementsOf(shape) < 500)
    shape.insert(shape.begin(), w.between(1, 4));
  w.add("Expand", {x, w.numbers(shape)}, ModelWriter::moved(x, shape));
}

void makeTile(ModelWriter &w) {
  const Value x = takeAny(w, 1, 4);
  Shape shape = x.shape;
  std::vector<int64_t> repeats;
  for (int64_t &extent : shape) {
    repeats.push_back(elementsOf(shape) < 800 ? w.between(1, 3) : 1);
    extent *= repeats.back();
  }
  w.add("Tile", {x, w.numbers(repeats)}, ModelWriter::moved(x, shape));
}

void makePad(ModelWriter &w) {
  static const std::vector<const char *> kModes = {"constant", "reflect", "edge"};
  const Value x = w.takeFloat(1, 4);
  if (x.elements() > 800)
    return;
  const std::string mode = w.oneOf(kModes);
  Shape shape = x.shape;
  std::vector<int64_t> pads(2 * x.shape.size());
  for (size_t i = 0; i < shape.size(); ++i)
    for (size_t side : {i, i + x.shape.size()}) {
      const int64_t most = mode == "reflect" ? std::min<int64_t>(2, x.shape[i] - 1) : 2;
      pads[side] = w.random().chance(0.5) ? w.between(0, most) : 0;
      shape[i] += pads[side];
    }
  // A negative pad takes elements away.
  if (mode == "constant" && shape[0] > 1 && pads[0] == 0 && x.shape[0] > 1 && w.random().chance(0.2)) {
    pads[0] = -1;
    --shape[0];
  }
  std::vector<Value> operands = {x, w.numbers(pads)};
  Result result = ModelWriter::moved(x, shape);
  if (mode == "constant") {
    double fill = 0;
    if (w.random().chance(0.5))
      operands.push_back(w.scalar(fill = 1.5, x.type));
    result.low = std::min(result.low, fill);
    result.high = std::max(result.high, fill);
  }
  ::onnx::NodeProto &node = w.node("Pad", operands);
  ModelWriter::set(node, "mode", mode);
  w.finish(node, result);
}

void makeGather(ModelWriter &w) {
  const Value x = takeAny(w, 1, 4);
  const int64_t axis = w.between(0, x.rank() - 1), extent = x.shape[static_cast<size_t>(axis)];
  const Shape indexShape = w.randomShape(w.between(0, 2), 12);
  Shape shape = x.shape;
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indexShape.begin(), indexShape.end());
  if (elementsOf(shape) > kMostElements)
    return;
  const Value indices = w.source(w.random().chance(0.7) ? ElementType::Int64 : ElementType::Int32, indexShape,
                                 static_cast<double>(-extent), static_cast<double>(extent - 1));
  ::onnx::NodeProto &node = w.node("Gather", {x, indices});
  ModelWriter::set(node, "axis", spelled(w, axis, x.rank()));
  w.finish(node, ModelWriter::moved(x, shape));
}

void makeGatherElements(ModelWriter &w) {
  const Value x = takeAny(w, 1, 4);
  const int64_t axis = w.between(0, x.rank() - 1), extent = x.shape[static_cast<size_t>(axis)];
  Shape shape = x.shape;
  for (int64_t &other : shape)
    other = w.between(1, other);
  shape[static_cast<size_t>(axis)] = w.between(1, 6);
  const Value indices =
      w.source(ElementType::Int64, shape, static_cast<double>(-extent), static_cast<double>(extent - 1));
  ::onnx::NodeProto &node = w.node("GatherElements", {x, indices});
  ModelWriter::set(node, "axis", spelled(w, axis, x.rank()));
  w.finish(node, ModelWriter::moved(x, shape));
}

void makeGatherNd(ModelWriter &w) {
  const Value x = takeAny(w, 2, 4);
  const int64_t depth = w.between(1, x.rank());
  const int64_t least = *std::min_element(x.shape.begin(), x.shape.begin() + depth);
  Shape indexShape = w.randomShape(w.between(0, 2), 12);
  Shape shape = indexShape;
  indexShape.push_back(depth);
  shape.insert(shape.end(), x.shape.begin() + depth, x.shape.end());
  if (elementsOf(shape) > kMostElements)
    return;
  const Value indices =
      w.source(ElementType::Int64, indexShape, static_cast<double>(-least), static_cast<double>(least - 1));
  w.add("GatherND", {x, indices}, ModelWriter::moved(x, shape));
}

/// A scatter to distinct positions: of duplicates, the standard leaves open which one stays.
void makeScatterElements(ModelWriter &w) {
  const Value x = w.takeFloat(1, 3);
  const int64_t axis = w.between(0, x.rank() - 1), extent = x.shape[static_cast<size_t>(axis)];
  const bool adds = w.opset() >= 16 && x.type == ElementType::Float32 && w.random().chance(0.4);
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] = 1;
  const Value indices =
      w.source(ElementType::Int64, shape, static_cast<double>(-extent), static_cast<double>(extent - 1));
  const Value updates = w.source(x.type, shape, -1, 1);
  ::onnx::NodeProto &node = w.node("ScatterElements", {x, indices, updates});
  ModelWriter::set(node, "axis", spelled(w, axis, x.rank()));
  Result result = ModelWriter::moved(x, x.shape);
  if (adds) {
    ModelWriter::set(node, "reduction", "add");
    result.low -= 1;
    result.high += 1;
    result.error += roundingOf(x.type, x.largest() + 1);
  } else {
    result.low = std::min(result.low, -1.0);
    result.high = std::max(result.high, 1.0);
  }
  w.finish(node, result);
}

void makeDepthSpace(ModelWriter &w) {
  const bool toSpace = w.random().chance(0.5);
  const int64_t block = w.between(2, 3), channels = w.between(1, 4), height = w.between(1, 4), width = w.between(1, 4);
  const Value x =
      toSpace ? w.source(ElementType::Float32, {w.between(1, 2), channels * block * block, height, width}, -1, 1)
              : w.source(ElementType::Float32, {w.between(1, 2), channels, height * block, width * block}, -1, 1);
  ::onnx::NodeProto &node = w.node(toSpace ? "DepthToSpace" : "SpaceToDepth", {x});
  ModelWriter::set(node, "blocksize", block);
  if (toSpace)
    ModelWriter::set(node, "mode", w.random().chance(0.5) ? "DCR" : "CRD");
  const Shape shape = toSpace ? Shape{x.shape[0], channels, height * block, width * block}
                              : Shape{x.shape[0], channels * block * block, height, width};
  w.finish(node, ModelWriter::moved(x, shape));
}

void makeResize(ModelWriter &w) {
  const Value x = w.takeFloat(4, 4);
  if (x.type != ElementType::Float32 || x.elements() > 800)
    return;
  static const std::vector<const char *> kCoordinates = {"asymmetric", "half_pixel", "align_corners"};
  const bool linear = w.random().chance(0.5);
  Shape shape = x.shape;
  shape[2] = w.between(1, 2 * shape[2]);
  shape[3] = w.between(1, 2 * shape[3]);
  // Nearest elements jump where coordinates round; at whole scales they do not.
  if (!linear) {
    shape[2] = x.shape[2] * w.between(1, 2);
    shape[3] = x.shape[3] * w.between(1, 3);
  }
  ::onnx::NodeProto &node = w.node("Resize", {x, Value{}, Value{}, w.numbers(shape)});
  ModelWriter::set(node, "mode", linear ? "linear" : "nearest");
  const std::string coordinates = linear ? w.oneOf(kCoordinates) : "asymmetric";
  ModelWriter::set(node, "coordinate_transformation_mode", coordinates);
  if (!linear)
    ModelWriter::set(node, "nearest_mode", "floor");
  Result result = ModelWriter::moved(x, shape);
  if (linear)
    result.error += 20 * roundingOf(x.type, x.largest());
  w.finish(node, result);
}

void makeTrilu(ModelWriter &w) {
  const Value x = w.takeFloat(2, 4);
  if (w.opset() < 14)
    return;
  ::onnx::NodeProto &node = w.node("Trilu", {x, w.number(w.between(-3, 3))});
  ModelWriter::set(node, "upper", w.between(0, 1));
  Result result = ModelWriter::moved(x, x.shape);
  result.low = std::min(result.low, 0.0);
  result.high = std::max(result.high, 0.0);
  w.finish(node, result);
}

void makeShape(ModelWriter &w) {
  const Value x = takeAny(w, 1, 4);
  if (w.random().chance(0.3)) {
    w.add("Size", {x}, {ElementType::Int64, {}, 0, static_cast<double>(x.elements()), 0});
    return;
  }
  const int64_t most = *std::max_element(x.shape.begin(), x.shape.end());
  w.add("Shape", {x}, {ElementType::Int64, {x.rank()}, 0, static_cast<double>(most), 0});
}

void makeOneHot(ModelWriter &w) {
  const int64_t depth = w.between(1, 6);
  const Value indices = w.source(ElementType::Int64, w.randomShape(w.between(0, 2), 60), static_cast<double>(-depth),
                                 static_cast<double>(depth - 1));
  const int64_t axis = w.between(0, indices.rank());
  Shape shape = indices.shape;
  shape.insert(shape.begin() + axis, depth);
  const Value levels = w.constant(ElementType::Float32, {2}, -1, 1);
  ::onnx::NodeProto &node = w.node("OneHot", {indices, w.number(depth), levels});
  ModelWriter::set(node, "axis", spelled(w, axis, indices.rank() + 1));
  w.finish(node, {ElementType::Float32, shape, -1, 1, 0});
}

void makeReverse(ModelWriter &w) {
  const Value x = w.takeFloat(2, 4);
  const int64_t time = w.between(0, 1);
  const int64_t steps = x.shape[static_cast<size_t>(time)], batch = x.shape[static_cast<size_t>(1 - time)];
  const Value lengths = w.source(ElementType::Int64, {batch}, 1, static_cast<double>(steps));
  ::onnx::NodeProto &node = w.node("ReverseSequence", {x, lengths});
  ModelWriter::set(node, "time_axis", time);
  ModelWriter::set(node, "batch_axis", 1 - time);
  w.finish(node, ModelWriter::moved(x, x.shape));
}

} // namespace

std::vector<OperatorMaker> movementMakers() {
  return {{"reshape", 5, makeReshape},
          {"transpose", 5, makeTranspose},
          {"rearrangement", 2, makeRearrangement},
          {"flatten", 1, makeFlatten},
          {"unsqueeze", 2, makeUnsqueeze},
          {"squeeze", 2, makeSqueeze},
          {"slice", 4, makeSlice},
          {"concat", 4, makeConcat},
          {"split", 3, makeSplit},
          {"expand", 2, makeExpand},
          {"tile", 1, makeTile},
          {"pad", 2, makePad},
          {"gather", 3, makeGather},
          {"gather elements", 1, makeGatherElements},
          {"gather n-d", 1, makeGatherNd},
          {"scatter elements", 1, makeScatterElements},
          {"depth and space", 1, makeDepthSpace},
          {"resize", 1, makeResize},
          {"triangle", 1, makeTrilu},
          {"shape", 1, makeShape},
          {"one-hot", 1, makeOneHot},
          {"reverse", 1, makeReverse}};
}

} // namespace sluice::bench
