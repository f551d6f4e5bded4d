//===- MemoryOption.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/MemoryOption.h"

#include "FileBelowHost.h"
#include "sluice/Search/Orders.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice {

Expected<MemoryNeeds> memoryNeeds(const SearchProblem &problem, MemoryId memory) {
  DeviceId device;
  for (DeviceId candidate : problem.machine->computeDevices())
    if (!device.valid() && problem.machine->device(candidate).memory == memory)
      device = candidate;
  if (!device.valid())
    return makeError(ErrorCode::InvalidInput, "no device computes in memory '", problem.machine->memory(memory).name,
                     "', so a percentage is undefined there, option '--memory', give bytes");
  SearchProblem unlimited = problem;
  unlimited.capacityBytes.assign(problem.machine->memories.size(), std::numeric_limits<int64_t>::max());
  SLUICE_ASSIGN_OR_RETURN(std::optional<FileBelowHost> turned, FileBelowHost::of(unlimited));
  const SearchProblem asked = turned ? turned->turned() : problem;
  SwapProblem swap{*asked.graph,    *asked.machine,           *asked.costs,
                   asked.placement, modelOrder(*asked.graph), asked.capacityBytes};
  swap.placement.resize(asked.graph->numOperators());
  for (DeviceId &where : swap.placement)
    if (!where.valid())
      where = device;
  SLUICE_RETURN_IF_ERROR(check(swap));
  std::vector<MinimumBytes> least = minimumBytes(swap);
  std::vector<int64_t> peak = livenessPeakBytes(swap);
  if (turned) {
    least = turned->turnBack(least);
    peak = turned->turnBack(peak);
  }
  // In the host's memory the homes of states are part of the peak already.
  swap.capacityBytes = unlimited.capacityBytes;
  const int64_t full = turned ? 0 : livenessPeakBytes(swap, /*keepsStates=*/true)[memory.index()];
  const int64_t peakBytes = peak[memory.index()];
  return MemoryNeeds{least[memory.index()], peakBytes, std::max(peakBytes, full)};
}

static Expected<int64_t> shareOf(const SearchProblem &problem, MemoryId memory, double percent) {
  SLUICE_ASSIGN_OR_RETURN(const MemoryNeeds needs, memoryNeeds(problem, memory));
  const int64_t least = needs.least.bytes;
  double bytes = static_cast<double>(least) + percent / 100 * static_cast<double>(needs.peakBytes - least);
  return bytes >= 0x1p62 ? int64_t(1) << 62 : alignUp(static_cast<int64_t>(std::ceil(bytes)));
}

std::vector<MemoryId> limitableMemories(const Machine &machine) {
  std::vector<MemoryId> memories;
  const bool streams = fileBelowHost(machine).valid();
  for (DeviceId device : machine.computeDevices())
    if (const MemoryId memory = machine.device(device).memory;
        (streams || memory != Machine::hostMemory()) &&
        std::find(memories.begin(), memories.end(), memory) == memories.end())
      memories.push_back(memory);
  return memories;
}

Status applyMemoryOption(SearchProblem &problem, std::string_view option) {
  const size_t equals = option.find('=');
  std::string_view value = equals == std::string_view::npos ? option : option.substr(equals + 1);
  std::vector<MemoryId> memories;
  if (equals != std::string_view::npos) {
    SLUICE_ASSIGN_OR_RETURN(MemoryId named, problem.machine->findMemory(option.substr(0, equals)));
    memories.push_back(named);
  } else {
    memories = limitableMemories(*problem.machine);
    if (memories.empty())
      return makeError(ErrorCode::InvalidInput, "machine '", problem.machine->name,
                       "' has no accelerator, option '--memory ", option,
                       "', name the memory to limit: --memory NAME=", value);
  }
  for (MemoryId memory : memories) {
    Expected<int64_t> bytes(0);
    if (!value.empty() && value.back() == '%') {
      Expected<double> percent = parseNumber(value.substr(0, value.size() - 1));
      if (!percent || *percent < 0)
        return makeError(ErrorCode::InvalidInput, "'", value, "' is not a percentage, option '--memory ", option,
                         "', write '60%'");
      bytes = shareOf(problem, memory, *percent);
    } else {
      bytes = parseBytes(value);
    }
    if (!bytes)
      return propagate(bytes);
    problem.capacityBytes[memory.index()] = *bytes;
  }
  return {};
}

} // namespace sluice
