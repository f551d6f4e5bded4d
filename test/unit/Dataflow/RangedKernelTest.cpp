//===- RangedKernelTest.cpp - Kernels of extents that a step gives --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RangedKernels.h"

#include <catch2/catch.hpp>

using namespace sluice::test;

namespace {

const std::string kOne = R"("n" = 1 to 131)", kTwo = R"("b" = 0 to 5, "n" = 1 to 70)";

/// A group over arguments of `types`, named %a, %b, ... in it.
RangedCase group(const std::string &symbols, const std::vector<std::string> &types, const std::string &result,
                 const std::string &members, double tolerance = 5e-5) {
  std::string arguments, inputs;
  for (size_t i = 0; i < types.size(); ++i) {
    std::string comma = i ? ", " : "", name(1, static_cast<char>('a' + i));
    arguments += comma + "%arg" + name + ": " + types[i];
    inputs += comma + "%" + name + " = %arg" + name + " : " + types[i];
  }
  return {symbols,
          arguments,
          "dataflow.fused (" + inputs + ") -> (" + result + ") {\n" + members + "\ndataflow.yield %r : " + result +
              "\n}",
          {{-1, 1}},
          tolerance};
}

} // namespace

TEST_CASE("element-wise kernels of a step's extents", "[dataflow][ranged]") {
  checkRanged({
      {kOne, "%x: tensor<{s0}xf32>", "dataflow.unary relu %x : tensor<{s0}xf32>"},
      {kOne, "%x: tensor<3x{s0}xf32>, %y: tensor<{s0}xf32>",
       "dataflow.binary add %x, %y : tensor<3x{s0}xf32>, tensor<{s0}xf32>"},
      {kOne, "%x: tensor<{s0}x40xf32>, %y: tensor<{s0}x1xf32>",
       "dataflow.binary mul %x, %y : tensor<{s0}x40xf32>, tensor<{s0}x1xf32>"},
      {kTwo, "%x: tensor<{s0}x{s1}x5xf32>, %y: tensor<{s1}x1xf32>",
       "dataflow.binary sub %x, %y : tensor<{s0}x{s1}x5xf32>, tensor<{s1}x1xf32>"},
      {kTwo, "%x: tensor<{s1}x1x{s0}xf32>, %y: tensor<7x{s0}xf32>",
       "dataflow.binary max %x, %y : tensor<{s1}x1x{s0}xf32>, tensor<7x{s0}xf32>"},
      {kTwo, "%x: tensor<{2 * s1 + s0 floordiv 2}xf16>",
       "dataflow.unary neg %x : tensor<{2 * s1 + s0 floordiv 2}xf16>"},
      {R"("n" = 1 to 135)",
       "%x: tensor<{s0 ceildiv 3}x{s0 mod 8 + 1}xf32>",
       "dataflow.cast %x : tensor<{s0 ceildiv 3}x{s0 mod 8 + 1}xf32> -> tensor<{s0 ceildiv 3}x{s0 mod 8 + 1}xi32>",
       {{-9, 9}}},
      group(kTwo, {"tensor<{s0}x3x{s1}xf32>", "tensor<{s1}xf32>", "tensor<3x1xf32>"}, "tensor<{s0}x3x{s1}xf32>", R"(
        %0 = dataflow.binary add %a, %b : tensor<{s0}x3x{s1}xf32>, tensor<{s1}xf32>
        %1 = dataflow.unary tanh %0 : tensor<{s0}x3x{s1}xf32>
        %2 = dataflow.binary mul %1, %c : tensor<{s0}x3x{s1}xf32>, tensor<3x1xf32>
        %r = dataflow.binary sub %2, %a : tensor<{s0}x3x{s1}xf32>, tensor<{s0}x3x{s1}xf32>)"),
      group(kTwo, {"tensor<{s0}x{s1}xf32>"}, "tensor<{s0}x{s1}xf32>", R"(
        %c = dataflow.constant dense<0.25> : tensor<f32>
        %0 = dataflow.compare gt %a, %c : tensor<{s0}x{s1}xf32>, tensor<f32>
        %r = dataflow.select %0, %a, %c : tensor<{s0}x{s1}xi1>, tensor<{s0}x{s1}xf32>, tensor<f32>)"),
  });
}

