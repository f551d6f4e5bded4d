//===- RowKernelTest.cpp - Reductions, softmax, norms, scans ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace sluice::test;

using Shape = std::vector<int64_t>;

static Case reduce(const std::string &kind, const Shape &input, const Shape &axes, bool keep = false,
                   Fill fill = {-2, 2}, const std::string &element = "f32") {
  Shape result;
  std::string list;
  for (size_t d = 0; d < input.size(); ++d)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end())
      result.push_back(input[d]);
    else if (keep)
      result.push_back(1);
  for (int64_t axis : axes)
    list += (list.empty() ? "" : ", ") + std::to_string(axis);
  std::string type = tensorOf(input, element);
  return {"%x: " + type,
          "dataflow.reduce " + kind + " %x axes [" + list + "]" + (keep ? " {keep_dims = true}" : "") + " : " + type +
              " -> " + tensorOf(result, element),
          {fill},
          element == "f32" ? 5e-5 : 0};
}

TEST_CASE("reductions of every kind over every choice of axes", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *kind : {"sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"}) {
    Fill fill = std::string(kind) == "log_sum" || std::string(kind) == "prod" ? Fill{0.5, 1.5} : Fill{-2, 2};
    for (const Shape &axes : {Shape{2}, {0}, {1}, {0, 2}, {1, 2}, {0, 1, 2}})
      cases.push_back(reduce(kind, {3, 5, 37}, axes, axes[0] == 1, fill));
    cases.push_back(reduce(kind, {}, {}, false, fill));
  }
  cases.push_back(reduce("sum", {2, 3, 4, 19}, {1}));
  cases.push_back(reduce("sum", {2, 3, 4, 19}, {1, 3}));
  cases.push_back(reduce("sum", {2, 1, 4, 1, 19}, {1, 2, 3}, true));
  cases.push_back(reduce("sum", {5, 33, 1}, {0}));
  cases.push_back(reduce("sum", {5, 33, 1}, {2}, true));
  cases.push_back(reduce("sum", {1, 1}, {0}));
  cases.push_back(reduce("sum", {4, 7}, {}));
  cases.push_back(reduce("sum", {300, 257}, {0}));
  cases.push_back(reduce("mean", {300, 257}, {1}));
  cases.push_back(reduce("sum", {3, 0}, {1}));
  cases.push_back(reduce("prod", {3, 0}, {1}));
  cases.push_back(reduce("sum", {0, 3}, {1}));
  for (const char *kind : {"max", "min", "sum"}) {
    cases.push_back(reduce(kind, {9, 40}, {1}, false, {-2, 2, true}));
    cases.push_back(reduce(kind, {9, 40}, {0}, false, {-2, 2, true}));
  }
  for (const char *kind : {"sum", "mean", "max", "l2"})
    for (const char *element : {"f16", "bf16", "f64"}) {
      cases.push_back(reduce(kind, {5, 37}, {1}, false, {-2, 2}, element));
      cases.push_back(reduce(kind, {5, 37}, {0}, false, {-2, 2}, element));
    }
  for (const char *element : {"i8", "i32", "i64", "ui8", "ui32", "ui64"})
    for (const char *kind : {"sum", "max", "min", "prod", "sum_square", "l1"})
      cases.push_back(reduce(kind, {5, 37}, {1}, false, {element[0] == 'u' ? 0.0 : -9.0, 9, true}, element));
  cases.push_back(reduce("mean", {5, 37}, {1}, false, {-90, 90}, "i32"));
  cases.push_back(reduce("max", {5, 37}, {1}, false, {}, "i1"));
  cases.push_back(reduce("min", {5, 37}, {0}, false, {}, "i1"));
  checkKernels(cases);
}

