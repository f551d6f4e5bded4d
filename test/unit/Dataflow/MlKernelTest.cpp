//===- MlKernelTest.cpp - Trees and votes ---------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <catch2/catch.hpp>

using namespace sluice::test;

namespace {
/// Numbers of nodes, leaves, features and targets are any: many are out of range, and branches lead back.
Case randomTrees(const std::string &kind, const std::string &element, int64_t targets, const std::string &test) {
  const bool hasList = test.empty();
  const std::string x = tensorOf({37, 3}, element), t = tensorOf({9}, element), w = tensorOf({8}, element);
  Case result{"%x: " + x + ", %n: tensor<9x3xi32>, %t: " + t +
                  ", %r: tensor<6xi32>, %l: tensor<6xi32>, %g: tensor<8xi32>, %w: " + w +
                  (hasList ? ", %k: tensor<9xui8>" : ""),
              "dataflow.tree_ensemble " + kind + " %x nodes %n, %t roots %r leaves %l, %g, %w" +
                  (hasList ? " tests %k" : " {test = " + test + " : i64}") + " : (" + x + ", tensor<9x3xi32>, " + t +
                  ", tensor<6xi32>, tensor<6xi32>, tensor<8xi32>, " + w + (hasList ? ", tensor<9xui8>" : "") + ") -> " +
                  tensorOf({37, targets}, element),
              {{-2, 2, true}, {-2, 17}, {-1, 1}, {-2, 14}, {-1, 9}, {-2, 5}, {-2, 2}, {0, 15}}};
  result.isAlikeInGrids = true;
  return result;
}
} // namespace

TEST_CASE("tree_ensemble", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *kind : {"sum", "min", "max"})
    for (int64_t targets : {1, 4}) {
      cases.push_back(randomTrees(kind, "f32", targets, ""));
      cases.push_back(randomTrees(kind, "f64", targets, "5"));
    }
  for (int64_t test = 0; test < 16; ++test)
    cases.push_back(randomTrees("sum", "f32", 1, std::to_string(test)));
  checkKernels(cases);
}

TEST_CASE("couple_probabilities", "[dataflow]") {
  std::vector<Case> cases;
  for (int64_t classes : {2, 3, 7})
    cases.push_back({"%p: " + tensorOf({19, classes * (classes - 1) / 2}, "f32"),
                     "dataflow.couple_probabilities %p : " + tensorOf({19, classes * (classes - 1) / 2}, "f32") +
                         " -> " + tensorOf({19, classes}, "f32"),
                     {{0.05, 0.95}},
                     1e-4});
  checkKernels(cases);
}