TEST_CASE("ranges and extents of a step", "[dataflow][ranged]") {
  checkRanged({
      {kTwo, "", "%y = extents(s0 * s1, 4, s1 - 1, s1 floordiv 3) : tensor<4xi64>"},
      {kTwo, "", "%y = extents(s0 + s1) : tensor<1xi64>"},
      {kOne,
       "%s: tensor<i32>, %d: tensor<1xi32>",
       "dataflow.range %s, %d : (tensor<i32>, tensor<1xi32>) -> tensor<{s0}xi32>",
       {{-9, 9}}},
  });
}

TEST_CASE("movement of a step's extents", "[dataflow][ranged]") {
  const std::string index = R"("n" = 1 to 37)";
  checkRanged({
      {kOne, "%x: tensor<{s0}x7xf32>", "dataflow.transpose %x [1, 0] : tensor<{s0}x7xf32>"},
      {kTwo, "%x: tensor<{s0}x{s1}x3x8xf32>", "dataflow.transpose %x [0, 2, 1, 3] : tensor<{s0}x{s1}x3x8xf32>"},
      {kTwo, "%x: tensor<{s0}x3x{s1}x8xf32>", "dataflow.transpose %x [0, 2, 3, 1] : tensor<{s0}x3x{s1}x8xf32>"},
      // By tiles, where a step has enough for them.
      {kOne, "%x: tensor<{s0}x{s0 + 3}xf32>", "dataflow.transpose %x [1, 0] : tensor<{s0}x{s0 + 3}xf32>"},
      {kTwo, "%x: tensor<{s0}x48x{s1}xf16>", "dataflow.transpose %x [2, 0, 1] : tensor<{s0}x48x{s1}xf16>"},
      {kTwo, "%x: tensor<2x{s0}x{s1}x33xf32>", "dataflow.transpose %x [0, 3, 1, 2] : tensor<2x{s0}x{s1}x33xf32>"},
      group(kOne, {"tensor<20x{s0}xf32>", "tensor<{s0}x20xf32>"}, "tensor<{s0}x20xf32>", R"(
        %0 = dataflow.unary relu %a : tensor<20x{s0}xf32>
        %1 = dataflow.transpose %0 [1, 0] : tensor<20x{s0}xf32>
        %r = dataflow.binary add %1, %b : tensor<{s0}x20xf32>, tensor<{s0}x20xf32>)"),
      {kTwo, "%x: tensor<{s0}x{s1}x24xf32>",
       "dataflow.reshape %x : tensor<{s0}x{s1}x24xf32> -> tensor<{s0}x{s1}x3x8xf32>"},
      group(kTwo, {"tensor<{s0}x{s1}x24xf32>"}, "tensor<{s0}x3x{s1}x8xf32>", R"(
        %0 = dataflow.reshape %a : tensor<{s0}x{s1}x24xf32> -> tensor<{s0}x{s1}x3x8xf32>
        %1 = dataflow.transpose %0 [0, 2, 1, 3] : tensor<{s0}x{s1}x3x8xf32>
        %r = dataflow.unary relu %1 : tensor<{s0}x3x{s1}x8xf32>)"),
      group(kTwo, {"tensor<{s0}x3x{s1}x8xf32>"}, "tensor<{s0 * s1}x24xf32>", R"(
        %0 = dataflow.transpose %a [0, 2, 1, 3] : tensor<{s0}x3x{s1}x8xf32>
        %r = dataflow.reshape %0 : tensor<{s0}x{s1}x3x8xf32> -> tensor<{s0 * s1}x24xf32>)"),
      // Runs that have as many elements at the upper bounds only are one.
      group(R"("m" = 1 to 4, "n" = 1 to 9)", {"tensor<{s0}x4x{s1}xf32>"}, "tensor<4x{s1}x{s0}xf32>", R"(
        %r = dataflow.reshape %a : tensor<{s0}x4x{s1}xf32> -> tensor<4x{s1}x{s0}xf32>)"),
      {kTwo, "%x: tensor<{s1}x1xf32>", "dataflow.expand %x : tensor<{s1}x1xf32> -> tensor<{s0}x{s1}x19xf32>"},
      {kTwo, "%x: tensor<{s1}x5xf32>", "dataflow.tile %x : tensor<{s1}x5xf32> -> tensor<{3 * s1}x5xf32>"},
      {kOne, "%x: tensor<{s0 + 9}x20xf32>",
       "dataflow.slice %x from [7, 1] by [1, 3] : tensor<{s0 + 9}x20xf32> -> tensor<{s0}x6xf32>"},
      {kTwo, "%x: tensor<3x{s1}x4xf32>, %y: tensor<3x19x4xf32>, %z: tensor<3x{s0}x4xf32>",
       "dataflow.concat %x, %y, %z {axis = 1 : i64} : tensor<3x{s1}x4xf32>, tensor<3x19x4xf32>, tensor<3x{s0}x4xf32> "
       "-> "
       "tensor<3x{s0 + s1 + 19}x4xf32>"},
      {kTwo, "%x: tensor<{s0}x{s1}xf32>, %y: tensor<{s0}x{s1}xf32>",
       "dataflow.concat %x, %y {axis = 0 : i64} : tensor<{s0}x{s1}xf32>, tensor<{s0}x{s1}xf32> -> "
       "tensor<{2 * s0}x{s1}xf32>"},
      {kTwo, "%x: tensor<{s0}x{s1}xf32>, %v: tensor<f32>",
       "dataflow.pad constant %x, %v low [2, 3] : (tensor<{s0}x{s1}xf32>, tensor<f32>) -> tensor<{s0 + 2}x{s1 + "
       "9}xf32>"},
      {kOne, "%x: tensor<4x{s0}xf32>, %v: tensor<f32>",
       "dataflow.pad edge %x, %v low [-1, 2] : (tensor<4x{s0}xf32>, tensor<f32>) -> tensor<5x{s0 + 3}xf32>"},
      {R"("n" = 4 to 70)", "%x: tensor<4x{s0}xf32>, %v: tensor<f32>",
       "dataflow.pad reflect %x, %v low [0, 2] : (tensor<4x{s0}xf32>, tensor<f32>) -> tensor<4x{s0 + 5}xf32>"},
      {kOne, "%x: tensor<4x{s0}xf32>, %v: tensor<f32>",
       "dataflow.pad wrap %x, %v low [0, 2] : (tensor<4x{s0}xf32>, tensor<f32>) -> tensor<4x{s0 + 5}xf32>"},
      {index,
       "%x: tensor<{s0}x5xf32>, %i: tensor<4xi64>",
       "dataflow.gather %x, %i {axis = 0 : i64} : tensor<{s0}x5xf32>, tensor<4xi64> -> tensor<4x5xf32>",
       {{-1, 1}, {-1, 0}}},
      {kTwo,
       "%x: tensor<30x24xf32>, %i: tensor<{s0}x{s1}xi64>",
       "dataflow.gather %x, %i {axis = 0 : i64} : tensor<30x24xf32>, tensor<{s0}x{s1}xi64> -> tensor<{s0}x{s1}x24xf32>",
       {{-1, 1}, {-30, 29}}},
      {index,
       "%x: tensor<7x{s0}xf32>, %i: tensor<7x9xi64>",
       "dataflow.gather_elements %x, %i {axis = 1 : i64} : tensor<7x{s0}xf32>, tensor<7x9xi64> -> tensor<7x9xf32>",
       {{-1, 1}, {-1, 0}}},
      {kTwo,
       "%x: tensor<{s1}x4x5xf32>, %i: tensor<{s0}x2xi64>",
       "dataflow.gather_nd %x, %i {batch_dims = 0 : i64} : tensor<{s1}x4x5xf32>, tensor<{s0}x2xi64> -> "
       "tensor<{s0}x5xf32>",
       {{-1, 1}, {-1, 0}}},
      {kTwo,
       "%x: tensor<{s1}x5xf32>, %i: tensor<{s0}x5xi64>, %u: tensor<{s0}x5xf32>",
       "dataflow.scatter_elements add %x, %i, %u {axis = 0 : i64} : tensor<{s1}x5xf32>, tensor<{s0}x5xi64>, "
       "tensor<{s0}x5xf32> -> tensor<{s1}x5xf32>",
       {{-1, 1}, {-1, 0}, {-1, 1}}},
      {kTwo,
       "%x: tensor<{s1}x5xf32>, %i: tensor<{s0}x1xi64>, %u: tensor<{s0}x5xf32>",
       "dataflow.scatter_nd none %x, %i, %u : tensor<{s1}x5xf32>, tensor<{s0}x1xi64>, tensor<{s0}x5xf32> -> "
       "tensor<{s1}x5xf32>",
       {{-1, 1}, {-1, 0}, {-1, 1}}},
  });
}

