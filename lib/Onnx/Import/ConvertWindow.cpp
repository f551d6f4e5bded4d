//===- ConvertWindow.cpp - Convolutions and pools -------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Linear.h"
#include "Windows.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

/// Products of two such extents, and a few such products added, stay inside 64 bits.
static constexpr int64_t kExtentLimit = int64_t(1) << 30;

FailureOr<Windows> windowAttributes(NodeContext &node, ArrayRef<int64_t> kernel) {
  size_t rank = kernel.size();
  Windows windows;
  windows.kernel = Dims(kernel);
  windows.strides = node.integersAt("strides").value_or(Dims(rank, 1));
  windows.dilations = node.integersAt("dilations").value_or(Dims(rank, 1));
  Dims pads = node.integersAt("pads").value_or(Dims(2 * rank, 0));
  if (windows.strides.size() != rank || windows.dilations.size() != rank || pads.size() != 2 * rank)
    return node.invalid("its strides and dilations must have one value for each spatial dimension, and its pads two");
  for (size_t i = 0; i < rank; ++i) {
    windows.padsLow.push_back(pads[i]);
    windows.padsHigh.push_back(pads[rank + i]);
    if (kernel[i] < 1 || windows.strides[i] < 1 || windows.dilations[i] < 1 || kernel[i] >= kExtentLimit ||
        windows.strides[i] >= kExtentLimit || windows.dilations[i] >= kExtentLimit)
      return node.invalid("each extent of its kernel, stride and dilation must be at least 1 and below 2^30");
    if (std::max(pads[i], pads[rank + i]) >= kExtentLimit)
      return node.invalid("its padding must be below 2^30");
    if (pads[i] < 0 || pads[rank + i] < 0)
      return node.unsupported("its padding is negative");
  }
  return windows;
}

FailureOr<Windows> windowsOf(NodeContext &node, ArrayRef<int64_t> spatial, ArrayRef<int64_t> kernel) {
  FailureOr<Windows> windows = windowAttributes(node, kernel);
  if (failed(windows))
    return failure();
  if (spatial.size() != kernel.size())
    return node.invalid("its kernel has " + Twine(kernel.size()) + " dimensions and its input has " +
                        Twine(spatial.size()) + " spatial dimensions, both numbers must be equal");
  std::string autoPad = node.stringOr("auto_pad", "NOTSET");
  bool ceilMode = node.integerOr("ceil_mode", 0) != 0;
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (spatial[i] >= kExtentLimit)
      return node.unsupported("spatial dimension " + Twine(i) + " of its input must be below 2^30");
    int64_t reach = (kernel[i] - 1) * windows->dilations[i] + 1, stride = windows->strides[i];
    int64_t &low = windows->padsLow[i], &high = windows->padsHigh[i];
    if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
      int64_t output = (spatial[i] + stride - 1) / stride;
      int64_t total = std::max<int64_t>(0, (output - 1) * stride + reach - spatial[i]);
      low = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      high = total - low;
      windows->output.push_back(output);
      continue;
    }
    if (autoPad == "VALID")
      low = high = 0;
    else if (autoPad != "NOTSET" && !autoPad.empty())
      return node.invalid("its auto_pad is '" + autoPad + "', ONNX defines NOTSET, SAME_UPPER, SAME_LOWER and VALID");
    int64_t room = spatial[i] + low + high - reach;
    if (room < 0)
      return node.invalid("its window of " + Twine(reach) + " elements is larger than the padded input of " +
                          Twine(spatial[i] + low + high));
    int64_t output = (ceilMode ? (room + stride - 1) / stride : room / stride) + 1;
    // No window begins in the padding behind the input.
    if (ceilMode && (output - 1) * stride >= spatial[i] + low)
      --output;
    windows->output.push_back(output);
  }
  return windows;
}

Value addChannelBias(NodeContext &node, Value x, Value bias) {
  if (!x || !bias)
    return x;
  Dims dims(rankOf(x), 1);
  dims[1] = shapeOf(x)[1];
  return node.add(x, node.reshape(bias, dims));
}

/// The attributes of a convolution node; fails where x and the weight do not fit it.
static FailureOr<SmallVector<NamedAttribute>> convolutionAttributes(NodeContext &node, Value x, Value weight) {
  if (rankOf(x) < 3 || rankOf(weight) != rankOf(x))
    return node.invalid("its input has " + Twine(rankOf(x)) + " dimensions and its weight " + Twine(rankOf(weight)) +
                        ", both numbers must be equal and at least 3");
  ArrayRef<int64_t> kernel = shapeOf(weight).drop_front(2);
  if (auto given = node.integersAt("kernel_shape"); given && ArrayRef<int64_t>(*given) != kernel)
    return node.invalid("its kernel_shape must equal the spatial extents of its weight");
  FailureOr<Windows> windows = windowsOf(node, shapeOf(x).drop_front(2), kernel);
  if (failed(windows))
    return failure();
  Dims pads(windows->padsLow);
  pads.append(windows->padsHigh);
  return SmallVector<NamedAttribute>{node.list("strides", windows->strides), node.list("pads", pads),
                                     node.list("dilations", windows->dilations),
                                     node.integer("groups", node.integerOr("group", 1))};
}

