//===- MovementKernelTest.cpp - From transposes to scatters -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <catch2/catch.hpp>
#include <tuple>

using namespace sluice::test;

TEST_CASE("transpositions by tiles, of every element type", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *element : {"f32", "f64", "f16", "bf16", "i1", "i8", "ui8", "i64"}) {
    auto add = [&](const std::vector<int64_t> &shape, const std::string &permutation) {
      std::string type = tensorOf(shape, element);
      cases.push_back({"%x: " + type, "dataflow.transpose %x [" + permutation + "] : " + type, {{0, 9}}});
    };
    add({64, 96}, "1, 0");
    add({16, 45}, "1, 0");
    add({33, 17}, "1, 0");
    // Images to channels last and back: rows of pixels are one side.
    add({2, 20, 5, 7}, "0, 2, 3, 1");
    add({2, 5, 7, 20}, "0, 3, 1, 2");
    // A batch within, and without, and none of the sides where it was.
    add({3, 35, 2, 18}, "3, 2, 0, 1");
    add({18, 3, 35}, "2, 1, 0");
    add({3, 18, 1, 35}, "0, 3, 2, 1");
    // The result's rows are several of the input's dimensions.
    add({4, 5, 6, 17}, "3, 0, 1, 2");
    // Few of one side, and the same rows in both: as any other.
    add({40, 3}, "1, 0");
    add({3, 20, 40}, "1, 0, 2");
  }
  cases.push_back({"%x: tensor<201x203xf32>", "dataflow.transpose %x [1, 0] : tensor<201x203xf32>"});
  checkKernels(cases);
}

TEST_CASE("groups around a transposition by tiles", "[dataflow]") {
  auto group = [](const std::string &body, const std::string &last) -> Case {
    return {
        "%a: tensor<2x20x35xf32>, %b: tensor<2x35x20xf32>, %c: tensor<20xf32>",
        "%y = dataflow.fused (%x = %a : tensor<2x20x35xf32>, %z = %b : tensor<2x35x20xf32>, %i = %c : tensor<20xf32>) "
        "-> (tensor<2x35x20xf32>) {\n" +
            body + "dataflow.yield " + last + " : tensor<2x35x20xf32>\n}",
        {{-1, 1}}};
  };
  const std::string turn = "%t = dataflow.transpose %x [0, 2, 1] : tensor<2x20x35xf32>\n";
  checkKernels({
      group(turn + "%1 = dataflow.binary add %t, %i : tensor<2x35x20xf32>, tensor<20xf32>\n"
                   "%2 = dataflow.binary mul %1, %z : tensor<2x35x20xf32>, tensor<2x35x20xf32>\n"
                   "%3 = dataflow.binary add %2, %t : tensor<2x35x20xf32>, tensor<2x35x20xf32>\n",
            "%3"),
      // What comes before it is computed as it is read.
      group("%0 = dataflow.unary relu %x : tensor<2x20x35xf32>\n"
            "%t = dataflow.transpose %0 [0, 2, 1] : tensor<2x20x35xf32>\n"
            "%1 = dataflow.binary add %t, %z : tensor<2x35x20xf32>, tensor<2x35x20xf32>\n",
            "%1"),
      // Two; and one that is read elsewhere too.
      group(turn + "%0 = dataflow.unary relu %x : tensor<2x20x35xf32>\n"
                   "%u = dataflow.transpose %0 [0, 2, 1] : tensor<2x20x35xf32>\n"
                   "%1 = dataflow.binary add %t, %u : tensor<2x35x20xf32>, tensor<2x35x20xf32>\n",
            "%1"),
      group(turn + "%u = dataflow.slice %t from [0, 34, 0] by [1, -1, 1] : tensor<2x35x20xf32> -> tensor<2x35x20xf32>\n"
                   "%1 = dataflow.binary add %t, %u : tensor<2x35x20xf32>, tensor<2x35x20xf32>\n",
            "%1"),
  });
}

