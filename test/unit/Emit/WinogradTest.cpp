//===- WinogradTest.cpp - Convolutions by transformed tiles ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ContractionHarness.h"
#include "dialects/Dataflow/Emit/WinogradSpec.h"
#include "sluice/Support/Rng.h"
#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::emit;
using namespace sluice::test;

namespace {

/// Pads at the top, left, bottom and right.
struct Pads {
  int64_t top = 1, left = 1, bottom = 1, right = 1;
};

ConvSpec imageOf(int64_t inC, int64_t outC, int64_t height, int64_t width, Pads pads = {}, int64_t batch = 1) {
  ConvSpec spec;
  spec.batch = batch;
  spec.inC = inC;
  spec.outC = outC;
  spec.inH = height;
  spec.inW = width;
  spec.kernelH = spec.kernelW = 3;
  spec.padTop = pads.top;
  spec.padLeft = pads.left;
  spec.outH = height + pads.top + pads.bottom - 2;
  spec.outW = width + pads.left + pads.right - 2;
  return spec;
}

} // namespace

TEST_CASE("winograd's points give a convolution", "[emit]") {
  Rng rng(3);
  for (int64_t outputs : {2, 4}) {
    double tile[6], filter[3];
    for (double &value : tile)
      value = rng.uniform();
    for (double &value : filter)
      value = rng.uniform();
    for (int64_t output = 0; output < outputs; ++output) {
      double sum = 0;
      for (int64_t i = 0; i < outputs + 2; ++i) {
        const WinogradPoint point = winogradPoint(outputs, i);
        double input = 0, weight = 0;
        for (int64_t k = 0; k < outputs + 2; ++k) {
          input += point.input[k] * tile[k];
          CHECK(static_cast<double>(static_cast<float>(point.input[k])) == point.input[k]);
        }
        for (int64_t k = 0; k < 3; ++k)
          weight += point.filter[k] * filter[k];
        sum += point.output[output] * input * weight;
        CHECK(static_cast<double>(static_cast<float>(point.output[output])) == point.output[output]);
      }
      const double expected = tile[output] * filter[0] + tile[output + 1] * filter[1] + tile[output + 2] * filter[2];
      CHECK(sum == Approx(expected).epsilon(1e-12));
    }
  }
}

TEST_CASE("winograd convolution equals the reference", "[emit]") {
  const VectorTarget &target = GENERATE(as<VectorTarget>{}, avx512, avx2, sse2);
  const int64_t outputs = GENERATE(2, 4);
  for (const ConvSpec &image :
       {imageOf(1, 1, 5, 5), imageOf(3, 7, 9, 11), imageOf(5, 33, 13, 10, {0, 1, 2, 0}), imageOf(16, 16, 14, 14),
        imageOf(17, 40, 7, 10, {2, 2, 2, 2}, 2), imageOf(70, 35, 15, 6), imageOf(8, 70, 28, 27),
        imageOf(24, 24, 12, 12, {0, 0, 0, 0}, 3), imageOf(9, 20, 11, 13, {-1, 0, 1, -2}), imageOf(6, 8, 1, 2),
        imageOf(4, 12, 3, 4, {4, 3, 5, 4}), imageOf(2, 4, 30, 31)}) {
    CAPTURE(describe(image), outputs, target.lanesF32);
    checkWinograd(describeWinograd(image, outputs, target), target);
  }
}

TEST_CASE("winograd convolution of channels in blocks", "[emit]") {
  const int64_t outputs = GENERATE(2, 4);
  for (auto [inC, depth] : {std::pair{40, 16}, {48, 16}, {300, 256}, {33, 32}}) {
    WinogradSpec spec = describeWinograd(imageOf(inC, 50, 9, 10, {}, 2), outputs, avx512);
    spec.depth = depth;
    CAPTURE(outputs, inC, depth);
    REQUIRE(spec.depthBlocks() > 1);
    checkWinograd(spec, avx512);
  }
}