Value convolution(NodeContext &node, Value x, Value weight) {
  if (!x || !weight)
    return {};
  auto attributes = convolutionAttributes(node, x, weight);
  return failed(attributes) ? Value() : node.create<ConvOp>({x, weight}, *attributes);
}

Value integerConvolution(NodeContext &node, Value x, Value xZero, Value weight, Value weightZero) {
  if (!x || !weight)
    return {};
  auto attributes = convolutionAttributes(node, x, weight);
  if (failed(attributes))
    return {};
  Type type = node.mlir().getI32Type();
  SmallVector<Value> operands{x, weight};
  auto add = [&](Value zero) {
    if (zero)
      operands.push_back(node.cast(elementCount(zero.getType()) == 1 ? node.reshape(zero, {}) : zero, type));
    return zero ? 1 : 0;
  };
  const int32_t hasX = add(xZero), hasWeight = add(weightZero);
  const int32_t sizes[] = {1, 1, hasX, hasWeight};
  attributes->push_back(node.attribute("operandSegmentSizes", node.mlir().getDenseI32ArrayAttr(sizes)));
  return node.create<IntegerConvOp>(operands, *attributes);
}

namespace {

/// The convolution of the bytes that its operands were dequantized from, with its bias; null where they were not.
Value quantizedConvolution(NodeContext &node) {
  constexpr int64_t kNoAxis = -1;
  const Dequantized *x = dequantizedBytes(node, node.input(0), kNoAxis), *w = dequantizedBytes(node, node.input(1), 0);
  if (!x || !w)
    return {};
  Value sums = integerConvolution(node, x->bytes, x->zeroPoint, w->bytes, w->zeroPoint);
  if (!sums)
    return {};
  const Value inputScale = alongAxis(node, x->scale, rankOf(sums), -1);
  const Value weightScale = alongAxis(node, w->scale, rankOf(sums), 1);
  Value scale = node.mul(inputScale, weightScale), bias = node.input(2);
  if (Value biased = addIntegerBias(node, sums, bias, scale, 1)) {
    sums = biased;
    bias = {};
  }
  return addChannelBias(node, node.mul(node.cast(sums, elementTypeOf(node.input(0))), scale), bias);
}

LogicalResult conv(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  if (Value y = quantizedConvolution(node))
    return node.result(y);
  return node.result(addChannelBias(node, convolution(node, node.input(0), node.input(1)), node.input(2)));
}

/// Conv, an optional sum, and an activation: ONNX Runtime's optimizer leaves these in models.
LogicalResult fusedConv(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = addChannelBias(node, convolution(node, node.input(0), node.input(1)), node.input(2));
  if (node.has(3))
    x = node.add(x, node.input(3));
  SmallVector<double> parameters = node.numbersAt("activation_params").value_or(SmallVector<double>());
  parameters.resize(2, 0.0);
  return node.result(activate(node, x, node.stringOr("activation", ""), parameters[0], parameters[1]));
}

LogicalResult convTranspose(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0), weight = node.input(1);
  int64_t groups = node.integerOr("group", 1);
  if (rankOf(x) < 3 || rankOf(weight) != rankOf(x) || groups < 1 || shapeOf(weight)[0] != shapeOf(x)[1])
    return node.invalid("its input and its weight must have the same number of dimensions, at least 3, and dimension 0 "
                        "of its weight must be the number of channels");
  ArrayRef<int64_t> spatial = shapeOf(x).drop_front(2), kernel = shapeOf(weight).drop_front(2);
  FailureOr<Windows> windows = windowAttributes(node, kernel);
  if (failed(windows))
    return failure();
  size_t rank = kernel.size();
  Dims extra = node.integersAt("output_padding").value_or(Dims(rank, 0));
  std::optional<Dims> wanted = node.integersAt("output_shape");
  if (wanted && wanted->size() == rank + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  const std::string autoPad = node.stringOr("auto_pad", "NOTSET");
  if (autoPad != "NOTSET" && autoPad != "SAME_UPPER" && autoPad != "SAME_LOWER" && autoPad != "VALID")
    return node.invalid("its auto_pad is '" + autoPad + "', ONNX defines NOTSET, SAME_UPPER, SAME_LOWER and VALID");
  if (const std::optional<Dims> given = node.integersAt("kernel_shape"); given && ArrayRef<int64_t>(*given) != kernel)
    return node.invalid("its kernel_shape differs from the shape of its weight");
  if (extra.size() != rank || (wanted && wanted->size() != rank))
    return node.invalid("its output_padding and output_shape must have one value for each spatial dimension");
  int64_t channels;
  if (llvm::MulOverflow(shapeOf(weight)[1], groups, channels))
    return node.invalid("it has more channels than 64 bits can count");
  Dims result{shapeOf(x)[0], channels};
  for (size_t i = 0; i < rank; ++i) {
    if (spatial[i] < 1 || spatial[i] >= kExtentLimit || extra[i] < 0 || extra[i] >= kExtentLimit)
      return node.invalid("an extent of its input or output_padding is out of range");
    int64_t whole = (spatial[i] - 1) * windows->strides[i] + (kernel[i] - 1) * windows->dilations[i] + 1 + extra[i];
    bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
    if (wanted || same) {
      int64_t extent = wanted ? (*wanted)[i] : spatial[i] * windows->strides[i];
      int64_t total = whole - extent;
      if (extent < 1 || extent >= kExtentLimit * kExtentLimit / 4)
        return node.invalid("its output_shape is out of range");
      // A result larger than the windows reach continues with zeros.
      total = std::max<int64_t>(total, 0);
      windows->padsLow[i] = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      result.push_back(extent);
      continue;
    }
    if (autoPad == "VALID")
      windows->padsLow[i] = windows->padsHigh[i] = 0;
    int64_t extent = whole - windows->padsLow[i] - windows->padsHigh[i];
    if (extent < 1)
      return node.invalid("its padding removes all elements of the result");
    result.push_back(extent);
  }
  Value y =
      node.create<ConvTransposeOp>({x, weight},
                                   {node.list("strides", windows->strides), node.list("pads_low", windows->padsLow),
                                    node.list("dilations", windows->dilations), node.integer("groups", groups)},
                                   {node.type(elementTypeOf(x), result)});
  return node.result(addChannelBias(node, y, node.input(2)));
}

LogicalResult pool(NodeContext &node, PoolKind kind) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  std::optional<Dims> kernel = node.integersAt("kernel_shape");
  if (!kernel || rankOf(x) < 3)
    return node.invalid("it must have a kernel_shape, and its input must have at least 3 dimensions");
  FailureOr<Windows> windows = windowsOf(node, shapeOf(x).drop_front(2), *kernel);
  if (failed(windows))
    return failure();
  Dims result(shapeOf(x).take_front(2));
  result.append(windows->output);
  SmallVector<NamedAttribute> attributes{node.attribute("kind", PoolKindAttr::get(node.context(), kind)),
                                         node.list("kernel", windows->kernel),
                                         node.list("strides", windows->strides),
                                         node.list("pads_low", windows->padsLow),
                                         node.list("pads_high", windows->padsHigh),
                                         node.list("dilations", windows->dilations)};
  if (kind == PoolKind::average)
    attributes.push_back(node.flag("count_include_pad", node.integerOr("count_include_pad", 0) != 0));
  if (kind == PoolKind::lp)
    attributes.push_back(node.integer("p", node.integerOr("p", 2)));
  Value y = node.create<PoolOp>({x}, attributes, {node.type(elementTypeOf(x), result)});
  if (!node.wantsOutput(1))
    return node.result(y);
  attributes = {node.list("kernel", windows->kernel), node.list("strides", windows->strides),
                node.list("pads_low", windows->padsLow), node.list("dilations", windows->dilations)};
  if (node.integerOr("storage_order", 0) != 0)
    attributes.push_back(node.attribute("column_major", node.mlir().getUnitAttr()));
  Value index = node.create<PoolIndexOp>({x}, attributes, {node.type(node.mlir().getI64Type(), result)});
  return node.results({y, index});
}

