//===- LibraryFormTest.cpp - What operators ask libraries for -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <catch2/catch.hpp>

using namespace sluice::test;

namespace {

/// `op` of two operands and attributes, asked of a library with some scratch.
Case asks(const std::string &op, const std::string &how, const std::string &lhs, const std::string &rhs,
          const std::string &result, const std::string &attributes = "") {
  const bool isConv = op == "conv", isMatmul = op == "matmul";
  const std::string types = isMatmul ? lhs + ", " + rhs
                            : isConv ? lhs + ", " + rhs + " -> " + result
                                     : "(" + lhs + ", " + rhs + ") -> " + result;
  return {"%a: " + lhs + ", %b: " + rhs,
          "%y = dataflow." + op + (how == "lhs" ? " %a transposed, %b" : " %a, %b " + how) + " {library = 64 : i64" +
              attributes + "} : " + types,
          {{-1, 1}},
          lhs.find("f32") != std::string::npos ? 5e-5 : 0};
}

const std::string kLast = ", layout = #dataflow<layout channels_last>, weight_layout = #dataflow<layout channels_last>";

} // namespace

TEST_CASE("a library is asked for the product that the operator is", "[dataflow]") {
  checkLibraries({
      asks("matmul", "", "tensor<5x7xf32>", "tensor<7x3xf32>", ""),
      asks("matmul", "", "tensor<2x5x7xf32>", "tensor<7x3xf32>", ""),
      asks("matmul", "lhs", "tensor<7x5xf32>", "tensor<2x7x3xf32>", ""),
      asks("matmul", "transposed", "tensor<2x3x5x7xf16>", "tensor<2x3x9x7xf16>", ""),
      asks("matmul", "", "tensor<5x7xbf16>", "tensor<7x3xbf16>", ""),
  });
  // Batches that are shared in part; another type; nothing.
  checkLibraries({asks("matmul", "", "tensor<2x3x5x7xf32>", "tensor<3x7x4xf32>", ""),
                  asks("matmul", "", "tensor<5x7xf64>", "tensor<7x3xf64>", ""),
                  asks("matmul", "", "tensor<0x7xf32>", "tensor<7x3xf32>", "")},
                 false);
}

TEST_CASE("a library is asked for the convolution that the operator is", "[dataflow]") {
  checkLibraries({
      asks("conv", "strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]", "tensor<2x3x9x11xf32>", "tensor<5x3x3x3xf32>",
           "tensor<2x5x9x11xf32>"),
      // Nothing is square: pads, strides, dilations and taps each in their place.
      asks("conv", "strides [2, 1] pads [1, 2, 1, 2] dilations [1, 3]", "tensor<2x4x9x11xf32>", "tensor<16x2x3x2xf32>",
           "tensor<2x16x5x12xf32>", ", groups = 2 : i64"),
      asks("conv", "strides [2, 1] pads [1, 2, 1, 2] dilations [1, 3]", "tensor<2x9x11x4xf32>", "tensor<16x3x2x2xf32>",
           "tensor<2x5x12x16xf32>", ", groups = 2 : i64" + kLast),
      // The stride leaves a remainder, and what is padded at the far end no window sees.
      asks("conv", "strides [2, 4] pads [0, 0, 1, 1] dilations [1, 1]", "tensor<1x3x9x11xf32>", "tensor<4x3x3x3xf32>",
           "tensor<1x4x4x3xf32>"),
      asks("conv", "strides [2] pads [2, 2] dilations [3]", "tensor<2x3x29xf32>", "tensor<4x3x5xf32>",
           "tensor<2x4x11xf32>"),
      asks("conv", "strides [2] pads [2, 2] dilations [3]", "tensor<2x29x3xf16>", "tensor<4x5x3xf16>",
           "tensor<2x11x4xf16>", kLast),
      asks("conv", "strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1]", "tensor<1x3x4x5xbf16>", "tensor<4x3x2x3xbf16>",
           "tensor<1x4x3x3xbf16>"),
  });
  checkLibraries(
      {
          // One end padded more than the other, or cropped.
          asks("conv", "strides [1, 1] pads [0, 1, 2, 1] dilations [1, 1]", "tensor<1x3x9x11xf32>",
               "tensor<5x3x3x3xf32>", "tensor<1x5x9x11xf32>"),
          asks("conv", "strides [1, 1] pads [-1, 0, -1, 0] dilations [1, 1]", "tensor<1x3x9x11xf32>",
               "tensor<5x3x3x3xf32>", "tensor<1x5x5x9xf32>"),
          asks("conv", "strides [1, 1, 1] pads [0, 0, 0, 0, 0, 0] dilations [1, 1, 1]", "tensor<1x3x4x4x4xf32>",
               "tensor<5x3x3x3x3xf32>", "tensor<1x5x2x2x2xf32>"),
          // A thread an element, or no element.
          asks("conv", "strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]", "tensor<1x6x5x5xf32>",
               "tensor<6x1x3x3xf32>", "tensor<1x6x5x5xf32>", ", groups = 6 : i64"),
          asks("conv", "strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]", "tensor<0x3x5x5xf32>",
               "tensor<6x3x3x3xf32>", "tensor<0x6x5x5xf32>"),
          asks("conv", "strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]", "tensor<1x3x5x5xf64>",
               "tensor<6x3x3x3xf64>", "tensor<1x6x5x5xf64>"),
          // Filters in another order than the image.
          asks("conv", "strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]", "tensor<1x5x5x3xf32>",
               "tensor<6x3x3x3xf32>", "tensor<1x5x5x6xf32>", ", layout = #dataflow<layout channels_last>"),
      },
      false);
}

