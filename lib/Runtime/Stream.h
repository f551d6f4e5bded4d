//===- Stream.h - Commands in order, on a thread ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One thread issues, one works. A stream counts the commands it was given and
// the commands it completed; since it works in order, the event "command c is
// complete" is "that count has reached c's place". Counts wrap.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_STREAM_H
#define SLUICE_RUNTIME_STREAM_H

#include "Device.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace sluice::runtime {

class BackingFile;
class ExpertPool;
class Stream;

/// `stream` has completed as many commands as `count`.
struct Event {
  Stream *stream;
  uint32_t count;
};

/// What the launch of an expert needs: the weights' addresses are known when they are read.
struct ExpertLaunch {
  ExpertPool *pool;
  uint32_t expert, mask; ///< `mask`: an argument.
  uint32_t element;
  /// Arguments in the expert's range of the parameter file, and their offsets there.
  uint32_t numWeights;
  struct Weight {
    uint32_t argument;
    int64_t offset;
  } * weights;
};

/// What to do, with addresses resolved. Lives until the step's end.
struct Command {
  uint32_t number, stream, op, tensor; ///< op or tensor: UINT32_MAX where it is the other.
  const Event *waits;
  uint32_t numWaits;
  // A launch where there is a kernel, else a copy.
  sluice_kernel_fn kernel;
  void **args;
  const ExpertLaunch *expert; ///< Null of other launches.
  void *destination;
  const void *source;
  int64_t bytes;
  Link *link; ///< Null within one memory.
  uint32_t sourceMemory;
  // Of a copy with a file at one end, whose address above is null.
  BackingFile *file;
  int64_t fileOffset, room; ///< What the slot has at the other end, at least `bytes`.
  // Where the step is traced.
  int64_t startNs, endNs;
  std::optional<Device::Span> ran; ///< By the device's own clock.
};

/// What all commands of one step share.
struct StepState {
  bool trace = false; ///< Set before the first command.
  /// A byte that is not 0 once the step has to stop; null: nothing stops it. Set before the first command.
  const volatile unsigned char *stop = nullptr;
  std::atomic<bool> failed{false};

  void clear();
  /// Keeps the message of the earliest command that failed.
  void fail(uint32_t command, std::string message);
  std::string message();

private:
  std::mutex mutex;
  uint32_t failedCommand = UINT32_MAX;
  std::string text;
};

/// Names the operator or tensor of a failed command.
struct CommandNames {
  const char *const *ops;
  const char *const *tensors;
};

/// Runs one command, unless the step has failed. Any thread.
void runCommand(Command &command, Device &device, StepState &state, const CommandNames &names);

class Stream {
public:
  /// Throws std::system_error where the system has no more threads.
  Stream(Device &device, StepState &state, CommandNames names);
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  /// Issuing thread. Blocks while the queue is full: the commands before this
  /// one wait for issued commands only, so it drains. Returns its event.
  Event push(Command *command);
  /// Issuing thread: returns when all that was pushed is complete.
  void drain();
  void await(uint32_t count);

private:
  void work();
  void complete(uint32_t count);

  static constexpr uint32_t kCapacity = 1024;
  Device &device;
  StepState &state;
  CommandNames names;
  std::array<Command *, kCapacity> queue{};
  alignas(64) std::atomic<uint32_t> pushed{0};
  alignas(64) std::atomic<uint32_t> completed{0};
  // The least count that somebody sleeps for: waking a sleeper takes longer than
  // many kernels, and whoever drains a stream would be woken by each command.
  std::atomic<bool> isSought{false};
  std::atomic<uint32_t> sought{0};
  std::mutex mutex;
  std::condition_variable reachedSought;
  std::thread worker;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_STREAM_H
