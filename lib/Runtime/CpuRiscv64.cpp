//===- CpuRiscv64.cpp - What a RISC-V CPU can run -------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#if defined(__riscv) && __riscv_xlen == 64
#include "CpuPresence.h"

#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice::runtime {

namespace {

struct Feature {
  std::string_view name;    ///< As LLVM spells it.
  uint64_t bit;             ///< Of the extensions that the kernel reports.
  uint64_t vectorBytes = 0; ///< At least so many in a vector register.
};

// Linux's Documentation/arch/riscv/hwprobe.rst: RISCV_HWPROBE_KEY_IMA_EXT_0.
constexpr uint64_t kFloats = 1 << 0, kCompressed = 1 << 1, kVectors = 1 << 2;
constexpr Feature kFeatures[] = {
    {"f", kFloats},  {"d", kFloats},  {"c", kCompressed},        {"v", kVectors},          {"zba", 1 << 3},
    {"zbb", 1 << 4}, {"zbs", 1 << 5}, {"zvl256b", kVectors, 32}, {"zvl512b", kVectors, 64}};
constexpr CpuLevel kLevels[] = {{"riscv64", "+f,+d,+c"}};

/// The kernel's bits; of one that does not know the call, those of the single letters.
uint64_t extensions() {
  struct {
    int64_t key;
    uint64_t value;
  } pair = {4, 0};
  constexpr long kHwprobe = 258;
  if (syscall(kHwprobe, &pair, 1L, 0L, nullptr, 0L) == 0 && pair.key == 4)
    return pair.value;
  const unsigned long letters = getauxval(AT_HWCAP);
  auto has = [&](char letter) { return (letters >> (letter - 'a') & 1) != 0; };
  return (has('f') && has('d') ? kFloats : 0) | (has('c') ? kCompressed : 0) | (has('v') ? kVectors : 0);
}

uint64_t vectorBytes() {
  uint64_t bytes;
  asm volatile("csrr %0, 0xc22" : "=r"(bytes)); // vlenb
  return bytes;
}

} // namespace

const CpuDescription &thisCpu() {
  static constexpr CpuDescription description = {"riscv64", "cpu:riscv64", kLevels};
  return description;
}

Presence presenceOf(std::string_view name) {
  return presenceAmong<Feature>(kFeatures, name, [](const Feature &feature) {
    const bool isThere = (extensions() & feature.bit) != 0;
    return isThere && (feature.vectorBytes == 0 || vectorBytes() >= feature.vectorBytes);
  });
}

} // namespace sluice::runtime

#endif // __riscv