TEST_CASE("views and copies of every element type", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *element : {"f32", "f64", "f16", "bf16", "i1", "i8", "ui8", "i64"}) {
    auto t = [&](const std::vector<int64_t> &shape) { return tensorOf(shape, element); };
    auto add = [&](const std::string &input, const std::string &body) {
      cases.push_back({"%x: " + input, body, {{0, 9}}});
    };
    add(t({3, 4, 17}), "dataflow.transpose %x [2, 0, 1] : " + t({3, 4, 17}));
    add(t({2, 3, 4, 5}), "dataflow.transpose %x [0, 2, 3, 1] : " + t({2, 3, 4, 5}));
    add(t({6, 7}), "dataflow.reshape %x : " + t({6, 7}) + " -> " + t({2, 21}));
    add(t({3, 1, 5}), "dataflow.expand %x : " + t({3, 1, 5}) + " -> " + t({2, 3, 19, 5}));
    add(t({2, 5}), "dataflow.tile %x : " + t({2, 5}) + " -> " + t({6, 20}));
    add(t({9, 20}), "dataflow.slice %x from [7, 1] by [-2, 3] : " + t({9, 20}) + " -> " + t({4, 6}));
    add(t({3, 37}), "dataflow.copy %x : " + t({3, 37}));
    cases.push_back({"%x: " + t({3, 5, 4}) + ", %y: " + t({3, 19, 4}) + ", %z: " + t({3, 0, 4}),
                     "dataflow.concat %x, %y, %z {axis = 1 : i64} : " + t({3, 5, 4}) + ", " + t({3, 19, 4}) + ", " +
                         t({3, 0, 4}) + " -> " + t({3, 24, 4}),
                     {{0, 9}}});
    for (const char *mode : {"constant", "reflect", "edge", "wrap"}) {
      cases.push_back({"%x: " + t({4, 6}) + ", %v: " + t({}),
                       std::string("dataflow.pad ") + mode + " %x, %v low [2, 3] : (" + t({4, 6}) + ", " + t({}) +
                           ") -> " + t({9, 13}),
                       {{0, 9}}});
      // Cropped on one side, extended on the other.
      cases.push_back({"%x: " + t({4, 6}) + ", %v: " + t({1}),
                       std::string("dataflow.pad ") + mode + " %x, %v low [-1, 2] : (" + t({4, 6}) + ", " + t({1}) +
                           ") -> " + t({5, 5}),
                       {{0, 9}}});
    }
  }
  cases.push_back({"%x: tensor<2x3xf32>, %v: tensor<f32>",
                   "dataflow.pad wrap %x, %v low [5, 7] : (tensor<2x3xf32>, tensor<f32>) -> tensor<14x17xf32>"});
  cases.push_back({"%x: tensor<0x3xf32>, %v: tensor<f32>",
                   "dataflow.pad constant %x, %v low [2, 0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<4x3xf32>"});
  cases.push_back({"%x: tensor<0x3xf32>", "dataflow.transpose %x [1, 0] : tensor<0x3xf32>"});
  cases.push_back({"%x: tensor<f32>", "dataflow.reshape %x : tensor<f32> -> tensor<1x1xf32>"});
  for (const char *element : {"f32", "f64", "i32", "i64"})
    cases.push_back({"%s: " + tensorOf({}, element) + ", %d: " + tensorOf({1}, element),
                     "dataflow.range %s, %d : (" + tensorOf({}, element) + ", " + tensorOf({1}, element) + ") -> " +
                         tensorOf({37}, element),
                     {{-4, 4}}});
  checkKernels(cases);
}

/// Indices of both signs, some out of range where `strays` says so.
static Fill indicesInto(int64_t extent, bool strays = false) {
  auto limit = static_cast<double>(extent);
  return strays ? Fill{-2 * limit, 2 * limit} : Fill{-limit, limit - 1};
}

TEST_CASE("gathers", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *element : {"f32", "i8", "i1", "f16"})
    for (const char *index : {"i32", "i64"}) {
      auto gather = [&](const std::string &op, const std::vector<int64_t> &data, const std::vector<int64_t> &indices,
                        const std::string &attribute, const std::vector<int64_t> &result, Fill fill) {
        std::string d = tensorOf(data, element), i = tensorOf(indices, index);
        cases.push_back({"%d: " + d + ", %i: " + i,
                         "dataflow." + op + " %d, %i {" + attribute + " : i64} : " + d + ", " + i + " -> " +
                             tensorOf(result, element),
                         {{0, 9}, fill}});
      };
      gather("gather", {7, 5}, {4}, "axis = 0", {4, 5}, indicesInto(7));
      gather("gather", {7, 5}, {3, 2}, "axis = 1", {7, 3, 2}, indicesInto(5));
      gather("gather", {3, 7, 5}, {}, "axis = 1", {3, 5}, indicesInto(7));
      gather("gather", {3, 7, 5}, {0}, "axis = 1", {3, 0, 5}, indicesInto(7));
      gather("gather_elements", {7, 5}, {4, 5}, "axis = 0", {4, 5}, indicesInto(7));
      gather("gather_elements", {7, 5}, {6, 9}, "axis = 1", {6, 9}, indicesInto(5));
      gather("gather_nd", {3, 4, 5}, {2, 2}, "batch_dims = 0", {2, 5}, indicesInto(3));
      gather("gather_nd", {3, 4, 5}, {2, 6, 3}, "batch_dims = 0", {2, 6}, indicesInto(3, true));
      gather("gather_nd", {3, 4, 5}, {3, 1}, "batch_dims = 1", {3, 5}, indicesInto(4));
      gather("gather_nd", {2, 3, 4, 5}, {2, 3, 6, 1}, "batch_dims = 2", {2, 3, 6, 5}, indicesInto(4));
    }
  checkKernels(cases);
}

