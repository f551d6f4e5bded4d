//===- Units.h - Bytes, times and rates as people write them ----*- C++ -*-===//
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

/// Every arena offset and every size counted against a memory is a multiple of
/// this many bytes: one cache line, and the widest vector load.
inline constexpr int64_t kArenaAlignment = 64;

constexpr int64_t alignUp(int64_t bytes, int64_t alignment = kArenaAlignment) {
  return (Count(bytes) + (alignment - 1)) / alignment * alignment;
}

/// Sums and products that stick at the ends of int64 instead of wrapping.
int64_t saturatingAdd(int64_t a, int64_t b);
int64_t saturatingMul(int64_t a, int64_t b);

/// "8GiB", "1.5 GB", "4096", "64KiB" -> bytes. Binary (KiB) and decimal (kB)
/// prefixes are told apart. Fails on anything else, and on more than 2^62.
Expected<int64_t> parseBytes(std::string_view text);
/// "5s", "100ms", "2min", "1.5h", "250us", "10ns" -> nanoseconds.
Expected<int64_t> parseDuration(std::string_view text);

/// 1536 -> "1.50 KiB".
std::string formatBytes(int64_t bytes);
/// 1500000 -> "1.50 ms".
std::string formatDuration(int64_t ns);

/// Whole-string integer or floating-point parses; fail on trailing characters,
/// overflow, NaN and infinity.
Expected<int64_t> parseInteger(std::string_view text);
Expected<double> parseNumber(std::string_view text);

} // namespace sluice

#endif // SLUICE_SUPPORT_UNITS_H
