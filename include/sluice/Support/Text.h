//===- Text.h - Input in diagnostics ----------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A name, a number or a line of an input may have megabytes, and bytes that a terminal obeys. Whatever a diagnostic
// quotes of an input passes through here; the caller writes the quotation marks.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_TEXT_H
#define SLUICE_SUPPORT_TEXT_H

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

/// The most bytes of an input that a diagnostic quotes.
inline constexpr size_t kMostQuoted = 80;

/// `text` itself where it has at most kMostQuoted bytes. A longer text keeps its beginning and its end, which tell
/// names apart, around "...". Control characters, and bytes that are no UTF-8, become '?'. No character is cut.
std::string excerpt(std::string_view text);

/// As excerpt, but of a longer text what is around byte `position` is kept.
std::string excerptAround(std::string_view text, size_t position);

} // namespace sluice

#endif // SLUICE_SUPPORT_TEXT_H
