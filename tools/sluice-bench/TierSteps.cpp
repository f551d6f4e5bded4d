//===- TierSteps.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TierSteps.h"

#include "sluice/Support/Gzip.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

struct TracedTensor {
  int64_t bytes = 0;
  bool isWeight = false;
  size_t writes = 0; ///< By kernels that are not in the graph yet.
  TensorId first;    ///< Of a weight: its version from before the step.
  TensorId current;  ///< Invalid until it is read or written.
};

/// Kernels one after the other. Each writes new versions of its outputs, so that every tensor has one producer.
class StepBuilder {
public:
  explicit StepBuilder(const JsonReader &reader) : reader(reader) {}

  Expected<TierStep> build() {
    SLUICE_ASSIGN_OR_RETURN(step.problem.graph.name, reader.string("name"));
    SLUICE_RETURN_IF_ERROR(readTensors());
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> kernels, listOf(reader, "kernels"));
    for (const JsonReader &kernel : kernels)
      for (std::string_view key : {"inputs", "outputs"}) {
        SLUICE_ASSIGN_OR_RETURN(std::vector<TracedTensor *> tensors, tensorsOf(kernel, key));
        for (TracedTensor *tensor : tensors)
          tensor->writes += key == "outputs";
      }
    for (auto &[id, tensor] : traced)
      if (tensor.isWeight)
        tensor.first = tensor.current =
            add(concat("weight ", id), tensor.writes > 0 ? TensorKind::State : TensorKind::Parameter, tensor.bytes);
    SLUICE_RETURN_IF_ERROR(buildMachine());
    for (const JsonReader &kernel : kernels)
      SLUICE_RETURN_IF_ERROR(addKernel(kernel));
    SLUICE_RETURN_IF_ERROR(step.problem.graph.check());
    return std::move(step);
  }

private:
  static Expected<std::vector<JsonReader>> listOf(const JsonReader &from, std::string_view key) {
    return from.member(key).and_then([](const JsonReader &list) { return list.elements(); });
  }

  TensorId add(std::string name, TensorKind kind, int64_t bytes) {
    Tensor tensor;
    tensor.name = std::move(name);
    tensor.kind = kind;
    tensor.bytes = bytes;
    return step.problem.graph.addTensor(std::move(tensor));
  }

  Status readTensors() {
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> tensors, listOf(reader, "tensors"));
    for (const JsonReader &entry : tensors) {
      SLUICE_ASSIGN_OR_RETURN(int64_t id, entry.integer("id"));
      SLUICE_ASSIGN_OR_RETURN(std::string kind, entry.string("kind"));
      TracedTensor tensor;
      SLUICE_ASSIGN_OR_RETURN(tensor.bytes, entry.integer("bytes"));
      tensor.isWeight = kind == "weight";
      if (!traced.emplace(id, tensor).second)
        return makeError(ErrorCode::InvalidInput, "tensor ", id, " is listed twice, at '", entry.where(),
                         "', give each tensor an id of its own");
    }
    return {};
  }

  Expected<std::vector<TracedTensor *>> tensorsOf(const JsonReader &kernel, std::string_view key) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> ids, listOf(kernel, key));
    std::vector<TracedTensor *> tensors;
    for (const JsonReader &entry : ids) {
      SLUICE_ASSIGN_OR_RETURN(int64_t id, entry.asInteger());
      auto found = traced.find(id);
      if (found == traced.end())
        return makeError(ErrorCode::NotFound, "tensor ", id, " is not in the trace, at '", entry.where(),
                         "', list the tensor in 'tensors'");
      tensors.push_back(&found->second);
    }
    return tensors;
  }

  Status addKernel(const JsonReader &kernel) {
    Graph &graph = step.problem.graph;
    Operator op;
    const size_t number = graph.numOperators();
    SLUICE_ASSIGN_OR_RETURN(op.kind, kernel.string("name"));
    op.name = concat(op.kind, ".", number);
    SLUICE_ASSIGN_OR_RETURN(op.workspaceBytes, kernel.integer("workspace_bytes", 0));
    SLUICE_ASSIGN_OR_RETURN(int64_t ns, kernel.integer("time_ns"));
    SLUICE_ASSIGN_OR_RETURN(std::vector<TracedTensor *> inputs, tensorsOf(kernel, "inputs"));
    SLUICE_ASSIGN_OR_RETURN(std::vector<TracedTensor *> outputs, tensorsOf(kernel, "outputs"));
    for (TracedTensor *tensor : inputs) {
      // Masks, data and constants of the trace: no kernel makes them.
      if (!tensor->current.valid())
        tensor->current = add(concat("constant of ", op.name), TensorKind::Parameter, tensor->bytes);
      op.inputs.push_back(tensor->current);
    }
    for (size_t o = 0; o < outputs.size(); ++o) {
      TracedTensor &tensor = *outputs[o];
      const bool isNewWeight = --tensor.writes == 0 && tensor.isWeight;
      auto at = std::find(inputs.begin(), inputs.end(), &tensor);
      if (at != inputs.end())
        op.inPlace.emplace_back(static_cast<uint32_t>(at - inputs.begin()), static_cast<uint32_t>(o));
      tensor.current =
          add(concat(op.name, ":", o), isNewWeight ? TensorKind::State : TensorKind::Activation, tensor.bytes);
      if (isNewWeight)
        graph.setUpdates(tensor.current, tensor.first);
      op.outputs.push_back(tensor.current);
    }
    graph.addOperator(std::move(op));
    for (size_t d = 0; d < step.problem.machine.devices.size(); ++d)
      step.problem.costs.operatorNs.push_back(std::max<int64_t>(ns, 1));
    step.problem.placement.push_back(gpu);
    step.kernelsNs = saturatingAdd(step.kernelsNs, ns);
    return {};
  }

  Status buildMachine() {
    Machine &machine = step.problem.machine;
    machine.name = "G10's";
    SLUICE_ASSIGN_OR_RETURN(int64_t gpuBytes, reader.integer("gpu_memory_bytes"));
    SLUICE_ASSIGN_OR_RETURN(step.hostBytes, reader.integer("host_memory_bytes"));
    machine.memories = {{"host", step.hostBytes}, {"gpu0", gpuBytes}, {"ssd"}};
    machine.memories.back().kind = MemoryKind::File;
    Device cpu, accelerator;
    cpu.name = "cpu";
    cpu.memory = Machine::hostMemory();
    cpu.computes = false;
    accelerator.name = "gpu0";
    accelerator.kind = DeviceKind::Cuda;
    accelerator.memory = MemoryId(1u);
    machine.devices = {cpu, accelerator};
    gpu = DeviceId(1u);
    Link bus, storage;
    bus.a = Machine::hostMemory();
    bus.b = MemoryId(1u);
    SLUICE_ASSIGN_OR_RETURN(bus.bytesPerSec, reader.number("pcie_bytes_per_sec"));
    bus.duplexBytesPerSec = 2 * bus.bytesPerSec;
    SLUICE_ASSIGN_OR_RETURN(int64_t busUs, reader.integer("pcie_latency_us"));
    bus.latencyNs = 1000 * busUs;
    storage.a = MemoryId(1u);
    storage.b = MemoryId(2u);
    SLUICE_ASSIGN_OR_RETURN(storage.bytesPerSec, reader.number("ssd_write_bytes_per_sec"));
    SLUICE_ASSIGN_OR_RETURN(storage.reverseBytesPerSec, reader.number("ssd_read_bytes_per_sec"));
    storage.duplexBytesPerSec = storage.bytesPerSec + storage.reverseBytesPerSec;
    SLUICE_ASSIGN_OR_RETURN(int64_t storageUs, reader.integer("ssd_latency_us"));
    storage.latencyNs = 1000 * storageUs;
    storage.trunk = LinkId(0u);
    machine.links = {bus, storage};
    SLUICE_RETURN_IF_ERROR(machine.check());
    step.problem.costs.numDevices = machine.devices.size();
    for (const Memory &memory : machine.memories)
      step.problem.capacities.push_back(memory.capacityBytes);
    return {};
  }

  const JsonReader &reader;
  TierStep step;
  std::map<int64_t, TracedTensor> traced;
  DeviceId gpu;
};

} // namespace

