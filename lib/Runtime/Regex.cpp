//===- Regex.cpp - libsluice_regex ----------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HostFunctions.h"

#include <cstdio>
#include <memory>
#include <re2/re2.h>

namespace {
re2::StringPiece piece(const char *text, int64_t bytes) {
  return bytes > 0 ? re2::StringPiece(text, static_cast<size_t>(bytes)) : re2::StringPiece();
}
} // namespace

void *sluice_regex_compile(const char *pattern, int64_t bytes, char *error, int64_t capacity) {
  RE2::Options options;
  options.set_log_errors(false);
  try {
    auto regex = std::make_unique<RE2>(piece(pattern, bytes), options);
    if (regex->ok())
      return regex.release();
    std::snprintf(error, static_cast<size_t>(capacity), "%s", regex->error().c_str());
  } catch (const std::exception &problem) {
    std::snprintf(error, static_cast<size_t>(capacity), "%s", problem.what());
  }
  return nullptr;
}

int32_t sluice_regex_matches(const void *regex, const char *text, int64_t bytes) {
  // The runtime may have another C++ library, through which no exception gets.
  try {
    return RE2::FullMatch(piece(text, bytes), *static_cast<const RE2 *>(regex));
  } catch (const std::exception &) {
    return -1;
  }
}

void sluice_regex_release(void *regex) { delete static_cast<RE2 *>(regex); }
