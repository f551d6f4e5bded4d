//===- ContractionKernelTest.cpp - matmul, conv, conv_transpose ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <catch2/catch.hpp>
#include <sstream>

using namespace sluice::test;

static Case matmul(const std::string &lhs, const std::string &rhs, const std::string &flagsLhs = "",
                   const std::string &flagsRhs = "", Fill fill = {}) {
  return {"%a: " + lhs + ", %b: " + rhs,
          "dataflow.matmul %a " + flagsLhs + ", %b " + flagsRhs + " : " + lhs + ", " + rhs,
          {fill},
          // Sums of a hundred products of numbers below one.
          lhs.find("f32") != std::string::npos ? 5e-5 : 0};
}

TEST_CASE("matmul in every arrangement", "[dataflow]") {
  std::vector<Case> cases = {
      matmul("tensor<7x33xf32>", "tensor<33x37xf32>"),
      matmul("tensor<1x65xf32>", "tensor<65x130xf32>"),
      matmul("tensor<65x130xf32>", "tensor<130x1xf32>"),
      matmul("tensor<70x90xf32>", "tensor<90x75xf32>"),
      matmul("tensor<33x7xf32>", "tensor<33x37xf32>", "transposed"),
      matmul("tensor<7x33xf32>", "tensor<37x33xf32>", "", "transposed"),
      matmul("tensor<33x7xf32>", "tensor<37x33xf32>", "transposed", "transposed"),
      // Batches: of both, of one, broadcast against each other, flattened.
      matmul("tensor<3x5x9xf32>", "tensor<3x9x18xf32>"),
      matmul("tensor<2x3x5x9xf32>", "tensor<9x18xf32>"),
      matmul("tensor<5x9xf32>", "tensor<4x9x18xf32>"),
      matmul("tensor<2x1x5x9xf32>", "tensor<3x9x18xf32>"),
      matmul("tensor<2x3x9x5xf32>", "tensor<3x18x9xf32>", "transposed", "transposed"),
      matmul("tensor<6x5x9xf32>", "tensor<1x9x18xf32>"),
      matmul("tensor<20x31x40xf32>", "tensor<20x40x33xf32>"),
      // Runs of elements, in each direction; tiles of a grid as large as they are.
      matmul("tensor<72x40xf32>", "tensor<40x76xf32>"),
      matmul("tensor<40x72xf32>", "tensor<76x40xf32>", "transposed", "transposed"),
      matmul("tensor<30x34xf32>", "tensor<34x66xf32>"),
      matmul("tensor<128x68x20xf32>", "tensor<128x20x68xf32>"),
      matmul("tensor<24x40xf16>", "tensor<40x64xf16>"),
      matmul("tensor<40x24xbf16>", "tensor<64x40xbf16>", "transposed", "transposed"),
      matmul("tensor<24x40xf64>", "tensor<40x36xf64>"),
      matmul("tensor<24x40xi8>", "tensor<40x64xi8>", "", "", {-9, 9}),
      // Other elements.
      matmul("tensor<5x19xf16>", "tensor<19x21xf16>"),
      matmul("tensor<5x19xbf16>", "tensor<19x21xbf16>"),
      matmul("tensor<5x19xf64>", "tensor<19x21xf64>"),
      // Rows are widened before they are multiplied: in blocks of the depth, and where they are too long for that.
      matmul("tensor<3x20x700xf16>", "tensor<3x33x700xf16>", "", "transposed"),
      matmul("tensor<20x700xbf16>", "tensor<700x33xbf16>"),
      matmul("tensor<1x70xf16>", "tensor<70x9xf16>"),
      matmul("tensor<2x5x19xi32>", "tensor<19x21xi32>", "", "", {-9, 9}),
      matmul("tensor<19x5xui8>", "tensor<21x19xui8>", "transposed", "transposed", {0, 255}),
      // Nothing to sum, nothing to compute.
      matmul("tensor<3x0xf32>", "tensor<0x4xf32>"),
      matmul("tensor<0x3xf32>", "tensor<3x4xf32>"),
  };
  for (Case packed :
       {matmul("tensor<2x7x33xf32>", "tensor<33x37xf32>"),
        matmul("tensor<7x33xf32>", "tensor<37x33xf32>", "", "transposed"),
        matmul("tensor<33x7xf32>", "tensor<33x37xf32>", "transposed"), matmul("tensor<1x33xf32>", "tensor<33x5xf32>"),
        matmul("tensor<3x5x9xf32>", "tensor<3x9x18xf32>"), matmul("tensor<70x300xf32>", "tensor<300x75xf32>"),
        matmul("tensor<5x19xf16>", "tensor<19x21xf16>"), matmul("tensor<5x19xf64>", "tensor<19x21xf64>"),
        // Panels are widened where several tiles read them, if they are small enough.
        matmul("tensor<40x300xf16>", "tensor<300x75xf16>"), matmul("tensor<33x21xbf16>", "tensor<21x17xbf16>"),
        matmul("tensor<40x1000xf16>", "tensor<1000x35xf16>"), matmul("tensor<2x20000xf16>", "tensor<20000x16xf16>")}) {
    packed.isPacked = true;
    cases.push_back(packed);
  }
  checkKernels(cases);
}

