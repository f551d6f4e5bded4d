//===- WindowKernelTest.cpp - pool, resize, lrn -------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <catch2/catch.hpp>

using namespace sluice::test;

static Case pool(const std::string &kind, const std::vector<int64_t> &input, const std::vector<int64_t> &result,
                 const std::string &how, const std::string &attributes = "", const std::string &element = "f32",
                 Fill fill = {-2, 2}) {
  std::string in = tensorOf(input, element), out = tensorOf(result, element);
  return {"%x: " + in,
          "dataflow.pool " + kind + " %x " + how + (attributes.empty() ? "" : " {" + attributes + "}") + " : " + in +
              " -> " + out,
          {fill}};
}

TEST_CASE("pooling of every kind, both layouts, ragged windows", "[dataflow]") {
  const std::string last = "layout = #dataflow<layout channels_last>", counts = "count_include_pad = true";
  std::vector<Case> cases;
  for (const char *kind : {"max", "average", "lp"}) {
    cases.push_back(
        pool(kind, {2, 3, 9, 10}, {2, 3, 7, 4}, "kernel [3, 3] strides [1, 2] pads [0, 0] to [0, 0] dilations [1, 1]"));
    cases.push_back(pool(kind, {2, 9, 10, 21}, {2, 7, 4, 21},
                         "kernel [3, 3] strides [1, 2] pads [0, 0] to [0, 0] dilations [1, 1]", last));
    // ceil_mode: the last window is cut by the input's end.
    cases.push_back(
        pool(kind, {1, 2, 9, 10}, {1, 2, 5, 5}, "kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1]"));
    cases.push_back(pool(kind, {1, 9, 10, 33}, {1, 5, 6, 33},
                         "kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1]", last));
    cases.push_back(pool(kind, {1, 2, 17}, {1, 2, 6}, "kernel [4] strides [3] pads [2] to [2] dilations [2]"));
    cases.push_back(pool(kind, {1, 2, 5, 6, 7}, {1, 2, 3, 3, 7},
                         "kernel [2, 3, 3] strides [2, 2, 1] pads [0, 1, 1] to [1, 1, 1] dilations [1, 1, 1]"));
    cases.push_back(
        pool(kind, {1, 2, 7, 7}, {1, 2, 3, 3}, "kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [3, 2]"));
    cases.push_back(pool(kind, {1, 2, 6, 6}, {1, 2, 6, 6},
                         "kernel [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]", "", "f16"));
  }
  // The end of a ceil_mode window counts up to the padding's end, not beyond.
  cases.push_back(pool("average", {1, 2, 9, 10}, {1, 2, 5, 6},
                       "kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1]", counts));
  cases.push_back(pool("average", {1, 9, 10, 18}, {1, 5, 6, 18},
                       "kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1]", counts + ", " + last));
  cases.push_back(
      pool("average", {1, 2, 17}, {1, 2, 6}, "kernel [4] strides [3] pads [2] to [2] dilations [2]", counts));
  for (const char *p : {"1", "3", "4"})
    cases.push_back(pool("lp", {1, 2, 6, 6}, {1, 2, 4, 4},
                         "kernel [3, 3] strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1]",
                         std::string("p = ") + p + " : i64"));
  for (const char *element : {"i8", "ui8", "f64"})
    cases.push_back(pool("max", {1, 2, 6, 6}, {1, 2, 6, 6},
                         "kernel [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]", "", element, {0, 99}));
  cases.push_back(pool("max", {1, 6, 6, 40}, {1, 6, 6, 40},
                       "kernel [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]", last, "i8", {-99, 99}));
  // Vectors of every width, and the next narrower ones for the rest.
  for (const char *element : {"ui8", "i16", "f32", "f16"})
    for (int64_t channels : {3, 4, 7, 24, 127})
      cases.push_back(pool("max", {1, 6, 6, channels}, {1, 3, 3, channels},
                           "kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1]", last, element,
                           {0, 99}));
  cases.push_back(
      pool("max", {0, 2, 6, 6}, {0, 2, 6, 6}, "kernel [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]"));
  checkKernels(cases);
}

