//===- Target.cpp - What code is generated for -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Codegen/Target.h"

#include "PortableTargets.h"
#include "sluice/Codegen/GridLowering.h"
#include "sluice/Support/Text.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <algorithm>
#include <array>
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace sluice {

namespace {

constexpr const char *kTriple = "x86_64-unknown-linux-gnu";
constexpr std::array kLevels = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

/// What generated code may use of a host. Not LLVM's whole list: the rest
/// (virtualization, key lockers...) would only make artifacts harder to move.
constexpr std::array kUsefulFeatures = {
    "sse3",       "ssse3",   "sse4.1",     "sse4.2",      "popcnt",     "cx16",         "sahf",
    "avx",        "avx2",    "fma",        "f16c",        "bmi",        "bmi2",         "lzcnt",
    "movbe",      "avx512f", "avx512bw",   "avx512cd",    "avx512dq",   "avx512vl",     "avx512vnni",
    "avx512bf16", "avxvnni", "avx512vbmi", "avx512vbmi2", "avx512ifma", "avx512bitalg", "avx512vpopcntdq",
    "avx512fp16"};

/// Linux lets a process use tile registers (AMX) only after it has asked: Documentation/arch/x86/xstate.rst. The
/// Runtime asks again where a model is run.
bool mayUseTiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

/// Of a core of this host, within what kernels have blocks for; `fallback` where it is not known.
int64_t secondLevelCache([[maybe_unused]] int64_t fallback) {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  constexpr int64_t kLeast = 256 << 10, kMost = 4 << 20;
  if (const int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0)
    return std::clamp(bytes, kLeast, kMost);
#endif
  return fallback;
}

/// AVX2 adds products of bytes in 16 bits, which those of elements of 8 bits exceed.
int64_t roundedBitsOf(const TargetSpec &x86) {
  if (x86.byteProducts != "pairs")
    return 8;
  return x86.vectorBits >= 256 ? 4 : 0;
}

Expected<TargetSpec> resolveCpu(std::string_view name) {
  TargetSpec spec;
  std::string_view asked = name.starts_with("cpu:") ? name.substr(4) : name;
  spec.name = asked;
  spec.triple = kTriple;
  auto level = std::find(kLevels.begin(), kLevels.end(), asked);
  if (level != kLevels.end()) {
    auto rank = level - kLevels.begin();
    spec.cpu = spec.required = asked;
    spec.tune = "generic";
    spec.vectorBits = rank == 3 ? 512 : rank == 2 ? 256 : 128;
    spec.numVectorRegisters = rank == 3 ? 32 : 16;
    spec.roundedBits = roundedBitsOf(spec);
    return spec;
  }
  SLUICE_ASSIGN_OR_RETURN(std::optional<TargetSpec> portable, resolvePortableCpu(asked));
  if (portable)
    return *portable;
  if (asked != "native") {
    std::vector<std::string> known{"cpu:native", "cpu:x86-64", "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4"};
    for (std::string &other : portableCpuNames())
      known.push_back(std::move(other));
    return makeError(ErrorCode::InvalidInput, "unknown target '", name, "', give ", alternatives(known));
  }
#if !defined(__x86_64__)
  return makeError(ErrorCode::Unsupported, "target 'native' is not supported on a host that is not x86-64, give ",
                   alternatives(portableCpuNames()));
#endif
  auto host = llvm::sys::getHostCPUFeatures();
  auto has = [&](const char *feature) { return host.lookup(feature); };
  for (const char *feature : kUsefulFeatures)
    if (has(feature))
      spec.features += (spec.features.empty() ? "+" : ",+") + std::string(feature);
  const bool hasTiles = has("amx-tile") && mayUseTiles();
  const bool hasByteTiles = hasTiles && has("amx-int8"), hasHalfTiles = hasTiles && has("amx-bf16");
  if (hasTiles)
    spec.features += ",+amx-tile";
  if (hasByteTiles)
    spec.features += ",+amx-int8";
  if (hasHalfTiles)
    spec.features += ",+amx-bf16";
  spec.cpu = "x86-64";
  spec.tune = llvm::sys::getHostCPUName().str();
  spec.required = spec.features.empty() ? spec.cpu : spec.features;
  bool wide = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  spec.vectorBits = wide ? 512 : has("avx2") ? 256 : 128;
  spec.numVectorRegisters = wide ? 32 : 16;
  spec.l2Bytes = secondLevelCache(spec.l2Bytes);
  if (has(wide ? "avx512vnni" : "avxvnni"))
    spec.byteProducts = wide && hasByteTiles ? "tiles" : "quads";
  spec.roundedBits = roundedBitsOf(spec);
  if (wide && has("avx512bf16"))
    spec.halfProducts = hasHalfTiles ? "tiles" : "pairs";
  return spec;
}

Status addGpu(TargetSpec &spec, std::string_view asked) {
  if (asked == "emulated") {
    spec.emulatesGrids = true;
    return {};
  }
  std::string known;
  for (unsigned architecture : deviceArchitectures()) {
    std::string name = "sm_" + std::to_string(architecture);
    if (name == asked) {
      spec.architectures.push_back(architecture);
      return {};
    }
    known += "cuda:" + name + ", ";
  }
  return makeError(ErrorCode::InvalidInput, "unknown target 'cuda:", asked, "', give ", known, "or cuda:emulated");
}

} // namespace

Expected<TargetSpec> resolveTarget(std::string_view names) {
  constexpr std::string_view kCuda = "cuda:";
  std::string cpu;
  TargetSpec gpus;
  for (bool more = true; more;) {
    size_t comma = names.find(',');
    std::string_view name = names.substr(0, comma);
    more = comma != std::string_view::npos;
    names = more ? names.substr(comma + 1) : "";
    if (name.starts_with(kCuda) || name.starts_with("sm_")) {
      SLUICE_RETURN_IF_ERROR(addGpu(gpus, name.starts_with(kCuda) ? name.substr(kCuda.size()) : name));
      continue;
    }
    if (name.starts_with('+')) {
      if (cpu.empty())
        return makeError(ErrorCode::InvalidInput, "no CPU is named before CPU feature '", name,
                         "', option '--target', write a CPU with features first, such as "
                         "cpu:aarch64+dotprod");
      cpu += name;
      continue;
    }
    if (!cpu.empty())
      return makeError(ErrorCode::InvalidInput, "both '", cpu, "' and '", name,
                       "' name a CPU, option '--target', give one CPU, and GPUs as cuda:sm_80");
    cpu = name.empty() ? std::string_view("cpu:") : name;
  }
  Expected<TargetSpec> spec = resolveCpu(cpu.empty() ? "native" : cpu);
  if (!spec)
    return spec;
  spec->architectures = std::move(gpus.architectures);
  spec->emulatesGrids = gpus.emulatesGrids;
  std::sort(spec->architectures.begin(), spec->architectures.end());
  spec->architectures.erase(std::unique(spec->architectures.begin(), spec->architectures.end()),
                            spec->architectures.end());
  return spec;
}

Status checkRunsOnHost(const TargetSpec &target) {
  const llvm::Triple host(llvm::sys::getProcessTriple());
  if (llvm::Triple(target.triple).getArch() == host.getArch())
    return {};
  return makeError(ErrorCode::Unsupported, "target 'cpu:", target.name, "' does not run on this ",
                   host.getArchName().str(),
                   " machine, option '--target', give cpu:native, or compile with "
                   "'sluice compile' and run the directory on a machine with a CPU of the target");
}

} // namespace sluice