TEST_CASE("scatters, duplicates in order", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *kind : {"none", "add", "mul", "max", "min"})
    for (const char *element : {"f32", "i32", "ui8", "f16"}) {
      auto scatter = [&](const std::string &op, const std::vector<int64_t> &data, const std::vector<int64_t> &indices,
                         const std::vector<int64_t> &updates, const std::string &attributes, Fill fill) {
        std::string d = tensorOf(data, element), i = tensorOf(indices, "i64"), u = tensorOf(updates, element);
        cases.push_back(
            {"%d: " + d + ", %i: " + i + ", %u: " + u,
             "dataflow." + op + " " + kind + " %d, %i, %u" + attributes + " : " + d + ", " + i + ", " + u + " -> " + d,
             {{0, 3}, fill, {0, 3}}});
      };
      scatter("scatter_elements", {5, 7}, {3, 7}, {3, 7}, " {axis = 0 : i64}", indicesInto(5));
      scatter("scatter_elements", {5, 7}, {5, 4}, {5, 4}, " {axis = 1 : i64}", indicesInto(7, true));
      scatter("scatter_elements", {5, 7}, {0, 7}, {0, 7}, " {axis = 0 : i64}", indicesInto(5));
      scatter("scatter_nd", {5, 7}, {6, 1}, {6, 7}, "", indicesInto(5));
      scatter("scatter_nd", {5, 7}, {3, 4, 2}, {3, 4}, "", indicesInto(5));
      scatter("scatter_nd", {2, 3, 4}, {9, 2}, {9, 4}, "", indicesInto(2, true));
      scatter("scatter_elements", {3, 5, 4}, {2, 6, 3}, {2, 6, 3}, " {axis = 1 : i64}", indicesInto(5, true));
      scatter("scatter_nd", {5, 3, 4}, {2, 4, 1}, {2, 4, 3, 4}, "", indicesInto(5, true));
    }
  // More data than one chunk copies.
  cases.push_back({"%d: tensor<301x67xf32>, %i: tensor<40x1xi64>, %u: tensor<40x67xf32>",
                   "dataflow.scatter_nd add %d, %i, %u : tensor<301x67xf32>, tensor<40x1xi64>, tensor<40x67xf32> -> "
                   "tensor<301x67xf32>",
                   {{-1, 1}, indicesInto(301), {-1, 1}}});
  // Many updates of few places, whose positions are several chunks.
  for (auto [op, indices, attributes] : {std::tuple("scatter_nd", "tensor<300x1xi64>", ""),
                                         {"scatter_elements", "tensor<300x333xi64>", " {axis = 0 : i64}"}}) {
    const std::string data = "tensor<4x333xf32>", updates = "tensor<300x333xf32>";
    cases.push_back({"%d: " + data + ", %i: " + indices + ", %u: " + updates,
                     std::string("dataflow.") + op + " add %d, %i, %u" + attributes + " : " + data + ", " + indices +
                         ", " + updates + " -> " + data,
                     {{-1, 1}, indicesInto(4), {-1, 1}},
                     1e-4,
                     /*isPacked=*/false,
                     /*isChunked=*/true,
                     /*isAlikeInGrids=*/true});
  }
  checkKernels(cases);
}

TEST_CASE("one_hot", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *index : {"i64", "i32", "f32", "ui8"})
    for (size_t axis : {0, 1, 2}) {
      std::vector<int64_t> result = {4, 5};
      result.insert(result.begin() + static_cast<int64_t>(axis), 6);
      std::string indices = tensorOf({4, 5}, index);
      cases.push_back({"%i: " + indices + ", %v: tensor<2xf32>",
                       "dataflow.one_hot %i, %v {depth = 6 : i64, axis = " + std::to_string(axis) +
                           " : i64} : " + indices + ", tensor<2xf32> -> " + tensorOf(result, "f32"),
                       {index[0] == 'u' ? Fill{0, 9} : Fill{-9, 9}, {-1, 1}}});
    }
  checkKernels(cases);
}
