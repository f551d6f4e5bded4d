//===- Device.h - What runs a stream's commands -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A device has one memory and runs launches and copies, each to completion, on
// the thread of the stream that holds them. Order, events and failures are the
// streams' business (Stream.h). Another kind of device is another subclass.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_H
#define SLUICE_RUNTIME_DEVICE_H

#include "Arena.h"
#include "Result.h"
#include "sluice/Runtime/abi.h"

#include <memory>
#include <mutex>
#include <optional>

namespace sluice::runtime {

class Ranks;

class Device {
public:
  virtual ~Device() = default;
  /// Prepares a grid that kernels may launch here: fails where this device cannot
  /// run it. What is not loaded is when it is first launched.
  virtual Status load(const sluice_grid &) { return {}; }
  /// An arena in this device's memory.
  virtual Result<std::unique_ptr<Arena>> allocate(int64_t bytes, const char *memoryName) = 0;
  /// Runs a kernel whose arguments are in this device's memory; returns what it
  /// returned.
  virtual int32_t launch(sluice_kernel_fn kernel, void **args) = 0;
  /// Copies between this device's memory and the host's, or within it. Returns
  /// 0, or a failure's number.
  virtual int32_t copy(void *destination, const void *source, int64_t bytes) = 0;
  /// What this thread's last launch or copy said that failed; empty: its number only.
  virtual std::string failureText() const { return {}; }
  /// No command is under way: what kernels made for the last step alone goes.
  /// `isTraced`: lastSpan() will be asked for.
  virtual void beginStep(bool isTraced) = 0;
  struct Span {
    int64_t startNs, endNs; ///< As nowNs() counts.
  };
  /// When this thread's last launch or copy ran, in a traced step, by the device's
  /// own clock; none where that is the host's.
  virtual std::optional<Span> lastSpan() { return std::nullopt; }
  /// Launches take so many times as long from now on; false where a device cannot.
  virtual bool slow(double factor) { return false; }
};

/// `threads`: the caller's wish for every device, or 0 for the device's own.
/// `ordinal`: how many devices of its kind come before it. Kernels reach other
/// ranks through `ranks`, which outlives the device.
Result<std::unique_ptr<Device>> createDevice(const sluice_device_desc &desc, uint32_t threads, int ordinal,
                                             Ranks &ranks);

/// The path between two memories. A throttled link makes copies take as long as
/// its numbers say: the latency, then the bytes at a rate shared fairly with the
/// copies under way, as the simulator shares it.
class Link {
public:
  explicit Link(const sluice_link_desc &desc) : desc(desc) {}
  bool joins(uint32_t a, uint32_t b) const {
    return (desc.memory_a == a && desc.memory_b == b) || (desc.memory_a == b && desc.memory_b == a);
  }
  /// Runs the copy on `device`, from `sourceMemory`. Any thread.
  int32_t copy(Device &device, uint32_t sourceMemory, void *destination, const void *source, int64_t bytes);

private:
  double currentBytesPerSec(int direction);

  sluice_link_desc desc;
  std::mutex mutex;
  int active[2] = {0, 0}; ///< Copies under way from memory_a, from memory_b.
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_DEVICE_H
