//===- ConvertVision.cpp - Warps, regions and patches of images -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Extents.h"
#include "StepIntegers.h"
#include "StepReals.h"
#include "Windows.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// Positions in elements, x first along the last dimension.
Value gridSample(NodeContext &node, ResizeMode mode, SamplePadding padding, Value x, Value positions, bool atEdges) {
  SmallVector<NamedAttribute> attributes{node.attribute("mode", ResizeModeAttr::get(node.context(), mode)),
                                         node.attribute("padding", SamplePaddingAttr::get(node.context(), padding))};
  if (atEdges)
    attributes.push_back(node.attribute("at_edges", node.mlir().getUnitAttr()));
  return node.create<GridSampleOp>({x, positions}, attributes);
}

LogicalResult gridSample(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0), grid = node.input(1);
  std::string mode = node.stringOr("mode", "linear"), padding = node.stringOr("padding_mode", "zeros");
  std::optional<ResizeMode> resampling;
  if (mode == "linear" || mode == "bilinear")
    resampling = ResizeMode::linear;
  else if (mode == "nearest")
    resampling = ResizeMode::nearest;
  else if (mode == "cubic" || mode == "bicubic")
    resampling = ResizeMode::cubic;
  std::optional<SamplePadding> outside = symbolizeSamplePadding(padding);
  if (!resampling || !outside)
    return node.invalid("ONNX does not define its mode '" + mode + "' or its padding_mode '" + padding + "'");
  int64_t spatial = rankOf(x) - 2;
  if (spatial < 1 || rankOf(grid) < 1 || shapeOf(grid).back() != spatial)
    return node.invalid("the last dimension of its grid must be the number of spatial dimensions of its input");
  // -1 and 1 are the centres of the outermost elements, or their outer edges.
  bool corners = node.integerOr("align_corners", 0) != 0;
  Type type = elementTypeOf(grid);
  SmallVector<Value> factors, offsets;
  for (int64_t i = 0; i < spatial; ++i) {
    auto extent = static_cast<double>(shapeOf(x)[rankOf(x) - 1 - i]);
    factors.push_back(node.splat(type, corners ? (extent - 1) / 2 : extent / 2, {1}));
    offsets.push_back(node.splat(type, (extent - 1) / 2, {1}));
  }
  const Value offset = node.concat(offsets, 0);
  Value positions = node.add(node.mul(grid, node.concat(factors, 0)), offset);
  return node.result(gridSample(node, *resampling, *outside, x, positions, !corners));
}

/// Where the elements of an image of `size` lie, from -1 to 1, each with a 1 added, through theta.
LogicalResult affineGrid(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value theta = node.input(0);
  const FailureOr<int64_t> count = node.countAt(1, "size");
  if (failed(count))
    return failure();
  const int64_t spatial = *count - 2;
  if (spatial < 1 || rankOf(theta) != 3 || shapeOf(theta)[1] != spatial || shapeOf(theta)[2] != spatial + 1)
    return node.invalid("its input 'theta' must have the shape N x " + Twine(spatial) + " x " + Twine(spatial + 1) +
                        ", because its input 'size' has " + Twine(spatial) + " spatial dimensions");
  StepIntegers integer(node);
  StepReals real(node);
  // Images and channels say nothing about the grid.
  Dims declared{0, 0};
  declared.append(integer.declaredAt(trailingAxes(1, spatial + 1), spatial + 2));
  FailureOr<SmallVector<NodeContext::Size>> size = node.sizesAt(1, "size", declared);
  if (failed(size))
    return failure();
  Type type = elementTypeOf(theta);
  bool corners = node.integerOr("align_corners", 0) != 0;
  Dims extents;
  for (const NodeContext::Size &one : ArrayRef(*size).drop_front(2)) {
    if (one.room < (one.count ? 0 : 1))
      return node.invalid("each entry of its input 'size' must be positive");
    extents.push_back(one.room);
  }
  Dims column(extents);
  column.push_back(1);
  SmallVector<Value> columns;
  for (int64_t i = spatial; i-- > 0;) {
    Value extent = real.of(integer.countOf((*size)[2 + i])), place = real.times(real.positions(extents[i]), 2), line;
    if (corners) {
      Value spread = real.plus(node.div(place, real.plus(extent, -1)), -1), middle = real.number(0);
      Value isSeveral = real.compare(ComparePredicate::gt, extent, 1);
      line = node.select(isSeveral, spread, middle);
    } else {
      line = real.plus(node.div(real.plus(place, 1), extent), -1);
    }
    line = integer.laid(node.cast(line, type), i, spatial);
    columns.push_back(node.reshape(node.expand(line, extents), column));
  }
  columns.push_back(node.splat(type, 1, column));
  if (llvm::is_contained(columns, Value()))
    return node.result({});
  Count points = 1;
  for (int64_t extent : extents)
    points *= extent;
  Value base = node.reshape(node.concat(columns, spatial), {points, spatial + 1});
  Value moved = node.matmul(base, theta, false, /*transposeRhs=*/true);
  Dims result{shapeOf(theta)[0]};
  result.append(extents);
  result.push_back(spatial);
  Value grid = node.reshape(moved, result);
  for (int64_t i = 0; i < spatial; ++i)
    grid = node.held(grid, 1 + i, (*size)[2 + i].count);
  return node.result(grid);
}

