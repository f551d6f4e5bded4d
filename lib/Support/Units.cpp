//===- Units.cpp ----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Units.h"

#include "sluice/Support/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>

namespace sluice {

static constexpr int64_t kLargestQuantity = int64_t(1) << 62;

int64_t saturatingAdd(int64_t a, int64_t b) { return Count(a) + Count(b); }
int64_t saturatingMul(int64_t a, int64_t b) { return Count(a) * Count(b); }

namespace {
struct Unit {
  std::string_view suffix;
  int64_t factor;
};

constexpr Unit kByteUnits[] = {{"", 1},
                               {"b", 1},
                               {"kb", 1'000},
                               {"mb", 1'000'000},
                               {"gb", 1'000'000'000},
                               {"tb", 1'000'000'000'000},
                               {"pb", 1'000'000'000'000'000},
                               {"kib", int64_t(1) << 10},
                               {"mib", int64_t(1) << 20},
                               {"gib", int64_t(1) << 30},
                               {"tib", int64_t(1) << 40},
                               {"pib", int64_t(1) << 50}};

constexpr Unit kTimeUnits[] = {{"ns", 1},
                               {"us", 1'000},
                               {"ms", 1'000'000},
                               {"s", 1'000'000'000},
                               {"min", 60'000'000'000},
                               {"h", 3'600'000'000'000}};
} // namespace

static std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

static Expected<int64_t> parseQuantity(std::string_view text, std::span<const Unit> units, std::string_view what,
                                       std::string_view example) {
  std::string_view body = trim(text);
  size_t digits = std::min(body.find_first_not_of("0123456789."), body.size());
  std::string_view number = body.substr(0, digits);
  std::string suffix(trim(body.substr(digits)));
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  auto unit = std::find_if(units.begin(), units.end(), [&](const Unit &u) { return u.suffix == suffix; });
  if (number.empty() || unit == units.end())
    return makeError(ErrorCode::InvalidInput, "'", excerpt(text), "' is not ", what, ", write it as in ", example);

  int64_t integer = 0;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), integer);
  if (error == std::errc() && end == number.data() + number.size()) {
    int64_t value = saturatingMul(integer, unit->factor);
    if (value <= kLargestQuantity)
      return value;
  } else if (error == std::errc()) { // A fraction.
    double real = 0;
    auto [realEnd, realError] =
        std::from_chars(number.data(), number.data() + number.size(), real, std::chars_format::fixed);
    if (realError != std::errc() || realEnd != number.data() + number.size())
      return makeError(ErrorCode::InvalidInput, "'", excerpt(text), "' is not ", what, ", write it as in ", example);
    double value = std::round(real * static_cast<double>(unit->factor));
    if (value <= static_cast<double>(kLargestQuantity))
      return static_cast<int64_t>(value);
  } else if (error != std::errc::result_out_of_range) { // ".5"
    double real = 0;
    auto [realEnd, realError] =
        std::from_chars(number.data(), number.data() + number.size(), real, std::chars_format::fixed);
    if (realError != std::errc() || realEnd != number.data() + number.size())
      return makeError(ErrorCode::InvalidInput, "'", excerpt(text), "' is not ", what, ", write it as in ", example);
    return static_cast<int64_t>(std::round(real * static_cast<double>(unit->factor)));
  }
  return makeError(ErrorCode::InvalidInput, "'", excerpt(text), "' is too large for ", what, ", write at most 2^62");
}

Expected<int64_t> parseBytes(std::string_view text) {
  return parseQuantity(text, kByteUnits, "a size", "'8GiB', '1.5GB' or '4096'");
}

Expected<int64_t> parseDuration(std::string_view text) {
  return parseQuantity(text, kTimeUnits, "a time", "'5s', '100ms' or '2min'");
}

static std::string formatScaled(double value, const char *unit) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.2f %s", value, unit);
  return buffer;
}

std::string formatBytes(int64_t bytes) {
  static constexpr const char *kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes > -1024 && bytes < 1024)
    return concat(bytes, " B");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.995 would print as 1024.00: move on to the next unit first.
  while (std::abs(value) >= 1023.995 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return formatScaled(value, kUnits[unit]);
}

int64_t roundUpToPrinted(int64_t bytes) {
  // The unit below the one that is printed, which is less than a hundredth of it.
  int64_t step = 1;
  while (step <= bytes >> 20)
    step <<= 10;
  for (int64_t size = bytes;; size = size > INT64_MAX - step ? INT64_MAX : size + step) {
    const Expected<int64_t> printed = parseBytes(formatBytes(size));
    if (!printed || *printed >= bytes)
      return printed.value_or(bytes);
  }
}

std::string formatDuration(int64_t ns) {
  double value = static_cast<double>(ns);
  double size = std::abs(value);
  if (size < 1e3)
    return concat(ns, " ns");
  if (size < 999.995e3)
    return formatScaled(value / 1e3, "us");
  if (size < 999.995e6)
    return formatScaled(value / 1e6, "ms");
  if (size < 120e9)
    return formatScaled(value / 1e9, "s");
  if (size < 7200e9)
    return formatScaled(value / 60e9, "min");
  return formatScaled(value / 3600e9, "h");
}

Expected<int64_t> parseInteger(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    return makeError(ErrorCode::InvalidInput, "'", excerpt(text), "' does not fit 64 bits, write a smaller integer");
  if (error != std::errc() || end != text.data() + text.size())
    return makeError(ErrorCode::InvalidInput, "'", excerpt(text), "' is not an integer, write digits only");
  return value;
}

Expected<double> parseNumber(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return makeError(ErrorCode::InvalidInput, "'", excerpt(text), "' is not a finite number, write it as in '1.5e9'");
  return value;
}

} // namespace sluice
