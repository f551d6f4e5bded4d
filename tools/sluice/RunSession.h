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
/// How long a command ran: by its device's own clock where it has one, else by the host's.
int64_t tookNs(const CommandTime &time);

/// The extents of each of a model's inputs.
using InputShapes = std::vector<std::vector<int64_t>>;

/// The number of ranks that an artifact is for; 1 where it does not say.
uint32_t ranksOf(const std::string &directory);

/// The C API with our errors. Of a model of several ranks it is those that are in
/// this process; what is said of one is then the first's. The ranks of a compiled pipeline
/// run different models of the same inputs and outputs, and each has states of its own.
class RunSession {
public:
  static Expected<RunSession> open(const std::string &directory, int threads, bool trace,
                                   const std::string &spill = {});
  /// The same for a model of one rank, also in a process that mpirun started with others.
  static Expected<RunSession> openAlone(const std::string &directory, int threads, const std::string &spill = {});

  const sluice_model &model() const { return *sluice_describe(sessions.front().get()); }
  /// Whether this process is the one that reads and writes for all.
  bool isFirst() const { return ranks.isFirst(); }
  /// The shapes of the inputs from the next step on: see sluice_set_shapes, whose failures it has.
  Status setShapes(const InputShapes &shapes);
  InputShapes inputShapes() const;
  /// Gives states that grow the greatest length with which a step may begin.
  Status fillStates();
  /// A zeroed tensor for each of the model's outputs, of its current shape.
  Expected<std::vector<HostTensor>> makeOutputs() const;
  /// One step, of all ranks here, which get the same inputs and give the same
  /// outputs. Fails also where it copied, or sent, other than the planned bytes; a model
  /// with symbols may copy less.
  Status step(const std::vector<HostTensor> &inputs, std::vector<HostTensor> &outputs);
  /// The same into memory of the caller's, of each output's size.
  Status step(const std::vector<HostTensor> &inputs, const std::vector<void *> &outputs);
  /// The model's states, as they are between steps, ranks' parts joined where
  /// isFirst(); others get tensors of no meaning. All processes call it together.
  Expected<std::vector<HostTensor>> readStates() const;
  Expected<std::vector<StateType>> stateTypes() const;
  /// Fails if a state grows, and names the option that needs states of one length.
  Status checkLengthsOfStates(const char *option) const;
  /// Gives the states of all ranks here the values of `states`, whole ones in the order and of the types of
  /// stateTypes(). A model whose states grow is refused.
  Status writeStates(const std::vector<HostTensor> &states);
  /// Copies state number `index` out of the first rank here, or into it; `bytes` is the state's size.
  Status readState(uint32_t index, void *data, int64_t bytes) const;
  Status writeState(uint32_t index, const void *data, int64_t bytes);
  /// Gives this session's states the values that those of the same names have in
  /// another; both have the same ones.
  Status takeStates(const RunSession &from);
  /// An emulated device takes so many times as long from now on.
  Status slowDevice(uint32_t index, double factor) const;
  sluice_stats stats() const;
  /// Of the first rank.
  sluice_expert_stats expertStats() const;
  /// What a rank has of the weights, and sends.
  struct RankTraffic {
    uint32_t rank = 0;
    int64_t bytesSent = 0, plannedBytesSent = 0; ///< In the last step.
    int64_t parameterBytes = 0;
    /// Of a rank of a pipeline, per memory: its name, and the bytes of its arena that the last step touched and that
    /// the plan has.
    struct Arena {
      std::string memory;
      int64_t touchedBytes = 0, plannedBytes = 0;
    };
    std::vector<Arena> arenas;
  };
  /// Of the ranks in this process; none of a model that runs alone.
  std::vector<RankTraffic> traffic() const;
  /// What did not go as fast as it might have, and why: each line once.
  std::vector<std::string> notes() const;
  /// Of the first rank here.
  std::vector<CommandTime> commandTimes() const { return commandTimesOf(sessions.front().get()); }
  /// The command times of all ranks here as a Chrome/Perfetto trace: a process a rank and device, a track a stream by
  /// the host's clock, and one more by the device's own where it has one.
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

  RankGroup ranks;                  ///< Outlives the sessions.
  std::optional<StagesFile> stages; ///< Of a pipeline.
  std::vector<Session> sessions;
  /// Per rank but the first, per output: all ranks give the same, and one is read.
  std::vector<std::vector<std::unique_ptr<std::byte[]>>> unread;
};

/// A zeroed tensor for each of the model's inputs, of the upper bounds where extents depend on symbols.
Expected<std::vector<HostTensor>> makeInputs(const sluice_model &model);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_RUNSESSION_H