LogicalResult roiAlign(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  std::string mode = node.stringOr("mode", "avg");
  std::string coordinates = node.stringOr("coordinate_transformation_mode", "half_pixel");
  if ((mode != "avg" && mode != "max") || (coordinates != "half_pixel" && coordinates != "output_half_pixel"))
    return node.invalid("ONNX does not define its mode '" + mode + "' or its coordinate_transformation_mode '" +
                        coordinates + "'");
  SmallVector<NamedAttribute> attributes{node.integer("height", node.integerOr("output_height", 1)),
                                         node.integer("width", node.integerOr("output_width", 1)),
                                         node.integer("sampling_ratio", node.integerOr("sampling_ratio", 0)),
                                         node.number("spatial_scale", node.numberOr("spatial_scale", 1))};
  if (mode == "max")
    attributes.push_back(node.attribute("maximum", node.mlir().getUnitAttr()));
  if (node.opset >= 16 && coordinates == "half_pixel")
    attributes.push_back(node.attribute("half_pixel", node.mlir().getUnitAttr()));
  if (rankOf(node.input(0)) > 0 &&
      failed(node.limit(node.input(2), AllowedIndices{0, shapeOf(node.input(0))[0] - 1, std::nullopt})))
    return failure();
  return node.result(node.create<RoiAlignOp>({node.input(0), node.input(1), node.input(2)}, attributes));
}

