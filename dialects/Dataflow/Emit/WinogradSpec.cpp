//===- WinogradSpec.cpp - Convolutions by transformed tiles ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/WinogradSpec.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice::emit {

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Cook and Toom's construction with the last point at infinity. For a point p, of the polynomial N(x) of all finite
/// points: B^T has the coefficients of N(x) / (x - p), A^T the powers of p, and G the powers over N'(p).
WinogradPoint winogradPoint(int64_t outputs, int64_t point) {
  if (outputs == 2) {
    static constexpr WinogradPoint points[] = {{{1, 0, -1, 0}, {1, 0, 0}, {1, 0}},
                                               {{0, 1, 1, 0}, {0.5, 0.5, 0.5}, {1, 1}},
                                               {{0, -1, 1, 0}, {0.5, -0.5, 0.5}, {1, -1}},
                                               {{0, -1, 0, 1}, {0, 0, 1}, {0, 1}}};
    return points[point];
  }
  constexpr double a = kNearPoint, b = kFarPoint, sum = a * a + b * b, product = a * a * b * b;
  if (point == 0)
    return {{product, 0, -sum, 0, 1, 0}, {1 / product, 0, 0}, {1, 0, 0, 0}};
  if (point == 5)
    return {{0, product, 0, -sum, 0, 1}, {0, 0, 1}, {0, 0, 0, 1}};
  const double p = (point % 2 ? 1 : -1) * (point < 3 ? a : b), other = point < 3 ? b * b : a * a;
  const double scale = 1 / (2 * p * p * (p * p - other));
  return {{0, -p * other, -other, p, 1, 0}, {scale, p * scale, p * p * scale}, {1, p, p * p, p * p * p}};
}

bool allowsWinograd(const ConvSpec &spec) {
  return spec.kernelH == 3 && spec.kernelW == 3 && spec.strideH == 1 && spec.strideW == 1 && spec.dilationH == 1 &&
         spec.dilationW == 1 && spec.groups == 1 && !spec.isTurned;
}

//===----------------------------------------------------------------------===//
// Blocking
//===----------------------------------------------------------------------===//

// Costs in vector operations, measured on one core with AVX-512: the transforms of one vector at one point,
// and what it takes to bring a vector of weights from L2, or from behind it.
static constexpr double kInputWork = 11, kOutputWork = 6, kNearWork = 1, kFarWork = 8;

/// Register tiles that are not full wait for operands and for the adder.
static double tilePenalty(const RegisterTile &tile) {
  const double accumulators = static_cast<double>(tile.rows * tile.vectors);
  return std::max({1.0, static_cast<double>(tile.rows + tile.vectors) / accumulators, 8 / accumulators});
}

/// How much longer than its share of the work a thread runs where items do not divide evenly: the mean for some
/// numbers of threads.
static double imbalance(int64_t items) {
  double sum = 0;
  for (int64_t threads : {1, 2, 4})
    sum += static_cast<double>(ceilDiv(items, threads) * threads) / static_cast<double>(items);
  return sum / 3;
}

/// The work of reading weights, by vector: `bytes` of them are read `reads` times, and L2 has `room` bytes for them.
static double weightWork(int64_t bytes, int64_t reads, int64_t room) {
  const auto times = static_cast<double>(reads);
  return bytes <= room ? kFarWork + (times - 1) * kNearWork : times * kFarWork;
}

/// Vectors and parts of them that `channels` are read as.
static double numReads(int64_t channels, int64_t lanes) {
  const int64_t reads = channels / lanes + std::popcount(static_cast<uint64_t>(channels % lanes));
  return static_cast<double>(reads);
}

static int64_t roundUp(int64_t value, int64_t to) { return ceilDiv(value, to) * to; }

/// Scratch between two points is one cache line longer than its rows are: else that of all points could be in one set.
static constexpr int64_t kLineElements = 16;

int64_t winogradInputStride(const WinogradSpec &spec, const WinogradBlocking &blocking) {
  return roundUp(blocking.tiles * spec.depth, kLineElements) + kLineElements;
}
int64_t winogradSumStride(const WinogradSpec &spec, const WinogradBlocking &blocking) {
  return roundUp(blocking.tiles * spec.panel, kLineElements) + kLineElements;
}

int64_t winogradScratchBytes(const WinogradSpec &spec, const WinogradBlocking &blocking) {
  // Sums wait for further input channels, or go on at once.
  const int64_t heldPanels = spec.depthBlocks() > 1 ? blocking.panels : 1;
  return 4 * (spec.points() *
                  (winogradInputStride(spec, blocking) + heldPanels * winogradSumStride(spec, blocking) + spec.depth) +
              spec.outputs * spec.outputs * spec.panel);
}