TEST_CASE("row kernels of a step's extents", "[dataflow][ranged]") {
  checkRanged({
      {kTwo, "%x: tensor<{s0}x{s1}x19xf32>",
       "dataflow.reduce mean %x axes [1] : tensor<{s0}x{s1}x19xf32> -> tensor<{s0}x19xf32>"},
      {kTwo, "%x: tensor<{s0}x{s1}xf32>",
       "dataflow.reduce max %x axes [1] {keep_dims = true} : tensor<{s0}x{s1}xf32> -> tensor<{s0}x1xf32>"},
      {kTwo, "%x: tensor<{s0}x{s1}x40xf32>",
       "dataflow.reduce mean %x axes [2] {keep_dims = true} : tensor<{s0}x{s1}x40xf32> -> tensor<{s0}x{s1}x1xf32>"},
      {kTwo,
       "%x: tensor<5x{s0}x{s1}xf32>",
       "dataflow.reduce sum %x axes [1] : tensor<5x{s0}x{s1}xf32> -> tensor<5x{s1}xf32>",
       {},
       5e-5},
      {kOne,
       "%x: tensor<5x{s0}xi32>",
       "dataflow.reduce mean %x axes [1] : tensor<5x{s0}xi32> -> tensor<5xi32>",
       {{0, 99}}},
      {kOne, "%x: tensor<3x{s0}xf32>",
       "dataflow.reduce log_sum_exp %x axes [0, 1] : tensor<3x{s0}xf32> -> tensor<f32>"},
      // Long enough for sums of chunks' sums.
      {R"("n" = 1 to 40000)",
       "%x: tensor<2x{s0}xf32>",
       "dataflow.reduce sum %x axes [1] : tensor<2x{s0}xf32> -> tensor<2xf32>",
       {{0, 1}},
       1e-4},
      {kTwo, "%x: tensor<{s0}x{s1}xf32>",
       "dataflow.softmax %x {axis = 1 : i64} : tensor<{s0}x{s1}xf32> -> tensor<{s0}x{s1}xf32>"},
      {kTwo, "%x: tensor<3x{s0}x{s1}xf32>",
       "dataflow.softmax %x {axis = 1 : i64, log = true} : tensor<3x{s0}x{s1}xf32> -> tensor<3x{s0}x{s1}xf32>"},
      {kTwo,
       "%x: tensor<{s0}x{s1}x37xf32>, %s: tensor<37xf32>",
       "dataflow.layer_norm %x, %s {axis = 2 : i64, epsilon = 1.0e-5 : f64} : tensor<{s0}x{s1}x37xf32>, "
       "tensor<37xf32> -> tensor<{s0}x{s1}x37xf32>",
       {},
       5e-5},
      {R"("b" = 0 to 5, "n" = 3 to 70)",
       "%x: tensor<{s0}x4x{s1}xf32>, %s: tensor<4xf32>, %c: tensor<4xf32>",
       "dataflow.instance_norm %x, %s, %c {epsilon = 1.0e-2 : f64} : tensor<{s0}x4x{s1}xf32>, tensor<4xf32>, "
       "tensor<4xf32> -> tensor<{s0}x4x{s1}xf32>",
       {},
       5e-5},
      {kTwo,
       "%x: tensor<{s0}x{s1}x3xf32>",
       "dataflow.cumsum %x {axis = 1 : i64, reverse = true} : tensor<{s0}x{s1}x3xf32> -> tensor<{s0}x{s1}x3xf32>",
       {},
       5e-5},
      {kTwo, "%x: tensor<{s0}x{s1}x3xf32>",
       "dataflow.arg_reduce %x {axis = 1 : i64} : tensor<{s0}x{s1}x3xf32> -> tensor<{s0}x1x3xi64>"},
      {R"("b" = 0 to 5, "n" = 3 to 70)", "%x: tensor<{s0}x{s1}x3xf32>",
       "dataflow.topk %x {axis = 1 : i64, k = 3 : i64} : tensor<{s0}x{s1}x3xf32> -> tensor<{s0}x3x3xf32>, "
       "tensor<{s0}x3x3xi64>"},
      group(kTwo, {"tensor<{s0}x{s1}xf32>", "tensor<{s1}xf32>", "tensor<{s0}x1xf32>"}, "tensor<{s0}x1xf32>", R"(
        %0 = dataflow.binary mul %a, %b : tensor<{s0}x{s1}xf32>, tensor<{s1}xf32>
        %1 = dataflow.reduce mean %0 axes [1] {keep_dims = true} : tensor<{s0}x{s1}xf32> -> tensor<{s0}x1xf32>
        %2 = dataflow.unary tanh %1 : tensor<{s0}x1xf32>
        %r = dataflow.binary add %2, %c : tensor<{s0}x1xf32>, tensor<{s0}x1xf32>)"),
      group(kTwo, {"tensor<{s0}x3x{s1}x{s1}xf32>", "tensor<{s0}x1x1x{s1}xf32>"}, "tensor<{s0}x3x{s1}x{s1}xf32>", R"(
        %1 = dataflow.softmax %a {axis = 3 : i64} : tensor<{s0}x3x{s1}x{s1}xf32> -> tensor<{s0}x3x{s1}x{s1}xf32>
        %r = dataflow.binary mul %1, %b : tensor<{s0}x3x{s1}x{s1}xf32>, tensor<{s0}x1x1x{s1}xf32>)"),
  });
}

