//===- CpuPresence.h - One architecture's features --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// checkCpuFeatures calls these functions, which depend on the architecture that the runtime is compiled for. Each
// architecture has a source file that defines them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CPUPRESENCE_H
#define SLUICE_RUNTIME_CPUPRESENCE_H

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::runtime {

/// A name for a set of features: those of the levels before it, and these.
struct CpuLevel {
  std::string_view name, features;
};

struct CpuDescription {
  std::string_view name;
  std::string_view fallback; ///< The target that most CPUs of the architecture run, for diagnostics.
  std::span<const CpuLevel> levels;
};
const CpuDescription &thisCpu();

enum class Presence : uint8_t {
  Unknown, ///< This file cannot check a feature of this name.
  Absent,  ///< The CPU, or its operating system, lacks the feature.
  Present,
};
/// Whether the CPU has a feature, given by LLVM's name.
Presence presenceOf(std::string_view name);

/// The presence, by `isPresent`, of the feature of that name among `features`; Unknown if there is none.
template <typename Feature, typename IsPresent>
Presence presenceAmong(std::span<const Feature> features, std::string_view name, IsPresent isPresent) {
  for (const Feature &feature : features)
    if (feature.name == name)
      return isPresent(feature) ? Presence::Present : Presence::Absent;
  return Presence::Unknown;
}

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_CPUPRESENCE_H
