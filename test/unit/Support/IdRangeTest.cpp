//===- IdRangeTest.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/IdRange.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace sluice;

static std::vector<uint32_t> valuesOf(IdRange<TensorId> range) {
  std::vector<uint32_t> values;
  for (TensorId id : range)
    values.push_back(id.value);
  return values;
}

TEST_CASE("a range of ids ends below its end") {
  CHECK(valuesOf(idsBelow<TensorId>(3)) == std::vector<uint32_t>{0, 1, 2});
  CHECK(valuesOf(idsBelow<TensorId>(3, 1)) == std::vector<uint32_t>{1, 2});
}

TEST_CASE("a range of ids that ends before it starts is empty") {
  CHECK(valuesOf(idsBelow<TensorId>(0)).empty());
  CHECK(valuesOf(idsBelow<TensorId>(1, 1)).empty());
  CHECK(valuesOf(idsBelow<TensorId>(0, 1)).empty());
}
