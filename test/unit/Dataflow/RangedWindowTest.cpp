//===- RangedWindowTest.cpp - Windows over images of a step ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RangedKernels.h"

#include <catch2/catch.hpp>

using namespace sluice::test;

namespace {

using Numbers = std::vector<int64_t>;
/// Extents: numbers, or expressions in braces.
using Shape = std::vector<std::string>;

std::string typeOf(const Shape &shape, const std::string &element) {
  std::string text = "tensor<";
  for (const std::string &extent : shape)
    text += extent + "x";
  return text + element + ">";
}

std::string listOf(const Numbers &numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

/// (extent + grown) / by + 1, rounded down: of a number, or of an expression.
std::string windowsOf(const std::string &extent, int64_t grown, int64_t by) {
  if (extent.front() != '{')
    return std::to_string((std::stoll(extent) + grown) / by + 1);
  const std::string inner = extent.substr(1, extent.size() - 2);
  return "{(" + inner + " + " + std::to_string(grown) + ") floordiv " + std::to_string(by) + " + 1}";
}

struct Conv {
  std::string symbols;
  Shape input;
  Numbers weight, strides, pads, dilations;
  int64_t groups = 1;
  std::string element = "f32";
};

Shape resultOf(const Conv &conv, bool isLast) {
  const size_t spatial = conv.strides.size();
  Shape shape = {conv.input[0]};
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t reach = (conv.weight[2 + d] - 1) * conv.dilations[d] + 1;
    shape.push_back(
        windowsOf(conv.input[d + (isLast ? 1 : 2)], conv.pads[d] + conv.pads[d + spatial] - reach, conv.strides[d]));
  }
  shape.insert(isLast ? shape.end() : shape.begin() + 1, std::to_string(conv.weight[0]));
  return shape;
}

Shape textsOf(const Numbers &numbers) {
  Shape texts;
  for (int64_t number : numbers)
    texts.push_back(std::to_string(number));
  return texts;
}

/// "%x, %w ..." without the operator's name, and its types.
std::string formOf(const Conv &conv, bool isLast) {
  return "strides " + listOf(conv.strides) + " pads " + listOf(conv.pads) + " dilations " + listOf(conv.dilations) +
         " {groups = " + std::to_string(conv.groups) + " : i64" +
         (isLast ? ", layout = #dataflow<layout channels_last>" : "") + "} : " + typeOf(conv.input, conv.element) +
         ", " + typeOf(textsOf(conv.weight), conv.element) + " -> " + typeOf(resultOf(conv, isLast), conv.element);
}

RangedCase plain(const Conv &conv, bool isLast = false) {
  return {conv.symbols,
          "%x: " + typeOf(conv.input, conv.element) + ", %w: " + typeOf(textsOf(conv.weight), conv.element),
          "dataflow.conv %x, %w " + formOf(conv, isLast),
          {{-1, 1}},
          conv.element == "f32" ? 5e-5 : 0};
}

RangedCase packed(const Conv &conv) {
  RangedCase made = plain(conv, /*isLast=*/true);
  made.isPacked = true;
  return made;
}

/// A convolution with a channel's bias, a residual and `function` behind it.
RangedCase fused(const Conv &conv, const std::string &function) {
  const std::string in = typeOf(conv.input, "f32"), weight = typeOf(textsOf(conv.weight), "f32"),
                    out = typeOf(resultOf(conv, true), "f32"),
                    bias = "tensor<" + std::to_string(conv.weight[0]) + "xf32>";
  return {conv.symbols,
          "%x: " + in + ", %w: " + weight + ", %c: " + bias + ", %y: " + out,
          "dataflow.fused (%a = %x : " + in + ", %b = %w : " + weight + ", %d = %c : " + bias + ", %e = %y : " + out +
              ") -> (" + out + ") {\n%0 = dataflow.conv %a, %b " + formOf(conv, true) +
              "\n%1 = dataflow.binary add %0, %d : " + out + ", " + bias +
              "\n%2 = dataflow.binary add %1, %e : " + out + ", " + out + "\n%r = dataflow.unary " + function +
              " %2 : " + out + "\ndataflow.yield %r : " + out + "\n}",
          {{-1, 1}},
          1e-4,
          /*isPacked=*/true};
}

const std::string kBatch = R"("b" = 0 to 3, "w" = 1 to 75)", kImage = R"("h" = 3 to 9, "w" = 3 to 75)";
const Numbers kOne = {1, 1}, kAround = {1, 1, 1, 1}, kNone = {0, 0, 0, 0};

} // namespace

