//===- TestModel.h - Hand-written compiled models ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_RUNTIME_TESTMODEL_H
#define SLUICE_TEST_UNIT_RUNTIME_TESTMODEL_H

#include "sluice/Runtime/sluice.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

struct CloseSession {
  void operator()(sluice_session *session) const { sluice_close(session); }
};
using SessionPtr = std::unique_ptr<sluice_session, CloseSession>;

inline sluice_slot slot(uint32_t memory, uint32_t segment, int64_t offset, int64_t bytes, uint32_t index = 0) {
  return {memory, segment, index, 0, offset, bytes};
}
inline sluice_slot arenaSlot(uint32_t memory, int64_t offset, int64_t bytes) {
  return slot(memory, SLUICE_SEGMENT_ARENA, offset, bytes);
}
inline sluice_slot inputSlot(int64_t bytes, uint32_t index = 0) {
  return slot(0, SLUICE_SEGMENT_INPUT, 0, bytes, index);
}
inline sluice_slot outputSlot(int64_t bytes, uint32_t index = 0) {
  return slot(0, SLUICE_SEGMENT_OUTPUT, 0, bytes, index);
}

/// The stream of a device's kind: three a device.
constexpr uint32_t streamOf(uint32_t device, uint32_t kind) { return device * 3 + kind; }

/// What the compiler would have emitted: the tables of one model with inputs and
/// outputs of `floats` floats, a host, and accelerators with a link each.
class TestModel {
public:
  using Program = int32_t (*)(const sluice_api *, sluice_context *);

  explicit TestModel(Program step, int64_t floats = 256, uint32_t accelerators = 0, int64_t arenaBytes = 4096)
      : shape{floats} {
    sluice_tensor_desc tensor{
        sizeof(sluice_tensor_desc), "x", 1, 1, shape.data(), floats * 4, nullptr, nullptr, 0, nullptr};
    inputs = {tensor};
    tensor.name = "y";
    outputs = {tensor};
    memories.push_back({sizeof(sluice_memory_desc), "host", arenaBytes, INT64_MAX});
    devices.push_back({sizeof(sluice_device_desc), "cpu", SLUICE_DEVICE_CPU, 0, 0, 1.0});
    names.reserve(accelerators);
    for (uint32_t i = 0; i < accelerators; ++i) {
      names.push_back("accel" + std::to_string(i));
      memories.push_back({sizeof(sluice_memory_desc), names[i].c_str(), arenaBytes, arenaBytes});
      devices.push_back({sizeof(sluice_device_desc), names[i].c_str(), SLUICE_DEVICE_EMULATED, i + 1, 2, 1.0});
      links.push_back({sizeof(sluice_link_desc), 0, i + 1, 1e9, 1.5e9, 1000, 0});
    }
    for (uint32_t d = 0; d < devices.size(); ++d)
      for (uint32_t kind : {SLUICE_STREAM_COMPUTE, SLUICE_STREAM_IN, SLUICE_STREAM_OUT})
        streams.push_back({sizeof(sluice_stream_desc), d, kind});
    model.size = sizeof model;
    model.abi_major = SLUICE_ABI_MAJOR, model.abi_minor = SLUICE_ABI_MINOR;
    model.name = "test", model.compiler = "by hand", model.cpu_features = "", model.parameter_hash = "";
    model.step = step;
    model.state_initial = -1;
  }

  /// The tables may be changed before.
  const sluice_model *get() {
    static const char *const opNames[] = {"first", "second"};
    static const char *const tensorNames[] = {"t0", "t1"};
    model.num_ops = model.num_tensors = 2;
    model.op_names = opNames, model.tensor_names = tensorNames;
    model.num_inputs = static_cast<uint32_t>(inputs.size()), model.inputs = inputs.data();
    model.num_outputs = static_cast<uint32_t>(outputs.size()), model.outputs = outputs.data();
    model.num_memories = static_cast<uint32_t>(memories.size()), model.memories = memories.data();
    model.num_devices = static_cast<uint32_t>(devices.size()), model.devices = devices.data();
    model.num_links = static_cast<uint32_t>(links.size()), model.links = links.data();
    model.num_streams = static_cast<uint32_t>(streams.size()), model.streams = streams.data();
    return &model;
  }

  SessionPtr open(const void *parameters = nullptr, bool trace = false, uint32_t threads = 2) {
    sluice_options options{sizeof(sluice_options), threads, trace, 0, nullptr, nullptr, nullptr};
    return SessionPtr(sluice_open_model(get(), parameters, model.parameter_bytes, &options));
  }

  sluice_model model{};
  std::vector<int64_t> shape;
  std::vector<sluice_tensor_desc> inputs, outputs;
  std::vector<std::string> names;
  std::vector<sluice_memory_desc> memories;
  std::vector<sluice_device_desc> devices;
  std::vector<sluice_link_desc> links;
  std::vector<sluice_stream_desc> streams;
};

/// Numbers the commands of one program.
struct Issuer {
  const sluice_api *api;
  sluice_context *context;
  uint32_t next = 0;
  int32_t failed = 0;

  uint32_t launch(uint32_t stream, sluice_kernel_fn kernel, std::vector<sluice_slot> slots,
                  std::vector<uint32_t> waits = {}, uint32_t op = 0) {
    failed |= api->launch(context, next, stream, kernel, op, slots.data(), static_cast<uint32_t>(slots.size()),
                          waits.data(), static_cast<uint32_t>(waits.size()));
    return next++;
  }
  uint32_t copy(uint32_t stream, sluice_slot to, sluice_slot from, std::vector<uint32_t> waits = {},
                uint32_t link = 0) {
    failed |= api->copy(context, next, stream, link, &to, &from, from.bytes, 0, waits.data(),
                        static_cast<uint32_t>(waits.size()));
    return next++;
  }
};

inline int32_t runOnce(sluice_session *session, const std::vector<float> &x, std::vector<float> &y) {
  const void *inputs[] = {x.data()};
  void *outputs[] = {y.data()};
  return sluice_run(session, inputs, outputs);
}

inline sluice_stats statsOf(const sluice_session *session) {
  sluice_stats stats{};
  stats.size = sizeof stats;
  sluice_get_stats(session, &stats);
  return stats;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_RUNTIME_TESTMODEL_H
