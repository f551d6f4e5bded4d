//===- ConvertResize.cpp - Resampling -------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Resize.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

constexpr double kExtentLimit = 1e12;

FailureOr<ResizeMode> resizeMode(NodeContext &node) {
  return node.choiceOr<ResizeMode>("mode", "nearest",
                                   {{"nearest", ResizeMode::nearest},
                                    {"linear", ResizeMode::linear},
                                    {"bilinear", ResizeMode::linear},
                                    {"cubic", ResizeMode::cubic}});
}

FailureOr<CoordinateMode> coordinateMode(NodeContext &node) {
  return node.choiceOr<CoordinateMode>("coordinate_transformation_mode", "half_pixel",
                                       {{"half_pixel", CoordinateMode::half_pixel},
                                        {"pytorch_half_pixel", CoordinateMode::pytorch_half_pixel},
                                        {"align_corners", CoordinateMode::align_corners},
                                        {"asymmetric", CoordinateMode::asymmetric},
                                        {"half_pixel_symmetric", CoordinateMode::half_pixel_symmetric},
                                        {"tf_half_pixel_for_nn", CoordinateMode::tf_half_pixel_for_nn},
                                        {"tf_crop_and_resize", CoordinateMode::tf_crop_and_resize}});
}

FailureOr<NearestMode> nearestMode(NodeContext &node) {
  return node.choiceOr<NearestMode>("nearest_mode", "round_prefer_floor",
                                    {{"round_prefer_floor", NearestMode::round_prefer_floor},
                                     {"round_prefer_ceil", NearestMode::round_prefer_ceil},
                                     {"floor", NearestMode::floor},
                                     {"ceil", NearestMode::ceil}});
}

/// What the versions differ in, for all dimensions of the input.
struct Resampling {
  SmallVector<double> scales;
  Dims output;
  CoordinateMode coordinates = CoordinateMode::asymmetric;
  NearestMode nearest = NearestMode::floor;
  std::optional<SmallVector<double>> roi;
};

/// Where position `i` of a result of `out` elements lies in the input's `in` elements.
double originalPosition(CoordinateMode mode, double scale, int64_t in, int64_t out, int64_t i) {
  auto x = static_cast<double>(i);
  switch (mode) {
  case CoordinateMode::half_pixel:
    return (x + 0.5) / scale - 0.5;
  case CoordinateMode::pytorch_half_pixel:
    return out > 1 ? (x + 0.5) / scale - 0.5 : 0;
  case CoordinateMode::align_corners:
    return out > 1 ? x * static_cast<double>(in - 1) / (scale * static_cast<double>(in) - 1) : 0;
  case CoordinateMode::asymmetric:
    return x / scale;
  case CoordinateMode::tf_half_pixel_for_nn:
    return (x + 0.5) / scale;
  case CoordinateMode::half_pixel_symmetric: {
    double adjustment = static_cast<double>(out) / (scale * static_cast<double>(in));
    return static_cast<double>(in) / 2 * (1 - adjustment) + (x + 0.5) / scale - 0.5;
  }
  case CoordinateMode::tf_crop_and_resize:
    break;
  }
  llvm_unreachable("depends on a region too");
}

