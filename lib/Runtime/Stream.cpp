//===- Stream.cpp - Commands in order, on a thread ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Stream.h"
#include "BackingFile.h"
#include "ExpertPool.h"
#include "ThreadPool.h"
#include "Wait.h"

#include <exception>

namespace sluice::runtime {

namespace {
/// Commands usually follow each other within microseconds.
constexpr int64_t kSpinNs = 10'000;
} // namespace

void StepState::clear() {
  std::lock_guard<std::mutex> lock(mutex);
  failed.store(false, std::memory_order_relaxed);
  failedCommand = UINT32_MAX;
  text.clear();
}

void StepState::fail(uint32_t command, std::string message) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!failed.load(std::memory_order_relaxed) || command < failedCommand) {
    failedCommand = command;
    text = std::move(message);
  }
  failed.store(true, std::memory_order_release);
}

std::string StepState::message() {
  std::lock_guard<std::mutex> lock(mutex);
  return text;
}

/// A copy from a file or to one.
static Status moveByFile(const Command &command, const StepState &state) {
  // Disks are slow: who stops a step does not wait for the rest of its copies.
  if (state.stop && *state.stop != 0)
    return failure("the step was stopped by the caller");
  Status status;
  auto move = [&](int64_t done, int64_t bytes) {
    const int64_t room = command.room - done, offset = command.fileOffset + done;
    status = command.destination
                 ? command.file->read(static_cast<char *>(command.destination) + done, room, offset, bytes)
                 : command.file->write(static_cast<const char *>(command.source) + done, room, offset, bytes);
    return status ? 0 : 1;
  };
  if (command.link->isThrottled())
    command.link->pace(command.sourceMemory, command.bytes, move);
  else
    move(0, command.bytes);
  return status;
}

/// Launches an expert's kernel with its weights, which are read before, if the step has chosen it.
static Result<int32_t> launchExpert(const Command &command, Device &device, const StepState &state) {
  const ExpertLaunch &launch = *command.expert;
  const auto *isChosen = static_cast<const unsigned char *>(command.args[launch.mask]);
  if (state.stop && *state.stop != 0)
    return failure("the step was stopped by the caller");
  // The others of the group that are chosen are read meanwhile.
  launch.pool->lookAhead(launch.expert, isChosen);
  if (!isChosen[launch.element])
    return device.launch(command.kernel, command.args);
  const Result<char *> base = launch.pool->take(launch.expert);
  if (!base)
    return tl::unexpected(base.error());
  for (uint32_t i = 0; i < launch.numWeights; ++i)
    command.args[launch.weights[i].argument] = *base + launch.weights[i].offset;
  struct Release {
    const ExpertLaunch &launch;
    ~Release() { launch.pool->release(launch.expert); }
  } release{launch};
  return device.launch(command.kernel, command.args);
}