TEST_CASE("log_sum_exp of infinities and large numbers", "[dataflow]") {
  checkKernels({reduce("log_sum_exp", {5, 37}, {1}, false, {500, 1000}),
                reduce("log_sum_exp", {40, 20}, {0}, false, {-1000, -500}),
                {"", "%x = dataflow.constant dense<[[0xFF800000, 0xFF800000], [0xFF800000, 1.0], [0x7F800000, 1.0], "
                     "[0x7F800000, 0xFF800000]]> : tensor<4x2xf32>\n"
                     "dataflow.reduce log_sum_exp %x axes [1] : tensor<4x2xf32> -> tensor<4xf32>"}});
}

TEST_CASE("softmax along any axis", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *log : {"", ", log = true"})
    for (const char *type : {"tensor<3x5x37xf32>", "tensor<3x5x37xf16>", "tensor<3x5x37xf64>"})
      for (const char *axis : {"0", "1", "2"})
        cases.push_back(
            {std::string("%x: ") + type,
             std::string("dataflow.softmax %x {axis = ") + axis + " : i64" + log + "} : " + type + " -> " + type,
             {{-9, 9}}});
  cases.push_back({"%x: tensor<2x9000xf32>",
                   "dataflow.softmax %x {axis = 1 : i64} : tensor<2x9000xf32> -> tensor<2x9000xf32>",
                   {{-9, 9}}});
  cases.push_back({"%x: tensor<4x1xf32>",
                   "dataflow.softmax %x {axis = 1 : i64} : tensor<4x1xf32> -> tensor<4x1xf32>",
                   {{500, 900}}});
  cases.push_back({"%x: tensor<0x5xf32>", "dataflow.softmax %x {axis = 1 : i64} : tensor<0x5xf32> -> tensor<0x5xf32>"});
  checkKernels(cases);
}

TEST_CASE("layer and instance normalisation", "[dataflow]") {
  auto layer = [](const std::string &input, const std::string &scale, const std::string &bias, int axis) -> Case {
    std::string operands = "%x, %s" + std::string(bias.empty() ? "" : ", %b");
    std::string types = input + ", " + scale + (bias.empty() ? "" : ", " + bias);
    return {"%x: " + input + ", %s: " + scale + (bias.empty() ? "" : ", %b: " + bias),
            "dataflow.layer_norm " + operands + " {axis = " + std::to_string(axis) +
                " : i64, epsilon = 1.0e-5 : f64} : " + types + " -> " + input,
            {{-2, 3}},
            input.find("f32") != std::string::npos ? 1e-4 : 0};
  };
  auto instance = [](const std::string &input, const std::string &channel) -> Case {
    return {"%x: " + input + ", %s: " + channel + ", %b: " + channel,
            "dataflow.instance_norm %x, %s, %b {epsilon = 1.0e-5 : f64} : " + input + ", " + channel + ", " + channel +
                " -> " + input,
            {{-2, 3}},
            input.find("f32") != std::string::npos ? 1e-4 : 0};
  };
  checkKernels({layer("tensor<6x37xf32>", "tensor<37xf32>", "tensor<37xf32>", 1),
                layer("tensor<6x37xf32>", "tensor<37xf32>", "", 1),
                layer("tensor<2x3x4x9xf32>", "tensor<4x9xf32>", "tensor<4x9xf32>", 2),
                layer("tensor<2x3x33x1xf32>", "tensor<33x1xf32>", "tensor<33x1xf32>", 2),
                layer("tensor<2x3x37xf32>", "tensor<1xf32>", "tensor<f32>", 2),
                layer("tensor<2x3x37xf32>", "tensor<3x37xf32>", "tensor<2x1x1xf32>", 2),
                layer("tensor<5x7xf32>", "tensor<5x7xf32>", "tensor<5x7xf32>", 0),
                layer("tensor<6x37xf16>", "tensor<37xf16>", "tensor<37xf16>", 1),
                layer("tensor<6x37xf64>", "tensor<37xf64>", "tensor<37xf64>", 1),
                layer("tensor<0x37xf32>", "tensor<37xf32>", "", 1), instance("tensor<2x3x5x9xf32>", "tensor<3xf32>"),
                instance("tensor<2x3x7xf32>", "tensor<3xf32>"), instance("tensor<2x3x40xbf16>", "tensor<3xbf16>"),
                instance("tensor<2x3xf32>", "tensor<3xf32>")});
}

