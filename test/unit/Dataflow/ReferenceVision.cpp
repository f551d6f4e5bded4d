//===- ReferenceVision.cpp - Warps, regions, selections, random numbers ---===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Reference.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

static double mirrored(double x, double low, double high) {
  if (low == high)
    return low;
  while (x < low || x > high)
    x = x < low ? 2 * low - x : 2 * high - x;
  return x;
}

/// The element at a whole position of one image and channel, by the padding's rule.
static double paddedAt(GridSampleOp op, const Tensor &input, int64_t image, int64_t channel,
                       ArrayRef<double> position) {
  Index at{image, channel};
  for (size_t d = 0; d < position.size(); ++d) {
    int64_t extent = input.shape()[2 + d];
    double edge = op.getAtEdges() ? 0.5 : 0, x = position[d];
    if (op.getPadding() == SamplePadding::zeros && (x < 0 || x >= static_cast<double>(extent)))
      return 0;
    if (op.getPadding() == SamplePadding::reflection)
      x = mirrored(x, -edge, static_cast<double>(extent) - 1 + edge);
    at.push_back(std::clamp<int64_t>(static_cast<int64_t>(x), 0, extent - 1));
  }
  return input.at(at);
}

static double keys(double t) {
  constexpr double a = -0.75;
  t = std::abs(t);
  return t <= 1  ? (a + 2) * t * t * t - (a + 3) * t * t + 1
         : t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a
                 : 0;
}

static Tensor gridSample(GridSampleOp op, const Tensor &input, const Tensor &positions) {
  Tensor out(op.getType());
  size_t spatial = input.shape().size() - 2;
  forEachIndex(out.shape(), [&](ArrayRef<int64_t> at) {
    llvm::SmallVector<double> x;
    for (size_t d = 0; d < spatial; ++d) {
      Index from{at[0]};
      from.append(at.begin() + 2, at.end());
      from.push_back(static_cast<int64_t>(spatial - 1 - d));
      double value = positions.at(from), extent = static_cast<double>(input.shape()[2 + d]);
      double edge = op.getAtEdges() ? 0.5 : 0;
      if (op.getMode() == ResizeMode::nearest)
        value = std::nearbyint(value);
      if (op.getPadding() == SamplePadding::border && (value < -edge || value > extent - 1 + edge))
        value = std::clamp(value, 0.0, extent - 1);
      if (op.getPadding() == SamplePadding::reflection)
        value = mirrored(value, -edge, extent - 1 + edge);
      x.push_back(value);
    }
    if (op.getMode() == ResizeMode::nearest)
      return out.set(out.linearOf(at), paddedAt(op, input, at[0], at[1], x));
    bool cubic = op.getMode() == ResizeMode::cubic;
    Index taps(spatial, cubic ? 4 : 2);
    double sum = 0;
    forEachIndex(taps, [&](ArrayRef<int64_t> tap) {
      double weight = 1;
      llvm::SmallVector<double> position;
      for (size_t d = 0; d < spatial; ++d) {
        position.push_back(std::floor(x[d]) + static_cast<double>(tap[d]) - (cubic ? 1 : 0));
        double distance = position[d] - x[d];
        weight *= cubic ? keys(distance) : 1 - std::abs(distance);
      }
      sum += weight * paddedAt(op, input, at[0], at[1], position);
    });
    out.set(out.linearOf(at), sum);
  });
  return out;
}

static double bilinear(const Tensor &input, int64_t image, int64_t channel, double y, double x) {
  auto height = static_cast<double>(input.shape()[2]), width = static_cast<double>(input.shape()[3]);
  if (y < -1 || y > height || x < -1 || x > width)
    return 0;
  y = std::clamp(y, 0.0, height - 1);
  x = std::clamp(x, 0.0, width - 1);
  double sum = 0;
  for (int64_t row : {static_cast<int64_t>(y), static_cast<int64_t>(y) + 1})
    for (int64_t column : {static_cast<int64_t>(x), static_cast<int64_t>(x) + 1}) {
      double weight = (1 - std::abs(y - static_cast<double>(row))) * (1 - std::abs(x - static_cast<double>(column)));
      if (weight > 0)
        sum += weight * input.at({image, channel, row, column});
    }
  return sum;
}

static Tensor roiAlign(RoiAlignOp op, const Tensor &input, const Tensor &rois, const Tensor &images) {
  Tensor out(op.getType());
  double scale = op.getSpatialScale().convertToDouble(), offset = op.getHalfPixel() ? 0.5 : 0;
  forEachIndex(out.shape(), [&](ArrayRef<int64_t> at) {
    double corner[4], start[2], bin[2], count[2];
    for (int64_t k = 0; k < 4; ++k)
      corner[k] = rois.at({at[0], k}) * scale - offset;
    for (int d = 0; d < 2; ++d) {
      double size = corner[3 - d] - corner[1 - d];
      start[d] = corner[1 - d];
      bin[d] = (op.getHalfPixel() ? size : std::max(size, 1.0)) / static_cast<double>(out.shape()[2 + d]);
      count[d] = op.getSamplingRatio() ? static_cast<double>(op.getSamplingRatio()) : std::max(0.0, std::ceil(bin[d]));
    }
    double sum = 0;
    auto image = std::clamp<int64_t>(static_cast<int64_t>(images.get(at[0])), 0, input.shape()[0] - 1);
    for (double i = 0; i < count[0]; ++i)
      for (double k = 0; k < count[1]; ++k)
        sum += bilinear(input, image, at[1], start[0] + (static_cast<double>(at[2]) + (i + 0.5) / count[0]) * bin[0],
                        start[1] + (static_cast<double>(at[3]) + (k + 0.5) / count[1]) * bin[1]);
    out.set(out.linearOf(at), sum / std::max(1.0, count[0] * count[1]));
  });
  return out;
}

