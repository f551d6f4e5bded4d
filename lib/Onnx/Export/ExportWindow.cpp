//===- ExportWindow.cpp - Pools and resampling to ONNX --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeWriter.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;
using sluice::onnxtensor::rankOf;
using sluice::onnxtensor::shapeOf;

namespace sluice::onnxexport {
namespace {

/// Windows of one dimension, as ONNX counts them.
int64_t countWindows(int64_t room, int64_t stride, int64_t inside, bool ceilMode) {
  if (room < 0)
    return 0;
  int64_t count = (ceilMode ? (room + stride - 1) / stride : room / stride) + 1;
  // No window begins in the padding behind the input.
  if (ceilMode && (count - 1) * stride >= inside)
    --count;
  return count;
}

/// The spatial extents of an operand and of the result at each sample point of their symbols, the upper bounds first.
struct SpatialSizes {
  SmallVector<int64_t> from, to;
};
SmallVector<SpatialSizes> spatialSizes(Value operand, Value result) {
  const Extents from = extentsOf(operand), to = extentsOf(result);
  SymbolsAttr symbols = symbolsOf(operand.getType());
  symbols = symbols ? symbols : symbolsOf(result.getType());
  SmallVector<SpatialSizes> sizes;
  for (const Point &point : symbols ? samplePoints(symbols) : std::vector<Point>(1)) {
    SpatialSizes &at = sizes.emplace_back();
    for (size_t d = 2; d < from.size(); ++d) {
      at.from.push_back(from[d].at(point));
      at.to.push_back(to[d].at(point));
    }
  }
  return sizes;
}

constexpr const char *kOtherWindows =
    "its padding depends on sizes with ranges, give one size for each dimension with --dim";

LogicalResult pool(PoolOp op, NodeWriter &writer) {
  if (op.getLayout() != Layout::channels_first)
    return writer.refuse("its layout was chosen for a machine, export an earlier phase");
  const SmallVector<SpatialSizes> sizes = spatialSizes(op.getInput(), op.getResult());
  ArrayRef<int64_t> from = sizes[0].from, to = sizes[0].to;
  SmallVector<int64_t> high(op.getPadsHigh());
  bool floorFits = true, ceilFits = true;
  for (const SpatialSizes &at : sizes)
    for (size_t i = 0; i < from.size(); ++i) {
      int64_t reach = (op.getKernel()[i] - 1) * op.getDilations()[i] + 1, stride = op.getStrides()[i];
      int64_t inside = at.from[i] + op.getPadsLow()[i];
      floorFits &= countWindows(inside + high[i] - reach, stride, inside, false) == at.to[i];
      ceilFits &= countWindows(inside + high[i] - reach, stride, inside, true) == at.to[i];
    }
  if (!floorFits && !ceilFits) {
    if (op.getCountIncludePad())
      return writer.refuse("no padding of ONNX gives the same number of windows");
    if (sizes.size() > 1)
      return writer.refuse(kOtherWindows);
    // Padding is not looked at: as much as the windows reach.
    for (size_t i = 0; i < from.size(); ++i) {
      int64_t reach = (op.getKernel()[i] - 1) * op.getDilations()[i] + 1;
      high[i] = (to[i] - 1) * op.getStrides()[i] + reach - from[i] - op.getPadsLow()[i];
      if (high[i] < 0)
        return writer.refuse("its windows ignore the end of the input, which ONNX cannot express");
    }
    floorFits = true;
  }
  bool isDilated = llvm::any_of(op.getDilations(), [](int64_t one) { return one != 1; });
  PoolKind kind = op.getKind();
  int64_t since = kExportOpset;
  if (kind == PoolKind::average && isDilated)
    since = 19;
  if (kind == PoolKind::lp && (isDilated || !floorFits))
    since = 18;
  SmallVector<int64_t> pads(op.getPadsLow());
  pads.append(high);
  const char *type = kind == PoolKind::max ? "MaxPool" : kind == PoolKind::average ? "AveragePool" : "LpPool";
  Node node = writer.node(type, writer.operands(), since);
  node.set("kernel_shape", op.getKernel()).set("strides", op.getStrides()).set("pads", pads);
  if (isDilated)
    node.set("dilations", op.getDilations());
  if (!floorFits)
    node.set("ceil_mode", int64_t(1));
  if (op.getCountIncludePad())
    node.set("count_include_pad", int64_t(1));
  if (kind == PoolKind::lp)
    node.set("p", static_cast<int64_t>(op.getP()));
  return success();
}

/// MaxPool's second result.
LogicalResult poolIndex(PoolIndexOp op, NodeWriter &writer) {
  SmallVector<int64_t> pads(op.getPadsLow());
  const size_t rank = pads.size();
  for (const SpatialSizes &at : spatialSizes(op.getInput(), op.getResult()))
    for (size_t i = 0; i < rank; ++i) {
      int64_t reach = (op.getKernel()[i] - 1) * op.getDilations()[i] + 1, inside = at.from[i] + op.getPadsLow()[i];
      if (pads.size() < 2 * rank)
        pads.push_back(std::max<int64_t>(0, (at.to[i] - 1) * op.getStrides()[i] + reach - inside));
      const int64_t high = pads[rank + i];
      if (countWindows(inside + high - reach, op.getStrides()[i], inside, false) != at.to[i])
        return writer.refuse(symbolsOf(op) ? kOtherWindows
                                           : "its windows ignore the end of the input, which ONNX cannot express");
    }
  writer.nodeOfSecond("MaxPool", writer.operands())
      .set("kernel_shape", op.getKernel())
      .set("strides", op.getStrides())
      .set("pads", pads)
      .set("dilations", op.getDilations())
      .set("storage_order", int64_t(op.getColumnMajor()));
  return success();
}

/// Our positions count elements, ONNX's go from -1 to 1.
LogicalResult gridSample(GridSampleOp op, NodeWriter &writer) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  if (llvm::any_of(ArrayRef(extentsOf(op.getInput())).drop_front(2), [](const Extent &e) { return !e.isConstant(); }))
    return writer.refuse(
        "ONNX gives positions as fractions of the image, and the size of the image is known only when the model runs");
  bool corners = !op.getAtEdges();
  if (!onnxtensor::elementTypeOf(op.getPositions()).isF32())
    return writer.refuse("its positions are not of 32 bits");
  SmallVector<double> factors, offsets;
  for (size_t axis = shape.size(); axis-- > 2;) {
    auto extent = static_cast<double>(shape[axis]);
    if (extent == (corners ? 1 : 0))
      return writer.refuse("it samples along a dimension of at most one element");
    factors.push_back(static_cast<float>(2 / (corners ? extent - 1 : extent)));
    offsets.push_back(static_cast<float>((corners ? 0 : 1 / extent) - 1));
  }
  std::string scaled =
      writer.step("Mul", {writer.name(op.getPositions()), writer.numbers("factors", factors)}).output();
  std::string grid = writer.step("Add", {scaled, writer.numbers("offsets", offsets)}).output();
  // Images alone, and other names, before opset 20.
  bool isOld = writer.opset() < 20;
  const char *mode = op.getMode() == ResizeMode::nearest  ? "nearest"
                     : op.getMode() == ResizeMode::linear ? (isOld ? "bilinear" : "linear")
                                                          : (isOld ? "bicubic" : "cubic");
  writer.node("GridSample", {writer.name(op.getInput()), grid}, shape.size() == 4 ? kExportOpset : 20)
      .set("mode", mode)
      .set("padding_mode", stringifySamplePadding(op.getPadding()))
      .set("align_corners", int64_t(corners));
  return success();
}

LogicalResult roiAlign(RoiAlignOp op, NodeWriter &writer) {
  writer.node("RoiAlign", writer.operands())
      .set("output_height", static_cast<int64_t>(op.getHeight()))
      .set("output_width", static_cast<int64_t>(op.getWidth()))
      .set("sampling_ratio", static_cast<int64_t>(op.getSamplingRatio()))
      .set("spatial_scale", op.getSpatialScale())
      .set("mode", op.getMaximum() ? "max" : "avg")
      .set("coordinate_transformation_mode", op.getHalfPixel() ? "half_pixel" : "output_half_pixel");
  return success();
}

LogicalResult resize(ResizeOp op, NodeWriter &writer) {
  const Extents from = extentsOf(op.getInput()), to = extentsOf(op.getResult());
  ArrayRef<double> scales = op.getScales();
  bool crops = op.getCoordinates() == CoordinateMode::tf_crop_and_resize;
  // By sizes where they say the scales too.
  bool bySizes = true, scalesGiveSizes = true;
  const SymbolsAttr symbols = symbolsOf(op);
  for (const Point &point : symbols ? samplePoints(symbols) : std::vector<Point>(1))
    for (auto [i, scale] : llvm::enumerate(scales)) {
      const auto before = static_cast<double>(from[i].at(point)), after = static_cast<double>(to[i].at(point));
      bySizes &= before != 0 && scale == after / before;
      double part = crops && op.getRoi() ? (*op.getRoi())[scales.size() + i] - (*op.getRoi())[i] : 1;
      scalesGiveSizes &= std::floor(before * part * static_cast<float>(scale)) == after;
    }
  if (!bySizes && !scalesGiveSizes)
    return writer.refuse("neither its scales, rounded to 32 bits, nor its sizes alone describe the result");
  if (crops && !op.getRoi())
    return writer.refuse("it crops, and the region is missing");
  std::vector<std::string> inputs = writer.operands();
  inputs.push_back(crops ? writer.numbers("roi", *op.getRoi()) : "");
  if (bySizes) {
    inputs.push_back("");
    inputs.push_back(writer.extents("sizes", to));
  } else {
    SmallVector<double> narrow;
    for (double scale : scales)
      narrow.push_back(static_cast<float>(scale));
    inputs.push_back(writer.numbers("scales", narrow));
  }
  int64_t since = op.getCoordinates() == CoordinateMode::half_pixel_symmetric ? 19
                  : op.getAntialias()                                         ? 18
                                                                              : kExportOpset;
  Node node = writer.node("Resize", inputs, since);
  node.set("mode", stringifyResizeMode(op.getMode()))
      .set("coordinate_transformation_mode", stringifyCoordinateMode(op.getCoordinates()))
      .set("nearest_mode", stringifyNearestMode(op.getNearest()))
      .set("cubic_coeff_a", op.getCubicCoeff())
      .set("exclude_outside", int64_t(op.getExcludeOutside()))
      .set("extrapolation_value", op.getExtrapolation());
  if (op.getAntialias())
    node.set("antialias", int64_t(1));
  return success();
}

constexpr ExportEntry kExports[] = {
    exports<PoolOp, pool>(),           exports<ResizeOp, resize>(),         exports<RoiAlignOp, roiAlign>(),
    exports<PoolIndexOp, poolIndex>(), exports<GridSampleOp, gridSample>(),
};

} // namespace

ArrayRef<ExportEntry> windowExports() { return kExports; }

} // namespace sluice::onnxexport