TEST_CASE("a library is asked for gradients and transposed convolutions as for the convolution", "[dataflow]") {
  checkLibraries({
      asks("conv_transpose", "strides [2, 1] pads_low [1, 2] dilations [1, 3]", "tensor<2x16x5x12xf32>",
           "tensor<16x2x3x2xf32>", "tensor<2x4x9x11xf32>", ", groups = 2 : i64"),
      // The result goes on behind the last window.
      asks("conv_transpose", "strides [3] pads_low [2] dilations [1]", "tensor<1x3x9xf32>", "tensor<3x2x4xf32>",
           "tensor<1x2x26xf32>"),
      asks("conv_weight_gradient", "strides [2, 1] pads_low [1, 2] dilations [1, 3]", "tensor<2x4x9x11xf32>",
           "tensor<2x16x5x12xf32>", "tensor<16x2x3x2xf32>", ", groups = 2 : i64"),
      asks("conv_weight_gradient", "strides [2] pads_low [2] dilations [3]", "tensor<2x3x29xf32>", "tensor<2x4x11xf32>",
           "tensor<4x3x5xf32>"),
      // Of a depthwise convolution too: a thread a weight would be few.
      asks("conv_weight_gradient", "strides [1, 1] pads_low [1, 1] dilations [1, 1]", "tensor<2x6x5x5xf32>",
           "tensor<2x6x5x5xf32>", "tensor<6x1x3x3xf32>", ", groups = 6 : i64"),
  });
  checkLibraries(
      {
          // Longer or shorter than windows with alike pads reach.
          asks("conv_transpose", "strides [1, 1] pads_low [1, 1] dilations [1, 1]", "tensor<1x3x5x5xf32>",
               "tensor<3x4x3x3xf32>", "tensor<1x4x6x6xf32>"),
          asks("conv_weight_gradient", "strides [1, 1] pads_low [0, 0] dilations [1, 1]", "tensor<1x3x5x5xf32>",
               "tensor<1x4x5x5xf32>", "tensor<4x3x3x3xf32>"),
      },
      false);
}

TEST_CASE("a library adds to what its result takes the place of, and the epilogue is the rest", "[dataflow]") {
  // (conv + bias) + %c, then relu; conv + %c alone; %c - conv, which is no addition to a result.
  const std::string conv =
      "dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {library = 64 : i64} "
      ": tensor<1x3x5x5xf32>, tensor<8x3x3x3xf32> -> tensor<1x8x5x5xf32>\n";
  const std::string arguments =
      "%a: tensor<1x3x5x5xf32>, %b: tensor<8x3x3x3xf32>, %bias: tensor<8x1x1xf32>, %added: tensor<1x8x5x5xf32>";
  const std::string head = "%y = dataflow.fused (%x = %a : tensor<1x3x5x5xf32>, %w = %b : tensor<8x3x3x3xf32>, %i = "
                           "%bias : tensor<8x1x1xf32>, %c = %added : tensor<1x8x5x5xf32>) -> (tensor<1x8x5x5xf32>) {\n";
  const std::string yield = "dataflow.yield %r : tensor<1x8x5x5xf32>\n}";
  auto group = [&](const std::string &body) -> Case {
    return {arguments, head + "%0 = " + conv + body + yield, {{-1, 1}}, 5e-5};
  };
  checkLibraries({
      group("%1 = dataflow.binary add %0, %i : tensor<1x8x5x5xf32>, tensor<8x1x1xf32>\n"
            "%2 = dataflow.binary add %c, %1 : tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>\n"
            "%r = dataflow.unary relu %2 : tensor<1x8x5x5xf32>\n"),
      group("%1 = dataflow.unary exp %i : tensor<8x1x1xf32>\n"
            "%2 = dataflow.binary add %0, %c : tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>\n"
            "%r = dataflow.binary mul %2, %1 : tensor<1x8x5x5xf32>, tensor<8x1x1xf32>\n"),
      group("%1 = dataflow.binary mul %0, %i : tensor<1x8x5x5xf32>, tensor<8x1x1xf32>\n"
            "%r = dataflow.binary sub %c, %1 : tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>\n"),
  });
  // What is a view of it is read behind the library.
  checkLibraries(
      {Case{"%a: tensor<1x3x5x5xf32>, %b: tensor<8x3x3x3xf32>, %kept: tensor<1x8x5x5xf32>",
            "%view = dataflow.reshape %kept : tensor<1x8x5x5xf32> -> tensor<8x5x5xf32>\n"
            "%y = dataflow.fused (%x = %a : tensor<1x3x5x5xf32>, %w = %b : tensor<8x3x3x3xf32>, %c = %kept : "
            "tensor<1x8x5x5xf32>, %v = %view : tensor<8x5x5xf32>) -> (tensor<1x8x5x5xf32>) {\n%0 = " +
                conv +
                "%1 = dataflow.binary add %0, %c : tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>\n"
                "%r = dataflow.binary mul %1, %v : tensor<1x8x5x5xf32>, tensor<8x5x5xf32>\n" +
                yield,
            {{-1, 1}},
            5e-5}});
}