static void tryCommand(Command &command, Device &device, StepState &state, const CommandNames &names) {
  if (state.failed.load(std::memory_order_acquire))
    return;
  if (state.trace)
    command.startNs = nowNs();
  if (command.kernel) {
    const Result<int32_t> launched =
        command.expert ? launchExpert(command, device, state) : device.launch(command.kernel, command.args);
    if (!launched) {
      state.fail(
          command.number,
          failure("weights of operator '", names.ops[command.op], "' cannot be read: ", launched.error()).value());
    } else if (const int32_t result = *launched) {
      std::string said = device.failureText();
      if (said.empty() && result == SLUICE_KERNEL_ENDLESS)
        said = "its loop exceeds the largest number of iterations, compile with a greater --max-iterations or --bound, "
               "or check the values of the model's inputs";
      if (said.empty() && result == SLUICE_KERNEL_UNBOUNDED)
        said =
            "its result has more elements than its bound, compile with a greater --bound, or check the values of the "
            "model's inputs";
      if (said.empty() && result == SLUICE_KERNEL_UNFIT)
        said = "it computed an invalid shape from the data (a repeated axis, a negative size, sizes whose sum differs "
               "from the extent of the operand, or a changed rank), check the values of the model's inputs";
      if (said.empty() && result == SLUICE_KERNEL_STOPPED)
        said = "its loop was stopped by the caller, run the step again";
      state.fail(command.number,
                 said.empty() ? failure("operator '", names.ops[command.op], "' failed with code ", result,
                                        ", in command ", command.number, ", check the values of the model's inputs")
                                    .value()
                              : failure("operator '", names.ops[command.op], "' failed: ", said).value());
    }
  } else if (command.file) {
    if (Status moved = moveByFile(command, state); !moved)
      state.fail(command.number,
                 failure("copy of tensor '", names.tensors[command.tensor], "' failed: ", moved.error()).value());
  } else {
    int32_t result = command.link ? command.link->copy(device, command.sourceMemory, command.destination,
                                                       command.source, command.bytes)
                                  : device.copy(command.destination, command.source, command.bytes);
    if (result) {
      const std::string said = device.failureText();
      state.fail(command.number, failure("copy of tensor '", names.tensors[command.tensor], "' failed with code ",
                                         result, ", in command ", command.number, said.empty() ? "" : ": ", said)
                                     .value());
    }
  }
  if (!state.trace)
    return;
  command.endNs = nowNs();
  // What throttles a link is the host: a device knows the pieces of such a copy alone.
  if (!command.link || !command.link->isThrottled())
    command.ran = device.lastSpan();
}

void runCommand(Command &command, Device &device, StepState &state, const CommandNames &names) {
  // A stream's thread has nobody above it who could catch this.
  try {
    tryCommand(command, device, state, names);
  } catch (const std::exception &error) {
    state.fail(command.number, failure(command.kernel ? "operator '" : "copy of tensor '",
                                       command.kernel ? names.ops[command.op] : names.tensors[command.tensor],
                                       "' failed: the system gave no more memory: ", error.what())
                                   .value());
  }
}

Stream::Stream(Device &device, StepState &state, CommandNames names)
    : device(device), state(state), names(names),
      worker(startThread([](void *stream) { static_cast<Stream *>(stream)->work(); }, this, "sluice-stream")) {}

Stream::~Stream() {
  push(nullptr); // Ends the worker.
  worker.join();
}

Event Stream::push(Command *command) {
  uint32_t count = pushed.load(std::memory_order_relaxed) + 1;
  await(count - kCapacity);
  queue[(count - 1) % kCapacity] = command;
  pushed.store(count, std::memory_order_release);
  pushed.notify_one();
  return {this, count};
}

void Stream::drain() { await(pushed.load(std::memory_order_relaxed)); }

void Stream::await(uint32_t count) {
  if (spin([&] { return reached(completed.load(std::memory_order_acquire), count); }, kSpinNs))
    return;
  // Sequentially consistent on both sides: either complete() sees what is sought,
  // or this sees that it is complete.
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    if (!isSought || reached(sought, count)) {
      sought = count;
      isSought = true;
    }
    if (reached(completed, count))
      return;
    reachedSought.wait(lock);
  }
}

void Stream::complete(uint32_t count) {
  completed = count;
  if (!isSought || !reached(count, sought))
    return;
  // Those who seek more say so again.
  std::lock_guard<std::mutex> lock(mutex);
  isSought = false;
  reachedSought.notify_all();
}

void Stream::work() {
  for (uint32_t count = 1;; ++count) {
    awaitCounter(pushed, count, kSpinNs);
    Command *command = queue[(count - 1) % kCapacity];
    if (!command)
      return;
    for (uint32_t i = 0; i < command->numWaits; ++i)
      command->waits[i].stream->await(command->waits[i].count);
    runCommand(*command, device, state, names);
    complete(count);
  }
}

} // namespace sluice::runtime
