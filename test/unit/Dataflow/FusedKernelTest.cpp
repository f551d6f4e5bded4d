//===- FusedKernelTest.cpp - Groups that run as one kernel ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <catch2/catch.hpp>

using namespace sluice::test;

/// A group over arguments of `types`, named %a, %b, ... in it.
static Case group(const std::vector<std::string> &types, const std::string &result, const std::string &members,
                  bool isPacked = false, double tolerance = 5e-5) {
  std::string arguments, inputs;
  for (size_t i = 0; i < types.size(); ++i) {
    std::string comma = i ? ", " : "", name(1, static_cast<char>('a' + i));
    arguments += comma + "%arg" + name + ": " + types[i];
    inputs += comma + "%" + name + " = %arg" + name + " : " + types[i];
  }
  return {arguments,
          "dataflow.fused (" + inputs + ") -> (" + result + ") {\n" + members + "\ndataflow.yield %r : " + result +
              "\n}",
          {{-1, 1}},
          tolerance,
          isPacked};
}

TEST_CASE("groups of element-wise and movement operators", "[dataflow]") {
  checkKernels({
      group({"tensor<3x37xf32>", "tensor<37xf32>", "tensor<3x1xf32>"}, "tensor<3x37xf32>", R"(
        %0 = dataflow.binary add %a, %b : tensor<3x37xf32>, tensor<37xf32>
        %1 = dataflow.unary tanh %0 : tensor<3x37xf32>
        %2 = dataflow.binary mul %1, %c : tensor<3x37xf32>, tensor<3x1xf32>
        %r = dataflow.binary sub %2, %a : tensor<3x37xf32>, tensor<3x37xf32>)"),
      // Broadcast expressions inside: [3, 1] and [37] are computed as such.
      group({"tensor<3x1xf32>", "tensor<37xf32>"}, "tensor<3x37xf32>", R"(
        %0 = dataflow.unary exp %a : tensor<3x1xf32>
        %1 = dataflow.unary neg %b : tensor<37xf32>
        %r = dataflow.binary add %0, %1 : tensor<3x1xf32>, tensor<37xf32>)"),
      // Through bool and a splat.
      group({"tensor<2x3x19xf32>", "tensor<19xf32>"}, "tensor<2x3x19xf32>", R"(
        %c = dataflow.constant dense<0.25> : tensor<f32>
        %0 = dataflow.compare gt %a, %c : tensor<2x3x19xf32>, tensor<f32>
        %r = dataflow.select %0, %b, %a : tensor<2x3x19xi1>, tensor<19xf32>, tensor<2x3x19xf32>)"),
      group({"tensor<2x35xf16>", "tensor<35xf16>"}, "tensor<2x35xf32>", R"(
        %0 = dataflow.binary mul %a, %b : tensor<2x35xf16>, tensor<35xf16>
        %r = dataflow.cast %0 : tensor<2x35xf16> -> tensor<2x35xf32>)",
            false, 2e-3),
      group({"tensor<4x5x6xf32>", "tensor<30xf32>"}, "tensor<4x30xf32>", R"(
        %0 = dataflow.transpose %a [0, 2, 1] : tensor<4x5x6xf32>
        %1 = dataflow.reshape %0 : tensor<4x6x5xf32> -> tensor<4x30xf32>
        %2 = dataflow.unary sigmoid %1 : tensor<4x30xf32>
        %r = dataflow.binary add %2, %b : tensor<4x30xf32>, tensor<30xf32>)"),
      group({"tensor<9x8xf32>", "tensor<f32>"}, "tensor<7x20xf32>", R"(
        %0 = dataflow.pad reflect %a, %b low [1, 2] : (tensor<9x8xf32>, tensor<f32>) -> tensor<12x11xf32>
        %1 = dataflow.slice %0 from [11, 0] by [-1, 1] : tensor<12x11xf32> -> tensor<7x10xf32>
        %2 = dataflow.unary relu %1 : tensor<7x10xf32>
        %r = dataflow.tile %2 : tensor<7x10xf32> -> tensor<7x20xf32>)"),
      group({"tensor<1x3x4x4xf32>", "tensor<3x1x1xf32>"}, "tensor<1x3x8x8xf32>", R"(
        %0 = dataflow.binary mul %a, %b : tensor<1x3x4x4xf32>, tensor<3x1x1xf32>
        %1 = dataflow.resize nearest %0 scales [1.0, 1.0, 2.0, 2.0] asymmetric floor : tensor<1x3x4x4xf32> -> tensor<1x3x8x8xf32>
        %r = dataflow.unary relu %1 : tensor<1x3x8x8xf32>)"),
      group({"tensor<0x5xf32>"}, "tensor<0x5xf32>", "%r = dataflow.unary exp %a : tensor<0x5xf32>"),
  });
}

