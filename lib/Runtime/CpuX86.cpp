//===- CpuX86.cpp - What an x86-64 CPU can run ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#if defined(__x86_64__)
#include "CpuPresence.h"

#include <cpuid.h>
#include <cstdint>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace sluice::runtime {

namespace {

enum Register : uint8_t { Eax, Ebx, Ecx, Edx };
/// Registers that the operating system must save for the feature to be usable.
enum SavedState : uint8_t { None, Avx, Avx512, Amx };

struct Feature {
  std::string_view name; ///< As LLVM spells it.
  uint32_t leaf, subleaf;
  Register where;
  uint8_t bit;
  SavedState state = None;
};

// Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E. Names and leaves as in
// LLVM's TargetParser/Host.cpp.
constexpr Feature kFeatures[] = {
    {"cx8", 1, 0, Edx, 8},
    {"cmov", 1, 0, Edx, 15},
    {"mmx", 1, 0, Edx, 23},
    {"fxsr", 1, 0, Edx, 24},
    {"sse", 1, 0, Edx, 25},
    {"sse2", 1, 0, Edx, 26},
    {"sse3", 1, 0, Ecx, 0},
    {"pclmul", 1, 0, Ecx, 1},
    {"ssse3", 1, 0, Ecx, 9},
    {"fma", 1, 0, Ecx, 12, Avx},
    {"cx16", 1, 0, Ecx, 13},
    {"sse4.1", 1, 0, Ecx, 19},
    {"sse4.2", 1, 0, Ecx, 20},
    {"crc32", 1, 0, Ecx, 20},
    {"movbe", 1, 0, Ecx, 22},
    {"popcnt", 1, 0, Ecx, 23},
    {"aes", 1, 0, Ecx, 25},
    {"xsave", 1, 0, Ecx, 27},
    {"avx", 1, 0, Ecx, 28, Avx},
    {"f16c", 1, 0, Ecx, 29, Avx},
    {"rdrnd", 1, 0, Ecx, 30},
    {"sahf", 0x80000001, 0, Ecx, 0},
    {"lzcnt", 0x80000001, 0, Ecx, 5},
    {"sse4a", 0x80000001, 0, Ecx, 6},
    {"prfchw", 0x80000001, 0, Ecx, 8},
    {"xop", 0x80000001, 0, Ecx, 11, Avx},
    {"fma4", 0x80000001, 0, Ecx, 16, Avx},
    {"tbm", 0x80000001, 0, Ecx, 21},
    {"mwaitx", 0x80000001, 0, Ecx, 29},
    {"64bit", 0x80000001, 0, Edx, 29},
    {"clzero", 0x80000008, 0, Ebx, 0},
    {"rdpru", 0x80000008, 0, Ebx, 4},
    {"wbnoinvd", 0x80000008, 0, Ebx, 9},
    {"fsgsbase", 7, 0, Ebx, 0},
    {"sgx", 7, 0, Ebx, 2},
    {"bmi", 7, 0, Ebx, 3},
    {"avx2", 7, 0, Ebx, 5, Avx},
    {"bmi2", 7, 0, Ebx, 8},
    {"invpcid", 7, 0, Ebx, 10},
    {"rtm", 7, 0, Ebx, 11},
    {"avx512f", 7, 0, Ebx, 16, Avx512},
    {"evex512", 7, 0, Ebx, 16, Avx512},
    {"avx512dq", 7, 0, Ebx, 17, Avx512},
    {"rdseed", 7, 0, Ebx, 18},
    {"adx", 7, 0, Ebx, 19},
    {"avx512ifma", 7, 0, Ebx, 21, Avx512},
    {"clflushopt", 7, 0, Ebx, 23},
    {"clwb", 7, 0, Ebx, 24},
    {"avx512cd", 7, 0, Ebx, 28, Avx512},
    {"sha", 7, 0, Ebx, 29},
    {"avx512bw", 7, 0, Ebx, 30, Avx512},
    {"avx512vl", 7, 0, Ebx, 31, Avx512},
    {"avx512vbmi", 7, 0, Ecx, 1, Avx512},
    {"pku", 7, 0, Ecx, 4},
    {"waitpkg", 7, 0, Ecx, 5},
    {"avx512vbmi2", 7, 0, Ecx, 6, Avx512},
    {"shstk", 7, 0, Ecx, 7},
    {"gfni", 7, 0, Ecx, 8},
    {"vaes", 7, 0, Ecx, 9, Avx},
    {"vpclmulqdq", 7, 0, Ecx, 10, Avx},
    {"avx512vnni", 7, 0, Ecx, 11, Avx512},
    {"avx512bitalg", 7, 0, Ecx, 12, Avx512},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, Avx512},
    {"rdpid", 7, 0, Ecx, 22},
    {"kl", 7, 0, Ecx, 23},
    {"cldemote", 7, 0, Ecx, 25},
    {"movdiri", 7, 0, Ecx, 27},
    {"movdir64b", 7, 0, Ecx, 28},
    {"enqcmd", 7, 0, Ecx, 29},
    {"uintr", 7, 0, Edx, 5},
    {"avx512vp2intersect", 7, 0, Edx, 8, Avx512},
    {"serialize", 7, 0, Edx, 14},
    {"tsxldtrk", 7, 0, Edx, 16},
    {"pconfig", 7, 0, Edx, 18},
    {"amx-bf16", 7, 0, Edx, 22, Amx},
    {"avx512fp16", 7, 0, Edx, 23, Avx512},
    {"amx-tile", 7, 0, Edx, 24, Amx},
    {"amx-int8", 7, 0, Edx, 25, Amx},
    {"sha512", 7, 1, Eax, 0},
    {"sm3", 7, 1, Eax, 1},
    {"sm4", 7, 1, Eax, 2},
    {"raoint", 7, 1, Eax, 3},
    {"avxvnni", 7, 1, Eax, 4, Avx},
    {"avx512bf16", 7, 1, Eax, 5, Avx512},
    {"cmpccxadd", 7, 1, Eax, 7},
    {"amx-fp16", 7, 1, Eax, 21, Amx},
    {"hreset", 7, 1, Eax, 22},
    {"avxifma", 7, 1, Eax, 23, Avx},
    {"avxvnniint8", 7, 1, Edx, 4, Avx},
    {"avxneconvert", 7, 1, Edx, 5, Avx},
    {"amx-complex", 7, 1, Edx, 8, Amx},
    {"avxvnniint16", 7, 1, Edx, 10, Avx},
    {"prefetchi", 7, 1, Edx, 14},
    {"usermsr", 7, 1, Edx, 15},
    {"xsaveopt", 0xd, 1, Eax, 0},
    {"xsavec", 0xd, 1, Eax, 1},
    {"xsaves", 0xd, 1, Eax, 3},
    {"ptwrite", 0x14, 0, Ebx, 4},
};