namespace {
/// %y of two operands, named %x and %w.
RangedCase matmul(const std::string &symbols, const std::string &lhs, const std::string &rhs, bool isPacked = false,
                  const std::string &operands = "%x, %w") {
  return {symbols, "%x: " + lhs + ", %w: " + rhs, "dataflow.matmul " + operands + " : " + lhs + ", " + rhs, {}, 1e-4,
          isPacked};
}
} // namespace

TEST_CASE("matrix products of a step's extents", "[dataflow][ranged][matmul]") {
  const std::string three = R"("b" = 0 to 3, "m" = 1 to 100, "n" = 1 to 75)";
  checkRanged({
      // Linear layers.
      matmul(kOne, "tensor<{s0}x40xf32>", "tensor<40x70xf32>", /*isPacked=*/true),
      matmul(kOne, "tensor<{s0}x40xf32>", "tensor<40x70xf32>"),
      matmul(kTwo, "tensor<{s0}x{s1}x33xf32>", "tensor<33x20xf32>", true),
      matmul(kOne, "tensor<1x{s0}x200xf32>", "tensor<200x8xf32>", true),
      matmul(R"("n" = 0 to 9)", "tensor<{s0}x300xf32>", "tensor<300x64xf32>", true),
      matmul(R"("n" = 1 to 3000)", "tensor<{s0}x16xf32>", "tensor<16x5xf32>", true),
      // Scores, and their products with values.
      matmul(kOne, "tensor<3x{s0}x20xf32>", "tensor<3x20x{s0}xf32>"),
      matmul(kOne, "tensor<3x{s0}x20xf32>", "tensor<3x{s0}x20xf32>", false, "%x, %w transposed"),
      matmul(kOne, "tensor<3x{s0}x{s0}xf32>", "tensor<3x{s0}x20xf32>"),
      matmul(three, "tensor<{s0}x{s1}x{s2}xf32>", "tensor<{s2}x{s1}xf32>"),
      matmul(three, "tensor<{s0}x1x{s1}x7xf32>", "tensor<2x7x{s2}xf32>"),
      matmul(three, "tensor<{s2}x{s1}xf32>", "tensor<{s2}x9xf32>", false, "%x transposed, %w"),
      matmul(three, "tensor<{s0 + 1}x{s1}xf32>", "tensor<{s2}x{s0 + 1}xf32>", false, "%x transposed, %w transposed"),
      matmul(R"("k" = 0 to 700)", "tensor<20x{s0}xf32>", "tensor<{s0}x40xf32>"),
      matmul(kOne, "tensor<{s0}x{s0}xf64>", "tensor<{s0}x{s0}xf64>"),
      matmul(kOne, "tensor<{s0}x{s0}xi32>", "tensor<{s0}x5xi32>"),
      group(kTwo, {"tensor<{s0}x{s1}x24xf32>", "tensor<24x40xf32>", "tensor<40xf32>", "tensor<{s0}x{s1}x40xf32>"},
            "tensor<{s0}x{s1}x40xf32>", R"(
        %0 = dataflow.matmul %a, %b : tensor<{s0}x{s1}x24xf32>, tensor<24x40xf32>
        %1 = dataflow.binary add %0, %c : tensor<{s0}x{s1}x40xf32>, tensor<40xf32>
        %2 = dataflow.unary tanh %1 : tensor<{s0}x{s1}x40xf32>
        %r = dataflow.binary add %2, %d : tensor<{s0}x{s1}x40xf32>, tensor<{s0}x{s1}x40xf32>)",
            1e-4),
      group(kTwo, {"tensor<{s0}x3x{s1}x8xf32>", "tensor<{s0}x3x{s1}x8xf32>", "tensor<{s0}x1x1x{s1}xf32>"},
            "tensor<{s0}x3x{s1}x{s1}xf32>", R"(
        %0 = dataflow.matmul %a, %b transposed : tensor<{s0}x3x{s1}x8xf32>, tensor<{s0}x3x{s1}x8xf32>
        %r = dataflow.binary add %0, %c : tensor<{s0}x3x{s1}x{s1}xf32>, tensor<{s0}x1x1x{s1}xf32>)",
            1e-4),
  });
}