TEST_CASE("winograd work items keep within their scratch", "[emit]") {
  for (const VectorTarget &target : {avx512, avx2, sse2})
    for (int64_t outputs : {2, 4})
      for (int64_t inC : {1, 3, 64, 200, 256, 257, 512, 2048})
        for (int64_t outC : {1, 7, 64, 1000})
          for (int64_t size : {1, 7, 14, 56, 300}) {
            const WinogradSpec spec = describeWinograd(imageOf(inC, outC, size, size), outputs, target);
            const WinogradBlocking blocking = chooseBlocking(spec, target);
            CAPTURE(inC, outC, size, outputs, target.lanesF32);
            CHECK(winogradScratchBytes(spec, blocking) <= kWinogradScratchBytes);
            CHECK(blocking.tiles * blocking.blocks >= spec.tiles());
            CHECK(blocking.panels * blocking.groups >= spec.panels());
          }
  // The largest blocks that a packed weight may have.
  WinogradSpec spec = describeWinograd(imageOf(1000, 5000, 20, 20), 4, avx512);
  spec.depth = kWinogradMostDepth;
  spec.panel = kWinogradMostPanel;
  CHECK(winogradScratchBytes(spec, chooseBlocking(spec, avx512)) <= kWinogradScratchBytes);
}

TEST_CASE("winograd's errors are as large as their bound says", "[emit]") {
  const int64_t outputs = GENERATE(2, 4);
  for (int64_t channels : {16, 128}) {
    const WinogradSpec spec = describeWinograd(imageOf(channels, 32, 32, 32), outputs, avx512);
    const double deviation = winogradErrorBound(spec) / 6;
    const double error = checkWinograd(spec, avx512);
    CAPTURE(outputs, channels, error, deviation);
    CHECK(error <= deviation);
    CHECK(error >= deviation / 6);
  }
}

TEST_CASE("winograd is chosen by shapes and tolerance", "[emit]") {
  const ConvSpec wide = imageOf(64, 64, 56, 56);
  const double coarse = winogradErrorBound(describeWinograd(wide, 4, avx512));
  const double fine = winogradErrorBound(describeWinograd(wide, 2, avx512));
  CHECK(fine < coarse);
  auto outputsOf = [](const ConvSpec &spec, double tolerance, bool isWanted = false) -> int64_t {
    std::optional<WinogradSpec> chosen = chooseWinograd(spec, avx512, tolerance, isWanted);
    return chosen ? chosen->outputs : 0;
  };
  CHECK(outputsOf(wide, 5e-4) == 4);
  CHECK(outputsOf(wide, (coarse + fine) / 2) == 2);
  CHECK(outputsOf(wide, fine / 2) == 0);
  CHECK(outputsOf(wide, fine / 2, true) == 0);
  // Few channels, few pixels.
  CHECK(outputsOf(imageOf(1, 1, 56, 56), 5e-4) == 0);
  CHECK(outputsOf(imageOf(3, 8, 56, 56), 5e-4) == 0);
  CHECK(outputsOf(imageOf(512, 512, 2, 2), 5e-4) == 0);
  CHECK(outputsOf(imageOf(1, 1, 56, 56), 5e-4, true) != 0);
  // Other windows, strides, dilations and groups.
  for (int64_t ConvSpec::*field : {&ConvSpec::kernelH, &ConvSpec::kernelW, &ConvSpec::strideH, &ConvSpec::strideW,
                                   &ConvSpec::dilationH, &ConvSpec::dilationW, &ConvSpec::groups}) {
    ConvSpec other = wide;
    other.*field = 2;
    CHECK(outputsOf(other, 5e-4, true) == 0);
  }
}

TEST_CASE("Winograd's tiles are cut as a tuning says, and its panels by the compiler", "[emit]") {
  for (int64_t tiles : {5, 16, 4096}) {
    ConvSpec image = imageOf(20, 70, 14, 14);
    const int64_t panel = describeWinograd(image, 4, avx512).panel;
    image.tuning.rowBlock = tiles;
    image.tuning.vectors = 4;
    const WinogradSpec spec = describeWinograd(image, 4, avx512);
    CHECK(spec.panel == panel);
    CHECK(chooseBlocking(spec, avx512).tiles <= tiles);
    checkWinograd(spec, avx512);
  }
}