/// Each element of the columns is added where the extents of a step say that it came from.
LogicalResult col2ImOfStep(NodeContext &node) {
  Value x = node.whole(node.input(0));
  const FailureOr<int64_t> count = node.countAt(1, "image_shape");
  if (failed(count))
    return failure();
  const int64_t spatial = *count;
  if (rankOf(x) != 3 || spatial < 1 || elementCount(node.input(2).getType()) != spatial)
    return node.invalid(
        "its image_shape and block_shape must have equal numbers of entries, and its input must have 3 dimensions");
  StepIntegers integer(node);
  const int64_t images = shapeOf(x)[0], rows = shapeOf(x)[1], places = shapeOf(x)[2];
  const Dims declared = integer.declaredAt(trailingAxes(1, spatial + 2), spatial + 2);
  FailureOr<SmallVector<NodeContext::Size>> image =
      node.sizesAt(1, "image_shape", Dims(ArrayRef(declared).drop_front()));
  // A block has no more elements than there are rows.
  FailureOr<SmallVector<NodeContext::Size>> block = node.sizesAt(2, "block_shape", Dims(spatial, rows));
  FailureOr<Windows> windows = windowAttributes(node, Dims(spatial, 1));
  if (failed(image) || failed(block) || failed(windows))
    return failure();
  if (node.extents->isBounded(x))
    return node.unsupported("its operand has an extent that depends on data and is known only when the model runs");
  Count known = 1;
  for (const NodeContext::Size &size : *block)
    known *= size.count ? 1 : std::max<int64_t>(size.room, 1);
  const bool isBlockKnown = llvm::none_of(*block, [](const NodeContext::Size &size) { return bool(size.count); });
  const int64_t most = rows / known;
  const int64_t channels = isBlockKnown || declared.front() < 0 ? most : std::min(declared.front(), most);
  Dims dims{images, channels};
  Count total = channels;
  for (const NodeContext::Size &size : *image) {
    dims.push_back(std::max<int64_t>(size.room, 0));
    total *= dims.back();
  }
  if (total.isSaturated())
    return node.invalid("its result is too large");
  // Divided by these, from the last dimension on, the numbers of rows and columns say which tap and place they are.
  Value one = integer.scalar(1), tap = node.reshape(integer.positions(rows), {rows, 1});
  Value place = node.reshape(integer.positions(places), {1, places}), stride = one, target = integer.scalar(0);
  Value isInside, taps = one, columns = one;
  for (int64_t d = spatial; d-- > 0;) {
    Value extent = node.binary(BinaryKind::max, integer.countOf((*block)[d]), one);
    Value width = integer.countOf((*image)[d]), distance = integer.scalar(windows->dilations[d]);
    Value padding = integer.scalar(windows->padsLow[d] + windows->padsHigh[d]),
          step = integer.scalar(windows->strides[d]);
    Value reach = node.mul(node.sub(extent, one), distance);
    Value padded = node.add(width, padding), covered = node.add(reach, one);
    Value slack = node.sub(padded, covered);
    Value count = node.add(node.div(slack, step), one);
    count = node.binary(BinaryKind::max, count, one);
    taps = node.mul(taps, extent);
    columns = node.mul(columns, count);
    Value outer = node.div(tap, extent), further = node.div(place, count);
    Value along = node.mul(node.sub(tap, node.mul(outer, extent)), distance);
    Value start = node.mul(node.sub(place, node.mul(further, count)), step);
    Value low = integer.scalar(windows->padsLow[d]), first = integer.scalar(0);
    Value at = node.sub(node.add(start, along), low);
    Value isAbove = node.compare(ComparePredicate::ge, at, first),
          isBelow = node.compare(ComparePredicate::lt, at, width);
    Value isHere = node.binary(BinaryKind::logical_and, isAbove, isBelow);
    isInside = isInside ? node.binary(BinaryKind::logical_and, isInside, isHere) : isHere;
    target = node.add(target, node.mul(at, stride));
    stride = node.mul(stride, integer.scalar(dims[2 + d]));
    tap = outer;
    place = further;
  }
  target = node.add(target, node.mul(tap, stride));
  // What lies in the padding goes to an element past the result.
  Value past = integer.scalar(total);
  target = node.expand(node.reshape(node.select(isInside, target, past), {1, rows * places}), {images, rows * places});
  Type type = elementTypeOf(x);
  Value sums = node.create<ScatterElementsOp>(
      {node.splat(type, 0, {images, total + 1}), target, node.reshape(x, {images, rows * places})},
      {node.attribute("kind", ScatterKindAttr::get(node.context(), ScatterKind::add)), node.integer("axis", 1)});
  Value result = node.reshape(node.sliceAxis(sums, 1, 0, total), dims);
  // Columns that do not fit the extents make a count that no bound allows.
  Value depth = integer.scalar(rows), width = integer.scalar(places), many = node.div(depth, taps);
  Value isWhole = node.compare(ComparePredicate::eq, node.mul(many, taps), depth);
  Value fits = node.binary(BinaryKind::logical_and, isWhole, node.compare(ComparePredicate::eq, columns, width));
  Value none = integer.scalar(int64_t(1) << 40);
  SmallVector<Value> counts{{}, many && getIntegers(many) ? Value() : many};
  for (const NodeContext::Size &size : *image)
    counts.push_back(size.count);
  for (Value &count : counts)
    if (count) {
      count = node.select(fits, count, none);
      break;
    }
  for (auto [d, count] : llvm::enumerate(counts))
    result = node.held(result, static_cast<int64_t>(d), count);
  return node.result(result);
}

/// Adds columns up where they came from: a transposed convolution with one filter an element of the block.
LogicalResult col2Im(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  if (!getIntegers(node.input(1)) || !getIntegers(node.input(2)))
    return col2ImOfStep(node);
  Value x = node.input(0);
  FailureOr<Dims> image = node.constantIntegers(1, "image_shape"), block = node.constantIntegers(2, "block_shape");
  if (failed(image) || failed(block))
    return failure();
  if (image->empty() || image->size() != block->size() || rankOf(x) != 3)
    return node.invalid(
        "its image_shape and block_shape must have equal numbers of entries, and its input must have 3 dimensions");
  FailureOr<Windows> windows = windowsOf(node, *image, *block);
  if (failed(windows))
    return failure();
  Count taps = 1, places = 1;
  for (auto [extent, output] : llvm::zip(*block, windows->output)) {
    taps *= extent;
    places *= output;
  }
  if (taps > 4096 || shapeOf(x)[1] % taps != 0 || shapeOf(x)[2] != places)
    return node.invalid("the shape of its input does not match its image_shape and block_shape");
  int64_t images = shapeOf(x)[0] * (shapeOf(x)[1] / taps);
  Type type = elementTypeOf(x), index = node.mlir().getI64Type();
  Dims columns{images, taps}, filters{taps, 1}, sums{images, 1}, result{shapeOf(x)[0], shapeOf(x)[1] / taps};
  columns.append(windows->output);
  filters.append(*block);
  sums.append(*image);
  result.append(*image);
  const Value tapColumns = node.iota(index, taps, 1, 2);
  const Value tapRows = node.iota(index, taps, 0, 2);
  Value identity = node.cast(node.compare(ComparePredicate::eq, tapRows, tapColumns), type);
  Value y =
      node.create<ConvTransposeOp>({node.reshape(x, columns), node.reshape(identity, filters)},
                                   {node.list("strides", windows->strides), node.list("pads_low", windows->padsLow),
                                    node.list("dilations", windows->dilations), node.integer("groups", 1)},
                                   {node.type(type, sums)});
  return node.result(node.reshape(y, result));
}

