//===- ReferenceWindows.cpp - pool, resize, lrn ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Reference.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

static Tensor pool(PoolOp op, const Tensor &input) {
  Tensor out(op.getType());
  bool last = op.getLayout() == Layout::channels_last;
  size_t spatial = op.getKernel().size(), first = last ? 1 : 2;
  auto p = static_cast<double>(op.getP());
  forEachIndex(out.shape(), [&](llvm::ArrayRef<int64_t> at) {
    double sum = 0, largest = -std::numeric_limits<double>::infinity();
    int64_t inside = 0, padded = 0;
    forEachIndex(op.getKernel(), [&](llvm::ArrayRef<int64_t> tap) {
      Index from(at);
      bool isInside = true, isPadded = true;
      for (size_t d = 0; d < spatial; ++d) {
        int64_t i = at[first + d] * op.getStrides()[d] - op.getPadsLow()[d] + tap[d] * op.getDilations()[d];
        int64_t extent = input.shape()[first + d];
        isInside &= i >= 0 && i < extent;
        isPadded &= i < extent + op.getPadsHigh()[d];
        from[first + d] = i;
      }
      padded += isPadded;
      if (!isInside)
        return;
      ++inside;
      double x = input.at(from);
      sum += op.getKind() == PoolKind::lp ? std::pow(std::abs(x), p) : x;
      largest = std::max(largest, x);
    });
    double value = sum;
    if (op.getKind() == PoolKind::max)
      value = largest;
    else if (op.getKind() == PoolKind::lp)
      value = std::pow(sum, 1 / p);
    else
      value = sum / static_cast<double>(std::max<int64_t>(1, op.getCountIncludePad() ? padded : inside));
    out.set(out.linearOf(at), value);
  });
  return out;
}

/// x_original of ONNX Resize's table, for one dimension.
static double originalOf(ResizeOp op, size_t d, int64_t position) {
  auto in = static_cast<double>(cast<RankedTensorType>(op.getInput().getType()).getDimSize(d));
  auto out = static_cast<double>(op.getType().getDimSize(d));
  auto x = static_cast<double>(position);
  double scale = op.getScales()[d];
  switch (op.getCoordinates()) {
  case CoordinateMode::half_pixel:
    return (x + 0.5) / scale - 0.5;
  case CoordinateMode::half_pixel_symmetric: {
    double adjustment = out / (scale * in), center = in / 2;
    return center * (1 - adjustment) + (x + 0.5) / scale - 0.5;
  }
  case CoordinateMode::pytorch_half_pixel:
    return out > 1 ? (x + 0.5) / scale - 0.5 : 0;
  case CoordinateMode::align_corners:
    return out > 1 ? x * (in - 1) / (scale * in - 1) : 0;
  case CoordinateMode::asymmetric:
    return x / scale;
  case CoordinateMode::tf_half_pixel_for_nn:
    return (x + 0.5) / scale;
  case CoordinateMode::tf_crop_and_resize: {
    double start = (*op.getRoi())[d], end = (*op.getRoi())[d + op.getType().getRank()];
    return out > 1 ? start * (in - 1) + x * (end - start) * (in - 1) / (out - 1) : 0.5 * (start + end) * (in - 1);
  }
  }
  return 0;
}

static double nearestOf(NearestMode mode, double x) {
  switch (mode) {
  case NearestMode::round_prefer_floor:
    return x == std::floor(x) + 0.5 ? std::floor(x) : std::round(x);
  case NearestMode::round_prefer_ceil:
    return x == std::floor(x) + 0.5 ? std::ceil(x) : std::round(x);
  case NearestMode::floor:
    return std::floor(x);
  case NearestMode::ceil:
    return std::ceil(x);
  }
  return x;
}

