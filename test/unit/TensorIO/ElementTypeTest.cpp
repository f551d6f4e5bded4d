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
  for (int64_t number : {17, 18, 19, 20, 21, 22, 23, 24, 25, 26}) {
    CHECK(static_cast<int64_t>(*elementTypeFromOnnx(number)) == number);
    CHECK(elementBytes(*elementTypeFromOnnx(number)) == 1);
  }
  for (int64_t number : {int64_t(0), int64_t(14), int64_t(27), int64_t(-1), int64_t(1) << 40})
    CHECK_FALSE(elementTypeFromOnnx(number));
  CHECK(elementTypeFromOnnx(8).value() == ElementType::String);
  CHECK(elementBytes(ElementType::String) == sizeof(StringElement));
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

TEST_CASE("floats of 8 and 4 bits", "[tensorio]") {
  // The tables of OFP8 (Micikevicius et al. 2022), of its FNUZ kin, and of OCP's microscaling formats.
  auto value = [](ElementType type, int bits) { return smallFloatToFloat(type, static_cast<uint8_t>(bits)); };
  CHECK(value(ElementType::Float8E4M3FN, 0x7e) == 448);
  CHECK(value(ElementType::Float8E4M3FN, 0x81) == -0x1p-9f);
  CHECK(std::isnan(value(ElementType::Float8E4M3FN, 0xff)));
  CHECK(value(ElementType::Float8E4M3FNUZ, 0x7f) == 240);
  CHECK(std::isnan(value(ElementType::Float8E4M3FNUZ, 0x80)));
  CHECK(value(ElementType::Float8E5M2, 0x7b) == 57344);
  CHECK(value(ElementType::Float8E5M2, 0xfc) == -HUGE_VALF);
  CHECK(std::isnan(value(ElementType::Float8E5M2, 0x7d)));
  CHECK(value(ElementType::Float8E5M2FNUZ, 0x7f) == 57344);
  CHECK(value(ElementType::Float8E8M0, 127) == 1);
  CHECK(value(ElementType::Float8E8M0, 0) == 0x1p-127f);
  CHECK(std::isnan(value(ElementType::Float8E8M0, 255)));
  const float fours[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (int code = 0; code < 16; ++code)
    CHECK(value(ElementType::Float4E2M1, code) == (code < 8 ? 1 : -1) * fours[code % 8]);
}

TEST_CASE("outputs are cut to their extents", "[tensorio]") {
  HostTensor y = *makeTensor("y", ElementType::Int8, {2, 3, 2}),
             count = *makeTensor("y:extent1", ElementType::Int64, {});
  for (int i = 0; i < 12; ++i)
    y.data<int8_t>()[i] = static_cast<int8_t>(i);
  *count.data<int64_t>() = 2;
  std::vector<HostTensor> outputs{y, count};
  REQUIRE(cutToExtents(outputs));
  REQUIRE(outputs.size() == 1);
  CHECK(outputs[0].shape == std::vector<int64_t>{2, 2, 2});
  std::vector<int> values;
  for (int64_t i = 0; i < outputs[0].numElements(); ++i)
    values.push_back(outputs[0].data<int8_t>()[i]);
  CHECK(values == std::vector<int>{0, 1, 2, 3, 6, 7, 8, 9});
  HostTensor empty = *makeTensor("y", ElementType::Int8, {0, 3, 2});
  outputs = {empty, count};
  REQUIRE(cutToExtents(outputs));
  CHECK(outputs[0].shape == std::vector<int64_t>{0, 2, 2});
  for (int64_t wrong : {-1, 4}) {
    *count.data<int64_t>() = wrong;
    outputs = {y, count};
    CHECK_FALSE(cutToExtents(outputs));
  }
}

TEST_CASE("outputs are cut to the lengths of sequences and the presence of optionals", "[tensorio]") {
  HostTensor first = *makeTensor("y[0]", ElementType::Float32, {2}),
             second = *makeTensor("y[1]", ElementType::Float32, {3}),
             length = *makeTensor("y:length", ElementType::Int64, {}),
             other = *makeTensor("z", ElementType::Float32, {1}),
             present = *makeTensor("z:present", ElementType::Bool, {});
  auto namesAfter = [&](int64_t elements, bool isPresent) {
    *length.data<int64_t>() = elements;
    *present.data<bool>() = isPresent;
    std::vector<HostTensor> outputs{first, second, other, length, present};
    std::vector<std::string> names;
    if (cutToExtents(outputs))
      for (const HostTensor &output : outputs)
        names.push_back(output.name);
    return names;
  };
  CHECK(namesAfter(2, true) == std::vector<std::string>{"y[0]", "y[1]", "z"});
  CHECK(namesAfter(1, true) == std::vector<std::string>{"y[0]", "z"});
  CHECK(namesAfter(0, false).empty());
  for (const int64_t wrong : {-1, 3}) {
    *length.data<int64_t>() = wrong;
    std::vector<HostTensor> outputs{first, second, length};
    CHECK_FALSE(cutToExtents(outputs));
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