TEST_CASE("products by tensor cores, of rounded operands", "[dataflow]") {
  for (std::string precision : {"tf32", "bf16", "f16"}) {
    std::vector<Case> cases = {
        matmul("tensor<72x40xf32>", "tensor<40x76xf32>"),
        matmul("tensor<40x72xf32>", "tensor<76x40xf32>", "transposed", "transposed"),
        matmul("tensor<33x35xf32>", "tensor<35x37xf32>"),
        matmul("tensor<35x33xf32>", "tensor<37x35xf32>", "transposed", "transposed"),
        matmul("tensor<3x17x36xf32>", "tensor<36x48xf32>"),
    };
    if (precision == "tf32") // More fragments a warp: tiles are larger where there are enough.
      cases.push_back(matmul("tensor<128x68x16xf32>", "tensor<128x16x20xf32>"));
    Case packed = matmul("tensor<70x60xf32>", "tensor<60x75xf32>");
    packed.isPacked = true;
    cases.push_back(packed);
    // Products of 16 bits are exact, whatever f32 is rounded to.
    for (std::string element : {"xf16>", "xbf16>"})
      cases.push_back(matmul("tensor<40x48" + element, "tensor<64x48" + element, "", "transposed"));
    cases.push_back(matmul("tensor<40x48xf16>", "tensor<48x40xf16>"));
    checkTensorCores(cases, precision);
  }
}

namespace {
struct Conv {
  std::vector<int64_t> input, weight;
  std::string strides, pads, dilations;
  int64_t groups = 1;
  std::string element = "f32";
  bool weightLast = false; ///< Its channels, and not second as they are here.
};
} // namespace

static std::vector<int64_t> numbers(const std::string &list) {
  std::vector<int64_t> values;
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');)
    values.push_back(std::stoll(item));
  return values;
}

static std::vector<int64_t> resultOf(const Conv &c, bool channelsLast) {
  std::vector<int64_t> strides = numbers(c.strides), pads = numbers(c.pads), dilations = numbers(c.dilations);
  std::vector<int64_t> shape = {c.input[0]};
  for (size_t d = 0; d < strides.size(); ++d) {
    int64_t reach = (c.weight[2 + d] - 1) * dilations[d] + 1;
    int64_t extent = c.input[d + (channelsLast ? 1 : 2)] + pads[d] + pads[d + strides.size()];
    shape.push_back((extent - reach) / strides[d] + 1);
  }
  shape.insert(channelsLast ? shape.end() : shape.begin() + 1, c.weight[0]);
  return shape;
}

static Case plainConv(const Conv &c, bool channelsLast) {
  std::vector<int64_t> filters = c.weight;
  if (c.weightLast)
    std::rotate(filters.begin() + 1, filters.begin() + 2, filters.end());
  std::string input = tensorOf(c.input, c.element), weight = tensorOf(filters, c.element);
  std::string result = tensorOf(resultOf(c, channelsLast), c.element);
  return {"%x: " + input + ", %w: " + weight,
          "dataflow.conv %x, %w strides [" + c.strides + "] pads [" + c.pads + "] dilations [" + c.dilations +
              "] {groups = " + std::to_string(c.groups) + " : i64" +
              (channelsLast ? ", layout = #dataflow<layout channels_last>" : "") +
              (c.weightLast ? ", weight_layout = #dataflow<layout channels_last>" : "") + "} : " + input + ", " +
              weight + " -> " + result,
          {{-1, 1}},
          c.element == "f32" ? 5e-5 : 0};
}