/// The weight of an element `distance` from a position.
double kernelWeight(ResizeMode mode, double distance, double a) {
  double t = std::abs(distance);
  if (mode == ResizeMode::linear)
    return std::max(0.0, 1 - t);
  // Keys' cubic convolution.
  if (t <= 1)
    return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

/// One dimension's resampling as a matrix [out, in]: where it shrinks, the kernel is as wide as what an element of the
/// result covers, so that all of the input counts.
std::vector<float> antialiasedRows(NodeContext &node, const Resampling &resampling, ResizeMode mode, size_t d,
                                   int64_t in) {
  int64_t out = resampling.output[d];
  double scale = resampling.scales[d], narrow = std::min(scale, 1.0);
  double a = node.numberOr("cubic_coeff_a", -0.75), reach = mode == ResizeMode::linear ? 1 : 2;
  bool excludes = node.integerOr("exclude_outside", 0) != 0;
  std::vector<float> rows(static_cast<size_t>(out * in));
  for (int64_t i = 0; i < out; ++i) {
    double x = originalPosition(resampling.coordinates, scale, in, out, i);
    auto first = static_cast<int64_t>(std::floor(x - reach / narrow)),
         last = static_cast<int64_t>(std::ceil(x + reach / narrow));
    std::vector<double> row(static_cast<size_t>(in));
    double sum = 0;
    for (int64_t tap = first; tap <= last; ++tap) {
      double weight = kernelWeight(mode, (static_cast<double>(tap) - x) * narrow, a);
      if (excludes && (tap < 0 || tap >= in))
        continue;
      sum += weight;
      row[static_cast<size_t>(std::clamp<int64_t>(tap, 0, in - 1))] += weight;
    }
    for (int64_t k = 0; k < in; ++k)
      rows[static_cast<size_t>(i * in + k)] = static_cast<float>(row[static_cast<size_t>(k)] / sum);
  }
  return rows;
}

/// Interpolation is linear in the input, one dimension at a time: products with constant matrices.
LogicalResult antialiased(NodeContext &node, const Resampling &resampling, ResizeMode mode) {
  Value x = node.input(0);
  Type type = elementTypeOf(x), wide = Float32Type::get(node.context());
  if (!isa<FloatType>(type) || resampling.coordinates == CoordinateMode::tf_crop_and_resize)
    return node.unsupported("its antialiasing is supported for floating-point elements without a cropped region only");
  constexpr int64_t kMostEntries = int64_t(1) << 26;
  for (size_t d = 0; d < resampling.output.size(); ++d) {
    if (!x)
      return node.result({});
    Dims dims(shapeOf(x));
    int64_t in = dims[d], out = resampling.output[d];
    if (in == out && resampling.scales[d] == 1)
      continue;
    if (in == 0 || out > kMostEntries / in || 1 / resampling.scales[d] > static_cast<double>(in) * 4)
      return node.unsupported("it resamples " + Twine(in) + " elements of dimension " + Twine(d) + " to " + Twine(out) +
                              ", which needs too many weights");
    if (failed(node.spend(Count(out) * in * sizeof(float))))
      return failure();
    std::vector<float> rows = antialiasedRows(node, resampling, mode, d, in);
    ArrayRef<char> bytes(reinterpret_cast<const char *>(rows.data()), rows.size() * sizeof(float));
    Value matrix =
        ConstantOp::create(node.mlir(), node.loc(), makeDense(RankedTensorType::get({out, in}, wide), bytes));
    int64_t outer = 1, inner = 1;
    for (size_t i = 0; i < dims.size(); ++i)
      (i < d ? outer : inner) *= i == d ? 1 : dims[i];
    dims[d] = out;
    const Value slices = node.reshape(x, {outer, in, inner});
    x = node.reshape(node.matmul(node.cast(matrix, type), slices), dims);
  }
  return node.result(x);
}

LogicalResult finish(NodeContext &node, Resampling &resampling) {
  Value x = node.input(0);
  FailureOr<ResizeMode> mode = resizeMode(node);
  if (failed(mode))
    return failure();
  bool same = true;
  for (int64_t i = 0; i < rankOf(x); ++i) {
    if (!std::isfinite(resampling.scales[i]) || resampling.scales[i] <= 0)
      return node.invalid("each of its scales must be a positive number");
    if (shapeOf(x)[i] == 0 && resampling.output[i] != 0)
      return node.invalid("its input has no elements");
    same &= resampling.output[i] == shapeOf(x)[i] && resampling.scales[i] == 1;
  }
  if (same && resampling.coordinates != CoordinateMode::tf_crop_and_resize)
    return node.result(x);
  bool shrinks = llvm::any_of(resampling.scales, [](double scale) { return scale < 1; });
  if (shrinks && *mode != ResizeMode::nearest && node.integerOr("antialias", 0) != 0)
    return antialiased(node, resampling, *mode);
  OpBuilder &builder = node.mlir();
  SmallVector<NamedAttribute> attributes{
      node.attribute("mode", ResizeModeAttr::get(node.context(), *mode)),
      node.attribute("scales", builder.getDenseF64ArrayAttr(resampling.scales)),
      node.attribute("coordinates", CoordinateModeAttr::get(node.context(), resampling.coordinates)),
      node.attribute("nearest", NearestModeAttr::get(node.context(), resampling.nearest)),
      node.number("cubic_coeff", node.numberOr("cubic_coeff_a", -0.75)),
      node.flag("exclude_outside", node.integerOr("exclude_outside", 0) != 0),
      node.number("extrapolation", node.numberOr("extrapolation_value", 0))};
  if (resampling.roi)
    attributes.push_back(node.attribute("roi", builder.getDenseF64ArrayAttr(*resampling.roi)));
  return node.result(node.create<ResizeOp>({x}, attributes, {node.type(elementTypeOf(x), resampling.output)}));
}

FailureOr<int64_t> extent(NodeContext &node, double value) {
  if (!(value >= 0 && value < kExtentLimit))
    return node.invalid("the size of its result is out of range");
  return static_cast<int64_t>(value);
}

/// Upsample, and Resize before it could choose: asymmetric coordinates, towards the input's origin when enlarging.
LogicalResult byScales(NodeContext &node, ArrayRef<double> scales) {
  Value x = node.input(0);
  if (static_cast<int64_t>(scales.size()) != rankOf(x))
    return node.invalid("it has " + Twine(scales.size()) + " scales for " + Twine(rankOf(x)) +
                        " dimensions, one for each is needed");
  Resampling resampling;
  resampling.scales.assign(scales.begin(), scales.end());
  bool shrinks = false;
  for (auto [dim, scale] : llvm::zip(shapeOf(x), scales)) {
    FailureOr<int64_t> size = extent(node, std::floor(static_cast<double>(dim) * scale));
    if (failed(size))
      return failure();
    resampling.output.push_back(*size);
    shrinks |= scale < 1;
  }
  resampling.nearest = shrinks ? NearestMode::ceil : NearestMode::floor;
  return finish(node, resampling);
}

LogicalResult upsample7(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  return byScales(node, node.numbersAt("scales").value_or(SmallVector<double>()));
}

/// Whether an input is known only when the model runs.
bool isOfStep(NodeContext &node, std::optional<size_t> input) {
  return input && !getConstant(node.input(*input)) && !node.input(*input).getDefiningOp<StateOp>();
}

LogicalResult scalesInput(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  if (isOfStep(node, 1)) {
    FailureOr<ResizeMode> mode = resizeMode(node);
    if (failed(mode))
      return failure();
    ResizeForm form;
    form.mode = *mode;
    form.shrinksUp = true;
    form.axes = trailingAxes(0, rankOf(node.input(0)));
    form.scales = 1;
    return resizeInStep(node, form);
  }
  FailureOr<SmallVector<double>> scales = node.constantNumbers(1, "scales");
  if (failed(scales))
    return failure();
  return byScales(node, *scales);
}

/// Sizes that keep the aspect ratio: one scale for all given axes.
void keepAspectRatio(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes, bool notLarger, Resampling &resampling) {
  double scale = notLarger ? HUGE_VAL : 0;
  for (int64_t axis : axes) {
    double one = static_cast<double>(resampling.output[axis]) / static_cast<double>(shape[axis]);
    scale = notLarger ? std::min(scale, one) : std::max(scale, one);
  }
  for (int64_t axis : axes) {
    double size = std::floor(scale * static_cast<double>(shape[axis]) + 0.5);
    resampling.output[axis] = static_cast<int64_t>(std::min(size, kExtentLimit));
    resampling.scales[axis] = scale;
  }
}

FailureOr<ResizeForm> resizeForm(NodeContext &node) {
  const int64_t rank = rankOf(node.input(0));
  FailureOr<ResizeMode> mode = resizeMode(node);
  FailureOr<CoordinateMode> coordinates = coordinateMode(node);
  FailureOr<NearestMode> nearest = nearestMode(node);
  FailureOr<AspectPolicy> policy = node.choiceOr<AspectPolicy>("keep_aspect_ratio_policy", "stretch",
                                                               {{"stretch", AspectPolicy::stretch},
                                                                {"not_larger", AspectPolicy::notLarger},
                                                                {"not_smaller", AspectPolicy::notSmaller}});
  if (failed(mode) || failed(coordinates) || failed(nearest) || failed(policy))
    return failure();
  ResizeForm form;
  form.mode = *mode;
  form.coordinates = *coordinates;
  form.nearest = *nearest;
  form.policy = *policy;
  form.axes = trailingAxes(0, rank);
  if (std::optional<Dims> given = node.integersAt("axes")) {
    if (failed(node.axes(*given, rank)))
      return failure();
    form.axes.clear();
    for (int64_t axis : *given)
      form.axes.push_back(axis < 0 ? axis + rank : axis);
  }
  auto isGiven = [&](size_t index) { return node.has(index) && elementCount(node.input(index).getType()) != 0; };
  if (form.crops()) {
    if (!isGiven(1))
      return node.invalid("its roi is missing, which tf_crop_and_resize needs");
    form.region = 1;
  }
  if (isGiven(3))
    form.sizes = 3;
  else if (isGiven(2))
    form.scales = 2;
  else
    return node.invalid("it has neither scales nor sizes");
  return form;
}

/// All dimensions of a region, of which `given` has those of the form's axes.
FailureOr<SmallVector<double>> wholeRegion(NodeContext &node, const ResizeForm &form, ArrayRef<double> given) {
  const int64_t rank = rankOf(node.input(0));
  const size_t count = form.axes.size();
  if (given.size() != 2 * count)
    return node.invalid("its roi has " + Twine(given.size()) + " values, " + Twine(2 * count) +
                        " are needed: a start and an end for each dimension");
  SmallVector<double> region(2 * rank, 0.0);
  std::fill(region.begin() + rank, region.end(), 1.0);
  for (auto [i, axis] : llvm::enumerate(form.axes)) {
    region[axis] = given[i];
    region[rank + axis] = given[count + i];
  }
  return region;
}

LogicalResult bySizes(NodeContext &node, const ResizeForm &form, Resampling &resampling) {
  ArrayRef<int64_t> shape = shapeOf(node.input(0));
  FailureOr<Dims> sizes = node.constantIntegers(*form.sizes, "sizes");
  if (failed(sizes))
    return failure();
  if (sizes->size() != form.axes.size())
    return node.invalid("it has " + Twine(sizes->size()) + " sizes for " + Twine(form.axes.size()) +
                        " dimensions, one for each is needed");
  for (auto [axis, size] : llvm::zip(form.axes, *sizes)) {
    FailureOr<int64_t> checked = extent(node, static_cast<double>(size));
    if (failed(checked) || shape[axis] == 0)
      return node.invalid("its input has no elements");
    resampling.output[axis] = *checked;
    resampling.scales[axis] = static_cast<double>(size) / static_cast<double>(shape[axis]);
  }
  if (form.policy != AspectPolicy::stretch)
    keepAspectRatio(shape, form.axes, form.policy == AspectPolicy::notLarger, resampling);
  return finish(node, resampling);
}

LogicalResult resize11(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  const int64_t rank = rankOf(node.input(0));
  ArrayRef<int64_t> shape = shapeOf(node.input(0));
  FailureOr<ResizeForm> form = resizeForm(node);
  if (failed(form))
    return failure();
  if (isOfStep(node, form->region) || isOfStep(node, form->scales) || isOfStep(node, form->sizes))
    return resizeInStep(node, *form);
  Resampling resampling;
  resampling.coordinates = form->coordinates;
  resampling.nearest = form->nearest;
  resampling.scales.assign(rank, 1);
  resampling.output.assign(shape.begin(), shape.end());
  if (form->region) {
    FailureOr<SmallVector<double>> given = node.constantNumbers(*form->region, "roi");
    FailureOr<SmallVector<double>> region = failed(given) ? given : wholeRegion(node, *form, *given);
    if (failed(region))
      return failure();
    resampling.roi = *region;
  }
  if (form->sizes)
    return bySizes(node, *form, resampling);
  FailureOr<SmallVector<double>> scales = node.constantNumbers(*form->scales, "scales");
  if (failed(scales))
    return failure();
  if (scales->size() != form->axes.size())
    return node.invalid("it has " + Twine(scales->size()) + " scales for " + Twine(form->axes.size()) +
                        " dimensions, one for each is needed");
  for (auto [axis, scale] : llvm::zip(form->axes, *scales)) {
    double part = form->region ? (*resampling.roi)[rank + axis] - (*resampling.roi)[axis] : 1;
    FailureOr<int64_t> size = extent(node, std::floor(static_cast<double>(shape[axis]) * part * scale));
    if (failed(size))
      return failure();
    resampling.output[axis] = *size;
    resampling.scales[axis] = scale;
  }
  return finish(node, resampling);
}

constexpr OperatorEntry kOperators[] = {
    {"", "Upsample", 7, upsample7},
    {"", "Upsample", 9, scalesInput},
    {"", "Resize", 10, scalesInput},
    {"", "Resize", 11, resize11},
};

} // namespace

ArrayRef<OperatorEntry> resizeOperators() { return kOperators; }

} // namespace sluice::onnximport
