//===- Stream.h - Commands in order, on a thread ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One thread issues commands to a stream, and the stream's own thread runs them. A stream counts the commands it was
// given and those it completed. It runs them in order, so a command is complete once the count of completed commands
// reaches the command's place. The counts wrap.
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

/// The event has occurred once `stream` has completed `count` commands.
struct Event {
  Stream *stream;
  uint32_t count;
};

/// What the launch of an expert needs, because the addresses of its weights are known only after they are read.
struct ExpertLaunch {
  ExpertPool *pool;
  uint32_t expert, mask; ///< `mask`: the number of the kernel's argument that holds the mask.
  uint32_t element;
  /// The kernel's arguments that are weights, and their offsets in the expert's range of the parameter file.
  uint32_t numWeights;
  struct Weight {
    uint32_t argument;
    int64_t offset;
  } * weights;
};

/// A launch or a copy, with addresses resolved. It lives until the step ends.
struct Command {
  /// A launch has an operator and a copy a tensor; the other of the last two numbers is UINT32_MAX.
  uint32_t number, stream, op, tensor;
  const Event *waits;
  uint32_t numWaits;
  // Null in a copy.
  sluice_kernel_fn kernel;
  void **args;
  const ExpertLaunch *expert; ///< Null unless the launch is of an expert.
  void *destination;
  const void *source;
  int64_t bytes;
  Link *link; ///< Null within one memory.
  uint32_t sourceMemory;
  // The file at one end of a copy, whose address above is then null; else null.
  BackingFile *file;
  int64_t fileOffset, room; ///< `room`: the bytes of the slot in memory, at least `bytes`.
  // Set if the step is traced.
  int64_t startNs, endNs;
  std::optional<Device::Span> ran; ///< The time by the device's own clock.
};

/// The state that all commands of one step share.
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

/// Runs one command, unless the step has failed. Any thread may call it.
void runCommand(Command &command, Device &device, StepState &state, const CommandNames &names);

class Stream {
public:
  /// Throws std::system_error if the system has no more threads.
  Stream(Device &device, StepState &state, CommandNames names);
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  /// Issues a command and returns its event. Only the issuing thread calls it. Blocks while the queue is full; the
  /// queue drains, because commands wait only for commands issued before.
  Event push(Command *command);
  /// Returns when all pushed commands are complete. Only the issuing thread calls it.
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
  // The least count that a thread sleeps for. Without it, each command would wake the thread that drains the stream,
  // which takes longer than many kernels.
  std::atomic<bool> isSought{false};
  std::atomic<uint32_t> sought{0};
  std::mutex mutex;
  std::condition_variable reachedSought;
  std::thread worker;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_STREAM_H
