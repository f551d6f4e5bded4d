//===- VisionKernelTest.cpp - Warps, regions, selections, small types -----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <catch2/catch.hpp>

using namespace sluice::test;

TEST_CASE("grid_sample", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *mode : {"nearest", "linear", "cubic"})
    for (const char *padding : {"zeros", "border", "reflection"})
      for (const char *edges : {"", " {at_edges}"}) {
        const std::string head = std::string("dataflow.grid_sample ") + mode + " " + padding + " %x, %p" + edges;
        // Positions reach far out of the image. Those in the middle between two elements would be rounded either way.
        cases.push_back({"%x: tensor<2x3x5x7xf32>, %p: tensor<2x4x3x2xf32>",
                         head + " : tensor<2x3x5x7xf32>, tensor<2x4x3x2xf32>",
                         {{-1, 1}, {-9, 13}},
                         1e-4});
        cases.push_back({"%x: tensor<1x2x6xf64>, %p: tensor<1x9x1xf32>",
                         head + " : tensor<1x2x6xf64>, tensor<1x9x1xf32>",
                         {{-1, 1}, {-9, 13}},
                         1e-4});
      }
  cases.push_back({"%x: tensor<1x2x3x4x2xf32>, %p: tensor<1x5x3xf32>",
                   "dataflow.grid_sample linear border %x, %p : tensor<1x2x3x4x2xf32>, tensor<1x5x3xf32>",
                   {{-1, 1}, {-3, 5}},
                   1e-4});
  checkKernels(cases);
}

TEST_CASE("roi_align", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *options :
       {"sampling_ratio = 2 : i64", "sampling_ratio = 0 : i64", "sampling_ratio = 3 : i64, half_pixel"})
    cases.push_back(
        {"%x: tensor<2x3x8x9xf32>, %r: tensor<5x4xf32>, %i: tensor<5xi64>",
         std::string("dataflow.roi_align %x, %r, %i {height = 2 : i64, width = 3 : i64, spatial_scale = 0.5 : "
                     "f64, ") +
             options + "} : tensor<2x3x8x9xf32>, tensor<5x4xf32>, tensor<5xi64> -> tensor<5x3x2x3xf32>",
         {{-1, 1}, {-4, 24}, {-2, 3}}, // Image numbers out of range too.
         1e-4});
  checkKernels(cases);
}

TEST_CASE("pool_index", "[dataflow]") {
  checkKernels(
      {{"%x: tensor<2x3x7x9xf32>",
        "dataflow.pool_index %x kernel [3, 2] strides [2, 2] pads [1, 0] dilations [1, 2] : tensor<2x3x7x9xf32> -> "
        "tensor<2x3x4x4xi64>"},
       {"%x: tensor<2x3x7x9xui8>",
        "dataflow.pool_index %x kernel [3, 2] strides [2, 2] pads [0, 0] dilations [1, 1] {column_major} : "
        "tensor<2x3x7x9xui8> -> tensor<2x3x3x4xi64>",
        {{0, 3}}}}); // Equal elements: the first.
}

TEST_CASE("selections", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *element : {"f32", "i1", "ui8", "i64"})
    cases.push_back({"%x: " + tensorOf({3, 4, 5}, element),
                     "dataflow.nonzero %x : " + tensorOf({3, 4, 5}, element) + " -> tensor<3x60xi64>, tensor<i64>",
                     {{0, 1}}});
  // A step gives the limit (0 to 4 of a class) and the thresholds.
  for (const char *form : {"", "centered"})
    for (const bool hasLeast : {false, true})
      cases.push_back(
          {"%b: tensor<2x9x4xf32>, %s: tensor<2x3x9xf32>, %n: tensor<i64>, %o: tensor<f32>, %l: tensor<f32>",
           "dataflow.non_max_suppression %b, %s, %n, %o" + std::string(hasLeast ? ", %l" : "") + " {most = 4 : i64" +
               (*form ? std::string(", ") + form : "") +
               "} : tensor<2x9x4xf32>, tensor<2x3x9xf32>, tensor<i64>, tensor<f32>" +
               (hasLeast ? ", tensor<f32>" : "") + " -> tensor<24x3xi64>, tensor<i64>",
           {{0, 1}, {0, 1}, {0, 4}, {0, 0.6}, {0, 0.5}}});
  checkKernels(cases);
}

TEST_CASE("random", "[dataflow]") {
  // Position by position, in whatever chunks; a seed has a run of its own.
  checkKernels({{"", "dataflow.random {seed = 7 : i64} : tensor<3x5x7xf32>"},
                {"", "dataflow.random {seed = -1 : i64} : tensor<70001xf32>", {}, 0, false, /*isChunked=*/true}});
}

TEST_CASE("small element types", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *small : {"f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "f4E2M1FN"})
    for (const char *saturate : {"", " saturate"}) {
      const std::string wide = tensorOf({67}, "f32"), narrow = tensorOf({67}, small);
      // In range, far out of it, and among the subnormals.
      for (double limit : {8.0, 1e6, 0.01})
        cases.push_back({"%x: " + wide,
                         "dataflow.cast %x" + std::string(saturate) + " : " + wide + " -> " + narrow,
                         {{-limit, limit, /*special=*/true}}});
    }
  for (const char *small : {"i4", "ui4", "i2", "ui2"})
    for (const char *other : {"f32", "i8", "ui16"}) {
      cases.push_back({"%x: " + tensorOf({67}, other),
                       "dataflow.cast %x : " + tensorOf({67}, other) + " -> " + tensorOf({67}, small),
                       {{0, 30}}});
    }
  cases.push_back({"%x: tensor<67xf32>", "dataflow.bitcast %x : tensor<67xf32> -> tensor<67xi32>"});
  cases.push_back({"%x: tensor<67xf16>", "dataflow.bitcast %x : tensor<67xf16> -> tensor<67xi16>"});
  checkKernels(cases);
}
