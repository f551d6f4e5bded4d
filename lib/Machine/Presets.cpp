//===- Presets.cpp - Named machines ---------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Presets consist of constants, and in `host` and `emulated` also of the core count and memory size of this computer.
// They never depend on measurements, so plans for a preset are the same in every run. detectHost() measures.
//
//===----------------------------------------------------------------------===//

#include "sluice/Machine/HostInfo.h"
#include "sluice/Machine/Machine.h"
#include "sluice/Machine/MachineJson.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice {

static constexpr int64_t kGiB = int64_t(1) << 30;
static constexpr int64_t kMaxDevices = 64;

/// Sustained by one core on dense f32 code: 16 lanes of fused multiply-add at
/// 2 GHz, half of it reached.
static constexpr double kCoreFlopsPerSec = 3.2e10;
/// One core's copy rate out of cache, read plus write counted once, and what a
/// memory controller gives all cores together.
static constexpr double kCoreCopyBytesPerSec = 8e9;
static constexpr double kSocketBytesPerSec = 4e10;

static Device hostDevice(bool computes) {
  Device cpu;
  cpu.name = "cpu";
  cpu.kind = DeviceKind::Cpu;
  cpu.memory = Machine::hostMemory();
  cpu.computes = computes;
  cpu.threads = hostCores();
  cpu.flopsPerSec = kCoreFlopsPerSec * cpu.threads;
  cpu.memoryBytesPerSec = std::min(2 * kCoreCopyBytesPerSec * cpu.threads, kSocketBytesPerSec);
  cpu.launchOverheadNs = 2'000;
  return cpu;
}

static Machine hostMachine() {
  Machine machine;
  machine.name = "host";
  machine.memories.push_back({"host", hostMemoryBytes()});
  machine.devices.push_back(hostDevice(true));
  return machine;
}