/// A convolution that reads each tap beside its place: the taps are sampled, then multiplied with the weight.
LogicalResult deformConv(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  Value x = node.input(0), weight = node.input(1), offset = node.input(2);
  if (rankOf(x) != 4 || rankOf(weight) != 4 || rankOf(offset) != 4)
    return node.unsupported("its operands must have 4 dimensions, only two spatial dimensions are supported");
  Dims image(shapeOf(x).drop_front(2)), kernel(shapeOf(weight).drop_front(2));
  FailureOr<Windows> windows = windowsOf(node, image, kernel);
  if (failed(windows))
    return failure();
  int64_t batch = shapeOf(x)[0], channels = shapeOf(x)[1], filters = shapeOf(weight)[0];
  int64_t groups = node.integerOr("group", 1), offsetGroups = node.integerOr("offset_group", 1);
  Count taps = Count(kernel[0]) * kernel[1];
  int64_t height = windows->output[0], width = windows->output[1];
  if (groups < 1 || offsetGroups < 1 || channels % groups != 0 || channels % offsetGroups != 0 ||
      filters % groups != 0 || shapeOf(weight)[1] != channels / groups ||
      shapeOf(offset) != ArrayRef<int64_t>({batch, offsetGroups * taps * 2, height, width}))
    return node.invalid("the shapes of its weight and offset must match its input, group and offset_group");
  Type type = elementTypeOf(x);
  // Offsets are (y, x) pairs per tap; positions of taps without them, per dimension.
  Value pairs = node.reshape(offset, {batch * offsetGroups, taps, 2, height, width});
  auto position = [&](int64_t dimension) {
    int64_t axis = 2 + dimension, at = dimension;
    const Value stride = node.splat(type, static_cast<double>(windows->strides[at]));
    Value output = node.mul(node.iota(type, windows->output[at], axis, 4), stride);
    const Value dilation = node.splat(type, static_cast<double>(windows->dilations[at]));
    Value tap = node.mul(node.iota(type, kernel[at], at, 2), dilation);
    Value reach = node.reshape(node.expand(tap, kernel), {1, taps, 1, 1});
    const Value start = node.splat(type, -static_cast<double>(windows->padsLow[at]));
    Value place = node.add(node.add(output, reach), start);
    Value beside = node.reshape(node.sliceAxis(pairs, 2, dimension, 1), {batch * offsetGroups, taps, height, width});
    return node.reshape(node.add(place, beside), {batch * offsetGroups, taps, height, width, 1});
  };
  Value positions = node.concat({position(1), position(0)}, 4);
  Value samples = gridSample(node, ResizeMode::linear, SamplePadding::zeros,
                             node.reshape(x, {batch * offsetGroups, channels / offsetGroups, image[0], image[1]}),
                             positions, /*atEdges=*/true);
  if (node.has(4))
    samples = node.mul(samples, node.reshape(node.input(4), {batch * offsetGroups, 1, taps, height, width}));
  Value columns = node.reshape(samples, {batch, groups, channels / groups * taps, height * width});
  Value rows = node.reshape(weight, {1, groups, filters / groups, channels / groups * taps});
  Value y = node.reshape(node.matmul(rows, columns), {batch, filters, height, width});
  return node.result(addChannelBias(node, y, node.input(3)));
}

