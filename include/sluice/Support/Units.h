//===- Units.h - Text forms of bytes, times and rates -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_UNITS_H
#define SLUICE_SUPPORT_UNITS_H

#include "sluice/Support/Count.h"
#include "sluice/Support/Error.h"

#include <string>
#include <string_view>

namespace sluice {

/// Every arena offset, and every size that is counted against a memory, is a multiple of this
/// number of bytes: one cache line, and the widest vector load.
inline constexpr int64_t kArenaAlignment = 64;

constexpr int64_t alignUp(int64_t bytes, int64_t alignment = kArenaAlignment) {
  return (Count(bytes) + (alignment - 1)) / alignment * alignment;
}

/// Saturating sums and products: they end at the limits of int64 instead of wrapping.
int64_t saturatingAdd(int64_t a, int64_t b);
int64_t saturatingMul(int64_t a, int64_t b);

/// Parses bytes: "8GiB", "1.5 GB", "4096", "64KiB". Prefixes are binary (KiB) or decimal (kB).
/// Fails on other texts and on more than 2^62.
Expected<int64_t> parseBytes(std::string_view text);
/// Parses "5s", "100ms", "2min", "1.5h", "250us" or "10ns" to nanoseconds.
Expected<int64_t> parseDuration(std::string_view text);

/// 1536 -> "1.50 KiB".
std::string formatBytes(int64_t bytes);
/// The least size of at least `bytes` that does not change if formatBytes() prints it and parseBytes() reads the text.
/// `bytes` must not be negative. Sizes above 2^62, which parseBytes() refuses, are returned unchanged.
int64_t roundUpToPrinted(int64_t bytes);
/// 1500000 -> "1.50 ms".
std::string formatDuration(int64_t ns);

/// Parse a whole text as an integer or as a floating-point number. Both functions fail on trailing characters,
/// overflow, NaN and infinity.
Expected<int64_t> parseInteger(std::string_view text);
Expected<double> parseNumber(std::string_view text);

} // namespace sluice

#endif // SLUICE_SUPPORT_UNITS_H
