//===- TrainingKernelTest.cpp - Kernels that only training graphs have ----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <catch2/catch.hpp>

using namespace sluice::test;

TEST_CASE("gradients of convolutions by their weights", "[dataflow]") {
  std::vector<Case> cases;
  auto add = [&](const std::vector<int64_t> &input, const std::vector<int64_t> &gradient,
                 const std::vector<int64_t> &weight, const std::string &attributes, const std::string &element = "f32",
                 double tolerance = 0) {
    std::string x = tensorOf(input, element), g = tensorOf(gradient, element);
    cases.push_back({"%x: " + x + ", %g: " + g,
                     "dataflow.conv_weight_gradient %x, %g " + attributes + " : (" + x + ", " + g + ") -> " +
                         tensorOf(weight, element),
                     {},
                     tolerance});
  };
  const std::string unit = "strides [1, 1] pads_low [1, 1] dilations [1, 1]";
  add({2, 3, 9, 21}, {2, 4, 9, 21}, {4, 3, 3, 3}, unit);
  add({2, 3, 9, 21}, {2, 5, 9, 21}, {5, 3, 3, 3}, unit);
  add({2, 3, 9, 21}, {2, 6, 9, 21}, {6, 3, 3, 3}, unit, "f64");
  add({2, 3, 9, 21}, {2, 4, 9, 21}, {4, 3, 3, 3}, unit, "f16", 2e-2);
  add({2, 3, 9, 21}, {2, 4, 9, 21}, {4, 3, 3, 3}, unit, "bf16", 1e-1);
  add({2, 3, 11, 23}, {2, 4, 5, 11}, {4, 3, 3, 3}, "strides [2, 2] pads_low [0, 0] dilations [1, 1]");
  add({1, 4, 12, 40}, {1, 6, 12, 38}, {6, 2, 3, 3},
      "strides [1, 1] pads_low [2, 1] dilations [2, 2] {groups = 2 : i64}");
  add({3, 4, 33}, {3, 4, 33}, {4, 1, 5}, "strides [1] pads_low [2] dilations [1] {groups = 4 : i64}");
  add({1, 2, 4, 5, 6}, {1, 2, 3, 4, 5}, {2, 2, 2, 2, 2}, "strides [1, 1, 1] pads_low [0, 0, 0] dilations [1, 1, 1]");
  // Taps that meet no position at all.
  add({1, 1, 1, 2}, {1, 1, 1, 2}, {1, 1, 5, 5}, "strides [1, 1] pads_low [2, 2] dilations [1, 1]");
  checkKernels(cases);
}

TEST_CASE("gradients of pooling", "[dataflow]") {
  std::vector<Case> cases;
  auto add = [&](const std::string &kind, int saved, const std::string &attributes, const std::string &element,
                 Fill fill = {}, double tolerance = 0) {
    std::string x = tensorOf({2, 3, 9, 10}, element), g = tensorOf({2, 3, 5, 5}, element);
    std::string arguments = "%g: " + g, list, types = g;
    if (saved > 0) {
      arguments += ", %x: " + x;
      list = " saved %x";
      types += ", " + x;
    }
    if (saved > 1) {
      arguments += ", %y: " + g;
      list += ", %y";
      types += ", " + g;
    }
    cases.push_back({arguments,
                     "dataflow.pool_gradient " + kind + " %g" + list + " " + attributes + " : (" + types + ") -> " + x,
                     {{-1, 1}, fill, {0.5, 2}},
                     tolerance});
  };
  const std::string plain = "kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1]";
  const std::string overlapping = "kernel [4, 2] strides [2, 2] pads [1, 0] to [2, 0] dilations [1, 2]";
  for (const std::string &window : {plain, overlapping}) {
    add("average", 0, window, "f32");
    add("average", 0, window + " {count_include_pad = true}", "f32");
    add("max", 1, window, "f32");
    add("max", 1, window, "f64");
    // Equals: the first of a window takes all.
    add("max", 1, window, "f32", {0, 0});
    add("lp", 2, window, "f32");
    add("lp", 2, window + " {p = 3 : i64}", "f64");
  }
  add("average", 0, plain, "bf16", {}, 5e-2);
  checkKernels(cases);
}

TEST_CASE("dropout masks", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *keep : {"0.0", "0.25", "0.9", "1.0"})
    for (const char *step : {"i32", "i64"})
      cases.push_back({std::string("%s: tensor<") + step + ">",
                       std::string("dataflow.dropout_mask %s {keep = ") + keep + " : f64, seed = -7 : i64} : (tensor<" +
                           step + ">) -> tensor<3x333xi1>",
                       {{5, 5}}});
  checkKernels(cases);
}

TEST_CASE("weights packed in each step", "[dataflow]") {
  std::vector<Case> cases;
  auto add = [&](const std::vector<int64_t> &weight, const std::vector<int64_t> &packed, const std::string &attributes,
                 const std::string &element) {
    cases.push_back({"%w: " + tensorOf(weight, element), "dataflow.pack_conv_weight %w {" + attributes +
                                                             "} : " + tensorOf(weight, element) + " -> " +
                                                             tensorOf(packed, element)});
  };
  for (const char *element : {"f32", "f16", "bf16"}) {
    add({32, 3, 3, 3}, {1, 2, 3, 3, 3, 16}, "groups = 1 : i64, block = 16 : i64", element);
    add({20, 3, 1, 2}, {1, 2, 1, 2, 3, 16}, "groups = 1 : i64, block = 16 : i64", element);
    add({12, 2, 3, 3}, {2, 1, 3, 3, 2, 8}, "groups = 2 : i64, block = 8 : i64", element);
    add({19, 1, 3, 3}, {3, 3, 32}, "groups = 19 : i64, block = 16 : i64, depthwise", element);
  }
  // [..., K, N], or transposed, in blocks of N that the last is not full of.
  auto addMatrix = [&](const std::vector<int64_t> &weight, const std::vector<int64_t> &packed, const char *how) {
    cases.push_back({"%w: " + tensorOf(weight, "f32"), std::string("dataflow.pack_matmul_rhs %w ") + how +
                                                           " {block = 8 : i64} : " + tensorOf(weight, "f32") + " -> " +
                                                           tensorOf(packed, "f32")});
  };
  addMatrix({5, 16}, {2, 5, 8}, "");
  addMatrix({5, 19}, {3, 5, 8}, "");
  addMatrix({19, 5}, {3, 5, 8}, "transposed");
  addMatrix({2, 3, 5, 9}, {2, 3, 2, 5, 8}, "");
  addMatrix({2, 9, 5}, {2, 2, 5, 8}, "transposed");
  checkKernels(cases);
}