static double blockedWork(const WinogradSpec &spec, const WinogradBlocking &blocking, const VectorTarget &target) {
  const auto points = static_cast<double>(spec.points()), channels = static_cast<double>(spec.image.inC);
  const auto outputs = static_cast<double>(spec.panels() * ceilDiv(spec.panel, target.lanesF32));
  const auto tiles = static_cast<double>(blocking.tiles * blocking.blocks);
  const RegisterTile tile = chooseTile(blocking.tiles, spec.panel, 32, target);
  double work = tiles * points * channels * outputs * tilePenalty(tile);
  work += tiles * points * outputs * static_cast<double>(spec.depthBlocks()) * 2; // Sums to and from scratch.
  work +=
      tiles * points * numReads(spec.image.inC, target.lanesF32) * static_cast<double>(blocking.groups) * kInputWork;
  work += tiles * points * outputs * kOutputWork;
  // A group's weights stay in L2 for the next block of tiles, or come anew.
  const int64_t groupBytes = 4 * spec.points() * spec.image.inC * blocking.panels * spec.panel;
  work += points * channels * outputs *
          weightWork(groupBytes, blocking.blocks, target.l2Bytes - winogradScratchBytes(spec, blocking));
  return work * imbalance(blocking.blocks * blocking.groups);
}

namespace {
struct Blocked {
  WinogradBlocking blocking;
  double work = HUGE_VAL;
};
} // namespace

static Blocked searchBlocking(const WinogradSpec &spec, const VectorTarget &target) {
  constexpr int64_t kMostTiles = 64; // One block of rows of a matrix product.
  const int64_t scratch = std::min(kWinogradScratchBytes, target.l2Bytes / 2);
  Blocked best{{1, spec.tiles(), 1, spec.panels()}};
  int64_t last = std::min(kMostTiles, spec.tiles()), first = 1;
  if (spec.image.tuning.rowBlock > 0) {
    last = std::min(last, spec.image.tuning.rowBlock);
    first = last = ceilDiv(spec.tiles(), ceilDiv(spec.tiles(), last));
  }
  for (int64_t most = first; most <= last; ++most) {
    WinogradBlocking blocking;
    blocking.blocks = ceilDiv(spec.tiles(), most);
    blocking.tiles = ceilDiv(spec.tiles(), blocking.blocks);
    if (blocking.tiles != most)
      continue;
    for (int64_t panels = 1; panels < 2 * spec.panels(); panels *= 2) {
      blocking.groups = ceilDiv(spec.panels(), panels);
      blocking.panels = ceilDiv(spec.panels(), blocking.groups);
      if (winogradScratchBytes(spec, blocking) > scratch)
        continue;
      const double work = blockedWork(spec, blocking, target);
      if (work < best.work)
        best = {blocking, work};
    }
  }
  return best;
}

WinogradBlocking chooseBlocking(const WinogradSpec &spec, const VectorTarget &target) {
  return searchBlocking(spec, target).blocking;
}

WinogradSpec describeWinograd(const ConvSpec &spec, int64_t outputs, const VectorTarget &target) {
  constexpr int64_t kDepthStep = 16;
  // The products over the points choose their own register tile, and panels with it.
  ConvSpec untiled = spec;
  untiled.tuning.vectors = 0;
  WinogradSpec winograd{spec, outputs, 1, convOutputBlock(untiled, target)};
  WinogradSpec best = winograd;
  double least = HUGE_VAL;
  for (int64_t most = kWinogradMostDepth; most >= kDepthStep; most -= kDepthStep) {
    // Whole vectors, but where one block has all channels.
    const int64_t blocks = ceilDiv(spec.inC, most);
    winograd.depth = blocks == 1 ? spec.inC : roundUp(ceilDiv(spec.inC, blocks), kDepthStep);
    if (winograd.depth == best.depth)
      continue;
    const double work = searchBlocking(winograd, target).work;
    if (work < least) {
      least = work;
      best = winograd;
    }
  }
  return best;
}

