//===- ElementTypeTest.cpp - Element types and random tensors -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/TensorIO/HostTensor.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace sluice;

namespace {
constexpr int64_t kOnnxTypes[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16};
}

TEST_CASE("ONNX's numbers", "[tensorio]") {
  for (int64_t number : kOnnxTypes)
    CHECK(static_cast<int64_t>(*elementTypeFromOnnx(number)) == number);
  for (int64_t number : {int64_t(0), int64_t(8), int64_t(14), int64_t(17), int64_t(-1), int64_t(1) << 40})
    CHECK_FALSE(elementTypeFromOnnx(number));
  CHECK(elementBytes(ElementType::BFloat16) == 2);
  CHECK(elementTypeName(ElementType::Float16) == "float16");
}

TEST_CASE("every half survives widening and narrowing", "[tensorio]") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float wide = halfToFloat(half), brain = bfloat16ToFloat(half);
    if (std::isnan(wide))
      REQUIRE(std::isnan(halfToFloat(floatToHalf(wide))));
    else
      REQUIRE(floatToHalf(wide) == half);
    if (std::isnan(brain))
      REQUIRE(std::isnan(bfloat16ToFloat(floatToBfloat16(brain))));
    else
      REQUIRE(floatToBfloat16(brain) == half);
  }
}

TEST_CASE("narrowing rounds to nearest, ties to even", "[tensorio]") {
  CHECK(floatToHalf(1.0f + 0x1p-11f) == 0x3c00);            // Tie: down to even.
  CHECK(floatToHalf(1.0f + 0x1p-10f + 0x1p-11f) == 0x3c02); // Tie: up to even.
  CHECK(floatToHalf(1.0f + 0x1p-11f + 0x1p-20f) == 0x3c01);
  CHECK(floatToHalf(65504.0f) == 0x7bff);
  CHECK(floatToHalf(65519.0f) == 0x7bff);
  CHECK(floatToHalf(65520.0f) == 0x7c00);
  CHECK(floatToHalf(0x1p-24f) == 1);
  CHECK(floatToHalf(0x1p-25f) == 0);
  CHECK(floatToHalf(-0x1.8p-24f) == 0x8002);
  CHECK(floatToBfloat16(1.0f + 0x1p-8f) == 0x3f80);
  CHECK(floatToBfloat16(1.0f + 0x1p-7f + 0x1p-8f) == 0x3f82);
}

TEST_CASE("random tensors are a function of seed and stream, in range", "[tensorio]") {
  for (int64_t number : kOnnxTypes) {
    ElementType type = *elementTypeFromOnnx(number);
    INFO(elementTypeName(type));
    HostTensor a = *makeTensor("a", type, {20, 50}), b = a, c = a, d = a;
    fillRandom(a, 7);
    fillRandom(b, 7);
    fillRandom(c, 8);
    fillRandom(d, 7, 1);
    CHECK(a.bytes == b.bytes);
    CHECK(a.bytes != c.bytes);
    CHECK(a.bytes != d.bytes);
    std::set<double> values;
    for (int64_t i = 0; i < a.numElements(); ++i) {
      values.insert(a.valueAt(i));
      REQUIRE(a.valueAt(i) >= (isFloatingPoint(type) ? -1 : 0));
      REQUIRE(a.valueAt(i) < (isFloatingPoint(type) ? 1 : 4));
    }
    CHECK(values.size() >= (isFloatingPoint(type) ? 200u : type == ElementType::Bool ? 2u : 4u));
  }
}

TEST_CASE("sizes that overflow are errors", "[tensorio]") {
  CHECK(*tensorBytes(ElementType::Float32, {}) == 4);
  CHECK(*tensorBytes(ElementType::Float64, {3, 4}) == 96);
  CHECK(*tensorBytes(ElementType::Float64, {INT64_MAX, INT64_MAX, 0}) == 0);
  CHECK_FALSE(tensorBytes(ElementType::Float32, {INT64_MAX}));
  CHECK_FALSE(tensorBytes(ElementType::Int8, {int64_t(1) << 32, int64_t(1) << 32}));
  CHECK_FALSE(tensorBytes(ElementType::Int8, {2, -1}));
  CHECK_FALSE(tensorBytes(ElementType::Int8, {0, -1}));
}