LogicalResult maxPool(NodeContext &node) { return pool(node, PoolKind::max); }
LogicalResult averagePool(NodeContext &node) { return pool(node, PoolKind::average); }
LogicalResult lpPool(NodeContext &node) { return pool(node, PoolKind::lp); }

LogicalResult globalPool(NodeContext &node, ReduceKind kind) {
  if (failed(node.require(1)))
    return failure();
  Dims axes;
  for (int64_t axis = 2; axis < rankOf(node.input(0)); ++axis)
    axes.push_back(axis);
  if (axes.empty())
    return node.invalid("its input must have a spatial dimension");
  return node.result(node.reduce(kind, node.input(0), axes, true));
}
LogicalResult globalAveragePool(NodeContext &node) { return globalPool(node, ReduceKind::mean); }
LogicalResult globalMaxPool(NodeContext &node) { return globalPool(node, ReduceKind::max); }
LogicalResult globalLpPool(NodeContext &node) {
  int64_t p = node.integerOr("p", 2);
  if (p != 1 && p != 2)
    return node.unsupported("its p is " + Twine(p) + ", only 1 and 2 are supported");
  return globalPool(node, p == 1 ? ReduceKind::l1 : ReduceKind::l2);
}

constexpr OperatorEntry kOperators[] = {
    {"", "Conv", 1, conv},
    {"com.microsoft", "FusedConv", 1, fusedConv},
    {"", "ConvTranspose", 1, convTranspose},
    {"", "MaxPool", 1, maxPool},
    {"", "AveragePool", 1, averagePool},
    {"", "LpPool", 2, lpPool},
    {"", "GlobalAveragePool", 1, globalAveragePool},
    {"", "GlobalMaxPool", 1, globalMaxPool},
    {"", "GlobalLpPool", 2, globalLpPool},
};

} // namespace

ArrayRef<OperatorEntry> windowOperators() { return kOperators; }

} // namespace sluice::onnximport
