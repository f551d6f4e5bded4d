//===- NearestNamesTest.cpp -----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/NearestNames.h"

#include <catch2/catch.hpp>

using namespace sluice;

using Names = std::vector<std::string>;

TEST_CASE("the nearest names are those of the fewest changes", "[support]") {
  CHECK(nearestNames("Conv_12", {"Conv_1", "Conv_123", "Relu_12", "conv_12", "Conv_12b"}) ==
        Names{"conv_12", "Conv_1", "Conv_123"});
  CHECK(nearestNames("conv", {"convolution_of_the_first_layer", "gemm"}) == Names{"convolution_of_the_first_layer"});
  CHECK(nearestNames("abcdef", {"abcdxy", "abcxyz"}) == Names{"abcdxy"}); // Two of six changed, not three.
  CHECK(nearestNames("x", {"y", "y", "z"}) == Names{"y", "z"});           // Each once.
  CHECK(nearestNames("a", {"a1", "a2", "a3"}, 2) == Names{"a1", "a2"});
}

TEST_CASE("far, long and empty names are nobody's", "[support]") {
  const std::string longName(201, 'a');
  CHECK(nearestNames("entirely", {"different", ""}).empty());
  CHECK(nearestNames("", {"a"}).empty());
  CHECK(nearestNames(longName, {longName}).empty());
  CHECK(nearestNames(std::string(200, 'a'), {longName, std::string_view(longName).substr(1)}).size() == 1);
}
