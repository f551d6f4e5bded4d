//===- PartitionMachine.cpp - Devices as a mesh ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/Partition.h"

#include "sluice/Support/Units.h"

#include <algorithm>

namespace sluice {

Expected<PartitionMachine> partitionMachine(const Machine &machine, int64_t devices) {
  std::vector<DeviceId> computing = machine.computeDevices();
  auto have = static_cast<int64_t>(computing.size());
  constexpr int64_t kMostShares = 64;
  if (devices < 1 || devices > (have == 1 ? kMostShares : have))
    return makeError(ErrorCode::InvalidInput, devices, " devices are out of range, machine '", machine.name, "' has ",
                     have, " computing device", have == 1 ? "" : "s", ", option '--devices', give 1 to ",
                     have == 1 ? kMostShares : have, have == 1 ? " shares of this device" : "");
  const Device &first = machine.device(computing[0]);
  PartitionMachine result;
  // Rates as rooflineTimeNs has them: only an emulated device is slowed.
  const double speed = first.kind == DeviceKind::Emulated ? first.speed : 1;
  result.flopsPerSec = first.flopsPerSec * speed;
  result.memoryBytesPerSec = first.memoryBytesPerSec * speed;
  result.efficiency = first.efficiency;
  result.launchOverheadNs = first.launchOverheadNs;
  result.capacityBytes = machine.memory(first.memory).capacityBytes;
  for (int64_t i = 1; i < std::min(have, devices); ++i) {
    const Device &other = machine.device(computing[i]);
    if (other.flopsPerSec != first.flopsPerSec || other.memoryBytesPerSec != first.memoryBytesPerSec ||
        other.speed != first.speed || other.efficiency != first.efficiency)
      return makeError(ErrorCode::Unsupported, "devices '", first.name, "' and '", other.name, "' of machine '",
                       machine.name, "' differ, choose a machine with equal devices");
    result.capacityBytes = std::min(result.capacityBytes, machine.memory(other.memory).capacityBytes);
  }
  // Of one device, shares: each has a part of it, and they meet in its memory.
  if (have == 1 && devices > 1) {
    auto shares = static_cast<double>(devices);
    result.flopsPerSec /= shares;
    result.memoryBytesPerSec /= shares;
    if (result.capacityBytes != std::numeric_limits<int64_t>::max())
      result.capacityBytes /= devices;
  }
  int64_t stride = devices;
  for (int64_t factor = 2, left = devices; left > 1; ++factor) {
    if (factor * factor > left)
      factor = left;
    for (; left % factor == 0; left /= factor) {
      stride /= factor;
      MeshAxis axis{concat("axis", result.mesh.axes.size()), factor};
      axis.bytesPerSec = have == 1 ? result.memoryBytesPerSec : std::numeric_limits<double>::infinity();
      axis.latencyNs = have == 1 ? result.launchOverheadNs : 0;
      for (int64_t a = 0; have > 1 && a < devices; ++a)
        for (int64_t b = a + stride; b < devices && b / (stride * factor) == a / (stride * factor); b += stride) {
          const Device &from = machine.device(computing[a]), &to = machine.device(computing[b]);
          if (from.memory == to.memory) {
            axis.bytesPerSec = std::min(axis.bytesPerSec, from.memoryBytesPerSec);
            axis.latencyNs = std::max(axis.latencyNs, from.launchOverheadNs);
            continue;
          }
          LinkId link = machine.findLink(from.memory, to.memory);
          if (!link.valid())
            return makeError(ErrorCode::Unsupported, "devices '", from.name, "' and '", to.name, "' of machine '",
                             machine.name, "' are not joined by a link, add a link between every two devices");
          // In a ring or a pairwise exchange every device sends and receives at once.
          axis.bytesPerSec =
              std::min({axis.bytesPerSec, machine.link(link).bytesPerSec, machine.link(link).duplexBytesPerSec / 2});
          axis.latencyNs = std::max(axis.latencyNs, machine.link(link).latencyNs);
        }
      result.mesh.axes.push_back(axis);
    }
  }
  if (result.mesh.axes.empty())
    result.mesh.axes.push_back({"axis0", 1});
  return result;
}

} // namespace sluice