static Tensor poolIndex(PoolIndexOp op, const Tensor &input) {
  Tensor out(op.getType());
  forEachIndex(out.shape(), [&](ArrayRef<int64_t> at) {
    double largest = -HUGE_VAL;
    int64_t best = -1;
    forEachIndex(op.getKernel(), [&](ArrayRef<int64_t> tap) {
      Index from(at);
      for (size_t d = 0; d < tap.size(); ++d) {
        from[2 + d] = at[2 + d] * op.getStrides()[d] - op.getPadsLow()[d] + tap[d] * op.getDilations()[d];
        if (from[2 + d] < 0 || from[2 + d] >= input.shape()[2 + d])
          return;
      }
      if (best >= 0 && input.at(from) <= largest)
        return;
      largest = input.at(from);
      Index extents(input.shape());
      if (op.getColumnMajor()) {
        std::reverse(from.begin() + 2, from.end());
        std::reverse(extents.begin() + 2, extents.end());
      }
      best = 0;
      for (size_t d = 0; d < extents.size(); ++d)
        best = best * extents[d] + from[d];
    });
    out.set(out.linearOf(at), static_cast<double>(std::max<int64_t>(best, 0)));
  });
  return out;
}

/// Sorts, then takes one after the other: the kernel never sorts.
/// What bounds a selection: how many of a class, the most overlap and the least score.
struct Limits {
  int64_t most;
  double overlap;
  std::optional<double> score;
};

static void suppress(NonMaxSuppressionOp op, const Limits &limits, const Tensor &boxes, const Tensor &scores,
                     Tensor &selected, Tensor &count) {
  int64_t found = 0;
  auto overlap = [&](int64_t image, int64_t a, int64_t c) {
    double shared = 1, areas[2] = {1, 1};
    for (int64_t d = 0; d < 2; ++d) {
      double low[2], high[2];
      for (int i = 0; i < 2; ++i) {
        double first = boxes.at({image, i ? c : a, d}), second = boxes.at({image, i ? c : a, d + 2});
        low[i] = op.getCentered() ? first - second / 2 : std::min(first, second);
        high[i] = op.getCentered() ? first + second / 2 : std::max(first, second);
        areas[i] *= high[i] - low[i];
      }
      shared *= std::max(0.0, std::min(high[0], high[1]) - std::max(low[0], low[1]));
    }
    return shared / (areas[0] + areas[1] - shared);
  };
  for (int64_t image = 0; image < scores.shape()[0]; ++image)
    for (int64_t category = 0; category < scores.shape()[1]; ++category) {
      llvm::SmallVector<int64_t> order, kept;
      for (int64_t box = 0; box < scores.shape()[2]; ++box)
        if (!limits.score || scores.at({image, category, box}) > *limits.score)
          order.push_back(box);
      llvm::stable_sort(order, [&](int64_t a, int64_t c) {
        return scores.at({image, category, a}) > scores.at({image, category, c});
      });
      for (int64_t box : order)
        if (static_cast<int64_t>(kept.size()) < limits.most &&
            llvm::none_of(kept, [&](int64_t other) { return overlap(image, other, box) > limits.overlap; })) {
          kept.push_back(box);
          for (auto [k, value] : llvm::enumerate(Index{image, category, box}))
            selected.set(found * 3 + static_cast<int64_t>(k), static_cast<double>(value));
          ++found;
        }
    }
  count.set(0, static_cast<double>(found));
}

/// SplitMix64 by its published step and mix.
static Tensor random(RandomOp op) {
  Tensor out(op.getType());
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  uint64_t state = (static_cast<uint64_t>(op.getSeed()) + kGolden) * 0xbf58476d1ce4e5b9;
  state ^= state >> 31;
  for (int64_t i = 0; i < out.size(); ++i) {
    uint64_t z = state += kGolden;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    z ^= z >> 31;
    out.set(i, static_cast<double>(z >> 40) / (1 << 24));
  }
  return out;
}

bool interpretVision(Operation *op, Environment &values) {
  auto value = [&](Value of) -> const Tensor & { return values.find(of)->second; };
  auto yield = [&](Tensor result) { values.try_emplace(op->getResult(0), std::move(result)); };
  if (auto sample = dyn_cast<GridSampleOp>(op)) {
    yield(gridSample(sample, value(sample.getInput()), value(sample.getPositions())));
  } else if (auto align = dyn_cast<RoiAlignOp>(op)) {
    yield(roiAlign(align, value(align.getInput()), value(align.getRois()), value(align.getImages())));
  } else if (auto index = dyn_cast<PoolIndexOp>(op)) {
    yield(poolIndex(index, value(index.getInput())));
  } else if (auto draw = dyn_cast<RandomOp>(op)) {
    yield(random(draw));
  } else if (auto nms = dyn_cast<NonMaxSuppressionOp>(op)) {
    Tensor selected(nms.getSelected().getType()), count(nms.getCount().getType());
    Limits limits{static_cast<int64_t>(value(nms.getLimit()).at({})), value(nms.getOverlap()).at({}), {}};
    if (nms.getLeastScore())
      limits.score = value(nms.getLeastScore()).at({});
    suppress(nms, limits, value(nms.getBoxes()), value(nms.getScores()), selected, count);
    values.try_emplace(nms.getSelected(), std::move(selected));
    values.try_emplace(nms.getCount(), std::move(count));
  } else {
    return false;
  }
  return true;
}

} // namespace sluice::test
