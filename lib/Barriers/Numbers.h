//===- Numbers.h - Texts as 'pssp:4,10' -------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_BARRIERS_NUMBERS_H
#define SLUICE_LIB_BARRIERS_NUMBERS_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

/// The longest time of a simulation, and of a part of it.
inline constexpr int64_t kLongestNs = 1'000'000'000'000'000;

struct NamedNumbers {
  std::string_view name;
  std::vector<std::string_view> numbers; ///< The texts of the numbers, not parsed; empty if the text has no colon.
};

/// Splits a text into a name and, after a colon, texts that are separated by commas.
inline NamedNumbers splitNumbers(std::string_view text) {
  const size_t colon = text.find(':');
  NamedNumbers parts{text.substr(0, colon), {}};
  for (size_t at = colon; at != std::string_view::npos; at = text.find(',')) {
    text.remove_prefix(at + 1);
    parts.numbers.push_back(text.substr(0, text.find(',')));
  }
  return parts;
}

} // namespace sluice

#endif // SLUICE_LIB_BARRIERS_NUMBERS_H
