//===- Sha256.h - SHA-256 (FIPS 180-4) --------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_SHA256_H
#define SLUICE_RUNTIME_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::runtime {

/// Uses the CPU's SHA instructions where it has them.
class Sha256 {
public:
  Sha256();
  void update(const void *data, size_t bytes);
  /// Returns the digest in lower-case hexadecimal digits. Call it once, last.
  std::string finish();

private:
  std::array<uint32_t, 8> state;
  std::array<uint8_t, 64> pending;
  size_t pendingBytes = 0;
  uint64_t totalBytes = 0;
};

std::string sha256Hex(const void *data, size_t bytes);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_SHA256_H