/// Values put back where pooling found them, zeros elsewhere.
LogicalResult maxUnpool(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0);
  std::optional<Dims> kernel = node.integersAt("kernel_shape");
  if (!kernel || rankOf(x) < 3 || static_cast<int64_t>(kernel->size()) != rankOf(x) - 2 ||
      shapeOf(node.input(1)) != shapeOf(x))
    return node.invalid("its kernel_shape must have an entry for each spatial dimension of its input, and its indices "
                        "must have the shape of its input");
  FailureOr<Windows> windows = windowAttributes(node, *kernel);
  if (failed(windows))
    return failure();
  Dims pooled(shapeOf(x).take_front(2));
  for (size_t i = 0; i < kernel->size(); ++i)
    pooled.push_back((Count(shapeOf(x)[2 + i]) - 1) * windows->strides[i] + (*kernel)[i] - windows->padsLow[i] -
                     windows->padsHigh[i]);
  constexpr int64_t kMostExtent = int64_t(1) << 30;
  if (llvm::any_of(pooled, [](int64_t dim) { return dim >= kMostExtent; }))
    return node.invalid("an extent of its result is not below 2^30");
  // Indices count in the shape that was pooled, which the result may exceed.
  Dims result = pooled;
  SmallVector<NodeContext::Size> sizes;
  StepIntegers integer(node);
  if (node.has(2)) {
    const auto rank = static_cast<int64_t>(pooled.size());
    FailureOr<SmallVector<NodeContext::Size>> given =
        node.sizesAt(2, "output_shape", integer.declaredAt(trailingAxes(0, rank), rank));
    if (failed(given))
      return failure();
    sizes = *given;
    result.clear();
    for (const NodeContext::Size &size : sizes)
      result.push_back(size.room);
  }
  if (llvm::any_of(pooled, [](int64_t dim) { return dim < 1; }))
    return node.invalid("its pads remove all elements of the result");
  if (result.size() != pooled.size() || llvm::any_of(result, [](int64_t dim) { return dim < 1; }))
    return node.invalid("its output_shape does not match the shape of its input");
  Count total = 1;
  for (int64_t dim : pooled)
    total *= dim;
  if (total.isSaturated())
    return node.invalid("its result is too large");
  if (failed(node.limit(node.input(1), AllowedIndices{0, total - 1, std::nullopt})))
    return failure();
  Type type = elementTypeOf(x);
  int64_t count = elementCount(x.getType());
  Value flat = node.create<ScatterElementsOp>(
      {node.splat(type, 0, {total}), node.reshape(node.input(1), {count}), node.reshape(x, {count})},
      {node.attribute("kind", ScatterKindAttr::get(node.context(), ScatterKind::none)), node.integer("axis", 0)});
  Value y = node.reshape(flat, pooled);
  if (llvm::any_of(sizes, [](const NodeContext::Size &size) { return bool(size.count); })) {
    Value first = integer.scalar(0);
    for (auto [d, size] : llvm::enumerate(sizes))
      y = integer.cut(y, static_cast<int64_t>(d), first, size);
    for (auto [d, size] : llvm::enumerate(sizes))
      y = node.held(y, static_cast<int64_t>(d), size.count);
    return node.result(y);
  }
  if (result == pooled)
    return node.result(y);
  return node.result(node.create<PadOp>({y, node.splat(type, 0)},
                                        {node.attribute("mode", PadModeAttr::get(node.context(), PadMode::constant)),
                                         node.list("low", Dims(result.size(), 0))},
                                        {node.type(type, result)}));
}

/// The extents are those that the model declares for the result: shapes are known before a model runs.
LogicalResult imageDecoder(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  FailureOr<PixelFormat> format = node.choiceOr<PixelFormat>(
      "pixel_format", "RGB",
      {{"RGB", PixelFormat::rgb}, {"BGR", PixelFormat::bgr}, {"Grayscale", PixelFormat::grayscale}});
  if (failed(format))
    return failure();
  std::optional<Dims> image = node.declaredShape(0);
  if (!image || image->size() != 3 || (*image)[0] < 1 || (*image)[1] < 1)
    return node.unsupported("the size of its image is known only when the model runs, declare the shape of its output");
  (*image)[2] = *format == PixelFormat::grayscale ? 1 : 3;
  return node.result(node.create<DecodeImageOp>(
      {node.input(0)}, {node.attribute("format", PixelFormatAttr::get(node.context(), *format))},
      {node.type(elementTypeOf(node.input(0)), *image)}));
}

constexpr OperatorEntry kOperators[] = {
    {"", "ImageDecoder", 20, imageDecoder},
    {"", "GridSample", 16, static_cast<LogicalResult (*)(NodeContext &)>(gridSample)},
    {"", "AffineGrid", 20, affineGrid},
    {"", "RoiAlign", 10, roiAlign},
    {"", "Col2Im", 18, col2Im},
    {"", "DeformConv", 19, deformConv},
    {"", "MaxUnpool", 9, maxUnpool},
};

} // namespace

ArrayRef<OperatorEntry> visionOperators() { return kOperators; }

} // namespace sluice::onnximport
