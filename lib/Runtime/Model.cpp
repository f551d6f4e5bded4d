//===- Model.cpp - A compiled model's tables, checked ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Model.h"

#include "sluice/Runtime/Tables.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace sluice::runtime {

namespace {

/// The bytes of an entry that every model of this major version has.
template <typename T>
constexpr size_t kLeastBytes = sizeof(T);
template <>
constexpr size_t kLeastBytes<sluice_tensor_desc> = offsetof(sluice_tensor_desc, range);
template <>
constexpr size_t kLeastBytes<sluice_memory_desc> = offsetof(sluice_memory_desc, kind);
template <>
constexpr size_t kLeastBytes<sluice_bucket_desc> = offsetof(sluice_bucket_desc, planned_bytes_read);

/// More than minor versions will ever add to an entry.
constexpr size_t kMostEntryBytes = 4096;

/// Copies `count` entries that lie as far apart as the first one's `size` says. What is
/// missing of older models' is zero.
template <typename T>
Status copyTable(const T *table, uint32_t count, std::vector<T> &out, const char *what) {
  if (count == 0)
    return {};
  if (!table)
    return failure("model has ", count, " ", what, " and no table of them, compile the model again");
  size_t stride = table->size;
  if (stride < kLeastBytes<T> || stride > kMostEntryBytes || stride % alignof(T) != 0)
    return failure("model's table of ", what, " has entries of ", stride, " bytes where the ABI has ", sizeof(T),
                   ", compile the model again");
  out.assign(count, T{});
  for (uint32_t i = 0; i < count; ++i)
    out[i] = tableEntry(table, i);
  return {};
}

Status checkTensors(const std::vector<sluice_tensor_desc> &tensors, const char *what) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i].name || tensors[i].bytes < 0 || (tensors[i].rank > 0 && !tensors[i].shape))
      return failure("model's ", what, " ", i, " has no name, no shape or a negative size, compile the model again");
  for (const sluice_tensor_desc &tensor : tensors)
    if (tensor.range && tensor.element_type != kInt32Type && tensor.element_type != kInt64Type)
      return failure("model's ", what, " '", tensor.name, "' has a range and no elements of int32 or int64, ",
                     "compile the model again");
  return {};
}

/// Each symbol is the extent of a dimension that exists, within bounds that make sense.
Status checkSymbols(const Model &model) {
  const sluice_model &source = *model.source;
  if (model.symbols.empty())
    return {};
  if (!source.extents)
    return failure("model '", source.name, "' has ", model.symbols.size(),
                   " symbols and no function that computes its extents, compile the model again");
  for (size_t i = 0; i < model.symbols.size(); ++i) {
    const sluice_symbol_desc &symbol = model.symbols[i];
    if (!symbol.name || symbol.least < 0 || symbol.least > symbol.most || symbol.step < 1 ||
        (symbol.most - symbol.least) % symbol.step != 0)
      return failure("model's symbol ", i, " has no name or no range, compile the model again");
    if (symbol.input == kFound)
      continue;
    if (symbol.input == kKept) {
      if (symbol.dimension >= model.states.size() || !source.advance)
        return failure("model's symbol '", symbol.name,
                       "' must be the length of a state, and names no state, compile the model again");
      continue;
    }
    if (symbol.input >= model.inputs.size() || symbol.dimension >= model.inputs[symbol.input].rank)
      return failure("model's symbol '", symbol.name,
                     "' does not name a dimension of an input, compile the model again");
  }
  if (source.num_ranks > 1)
    return failure("model '", source.name, "' has symbolic extents and ", source.num_ranks,
                   " ranks, which cannot be combined, compile the model for one size of each dimension");
  return {};
}

Status checkBuckets(const Model &model) {
  for (size_t i = 0; i < model.buckets.size(); ++i) {
    const sluice_bucket_desc &bucket = model.buckets[i];
    if (!bucket.bounds || !bucket.arena_bytes || !bucket.step || model.symbols.empty())
      return failure("model's bucket ", i, " has no bounds, arenas or step, compile the model again");
    for (size_t m = 0; m < model.memories.size(); ++m)
      if (bucket.arena_bytes[m] < 0 || bucket.arena_bytes[m] > model.memories[m].arena_bytes)
        return failure("model's bucket ", i, " has an arena of ", bucket.arena_bytes[m], " bytes of memory '",
                       model.memories[m].name, "', outside of 0 to ", model.memories[m].arena_bytes,
                       ", compile the model again");
  }
  return {};
}