/// The psABI's micro-architecture levels, each without the ones before it.
constexpr CpuLevel kLevels[] = {
    {"x86-64", "+cmov,+cx8,+fxsr,+mmx,+sse,+sse2"},
    {"x86-64-v2", "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2"},
    {"x86-64-v3", "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"},
    {"x86-64-v4", "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"},
};

bool systemSaves(SavedState state) {
  if (state == None)
    return true;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) // OSXSAVE
    return false;
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  unsigned wanted = state == Avx ? 0x6u : state == Avx512 ? 0xE6u : 0x60000u;
  if ((low & wanted) != wanted)
    return false;
#if defined(__linux__)
  // Tile registers are saved for processes that have asked (Documentation/arch/x86/xstate.rst): once for all threads.
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  if (state == Amx)
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#endif
  return true;
}

bool present(const Feature &feature) {
  unsigned r[4];
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &r[Eax], &r[Ebx], &r[Ecx], &r[Edx]))
    return false;
  return (r[feature.where] >> feature.bit & 1) && systemSaves(feature.state);
}

} // namespace

const CpuDescription &thisCpu() {
  static constexpr CpuDescription description = {"x86-64", "cpu:x86-64-v2", kLevels};
  return description;
}

Presence presenceOf(std::string_view name) { return presenceAmong<Feature>(kFeatures, name, present); }

} // namespace sluice::runtime

#endif // __x86_64__