TEST_CASE("packed convolutions of a step's images", "[dataflow][ranged][conv]") {
  checkRanged({
      packed({kBatch, {"{s0}", "4", "{s1}", "5"}, {21, 5, 3, 3}, kOne, kAround, kOne}),
      packed({kImage, {"1", "{s0}", "{s1}", "16"}, {32, 16, 3, 3}, {2, 2}, {0, 1, 1, 0}, kOne}),
      packed({kImage, {"1", "{s0}", "{s1}", "6"}, {12, 3, 3, 2}, {1, 2}, {2, 0, 1, 1}, {2, 3}, 2}),
      packed({kImage, {"2", "{s0}", "{2 * s1}", "3"}, {17, 3, 5, 5}, {2, 2}, {2, 2, 2, 2}, kOne}),
      // The step gives the number of images, or their height, alone.
      packed({R"("b" = 0 to 5)", {"{s0}", "5", "11", "5"}, {21, 5, 3, 3}, kOne, kAround, kOne}),
      packed({R"("h" = 1 to 40)", {"2", "{s0}", "11", "5"}, {21, 5, 3, 3}, {2, 1}, kAround, kOne}),
      // Windows that lie in the padding altogether, and pads that crop.
      packed({R"("h" = 1 to 4, "w" = 1 to 30)", {"1", "{s0}", "{s1}", "2"}, {5, 2, 2, 2}, kOne, {3, 3, 3, 3}, kOne}),
      packed({R"("h" = 5 to 9, "w" = 6 to 40)", {"1", "{s0}", "{s1}", "2"}, {3, 2, 3, 3}, kOne, {-1, -2, 0, -1}, kOne}),
      // Groups that fill a vector together.
      packed({kImage, {"1", "{s0}", "{s1}", "16"}, {16, 8, 3, 3}, kOne, kAround, kOne, 2}),
      packed({kImage, {"1", "{s0}", "{s1 + 1}", "16"}, {16, 4, 3, 3}, {2, 2}, {0, 0, 1, 1}, {1, 2}, 4}),
      // Signals, as rows and as columns; more channels than a tile copies.
      packed({kBatch, {"{s0}", "1", "{s1 + 8}", "4"}, {7, 4, 1, 5}, {1, 2}, {0, 2, 0, 1}, {1, 2}}),
      packed({kBatch, {"{s0}", "{s1 + 8}", "1", "4"}, {7, 4, 5, 1}, {2, 1}, {2, 0, 1, 0}, {2, 1}}),
      packed({R"("w" = 1 to 40)", {"1", "1", "{s0}", "1400"}, {3, 1400, 1, 3}, kOne, {0, 1, 0, 1}, kOne}),
      // Pointwise.
      packed({kImage, {"1", "{s0}", "{s1}", "19"}, {37, 19, 1, 1}, kOne, kNone, kOne}),
      packed({kBatch, {"{s0}", "7", "{s1}", "19"}, {37, 19, 1, 1}, {2, 2}, kNone, kOne}),
      packed({R"("b" = 0 to 40)", {"{s0}", "3", "5", "19"}, {37, 19, 1, 1}, kOne, kNone, kOne}),
      packed({R"("w" = 1 to 700)", {"1", "1", "{s0}", "3"}, {8, 3, 1, 1}, kOne, kNone, kOne}),
  });
}

TEST_CASE("packed convolutions of a step's images in half precision", "[dataflow][ranged][conv]") {
  checkRanged({
      packed({kImage, {"1", "{s0}", "{s1}", "12"}, {9, 12, 3, 3}, kOne, kAround, kOne, 1, "f16"}),
      packed({kImage, {"1", "{s0}", "{s1}", "12"}, {10, 6, 3, 3}, {1, 2}, {2, 3, 1, 1}, {1, 1}, 2, "bf16"}),
      packed({kImage, {"1", "{s0}", "{s1}", "16"}, {16, 8, 3, 3}, kOne, kAround, kOne, 2, "f16"}),
      packed({R"("w" = 1 to 40)", {"1", "1", "{s0}", "2000"}, {2, 2000, 1, 3}, kOne, {0, 1, 0, 1}, kOne, 1, "f16"}),
      packed({kImage, {"1", "{s0}", "{s1}", "21"}, {21, 1, 3, 3}, kOne, kAround, kOne, 21, "f16"}),
      packed({kImage, {"1", "{s0}", "{s1}", "19"}, {37, 19, 1, 1}, kOne, kNone, kOne, 1, "bf16"}),
  });
}