/// Groups lie together, their elements ascend, and each operator is one expert.
Status checkExperts(const Model &model) {
  constexpr int64_t kBlock = 4096;
  const sluice_model &source = *model.source;
  if (model.experts.empty())
    return source.expert_slots == 0 ? Status()
                                    : failure("model '", source.name, "' has ", source.expert_slots,
                                              " slots for experts and no experts, compile the model again");
  std::vector<char> isTaken(source.num_ops, 0);
  for (size_t i = 0; i < model.experts.size(); ++i) {
    const sluice_expert_desc &expert = model.experts[i];
    const sluice_expert_desc *before = i > 0 ? &model.experts[i - 1] : nullptr;
    const bool isBehind =
        !before || expert.group > before->group || (expert.group == before->group && expert.element > before->element);
    if (!isBehind || expert.op >= source.num_ops || std::exchange(isTaken[expert.op], 1))
      return failure(
          "expert ", i, " of model '", source.name,
          "' has no operator of its own, or is not in the order of groups and elements, compile the model again");
    if (expert.offset < 0 || expert.offset % kBlock != 0 || expert.bytes < 1 ||
        expert.offset > source.parameter_bytes || expert.bytes > source.parameter_bytes - expert.offset ||
        expert.bytes > INT64_MAX - kBlock)
      return failure("expert '", source.op_names[expert.op], "' has ", expert.bytes, " bytes at ", expert.offset,
                     " of the parameter file, which has ", source.parameter_bytes, ", compile the model again");
  }
  if (source.expert_slots < 1 || source.expert_slots > INT64_MAX / model.expertSlotBytes())
    return failure("model '", source.name, "' has ", source.expert_slots, " slots for ", model.experts.size(),
                   " experts, which is out of range, compile the model again");
  if (!model.hasFiles())
    return failure("model '", source.name, "' has ", model.experts.size(),
                   " experts and no memory of kind file, compile the model again");
  return {};
}

Status checkStates(const Model &model) {
  const sluice_model &source = *model.source;
  for (const sluice_tensor_desc &state : model.states)
    for (uint32_t i = 0; i < state.num_cuts; ++i)
      if (!state.cuts || state.cuts[i].dimension < 0 || state.cuts[i].dimension >= state.rank ||
          state.cuts[i].count < 1 || state.cuts[i].stride < 1 ||
          (state.cut_blocks &&
           (state.cut_blocks[i] < 1 || state.shape[state.cuts[i].dimension] % state.cut_blocks[i] != 0)))
        return failure("state '", state.name,
                       "' is cut along a dimension that it does not have, compile the model again");
  if (source.num_ranks > 1 && !source.planned_bytes_sent)
    return failure("model is for ", source.num_ranks,
                   " ranks and has no table of the bytes that they send, compile the model again");
  if (!model.states.empty() && !source.state_offsets)
    return failure("model has ", model.states.size(), " states and no table of their offsets, compile the model again");
  for (size_t i = 0; i < model.states.size(); ++i)
    if (source.state_offsets[i] < 0 || source.state_offsets[i] > source.state_bytes ||
        model.states[i].bytes > source.state_bytes - source.state_offsets[i])
      return failure("state '", model.states[i].name, "' is not within the model's ", source.state_bytes,
                     " bytes of state, compile the model again");
  if (source.state_initial < -1 || source.state_initial > source.parameter_bytes ||
      (source.state_initial >= 0 && source.parameter_bytes - source.state_initial > source.state_bytes))
    return failure("the model's states begin outside its parameter file, compile the model again");
  return {};
}

Status checkNames(const sluice_model &source, const char *const *names, uint32_t count, const char *what) {
  if (count > 0 && !names)
    return failure("model '", source.name, "' has ", count, " ", what,
                   " names and no table of them, compile the model again");
  for (uint32_t i = 0; i < count; ++i)
    if (!names[i])
      return failure(what, " ", i, " of model '", source.name, "' has no name, compile the model again");
  return {};
}

