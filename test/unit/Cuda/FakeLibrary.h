//===- FakeLibrary.h - What fake libraries of NVIDIA's share ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CUDA_FAKELIBRARY_H
#define SLUICE_TEST_UNIT_CUDA_FAKELIBRARY_H

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>

namespace sluice::test {

/// A function that is to fail; with an empty name, none.
struct FakeFailure {
  std::string function;
  int status = 0;

  int of(const char *called) const { return function == called ? status : 0; }
  /// From "fail=FUNCTION:STATUS", where the environment has that variable.
  void takeFrom(const char *variable) {
    const char *wanted = std::getenv(variable);
    if (!wanted)
      return;
    static const std::regex words("fail=(\\w+):(\\d+)");
    std::cmatch parts;
    if (!std::regex_match(wanted, parts, words)) {
      std::fprintf(stderr, "%s: '%s' is not what it knows\n", variable, wanted);
      std::abort();
    }
    function = parts[1].str(), status = std::stoi(parts[2]);
  }
};

enum class FakeType { F32, F16, BF16 };

inline size_t bytesOf(FakeType type) { return type == FakeType::F32 ? 4 : 2; }

inline float halfToFloat(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float fraction = static_cast<float>(bits & 1023);
  const float value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

/// Nearest, ties to even; patterns ascend as their numbers do.
inline uint16_t floatToHalf(float value) {
  const float size = std::fabs(value);
  uint32_t below = 0, above = 0x7bff;
  while (above - below > 1) {
    const uint32_t middle = (below + above) / 2;
    (halfToFloat(static_cast<uint16_t>(middle)) <= size ? below : above) = middle;
  }
  const float down = size - halfToFloat(static_cast<uint16_t>(below)),
              up = halfToFloat(static_cast<uint16_t>(above)) - size;
  const uint32_t nearest = down < up || (down == up && below % 2 == 0) ? below : above;
  return static_cast<uint16_t>(nearest | (std::signbit(value) ? 0x8000u : 0u));
}

inline double readNumber(const void *data, FakeType type, int64_t i) {
  if (type == FakeType::F32)
    return static_cast<const float *>(data)[i];
  const uint16_t bits = static_cast<const uint16_t *>(data)[i];
  return type == FakeType::F16 ? halfToFloat(bits) : std::bit_cast<float>(uint32_t(bits) << 16);
}

inline void writeNumber(void *data, FakeType type, int64_t i, double value) {
  const auto rounded = static_cast<float>(value);
  if (type == FakeType::F32) {
    static_cast<float *>(data)[i] = rounded;
    return;
  }
  uint16_t bits = 0;
  if (type == FakeType::F16) {
    bits = floatToHalf(rounded);
  } else {
    const auto word = std::bit_cast<uint32_t>(rounded);
    bits = static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  static_cast<uint16_t *>(data)[i] = bits;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_CUDA_FAKELIBRARY_H
