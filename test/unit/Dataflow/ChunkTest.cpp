//===- ChunkTest.cpp - Kernels cut into chunks ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <catch2/catch.hpp>

using namespace sluice::test;

// Each loop takes long enough for several chunks.
TEST_CASE("chunks of every kind of kernel are independent", "[dataflow]") {
  std::vector<Case> cases;
  auto add = [&](const std::string &arguments, const std::string &body, Fill fill = {}, bool isPacked = false) {
    cases.push_back({arguments, body, {fill}, 2e-4, isPacked, /*isChunked=*/true});
  };
  add("%x: tensor<20011xf32>", "dataflow.unary exp %x : tensor<20011xf32>");
  add("%x: tensor<1307x267xf32>, %y: tensor<1307x1xf32>",
      "dataflow.binary add %x, %y : tensor<1307x267xf32>, tensor<1307x1xf32>");
  add("%x: tensor<121x113x37xf32>", "dataflow.transpose %x [2, 0, 1] : tensor<121x113x37xf32>");
  add("%x: tensor<5003x17xf32>, %y: tensor<5003x20xf32>",
      "dataflow.concat %x, %y {axis = 1 : i64} : tensor<5003x17xf32>, tensor<5003x20xf32> -> tensor<5003x37xf32>");
  add("%x: tensor<1009x401xf32>", "dataflow.reduce sum %x axes [1] : tensor<1009x401xf32> -> tensor<1009xf32>");
  add("%x: tensor<1200x367xf32>", "dataflow.reduce max %x axes [0] : tensor<1200x367xf32> -> tensor<367xf32>");
  add("%x: tensor<4001x9xf32>", "dataflow.arg_reduce %x {axis = 1 : i64} : tensor<4001x9xf32> -> tensor<4001x1xi64>");
  add("%x: tensor<3003x9xf32>", "dataflow.cumsum %x {axis = 1 : i64} : tensor<3003x9xf32> -> tensor<3003x9xf32>");
  add("%x: tensor<1301x9xf32>", "dataflow.topk %x {axis = 1 : i64, k = 3 : i64} : tensor<1301x9xf32> -> "
                                "tensor<1301x3xf32>, tensor<1301x3xi64>");
  add("%x: tensor<501x37xf32>", "dataflow.softmax %x {axis = 1 : i64} : tensor<501x37xf32> -> tensor<501x37xf32>");
  add("%x: tensor<5x37x101xf32>",
      "dataflow.softmax %x {axis = 1 : i64} : tensor<5x37x101xf32> -> tensor<5x37x101xf32>");
  add("%x: tensor<1201x37xf32>, %s: tensor<37xf32>",
      "dataflow.layer_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : tensor<1201x37xf32>, tensor<37xf32> -> "
      "tensor<1201x37xf32>");
  add("%x: tensor<7x9x700xf32>, %s: tensor<9xf32>",
      "dataflow.instance_norm %x, %s, %s {epsilon = 1.0e-5 : f64} : tensor<7x9x700xf32>, tensor<9xf32>, "
      "tensor<9xf32> -> tensor<7x9x700xf32>");
  add("%x: tensor<1x25x40x41xf32>",
      "dataflow.pool max %x kernel [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : "
      "tensor<1x25x40x41xf32> -> tensor<1x25x40x41xf32>");
  add("%x: tensor<1x70x71x37xf32>",
      "dataflow.pool average %x kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] "
      "{layout = #dataflow<layout channels_last>} : tensor<1x70x71x37xf32> -> tensor<1x35x36x37xf32>");
  add("%x: tensor<40x60xi32>, %y: tensor<60x101xi32>", "dataflow.matmul %x, %y : tensor<40x60xi32>, tensor<60x101xi32>",
      {-9, 9});
  add("%x: tensor<1x8x21x20xf32>, %w: tensor<8x8x3x3xf32>",
      "dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x8x21x20xf32>, "
      "tensor<8x8x3x3xf32> -> tensor<1x8x21x20xf32>");
  for (bool isPacked : {false, true}) {
    add("%x: tensor<150x70xf32>, %y: tensor<70x131xf32>",
        "dataflow.matmul %x, %y : tensor<150x70xf32>, tensor<70x131xf32>", {}, isPacked);
    add("%x: tensor<29x31x40xf32>, %y: tensor<29x40x33xf32>",
        "dataflow.matmul %x, %y : tensor<29x31x40xf32>, tensor<29x40x33xf32>", {}, isPacked);
  }
  add("%x: tensor<1x30x31x16xf32>, %w: tensor<24x16x3x3xf32>",
      "dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {layout = #dataflow<layout "
      "channels_last>} : tensor<1x30x31x16xf32>, tensor<24x16x3x3xf32> -> tensor<1x30x31x24xf32>",
      {}, true);
  checkKernels(cases);
}
