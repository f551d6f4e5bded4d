//===- PortableTargets.cpp - CPUs beside x86-64 ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "PortableTargets.h"
#include "sluice/Support/Text.h"

#include <algorithm>
#include <array>
#include <span>

namespace sluice {

namespace {

/// A feature that changes generated code and that the Runtime can check.
struct CpuFeature {
  std::string_view name; ///< As --target takes it.
  std::string_view llvm; ///< As LLVM's subtargets do.
};

constexpr CpuFeature kAarch64Features[] = {{"dotprod", "dotprod"}, {"fullfp16", "fullfp16"}, {"fp16", "fullfp16"},
                                           {"i8mm", "i8mm"},       {"sve", "sve"},           {"sve2", "sve2"}};
constexpr CpuFeature kRiscvFeatures[] = {{"v", "v"},     {"zvl256b", "zvl256b"}, {"zvl512b", "zvl512b"},
                                         {"zba", "zba"}, {"zbb", "zbb"},         {"zbs", "zbs"}};
constexpr CpuFeature kWasmFeatures[] = {{"simd128", "simd128"}};

struct CpuFamily {
  std::string_view name;
  const char *triple, *cpu, *baseline;
  std::span<const CpuFeature> features;
  void (*describe)(TargetSpec &); ///< Sets what kernels have to know of the vector unit.
};

bool hasFeature(const TargetSpec &spec, std::string_view llvm) {
  return ("," + spec.features + ",").find("," + ("+" + std::string(llvm)) + ",") != std::string::npos;
}

/// NEON's 32 registers of 128 bits. SVE has at least these; how many more bits is not known before the code runs.
void describeAarch64(TargetSpec &spec) {
  spec.vectorBits = 128;
  spec.numVectorRegisters = 32;
  const bool isMixed = hasFeature(spec, "i8mm"), hasQuads = isMixed || hasFeature(spec, "dotprod");
  spec.byteProducts = hasQuads ? "quads" : "pairs";
  // Without i8mm, weights of 8 bits have no sign that the instruction takes.
  spec.roundedBits = isMixed ? 8 : hasQuads ? 4 : 0;
}

/// V has 32 registers of at least 128 bits, or of as many as zvl*b says. Without V a kernel's vectors have one lane, so
/// that each is one of the 32 floating-point registers.
void describeRiscv(TargetSpec &spec) {
  const bool isVector = hasFeature(spec, "v");
  spec.vectorBits = !isVector ? 32 : hasFeature(spec, "zvl512b") ? 512 : hasFeature(spec, "zvl256b") ? 256 : 128;
  spec.numVectorRegisters = 32;
  spec.byteProducts = isVector ? "pairs" : "plain";
}

/// SIMD128 is part of WebAssembly 2.0. A module has no limit of variables, which the engines of common processors keep
/// in 16 registers or more. An engine needs one of these registers for itself, and one for the product that it adds
/// next.
void describeWasm(TargetSpec &spec) {
  const bool isVector = hasFeature(spec, "simd128");
  spec.vectorBits = isVector ? 128 : 32;
  spec.numVectorRegisters = 14;
  spec.byteProducts = isVector ? "pairs" : "plain";
}

constexpr std::array kCpuFamilies = {
    CpuFamily{"aarch64", "aarch64-unknown-linux-gnu", "generic", "+neon", kAarch64Features, describeAarch64},
    CpuFamily{"riscv64", "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", kRiscvFeatures, describeRiscv},
    CpuFamily{"wasm32", "wasm32-unknown-unknown", "generic", "+bulk-memory,+nontrapping-fptoint,+sign-ext",
              kWasmFeatures, describeWasm},
};

Status addFeature(TargetSpec &spec, const CpuFamily &family, std::string_view name) {
  for (const CpuFeature &feature : family.features)
    if (feature.name == name) {
      if (!hasFeature(spec, feature.llvm)) {
        spec.features += concat(",+", feature.llvm);
        spec.required += concat(",+", feature.llvm);
        spec.name += concat("+", name);
      }
      return {};
    }
  std::vector<std::string> known;
  for (const CpuFeature &feature : family.features)
    known.push_back(concat("+", feature.name));
  return makeError(ErrorCode::InvalidInput, "unknown CPU feature '", name.substr(0, 80),
                   "' of target 'cpu:", family.name, "', option '--target', give ", alternatives(known));
}

} // namespace

std::vector<std::string> portableCpuNames() {
  std::vector<std::string> names;
  for (const CpuFamily &family : kCpuFamilies)
    names.push_back(concat("cpu:", family.name));
  return names;
}

Expected<std::optional<TargetSpec>> resolvePortableCpu(std::string_view name) {
  size_t plus = name.find('+');
  const auto found = std::find_if(kCpuFamilies.begin(), kCpuFamilies.end(),
                                  [&](const CpuFamily &each) { return each.name == name.substr(0, plus); });
  if (found == kCpuFamilies.end())
    return std::optional<TargetSpec>();
  TargetSpec spec;
  spec.name = spec.required = found->name;
  spec.triple = found->triple;
  spec.cpu = spec.tune = found->cpu;
  spec.features = found->baseline;
  while (plus != std::string_view::npos) {
    name.remove_prefix(plus + 1);
    plus = name.find('+');
    SLUICE_RETURN_IF_ERROR(addFeature(spec, *found, name.substr(0, plus)));
  }
  found->describe(spec);
  if (hasFeature(spec, "zvl256b") + hasFeature(spec, "zvl512b") > 0 && !hasFeature(spec, "v"))
    return makeError(ErrorCode::InvalidInput, "target 'cpu:", spec.name,
                     "' names a vector length (zvl) but not the vector extension (v), option '--target', add +v");
  return std::optional<TargetSpec>(std::move(spec));
}

} // namespace sluice