Status checkMachine(const Model &model) {
  if (model.memories.empty())
    return failure("model '", model.source->name, "' has no memories, compile the model again");
  for (size_t i = 0; i < model.memories.size(); ++i) {
    const sluice_memory_desc &memory = model.memories[i];
    if (!memory.name || memory.arena_bytes < 0)
      return failure("model's memory ", i, " has no name or a negative arena, compile the model again");
    if (memory.arena_bytes > memory.capacity_bytes)
      return failure("memory '", memory.name, "' has ", memory.capacity_bytes, " bytes and the model's arena ",
                     memory.arena_bytes, ", compile the model again");
    if (memory.kind > SLUICE_MEMORY_FILE || (i == 0 && memory.kind != SLUICE_MEMORY_RAM))
      return failure("memory '", memory.name, "' has kind ", memory.kind,
                     i == 0 ? ", which the host's memory cannot have" : ", which is unknown",
                     ", compile the model again");
  }
  for (size_t i = 0; i < model.devices.size(); ++i) {
    const sluice_device_desc &device = model.devices[i];
    if (!device.name || device.memory >= model.memories.size())
      return failure("model's device ", i, " has no name or no memory, compile the model again");
    if (model.memories[device.memory].kind == SLUICE_MEMORY_FILE)
      return failure("device '", device.name, "' computes in the file '", model.memories[device.memory].name,
                     "', compile the model again");
    if (!std::isfinite(device.speed) || device.speed <= 0)
      return failure("device '", device.name, "' has speed ", device.speed,
                     ", which must be above 0, compile the model again");
    if ((device.kind == SLUICE_DEVICE_CPU) != (device.memory == 0))
      return failure("device '", device.name, "' is ", device.kind == SLUICE_DEVICE_CPU ? "a CPU" : "not a CPU",
                     " and computes in memory '", model.memories[device.memory].name,
                     "', but CPUs, and only CPUs, compute in the host's memory, compile the model again");
  }
  for (size_t i = 0; i < model.links.size(); ++i) {
    const sluice_link_desc &link = model.links[i];
    if (link.memory_a >= model.memories.size() || link.memory_b >= model.memories.size() ||
        link.memory_a == link.memory_b)
      return failure("model's link ", i, " does not join two of its memories, compile the model again");
    bool rates = std::isfinite(link.bytes_per_sec) && std::isfinite(link.duplex_bytes_per_sec) &&
                 link.bytes_per_sec >= 1 && link.duplex_bytes_per_sec >= 1 && link.latency_ns >= 0;
    if (link.throttle && !rates)
      return failure("model's link ", i, " is throttled to a rate that is not positive, compile the model again");
  }
  for (size_t i = 0; i < model.streams.size(); ++i)
    if (model.streams[i].device >= model.devices.size() || model.streams[i].kind > SLUICE_STREAM_FILE_OUT)
      return failure("model's stream ", i, " has no device or no known kind, compile the model again");
  return {};
}

} // namespace

Result<Model> readModel(const sluice_model *source) {
  if (!source)
    return failure("model is empty: sluice_model_get returned null, compile the model again");
  if (source->size < offsetof(sluice_model, name))
    return failure("model has no ABI version, compile the model again");
  if (source->abi_major != SLUICE_ABI_MAJOR)
    return failure("the model has ABI version ", source->abi_major, ", and this runtime has ABI version ",
                   SLUICE_ABI_MAJOR, ", compile the model again with this release");
  if (source->abi_minor > SLUICE_ABI_MINOR)
    return failure("model needs ABI version ", SLUICE_ABI_MAJOR, ".", source->abi_minor, " and this runtime has ",
                   SLUICE_ABI_MAJOR, ".", SLUICE_ABI_MINOR,
                   ", install the runtime of the release that compiled the model");
  if (source->size < kLeastModelBytes)
    return failure("model's description has ", source->size, " bytes where the ABI has ", sizeof(sluice_model),
                   ", compile the model again");
  if (!source->name || !source->compiler || !source->cpu_features || !source->parameter_hash || !source->step)
    return failure("model lacks its name, compiler, CPU features, parameter hash or step, compile the model again");
  if (source->parameter_bytes < 0 || source->state_bytes < 0)
    return failure("model '", source->name, "' has a negative size, compile the model again");

  Model model;
  auto copy = std::make_unique<sluice_model>();
  std::memcpy(copy.get(), source, std::min(source->size, sizeof(sluice_model)));
  copy->size = sizeof(sluice_model);
  model.source = std::move(copy);
  source = model.source.get();
  Status status = copyTable(source->inputs, source->num_inputs, model.inputs, "inputs");
  auto then = [&](auto &&check) {
    if (status)
      status = check();
  };
  then([&] { return copyTable(source->outputs, source->num_outputs, model.outputs, "outputs"); });
  then([&] { return copyTable(source->memories, source->num_memories, model.memories, "memories"); });
  then([&] { return copyTable(source->devices, source->num_devices, model.devices, "devices"); });
  then([&] { return copyTable(source->links, source->num_links, model.links, "links"); });
  then([&] { return copyTable(source->streams, source->num_streams, model.streams, "streams"); });
  then([&] { return checkTensors(model.inputs, "input"); });
  then([&] { return checkTensors(model.outputs, "output"); });
  then([&] { return copyTable(source->states, source->num_states, model.states, "states"); });
  then([&] { return checkTensors(model.states, "state"); });
  then([&] { return copyTable(source->symbols, source->num_symbols, model.symbols, "symbols"); });
  then([&] { return checkSymbols(model); });
  then([&] { return checkStates(model); });
  then([&] { return checkNames(*source, source->op_names, source->num_ops, "operator"); });
  then([&] { return checkNames(*source, source->tensor_names, source->num_tensors, "tensor"); });
  then([&] { return checkMachine(model); });
  then([&] { return copyTable(source->buckets, source->num_buckets, model.buckets, "buckets"); });
  then([&] { return checkBuckets(model); });
  then([&] { return copyTable(source->experts, source->num_experts, model.experts, "experts"); });
  then([&] { return checkExperts(model); });
  if (!status)
    return tl::unexpected(status.error());
  return model;
}

} // namespace sluice::runtime
