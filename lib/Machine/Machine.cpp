//===- Machine.cpp --------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Machine/Machine.h"

#include "sluice/Support/Rates.h"
#include "sluice/Support/Text.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sluice {

/// Of a peak rate or a full speed.
static constexpr double kLeastFraction = 1e-6;
static constexpr const char *kRateRange = "must be from 1 to 1e21";

double efficiencyOf(const std::map<std::string, double> &efficiency, std::string_view kind) {
  for (;;) {
    if (auto found = efficiency.find(std::string(kind)); found != efficiency.end())
      return found->second;
    const size_t dot = kind.rfind('.');
    if (dot == kind.npos)
      return 1;
    kind = kind.substr(0, dot);
  }
}

static Status checkDevice(const Machine &machine, const Device &device) {
  auto bad = [&](const auto &...what) {
    return makeError(ErrorCode::InvalidInput, what..., ", device '", device.name, "' of machine '", machine.name,
                     "', correct the device");
  };
  if (device.memory.index() >= machine.memories.size())
    return bad("the device's memory does not exist");
  if (machine.isFile(device.memory))
    return bad("memory '", machine.memory(device.memory).name, "' is a file, in which nothing computes");
  if (device.memory != Machine::hostMemory() && !machine.findLink(Machine::hostMemory(), device.memory).valid())
    return bad("no link joins memory '", machine.memory(device.memory).name, "' with the memory of the host");
  if (!isRate(device.flopsPerSec) || !isRate(device.memoryBytesPerSec))
    return bad("the device's rates ", kRateRange, " operations or bytes per second");
  if (device.launchOverheadNs < 0 || device.launchOverheadNs > kMaxOverheadNs)
    return bad("launch overhead must be from 0 to 1h");
  for (const auto &[kind, fraction] : device.efficiency)
    if (!(fraction >= kLeastFraction && fraction <= 1 / kLeastFraction))
      return bad("efficiency of '", kind, "' must be from 1e-6 to 1e6");
  if (device.threads < 1)
    return bad("threads must be at least 1");
  if (!(device.speed >= kLeastFraction && device.speed <= 1))
    return bad("speed must be from 1e-6 to 1");
  return {};
}

static Status checkLink(const Machine &machine, const Link &link) {
  if (link.a.index() >= machine.memories.size() || link.b.index() >= machine.memories.size())
    return makeError(ErrorCode::InvalidInput, "a link names a memory that does not exist, machine '", machine.name,
                     "', correct the link");
  auto bad = [&](const auto &...what) {
    return makeError(ErrorCode::InvalidInput, what..., ", link '", machine.memory(link.a).name, "' - '",
                     machine.memory(link.b).name, "' of machine '", machine.name, "', correct the link");
  };
  if (link.a == link.b)
    return bad("the link joins a memory with itself");
  if (machine.isFile(link.a) && machine.isFile(link.b))
    return bad("the link joins two files");
  const double back = link.rateFrom(link.b);
  if (!isRate(link.bytesPerSec) || !isRate(back))
    return bad("the rate ", kRateRange, " bytes per second");
  if (back == link.bytesPerSec && !isDuplexRate(link.bytesPerSec, link.duplexBytesPerSec))
    return bad("duplex rate must be from ", link.bytesPerSec, " to ", 2 * link.bytesPerSec,
               " bytes/s (one to two times the rate of one direction)");
  if (!(link.duplexBytesPerSec >= std::max(link.bytesPerSec, back) &&
        link.duplexBytesPerSec <= link.bytesPerSec + back))
    return bad("duplex rate must be from ", std::max(link.bytesPerSec, back), " to ", link.bytesPerSec + back,
               " bytes/s (from the faster direction's rate to the sum of both rates)");
  if (link.latencyNs < 0 || link.latencyNs > kMaxOverheadNs)
    return bad("latency must be from 0 to 1h");
  if (link.eventLatencyNs < 0 || link.eventLatencyNs > kMaxOverheadNs)
    return bad("event latency must be from 0 to 1h");
  // Some solvers charge a copy for the events before and after it.
  if (link.latencyNs + 2 * link.eventLatencyNs > kMaxOverheadNs)
    return bad("latency and twice the event latency must together be at most 1h");
  return {};
}

static Status checkTrunk(const Machine &machine, const Link &link) {
  if (!link.trunk.valid())
    return {};
  auto bad = [&](const auto &...what) {
    return makeError(ErrorCode::InvalidInput, what..., ", link '", machine.memory(link.a).name, "' - '",
                     machine.memory(link.b).name, "' of machine '", machine.name, "', correct the link");
  };
  if (link.trunk.index() >= machine.links.size())
    return bad("the link's trunk does not exist");
  const Link &trunk = machine.link(link.trunk);
  if (&trunk == &link)
    return bad("the link names itself as its trunk (the link whose rates it shares)");
  if (trunk.trunk.valid())
    return bad("the link's trunk '", machine.memory(trunk.a).name, "' - '", machine.memory(trunk.b).name,
               "' has a trunk itself");
  if (link.a != trunk.a && link.a != trunk.b && link.b != trunk.a && link.b != trunk.b)
    return bad("the link and its trunk have no memory in common");
  return {};
}

