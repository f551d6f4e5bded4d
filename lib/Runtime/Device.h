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

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace sluice::runtime {

class Ranks;
struct Command;

/// The commands of one program on one device, recorded to run again and again as a unit. Must be destroyed before its
/// device.
class Recording {
public:
  virtual ~Recording() = default;
  /// Allocates `bytes` bytes of host memory that commands may copy from and to. It lives as long as this object.
  virtual Result<char *> allocateHost(int64_t bytes) = 0;
  /// Allows commands to copy from and to host memory of the caller, which must outlive this object.
  virtual Status pin(char *memory, int64_t bytes) = 0;
  /// Records the next launch or copy, in issue order, without running it. It runs after the commands `waits` of other
  /// streams. Its host addresses must be of allocateHost() or pin().
  virtual Status add(const Command &command, const uint32_t *waits, uint32_t numWaits) = 0;
  /// Completes the recording after its last command.
  virtual Status finish() = 0;
  /// Runs all commands, and returns when they are complete.
  virtual Status run() = 0;
};

class Device {
public:
  virtual ~Device() = default;
  /// Prepares a grid that kernels may launch here. Fails if this device cannot run it. A grid that was not loaded is
  /// loaded at its first launch.
  virtual Status load(const sluice_grid &) { return {}; }
  /// Allocates an arena in this device's memory.
  virtual Result<std::unique_ptr<Arena>> allocate(int64_t bytes, const char *memoryName) = 0;
  /// Runs a kernel whose arguments are in this device's memory, and returns its status, which is 0 if it succeeded.
  virtual int32_t launch(sluice_kernel_fn kernel, void **args) = 0;
  /// Copies between this device's memory and the host's, or within it. Returns 0, or the number of an error.
  virtual int32_t copy(void *destination, const void *source, int64_t bytes) = 0;
  /// The message of this thread's last launch or copy that failed; empty if only its number is known.
  virtual std::string failureText() const { return {}; }
  /// Call it while no command is under way: data that kernels made for the last step only is freed. `isTraced`:
  /// lastSpan() will be called.
  virtual void beginStep(bool isTraced) = 0;
  /// Call it after a step's last command. Returns once the bytes that the step sent to other ranks have arrived.
  virtual Status endStep() { return {}; }
  struct Span {
    int64_t startNs, endNs; ///< Nanoseconds of nowNs().
  };
  /// In a traced step: when this thread's last launch or copy ran, by the device's own clock. Nothing if the device has
  /// no clock but the host's.
  virtual std::optional<Span> lastSpan() { return std::nullopt; }
  /// Begins a recording. Call it while no command is under way, after at least one step. The failure says why the
  /// device cannot record.
  virtual Result<std::unique_ptr<Recording>> record(uint32_t numStreams) {
    return failure("a device of the model cannot record steps");
  }
  /// A line about how ranks exchange data in this device's memory; null if there was no exchange or nothing to report.
  virtual const char *exchangesBy() const { return nullptr; }
  /// Lines that say what ran slower than possible, and why; empty if nothing did. Call it between steps.
  virtual std::string notes() const { return {}; }
  /// Gives kernels the byte that stops them once it is not 0. The byte outlives the device.
  virtual void stopBy(const volatile unsigned char *stop) {}
  /// Gives kernels the values of the model's symbols, which change between steps. The array outlives the device.
  virtual void useSymbols(const int64_t *symbols) {}
  /// Makes launches take `factor` times as long from now on. Returns false if the device cannot.
  virtual bool slow(double factor) { return false; }
};

/// `threads`: the number of threads that the caller wants for each device, or 0 for the device's default. `ordinal`:
/// how many devices of this kind come before it. `first`: how many of the host's devices other ranks use. Kernels reach
/// other ranks through `ranks`, which outlives the device.
Result<std::unique_ptr<Device>> createDevice(const sluice_device_desc &desc, uint32_t threads, int ordinal, int first,
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
  bool isThrottled() const { return desc.throttle != 0; }
  /// Runs the copy on `device`, from `sourceMemory`. Any thread may call it.
  int32_t copy(Device &device, uint32_t sourceMemory, void *destination, const void *source, int64_t bytes);
  /// Moves `bytes` from `sourceMemory` by move(done, piece), piece by piece, as slowly as a throttled link does;
  /// returns what `move` returned, which is 0 unless it failed. All pieces but the last are multiples of 4096 bytes.
  /// Any thread may call it.
  int32_t pace(uint32_t sourceMemory, int64_t bytes, const std::function<int32_t(int64_t, int64_t)> &move);

private:
  double currentBytesPerSec(int direction);

  sluice_link_desc desc;
  std::mutex mutex;
  int active[2] = {0, 0}; ///< Copies under way: from memory_a, and from memory_b.
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_DEVICE_H