TEST_CASE("long channels are summed in one order, on grids too", "[dataflow]") {
  // Tiles of 1024 and, of channels from 16384 elements, 4096; parts of tiles; fewer elements left than partial sums.
  std::vector<Case> cases;
  for (int64_t length : {1025, 1501, 2048, 16387, 20480})
    for (const char *element : {"f32", "f16"}) {
      std::string input = tensorOf({1, 3, length}, element), channel = tensorOf({3}, element);
      cases.push_back({"%x: " + input + ", %s: " + channel + ", %b: " + channel,
                       "dataflow.instance_norm %x, %s, %b {epsilon = 1.0e-5 : f64} : " + input + ", " + channel + ", " +
                           channel + " -> " + input,
                       {{24, 26}},
                       element == std::string("f32") ? 1e-2 : 0.1});
      cases.back().isAlikeInGrids = true;
    }
  checkKernels(cases);
}

TEST_CASE("running sums", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *attributes : {"", ", exclusive = true", ", reverse = true", ", exclusive = true, reverse = true"})
    for (const char *type : {"tensor<3x5x9xf32>", "tensor<3x5x9xi32>", "tensor<3x5x9xf64>"})
      for (const char *axis : {"0", "1", "2"})
        cases.push_back(
            {std::string("%x: ") + type,
             std::string("dataflow.cumsum %x {axis = ") + axis + " : i64" + attributes + "} : " + type + " -> " + type,
             {{-4, 4}}});
  cases.push_back({"%x: tensor<0x5xf32>", "dataflow.cumsum %x {axis = 0 : i64} : tensor<0x5xf32> -> tensor<0x5xf32>"});
  checkKernels(cases);
}

TEST_CASE("best elements, ties by index", "[dataflow]") {
  std::vector<Case> cases;
  // Few distinct values: ties everywhere.
  Fill ties{-2, 2};
  for (const char *element : {"i32", "ui8", "f32"}) {
    std::string type = tensorOf({4, 5, 9}, element);
    Fill fill = element[0] == 'u' ? Fill{0, 3} : ties;
    for (size_t axis : {0, 1, 2}) {
      std::string along = "axis = " + std::to_string(axis) + " : i64";
      for (const char *how : {"", ", largest = false", ", keep_dims = false", ", select_last = true",
                              ", largest = false, select_last = true, keep_dims = false"}) {
        Shape result = {4, 5, 9};
        result[axis] = 1;
        if (std::string(how).find("keep_dims") != std::string::npos)
          result.erase(result.begin() + static_cast<int64_t>(axis));
        cases.push_back({"%x: " + type,
                         "dataflow.arg_reduce %x {" + along + how + "} : " + type + " -> " + tensorOf(result, "i64"),
                         {fill}});
      }
      for (int64_t k : {0, 1, 3, 4})
        for (const char *how : {"", ", largest = false"}) {
          Shape result = {4, 5, 9};
          result[axis] = k;
          cases.push_back({"%x: " + type,
                           "dataflow.topk %x {k = " + std::to_string(k) + " : i64, " + along + how + "} : " + type +
                               " -> " + tensorOf(result, element) + ", " + tensorOf(result, "i64"),
                           {fill}});
        }
    }
  }
  for (const char *how : {"", ", largest = false"})
    cases.push_back({"%x: tensor<40x9xf32>",
                     std::string("dataflow.topk %x {k = 7 : i64, axis = 1 : i64") + how +
                         "} : tensor<40x9xf32> -> tensor<40x7xf32>, tensor<40x7xi64>",
                     {{-2, 2, true}}});
  checkKernels(cases);
}
