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
  Ram,  ///< Memory of the host or of a device. The mapped parameter file counts as memory of the host.
  File, ///< Storage: holds parameters, states and evicted tensors. Only copies, and the runtime when it loads an expert
        ///< (Tensor::isPooled), access it; operators do not.
};

/// Memory 0 is always the host's. It holds inputs and outputs, and the parameters and states that are not in a file.
struct Memory {
  std::string name; ///< "host", "accel0", "gpu0"
  /// Limit of the bytes of the memory's arena, the block in which a plan stores tensors; max() if no limit is known. If
  /// the machine has files, the host's limit includes the homes of tensors in the host's memory (validatePlan).
  int64_t capacityBytes = std::numeric_limits<int64_t>::max();
  MemoryKind kind = MemoryKind::Ram; ///< Files come after all other memories.
};

struct Device {
  std::string name; ///< "cpu", "accel0", "gpu0"
  DeviceKind kind = DeviceKind::Cpu;
  MemoryId memory; ///< The memory that its operators read and write.
  /// False for a device that runs no operators, such as the host beside accelerators.
  bool computes = true;
  double flopsPerSec = 1e11;       ///< Peak, f32.
  double memoryBytesPerSec = 2e10; ///< Peak stream rate of its memory.
  int64_t launchOverheadNs = 1000; ///< Added to the time of every operator.
  /// Per kind of operator: the rate that operators of this kind reach, as a multiple of flopsPerSec. Read by
  /// efficiencyOf().
  std::map<std::string, double> efficiency;
  int threads = 1;
  /// For emulated devices: 1 is full speed; with 0.5, the device sleeps as long as it works.
  double speed = 1.0;
};

/// The entry of `kind`. If there is none, the entry of the text before the last dot of `kind` ("conv" for
/// "conv.pointwise"), and so on. 1 if none of these texts has an entry.
double efficiencyOf(const std::map<std::string, double> &efficiency, std::string_view kind);

/// A link between two memories. Both directions can move data at the same time, each at
/// most at its own rate, and both together at most at duplexBytesPerSec.
struct Link {
  MemoryId a, b;
  double bytesPerSec = 1.2e10; ///< The rate from a to b, and also from b to a unless reverseBytesPerSec is set.
  /// Rate of both directions together: at least the greater of the two directions' rates, and at most their sum.
  double duplexBytesPerSec = 2.0e10;
  int64_t latencyNs = 10000;
  /// Wake-up delay between streams: if a command waits for a command of another stream, and at least one of the two is
  /// a copy on this link, the time from the end of the awaited command to the start of the waiting command.
  int64_t eventLatencyNs = 0;
  /// For emulated links: slow copies down to bytesPerSec at run time.
  bool throttle = false;
  double reverseBytesPerSec = 0; ///< The rate from b to a; 0 if it is the rate from a to b.
  /// Another link, which has a memory in common with this link. Copies over this link also take a share of the other
  /// link's rates. For example, copies from an SSD also load the bus of the host's memory. Invalid if there is no such
  /// link.
  LinkId trunk = {};

  double rateFrom(MemoryId from) const {
    return from == a || reverseBytesPerSec == 0 ? bytesPerSec : reverseBytesPerSec;
  }
};

/// One hour: longer than any overhead or latency, and small enough that sums do not overflow.
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
  /// Files come last, so it suffices to look at the last memory.
  bool hasFiles() const { return !memories.empty() && memories.back().kind == MemoryKind::File; }
  static constexpr MemoryId hostMemory() { return MemoryId(0u); }

  /// Checks that names are unique and ids are in range, and that rates, fractions and latencies are within the limits
  /// of planning, compiling and running. Every device's memory must be the host's memory or be linked to it. Files must
  /// come last, and must be linked to the host's memory or to the memories of all accelerators that compute.
  Status check() const;
  /// Checks what running requires beyond planning. CPUs compute in the host's memory, and no other devices do. Every
  /// other memory except files belongs to a device. Requires a machine that passes check().
  Status checkRunnable() const;
  /// Checks a further requirement of compiling: no link joins a GPU's memory and a file.
  Status checkCompilable() const;
  /// The devices that compute, by ascending id. Never empty if the machine passes check().
  std::vector<DeviceId> computeDevices() const;
  Expected<MemoryId> findMemory(std::string_view name) const;
  /// The link between two memories; an invalid id if there is none.
  LinkId findLink(MemoryId a, MemoryId b) const;
};

/// The machine of a preset: host, emulated, emulated:N, v100-16gb, a100-80gb, h200, h200xN,
/// p2.8xlarge or p2.16xlarge. Fails on another name and lists the presets.
Expected<Machine> machinePreset(std::string_view name);
std::vector<std::string> machinePresetNames();
/// The machine of a preset or of a machine file. `nameOrPath` is the preset's name or the file's path.
Expected<Machine> loadMachine(const std::string &nameOrPath);
/// Describes this computer: cores, memory, and measured rates of arithmetic and of copies.
Machine detectHost();

} // namespace sluice

#endif // SLUICE_MACHINE_MACHINE_H
