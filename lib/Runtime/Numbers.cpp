//===- Numbers.cpp - Numbers as text --------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <strings.h>

namespace sluice::runtime {

namespace {

constexpr std::string_view kSpaces = " \t\n\v\f\r";

/// A number's parts.
struct Parsed {
  bool isNegative = false, isInfinite = false, isNan = false;
  std::string_view digits; ///< Digits, a point and an exponent, without a sign.
};

bool isDigit(char c) { return c >= '0' && c <= '9'; }

size_t countDigits(std::string_view text) {
  size_t count = 0;
  while (count < text.size() && isDigit(text[count]))
    ++count;
  return count;
}

bool equalsInAnyCase(std::string_view text, std::string_view word) {
  return text.size() == word.size() && strncasecmp(text.data(), word.data(), word.size()) == 0;
}

bool parse(std::string_view text, Parsed &result) {
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == text.npos)
    return false;
  text = text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
  if (text[0] == '+' || text[0] == '-') {
    result.isNegative = text[0] == '-';
    text.remove_prefix(1);
  }
  result.isInfinite = equalsInAnyCase(text, "inf") || equalsInAnyCase(text, "infinity");
  result.isNan = equalsInAnyCase(text, "nan");
  if (result.isInfinite || result.isNan)
    return true;
  result.digits = text;
  const size_t whole = countDigits(text);
  text.remove_prefix(whole);
  size_t fraction = 0;
  if (!text.empty() && text[0] == '.') {
    fraction = countDigits(text.substr(1));
    text.remove_prefix(1 + fraction);
  }
  if (whole + fraction == 0)
    return false;
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
    text.remove_prefix(1);
    if (!text.empty() && (text[0] == '+' || text[0] == '-'))
      text.remove_prefix(1);
    const size_t exponent = countDigits(text);
    if (exponent == 0)
      return false;
    text.remove_prefix(exponent);
  }
  return text.empty();
}

/// A number as its digits from the first that is not 0 on, and where its point lies behind the first of them.
struct Decimal {
  std::string digits; ///< Empty where the number is 0.
  int64_t point = 0;
};

Decimal decimalOf(std::string_view text) {
  const size_t end = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, end);
  const size_t first = mantissa.find_first_of("123456789");
  if (first == mantissa.npos)
    return {};
  Decimal result;
  std::copy_if(mantissa.begin() + static_cast<ptrdiff_t>(first), mantissa.end(), std::back_inserter(result.digits),
               isDigit);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  result.point = first < point ? static_cast<int64_t>(point - first) : -static_cast<int64_t>(first - point - 1);
  if (end == text.size())
    return result;
  std::string_view exponent = text.substr(end + 1);
  const bool isNegative = exponent[0] == '-';
  if (exponent[0] == '+' || isNegative)
    exponent.remove_prefix(1);
  // Beyond what any text's digits can make up for.
  constexpr int64_t kMost = int64_t(1) << 62;
  int64_t value = 0;
  const auto read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), value);
  value = read.ec == std::errc() ? std::min(value, kMost) : kMost;
  result.point += isNegative ? -value : value;
  return result;
}

/// Whether a number beyond a type's range is too large, not too small.
bool isLarge(std::string_view text) {
  const Decimal decimal = decimalOf(text);
  return !decimal.digits.empty() && decimal.point > 0;
}

/// The digits before the point, "0" where there are none; false where they are more than 64 bits hold.
bool wholeDigits(std::string_view text, std::string &digits) {
  constexpr int64_t kMostDigits = 20;
  Decimal decimal = decimalOf(text);
  if (decimal.digits.empty() || decimal.point <= 0) {
    digits = "0";
    return true;
  }
  if (decimal.point > kMostDigits)
    return false;
  decimal.digits.resize(static_cast<size_t>(decimal.point), '0');
  digits = std::move(decimal.digits);
  return true;
}

template <typename Float>
bool readFloat(std::string_view text, Float &number) {
  Parsed parsed;
  if (!parse(text, parsed))
    return false;
  if (parsed.isNan || parsed.isInfinite) {
    number = parsed.isNan ? std::numeric_limits<Float>::quiet_NaN() : std::numeric_limits<Float>::infinity();
  } else {
    const std::string_view digits = parsed.digits;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (read.ec == std::errc::result_out_of_range)
      number = isLarge(digits) ? std::numeric_limits<Float>::infinity() : 0;
    else if (read.ec != std::errc())
      return false;
  }
  if (parsed.isNegative)
    number = -number;
  return true;
}

template <typename Integer>
bool readInteger(std::string_view text, Integer &number) {
  Parsed parsed;
  if (!parse(text, parsed) || parsed.isNan || parsed.isInfinite)
    return false;
  // Digits are exact; a float would round them.
  std::string digits;
  if (!wholeDigits(parsed.digits, digits))
    return false;
  uint64_t magnitude = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  if (read.ec != std::errc())
    return false;
  const uint64_t most = static_cast<uint64_t>(std::numeric_limits<Integer>::max());
  if (!parsed.isNegative || magnitude == 0) {
    number = static_cast<Integer>(magnitude);
    return magnitude <= most;
  }
  number = static_cast<Integer>(0 - magnitude);
  return std::numeric_limits<Integer>::is_signed && magnitude <= most + 1;
}

template <typename Float>
const char *special(Float number) {
  return std::isnan(number) ? "NaN" : std::isinf(number) ? (number < 0 ? "-INF" : "INF") : nullptr;
}

/// The fewest digits that read back as the number. As C's %g with as many digits, or 8 where they are fewer, writes it:
/// scientific where the exponent is below -4, or at least that number of digits.
template <typename Float>
std::string shortest(Float number) {
  if (const char *name = special(number))
    return name;
  constexpr int64_t kPlainDigits = 8, kLeastExponent = -4;
  char text[64];
  const std::string_view scientific(
      text, std::to_chars(text, text + sizeof text, number, std::chars_format::scientific).ptr - text);
  const size_t mark = scientific.find('e');
  int64_t exponent = 0;
  const char *first = scientific.data() + mark + 1;
  std::from_chars(first + (*first == '+'), scientific.data() + scientific.size(), exponent);
  const auto digits = std::count_if(text, text + mark, isDigit);
  if (exponent < kLeastExponent || exponent >= std::max<int64_t>(kPlainDigits, digits))
    return std::string(scientific);
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::fixed).ptr};
}

} // namespace

bool readNumber(std::string_view text, float &number) { return readFloat(text, number); }
bool readNumber(std::string_view text, double &number) { return readFloat(text, number); }
bool readNumber(std::string_view text, int64_t &number) { return readInteger(text, number); }
bool readNumber(std::string_view text, uint64_t &number) { return readInteger(text, number); }

std::string textOf(float number) { return shortest(number); }
std::string textOf(double number) { return shortest(number); }
std::string textOf(int64_t number) { return std::to_string(number); }
std::string textOf(uint64_t number) { return std::to_string(number); }

} // namespace sluice::runtime