Expected<TierStep> readTierStep(const std::string &path) {
  Expected<std::string> text = readFile(path);
  if (text && isGzip(*text))
    text = gunzip(*text, path);
  if (!text)
    return propagate(text);
  SLUICE_ASSIGN_OR_RETURN(Json json, parseJson(*text, path));
  return StepBuilder(JsonReader(json, path)).build();
}

const PublishedStep *findPublished(const std::string &name) {
  // The artifact's results, github.com/platformxlab/G10 at de2c8c6: ideal time over simulated time.
  static const PublishedStep kPublished[] = {
      {"bert-256",
       0.371,
       0.713,
       0.795,
       0.9965,
       {{0, 0.708}, {16, 0.997}, {32, 0.997}, {64, 0.997}, {128, 0.997}, {256, 0.997}}},
      {"inceptionv3-1536",
       0.212,
       std::nullopt,
       0.673,
       0.9772,
       {{0, 0.520}, {16, 0.608}, {32, 0.849}, {64, 0.977}, {128, 0.977}, {256, 0.977}}},
      {"resnet152-1280",
       0.240,
       0.642,
       0.853,
       0.9840,
       {{0, 0.470}, {16, 0.506}, {32, 0.548}, {64, 0.783}, {128, 0.984}, {256, 0.984}}},
      {"bert-512",
       0.122,
       0.223,
       0.622,
       0.6701,
       {{0, 0.230}, {16, 0.310}, {32, 0.410}, {64, 0.670}, {128, 0.670}, {256, 0.670}}},
      {"inceptionv3-512", 0.548, 1.000, 0.999, 0.9950, {}},
      {"resnet152-256", 0.759, 1.000, 1.000, 0.9999, {}}};
  for (const PublishedStep &step : kPublished)
    if (step.name == name)
      return &step;
  return nullptr;
}

} // namespace sluice::bench