/// The input positions (unclamped) a coordinate draws on, and their weights.
static std::vector<std::pair<int64_t, double>> tapsOf(ResizeOp op, size_t d, int64_t extent, double x) {
  if (op.getMode() == ResizeMode::nearest)
    return {{static_cast<int64_t>(nearestOf(op.getNearest(), x)), 1.0}};
  auto base = static_cast<int64_t>(std::floor(x));
  double r = x - std::floor(x);
  if (op.getMode() == ResizeMode::linear)
    return {{base, 1 - r}, {base + 1, r}};
  double a = op.getCubicCoeff().convertToDouble();
  std::vector<std::pair<int64_t, double>> taps = {
      {base - 1, ((a * (r + 1) - 5 * a) * (r + 1) + 8 * a) * (r + 1) - 4 * a},
      {base, ((a + 2) * r - (a + 3)) * r * r + 1},
      {base + 1, ((a + 2) * (1 - r) - (a + 3)) * (1 - r) * (1 - r) + 1},
      {base + 2, ((a * (2 - r) - 5 * a) * (2 - r) + 8 * a) * (2 - r) - 4 * a}};
  if (op.getExcludeOutside()) {
    double sum = 0;
    for (auto &[i, weight] : taps) {
      if (i < 0 || i >= extent)
        weight = 0;
      sum += weight;
    }
    for (auto &[i, weight] : taps)
      weight /= sum;
  }
  return taps;
}

static Tensor resize(ResizeOp op, const Tensor &input) {
  Tensor out(op.getType());
  size_t rank = out.shape().size();
  forEachIndex(out.shape(), [&](llvm::ArrayRef<int64_t> at) {
    bool isOutside = false;
    std::vector<std::vector<std::pair<int64_t, double>>> taps;
    Index counts;
    for (size_t d = 0; d < rank; ++d) {
      int64_t extent = input.shape()[d];
      double x = originalOf(op, d, at[d]);
      isOutside |=
          op.getCoordinates() == CoordinateMode::tf_crop_and_resize && (x < 0 || x > static_cast<double>(extent - 1));
      // A dimension that is not resampled is no place to interpolate.
      bool isSame = op.getScales()[d] == 1 && extent == out.shape()[d] && !op.getRoi();
      taps.push_back(isSame ? std::vector<std::pair<int64_t, double>>{{at[d], 1.0}} : tapsOf(op, d, extent, x));
      counts.push_back(static_cast<int64_t>(taps.back().size()));
    }
    double sum = 0;
    forEachIndex(counts, [&](llvm::ArrayRef<int64_t> choice) {
      Index from;
      double weight = 1;
      for (size_t d = 0; d < rank; ++d) {
        auto [i, w] = taps[d][choice[d]];
        from.push_back(std::clamp<int64_t>(i, 0, input.shape()[d] - 1));
        weight *= w;
      }
      sum += weight * input.at(from);
    });
    out.set(out.linearOf(at), isOutside ? op.getExtrapolation().convertToDouble() : sum);
  });
  return out;
}

static Tensor lrn(LrnOp op, const Tensor &input) {
  Tensor out(op.getType());
  int64_t axis = op.getChannelAxis(), size = op.getSize();
  forEachIndex(out.shape(), [&](llvm::ArrayRef<int64_t> at) {
    double sum = 0;
    for (int64_t c = at[axis] - (size - 1) / 2; c <= at[axis] + size / 2; ++c) {
      if (c < 0 || c >= out.shape()[axis])
        continue;
      Index from(at);
      from[axis] = c;
      sum += input.at(from) * input.at(from);
    }
    double base = op.getBias().convertToDouble() + op.getAlpha().convertToDouble() / static_cast<double>(size) * sum;
    out.set(out.linearOf(at), input.at(at) / std::pow(base, op.getBeta().convertToDouble()));
  });
  return out;
}

bool interpretWindows(Operation *op, Environment &values) {
  auto apply = [&](auto known, auto reference) {
    Tensor out = reference(known, values.at(known.getInput()));
    values.insert({known.getResult(), std::move(out)});
    return true;
  };
  if (auto known = dyn_cast<PoolOp>(op))
    return apply(known, pool);
  if (auto known = dyn_cast<ResizeOp>(op))
    return apply(known, resize);
  if (auto known = dyn_cast<LrnOp>(op))
    return apply(known, lrn);
  return false;
}

} // namespace sluice::test
