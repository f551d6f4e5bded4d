//===- RankMachine.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Machine/RankMachine.h"

#include <algorithm>

namespace sluice {

Machine machineOfRank(const Machine &machine, int64_t ranks) {
  const DeviceId own = machine.computeDevices().front();
  const auto shares = machine.computeDevices().size() == 1 ? static_cast<double>(ranks) : 1.0;
  Machine result = machine;
  result.name = concat("a rank's part of ", machine.name);
  result.memories.clear(), result.devices.clear(), result.links.clear();
  std::vector<MemoryId> kept(machine.memories.size());
  for (size_t i = 0; i < machine.memories.size(); ++i)
    if (MemoryId(i) == Machine::hostMemory() || MemoryId(i) == machine.device(own).memory ||
        machine.isFile(MemoryId(i))) {
      kept[i] = MemoryId(result.memories.size());
      result.memories.push_back(machine.memories[i]);
      if (int64_t &bytes = result.memories.back().capacityBytes; bytes != std::numeric_limits<int64_t>::max())
        bytes = static_cast<int64_t>(static_cast<double>(bytes) / shares);
    }
  for (size_t i = 0; i < machine.devices.size(); ++i)
    if (Device device = machine.devices[i]; DeviceId(i) == own || !device.computes)
      if (device.memory = kept[device.memory.index()]; device.memory.valid()) {
        if (device.computes) {
          device.flopsPerSec /= shares, device.memoryBytesPerSec /= shares;
          device.threads = std::max(1, static_cast<int>(device.threads / shares));
        }
        result.devices.push_back(std::move(device));
      }
  std::vector<LinkId> keptLinks(machine.links.size());
  for (size_t i = 0; i < machine.links.size(); ++i) {
    Link link = machine.links[i];
    link.a = kept[link.a.index()], link.b = kept[link.b.index()];
    link.bytesPerSec /= shares, link.duplexBytesPerSec /= shares, link.reverseBytesPerSec /= shares;
    if (!link.a.valid() || !link.b.valid())
      continue;
    keptLinks[i] = LinkId(result.links.size());
    result.links.push_back(link);
  }
  for (Link &link : result.links)
    if (link.trunk.valid())
      link.trunk = keptLinks[link.trunk.index()];
  return result;
}

} // namespace sluice
