//===- RangedSelectionKernelTest.cpp - Selections of a step's extents -----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RangedKernels.h"

#include <catch2/catch.hpp>

using namespace sluice::test;

TEST_CASE("selections of a step's extents", "[dataflow][ranged]") {
  std::vector<RangedCase> cases;
  for (const char *element : {"f32", "i1", "i64"}) {
    const std::string type = std::string("tensor<{s0}x4x{s1}x") + element + ">";
    cases.push_back({R"("b" = 0 to 5, "n" = 1 to 20)",
                     "%x: " + type,
                     "dataflow.nonzero %x : " + type + " -> tensor<3x{4 * s0 * s1}xi64>, tensor<i64>",
                     {{0, 1}}});
  }
  for (const bool hasLeast : {false, true})
    cases.push_back({R"("b" = 0 to 3, "n" = 4 to 20)",
                     "%b: tensor<{s0}x{s1}x4xf32>, %s: tensor<{s0}x3x{s1}xf32>, %n: tensor<i64>, %o: tensor<f32>, "
                     "%l: tensor<f32>",
                     "dataflow.non_max_suppression %b, %s, %n, %o" + std::string(hasLeast ? ", %l" : "") +
                         " {most = 4 : i64} : tensor<{s0}x{s1}x4xf32>, tensor<{s0}x3x{s1}xf32>, tensor<i64>, "
                         "tensor<f32>" +
                         (hasLeast ? ", tensor<f32>" : "") + " -> tensor<{12 * s0}x3xi64>, tensor<i64>",
                     {{0, 1}, {0, 1}, {0, 4}, {0, 0.6}, {0, 0.5}}});
  // More are asked for than there are.
  cases.push_back({R"("n" = 1 to 9)",
                   "%b: tensor<2x{s0}x4xf32>, %s: tensor<2x3x{s0}xf32>, %n: tensor<i64>, %o: tensor<f32>",
                   "dataflow.non_max_suppression %b, %s, %n, %o {most = 9 : i64, centered} : tensor<2x{s0}x4xf32>, "
                   "tensor<2x3x{s0}xf32>, tensor<i64>, tensor<f32> -> tensor<54x3xi64>, tensor<i64>",
                   {{0, 1}, {0, 1}, {9, 20}, {0.3, 0.6}}});
  checkRanged(cases);
}

TEST_CASE("samples of images of a step's extents", "[dataflow][ranged]") {
  std::vector<RangedCase> cases;
  for (const char *mode : {"nearest", "linear", "cubic"})
    for (const char *padding : {"zeros", "border", "reflection"})
      for (const char *edges : {"", " {at_edges}"})
        cases.push_back({R"("b" = 0 to 3, "h" = 1 to 9, "w" = 1 to 9, "n" = 1 to 7)",
                         "%x: tensor<{s0}x3x{s1}x{s2}xf32>, %p: tensor<{s0}x{s3}x3x2xf32>",
                         std::string("dataflow.grid_sample ") + mode + " " + padding + " %x, %p" + edges +
                             " : tensor<{s0}x3x{s1}x{s2}xf32>, tensor<{s0}x{s3}x3x2xf32>",
                         {{-1, 1}, {-9, 13}},
                         1e-4});
  for (const char *options : {"sampling_ratio = 2 : i64", "sampling_ratio = 0 : i64, half_pixel"})
    cases.push_back({R"("b" = 1 to 3, "h" = 1 to 9, "w" = 1 to 9, "n" = 0 to 7)",
                     "%x: tensor<{s0}x3x{s1}x{s2}xf32>, %r: tensor<{s3}x4xf32>, %i: tensor<{s3}xi64>",
                     std::string("dataflow.roi_align %x, %r, %i {height = 2 : i64, width = 3 : i64, spatial_scale = "
                                 "0.5 : f64, ") +
                         options +
                         "} : tensor<{s0}x3x{s1}x{s2}xf32>, tensor<{s3}x4xf32>, tensor<{s3}xi64> -> "
                         "tensor<{s3}x3x2x3xf32>",
                     {{-1, 1}, {-4, 24}, {-2, 3}}, // Image numbers out of range too.
                     1e-4});
  checkRanged(cases);
}

TEST_CASE("trees, votes and random numbers of a step's rows", "[dataflow][ranged]") {
  const std::string rows = R"("n" = 0 to 70)";
  auto trees = [&](const std::string &symbols, const std::string &input, const std::string &result) {
    return RangedCase{symbols,
                      "%x: " + input +
                          ", %n: tensor<9x3xi32>, %t: tensor<9xf32>, %r: tensor<6xi32>, %l: tensor<6xi32>, %g: "
                          "tensor<8xi32>, %w: tensor<8xf32>",
                      "dataflow.tree_ensemble sum %x nodes %n, %t roots %r leaves %l, %g, %w {test = 5 : i64} : (" +
                          input +
                          ", tensor<9x3xi32>, tensor<9xf32>, tensor<6xi32>, tensor<6xi32>, tensor<8xi32>, "
                          "tensor<8xf32>) -> " +
                          result,
                      {{-2, 2}, {-2, 17}, {-1, 1}, {-2, 14}, {-1, 9}, {-2, 5}, {-2, 2}}};
  };
  checkRanged({trees(rows, "tensor<{s0}x3xf32>", "tensor<{s0}x1xf32>"),
               trees(rows, "tensor<{s0}x3xf32>", "tensor<{s0}x4xf32>"),
               {rows,
                "%p: tensor<{s0}x3xf32>",
                "dataflow.couple_probabilities %p : tensor<{s0}x3xf32> -> tensor<{s0}x3xf32>",
                {{0.05, 0.95}},
                1e-4},
               {R"("b" = 0 to 5, "n" = 1 to 40)", "", "dataflow.random {seed = 7 : i64} : tensor<{s0}x5x{s1}xf32>"}});
  CHECK_THAT(refusalOf(trees(rows, "tensor<7x{s0 + 3}xf32>", "tensor<7x1xf32>")),
             Catch::Contains("only the number of rows may change between steps"));
}
