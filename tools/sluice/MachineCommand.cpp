//===- MachineCommand.cpp - sluice machine --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Card.h"
#include "Commands.h"
#include "LinkProbe.h"
#include "SharedOptions.h"
#include "sluice/Machine/FileTier.h"
#include "sluice/Machine/MachineJson.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::driver {
namespace {

struct MachineOptions {
  std::string machine, format = "text";
  bool detect = false;
};

/// 1.2e13 -> "12.0 TFLOP/s".
std::string formatRate(double perSec, const char *unit) {
  static constexpr const char *kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  for (; perSec >= 1000 && prefix + 1 < std::size(kPrefixes); ++prefix)
    perSec /= 1000;
  char text[64];
  std::snprintf(text, sizeof text, "%.1f %s%s", perSec, kPrefixes[prefix], unit);
  return text;
}

const char *kindName(DeviceKind kind) {
  switch (kind) {
  case DeviceKind::Cpu:
    return "cpu";
  case DeviceKind::Emulated:
    return "emulated";
  case DeviceKind::Cuda:
    return "cuda";
  }
  return "";
}

void printMachine(const Machine &machine) {
  printLine("machine", machine.name);
  std::cout << '\n';
  Table memories({"memory", "capacity"});
  for (const Memory &memory : machine.memories)
    memories.add(
        {memory.name, formatCapacity(memory.capacityBytes) + (memory.kind == MemoryKind::File ? ", a file" : "")});
  memories.print();
  std::cout << '\n';
  Table devices({"device", "kind", "memory", "computes", "peak", "memory rate", "launch", "threads", "speed"});
  for (const Device &device : machine.devices)
    devices.add({device.name, kindName(device.kind), machine.memory(device.memory).name, device.computes ? "yes" : "no",
                 formatRate(device.flopsPerSec, "FLOP/s"), formatRate(device.memoryBytesPerSec, "B/s"),
                 formatDuration(device.launchOverheadNs), concat(device.threads), concat(device.speed)});
  devices.print();
  if (machine.links.empty())
    return;
  std::cout << '\n';
  Table links({"link", "one way", "both ways", "latency", "events", "throttled"});
  auto nameOf = [&](const Link &link) {
    return concat(machine.memory(link.a).name, " - ", machine.memory(link.b).name);
  };
  for (const Link &link : machine.links)
    links.add(
        {nameOf(link) + (link.trunk.valid() ? concat(" by ", nameOf(machine.link(link.trunk))) : ""),
         formatRate(link.bytesPerSec, "B/s") +
             (link.reverseBytesPerSec > 0 ? concat(", ", formatRate(link.reverseBytesPerSec, "B/s"), " back") : ""),
         formatRate(link.duplexBytesPerSec, "B/s"), formatDuration(link.latencyNs), formatDuration(link.eventLatencyNs),
         link.throttle ? "yes" : "no"});
  links.print();
}

Status listPresets(const MachineOptions &options) {
  if (options.format == "json") {
    printJson(Json(machinePresetNames()));
    return {};
  }
  for (const std::string &name : machinePresetNames())
    std::cout << name << '\n';
  return {};
}

/// This computer, with its GPUs where there is a driver.
Expected<Machine> detect() {
  constexpr size_t kCopyBytes = size_t(256) << 20;
  constexpr int kRepeat = 5;
  Machine machine = detectHost();
  const int count = Card::count();
  for (int i = 0; i < count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Card> card, Card::open(i));
    const size_t bytes = std::min(kCopyBytes, card->memoryBytes / 4);
    SLUICE_ASSIGN_OR_RETURN(double rate, card->copyBytesPerSec(bytes, kRepeat));
    Device gpu;
    gpu.name = concat("gpu", i);
    gpu.kind = DeviceKind::Cuda;
    gpu.memory = MemoryId(machine.memories.size());
    gpu.flopsPerSec = card->flopsPerSec();
    gpu.memoryBytesPerSec = rate;
    // Contexts, code and the driver's buffers lie beside the arena.
    constexpr double kUsable = 0.9;
    machine.memories.push_back({gpu.name, static_cast<int64_t>(static_cast<double>(card->memoryBytes) * kUsable)});
    machine.links.push_back({Machine::hostMemory(), gpu.memory});
    machine.devices.push_back(std::move(gpu));
  }
  // With GPUs, the host's memory is what they swap to.
  if (count == 0) {
    SLUICE_ASSIGN_OR_RETURN(const DiskRates disk, measureDisk(temporaryFileDirectory()));
    attachDisk(machine, disk);
  }
  if (count > 0)
    machine.name = count > 1 ? concat("host and ", count, " GPUs") : "host and a GPU";
  for (size_t l = 0; l < machine.links.size(); ++l) {
    Link &link = machine.links[l];
    if (machine.isFile(link.a) || machine.isFile(link.b))
      continue;
    SLUICE_ASSIGN_OR_RETURN(LinkMeasurement measured, measureLink(machine, LinkId(l), kRepeat));
    setMeasured(link, measured);
  }
  return machine;
}

Status runMachine(const MachineOptions &options) {
  if (!options.detect && options.machine.empty())
    return listPresets(options);
  SLUICE_ASSIGN_OR_RETURN(Machine machine, options.detect ? detect() : loadMachine(options.machine));
  if (options.format == "json")
    printJson(machineToJson(machine));
  else
    printMachine(machine);
  return {};
}

} // namespace

void addMachineCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<MachineOptions>();
  CLI::App *command = driver::addCommand(app, "machine", "Show a machine, or list the presets");
  CLI::Option *name = addOption(*command, "MACHINE", options->machine, "a preset or a machine file");
  addFlag(*command, "--detect", options->detect, "measure this machine; with --format=json, a machine file")
      ->excludes(name);
  addFormatOption(*command, options->format);
  command->callback([options, &action] { action = [options] { return runMachine(*options); }; });
}

} // namespace sluice::driver
