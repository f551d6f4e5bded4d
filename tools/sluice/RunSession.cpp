//===- RunSession.cpp - An opened model and its steps ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunSession.h"
#include "Commands.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdlib.h>

namespace sluice::driver {

/// Zeroed, of the types and shapes described.
static Expected<std::vector<HostTensor>> makeTensors(const sluice_tensor_desc *descs, uint32_t count) {
  std::vector<HostTensor> tensors;
  for (uint32_t i = 0; i < count; ++i) {
    const sluice_tensor_desc &desc = descs[i];
    Expected<ElementType> type = elementTypeFromOnnx(desc.element_type);
    if (!type)
      return propagate(type);
    Expected<HostTensor> tensor = makeTensor(desc.name, *type, std::vector(desc.shape, desc.shape + desc.rank));
    if (!tensor)
      return propagate(tensor);
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

Expected<TemporaryDirectory> TemporaryDirectory::create() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string pattern = (parent / "sluice-XXXXXX").string();
  if (error || !mkdtemp(pattern.data()))
    return makeError(ErrorCode::Io, "cannot make a temporary directory, '", pattern, "', ",
                     error ? error.message() : std::strerror(errno), ", set TMPDIR");
  return TemporaryDirectory(pattern);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path.empty())
    std::filesystem::remove_all(path, ignored);
}

Expected<RunSession> RunSession::open(const std::string &directory, int threads, bool trace) {
  sluice_options options = {};
  options.size = sizeof options;
  options.threads = static_cast<uint32_t>(threads);
  options.trace = trace;
  sluice_session *session = sluice_open(directory.c_str(), &options);
  if (!session)
    return makeError(ErrorCode::InvalidInput, sluice_last_error());
  return RunSession(session);
}

Status RunSession::step(const std::vector<HostTensor> &inputs, std::vector<HostTensor> &outputs) {
  std::vector<void *> to;
  for (HostTensor &output : outputs)
    to.push_back(output.bytes.data());
  if (Status status = step(inputs, to); !status)
    return status;
  // The session's text ends with its next step.
  for (HostTensor &output : outputs)
    ownText(output);
  return {};
}

Status RunSession::step(const std::vector<HostTensor> &inputs, const std::vector<void *> &outputs) {
  if (interrupted)
    return makeError(ErrorCode::Interrupted, "stopped before the step was over");
  std::vector<const void *> from;
  for (const HostTensor &input : inputs)
    from.push_back(input.bytes.data());
  if (sluice_run(session.get(), from.data(), outputs.data()) != 0)
    return makeError(ErrorCode::InvalidInput, sluice_last_error());
  const sluice_stats done = stats();
  if (done.bytes_in != model().planned_bytes_in || done.bytes_out != model().planned_bytes_out)
    return makeError(ErrorCode::Internal, "a step copied ", done.bytes_in, " bytes in and ", done.bytes_out,
                     " out, the plan says ", model().planned_bytes_in, " and ", model().planned_bytes_out,
                     ", report this as a bug of sluice");
  return {};
}

Expected<std::vector<HostTensor>> RunSession::readStates() const {
  Expected<std::vector<HostTensor>> states = makeTensors(model().states, model().num_states);
  if (!states)
    return states;
  for (uint32_t i = 0; i < model().num_states; ++i) {
    std::vector<std::byte> &bytes = (*states)[i].bytes;
    if (sluice_read_state(session.get(), i, bytes.data(), static_cast<int64_t>(bytes.size())) != 0)
      return makeError(ErrorCode::Internal, sluice_last_error());
  }
  return states;
}

Status RunSession::takeStates(const RunSession &from) {
  Expected<std::vector<HostTensor>> states = from.readStates();
  if (!states)
    return propagate(states);
  for (uint32_t i = 0; i < model().num_states; ++i) {
    const auto found = std::find_if(states->begin(), states->end(),
                                    [&](const HostTensor &state) { return state.name == model().states[i].name; });
    if (found == states->end())
      return makeError(ErrorCode::Internal, "state '", model().states[i].name,
                       "' is not in the plan before, report this as a bug of sluice");
    if (sluice_write_state(session.get(), i, found->bytes.data(), static_cast<int64_t>(found->bytes.size())) != 0)
      return makeError(ErrorCode::Internal, sluice_last_error());
  }
  return {};
}

Status RunSession::slowDevice(uint32_t index, double factor) const {
  if (sluice_slow_device(session.get(), index, factor) != 0)
    return makeError(ErrorCode::InvalidInput, sluice_last_error());
  return {};
}

sluice_stats RunSession::stats() const {
  sluice_stats stats = {};
  stats.size = sizeof stats;
  sluice_get_stats(session.get(), &stats);
  return stats;
}

std::vector<sluice_command_time> RunSession::commandTimes() const {
  size_t count = 0;
  const sluice_command_time *times = sluice_trace(session.get(), &count);
  return std::vector<sluice_command_time>(times, times + count);
}

Json RunSession::traceJson() const {
  static constexpr const char *kStreamNames[] = {"compute", "swap in", "swap out"};
  const sluice_model &model = this->model();
  auto metadata = [](const char *what, uint32_t process, uint32_t thread, const char *name) {
    return Json{{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
  };
  Json events = Json::array();
  for (uint32_t i = 0; i < model.num_devices; ++i)
    events.push_back(metadata("process_name", i, 0, model.devices[i].name));
  for (uint32_t i = 0; i < model.num_streams; ++i)
    events.push_back(metadata("thread_name", model.streams[i].device, i, kStreamNames[model.streams[i].kind % 3]));
  for (const sluice_command_time &time : commandTimes()) {
    const bool isLaunch = time.op != UINT32_MAX;
    Json event;
    event["ph"] = "X";
    event["name"] = isLaunch ? model.op_names[time.op] : model.tensor_names[time.tensor];
    event["cat"] = isLaunch ? "operator" : "copy";
    event["pid"] = model.streams[time.stream].device;
    event["tid"] = time.stream;
    event["ts"] = static_cast<double>(time.start_ns) / 1e3;
    event["dur"] = static_cast<double>(time.end_ns - time.start_ns) / 1e3;
    event["args"]["command"] = time.command;
    events.push_back(std::move(event));
  }
  return Json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

Expected<std::vector<HostTensor>> makeInputs(const sluice_model &model) {
  return makeTensors(model.inputs, model.num_inputs);
}

Expected<std::vector<HostTensor>> makeOutputs(const sluice_model &model) {
  return makeTensors(model.outputs, model.num_outputs);
}

} // namespace sluice::driver
