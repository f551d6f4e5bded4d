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

/// One program's commands on one device, kept to run again and again as one. Goes
/// before its device.
class Recording {
public:
  virtual ~Recording() = default;
  /// `bytes` of host memory that commands may copy from and to, which lives as long
  /// as this.
  virtual Result<char *> allocateHost(int64_t bytes) = 0;
  /// Lets commands copy from and to that host memory, which outlives this.
  virtual Status pin(char *memory, int64_t bytes) = 0;
  /// The next launch or copy, in issue order, behind commands `waits` of other
  /// streams; nothing runs. A host address is one of the two above.
  virtual Status add(const Command &command, const uint32_t *waits, uint32_t numWaits) = 0;
  /// All are there.
  virtual Status finish() = 0;
  /// Runs them all, to completion.
  virtual Status run() = 0;
};

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
  /// The step has run: what it gave to others may still be under way.
  virtual Status endStep() { return {}; }
  struct Span {
    int64_t startNs, endNs; ///< As nowNs() counts.
  };
  /// When this thread's last launch or copy ran, in a traced step, by the device's
  /// own clock; none where that is the host's.
  virtual std::optional<Span> lastSpan() { return std::nullopt; }
  /// No command is under way, and one step has run. Fails saying why it cannot.
  virtual Result<std::unique_ptr<Recording>> record(uint32_t numStreams) {
    return failure("a device of the model cannot record steps");
  }
  /// How ranks exchange this device's memory; null where nothing was or needs be said.
  virtual const char *exchangesBy() const { return nullptr; }
  /// What did not go as fast as it might, and why: a line, or empty. Between steps.
  virtual std::string notes() const { return {}; }
  /// Gives kernels the byte that stops them once it is not 0. The byte outlives the device.
  virtual void stopBy(const volatile unsigned char *stop) {}
  /// Gives kernels the values of the model's symbols, which change between steps. The array outlives the device.
  virtual void useSymbols(const int64_t *symbols) {}
  /// Launches take so many times as long from now on; false where a device cannot.
  virtual bool slow(double factor) { return false; }
};

/// `threads`: the caller's wish for every device, or 0 for the device's own.
/// `ordinal`: how many devices of its kind come before it, `first`: how many other
/// ranks of this host take. Kernels reach other ranks through `ranks`, which outlives
/// the device.
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
  /// Runs the copy on `device`, from `sourceMemory`. Any thread.
  int32_t copy(Device &device, uint32_t sourceMemory, void *destination, const void *source, int64_t bytes);
  /// Moves `bytes` from `sourceMemory` by move(done, piece), piece by piece, as slowly as a throttled link does;
  /// returns what `move` returned, which is 0 unless it failed. Pieces, but the last, are multiples of 4096 bytes. Any
  /// thread.
  int32_t pace(uint32_t sourceMemory, int64_t bytes, const std::function<int32_t(int64_t, int64_t)> &move);

private:
  double currentBytesPerSec(int direction);

  sluice_link_desc desc;
  std::mutex mutex;
  int active[2] = {0, 0}; ///< Copies under way from memory_a, from memory_b.
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_DEVICE_H