TEST_CASE("groups of several results", "[dataflow]") {
  Case two = group({"tensor<3x37xf32>", "tensor<37xf32>"}, "tensor<3x37xf32>, tensor<3x37xi1>", "");
  two.body =
      R"(dataflow.fused (%a = %arga : tensor<3x37xf32>, %b = %argb : tensor<37xf32>) -> (tensor<3x37xf32>, tensor<3x37xi1>) {
    %0 = dataflow.binary add %a, %b : tensor<3x37xf32>, tensor<37xf32>
    %1 = dataflow.compare lt %0, %b : tensor<3x37xf32>, tensor<37xf32>
    dataflow.yield %0, %1 : tensor<3x37xf32>, tensor<3x37xi1>
  })";
  checkKernels({two});
}

TEST_CASE("epilogues of contractions", "[dataflow]") {
  const std::string biasRelu = R"(
        %1 = dataflow.binary add %0, %c : tensor<7x37xf32>, tensor<37xf32>
        %r = dataflow.unary relu %1 : tensor<7x37xf32>)";
  const std::string product = "%0 = dataflow.matmul %a, %b : tensor<7x33xf32>, tensor<33x37xf32>";
  // Long enough to be emitted once, over a scratch tile.
  const std::string gelu = R"(
        %1 = dataflow.binary add %0, %c : tensor<7x37xf32>, tensor<37xf32>
        %2 = dataflow.unary gelu %1 : tensor<7x37xf32>
        %3 = dataflow.unary tanh %2 : tensor<7x37xf32>
        %r = dataflow.binary mul %3, %1 : tensor<7x37xf32>, tensor<7x37xf32>)";
  std::vector<Case> cases;
  for (bool isPacked : {false, true}) {
    for (const std::string &epilogue : {biasRelu, gelu})
      cases.push_back(group({"tensor<7x33xf32>", "tensor<33x37xf32>", "tensor<37xf32>"}, "tensor<7x37xf32>",
                            product + epilogue, isPacked));
    cases.push_back(group({"tensor<7x33xf32>", "tensor<33x37xf32>", "tensor<7x1xf32>"}, "tensor<7x37xf32>",
                          product + "\n%r = dataflow.binary mul %0, %c : tensor<7x37xf32>, tensor<7x1xf32>", isPacked));
    // Batches and their broadcast, one column, one row.
    cases.push_back(group({"tensor<2x3x5x9xf32>", "tensor<9x18xf32>", "tensor<3x1x18xf32>"}, "tensor<2x3x5x18xf32>", R"(
        %0 = dataflow.matmul %a, %b : tensor<2x3x5x9xf32>, tensor<9x18xf32>
        %r = dataflow.binary add %0, %c : tensor<2x3x5x18xf32>, tensor<3x1x18xf32>)",
                          isPacked));
    cases.push_back(group({"tensor<40x33xf32>", "tensor<33x1xf32>", "tensor<40x1xf32>"}, "tensor<40x1xf32>", R"(
        %0 = dataflow.matmul %a, %b : tensor<40x33xf32>, tensor<33x1xf32>
        %r = dataflow.binary add %0, %c : tensor<40x1xf32>, tensor<40x1xf32>)",
                          isPacked));
    // A residual and a channel bias behind a convolution, to another type.
    cases.push_back(group({"tensor<1x9x11x5xf32>", "tensor<21x5x3x3xf32>", "tensor<1x9x11x21xf32>", "tensor<21xf32>"},
                          "tensor<1x9x11x21xf16>", R"(
        %0 = dataflow.conv %a, %b strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {layout = #dataflow<layout channels_last>} : tensor<1x9x11x5xf32>, tensor<21x5x3x3xf32> -> tensor<1x9x11x21xf32>
        %1 = dataflow.binary add %0, %d : tensor<1x9x11x21xf32>, tensor<21xf32>
        %2 = dataflow.binary add %1, %c : tensor<1x9x11x21xf32>, tensor<1x9x11x21xf32>
        %3 = dataflow.unary relu %2 : tensor<1x9x11x21xf32>
        %r = dataflow.cast %3 : tensor<1x9x11x21xf32> -> tensor<1x9x11x21xf16>)",
                          isPacked, 2e-3));
    cases.push_back(group({"tensor<2x7x9x33xf32>", "tensor<33x1x3x3xf32>", "tensor<33xf32>"}, "tensor<2x7x9x33xf32>",
                          R"(
        %0 = dataflow.conv %a, %b strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 33 : i64, layout = #dataflow<layout channels_last>} : tensor<2x7x9x33xf32>, tensor<33x1x3x3xf32> -> tensor<2x7x9x33xf32>
        %1 = dataflow.binary add %0, %c : tensor<2x7x9x33xf32>, tensor<33xf32>
        %r = dataflow.unary hard_swish %1 : tensor<2x7x9x33xf32>)",
                          isPacked));
    cases.push_back(group({"tensor<2x5x7x19xf32>", "tensor<37x19x1x1xf32>", "tensor<37xf32>"}, "tensor<2x5x7x37xf32>",
                          R"(
        %0 = dataflow.conv %a, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] {layout = #dataflow<layout channels_last>} : tensor<2x5x7x19xf32>, tensor<37x19x1x1xf32> -> tensor<2x5x7x37xf32>
        %1 = dataflow.binary prelu %0, %c : tensor<2x5x7x37xf32>, tensor<37xf32>
        %r = dataflow.unary sigmoid %1 : tensor<2x5x7x37xf32>)",
                          isPacked));
  }
  // An epilogue that reads a moved operand has no vector form.
  cases.push_back(group({"tensor<7x33xf32>", "tensor<33x37xf32>", "tensor<37x7xf32>"}, "tensor<7x37xf32>", R"(
        %0 = dataflow.matmul %a, %b : tensor<7x33xf32>, tensor<33x37xf32>
        %1 = dataflow.transpose %c [1, 0] : tensor<37x7xf32>
        %r = dataflow.binary add %0, %1 : tensor<7x37xf32>, tensor<7x37xf32>)"));
  cases.push_back(group({"tensor<1x3x9x10xf32>", "tensor<1x3x7x4xf32>"}, "tensor<1x3x7x4xf32>", R"(
        %0 = dataflow.pool max %a kernel [3, 3] strides [1, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<1x3x9x10xf32> -> tensor<1x3x7x4xf32>
        %r = dataflow.binary add %0, %b : tensor<1x3x7x4xf32>, tensor<1x3x7x4xf32>)"));
  cases.push_back(group({"tensor<1x9x10x37xf32>", "tensor<37xf32>"}, "tensor<1x7x4x37xf32>", R"(
        %0 = dataflow.pool average %a kernel [3, 3] strides [1, 2] pads [0, 0] to [0, 0] dilations [1, 1] {layout = #dataflow<layout channels_last>} : tensor<1x9x10x37xf32> -> tensor<1x7x4x37xf32>
        %r = dataflow.binary add %0, %b : tensor<1x7x4x37xf32>, tensor<37xf32>)"));
  checkKernels(cases);
}

TEST_CASE("reductions between a prologue and an epilogue", "[dataflow]") {
  checkKernels({
      group({"tensor<5x37xf32>", "tensor<37xf32>", "tensor<5x1xf32>"}, "tensor<5x1xf32>", R"(
        %0 = dataflow.binary sub %a, %b : tensor<5x37xf32>, tensor<37xf32>
        %1 = dataflow.binary mul %0, %0 : tensor<5x37xf32>, tensor<5x37xf32>
        %2 = dataflow.reduce mean %1 axes [1] {keep_dims = true} : tensor<5x37xf32> -> tensor<5x1xf32>
        %r = dataflow.binary add %2, %c : tensor<5x1xf32>, tensor<5x1xf32>)"),
      group({"tensor<5x37xf32>", "tensor<37xf32>"}, "tensor<37xf32>", R"(
        %0 = dataflow.reduce sum %a axes [0] : tensor<5x37xf32> -> tensor<37xf32>
        %r = dataflow.binary mul %0, %b : tensor<37xf32>, tensor<37xf32>)"),
      // One operand before and behind.
      group({"tensor<5x37xf32>", "tensor<37xf32>"}, "tensor<37xf32>", R"(
        %0 = dataflow.binary add %a, %b : tensor<5x37xf32>, tensor<37xf32>
        %1 = dataflow.reduce sum %0 axes [0] : tensor<5x37xf32> -> tensor<37xf32>
        %r = dataflow.binary sub %1, %b : tensor<37xf32>, tensor<37xf32>)"),
      // The run of results is not along the result's last dimension.
      group({"tensor<5x33x1xf32>", "tensor<33x1xf32>"}, "tensor<33x1xf32>", R"(
        %0 = dataflow.reduce sum %a axes [0] : tensor<5x33x1xf32> -> tensor<33x1xf32>
        %r = dataflow.binary add %0, %b : tensor<33x1xf32>, tensor<33x1xf32>)"),
      group({"tensor<5x33x1xf32>", "tensor<5x33x1xf32>"}, "tensor<5x33x1xf32>", R"(
        %0 = dataflow.reduce sum %a axes [2] {keep_dims = true} : tensor<5x33x1xf32> -> tensor<5x33x1xf32>
        %r = dataflow.binary add %0, %b : tensor<5x33x1xf32>, tensor<5x33x1xf32>)"),
      // The run covers two of the result's dimensions; the epilogue tells them apart.
      group({"tensor<3x4x5x17xf32>", "tensor<5x1xf32>"}, "tensor<3x5x17xf32>", R"(
        %0 = dataflow.reduce max %a axes [1] : tensor<3x4x5x17xf32> -> tensor<3x5x17xf32>
        %r = dataflow.binary add %0, %b : tensor<3x5x17xf32>, tensor<5x1xf32>)"),
      group({"tensor<5x6x7xf32>", "tensor<7xf32>"}, "tensor<7xf32>", R"(
        %0 = dataflow.transpose %a [2, 0, 1] : tensor<5x6x7xf32>
        %1 = dataflow.unary abs %0 : tensor<7x5x6xf32>
        %2 = dataflow.reduce sum %1 axes [1, 2] : tensor<7x5x6xf32> -> tensor<7xf32>
        %r = dataflow.binary add %2, %b : tensor<7xf32>, tensor<7xf32>)"),
      group({"tensor<5x37xf32>"}, "tensor<5x1xi32>", R"(
        %0 = dataflow.unary sin %a : tensor<5x37xf32>
        %1 = dataflow.arg_reduce %0 {axis = 1 : i64} : tensor<5x37xf32> -> tensor<5x1xi64>
        %r = dataflow.cast %1 : tensor<5x1xi64> -> tensor<5x1xi32>)"),
      group({"tensor<5x37xf32>", "tensor<37xf32>"}, "tensor<5x37xf32>", R"(
        %0 = dataflow.softmax %a {axis = 1 : i64} : tensor<5x37xf32> -> tensor<5x37xf32>
        %r = dataflow.binary mul %0, %b : tensor<5x37xf32>, tensor<37xf32>)"),
      group({"tensor<5x37xf32>", "tensor<37xf32>", "tensor<5x37xf32>"}, "tensor<5x37xf32>", R"(
        %0 = dataflow.layer_norm %a, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : tensor<5x37xf32>, tensor<37xf32> -> tensor<5x37xf32>
        %r = dataflow.binary add %0, %c : tensor<5x37xf32>, tensor<5x37xf32>)",
            false, 1e-4),
      group({"tensor<5x37xf32>"}, "tensor<5x37xf16>", R"(
        %0 = dataflow.cumsum %a {axis = 1 : i64} : tensor<5x37xf32> -> tensor<5x37xf32>
        %r = dataflow.cast %0 : tensor<5x37xf32> -> tensor<5x37xf16>)",
            false, 2e-3),
  });
}

TEST_CASE("an epilogue behind a convolution of transformed tiles", "[dataflow]") {
  // Of several work items, the last panel of channels and tiles at the borders are not whole.
  Case fused = group({"tensor<1x39x41x16xf32>", "tensor<40x16x3x3xf32>", "tensor<1x39x41x40xf32>", "tensor<40xf32>"},
                     "tensor<1x39x41x40xf16>", R"(
        %0 = dataflow.conv %a, %b strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {layout = #dataflow<layout channels_last>} : tensor<1x39x41x16xf32>, tensor<40x16x3x3xf32> -> tensor<1x39x41x40xf32>
        %1 = dataflow.binary add %0, %d : tensor<1x39x41x40xf32>, tensor<40xf32>
        %2 = dataflow.binary add %1, %c : tensor<1x39x41x40xf32>, tensor<1x39x41x40xf32>
        %3 = dataflow.unary gelu %2 : tensor<1x39x41x40xf32>
        %r = dataflow.cast %3 : tensor<1x39x41x40xf32> -> tensor<1x39x41x40xf16>)",
                     true, 2e-3);
  fused.isChunked = true;
  for (std::string algorithm : {"winograd2", "winograd4"})
    for (int64_t lanes : {4, 8, 16}) {
      fused.algorithm = algorithm;
      checkKernels({fused}, lanes);
    }
}
