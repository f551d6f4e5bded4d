//===- CpuAarch64.cpp - What an AArch64 CPU can run -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#if defined(__aarch64__)
#include "CpuPresence.h"

#include <sys/auxv.h>

namespace sluice::runtime {

namespace {

struct Feature {
  std::string_view name; ///< As LLVM spells it.
  unsigned long capability;
  uint64_t bits; ///< All of which are set.
};

// Linux's Documentation/arch/arm64/elf_hwcaps.rst; the numbers are those of its uapi/asm/hwcap.h, which an older C
// library does not have all of.
constexpr Feature kFeatures[] = {
    {"neon", AT_HWCAP, uint64_t(1) << 1},
    {"fullfp16", AT_HWCAP, uint64_t(1) << 9 | uint64_t(1) << 10}, // Scalars, and vectors.
    {"dotprod", AT_HWCAP, uint64_t(1) << 20},
    {"sve", AT_HWCAP, uint64_t(1) << 22},
    {"sve2", AT_HWCAP2, uint64_t(1) << 1},
    {"i8mm", AT_HWCAP2, uint64_t(1) << 13},
};
constexpr CpuLevel kLevels[] = {{"aarch64", "+neon"}};

} // namespace

const CpuDescription &thisCpu() {
  static constexpr CpuDescription description = {"aarch64", "cpu:aarch64", kLevels};
  return description;
}

Presence presenceOf(std::string_view name) {
  return presenceAmong<Feature>(kFeatures, name, [](const Feature &feature) {
    return (getauxval(feature.capability) & feature.bits) == feature.bits;
  });
}

} // namespace sluice::runtime

#endif // __aarch64__
