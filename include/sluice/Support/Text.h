//===- Text.h - Input in diagnostics ----------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A name, a number or a line of an input may have megabytes, and may contain bytes that control a terminal. Diagnostics
// quote inputs only through these functions. The caller writes the quotation marks.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_TEXT_H
#define SLUICE_SUPPORT_TEXT_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// The most bytes of an input that a diagnostic quotes.
inline constexpr size_t kMostQuoted = 80;

/// Returns `text` if it has at most kMostQuoted bytes. A longer text is shortened to its beginning and its end, which
/// distinguish names, with "..." between them. Control characters and invalid UTF-8 become '?'. No character is cut.
std::string excerpt(std::string_view text);

/// Like excerpt, but a longer text is shortened to the part around byte `position`.
std::string excerptAround(std::string_view text, size_t position);

/// The most names that alternatives() lists.
inline constexpr size_t kMostAlternatives = 16;

/// What a user can choose from: "'a'", "'a' or 'b'", "'a', 'b' or 'c'"; empty without names. Each name is an excerpt.
/// If there are more than kMostAlternatives names, the last ones are only counted.
std::string alternatives(const std::vector<std::string> &names);

} // namespace sluice

#endif // SLUICE_SUPPORT_TEXT_H
