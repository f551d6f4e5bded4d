//===- UnitsTest.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Units.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace sluice;

static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST_CASE("sizes with binary and decimal prefixes", "[support]") {
  CHECK(parseBytes("4096") == 4096);
  CHECK(parseBytes("0") == 0);
  CHECK(parseBytes("8GiB") == int64_t(8) << 30);
  CHECK(parseBytes("1.5 GB") == 1'500'000'000);
  CHECK(parseBytes("64KiB") == 65536);
  CHECK(parseBytes("64kB") == 64000);
  CHECK(parseBytes(" 2 MB ") == 2'000'000);
  CHECK(parseBytes("1pib") == int64_t(1) << 50);
  CHECK(parseBytes(".5kB") == 500);
  CHECK(parseBytes("4096PiB") == int64_t(1) << 62);
}

TEST_CASE("what is not a size is refused", "[support]") {
  for (const char *text : {"", " ", "GiB", "-1", "+1", "1.2.3", "1e3", "8 G i B", "8GiBs", "0x10", "nan", "inf", ".",
                           "1..", "8G", "4097PiB", "99999999999999999999", "99999999999999999999.5GB", "5s"}) {
    CAPTURE(text);
    auto parsed = parseBytes(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == ErrorCode::InvalidInput);
    CHECK(parsed.error().message.find("'") != std::string::npos);
  }
}

TEST_CASE("times need units", "[support]") {
  CHECK(parseDuration("5s") == 5'000'000'000);
  CHECK(parseDuration("100ms") == 100'000'000);
  CHECK(parseDuration("2min") == 120'000'000'000);
  CHECK(parseDuration("1.5h") == 5'400'000'000'000);
  CHECK(parseDuration("250us") == 250'000);
  CHECK(parseDuration("10 ns") == 10);
  for (const char *text : {"", "5", "s", "-5s", "5 sec", "1d", "9999999999h"}) {
    CAPTURE(text);
    CHECK_FALSE(parseDuration(text));
  }
}

TEST_CASE("sizes and times as people read them", "[support]") {
  CHECK(formatBytes(0) == "0 B");
  CHECK(formatBytes(1023) == "1023 B");
  CHECK(formatBytes(1536) == "1.50 KiB");
  CHECK(formatBytes(1024 * 1024 - 1) == "1.00 MiB");
  CHECK(formatBytes(-2048) == "-2.00 KiB");
  CHECK(formatBytes(kMax) == "8.00 EiB");
  CHECK(formatDuration(999) == "999 ns");
  CHECK(formatDuration(1'500'000) == "1.50 ms");
  CHECK(formatDuration(999'999) == "1.00 ms");
  CHECK(formatDuration(90'000'000'000) == "90.00 s");
  CHECK(formatDuration(180'000'000'000) == "3.00 min");
  CHECK(formatDuration(7'200'000'000'000) == "2.00 h");
}

TEST_CASE("sums and products stick at the ends", "[support]") {
  CHECK(saturatingAdd(1, 2) == 3);
  CHECK(saturatingAdd(kMax, 1) == kMax);
  CHECK(saturatingAdd(kMin, -1) == kMin);
  CHECK(saturatingMul(3, -4) == -12);
  CHECK(saturatingMul(kMax, 2) == kMax);
  CHECK(saturatingMul(kMax, -2) == kMin);
  CHECK(saturatingMul(kMin, -1) == kMax);
  CHECK(alignUp(0) == 0);
  CHECK(alignUp(1) == 64);
  CHECK(alignUp(64) == 64);
}

TEST_CASE("whole-string numbers", "[support]") {
  CHECK(parseInteger("-42") == -42);
  CHECK(parseInteger("9223372036854775807") == kMax);
  CHECK(parseNumber("1.5e9") == 1.5e9);
  for (const char *text : {"", "1x", " 1", "9223372036854775808", "1.0", "+1"})
    CHECK_FALSE(parseInteger(text));
  for (const char *text : {"", "1x", "nan", "inf", "1e999", "--1"})
    CHECK_FALSE(parseNumber(text));
}

TEST_CASE("sizes are rounded up to what is printed", "[support]") {
  CHECK(roundUpToPrinted(0) == 0);
  CHECK(roundUpToPrinted(1023) == 1023);
  CHECK(roundUpToPrinted(1024) == 1024);
  CHECK(roundUpToPrinted(1025) == 1034); // 1.01 KiB
  CHECK(roundUpToPrinted((int64_t(224) << 30) / 100 + 2) == (int64_t(225) << 30) / 100);
  CHECK(roundUpToPrinted(INT64_MAX) == INT64_MAX);
  for (int64_t bytes = 1; bytes < int64_t(1) << 60; bytes = bytes * 5 / 3 + 1) {
    const int64_t rounded = roundUpToPrinted(bytes);
    INFO(bytes);
    CHECK(rounded >= bytes);
    CHECK(*parseBytes(formatBytes(rounded)) == rounded);
    CHECK(static_cast<double>(rounded - bytes) <= 0.0101 * static_cast<double>(bytes));
  }
}
