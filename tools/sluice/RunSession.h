//===- RunSession.h - An opened model and its steps -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_RUNSESSION_H
#define SLUICE_TOOLS_SLUICE_RUNSESSION_H

#include "sluice/Runtime/sluice.h"
#include "sluice/Support/Json.h"
#include "sluice/TensorIO/HostTensor.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace sluice::driver {

/// A directory that goes away with its owner.
class TemporaryDirectory {
public:
  static Expected<TemporaryDirectory> create();
  TemporaryDirectory(TemporaryDirectory &&other) noexcept : path(std::move(other.path)) { other.path.clear(); }
  TemporaryDirectory &operator=(TemporaryDirectory &&) = delete;
  ~TemporaryDirectory();
  std::string file(const std::string &name) const { return (path / name).string(); }

private:
  explicit TemporaryDirectory(std::filesystem::path path) : path(std::move(path)) {}
  std::filesystem::path path;
};

/// The C API with our errors.
class RunSession {
public:
  static Expected<RunSession> open(const std::string &directory, int threads, bool trace);

  const sluice_model &model() const { return *sluice_describe(session.get()); }
  /// One step. Fails also where it copied other than the planned bytes.
  Status step(const std::vector<HostTensor> &inputs, std::vector<HostTensor> &outputs);
  /// The same into memory of the caller's, of each output's size.
  Status step(const std::vector<HostTensor> &inputs, const std::vector<void *> &outputs);
  /// The model's states, as they are between steps.
  Expected<std::vector<HostTensor>> readStates() const;
  /// Gives this session's states the values that those of the same names have in
  /// another; both have the same ones.
  Status takeStates(const RunSession &from);
  /// An emulated device takes so many times as long from now on.
  Status slowDevice(uint32_t index, double factor) const;
  sluice_stats stats() const;
  /// The last step's commands, in issue order.
  std::vector<sluice_command_time> commandTimes() const;
  /// They as a Chrome/Perfetto trace.
  Json traceJson() const;

private:
  struct Close {
    void operator()(sluice_session *session) const { sluice_close(session); }
  };
  explicit RunSession(sluice_session *session) : session(session) {}
  std::unique_ptr<sluice_session, Close> session;
};

/// A zeroed tensor for each of the model's inputs.
Expected<std::vector<HostTensor>> makeInputs(const sluice_model &model);
/// The same for its outputs.
Expected<std::vector<HostTensor>> makeOutputs(const sluice_model &model);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_RUNSESSION_H