/// Tensors get from a file to every accelerator's memory, over one link or by way of the host's memory.
static Status checkFiles(const Machine &machine) {
  auto bad = [&](const Memory &memory, const auto &...what) {
    return makeError(ErrorCode::InvalidInput, what..., ", memory '", memory.name, "' of machine '", machine.name,
                     "', correct the memory");
  };
  for (size_t i = 0; i < machine.memories.size(); ++i) {
    const Memory &memory = machine.memories[i];
    if (i > 0 && memory.kind != MemoryKind::File && machine.memories[i - 1].kind == MemoryKind::File)
      return bad(memory, "the memory is listed after a file, and files must be last");
    if (memory.kind != MemoryKind::File)
      continue;
    if (i == 0)
      return bad(memory, "the first memory is that of the host and cannot be a file");
    if (machine.findLink(Machine::hostMemory(), MemoryId(i)).valid())
      continue;
    bool isReached = false;
    for (DeviceId id : machine.computeDevices()) {
      const Device &device = machine.device(id);
      if (device.memory == Machine::hostMemory())
        continue;
      isReached = true;
      if (!machine.findLink(device.memory, MemoryId(i)).valid())
        return bad(memory, "no link joins the file with the host's memory or with the memory of device '", device.name,
                   "'");
    }
    if (!isReached)
      return bad(memory, "no link joins the file with the host's memory, in which all devices compute");
  }
  return {};
}

Status Machine::check() const {
  auto bad = [&](const char *remedy, const auto &...what) {
    return makeError(ErrorCode::InvalidInput, what..., ", machine '", name, "', ", remedy);
  };
  if (memories.empty())
    return bad("add the host's memory", "the machine has no memory");
  std::set<std::string_view> names;
  for (const Memory &memory : memories) {
    if (memory.name.empty() || !names.insert(memory.name).second)
      return bad("give each memory a name of its own", "memory name '", memory.name, "' is empty or used twice");
    if (memory.capacityBytes < 0)
      return bad("give a capacity of at least 0", "memory '", memory.name, "' has a negative capacity");
  }
  names.clear();
  for (const Device &device : devices) {
    if (device.name.empty() || !names.insert(device.name).second)
      return bad("give each device a name of its own", "device name '", device.name, "' is empty or used twice");
    SLUICE_RETURN_IF_ERROR(checkDevice(*this, device));
  }
  std::set<std::pair<MemoryId, MemoryId>> joined;
  for (const Link &link : links) {
    SLUICE_RETURN_IF_ERROR(checkLink(*this, link));
    if (!joined.insert(std::minmax(link.a, link.b)).second)
      return bad("remove one of these links", "two links join '", memory(link.a).name, "' and '", memory(link.b).name,
                 "'");
    SLUICE_RETURN_IF_ERROR(checkTrunk(*this, link));
  }
  if (computeDevices().empty())
    return bad("add a device with 'computes' true", "no device computes");
  return checkFiles(*this);
}

Status Machine::checkRunnable() const {
  std::vector<bool> hasDevice(memories.size(), false);
  for (const Device &device : devices) {
    hasDevice[device.memory.index()] = true;
    if (const bool isHost = device.memory == hostMemory(); isHost != (device.kind == DeviceKind::Cpu))
      return makeError(ErrorCode::InvalidInput,
                       isHost ? "a device that computes in the host's memory must have the kind cpu"
                              : "a device of kind cpu must compute in the host's memory",
                       ", device '", device.name, "' of machine '", name, "', give the device ",
                       isHost ? "a memory of its own" : "the kind emulated or cuda");
  }
  for (size_t i = 1; i < memories.size(); ++i)
    if (!hasDevice[i] && memories[i].kind != MemoryKind::File)
      return makeError(ErrorCode::InvalidInput, "no device computes in memory '", memories[i].name, "', machine '",
                       name, "', remove the memory or add a device for it");
  return {};
}

Status Machine::checkCompilable() const {
  for (const Device &device : devices)
    for (size_t m = 0; m < memories.size(); ++m)
      if (device.kind == DeviceKind::Cuda && isFile(MemoryId(m)) && findLink(device.memory, MemoryId(m)).valid())
        return makeError(
            ErrorCode::Unsupported, "programs cannot copy between a GPU's memory and a file, link '",
            memory(device.memory).name, "' - '", memories[m].name, "' of machine '", name,
            "', connect the file to the host's memory instead, or only plan the model, with 'sluice plan'");
  return {};
}

std::vector<DeviceId> Machine::computeDevices() const {
  std::vector<DeviceId> result;
  for (size_t i = 0; i < devices.size(); ++i)
    if (devices[i].computes)
      result.emplace_back(i);
  return result;
}

Expected<MemoryId> Machine::findMemory(std::string_view wanted) const {
  std::vector<std::string> known;
  for (size_t i = 0; i < memories.size(); ++i) {
    if (memories[i].name == wanted)
      return MemoryId(i);
    known.push_back(memories[i].name);
  }
  return makeError(ErrorCode::NotFound, "memory '", wanted, "' is not in machine '", name, "', use ",
                   alternatives(known));
}

LinkId Machine::findLink(MemoryId a, MemoryId b) const {
  for (size_t i = 0; i < links.size(); ++i)
    if ((links[i].a == a && links[i].b == b) || (links[i].a == b && links[i].b == a))
      return LinkId(i);
  return LinkId();
}

} // namespace sluice