/// `count` bounded arenas of host memory, each with its share of the cores. Its
/// links are memcpy: a copy each way at once costs most of a controller.
static Machine emulatedMachine(std::string name, int count) {
  Machine machine;
  machine.name = std::move(name);
  machine.memories.push_back({"host", hostMemoryBytes()});
  machine.devices.push_back(hostDevice(false));
  for (int i = 0; i < count; ++i) {
    MemoryId memory(machine.memories.size());
    machine.memories.push_back({concat("accel", i), 4 * kGiB});
    Device device = hostDevice(true);
    device.name = concat("accel", i);
    device.kind = DeviceKind::Emulated;
    device.memory = memory;
    device.threads = std::max(1, hostCores() / count);
    device.flopsPerSec = kCoreFlopsPerSec * device.threads;
    device.memoryBytesPerSec = std::min(2 * kCoreCopyBytesPerSec * device.threads, kSocketBytesPerSec);
    machine.devices.push_back(std::move(device));
    for (MemoryId other(0u); other < memory; ++other.value)
      machine.links.push_back({other, memory, kCoreCopyBytesPerSec, 1.5 * kCoreCopyBytesPerSec, 5'000, false});
  }
  return machine;
}

namespace {
struct GpuSpec {
  int64_t capacityBytes;
  double flopsPerSec;
  double memoryBytesPerSec;
  int64_t launchOverheadNs;
  Link host; ///< Memories are filled in.
  Link peer;
  std::map<std::string, double> efficiency = {};
};
} // namespace

static Machine gpuMachine(std::string name, int count, const GpuSpec &spec) {
  Machine machine;
  machine.name = std::move(name);
  machine.memories.push_back({"host"});
  Device cpu;
  cpu.name = "cpu";
  cpu.memory = Machine::hostMemory();
  cpu.computes = false;
  machine.devices.push_back(std::move(cpu));
  for (int i = 0; i < count; ++i) {
    MemoryId memory(machine.memories.size());
    machine.memories.push_back({concat("gpu", i), spec.capacityBytes});
    Device gpu;
    gpu.name = concat("gpu", i);
    gpu.kind = DeviceKind::Cuda;
    gpu.memory = memory;
    gpu.flopsPerSec = spec.flopsPerSec;
    gpu.memoryBytesPerSec = spec.memoryBytesPerSec;
    gpu.launchOverheadNs = spec.launchOverheadNs;
    gpu.efficiency = spec.efficiency;
    machine.devices.push_back(std::move(gpu));
    for (MemoryId other(0u); other < memory; ++other.value) {
      Link link = other == Machine::hostMemory() ? spec.host : spec.peer;
      link.a = other;
      link.b = memory;
      machine.links.push_back(link);
    }
  }
  return machine;
}

/// Matrix products and convolutions of a V100, by their direct algorithm's operations. docs/results/swap.md has the
/// measurements on which the rates rest.
static std::map<std::string, double> v100Efficiency(double peakFlopsPerSec) {
  constexpr double kProduct = 13.7e12, kWinograd = 2.25 * kProduct, kDepthwise = 0.92e12;
  std::map<std::string, double> rates = {{"matmul", kProduct}};
  for (const std::string kind : {"conv", "conv_transpose", "conv_weight_gradient"}) {
    rates[kind] = kProduct; // With pointwise ones: cuDNN computes them as matrix products.
    rates[kind + ".3x3"] = kWinograd;
    rates[kind + ".depthwise"] = kDepthwise;
  }
  for (auto &[kind, rate] : rates)
    rate /= peakFlopsPerSec;
  return rates;
}

/// The SwapAdvisor paper's GPU (Huang et al., ASPLOS 2020): 15.7 TFLOP/s and 900 GB/s by its data sheet. The
/// unconstrained row of the paper's Table 2, ResNet-152's inference, gives 25 us an operator and the rate of 3x3
/// convolutions. Link 12 GB/s one way, 20 GB/s both together; 14 GB of the 16 are usable.
static GpuSpec v100() {
  constexpr double kPeak = 15.7e12;
  Link host = {{}, {}, 1.2e10, 2.0e10, 10'000}, peer = {{}, {}, 2.5e10, 5.0e10, 10'000};
  return {14'000'000'000, kPeak, 9e11, 25'000, host, peer, v100Efficiency(kPeak)};
}

/// Data sheet: 19.5 TFLOP/s f32, 2 TB/s, PCIe 4 x16 less protocol overhead.
static GpuSpec a100() {
  return {78 * kGiB, 19.5e12, 2.0e12, 6'000, {{}, {}, 2.5e10, 4.5e10, 8'000}, {{}, {}, 3.0e11, 6.0e11, 5'000}};
}

/// Data sheet: 67 TFLOP/s f32, 4.8 TB/s, PCIe 5 x16, NVLink 4 between peers.
static GpuSpec h200() {
  return {138 * kGiB, 67e12, 4.8e12, 5'000, {{}, {}, 5.5e10, 1.0e11, 8'000}, {{}, {}, 4.5e11, 9.0e11, 5'000}};
}

/// The SoyBean paper's machine (Wang, Huang and Li, 2018, section 6.1): GPUs (half a
/// K80 each) of 12 GB on PCIe 3 x16, 20 GB/s both directions together, 10 each.
static GpuSpec k80() {
  return {12'000'000'000, 2.8e12, 2.4e11, 10'000, {{}, {}, 1.0e10, 2.0e10, 10'000}, {{}, {}, 1.0e10, 2.0e10, 10'000}};
}

std::vector<std::string> machinePresetNames() {
  return {"host", "emulated", "emulated:N", "v100-16gb", "a100-80gb", "h200", "h200xN", "p2.8xlarge", "p2.16xlarge"};
}

static Expected<int> deviceCount(std::string_view name, std::string_view digits) {
  Expected<int64_t> count = parseInteger(digits);
  if (!count || *count < 1 || *count > kMaxDevices)
    return makeError(ErrorCode::InvalidInput, "machine '", name.substr(0, 80),
                     "' has no valid number of devices, write ", name.substr(0, name.size() - digits.size()),
                     "N with N from 1 to ", kMaxDevices);
  return static_cast<int>(*count);
}

Expected<Machine> machinePreset(std::string_view name) {
  std::string text(name);
  if (name == "host")
    return hostMachine();
  if (name == "emulated")
    return emulatedMachine(text, 1);
  if (name == "v100-16gb")
    return gpuMachine(text, 1, v100());
  if (name == "a100-80gb")
    return gpuMachine(text, 1, a100());
  if (name == "h200")
    return gpuMachine(text, 1, h200());
  if (name == "p2.8xlarge")
    return gpuMachine(text, 8, k80());
  if (name == "p2.16xlarge")
    return gpuMachine(text, 16, k80());
  for (std::string_view prefix : {"emulated:", "h200x"}) {
    // "h200x.json" may be a file.
    if (!name.starts_with(prefix) || name.find_first_not_of("0123456789", prefix.size()) != name.npos)
      continue;
    SLUICE_ASSIGN_OR_RETURN(int count, deviceCount(name, name.substr(prefix.size())));
    return prefix == "h200x" ? gpuMachine(text, count, h200()) : emulatedMachine(text, count);
  }
  return makeError(ErrorCode::NotFound, "machine '", name.substr(0, 80), "' is not a preset, use ",
                   alternatives(machinePresetNames()));
}

Expected<Machine> loadMachine(const std::string &nameOrPath) {
  Expected<Machine> preset = machinePreset(nameOrPath);
  if (preset || preset.error().code != ErrorCode::NotFound)
    return preset;
  constexpr int64_t kMaxFileBytes = int64_t(16) << 20;
  Expected<Json> json = readJsonFile(nameOrPath, kMaxFileBytes);
  if (!json && json.error().code == ErrorCode::NotFound)
    return makeError(ErrorCode::NotFound, "machine '", nameOrPath,
                     "' is neither a preset nor a file, give a JSON file, or the preset ",
                     alternatives(machinePresetNames()));
  if (!json)
    return propagate(json);
  Expected<Machine> machine = machineFromJson(JsonReader(*json, nameOrPath + ":"));
  if (machine)
    SLUICE_RETURN_IF_ERROR(machine->checkRunnable());
  return machine;
}

} // namespace sluice
