//===- FakeCollectives.cpp - Host forms of the runtime's PTX --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FakeCollectives.h"
#include "FakeCuda.h"

#include <algorithm>
#include <cstring>
#include <regex>

namespace {

char *at(uint64_t address, uint64_t bytes) { return fakeCudaHost(reinterpret_cast<const void *>(address), bytes); }

template <typename T>
bool combine(const uint64_t *p, char kind) {
  const uint64_t count = p[2], parts = p[3];
  auto *result = reinterpret_cast<T *>(at(p[0], count * sizeof(T)));
  const auto *from = reinterpret_cast<const T *>(at(p[1], parts * count * sizeof(T)));
  if (!result || !from)
    return false;
  for (uint64_t i = 0; i < count; ++i) {
    T value = from[i];
    for (uint64_t k = 1; k < parts; ++k) {
      const T other = from[k * count + i];
      if (kind == 's')
        value = value + other;
      else if (other != other || (kind == 'a' ? other > value : other < value))
        value = other;
    }
    result[i] = value;
  }
  return true;
}

bool copyRows(const uint64_t *p, uint64_t word) {
  const uint64_t rows = p[4], bytes = p[5] * word;
  for (uint64_t row = 0; row < rows; ++row) {
    char *to = at(p[0] + row * p[1], bytes), *from = at(p[2] + row * p[3], bytes);
    if (!to || !from)
      return false;
    std::memcpy(to, from, bytes);
  }
  return true;
}

bool fill(const uint64_t *p, uint64_t word) {
  char *to = at(p[0], p[1] * word);
  for (uint64_t i = 0; to && i < p[1]; ++i)
    std::memcpy(to + i * word, &p[2], word);
  return to != nullptr;
}

} // namespace

HostForm findHostForm(const std::string &name) {
  static const std::regex combines("sluice_combine_([fs])(32|64)_(sum|max|min)"), moves("sluice_(rows|fill)_([1248])");
  std::smatch parts;
  if (std::regex_match(name, parts, combines)) {
    const bool isFloat = parts[1] == "f", isLong = parts[2] == "64";
    const char kind = parts[3].str()[parts[3] == "sum" ? 0 : 1]; // s, a or i.
    return {4, [=](const uint64_t *p) {
              return isFloat ? (isLong ? combine<double>(p, kind) : combine<float>(p, kind))
                             : (isLong ? combine<int64_t>(p, kind) : combine<int32_t>(p, kind));
            }};
  }
  if (!std::regex_match(name, parts, moves))
    return {};
  const uint64_t word = std::stoul(parts[2]);
  if (parts[1] == "rows")
    return {6, [=](const uint64_t *p) { return copyRows(p, word); }};
  return {3, [=](const uint64_t *p) { return fill(p, word); }};
}
