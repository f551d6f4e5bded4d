//===- LinkProbe.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A program for the runtime that does nothing but copy, with the tables that a
// compiled model would have.
//
//===----------------------------------------------------------------------===//

#include "LinkProbe.h"

#include "RunSession.h"
#include "sluice/Runtime/sluice.h"

#include <algorithm>
#include <functional>
#include <memory>

namespace sluice::driver {
namespace {

constexpr int kSizes = 5;
constexpr int64_t kLargest[] = {int64_t(16) << 20, int64_t(1) << 20, int64_t(1) << 16};
/// Of the program's tables: streams a device has.
constexpr uint32_t kStreams = 3;

/// What a copy is, by its number in the program: sizes from the largest down, in
/// then out; then the largest both ways.
constexpr uint32_t kBothWays = 2 * kSizes, kCommands = kBothWays + 2;
constexpr int64_t sizeOf(uint32_t command, int64_t largest) {
  return command < kBothWays ? largest >> (2 * (command / 2)) : largest;
}

/// The ends of the link that is measured: a program has no other argument.
thread_local struct { uint32_t near, far, device, link; } ends;

template <int64_t largest>
int32_t copyProgram(const sluice_api *api, sluice_context *context) {
  for (uint32_t command = 0; command < kCommands; ++command) {
    const bool in = command % 2 == 0;
    const int64_t bytes = sizeOf(command, largest);
    const sluice_slot near{ends.near, SLUICE_SEGMENT_ARENA, 0, 0, in ? 0 : largest, bytes};
    const sluice_slot far{ends.far, SLUICE_SEGMENT_ARENA, 0, 0, in ? 0 : largest, bytes};
    // Each waits for the one before, which is of the other stream; but for the last.
    const uint32_t before = command - 1;
    const uint32_t waits = command > 0 && command + 1 < kCommands ? 1 : 0;
    if (int32_t failed = api->copy(context, command, ends.device * kStreams + (in ? 1 : 2), ends.link,
                                   in ? &far : &near, in ? &near : &far, bytes, 0, &before, waits))
      return failed;
  }
  return 0;
}

/// The tables of a program that copies over one link.
struct Probe {
  sluice_model model{};
  std::vector<sluice_memory_desc> memories;
  std::vector<sluice_device_desc> devices;
  std::vector<sluice_link_desc> links;
  std::vector<sluice_stream_desc> streams;
};

int64_t median(std::vector<int64_t> &times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

uint32_t kindOf(const Device &device) {
  switch (device.kind) {
  case DeviceKind::Cpu:
    return SLUICE_DEVICE_CPU;
  case DeviceKind::Emulated:
    return SLUICE_DEVICE_EMULATED;
  case DeviceKind::Cuda:
    return SLUICE_DEVICE_CUDA;
  }
  return SLUICE_DEVICE_CPU;
}

void fillTables(Probe &probe, const Machine &machine, const Link &link, int64_t largest) {
  for (size_t m = 0; m < machine.memories.size(); ++m) {
    const bool used = MemoryId(m) == link.a || MemoryId(m) == link.b;
    probe.memories.push_back({sizeof(sluice_memory_desc), machine.memories[m].name.c_str(), used ? 2 * largest : 0,
                              machine.memories[m].capacityBytes});
  }
  for (size_t d = 0; d < machine.devices.size(); ++d) {
    const Device &device = machine.devices[d];
    probe.devices.push_back({sizeof(sluice_device_desc), device.name.c_str(), kindOf(device),
                             static_cast<uint32_t>(device.memory.index()), static_cast<uint32_t>(device.threads),
                             device.speed});
    for (uint32_t kind = 0; kind < kStreams; ++kind)
      probe.streams.push_back({sizeof(sluice_stream_desc), static_cast<uint32_t>(d), kind});
  }
  for (const Link &each : machine.links)
    probe.links.push_back({sizeof(sluice_link_desc), static_cast<uint32_t>(each.a.index()),
                           static_cast<uint32_t>(each.b.index()), each.bytesPerSec, each.duplexBytesPerSec,
                           each.latencyNs, each.throttle});
  static const char *const kNames[] = {"copy"};
  sluice_model &model = probe.model;
  model.size = sizeof model;
  model.abi_major = SLUICE_ABI_MAJOR;
  model.abi_minor = SLUICE_ABI_MINOR;
  model.name = model.compiler = "link probe";
  model.cpu_features = model.parameter_hash = "";
  model.state_initial = -1;
  model.num_ops = model.num_tensors = 1;
  model.op_names = model.tensor_names = kNames;
  model.num_commands = kCommands;
  model.num_memories = static_cast<uint32_t>(probe.memories.size());
  model.memories = probe.memories.data();
  model.num_devices = static_cast<uint32_t>(probe.devices.size());
  model.devices = probe.devices.data();
  model.num_links = static_cast<uint32_t>(probe.links.size());
  model.links = probe.links.data();
  model.num_streams = static_cast<uint32_t>(probe.streams.size());
  model.streams = probe.streams.data();
}

} // namespace

Expected<LinkMeasurement> measureLink(const Machine &machine, LinkId id, int64_t repeat) {
  const Link &link = machine.link(id);
  // A throttled copy of the largest size takes a fifth of a second at most.
  auto suits = [&](int64_t bytes) {
    return 2 * bytes <= std::min(machine.memory(link.a).capacityBytes, machine.memory(link.b).capacityBytes) &&
           (!link.throttle || static_cast<double>(bytes) <= 0.2 * link.bytesPerSec);
  };
  const auto largest = std::find_if(std::begin(kLargest), std::end(kLargest), suits);
  if (largest == std::end(kLargest))
    return makeError(ErrorCode::Unsupported, "link '", machine.memory(link.a).name, "' - '",
                     machine.memory(link.b).name, "' cannot be measured, machine '", machine.name,
                     "', give both memories at least 128 KiB and the link a rate of at least 320 KiB/s");
  Probe probe;
  fillTables(probe, machine, link, *largest);
  constexpr decltype(sluice_model::step) kPrograms[] = {copyProgram<kLargest[0]>, copyProgram<kLargest[1]>,
                                                        copyProgram<kLargest[2]>};
  probe.model.step = kPrograms[largest - std::begin(kLargest)];
  // Into the accelerator's memory; between two, into the link's second.
  const MemoryId far = link.b == Machine::hostMemory() ? link.a : link.b;
  const auto device = std::find_if(machine.devices.begin(), machine.devices.end(),
                                   [&](const Device &each) { return each.memory == far; });
  if (device == machine.devices.end())
    return makeError(ErrorCode::Unsupported, "no device has memory '", machine.memory(far).name,
                     "', so no copies into this memory can be measured, machine '", machine.name,
                     "', add a device with this memory to the machine file");
  ends = {static_cast<uint32_t>((far == link.a ? link.b : link.a).index()), static_cast<uint32_t>(far.index()),
          static_cast<uint32_t>(device - machine.devices.begin()), static_cast<uint32_t>(id.index())};

  sluice_options options{sizeof(sluice_options), 1, /*trace=*/1, 0, nullptr, nullptr};
  std::unique_ptr<sluice_session, decltype(&sluice_close)> session(
      sluice_open_model(&probe.model, nullptr, 0, &options), sluice_close);
  if (!session)
    return makeError(ErrorCode::InvalidInput, sluice_last_error());
  std::vector<CopySample> alone;
  std::vector<int64_t> bothNs, handOverNs;
  for (int64_t step = 0; step <= repeat; ++step) {
    if (sluice_run(session.get(), nullptr, nullptr) != 0)
      return makeError(ErrorCode::Io, sluice_last_error());
    const std::vector<CommandTime> times = commandTimesOf(session.get());
    if (times.size() != kCommands)
      return makeError(ErrorCode::Internal, "the runtime ran ", times.size(), " copies of ", kCommands,
                       ", this is a bug of Sluice, please report it");
    if (step == 0) // Touches the pages.
      continue;
    // Of one clock, so that copies and what is between add up to the step.
    const bool hasDeviceClock = std::all_of(times.begin(), times.end(), std::mem_fn(&CommandTime::hasDeviceClock));
    auto startNs = [&](uint32_t i) { return hasDeviceClock ? times[i].device.start_ns : times[i].start_ns; };
    auto endNs = [&](uint32_t i) { return hasDeviceClock ? times[i].device.end_ns : times[i].end_ns; };
    for (uint32_t i = 0; i < kBothWays; ++i)
      alone.push_back({sizeOf(i, *largest), std::max<int64_t>(endNs(i) - startNs(i), 1)});
    // From a copy in to the one out behind it: before one in, the host fills a buffer of the driver's.
    for (uint32_t i = 1; i < kBothWays; i += 2)
      handOverNs.push_back(std::max<int64_t>(startNs(i) - endNs(i - 1), 0));
    bothNs.push_back(std::max(endNs(kBothWays), endNs(kBothWays + 1)) -
                     std::min(startNs(kBothWays), startNs(kBothWays + 1)));
  }
  LinkMeasurement measured = fitLink(alone);
  const int64_t moving = std::max<int64_t>(median(bothNs) - measured.latencyNs, 1);
  measured.eventLatencyNs = median(handOverNs);
  measured.duplexBytesPerSec = 2e9 * static_cast<double>(*largest) / static_cast<double>(moving);
  return measured;
}

} // namespace sluice::driver
