//===- CpuFeatures.cpp - What this CPU can run ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CpuFeatures.h"
#include "CpuPresence.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace sluice::runtime {

#if !defined(__x86_64__) && !defined(__aarch64__) && !(defined(__riscv) && __riscv_xlen == 64)
const CpuDescription &thisCpu() {
  static constexpr CpuDescription description = {"of an unknown kind", "the CPU of this machine", {}};
  return description;
}
Presence presenceOf(std::string_view) { return Presence::Unknown; }
#endif

/// Whether the user says that the CPU has the feature, which the system does not report.
static bool isAssumed(std::string_view name) {
  const char *assumed = std::getenv("SLUICE_CPU_FEATURES");
  return assumed && ("," + std::string(assumed) + ",").find(",+" + std::string(name) + ",") != std::string::npos;
}

Status checkCpuFeatures(std::string_view features) {
  const CpuDescription &cpu = thisCpu();
  while (!features.empty()) {
    size_t comma = features.find(',');
    std::string_view item = features.substr(0, comma);
    features = comma == std::string_view::npos ? std::string_view() : features.substr(comma + 1);
    if (item.empty() || item == "generic" || item.front() == '-')
      continue;
    if (item.front() == '+') {
      const std::string_view name = item.substr(1);
      const Presence presence = presenceOf(name);
      if (presence == Presence::Unknown)
        return failure("the model needs CPU feature '", name,
                       "', which this runtime cannot check, compile the model with --target ", cpu.fallback);
      if (presence == Presence::Absent && !isAssumed(name))
        return failure("the model needs CPU feature '", name,
                       "', which this machine lacks, compile the model with --target ", cpu.fallback,
                       " or for this machine");
      continue;
    }
    const auto level =
        std::find_if(cpu.levels.begin(), cpu.levels.end(), [&](const CpuLevel &each) { return each.name == item; });
    if (level == cpu.levels.end())
      return failure("the model was compiled for CPU '", item, "', and this machine has CPU '", cpu.name,
                     "', run the model on a machine with CPU '", item, "' or compile it with --target ", cpu.fallback);
    for (auto each = cpu.levels.begin(); each <= level; ++each)
      if (Status status = checkCpuFeatures(each->features); !status)
        return status;
  }
  return {};
}

} // namespace sluice::runtime
