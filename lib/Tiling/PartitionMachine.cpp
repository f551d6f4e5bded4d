//===- PartitionMachine.cpp - Devices as a mesh ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/Groups.h"

#include "sluice/Support/Units.h"

#include <algorithm>

namespace sluice {

namespace {

/// The link between two memories.
struct RankLink {
  double bytesPerSec = std::numeric_limits<double>::infinity();
  int64_t latencyNs = 0;

  void limitTo(double rate, int64_t ns) {
    bytesPerSec = std::min(bytesPerSec, rate);
    latencyNs = std::max(latencyNs, ns);
  }
};

/// The ranks of a machine: its first computing devices, or equal shares of its only one.
class Ranks {
public:
  Ranks(const Machine &machine, int64_t count) : machine(machine), count(count), computing(machine.computeDevices()) {}

  bool areShares() const { return computing.size() == 1; }

  /// What each rank is, without a mesh.
  Expected<PartitionMachine> describe() const {
    const auto have = static_cast<int64_t>(computing.size());
    constexpr int64_t kMostShares = 64;
    if (count < 1 || count > (have == 1 ? kMostShares : have))
      return makeError(ErrorCode::InvalidInput, "cannot use ", count, " devices, because machine '", machine.name,
                       "' has ", have, " computing device", have == 1 ? "" : "s", ", option '--devices', give 1 to ",
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
    for (int64_t i = 1; i < std::min(have, count); ++i) {
      const Device &other = machine.device(computing[i]);
      if (other.flopsPerSec != first.flopsPerSec || other.memoryBytesPerSec != first.memoryBytesPerSec ||
          other.speed != first.speed || other.efficiency != first.efficiency)
        return makeError(ErrorCode::Unsupported, "devices '", first.name, "' and '", other.name, "' of machine '",
                         machine.name, "' differ, choose a machine with equal devices");
      result.capacityBytes = std::min(result.capacityBytes, machine.memory(other.memory).capacityBytes);
    }
    // Of one device, shares: each has a part of it, and they meet in its memory.
    if (have == 1 && count > 1) {
      auto shares = static_cast<double>(count);
      result.flopsPerSec /= shares;
      result.memoryBytesPerSec /= shares;
      if (result.capacityBytes != std::numeric_limits<int64_t>::max())
        result.capacityBytes /= count;
    }
    return result;
  }

  /// Slows a link down to the one between two ranks.
  Status join(int64_t a, int64_t b, const PartitionMachine &rank, RankLink &link) const {
    if (areShares()) {
      link.limitTo(rank.memoryBytesPerSec, rank.launchOverheadNs);
      return {};
    }
    const Device &from = machine.device(computing[a]), &to = machine.device(computing[b]);
    if (from.memory == to.memory) {
      link.limitTo(from.memoryBytesPerSec, from.launchOverheadNs);
      return {};
    }
    const LinkId id = machine.findLink(from.memory, to.memory);
    if (!id.valid())
      return makeError(ErrorCode::Unsupported, "devices '", from.name, "' and '", to.name, "' of machine '",
                       machine.name, "' are not joined by a link, add a link between every two devices");
    // In a ring or a pairwise exchange every device sends and receives at once.
    link.limitTo(std::min(machine.link(id).bytesPerSec, machine.link(id).duplexBytesPerSec / 2),
                 machine.link(id).latencyNs);
    return {};
  }

  /// The axes of groups of so many ranks, from the first rank on. Each has the slowest of its links in all groups.
  Status addAxes(int64_t groupRanks, PartitionMachine &rank) const {
    int64_t stride = groupRanks;
    for (int64_t factor = 2, left = groupRanks; left > 1; ++factor) {
      if (factor * factor > left)
        factor = left;
      for (; left % factor == 0; left /= factor) {
        const int64_t outer = stride;
        stride /= factor;
        RankLink link;
        for (int64_t a = 0; a < count; ++a)
          for (int64_t b = a + stride; b < count && b / outer == a / outer; b += stride)
            SLUICE_RETURN_IF_ERROR(join(a, b, rank, link));
        rank.mesh.axes.push_back({concat("axis", rank.mesh.axes.size()), factor, link.bytesPerSec, link.latencyNs});
      }
    }
    if (rank.mesh.axes.empty())
      rank.mesh.axes.push_back({"axis0", 1});
    return {};
  }

private:
  const Machine &machine;
  int64_t count;
  std::vector<DeviceId> computing;
};

} // namespace

Expected<PartitionMachine> partitionMachine(const Machine &machine, int64_t devices) {
  const Ranks ranks(machine, devices);
  SLUICE_ASSIGN_OR_RETURN(PartitionMachine result, ranks.describe());
  SLUICE_RETURN_IF_ERROR(ranks.addAxes(devices, result));
  return result;
}

Expected<GroupMachine> groupMachine(const Machine &machine, int64_t groups, int64_t groupRanks) {
  const Ranks ranks(machine, groups * groupRanks);
  GroupMachine result;
  SLUICE_ASSIGN_OR_RETURN(result.group, ranks.describe());
  SLUICE_RETURN_IF_ERROR(ranks.addAxes(groupRanks, result.group));
  for (int64_t from = 0; from < groups; ++from)
    for (int64_t to = 0; to < groups; ++to) {
      RankLink link;
      for (int64_t i = 0; i < groupRanks && from != to; ++i)
        // Groups that exchange nothing need no link.
        if (!ranks.join(from * groupRanks + i, to * groupRanks + i, result.group, link))
          link.bytesPerSec = 0;
      result.links.push_back({link.bytesPerSec, link.latencyNs});
    }
  return result;
}

} // namespace sluice