int64_t parallelExtent(const WinogradSpec &spec, const VectorTarget &target) {
  const WinogradBlocking blocking = chooseBlocking(spec, target);
  return blocking.blocks * blocking.groups;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

int64_t packedWinogradWeightsSize(const WinogradSpec &spec) {
  return spec.depthBlocks() * spec.panels() * spec.points() * spec.depth * spec.panel;
}

void packWinogradWeights(const WinogradSpec &spec, const float *weights, float *packed) {
  const int64_t extent = spec.extent(), inputs = spec.image.inC;
  std::array<std::array<double, 3>, 6> transform{};
  for (int64_t i = 0; i < extent; ++i)
    transform[i] = winogradPoint(spec.outputs, i).filter;
  // G g G^T; `to` is the filter's place at point 0.
  auto packFilter = [&](const float *filter, float *to) {
    std::array<std::array<double, 3>, 6> half{};
    for (int64_t i = 0; i < extent; ++i)
      for (int64_t column = 0; column < 3; ++column)
        for (int64_t row = 0; row < 3; ++row)
          half[i][column] += transform[i][row] * static_cast<double>(filter[row * 3 + column]);
    for (int64_t i = 0; i < extent; ++i)
      for (int64_t j = 0; j < extent; ++j) {
        double value = 0;
        for (int64_t column = 0; column < 3; ++column)
          value += half[i][column] * transform[j][column];
        to[(i * extent + j) * spec.depth * spec.panel] = static_cast<float>(value);
      }
  };
  std::fill_n(packed, packedWinogradWeightsSize(spec), 0.0F);
  for (int64_t panel = 0; panel < spec.panels(); ++panel)
    for (int64_t c = 0; c < inputs; ++c)
      for (int64_t m = panel * spec.panel; m < std::min((panel + 1) * spec.panel, spec.image.outC); ++m) {
        const int64_t row = (c / spec.depth * spec.panels() + panel) * spec.points() * spec.depth + c % spec.depth;
        packFilter(weights + (m * inputs + c) * 9, packed + row * spec.panel + m % spec.panel);
      }
}

//===----------------------------------------------------------------------===//
// Error and choice
//===----------------------------------------------------------------------===//

double winogradErrorBound(const WinogradSpec &spec) {
  // The variance of an output's error is that of its points' errors, each times what A, B and G make of it.
  double amplification = 0;
  for (int64_t output = 0; output < spec.outputs; ++output) {
    double variance = 0;
    for (int64_t i = 0; i < spec.extent(); ++i) {
      const WinogradPoint point = winogradPoint(spec.outputs, i);
      double input = 0, filter = 0;
      for (double entry : point.input)
        input += entry * entry;
      for (double entry : point.filter)
        filter += entry * entry;
      variance += point.output[output] * point.output[output] * input * filter;
    }
    amplification = std::max(amplification, variance / 3); // An output has three terms.
  }
  // Roundings on the way to an output: of the input's two transforms, of the weight, of a sum of products (on average
  // over its terms half of its length, cut as the kernels cut it), and of the two output transforms.
  constexpr int64_t kSumLength = 128;
  const int64_t length = std::min({spec.depth, spec.image.inC, kSumLength});
  const double sums =
      static_cast<double>(length + 1) / 2 + static_cast<double>(ceilDiv(spec.image.inC, length) + 1) / 2;
  const double roundings = (spec.outputs == 2 ? 2 + 4 : 4 + 6) + 1 + sums;
  constexpr double kUnit = 0x1p-24, kDeviations = 6;
  return kDeviations * amplification * std::sqrt(roundings / 3) * kUnit;
}

double winogradWork(const WinogradSpec &spec, const VectorTarget &target) { return searchBlocking(spec, target).work; }

double directWork(const ConvSpec &spec, const VectorTarget &target) {
  const RegisterTile tile = chooseTile(spec.outW, spec.outC, 32, target);
  const auto taps = static_cast<double>(spec.kernelH * spec.kernelW);
  const auto columns = static_cast<double>(ceilDiv(spec.outC, tile.block()) * tile.vectors);
  const auto pixels = static_cast<double>(spec.batch * spec.outH * spec.outW);
  double work = pixels * taps * static_cast<double>(spec.inC) * columns * tilePenalty(tile);
  const int64_t bytes = 4 * spec.kernelH * spec.kernelW * spec.inC * spec.outC;
  const int64_t rowBlocks = spec.batch * ceilDiv(spec.outH, convRowBlock(spec));
  work += taps * static_cast<double>(spec.inC) * columns * weightWork(bytes, rowBlocks, target.l2Bytes / 4 * 3);
  return work * imbalance(parallelExtent(spec, target));
}

std::optional<WinogradSpec> chooseWinograd(const ConvSpec &spec, const VectorTarget &target, double tolerance,
                                           bool isWanted) {
  // The gain must exceed the error of the estimates.
  constexpr double kLeastGain = 1.1;
  std::optional<WinogradSpec> best;
  if (!allowsWinograd(spec))
    return best;
  double least = isWanted ? HUGE_VAL : directWork(spec, target) / kLeastGain;
  for (int64_t outputs : {2, 4}) {
    WinogradSpec winograd = describeWinograd(spec, outputs, target);
    const double work = winogradWork(winograd, target);
    if (work < least && winogradErrorBound(winograd) <= tolerance) {
      least = work;
      best = winograd;
    }
  }
  return best;
}

} // namespace sluice::emit