TEST_CASE("convolution of any rank, layout and grouping", "[dataflow]") {
  checkKernels({
      plainConv({{2, 3, 9, 11}, {5, 3, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"}, false),
      plainConv({{1, 4, 9, 11}, {6, 2, 3, 2}, "2, 1", "0, 1, 2, 0", "1, 2", 2}, false),
      plainConv({{1, 6, 7, 7}, {12, 1, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 6}, false),
      plainConv({{2, 9, 11, 4}, {6, 2, 3, 2}, "2, 1", "0, 1, 2, 0", "1, 2", 2}, true),
      plainConv({{2, 9, 11, 4}, {6, 2, 3, 2}, "2, 1", "0, 1, 2, 0", "1, 2", 2, "f32", true}, true),
      plainConv({{2, 9, 11, 8}, {40, 8, 3, 2}, "2, 1", "0, 1, 2, 0", "1, 2", 1, "f32", true}, true),
      plainConv({{2, 3, 9, 11}, {17, 3, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 1, "f32", true}, false),
      plainConv({{1, 7, 7, 6}, {12, 1, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 6, "f32", true}, true),
      plainConv({{1, 6, 6, 3}, {9, 3, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 1, "f16", true}, true),
      plainConv({{2, 3, 29}, {4, 3, 5}, "2", "2, 1", "2"}, false),
      plainConv({{2, 29, 3}, {4, 3, 5}, "2", "2, 1", "2", 1, "f32", true}, true),
      plainConv({{2, 29, 3}, {4, 3, 5}, "2", "2, 1", "2"}, true),
      plainConv({{1, 2, 5, 6, 7}, {3, 2, 2, 3, 3}, "1, 2, 1", "1, 0, 1, 0, 1, 2", "2, 1, 1"}, false),
      plainConv({{1, 5, 6, 7, 2}, {3, 2, 2, 3, 3}, "1, 2, 1", "1, 0, 1, 0, 1, 2", "2, 1, 1"}, true),
      // Pads that crop, windows that lie in the padding altogether.
      plainConv({{1, 2, 8, 8}, {3, 2, 3, 3}, "1, 1", "-1, -2, 0, -1", "1, 1"}, false),
      plainConv({{1, 2, 3, 3}, {3, 2, 2, 2}, "1, 1", "4, 4, 4, 4", "1, 1"}, false),
      plainConv({{1, 3, 6, 6}, {4, 3, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 1, "f16"}, false),
      plainConv({{1, 3, 6, 6}, {4, 3, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 1, "f64"}, false),
      plainConv({{0, 3, 6, 6}, {4, 3, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"}, false),
  });
}

TEST_CASE("packed convolution of images", "[dataflow]") {
  std::vector<Case> cases = {
      plainConv({{2, 9, 11, 3}, {21, 3, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"}, true),
      plainConv({{1, 14, 15, 16}, {32, 16, 3, 3}, "2, 2", "0, 1, 1, 0", "1, 1"}, true),
      plainConv({{1, 14, 15, 6}, {12, 3, 3, 2}, "1, 2", "2, 0, 1, 1", "2, 3", 2}, true),
      plainConv({{2, 7, 9, 21}, {21, 1, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 21}, true),
      plainConv({{1, 9, 9, 33}, {33, 1, 5, 5}, "2, 2", "2, 2, 2, 2", "1, 1", 33}, true),
      plainConv({{2, 5, 7, 19}, {37, 19, 1, 1}, "1, 1", "0, 0, 0, 0", "1, 1"}, true),
      plainConv({{2, 5, 7, 19}, {37, 19, 1, 1}, "2, 2", "0, 0, 0, 0", "1, 1"}, true),
      plainConv({{1, 1, 29, 4}, {7, 4, 1, 5}, "1, 2", "0, 2, 0, 1", "1, 2"}, true),
      plainConv({{1, 3, 3, 2}, {5, 2, 2, 2}, "1, 1", "3, 3, 3, 3", "1, 1"}, true),
      plainConv({{1, 7, 7, 8}, {9, 8, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 1, "f16"}, true),
      plainConv({{1, 40, 41, 16}, {24, 16, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"}, true),
      // Rows of pixels are widened: inside the image and at its borders, of a group, strided and dilated.
      plainConv({{1, 5, 41, 20}, {24, 20, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 1, "f16"}, true),
      plainConv({{1, 5, 41, 20}, {24, 20, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 1, "bf16"}, true),
      plainConv({{1, 6, 45, 3}, {33, 3, 3, 3}, "2, 2", "0, 1, 1, 0", "1, 1", 1, "f16"}, true),
      plainConv({{1, 6, 37, 12}, {10, 6, 3, 3}, "1, 2", "2, 3, 1, 1", "2, 3", 2, "f16"}, true),
      plainConv({{1, 4, 16, 40}, {60, 20, 1, 2}, "1, 1", "0, 0, 0, 1", "1, 1", 2, "bf16"}, true),
      plainConv({{1, 1, 20, 2000}, {5, 2000, 1, 3}, "1, 1", "0, 1, 0, 1", "1, 1", 1, "f16"}, true),
  };
  for (Case &c : cases)
    c.isPacked = true;
  checkKernels(cases);
}

TEST_CASE("convolution of images by transformed tiles", "[dataflow]") {
  std::vector<Case> cases = {
      plainConv({{2, 9, 11, 3}, {21, 3, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"}, true),
      plainConv({{1, 14, 15, 16}, {32, 16, 3, 3}, "1, 1", "0, 1, 2, 0", "1, 1"}, true),
      plainConv({{1, 7, 7, 40}, {9, 40, 3, 3}, "1, 1", "2, 2, 2, 2", "1, 1"}, true),
      plainConv({{1, 8, 9, 2}, {3, 2, 3, 3}, "1, 1", "-1, -2, 0, -1", "1, 1"}, true),
      plainConv({{1, 20, 19, 70}, {24, 70, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"}, true),
      plainConv({{1, 11, 10, 37}, {21, 37, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 1, "f16"}, true),
      plainConv({{2, 9, 7, 5}, {9, 5, 3, 3}, "1, 1", "0, 2, 1, 1", "1, 1", 1, "bf16"}, true),
  };
  for (std::string algorithm : {"winograd2", "winograd4"})
    for (int64_t lanes : {4, 8, 16}) {
      for (Case &c : cases) {
        c.isPacked = true;
        c.algorithm = algorithm;
      }
      checkKernels(cases, lanes);
    }
}

TEST_CASE("convolutions by tensor cores, of rounded operands", "[dataflow]") {
  std::vector<Case> cases = {
      plainConv({{2, 3, 9, 11}, {17, 3, 3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"}, false),
      plainConv({{2, 9, 11, 12}, {40, 6, 3, 2}, "2, 1", "0, 1, 2, 0", "1, 2", 2}, true),
      plainConv({{1, 14, 15, 16}, {32, 16, 3, 3}, "2, 2", "0, 1, 1, 0", "1, 1", 1, "f32", true}, true),
      plainConv({{1, 14, 15, 16}, {32, 16, 3, 3}, "2, 2", "0, 1, 1, 0", "1, 1"}, true),
      plainConv({{2, 5, 7, 20}, {37, 20, 1, 1}, "1, 1", "0, 0, 0, 0", "1, 1"}, true),
  };
  for (size_t i = 3; i < cases.size(); ++i)
    cases[i].isPacked = true;
  for (std::string precision : {"tf32", "bf16", "f16"})
    checkTensorCores(cases, precision);
}

TEST_CASE("transposed convolution", "[dataflow]") {
  auto transposed = [](const std::string &input, const std::string &weight, const std::string &result,
                       const std::string &how) -> Case {
    return {"%x: " + input + ", %w: " + weight,
            "dataflow.conv_transpose %x, %w " + how + " : (" + input + ", " + weight + ") -> " + result,
            {{-1, 1}},
            5e-5};
  };
  checkKernels({
      transposed("tensor<1x3x5x6xf32>", "tensor<3x4x3x3xf32>", "tensor<1x4x7x8xf32>",
                 "strides [1, 1] pads_low [0, 0] dilations [1, 1]"),
      transposed("tensor<2x4x5x6xf32>", "tensor<4x3x3x2xf32>", "tensor<2x6x10x17xf32>",
                 "strides [2, 3] pads_low [1, 0] dilations [1, 2] {groups = 2 : i64}"),
      transposed("tensor<1x3x9xf32>", "tensor<3x2x4xf32>", "tensor<1x2x25xf32>",
                 "strides [3] pads_low [2] dilations [1]"),
      transposed("tensor<1x2x3x4x3xf32>", "tensor<2x2x2x2x3xf32>", "tensor<1x2x6x8x5xf32>",
                 "strides [2, 2, 1] pads_low [0, 0, 0] dilations [1, 1, 1]"),
      // More output than any tap reaches: output_padding.
      transposed("tensor<1x1x3x3xf32>", "tensor<1x1x2x2xf32>", "tensor<1x1x8x8xf32>",
                 "strides [2, 2] pads_low [0, 0] dilations [1, 1]"),
  });
}
