//===- SkipTest.cpp - What counts as skipped ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Hidden cases; CMakeLists.txt runs each and demands its exit status.
//
//===----------------------------------------------------------------------===//

#include "../Skip.h"

#include <catch2/catch.hpp>
#include <cstdio>

using sluice::test::skip;

TEST_CASE("skips", "[.][skips]") { return skip("nothing to do"); }

TEST_CASE("passes", "[.][passes]") { CHECK(true); }

TEST_CASE("fails and prints that it is skipped", "[.][prints]") {
  std::printf("skipped: not really\n");
  CHECK(false);
}

TEST_CASE("fails before it skips", "[.][fails]") {
  CHECK(false);
  return skip("too late");
}

TEST_CASE("fails as many times as the status of skipping", "[.][many]") {
  for (int i = 0; i < sluice::test::kSkipStatus; ++i)
    CHECK(i < 0);
}
