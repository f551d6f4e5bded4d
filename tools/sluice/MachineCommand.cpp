//===- MachineCommand.cpp - sluice machine --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Options.h"
#include "sluice/Machine/MachineJson.h"
#include "sluice/Support/Units.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::driver {
namespace {

struct Options {
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
    memories.add({memory.name, formatCapacity(memory.capacityBytes)});
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
  for (const Link &link : machine.links)
    links.add({concat(machine.memory(link.a).name, " - ", machine.memory(link.b).name),
               formatRate(link.bytesPerSec, "B/s"), formatRate(link.duplexBytesPerSec, "B/s"),
               formatDuration(link.latencyNs), formatDuration(link.eventLatencyNs), link.throttle ? "yes" : "no"});
  links.print();
}

Status listPresets(const Options &options) {
  if (options.format == "json") {
    printJson(Json(machinePresetNames()));
    return {};
  }
  for (const std::string &name : machinePresetNames())
    std::cout << name << '\n';
  return {};
}

Status runMachine(const Options &options) {
  if (!options.detect && options.machine.empty())
    return listPresets(options);
  Expected<Machine> machine = options.detect ? Expected<Machine>(detectHost()) : loadMachine(options.machine);
  if (!machine)
    return propagate(machine);
  if (options.format == "json")
    printJson(machineToJson(*machine));
  else
    printMachine(*machine);
  return {};
}

} // namespace

void addMachineCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("machine", "Show a machine, or list the presets");
  CLI::Option *name = command->add_option("MACHINE", options->machine, "a preset or a machine file");
  command->add_flag("--detect", options->detect, "measure this machine; with --format=json, a machine file")
      ->excludes(name);
  addFormatOption(*command, options->format);
  command->callback([options, &action] { action = [options] { return runMachine(*options); }; });
}

} // namespace sluice::driver