static Case resize(const std::string &mode, const std::vector<int64_t> &input, const std::vector<int64_t> &result,
                   const std::string &scales, const std::string &coordinates, const std::string &nearest = "floor",
                   const std::string &attributes = "", const std::string &element = "f32") {
  std::string in = tensorOf(input, element), out = tensorOf(result, element);
  return {"%x: " + in, "dataflow.resize " + mode + " %x scales [" + scales + "] " + coordinates + " " + nearest +
                           (attributes.empty() ? "" : " {" + attributes + "}") + " : " + in + " -> " + out};
}

TEST_CASE("resize after ONNX's formulas", "[dataflow]") {
  std::vector<Case> cases;
  const std::vector<std::string> modes = {"half_pixel", "pytorch_half_pixel",   "align_corners",
                                          "asymmetric", "half_pixel_symmetric", "tf_half_pixel_for_nn"};
  for (const std::string &coordinates : modes) {
    for (const char *nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
      cases.push_back(resize("nearest", {1, 2, 4, 5}, {1, 2, 8, 15}, "1.0, 1.0, 2.0, 3.0", coordinates, nearest));
    for (const char *mode : {"linear", "cubic"}) {
      cases.push_back(resize(mode, {1, 2, 4, 5}, {1, 2, 8, 15}, "1.0, 1.0, 2.0, 3.0", coordinates));
      cases.push_back(resize(mode, {1, 2, 9, 8}, {1, 2, 4, 6}, "1.0, 1.0, 0.5, 0.75", coordinates));
    }
    cases.push_back(resize("linear", {1, 1, 4, 5}, {1, 1, 1, 1}, "1.0, 1.0, 0.25, 0.2", coordinates));
  }
  cases.push_back(resize("nearest", {1, 2, 9, 8}, {1, 2, 4, 6}, "1.0, 1.0, 0.5, 0.75", "asymmetric", "floor"));
  cases.push_back(
      resize("nearest", {1, 4, 5, 3}, {1, 8, 10, 3}, "1.0, 2.0, 2.0, 1.0", "asymmetric", "floor", "", "i8"));
  cases.push_back(resize("cubic", {1, 1, 5, 6}, {1, 1, 9, 4}, "1.0, 1.0, 1.8, 0.67", "half_pixel", "floor",
                         "exclude_outside = true, cubic_coeff = -0.5 : f64"));
  for (const char *mode : {"nearest", "linear", "cubic"})
    cases.push_back(resize(mode, {1, 1, 6, 7}, {1, 1, 4, 9}, "1.0, 1.0, 1.0, 1.0", "tf_crop_and_resize",
                           "round_prefer_floor",
                           "extrapolation = 7.5 : f64, roi = array<f64: 0.0, 0.0, 0.17, -0.3, 1.0, 1.0, 0.83, 1.2>"));
  cases.push_back(
      resize("linear", {1, 4, 5, 3}, {1, 8, 10, 3}, "1.0, 2.0, 2.0, 1.0", "half_pixel", "floor", "", "f16"));
  cases.push_back(resize("linear", {2, 4, 5, 6}, {3, 8, 7, 3}, "1.5, 2.0, 1.4, 0.5", "half_pixel"));
  cases.push_back(resize("linear", {2, 9}, {2, 23}, "1.0, 2.5555555", "half_pixel"));
  checkKernels(cases);
}

TEST_CASE("local response normalisation", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *size : {"1", "3", "4", "5", "20"})
    cases.push_back({"%x: tensor<2x9x3x4xf32>",
                     std::string("dataflow.lrn %x {size = ") + size +
                         " : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 1.0 : f64} : tensor<2x9x3x4xf32> -> "
                         "tensor<2x9x3x4xf32>",
                     {{-3, 3}}});
  cases.push_back({"%x: tensor<2x3x4x9xf32>",
                   "dataflow.lrn %x {size = 5 : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 2.0 : f64, "
                   "channel_axis = 3 : i64} : tensor<2x3x4x9xf32> -> tensor<2x3x4x9xf32>"});
  checkKernels(cases);
}
