//===- RunSession.h - An opened model and its steps -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_RUNSESSION_H
#define SLUICE_TOOLS_SLUICE_RUNSESSION_H

#include "RankGroup.h"
#include "StagesFile.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Temporaries.h"
#include "sluice/TensorIO/HostTensor.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::driver {

/// A command's times by the host's clock, and by its device's own.
struct CommandTime : sluice_command_time {
  sluice_device_time device;
  bool hasDeviceClock() const { return device.end_ns >= 0; }
};
/// The last step's commands, in issue order.
std::vector<CommandTime> commandTimesOf(const sluice_session *session);
/// How long a command ran: by its device's own clock, if it has one, else by the host's.
int64_t tookNs(const CommandTime &time);

/// The extents of each of a model's inputs.
using InputShapes = std::vector<std::vector<int64_t>>;

/// The number of ranks that an artifact is for; 1 if the artifact does not state it.
uint32_t ranksOf(const std::string &directory);

/// Wraps the C API and returns the compiler's errors. For a model of several ranks, it has the sessions of all ranks in
/// this process; members that describe one session describe the first. The ranks of a compiled pipeline run different
/// models with the same inputs and outputs, and each has its own states.
class RunSession {
public:
  static Expected<RunSession> open(const std::string &directory, int threads, bool trace,
                                   const std::string &spill = {});
  /// Opens a model of one rank, also in a process that mpirun started with others.
  static Expected<RunSession> openAlone(const std::string &directory, int threads, const std::string &spill = {});

  const sluice_model &model() const { return *sluice_describe(sessions.front().get()); }
  /// Whether this process is the one that reads and writes for all.
  bool isFirst() const { return ranks.isFirst(); }
  /// Sets the shapes of the inputs from the next step on. Fails like sluice_set_shapes.
  Status setShapes(const InputShapes &shapes);
  InputShapes inputShapes() const;
  /// Sets states that grow to the greatest length with which a step may begin.
  Status fillStates();
  /// A zeroed tensor for each of the model's outputs, of its current shape.
  Expected<std::vector<HostTensor>> makeOutputs() const;
  /// Runs one step of all ranks in this process, which get the same inputs and compute the same outputs. Also fails if
  /// the bytes that it copied or sent differ from the planned ones; a model with symbols may copy fewer.
  Status step(const std::vector<HostTensor> &inputs, std::vector<HostTensor> &outputs);
  /// Does the same, and writes the outputs to memory of the caller, which must have the size of each output.
  Status step(const std::vector<HostTensor> &inputs, const std::vector<void *> &outputs);
  /// The model's states between steps. If isFirst(), the parts of ranks are joined; other processes get tensors without
  /// meaning. All processes call it together.
  Expected<std::vector<HostTensor>> readStates() const;
  Expected<std::vector<StateType>> stateTypes() const;
  /// Fails if a state grows, and names the option that needs states of one length.
  Status checkLengthsOfStates(const char *option) const;
  /// Sets the states of all ranks in this process to `states`, which are whole and have the order and types of
  /// stateTypes(). Fails if a state of the model grows.
  Status writeStates(const std::vector<HostTensor> &states);
  /// Copies state number `index` out of or into the first rank of this process. `bytes` is the size of the state.
  Status readState(uint32_t index, void *data, int64_t bytes) const;
  Status writeState(uint32_t index, const void *data, int64_t bytes);
  /// Sets this session's states to the values of another session, which has states of the same names.
  Status takeStates(const RunSession &from);
  /// Makes an emulated device take `factor` times as long from now on.
  Status slowDevice(uint32_t index, double factor) const;
  sluice_stats stats() const;
  /// Of the first rank.
  sluice_expert_stats expertStats() const;
  /// The bytes of weights that a rank has, and the bytes that it sends.
  struct RankTraffic {
    uint32_t rank = 0;
    int64_t bytesSent = 0, plannedBytesSent = 0; ///< The bytes of the last step.
    int64_t parameterBytes = 0;
    /// For a rank of a pipeline, per memory: its name, the bytes of its arena that the last step used, and the bytes
    /// that the plan has.
    struct Arena {
      std::string memory;
      int64_t touchedBytes = 0, plannedBytes = 0;
    };
    std::vector<Arena> arenas;
  };
  /// The figures of each rank in this process; empty for a model of one rank.
  std::vector<RankTraffic> traffic() const;
  /// Lines that say what ran slower than possible, and why; each line once.
  std::vector<std::string> notes() const;
  /// Of the first rank here.
  std::vector<CommandTime> commandTimes() const { return commandTimesOf(sessions.front().get()); }
  /// The command times of all ranks here as a Chrome/Perfetto trace. Each device of a rank is a process of the trace.
  /// Each stream is a track by the host's clock, and another one by the device's own clock, if it has one.
  Json traceJson() const;

private:
  struct Close {
    void operator()(sluice_session *session) const { sluice_close(session); }
  };
  using Session = std::unique_ptr<sluice_session, Close>;
  static Expected<RunSession> open(RankGroup ranks, const std::string &directory, int threads, bool trace,
                                   const std::string &spill);
  RunSession(RankGroup ranks, std::vector<Session> sessions) : ranks(std::move(ranks)), sessions(std::move(sessions)) {}
  Status step(size_t rank, const std::vector<const void *> &inputs, const std::vector<void *> &outputs) const;
  /// The place of a rank among the sessions; absent if it is in another process.
  std::optional<size_t> indexOf(uint32_t rank) const;
  Expected<HostTensor> joinState(const std::string &name, uint32_t first, uint32_t count, HostTensor whole) const;
  Expected<HostTensor> readStageState(const StateType &state, uint32_t rank) const;
  const sluice_model &modelOf(size_t i) const { return *sluice_describe(sessions[i].get()); }

  RankGroup ranks;                  ///< Must outlive the sessions.
  std::optional<StagesFile> stages; ///< The stages of a pipeline; absent for other models.
  std::vector<Session> sessions;
  /// Buffers per rank except the first, and per output. All ranks compute the same outputs, and only the first rank's
  /// are read.
  std::vector<std::vector<std::unique_ptr<std::byte[]>>> unread;
};

/// A zeroed tensor for each of the model's inputs, with the upper bounds of extents that depend on symbols.
Expected<std::vector<HostTensor>> makeInputs(const sluice_model &model);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_RUNSESSION_H
