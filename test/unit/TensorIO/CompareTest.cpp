//===- CompareTest.cpp - Tolerances ---------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/TensorIO/Compare.h"
#include "sluice/TensorIO/Npy.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

using namespace sluice;

namespace {

template <typename T>
HostTensor tensorOf(ElementType type, const std::vector<T> &values) {
  HostTensor tensor = *makeTensor("t", type, {static_cast<int64_t>(values.size())});
  REQUIRE(tensor.bytes.size() == values.size() * sizeof(T));
  if (!values.empty())
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}
HostTensor floats(const std::vector<float> &values) { return tensorOf(ElementType::Float32, values); }

const Tolerance kFloat = defaultTolerance(ElementType::Float32);

} // namespace

TEST_CASE("the ratio is of the greatest difference to the greatest reference", "[tensorio]") {
  TensorComparison c = *compareTensors(floats({1, -2.0005f, 4}), floats({1, -2, 4}), kFloat);
  CHECK(c.matches);
  CHECK(c.maxAbsDiff == Approx(5e-4).epsilon(1e-3));
  CHECK(c.ratio == Approx(1.25e-4).epsilon(1e-3));
  CHECK(c.worstIndex == 1);
  c = *compareTensors(floats({1, -2, 4.01f}), floats({1, -2, 4}), kFloat);
  CHECK_FALSE(c.matches);
  CHECK(c.worstIndex == 2);
  CHECK(describe(c).find("at 2: 4.01 for 4)") != std::string::npos);
  c = *compareTensors(floats({1, 2}), floats({1, 2}), kFloat);
  CHECK(c.matches);
  CHECK(c.worstIndex == -1);
  CHECK(c.cosine == Approx(1));
  CHECK(compareTensors(floats({}), floats({}), kFloat)->matches);
}

TEST_CASE("NaN and infinity match themselves alone", "[tensorio]") {
  float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  CHECK(compareTensors(floats({nan, inf, -inf, 1}), floats({nan, inf, -inf, 1}), kFloat)->matches);
  const std::pair<float, float> different[] = {{nan, 1}, {1, nan}, {inf, 1}, {1, inf}, {inf, -inf}, {nan, inf}};
  for (auto [a, r] : different) {
    INFO(a << " for " << r);
    TensorComparison c = *compareTensors(floats({1, a, 5}), floats({1, r, 2}), kFloat);
    CHECK_FALSE(c.matches);
    CHECK(c.nonFiniteMismatches == 1);
    CHECK(c.worstIndex == 1);
    CHECK(c.maxAbsDiff == 3);
  }
}

TEST_CASE("a reference of zeros is compared by the difference itself", "[tensorio]") {
  CHECK(compareTensors(floats({0, 0}), floats({0, 0}), kFloat)->matches);
  CHECK(compareTensors(floats({0, 1e-6f}), floats({0, 0}), kFloat)->matches);
  CHECK_FALSE(compareTensors(floats({0, 1e-2f}), floats({0, 0}), kFloat)->matches);
  CHECK(compareTensors(floats({0, 1e-2f}), floats({0, 0}), kFloat)->cosine == 0);
}

TEST_CASE("integers are exact, also where doubles are not", "[tensorio]") {
  int64_t big = (int64_t(1) << 53) + 1;
  Tolerance exact = defaultTolerance(ElementType::Int64);
  auto of = [](int64_t value) { return tensorOf<int64_t>(ElementType::Int64, {value}); };
  CHECK(compareTensors(of(big), of(big), exact)->matches);
  CHECK_FALSE(compareTensors(of(big), of(big - 1), exact)->matches);
  CHECK(compareTensors(of(INT64_MIN), of(INT64_MAX), exact)->maxAbsDiff == Approx(1.8446744e19));
  CHECK_FALSE(compareTensors(tensorOf<uint8_t>(ElementType::UInt8, {255}), tensorOf<uint8_t>(ElementType::UInt8, {254}),
                             defaultTolerance(ElementType::UInt8, true))
                  ->matches);
}

TEST_CASE("tolerances by type", "[tensorio]") {
  auto halves = [](float value) { return tensorOf<uint16_t>(ElementType::Float16, {floatToHalf(value), 0x3c00}); };
  Tolerance half = defaultTolerance(ElementType::Float16);
  CHECK(compareTensors(halves(0.995f), halves(1.0f), half)->matches);
  CHECK_FALSE(compareTensors(halves(0.98f), halves(1.0f), half)->matches);
  CHECK(defaultTolerance(ElementType::BFloat16).maxRatio == 1e-2);
  // Quantized: within 8% everywhere, and of the same direction.
  Tolerance quantized = defaultTolerance(ElementType::Float32, true);
  CHECK(compareTensors(floats({10, 5, 0.5f}), floats({10, 5.1f, 0.4f}), quantized)->matches);
  TensorComparison turned = *compareTensors(floats({1.0f, 0.07f}), floats({1.0f, 0}), quantized);
  CHECK(turned.ratio < 8e-2);
  CHECK(turned.cosine < 0.999);
  CHECK_FALSE(turned.matches);
  std::vector<double> huge{1e300, -1e300};
  CHECK(compareTensors(tensorOf(ElementType::Float64, huge), tensorOf(ElementType::Float64, huge),
                       defaultTolerance(ElementType::Float64, true))
            ->matches);
}

TEST_CASE("tensors of another type or shape do not compare", "[tensorio]") {
  CHECK_FALSE(compareTensors(floats({1}), floats({1, 2}), kFloat));
  Expected<TensorComparison> c = compareTensors(floats({1}), tensorOf<int32_t>(ElementType::Int32, {1}), kFloat);
  REQUIRE_FALSE(c);
  CHECK(c.error().message.find("is float32 [1] and its reference is int32 [1]") != std::string::npos);
}

TEST_CASE("strings match or do not", "[tensorio]") {
  const std::vector<std::string> words = {"a", "", "long enough to lie elsewhere"};
  HostTensor a = makeStringTensor("a", {3}, words), b = a;
  CHECK(compareTensors(a, b, {})->matches);
  // A copy keeps the text; a changed element shows.
  a = HostTensor();
  CHECK(b.data<StringElement>()[2].view() == words[2]);
  HostTensor c = b;
  c.data<StringElement>()[1] = {"x", 1};
  ownText(c);
  TensorComparison comparison = *compareTensors(c, b, {1, -1});
  CHECK_FALSE(comparison.matches);
  CHECK(describe(comparison) == "1 strings differ, the first at 1");
  HostTensor random = *makeTensor("r", ElementType::String, {64});
  fillRandom(random, 1);
  CHECK(random.data<StringElement>()[63].view().size() == 1);
  CHECK_FALSE(writeNpy("never.npy", random));
}
