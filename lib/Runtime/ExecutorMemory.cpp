//===- ExecutorMemory.cpp - Arenas, files and the ends of copies ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Executor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace sluice::runtime {

/// Where what a plan writes to a file goes. A temporary directory is often in memory, /var/tmp by its standard is not.
static std::string temporaryDirectory(const char *given) {
  const char *const named = given ? given : std::getenv("TMPDIR");
  if (named && *named)
    return named;
  return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

Status Executor::openFiles(const std::string &parameterPath) {
  if (!tables.hasFiles() || parameterPath.empty())
    return {};
  Result<std::unique_ptr<BackingFile>> file = BackingFile::open(parameterPath);
  if (!file)
    return tl::unexpected(file.error());
  if ((*file)->bytes() != tables.source->parameter_bytes)
    return failure("'", parameterPath, "' has ", (*file)->bytes(), " bytes, and the model needs ",
                   tables.source->parameter_bytes, " bytes of parameters, compile the model again");
  parameterFile = std::move(*file);
  // Only rows are looked up in the mapping, and pages around them are not wanted.
  if (tables.source->planned_bytes_read > 0 || !tables.experts.empty())
    (void)madvise(parameters, static_cast<size_t>(tables.source->parameter_bytes), MADV_RANDOM);
  return {};
}

Status Executor::openExperts() {
  // Parameters that an application links are in its memory.
  if (tables.experts.empty() || !parameterFile)
    return {};
  uint32_t file = 0;
  while (!isFile(file))
    ++file;
  const auto link = std::find_if(links.begin(), links.end(), [&](const auto &each) { return each->joins(0, file); });
  Result<std::unique_ptr<ExpertPool>> pool =
      ExpertPool::create(tables, *parameterFile, link == links.end() ? nullptr : link->get(), file);
  if (!pool)
    return tl::unexpected(pool.error());
  experts = std::move(*pool);
  expertOf.assign(tables.source->num_ops, UINT32_MAX);
  for (size_t i = 0; i < tables.experts.size(); ++i)
    expertOf[tables.experts[i].op] = static_cast<uint32_t>(i);
  return {};
}

Result<const ExpertLaunch *> Executor::expertLaunch(const LaunchCall &call) {
  if (!experts || expertOf[call.op] == UINT32_MAX)
    return nullptr;
  const sluice_expert_desc &expert = tables.experts[expertOf[call.op]];
  // What is read ahead is chosen by the whole mask of the group.
  uint32_t last = expertOf[call.op];
  while (last + 1 < tables.experts.size() && tables.experts[last + 1].group == expert.group)
    ++last;
  if (tables.devices[tables.streams[call.stream].device].kind != SLUICE_DEVICE_CPU || call.numSlots <= expert.mask ||
      call.slots[expert.mask].bytes <= tables.experts[last].element)
    return failure(
        "is an expert that does not run on a CPU or has no mask for its whole group, compile the model again");
  auto *launch =
      new (allocator.take<ExpertLaunch>(1)) ExpertLaunch{experts.get(),
                                                         expertOf[call.op],
                                                         expert.mask,
                                                         expert.element,
                                                         0,
                                                         allocator.take<ExpertLaunch::Weight>(call.numSlots)};
  for (uint32_t i = 0; i < call.numSlots; ++i)
    if (const sluice_slot &slot = call.slots[i]; slot.segment == SLUICE_SEGMENT_PARAMETER &&
                                                 slot.offset >= expert.offset &&
                                                 slot.offset + slot.bytes <= expert.offset + expert.bytes)
      launch->weights[launch->numWeights++] = {i, slot.offset - expert.offset};
  return launch;
}

/// Those of a program, in place of any other's.
Status Executor::allocateArenas(const Program &program) {
  for (std::unique_ptr<Arena> &arena : arenas)
    arena.reset();
  for (std::unique_ptr<BackingFile> &file : files)
    file.reset();
  for (uint32_t m = 0; m < arenas.size(); ++m) {
    const char *name = tables.memories[m].name;
    if (isFile(m)) {
      if (program.arenaBytes[m] == 0)
        continue;
      Result<std::unique_ptr<BackingFile>> file =
          BackingFile::create(temporaryDirectory(options.spill_directory), program.arenaBytes[m], name);
      if (!file)
        return tl::unexpected(file.error());
      files[m] = std::move(*file);
      continue;
    }
    size_t d = 0;
    while (d < devices.size() && tables.devices[d].memory != m)
      ++d;
    if (m != 0 && d == devices.size())
      return failure("memory '", name, "' belongs to no device, compile the model again");
    Result<std::unique_ptr<Arena>> made =
        m == 0 ? allocateHome(program.arenaBytes[m], name) : devices[d]->allocate(program.arenaBytes[m], name);
    if (!made)
      return tl::unexpected(made.error());
    arenas[m] = std::move(*made);
  }
  return {};
}

Result<std::unique_ptr<Arena>> Executor::allocateHome(int64_t bytes, const char *name) const {
  // A plan with a file says itself what is in files.
  const char *directory = tables.hasFiles() ? nullptr : options.spill_directory;
  return directory ? allocateFileArena(bytes, name, directory) : allocateHostArena(bytes, name);
}

Status Executor::copyInitialStates() {
  const sluice_model &model = *tables.source;
  if (model.state_initial < 0)
    return {};
  const int64_t bytes = model.parameter_bytes - model.state_initial;
  if (parameterFile)
    return parameterFile->read(state->base(), state->bytes(), model.state_initial, bytes);
  std::memcpy(state->base(), parameters + model.state_initial, static_cast<size_t>(bytes));
  return {};
}

Status Executor::reset() {
  if (Status status = current.reset(); !status)
    return status;
  const sluice_model &model = *tables.source;
  const int64_t initial = model.state_initial >= 0 ? model.parameter_bytes - model.state_initial : 0;
  if (Status status = copyInitialStates(); !status)
    return status;
  std::memset(state->base() + initial, 0, static_cast<size_t>(model.state_bytes - initial));
  return copyKept(KeptCopy::FromHome);
}

Status Executor::copyKept(KeptCopy direction, const char *home) const {
  for (const KeptState &each : keptStates) {
    if (home && each.home != home)
      continue;
    const bool isSaved = direction == KeptCopy::ToHome;
    char *const to = isSaved ? each.home : each.kept;
    if (const int32_t code = each.device->copy(to, isSaved ? each.kept : each.home, each.bytes); code != 0) {
      const std::string text = each.device->failureText();
      uint32_t index = 0;
      while (homeOf(index) != each.home)
        ++index;
      return failure("state '", tables.states[index].name, "' could not be copied ", isSaved ? "from" : "to",
                     " the device in whose memory it stays between steps",
                     text.empty() ? " (" + std::to_string(code) + ")" : ": " + text, ", open the model again");
    }
  }
  return {};
}

Status Executor::readState(uint32_t index, void *data) {
  if (Status status = copyKept(KeptCopy::ToHome, homeOf(index)); !status)
    return status;
  std::memcpy(data, homeOf(index), static_cast<size_t>(tables.states[index].bytes));
  return {};
}

Status Executor::writeState(uint32_t index, const void *data) {
  std::memcpy(homeOf(index), data, static_cast<size_t>(tables.states[index].bytes));
  return copyKept(KeptCopy::FromHome, homeOf(index));
}

std::optional<Executor::CopyEnd> Executor::resolveEnd(const sluice_slot &slot) {
  if (slot.memory >= arenas.size() || !isFile(slot.memory)) {
    const std::optional<char *> address = resolve(slot);
    return address ? std::optional(CopyEnd{*address, nullptr}) : std::nullopt;
  }
  const bool isParameter = slot.segment == SLUICE_SEGMENT_PARAMETER;
  BackingFile *const file = isParameter ? parameterFile.get() : files[slot.memory].get();
  const int64_t bytes = isParameter ? tables.source->parameter_bytes : file ? file->bytes() : 0;
  const bool isKnown = isParameter || slot.segment == SLUICE_SEGMENT_ARENA;
  if (!isKnown || slot.offset < 0 || slot.bytes < 0 || slot.offset > bytes || slot.bytes > bytes - slot.offset)
    return std::nullopt;
  if (!isParameter)
    peaks[slot.memory] = std::max(peaks[slot.memory], slot.offset + slot.bytes);
  // Parameters that an application links are in its memory.
  return CopyEnd{file ? nullptr : parameters + slot.offset, file};
}

/// A copy's stream and link are those that its ends need.
Status Executor::checkCopyPath(const CopyCall &call) const {
  const uint32_t from = call.source->memory, to = call.destination->memory;
  const sluice_stream_desc &stream = tables.streams[call.stream];
  const sluice_device_desc &device = tables.devices[stream.device];
  if (stream.kind == SLUICE_STREAM_COMMUNICATE)
    return failure("is issued on a stream that only communicates");
  if (isFile(from) || isFile(to)) {
    if (isFile(from) == isFile(to) || stream.kind != (isFile(from) ? SLUICE_STREAM_FILE_IN : SLUICE_STREAM_FILE_OUT))
      return failure("is issued on a stream that does not ", isFile(from) ? "read" : "write",
                     " files, or has two files as its ends");
    const uint32_t other = isFile(from) ? to : from;
    for (const sluice_device_desc &each : tables.devices)
      if (each.memory == other && each.kind == SLUICE_DEVICE_CUDA)
        return failure("goes between a file and GPU '", each.name, "', which this runtime does not drive");
  } else if (device.memory != from && device.memory != to) {
    return failure("runs on device '", device.name, "', which has neither of the two memories");
  }
  if (from != to && (call.link >= links.size() || !links[call.link]->joins(from, to)))
    return failure("goes over link ", call.link, ", which does not join memories '", tables.memories[from].name,
                   "' and '", tables.memories[to].name, "'");
  return {};
}

} // namespace sluice::runtime