TEST_CASE("matrix products of a step's extents in shorter vectors", "[dataflow][ranged][matmul]") {
  for (int64_t lanes : {4, 8})
    checkRanged({matmul(kOne, "tensor<{s0}x40xf32>", "tensor<40x70xf32>", true),
                 matmul(kOne, "tensor<3x{s0}x20xf32>", "tensor<3x{s0}x20xf32>", false, "%x, %w transposed"),
                 matmul(kOne, "tensor<3x{s0}x{s0}xf32>", "tensor<3x{s0}x20xf32>")},
                lanes);
}

TEST_CASE("attention of a step's extents", "[dataflow][ranged][attention]") {
  auto attention = [](const std::string &symbols, const std::vector<std::string> &shapes, const std::string &result,
                      const std::string &form = "%q, %k, %v") {
    std::string arguments, types;
    const char *names[] = {"%q", "%k", "%v", "%m"};
    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::string type = "tensor<" + shapes[i] + "xf32>", comma = i ? ", " : "";
      arguments += comma + names[i] + ": " + type;
      types += comma + type;
    }
    return RangedCase{symbols,
                      arguments,
                      "%y = dataflow.attention " + form + " {scale = 0.25 : f32} : (" + types + ") -> tensor<" +
                          result + "xf32>",
                      {},
                      5e-5};
  };
  checkRanged({
      attention(kTwo, {"{s0}x3x{s1}x16", "{s0}x3x{s1}x16", "{s0}x3x{s1}x16"}, "{s0}x3x{s1}x16"),
      attention(R"("n" = 1 to 200)", {"1x2x{s0}x8", "1x2x{s0}x8", "1x2x{s0}x20", "1x1x1x{s0}"}, "1x2x{s0}x20",
                "%q, %k, %v mask %m"),
      attention(R"("rows" = 0 to 90, "keys" = 1 to 150)", {"2x{s0}x12", "2x12x{s1}", "1x{s1}x7", "{s0}x{s1}"},
                "2x{s0}x7", "%q, %k transposed, %v mask %m"),
      attention(R"("keys" = 1 to 33, "depth" = 1 to 20)", {"5x{s1}", "{s0}x{s1}", "{s0}x{s1}"}, "5x{s1}"),
      // Few rows fit the scratch; and longer rows than it holds.
      attention(R"("keys" = 1 to 5000)", {"17x4", "{s0}x4", "{s0}x4"}, "17x4"),
      attention(R"("keys" = 1 to 70000)", {"2x2", "{s0}x2", "{s0}x2"}, "2x2"),
  });
}

TEST_CASE("kernels that need constant extents refuse symbols", "[dataflow][ranged]") {
  const RangedCase padded{kOne, "%x: tensor<{s0}xf32>", "dataflow.unary relu %x : tensor<{s0}xf32>"};
  CHECK(refusalOf(padded).empty());
  CHECK(refusalOf(padded, /*inGrids=*/true).empty());
  // A training step has one size for each dimension.
  const RangedCase member = group(kOne, {"tensor<i64>", "tensor<{s0}xf32>"}, "tensor<{s0}xf32>", R"(
        %0 = dataflow.dropout_mask %a {keep = 0.75 : f64, seed = 3 : i64} : (tensor<i64>) -> tensor<{s0}xi1>
        %r = dataflow.select %0, %b, %b : tensor<{s0}xi1>, tensor<{s0}xf32>, tensor<{s0}xf32>)");
  for (bool inGrids : {false, true})
    CHECK_THAT(
        refusalOf(member, inGrids),
        Catch::Contains("'dataflow.dropout_mask' op has a kernel that needs sizes that are known at compile time") &&
            Catch::Contains("\"n\""));
}
