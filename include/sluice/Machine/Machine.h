//===- Machine.h - Devices, memories and links ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MACHINE_MACHINE_H
#define SLUICE_MACHINE_MACHINE_H

#include "sluice/Support/Error.h"
#include "sluice/Support/Ids.h"

#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

enum class DeviceKind : uint8_t { Cpu, Emulated, Cuda };

enum class MemoryKind : uint8_t {
  Ram,  ///< Of the host or a device.
  File, ///< Storage: holds parameters, states and evicted tensors; no operator reads or writes it.
};

/// Memory 0 is always the host's: inputs and outputs live there, and parameters and states unless they live in a file.
struct Memory {
  std::string name; ///< "host", "accel0", "gpu0"
  /// Bytes an arena may take; max() where no limit is known.
  int64_t capacityBytes = std::numeric_limits<int64_t>::max();
  MemoryKind kind = MemoryKind::Ram; ///< Files come after all other memories.
};

struct Device {
  std::string name; ///< "cpu", "accel0", "gpu0"
  DeviceKind kind = DeviceKind::Cpu;
  MemoryId memory; ///< The one its operators read and write.
  /// False for a device that only feeds others (the host beside accelerators).
  bool computes = true;
  double flopsPerSec = 1e11;       ///< Peak, f32.
  double memoryBytesPerSec = 2e10; ///< Peak stream rate of its memory.
  int64_t launchOverheadNs = 1000; ///< Added to every operator.
  /// Fraction of flopsPerSec that an operator kind reaches; absent: 1.
  std::map<std::string, double> efficiency;
  int threads = 1;
  /// Emulated devices: 0.5 sleeps as long as it works; 1 is full speed.
  double speed = 1.0;
};

/// A link between two memories. Both directions may move data at once, each at
/// most at its rate, together at most at duplexBytesPerSec.
struct Link {
  MemoryId a, b;
  double bytesPerSec = 1.2e10; ///< From a to b, and back unless reverseBytesPerSec is set.
  /// From the greater of the two directions' rates to their sum.
  double duplexBytesPerSec = 2.0e10;
  int64_t latencyNs = 10000;
  /// What another stream that had to wait for a copy, or that a copy had to wait for, costs
  /// beside: from the one's end to the other's start.
  int64_t eventLatencyNs = 0;
  /// Emulated links: really slow copies down to bytesPerSec.
  bool throttle = false;
  double reverseBytesPerSec = 0; ///< From b to a; 0: as from a to b.
  /// A link with one memory in common whose rates this link's copies use too, as those of an SSD
  /// behind the bus to which the host's memory is connected. Invalid: none.
  LinkId trunk = {};

  double rateFrom(MemoryId from) const {
    return from == a || reverseBytesPerSec == 0 ? bytesPerSec : reverseBytesPerSec;
  }
};

/// An hour: beyond any overhead or latency, and far from overflowing sums.
inline constexpr int64_t kMaxOverheadNs = 3'600'000'000'000;

struct Machine {
  std::string name;
  std::vector<Memory> memories;
  std::vector<Device> devices;
  std::vector<Link> links;

  const Memory &memory(MemoryId id) const { return memories[id.index()]; }
  const Device &device(DeviceId id) const { return devices[id.index()]; }
  const Link &link(LinkId id) const { return links[id.index()]; }
  bool isFile(MemoryId id) const { return memory(id).kind == MemoryKind::File; }
  /// Files come last, so one memory tells.
  bool hasFiles() const { return !memories.empty() && memories.back().kind == MemoryKind::File; }
  static constexpr MemoryId hostMemory() { return MemoryId(0u); }

  /// Names unique, ids in range, rates, fractions and latencies within the limits that planning,
  /// compiling and running have, every device's memory linked to the host (or the host's own), files
  /// last and linked to the host's memory or to those of all accelerators that compute.
  Status check() const;
  /// What running needs beyond planning: CPUs and nothing else compute in the host's memory, and
  /// every other memory but files is a device's. The machine is a checked one.
  Status checkRunnable() const;
  /// What compiling needs beyond that: no link between a GPU's memory and a file.
  Status checkCompilable() const;
  /// Devices that compute, ascending. Never empty in a checked machine.
  std::vector<DeviceId> computeDevices() const;
  Expected<MemoryId> findMemory(std::string_view name) const;
  /// The link between two memories; invalid id where there is none.
  LinkId findLink(MemoryId a, MemoryId b) const;
};

/// host, emulated, emulated:N, v100-16gb, a100-80gb, h200, h200xN, p2.8xlarge,
/// p2.16xlarge.
/// Fails listing the presets.
Expected<Machine> machinePreset(std::string_view name);
std::vector<std::string> machinePresetNames();
/// A preset's name, or the path of a machine's JSON file.
Expected<Machine> loadMachine(const std::string &nameOrPath);
/// Cores, vector width, memory, and measured copy bandwidth of this machine.
Machine detectHost();

} // namespace sluice

#endif // SLUICE_MACHINE_MACHINE_H
