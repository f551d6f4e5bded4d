//===- NumbersTest.cpp - Numbers as text ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Numbers.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <random>

using namespace sluice::runtime;

namespace {
template <typename Number>
std::optional<Number> read(std::string_view text) {
  Number number = 0;
  return readNumber(text, number) ? std::optional(number) : std::nullopt;
}
constexpr double kInfinity = std::numeric_limits<double>::infinity();
} // namespace

TEST_CASE("texts are read as floats", "[runtime][numbers]") {
  CHECK(read<double>("3.14") == 3.14);
  CHECK(read<double>("\t-1e-5\n") == -1e-5);
  CHECK(read<double>("+.5E+1") == 5.0);
  CHECK(read<double>("7.") == 7.0);
  for (const char *text : {"INF", "+inf", "Infinity"})
    CHECK(read<double>(text) == kInfinity);
  CHECK(read<double>("-Inf") == -kInfinity);
  CHECK(std::isnan(read<double>("NaN").value_or(0)));
  CHECK(std::signbit(read<double>("-0").value_or(1)));
  // Beyond the type's range, however it is written.
  CHECK(read<float>("1e39") == std::numeric_limits<float>::infinity());
  CHECK(read<float>("-1e39") == -std::numeric_limits<float>::infinity());
  CHECK(read<float>("1e-60") == 0.0F);
  CHECK(read<double>("1e99999999999999999999") == kInfinity);
  CHECK(read<double>("1e-99999999999999999999") == 0.0);
  CHECK(read<double>("0e99999999999999999999") == 0.0);
  CHECK(read<double>("0." + std::string(400, '0') + "1e+900") == kInfinity);
  CHECK(read<double>(std::string(400, '9') + "e-900") == 0.0);
  // A float is rounded once.
  CHECK(read<float>("1.00000005960464477539062501") == std::nextafter(1.0F, 2.0F));
  for (const char *text : {"", " ", ".", "+", "1e", "1e+", "e5", "0x10", "1_0", "1 2", "1,5", "nan(1)", "infinit",
                           "--1", "1.5abc", "\xd9\xa1"})
    CHECK(!read<double>(text));
}

TEST_CASE("texts are read as integers", "[runtime][numbers]") {
  CHECK(read<int64_t>(" -42 ") == -42);
  CHECK(read<int64_t>("100.9") == 100);
  CHECK(read<int64_t>("-1.5e1") == -15);
  CHECK(read<int64_t>("9223372036854775807") == std::numeric_limits<int64_t>::max());
  CHECK(read<int64_t>("-9223372036854775808") == std::numeric_limits<int64_t>::min());
  CHECK(read<uint64_t>("18446744073709551615") == std::numeric_limits<uint64_t>::max());
  CHECK(read<uint64_t>("-0") == 0U);
  CHECK(read<int64_t>("-9.223372036854775808e18") == std::numeric_limits<int64_t>::min());
  // No digit is rounded, however the number is written.
  CHECK(read<int64_t>("9007199254740993.5") == 9007199254740993);
  CHECK(read<int64_t>("1.234567890123456789e18") == 1234567890123456789);
  CHECK(read<int64_t>("9223372036854775807.9") == std::numeric_limits<int64_t>::max());
  CHECK(read<int64_t>("-9223372036854775808.9") == std::numeric_limits<int64_t>::min());
  CHECK(read<uint64_t>("000000000000000000000000000000.5e1") == 5U);
  CHECK(read<int64_t>("12345e-3") == 12);
  CHECK(read<int64_t>("-0.9") == 0);
  CHECK(read<int64_t>("1e-99999999999999999999") == 0);
  CHECK(read<int64_t>("0e99999999999999999999") == 0);
  CHECK(read<int64_t>(std::string(300, '7') + "e-299") == 7);
  for (const char *text : {"1e20", "1e99999999999999999999", "99999999999999999999"})
    CHECK(!read<int64_t>(text));
  for (const char *text : {"9223372036854775808", "-9223372036854775809", "9.3e18", "nan", "inf", "0x1", "", "1e400"})
    CHECK(!read<int64_t>(text));
  for (const char *text : {"18446744073709551616", "-1", "1.9e19"})
    CHECK(!read<uint64_t>(text));
}

TEST_CASE("numbers are written with the fewest digits, in ONNX Runtime's notation", "[runtime][numbers]") {
  CHECK(textOf(0.1F) == "0.1");
  CHECK(textOf(1.0F / 3) == "0.33333334");
  CHECK(textOf(1e30F) == "1e+30");
  CHECK(textOf(-0.0F) == "-0");
  CHECK(textOf(123456789.0F) == "1.2345679e+08");
  CHECK(textOf(0.6048455238342285F) == "0.6048455");
  CHECK(textOf(16777216.0F) == "16777216");
  CHECK(textOf(1e8F) == "1e+08");
  CHECK(textOf(0.0001F) == "0.0001");
  CHECK(textOf(100000.0F) == "100000");
  CHECK(textOf(1e-7F) == "1e-07");
  CHECK(textOf(std::numeric_limits<float>::quiet_NaN()) == "NaN");
  CHECK(textOf(-std::numeric_limits<float>::infinity()) == "-INF");
  CHECK(textOf(kInfinity) == "INF");
  CHECK(textOf(int64_t(-5)) == "-5");
  CHECK(textOf(std::numeric_limits<uint64_t>::max()) == "18446744073709551615");
}

TEST_CASE("doubles are read back as they were", "[runtime][numbers]") {
  CHECK(textOf(0.1) == "0.1");
  CHECK(textOf(1.0 / 3) == "0.3333333333333333");
  CHECK(textOf(16777217.0) == "16777217");
  CHECK(textOf(5e-324) == "5e-324");
  CHECK(textOf(123456789012.0) == "123456789012");
  CHECK(textOf(123456789012.5) == "123456789012.5");
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const double number = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 2000) - 1064);
    CHECK(read<double>(textOf(number)) == number);
  }
}