TEST_CASE("depthwise convolutions of a step's images", "[dataflow][ranged][conv]") {
  for (int64_t lanes : {0, 4})
    checkRanged(
        {
            packed({kBatch, {"{s0}", "7", "{s1}", "21"}, {21, 1, 3, 3}, kOne, kAround, kOne, 21}),
            packed({kImage, {"1", "{s0}", "{s1}", "33"}, {33, 1, 5, 5}, {2, 2}, {2, 2, 2, 2}, kOne, 33}),
            packed({kImage, {"2", "{s0}", "{s1}", "16"}, {16, 1, 3, 3}, {2, 2}, {0, 0, 1, 1}, kOne, 16}),
            packed({kImage, {"1", "{s0}", "{s1}", "5"}, {5, 1, 3, 9}, kOne, {0, 4, 0, 4}, kOne, 5}),
            packed({kImage, {"1", "{s0}", "{s1 + 6}", "24"}, {24, 1, 3, 2}, {1, 3}, {2, 0, 1, 2}, {2, 5}, 24}),
            packed({R"("h" = 1 to 12)", {"2", "{s0}", "13", "24"}, {24, 1, 3, 3}, {2, 1}, kAround, kOne, 24}),
            fused({kBatch, {"{s0}", "7", "{s1}", "33"}, {33, 1, 3, 3}, kOne, kAround, kOne, 33}, "relu"),
            fused({kBatch, {"{s0}", "7", "{s1}", "33"}, {33, 1, 3, 3}, kOne, kAround, kOne, 33}, "tanh"),
        },
        lanes);
}

TEST_CASE("what follows convolutions of a step's images", "[dataflow][ranged][conv]") {
  std::vector<RangedCase> cases;
  // A short epilogue stands in every tile, a long one in a loop.
  for (const char *function : {"relu", "tanh"}) {
    cases.push_back(fused({kImage, {"1", "{s0}", "{s1}", "5"}, {32, 5, 3, 3}, kOne, kAround, kOne}, function));
    cases.push_back(fused({kBatch, {"{s0}", "6", "{s1}", "5"}, {21, 5, 3, 3}, {2, 2}, kAround, kOne}, function));
    cases.push_back(fused({kBatch, {"{s0}", "3", "{s1}", "19"}, {37, 19, 1, 1}, kOne, kNone, kOne}, function));
    cases.push_back(fused({kBatch, {"{s0}", "{s1}", "1", "5"}, {21, 5, 3, 1}, kOne, {1, 0, 1, 0}, kOne}, function));
  }
  checkRanged(cases);
}

TEST_CASE("convolutions of a step's images by transformed tiles", "[dataflow][ranged][conv]") {
  std::vector<RangedCase> cases = {
      packed({kBatch, {"{s0}", "4", "{s1}", "5"}, {21, 5, 3, 3}, kOne, kAround, kOne}),
      packed({kImage, {"1", "{s0}", "{s1}", "8"}, {12, 8, 3, 3}, kOne, {0, 1, 2, 0}, kOne}),
      packed({R"("h" = 5 to 9, "w" = 6 to 40)", {"1", "{s0}", "{s1}", "2"}, {3, 2, 3, 3}, kOne, {-1, -2, 0, -1}, kOne}),
      packed({R"("b" = 0 to 9)", {"{s0}", "3", "3", "40"}, {4, 40, 3, 3}, kOne, {2, 2, 2, 2}, kOne}),
      packed({R"("h" = 1 to 40)", {"1", "{s0}", "2", "300"}, {2, 300, 3, 3}, kOne, kAround, kOne}),
      fused({kImage, {"1", "{s0}", "{s1}", "6"}, {17, 6, 3, 3}, kOne, kAround, kOne}, "tanh"),
  };
  for (RangedCase &made : cases)
    made.algorithm = "winograd4";
  checkRanged(cases);
  for (RangedCase &made : cases)
    made.algorithm = "winograd2";
  checkRanged({cases[0], cases[2]}, /*lanes=*/4);
}

TEST_CASE("convolutions of a step's images by taps as channels", "[dataflow][ranged][conv]") {
  std::vector<RangedCase> cases = {
      packed({kBatch, {"{s0}", "3", "{s1}", "8"}, {3, 8, 5, 9}, kOne, {2, 4, 2, 4}, kOne}),
      packed({kImage, {"1", "{s0}", "{s1 + 4}", "5"}, {3, 5, 3, 3}, {2, 1}, {0, 2, 1, 1}, {1, 3}}),
      packed({R"("h" = 1 to 70)", {"2", "{s0}", "21", "7"}, {1, 7, 1, 5}, kOne, kNone, kOne}),
  };
  for (RangedCase &made : cases)
    made.algorithm = "shift_add";
  for (int64_t lanes : {0, 4})
    checkRanged(cases, lanes);
}

