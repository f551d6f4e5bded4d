//===- FileTierOptions.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FileTierOptions.h"

#include "sluice/Machine/FileTier.h"
#include "sluice/Search/MemoryOption.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <filesystem>

namespace sluice {

/// Of the host's memory: "300MiB", "host=300MiB".
static bool limitsHost(const std::string &limit, const Machine &machine) {
  const size_t equals = limit.find('=');
  return equals == std::string::npos || limit.substr(0, equals) == machine.memory(Machine::hostMemory()).name;
}

Status attachDiskFor(Machine &machine, const std::string &modelPath, const CompilerOptions &options) {
  const bool isLimited = std::any_of(options.memory.begin(), options.memory.end(),
                                     [&](const std::string &limit) { return limitsHost(limit, machine); });
  if (!isLimited || machine.hasFiles())
    return {};
  for (DeviceId device : machine.computeDevices())
    if (machine.device(device).memory != Machine::hostMemory())
      return {};
  // The model's own file says how fast its disk is; one with its weights elsewhere is too short.
  constexpr uintmax_t kLongEnough = uintmax_t(32) << 20;
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(modelPath, error);
  const bool isLong = !error && bytes >= kLongEnough;
  SLUICE_ASSIGN_OR_RETURN(const DiskRates rates,
                          isLong ? measureReads(modelPath) : measureDisk(temporaryFileDirectory()));
  attachDisk(machine, rates);
  return machine.check();
}

/// Advice where the process that runs the model compiles it too.
static std::string orCompileFirst(int64_t leastBytes, int64_t processBytes) {
  if (processBytes <= kRuntimeProcessBytes)
    return "";
  return concat(", or run what 'sluice compile' writes, which needs ",
                formatBytes(roundUpToPrinted(saturatingAdd(leastBytes, kRuntimeProcessBytes))));
}

Status limitMemory(SearchProblem &problem, const std::vector<std::string> &limits, int64_t processBytes) {
  const Machine &machine = *problem.machine;
  const bool streams = fileBelowHost(machine).valid();
  for (const std::string &limit : limits) {
    SLUICE_RETURN_IF_ERROR(applyMemoryOption(problem, limit));
    if (!streams || !limitsHost(limit, machine) || limit.ends_with('%'))
      continue;
    SLUICE_ASSIGN_OR_RETURN(const MemoryNeeds needs, memoryNeeds(problem, Machine::hostMemory()));
    int64_t &capacity = problem.capacityBytes[0];
    const int64_t least = saturatingAdd(needs.least.bytes, processBytes);
    if (capacity < least)
      return makeError(ErrorCode::Infeasible, "model '", problem.graph->name, "' needs ",
                       formatBytes(roundUpToPrinted(least)), " of memory: ", formatBytes(processBytes),
                       " for the process and ", formatBytes(needs.least.bytes), " for operator '",
                       needs.least.op.valid() ? problem.graph->op(needs.least.op).name : "", "', option '--memory ",
                       limit, "', give at least ", least, " bytes", orCompileFirst(needs.least.bytes, processBytes));
    capacity -= processBytes;
  }
  return {};
}

} // namespace sluice