TEST_CASE("convolutions of a step's images in shorter vectors", "[dataflow][ranged][conv]") {
  for (int64_t lanes : {4, 8})
    checkRanged({packed({kImage, {"1", "{s0}", "{s1}", "5"}, {21, 5, 3, 3}, {2, 2}, kAround, kOne}),
                 packed({kImage, {"1", "{s0}", "{s1}", "16"}, {16, 4, 3, 3}, kOne, kAround, kOne, 4}),
                 fused({kImage, {"1", "{s0}", "{s1}", "19"}, {37, 19, 1, 1}, kOne, kNone, kOne}, "relu")},
                lanes);
}

TEST_CASE("convolutions of a step's images with weights that are not packed", "[dataflow][ranged][conv]") {
  checkRanged({
      plain({kImage, {"2", "3", "{s0}", "{s1}"}, {5, 3, 3, 3}, {2, 1}, kAround, kOne}),
      plain({kImage, {"1", "4", "{s0}", "{s1}"}, {6, 2, 3, 2}, {2, 1}, {0, 1, 2, 0}, {1, 2}, 2}),
      plain({kBatch, {"{s0}", "3", "{s1 + 8}"}, {4, 3, 5}, {2}, {2, 1}, {2}}),
      plain({kBatch, {"{s0}", "{s1 + 8}", "3"}, {4, 3, 5}, {2}, {2, 1}, {2}}, true),
      plain({R"("d" = 2 to 5, "w" = 3 to 30)",
             {"1", "2", "{s0}", "6", "{s1}"},
             {3, 2, 2, 3, 3},
             {1, 2, 1},
             {1, 0, 1, 0, 1, 2},
             {2, 1, 1}}),
      plain({kImage, {"1", "3", "{s0}", "{s1}"}, {4, 3, 3, 3}, kOne, kAround, kOne, 1, "f64"}),
  });
}

namespace {
RangedCase transposed(const std::string &symbols, const Shape &input, const Numbers &weight, const Shape &result,
                      const std::string &how) {
  const std::string in = typeOf(input, "f32"), filters = typeOf(textsOf(weight), "f32");
  return {symbols,
          "%x: " + in + ", %w: " + filters,
          "dataflow.conv_transpose %x, %w " + how + " : (" + in + ", " + filters + ") -> " + typeOf(result, "f32"),
          {{-1, 1}},
          5e-5};
}

RangedCase pool(const std::string &symbols, const std::string &kind, const Shape &input, const Shape &result,
                const std::string &how, const std::string &element = "f32") {
  const std::string in = typeOf(input, element);
  return {symbols,
          "%x: " + in,
          "dataflow.pool " + kind + " %x " + how + " : " + in + " -> " + typeOf(result, element),
          {{-2, 2}}};
}

RangedCase resize(const std::string &symbols, const std::string &mode, const Shape &input, const Shape &result,
                  const std::string &how, const std::string &element = "f32") {
  const std::string in = typeOf(input, element);
  const double tolerance = mode == "nearest" ? 0 : 5e-5; // The reference computes coordinates in f64.
  return {symbols,
          "%x: " + in,
          "dataflow.resize " + mode + " %x " + how + " : " + in + " -> " + typeOf(result, element),
          {},
          tolerance};
}
} // namespace

TEST_CASE("transposed convolutions of a step's images", "[dataflow][ranged][conv]") {
  checkRanged({
      transposed(kImage, {"1", "3", "{s0}", "{s1}"}, {3, 4, 3, 3}, {"1", "4", "{s0 + 2}", "{s1 + 2}"},
                 "strides [1, 1] pads_low [0, 0] dilations [1, 1]"),
      transposed(kBatch, {"{s0}", "4", "5", "{s1}"}, {4, 3, 3, 2}, {"{s0}", "6", "10", "{3 * s1 - 1}"},
                 "strides [2, 3] pads_low [1, 0] dilations [1, 2] {groups = 2 : i64}"),
      // More output than any tap reaches.
      transposed(kBatch, {"{s0}", "2", "{s1}"}, {2, 2, 4}, {"{s0}", "2", "{3 * s1 + 5}"},
                 "strides [3] pads_low [2] dilations [1]"),
  });
}

TEST_CASE("pooling of a step's images", "[dataflow][ranged][window]") {
  std::vector<RangedCase> cases;
  const std::string last = " {layout = #dataflow<layout channels_last>}";
  for (const char *kind : {"max", "average", "lp"}) {
    const std::string three = "kernel [3, 3] strides [1, 2] pads [0, 1] to [0, 0] dilations [1, 1]";
    cases.push_back(pool(kImage, kind, {"2", "3", "{s0}", "{s1}"}, {"2", "3", "{s0 - 2}", "{s1 floordiv 2}"}, three));
    cases.push_back(
        pool(kImage, kind, {"2", "{s0}", "{s1}", "21"}, {"2", "{s0 - 2}", "{s1 floordiv 2}", "21"}, three + last));
    cases.push_back(pool(kBatch, kind, {"{s0}", "2", "{s1 + 5}"}, {"{s0}", "2", "{(s1 + 2) floordiv 3 + 1}"},
                         "kernel [4] strides [3] pads [2] to [2] dilations [2]"));
    // ceil_mode: the end of the image cuts the last window.
    cases.push_back(pool(kBatch, kind, {"{s0}", "9", "{s1}", "33"}, {"{s0}", "5", "{s1 ceildiv 2}", "33"},
                         "kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1]" + last));
  }
  const std::string counts = "count_include_pad = true", ceiled = "kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] "
                                                                  "dilations [1, 1] {";
  cases.push_back(
      pool(kBatch, "average", {"{s0}", "2", "9", "{s1}"}, {"{s0}", "2", "5", "{s1 ceildiv 2}"}, ceiled + counts + "}"));
  cases.push_back(pool(kBatch, "average", {"{s0}", "9", "{s1}", "18"}, {"{s0}", "5", "{s1 ceildiv 2}", "18"},
                       ceiled + counts + ", layout = #dataflow<layout channels_last>}"));
  cases.push_back(pool(kImage, "max", {"1", "2", "{s0}", "{s1}"}, {"1", "2", "{s0}", "{s1}"},
                       "kernel [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]", "ui8"));
  const std::string in = "tensor<2x3x{s0}x{s1}xf32>", out = "tensor<2x3x{s0}x{s1}xi64>";
  for (const char *order : {"", "{column_major} "})
    cases.push_back({kImage, "%x: " + in,
                     std::string("dataflow.pool_index %x kernel [3, 3] strides [1, 1] pads [1, 1] dilations [1, 1] ") +
                         order + ": " + in + " -> " + out});
  checkRanged(cases);
}

TEST_CASE("resizes of a step's images", "[dataflow][ranged][window]") {
  std::vector<RangedCase> cases;
  const Shape image = {"1", "2", "{s0}", "{s1}"}, larger = {"1", "2", "{2 * s0}", "{3 * s1}"},
              smaller = {"1", "2", "{s0 floordiv 2}", "{3 * s1 floordiv 4}"};
  const std::string up = "scales [1.0, 1.0, 2.0, 3.0] ", down = "scales [1.0, 1.0, 0.5, 0.75] ";
  for (const std::string coordinates : {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                                        "half_pixel_symmetric", "tf_half_pixel_for_nn"}) {
    cases.push_back(resize(kImage, "nearest", image, larger, up + coordinates + " round_prefer_floor"));
    cases.push_back(resize(kImage, "linear", image, larger, up + coordinates + " floor"));
    cases.push_back(resize(kImage, "linear", image, smaller, down + coordinates + " floor"));
    cases.push_back(resize(kImage, "cubic", image, larger, up + coordinates + " floor {exclude_outside = true}"));
  }
  cases.push_back(resize(kBatch, "nearest", {"{s0}", "3", "{s1}", "8"}, {"{s0}", "6", "{2 * s1}", "8"},
                         "scales [1.0, 2.0, 2.0, 1.0] asymmetric floor"));
  cases.push_back(resize(kBatch, "nearest", {"{s0}", "3", "{s1}", "8"}, {"{s0}", "6", "{2 * s1}", "8"},
                         "scales [1.0, 2.0, 2.0, 1.0] half_pixel round_prefer_ceil", "i8"));
  // Edges of the region that no position meets exactly: rounding decides what lies outside there.
  const std::string crop =
      " {extrapolation = 7.5 : f64, roi = array<f64: 0.0, 0.0, 0.1713, -0.3173, 1.0, 1.0, 0.8259, 1.2391>}";
  for (const char *mode : {"nearest", "linear"})
    cases.push_back(resize(kImage, mode, image, {"1", "2", "{s0 - 2}", "{s1 + 3}"},
                           "scales [1.0, 1.0, 1.0, 1.0] tf_crop_and_resize round_prefer_floor" + crop));
  checkRanged(cases);
}
