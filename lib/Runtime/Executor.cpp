//===- Executor.cpp - Runs a model's programs -----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Executor.h"
#include "CpuFeatures.h"
#include "LoadedArtifact.h"
#include "Sha256.h"
#include "Wait.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>

namespace sluice::runtime {

void *StepAllocator::takeBytes(size_t bytes) {
  constexpr size_t kBlockBytes = 64 * 1024;
  while (block < blocks.size() && blocks[block].bytes - used < bytes)
    ++block, used = 0;
  if (block == blocks.size()) {
    size_t size = std::max(bytes, kBlockBytes);
    blocks.push_back({std::make_unique<uint64_t[]>(size / 8), size});
  }
  void *result = reinterpret_cast<char *>(blocks[block].data.get()) + used;
  used += bytes;
  return result;
}

Executor::Executor(Model model, const void *parameters, const sluice_options &options)
    : tables(std::move(model)), current(tables), options(options),
      parameters(static_cast<char *>(const_cast<void *>(parameters))), ranks(options.communicator) {
  context.executor = this;
  api.size = sizeof api;
  api.launch = [](sluice_context *context, auto... arguments) -> int32_t {
    return context->executor->launch(LaunchCall{arguments...});
  };
  api.copy = [](sluice_context *context, auto... arguments) -> int32_t {
    return context->executor->copy(CopyCall{arguments...});
  };
}

Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::create(const sluice_model *source, const sluice_grid *const *grids,
                                                   const ParameterSource &parameters, const sluice_options &options) {
  Result<Model> model = readModel(source);
  if (!model)
    return tl::unexpected(model.error());
  if (Status status = checkCpuFeatures(source->cpu_features); !status)
    return tl::unexpected(status.error());
  std::unique_ptr<Executor> executor(new Executor(std::move(*model), parameters.memory, options));
  Status status = executor->current.begin();
  if (status)
    status = executor->openFiles(parameters.path);
  if (status)
    status = executor->prepare(options.threads, grids);
  if (status)
    status = executor->openExperts();
  // Of several, the first step says which.
  if (status && executor->programs.size() == 1)
    status = executor->use(executor->programs.back());
  if (!status)
    return tl::unexpected(status.error());
  return executor;
}

const Executor::Program &Executor::programOfStep() const {
  const int64_t *symbols = current.symbols();
  for (const Program &program : programs) {
    size_t s = 0;
    // What the step finds is within the bucket's bounds where the other symbols are.
    while (program.bounds && s < tables.symbols.size() &&
           (tables.symbols[s].input == kFound || symbols[s] <= program.bounds[s]))
      ++s;
    if (s == tables.symbols.size())
      return program;
  }
  return programs.back();
}

/// Lets steps run a program, in arenas of its own size. States that another one kept in its arenas go home before.
Status Executor::use(const Program &program) {
  if (inUse == &program)
    return {};
  if (inUse)
    if (Status status = copyKept(KeptCopy::ToHome); !status)
      return status;
  keptStates.clear();
  inUse = nullptr;
  // What is recorded is in those arenas.
  dropRecording();
  if (Status status = allocateArenas(program); !status)
    return status;
  peaks.assign(arenas.size(), 0);
  if (program.init)
    if (Status status = run(program.init, "init"); !status) {
      keptStates.clear();
      return status;
    }
  initBytesIn = bytesIn, initBytesRead = bytesRead;
  bytesIn = bytesOut = bytesRead = bytesWritten = stepNs = 0;
  times.clear(), deviceTimes.clear();
  inUse = &program;
  return {};
}

/// Some commands exchange data with other ranks, beside those that compute.
static bool communicates(const Model &tables) {
  return std::any_of(tables.streams.begin(), tables.streams.end(),
                     [](const auto &stream) { return stream.kind == SLUICE_STREAM_COMMUNICATE; });
}

Status Executor::prepare(uint32_t threads, const sluice_grid *const *grids) {
  const sluice_model &model = *tables.source;
  if (Status status = checkRanks(model.name, std::max(model.num_ranks, 1u), options.communicator); !status)
    return status;
  if (isOfPipeline() && model.planned_bytes_sent[options.communicator->rank] < 0)
    return failure("model '", model.name,
                   "' is compiled for another rank of a pipeline than this process, which is rank ",
                   options.communicator->rank, ", open the folder rank", options.communicator->rank);
  peaks.assign(tables.memories.size(), 0);
  stepState.trace = options.trace != 0;
  stepState.stop = options.stop;
  for (const sluice_bucket_desc &bucket : tables.buckets)
    programs.push_back({bucket.init,
                        bucket.step,
                        bucket.bounds,
                        {bucket.arena_bytes, bucket.arena_bytes + tables.memories.size()},
                        bucket.planned_bytes_in,
                        bucket.planned_bytes_out,
                        bucket.planned_bytes_read,
                        bucket.planned_bytes_written});
  std::vector<int64_t> most;
  for (const sluice_memory_desc &memory : tables.memories)
    most.push_back(memory.arena_bytes);
  programs.push_back({model.init, model.step, nullptr, most, model.planned_bytes_in, model.planned_bytes_out,
                      model.planned_bytes_read, model.planned_bytes_written});
  auto keep = [](auto &where, auto &&made) -> Status {
    if (!made)
      return tl::unexpected(made.error());
    where = std::move(*made);
    return {};
  };
  for (size_t d = 0; d < tables.devices.size(); ++d) {
    const sluice_device_desc &desc = tables.devices[d];
    auto isAlike = [&](const sluice_device_desc &other) { return other.kind == desc.kind; };
    const auto ordinal =
        std::count_if(tables.devices.begin(), tables.devices.begin() + static_cast<ptrdiff_t>(d), isAlike);
    const auto before = ranks.hostRank() * std::count_if(tables.devices.begin(), tables.devices.end(), isAlike);
    if (Status status = keep(devices.emplace_back(),
                             createDevice(desc, threads, static_cast<int>(ordinal), static_cast<int>(before), ranks));
        !status)
      return status;
    if (options.stop)
      devices.back()->stopBy(options.stop);
    devices.back()->useSymbols(current.symbols());
    for (const sluice_grid *const *grid = grids; grid && *grid; ++grid)
      if (Status status = devices.back()->load(**grid); !status)
        return status;
  }
  arenas.resize(tables.memories.size());
  files.resize(tables.memories.size());
  if (Status status = keep(state, allocateHome(model.state_bytes, "state store")); !status)
    return status;
  if (Status status = copyInitialStates(); !status)
    return status;
  for (const sluice_link_desc &desc : tables.links)
    links.push_back(std::make_unique<Link>(desc));
  streams.resize(tables.streams.size());
  const bool isHostAlone = tables.devices.size() == 1 && tables.devices[0].kind == SLUICE_DEVICE_CPU;
  const bool exchanges = communicates(tables);
  // Older models exchange on the streams that compute.
  if ((exchanges || model.num_ranks > 1) && !isHostAlone && ranks.needsCallingThread())
    return failure("model '", model.name, "' exchanges data on a second thread, and the communicator serves only the ",
                   "calling thread, start MPI with MPI_THREAD_SERIALIZED or compile for 'host'");
  runsInline = isHostAlone && !tables.hasFiles() && (!exchanges || ranks.needsCallingThread());
  return {};
}

bool Executor::isOfPipeline() const {
  const sluice_model &model = *tables.source;
  return model.num_ranks > 1 && std::any_of(model.planned_bytes_sent, model.planned_bytes_sent + model.num_ranks,
                                            [](int64_t bytes) { return bytes < 0; });
}

std::string Executor::digest() const {
  const sluice_model &model = *tables.source;
  Sha256 hash;
  // The ranks of a pipeline run different programs.
  if (isOfPipeline()) {
    for (const char *text : {model.name, model.compiler})
      hash.update(text, std::strlen(text) + 1);
    return hash.finish();
  }
  for (const char *text : {model.name, model.compiler, model.parameter_hash})
    hash.update(text, std::strlen(text) + 1);
  auto add = [&](int64_t number) { hash.update(&number, sizeof number); };
  for (int64_t number : {model.planned_bytes_in, model.planned_bytes_out, int64_t(model.num_commands),
                         int64_t(model.num_ops), model.parameter_bytes, model.state_bytes})
    add(number);
  for (const sluice_memory_desc &memory : tables.memories)
    add(memory.arena_bytes);
  for (uint32_t rank = 0; rank < model.num_ranks && model.planned_bytes_sent; ++rank)
    add(model.planned_bytes_sent[rank]);
  return hash.finish();
}

static Status checkText(const sluice_tensor_desc &input, const sluice_string *elements, int64_t bytes) {
  const int64_t count = bytes / static_cast<int64_t>(sizeof(sluice_string));
  for (int64_t i = 0; i < count; ++i)
    if (elements[i].size < 0 || (elements[i].size > 0 && !elements[i].data))
      return failure("input '", input.name, "' has ", elements[i].size, " bytes of text",
                     elements[i].data ? "" : " at a null address", ", element ", i,
                     ", give the address and the size of the text");
  return {};
}

template <typename T>
static Status checkIndices(const sluice_tensor_desc &input, const int64_t *range, const T *elements, int64_t bytes) {
  const int64_t low = range[0], high = range[1], other = range[2];
  const int64_t count = bytes / static_cast<int64_t>(sizeof(T));
  const bool isOpen = high == std::numeric_limits<int64_t>::max();
  for (int64_t i = 0; i < count; ++i)
    if (int64_t value = elements[i]; (value < low || value > high) && value != other)
      return failure("value ", value, " is out of range, element ", i, " of input '", input.name, "', give ",
                     low == high ? "the value "
                     : isOpen    ? "values of at least "
                                 : "values from ",
                     low, low == high || isOpen ? "" : " to " + std::to_string(high),
                     other < low || other > high ? ", or " + std::to_string(other) + " for an element to ignore" : "");
  return {};
}

/// Operators clamp indices, so that nothing outside a tensor is read: what is wrong is found before.
static Status checkIndices(const sluice_tensor_desc &input, const int64_t *range, const void *elements, int64_t bytes) {
  return input.element_type == kInt32Type ? checkIndices(input, range, static_cast<const int32_t *>(elements), bytes)
                                          : checkIndices(input, range, static_cast<const int64_t *>(elements), bytes);
}

/// What is wrong with an input's values; `data` holds the bytes of its current shape.
static Status checkInput(const sluice_tensor_desc &input, const int64_t *range, const void *data, int64_t bytes) {
  if (input.fixed && std::memcmp(input.fixed, data, static_cast<size_t>(bytes)) != 0)
    return failure(
        "input '", input.name,
        "' has a value other than the one for which the model was compiled, compile the model for this value");
  if (input.element_type == kStringType)
    return checkText(input, static_cast<const sluice_string *>(data), bytes);
  return range ? checkIndices(input, range, data, bytes) : Status();
}

Status Executor::step(const void *const *stepInputs, void *const *stepOutputs) {
  auto check = [&](const auto *buffers, const std::vector<sluice_tensor_desc> &descs, uint32_t port,
                   const char *what) -> Status {
    for (size_t i = 0; i < descs.size(); ++i)
      if (const int64_t bytes = current.bytes(port, i); bytes > 0 && (!buffers || !buffers[i]))
        return failure(what, " '", descs[i].name, "' has no buffer, give the address of its ", bytes, " bytes");
    return {};
  };
  if (Status status = current.beginStep(); !status)
    return status;
  if (Status status = check(stepInputs, tables.inputs, SLUICE_PORT_INPUT, "input"); !status)
    return status;
  if (Status status = check(stepOutputs, tables.outputs, SLUICE_PORT_OUTPUT, "output"); !status)
    return status;
  // An input without elements may have no memory.
  for (size_t i = 0; i < tables.inputs.size(); ++i)
    if (const int64_t bytes = current.bytes(SLUICE_PORT_INPUT, i); bytes > 0)
      if (Status status = checkInput(tables.inputs[i], current.range(i), stepInputs[i], bytes); !status)
        return status;
  if (isApart)
    return failure("an earlier step failed, so ranks may be at different points of the program, open the model again "
                   "on all ranks");
  if (Status status = ranks.meet(digest()); !status)
    return status;
  if (Status status = use(programOfStep()); !status)
    return status;
  // The first step loads code; a second one of the same extents may be one of many.
  auto isOf = [&](const std::optional<std::vector<int64_t>> &values) {
    return values && std::equal(values->begin(), values->end(), current.symbols());
  };
  if (isOf(lastSymbols) && !isOf(recordedSymbols) && recordingError.empty() && !stepState.trace)
    tryToRecord();
  const bool replays = isOf(recordedSymbols);
  inputs = stepInputs, outputs = stepOutputs;
  Status status = replays ? replayStep(stepInputs, stepOutputs) : run(inUse->step, "step");
  inputs = nullptr, outputs = nullptr;
  if (status)
    status = current.endStep();
  if (status)
    lastSymbols.emplace(current.symbols(), current.symbols() + tables.symbols.size());
  isApart = !status && tables.source->num_ranks > 1;
  return status;
}

void Executor::tryToRecord() {
  Status recorded;
  try {
    recorded = recordStep();
  } catch (const std::exception &error) {
    recorded = failure("the system gave no more memory: ", error.what(), ", free memory or end other programs");
  }
  if (recorded)
    recordedSymbols.emplace(current.symbols(), current.symbols() + tables.symbols.size());
  else
    giveUpRecording(recorded.error());
}

void Executor::dropRecording() {
  recording.reset();
  recordedSymbols.reset();
}

void Executor::giveUpRecording(std::string why) {
  dropRecording();
  recordingError = std::move(why);
}

/// The device that keeps a whole step, where one does.
Result<Device *> Executor::findRecorder() const {
  Device *only = nullptr;
  for (size_t d = 0; d < devices.size(); ++d)
    if (tables.devices[d].kind == SLUICE_DEVICE_CUDA) {
      if (only)
        return failure("the model runs on several GPUs");
      only = devices[d].get();
    }
  if (!only)
    return failure("");
  // Through NCCL too: who waits on the GPU alone never learns that a rank is gone.
  if (tables.source->num_ranks > 1 || communicates(tables))
    return failure("ranks exchange data, and the host waits for each exchange");
  if (options.spill_directory)
    return failure("tensors of the host are in files (--spill)");
  if (tables.hasFiles())
    return failure("the model reads and writes files");
  return only;
}

/// Keeps a step's commands, inputs and outputs in memory of the recording's own; then records them: memory cannot be
/// pinned between.
Status Executor::recordStep() {
  Result<Device *> gpu = findRecorder();
  if (!gpu)
    return tl::unexpected(gpu.error());
  dropRecording();
  pinnedInputs.clear(), pinnedOutputs.clear(), pinnedSlots.clear();
  pinnedBytes = 0;
  Status fits = countPinned(arenas[0]->bytes());
  if (fits)
    fits = countPinned(state->bytes());
  for (const std::vector<sluice_tensor_desc> *ports : {&tables.inputs, &tables.outputs})
    for (size_t i = 0; i < ports->size() && fits; ++i)
      fits = countPinned((*ports)[i].bytes);
  if (!fits)
    return fits;
  Result<std::unique_ptr<Recording>> made = (*gpu)->record(static_cast<uint32_t>(streams.size()));
  if (!made)
    return tl::unexpected(made.error());
  recording = std::move(*made);
  auto allocate = [&](const std::vector<sluice_tensor_desc> &ports, std::vector<char *> &buffers) -> Status {
    for (const sluice_tensor_desc &port : ports) {
      Result<char *> memory = recording->allocateHost(std::max<int64_t>(port.bytes, 1));
      if (!memory)
        return tl::unexpected(memory.error());
      buffers.push_back(*memory);
    }
    return {};
  };
  Status status = allocate(tables.inputs, pinnedInputs);
  if (status)
    status = allocate(tables.outputs, pinnedOutputs);
  for (Arena *arena : {arenas[0].get(), state.get()})
    if (status && arena->bytes() > 0)
      status = recording->pin(arena->base(), arena->bytes());
  if (!status)
    return status;
  stepState.clear();
  allocator.giveBack();
  issued = 0, bytesIn = bytesOut = 0;
  inputs = reinterpret_cast<const void *const *>(pinnedInputs.data());
  outputs = reinterpret_cast<void *const *>(pinnedOutputs.data());
  toRecord.clear();
  isRecording = true;
  int32_t result = inUse->step(&api, &context);
  isRecording = false;
  if (stepState.failed.load(std::memory_order_acquire))
    return failure(stepState.message());
  if (result != 0)
    return failure("the step of the model failed with code ", result, ", check the values of the model's inputs");
  for (const KeptCommand &each : toRecord)
    if (Status added = recording->add(each.command, each.waits, each.numWaits); !added)
      return failure(describe(each.command), ": ", added.error());
  return recording->finish();
}

Status Executor::replayStep(const void *const *stepInputs, void *const *stepOutputs) {
  startNs = nowNs();
  for (size_t i = 0; i < pinnedInputs.size(); ++i)
    if (const int64_t bytes = current.bytes(SLUICE_PORT_INPUT, i); bytes > 0)
      std::memcpy(pinnedInputs[i], stepInputs[i], static_cast<size_t>(bytes));
  Status status = recording->run();
  for (size_t i = 0; i < pinnedOutputs.size() && status; ++i)
    if (const int64_t bytes = current.bytes(SLUICE_PORT_OUTPUT, i); bytes > 0)
      std::memcpy(stepOutputs[i], pinnedOutputs[i], static_cast<size_t>(bytes));
  stepNs = nowNs() - startNs;
  if (status)
    return status;
  // Command by command, the next failure names its operator.
  giveUpRecording(status.error());
  return failure("a step that was launched as one CUDA graph failed, ", status.error(),
                 ", run the step again: its commands are then launched one by one, and the error names the operator");
}

/// Before memory is pinned, which the system cannot use for anything else then.
Status Executor::countPinned(int64_t bytes) {
  const int64_t most = int64_t(sysconf(_SC_PHYS_PAGES)) / 4 * sysconf(_SC_PAGESIZE);
  if (bytes > most - pinnedBytes)
    return failure("the buffers that a step copies from and to exceed a quarter of the host's memory");
  pinnedBytes += bytes;
  return {};
}

/// The mapped file itself cannot be pinned.
Result<char *> Executor::pinnedParameters(const sluice_slot &slot, char *address) {
  char *&copy = pinnedSlots[{slot.offset, slot.bytes}];
  if (copy || slot.bytes == 0)
    return copy;
  if (Status fits = countPinned(slot.bytes); !fits)
    return tl::unexpected(fits.error());
  Result<char *> memory = recording->allocateHost(slot.bytes);
  if (!memory)
    return memory;
  std::memcpy(*memory, address, static_cast<size_t>(slot.bytes));
  return copy = *memory;
}

std::string Executor::notes() const {
  std::string lines;
  auto add = [&](const std::string &line) { lines += line.empty() ? "" : line + "\n"; };
  for (const std::unique_ptr<Device> &device : devices)
    add(device->notes());
  if (!recordingError.empty())
    add("steps run command by command: " + recordingError);
  return lines;
}

Status Executor::run(int32_t (*program)(const sluice_api *, sluice_context *), const char *what) {
  stepState.clear();
  for (const std::unique_ptr<Device> &device : devices)
    device->beginStep(stepState.trace);
  ranks.beginStep();
  allocator.giveBack();
  events.clear(), queued.clear(), times.clear(), deviceTimes.clear();
  issued = 0;
  bytesIn = bytesOut = bytesRead = bytesWritten = 0;
  startNs = nowNs();
  int32_t result = program(&api, &context);
  for (std::unique_ptr<Stream> &stream : streams)
    if (stream)
      stream->drain();
  stepNs = nowNs() - startNs;
  collectTrace();
  if (experts)
    experts->endStep();
  if (stepState.failed.load(std::memory_order_acquire))
    return failure(stepState.message());
  if (result != 0)
    return failure("model's ", what, " failed with code ", result, ", after command ", issued);
  for (const std::unique_ptr<Device> &device : devices)
    if (Status status = device->endStep(); !status)
      return status;
  if (!parameterFile)
    return {};
  // Rows that operators looked up where the file is mapped are held no longer than a step.
  if (bytesRead > 0 || experts)
    (void)madvise(parameters, static_cast<size_t>(model()->parameter_bytes), MADV_DONTNEED);
  // What was read may be of two versions.
  return parameterFile->checkUnchanged();
}

void Executor::collectTrace() {
  for (const Command *command : queued)
    if (command->endNs != 0) // Else skipped: the step had failed.
      keepTime(*command);
}

void Executor::keepTime(const Command &command) {
  times.push_back(
      {command.number, command.stream, command.op, command.tensor, command.startNs - startNs, command.endNs - startNs});
  deviceTimes.push_back(command.ran ? sluice_device_time{command.ran->startNs - startNs, command.ran->endNs - startNs}
                                    : sluice_device_time{-1, -1});
}

Status Executor::slowDevice(uint32_t index, double factor) {
  if (index >= devices.size())
    return failure("device ", index, " does not exist, give 0 to ", devices.size() - 1);
  if (!(factor >= 1 && factor <= 1e6))
    return failure("device '", tables.devices[index].name, "' cannot be slowed by ", factor, ", give 1 to 1000000");
  if (!devices[index]->slow(factor))
    return failure("device '", tables.devices[index].name, "' is not emulated, give an emulated device");
  return {};
}

void Executor::stats(sluice_stats &out) const {
  out.step_ns = stepNs;
  out.bytes_in = bytesIn, out.bytes_out = bytesOut;
  out.init_bytes_in = initBytesIn;
  out.bytes_sent = ranks.bytesSent();
  out.parameter_bytes = tables.source->parameter_bytes;
  out.arena_peak_bytes = peaks.data();
  const Program &program = inUse ? *inUse : programs.back();
  out.planned_bytes_in = program.plannedBytesIn, out.planned_bytes_out = program.plannedBytesOut;
  out.planned_arena_bytes = program.arenaBytes.data();
  out.bounds = program.bounds;
  out.bytes_read = bytesRead, out.bytes_written = bytesWritten;
  out.init_bytes_read = initBytesRead;
  out.planned_bytes_read = program.plannedBytesRead, out.planned_bytes_written = program.plannedBytesWritten;
  out.device_exchange = nullptr;
  for (const std::unique_ptr<Device> &device : devices)
    if (const char *how = device->exchangesBy())
      out.device_exchange = how;
}

void Executor::expertStats(sluice_expert_stats &out) const {
  if (!experts)
    return;
  const ExpertPool::Figures figures = experts->figures();
  const std::vector<uint32_t> uses = experts->recordedUses();
  out.experts = static_cast<uint32_t>(tables.experts.size()), out.slots = experts->numSlots();
  out.uses = figures.uses, out.hits = figures.hits, out.bytes_read = figures.bytesRead;
  out.recorded_uses = static_cast<int64_t>(uses.size()), out.recorded_hits = figures.recordedHits;
  out.best_hits = mostHits(uses, experts->numSlots());
}

// Nothing may be thrown into the model's code.
template <typename Body>
int32_t Executor::guarded(uint32_t command, const Body &body) {
  if (stepState.failed.load(std::memory_order_acquire))
    return 1;
  try {
    if (Status status = body(); !status)
      stepState.fail(command, "command " + std::to_string(command) + ": " + status.error());
  } catch (const std::exception &error) {
    stepState.fail(
        command,
        failure("cannot issue command ", command, ", ", error.what(), ", free memory or end other programs").value());
  }
  return stepState.failed.load(std::memory_order_acquire) ? 1 : 0;
}

Status Executor::checkIssue(uint32_t command, uint32_t stream, const uint32_t *waits, uint32_t numWaits) const {
  if (command != issued)
    return failure("the command is issued out of order: command ", issued,
                   " must be issued next, compile the model again");
  if (stream >= tables.streams.size())
    return failure("stream ", stream, " does not exist, compile the model again");
  for (uint32_t i = 0; i < numWaits; ++i)
    if (waits[i] >= command)
      return failure("the command waits for command ", waits[i], ", which is not issued yet, compile the model again");
  return {};
}

// Each operand of each launch comes by here, and small models' kernels take no longer than this does: what makes text
// is apart.
std::optional<Executor::Space> Executor::spaceOf(const sluice_slot &slot) const {
  if (slot.memory >= arenas.size() || !arenas[slot.memory])
    return std::nullopt;
  if (slot.segment == SLUICE_SEGMENT_ARENA)
    return Space{arenas[slot.memory]->base(), arenas[slot.memory]->bytes()};
  if (slot.memory != 0)
    return std::nullopt;
  switch (slot.segment) {
  case SLUICE_SEGMENT_PARAMETER:
    return Space{parameters, tables.source->parameter_bytes};
  case SLUICE_SEGMENT_STATE:
    return Space{state->base(), state->bytes()};
  case SLUICE_SEGMENT_INPUT:
    if (!inputs || slot.index >= tables.inputs.size())
      return std::nullopt;
    return Space{static_cast<char *>(const_cast<void *>(inputs[slot.index])), tables.inputs[slot.index].bytes};
  case SLUICE_SEGMENT_OUTPUT:
    if (!outputs || slot.index >= tables.outputs.size())
      return std::nullopt;
    return Space{static_cast<char *>(outputs[slot.index]), tables.outputs[slot.index].bytes};
  default:
    return std::nullopt;
  }
}

std::optional<char *> Executor::resolve(const sluice_slot &slot) {
  const std::optional<Space> space = spaceOf(slot);
  if (!space || slot.offset < 0 || slot.bytes < 0 || slot.offset > space->bytes ||
      slot.bytes > space->bytes - slot.offset)
    return std::nullopt;
  if (slot.segment == SLUICE_SEGMENT_ARENA)
    peaks[slot.memory] = std::max(peaks[slot.memory], slot.offset + slot.bytes);
  return space->base + slot.offset;
}

std::string Executor::whyUnresolved(const sluice_slot &slot) const {
  const auto said = [](const auto &...parts) { return failure(parts...).value(); };
  if (slot.memory >= arenas.size())
    return said("uses memory ", slot.memory, ", which does not exist");
  if (isFile(slot.memory))
    return said("uses ", slot.bytes, " bytes at offset ", slot.offset, " of ",
                slot.segment == SLUICE_SEGMENT_PARAMETER ? "the parameters in" : "the arena of", " the file '",
                tables.memories[slot.memory].name, "', which has only ",
                slot.segment == SLUICE_SEGMENT_PARAMETER ? tables.source->parameter_bytes
                : files[slot.memory]                     ? files[slot.memory]->bytes()
                                                         : 0);
  const std::optional<Space> space = spaceOf(slot);
  const auto outside = [&](const char *what, const char *name) {
    return said("uses ", slot.bytes, " bytes at offset ", slot.offset, " of ", what, " '", name, "', which has only ",
                space->bytes, " bytes");
  };
  if (slot.segment == SLUICE_SEGMENT_ARENA)
    return outside("the arena of memory", tables.memories[slot.memory].name);
  if (slot.memory != 0)
    return said("uses segment ", slot.segment, " of memory '", tables.memories[slot.memory].name,
                "', which has only an arena");
  switch (slot.segment) {
  case SLUICE_SEGMENT_PARAMETER:
    return outside("parameters of model", tables.source->name);
  case SLUICE_SEGMENT_STATE:
    return outside("states of model", tables.source->name);
  case SLUICE_SEGMENT_INPUT:
    return space ? outside("input", tables.inputs[slot.index].name)
                 : said("uses input ", slot.index, ", which this program does not have");
  case SLUICE_SEGMENT_OUTPUT:
    return space ? outside("output", tables.outputs[slot.index].name)
                 : said("uses output ", slot.index, ", which this program does not have");
  default:
    return said("uses segment ", slot.segment, ", which does not exist");
  }
}

/// How many bytes of a slot there are: a caller's buffer ends with the input's or output's current shape, elsewhere the
/// slot has the bytes of the upper bounds.
int64_t Executor::heldBytes(const sluice_slot &slot) const {
  if (slot.segment == SLUICE_SEGMENT_INPUT)
    return std::max<int64_t>(current.bytes(SLUICE_PORT_INPUT, slot.index) - slot.offset, 0);
  if (slot.segment == SLUICE_SEGMENT_OUTPUT)
    return std::max<int64_t>(current.bytes(SLUICE_PORT_OUTPUT, slot.index) - slot.offset, 0);
  return INT64_MAX;
}

std::string Executor::describe(const Command &command) const {
  return command.op != UINT32_MAX ? "operator '" + std::string(tables.opName(command.op)) + "'"
                                  : "copy of tensor '" + std::string(tables.tensorName(command.tensor)) + "'";
}

Command Executor::newCommand(uint32_t number, uint32_t stream) const {
  Command command{};
  command.number = number, command.stream = stream;
  command.op = command.tensor = UINT32_MAX;
  return command;
}

void Executor::issue(const Command &command, const uint32_t *waits, uint32_t numWaits) {
  const CommandNames names{tables.source->op_names, tables.source->tensor_names};
  Device &device = *devices[tables.streams[command.stream].device];
  if (isRecording) {
    if (const sluice_device_desc &on = tables.devices[tables.streams[command.stream].device];
        on.kind != SLUICE_DEVICE_CUDA)
      stepState.fail(command.number, describe(command) + " runs on device '" + on.name + "', which is not a GPU");
    if (command.link && command.link->isThrottled())
      stepState.fail(command.number, describe(command) + " goes over a link that is throttled");
    auto *copied = allocator.take<uint32_t>(numWaits);
    std::copy_n(waits, numWaits, copied);
    toRecord.push_back({command, copied, numWaits});
    ++issued;
    return;
  }
  if (runsInline) {
    Command now = command;
    runCommand(now, device, stepState, names);
    if (stepState.trace)
      keepTime(now);
    ++issued;
    return;
  }
  std::unique_ptr<Stream> &stream = streams[command.stream];
  if (!stream)
    stream = std::make_unique<Stream>(device, stepState, names);
  auto *kept = new (allocator.take<Command>(1)) Command(command);
  auto *events = allocator.take<Event>(numWaits);
  for (uint32_t i = 0; i < numWaits; ++i)
    if (const Event &event = this->events[waits[i]]; event.stream != stream.get())
      events[kept->numWaits++] = event;
  kept->waits = events;
  if (stepState.trace)
    queued.push_back(kept);
  this->events.push_back(stream->push(kept));
  ++issued;
}

int32_t Executor::launch(const LaunchCall &call) {
  return guarded(call.command, [&]() -> Status {
    if (call.op >= tables.source->num_ops || !call.kernel)
      return failure("operator ", call.op, " does not exist or has no kernel, compile the model again");
    auto named = [&](const std::string &what) {
      return failure("operator '", tables.opName(call.op), "' ", what, ", compile the model again");
    };
    if (Status status = checkIssue(call.command, call.stream, call.waits, call.numWaits); !status)
      return named("cannot be launched: " + status.error());
    const sluice_stream_desc &streamDesc = tables.streams[call.stream];
    if (streamDesc.kind != SLUICE_STREAM_COMPUTE && streamDesc.kind != SLUICE_STREAM_COMMUNICATE)
      return named("is launched on a stream that only copies");
    uint32_t memory = tables.devices[streamDesc.device].memory;

    Command command = newCommand(call.command, call.stream);
    command.op = call.op, command.kernel = call.kernel;
    if (runsInline) {
      inlineArgs.resize(std::max<size_t>(inlineArgs.size(), call.numSlots));
      command.args = inlineArgs.data();
    } else {
      command.args = allocator.take<void *>(call.numSlots);
    }
    for (uint32_t i = 0; i < call.numSlots; ++i) {
      const std::optional<char *> address = resolve(call.slots[i]);
      if (!address)
        return named(whyUnresolved(call.slots[i]));
      if (call.slots[i].memory != memory)
        return named("runs on device '" + std::string(tables.devices[streamDesc.device].name) + "' and uses memory '" +
                     tables.memories[call.slots[i].memory].name + "'");
      command.args[i] = *address;
    }
    Result<const ExpertLaunch *> expert = expertLaunch(call);
    if (!expert)
      return named(expert.error());
    command.expert = *expert;
    issue(command, call.waits, call.numWaits);
    return {};
  });
}

int32_t Executor::copy(const CopyCall &call) {
  return guarded(call.command, [&]() -> Status {
    if (call.tensor >= tables.source->num_tensors)
      return failure("tensor ", call.tensor, ", which is to be copied, does not exist, compile the model again");
    auto named = [&](const std::string &what) {
      return failure("copy of tensor '", tables.tensorName(call.tensor), "' ", what, ", compile the model again");
    };
    if (Status status = checkIssue(call.command, call.stream, call.waits, call.numWaits); !status)
      return named("cannot be issued: " + status.error());
    if (call.bytes < 0 || call.bytes > call.destination->bytes || call.bytes > call.source->bytes)
      return named("moves " + std::to_string(call.bytes) + " bytes from a slot of " +
                   std::to_string(call.source->bytes) + " to one of " + std::to_string(call.destination->bytes));
    std::optional<CopyEnd> from = resolveEnd(*call.source);
    const std::optional<CopyEnd> to = resolveEnd(*call.destination);
    if (!from || !to)
      return named(whyUnresolved(from ? *call.destination : *call.source));
    if (isRecording && call.source->segment == SLUICE_SEGMENT_PARAMETER) {
      Result<char *> pinned = pinnedParameters(*call.source, from->address);
      if (!pinned)
        return tl::unexpected(pinned.error());
      from->address = *pinned;
    }
    if (call.destination->segment == SLUICE_SEGMENT_INPUT || call.destination->segment == SLUICE_SEGMENT_PARAMETER)
      return named("writes an input or a parameter");
    if (Status status = checkCopyPath(call); !status)
      return named(status.error());

    const int64_t bytes = std::min({call.bytes, heldBytes(*call.source), heldBytes(*call.destination)});
    Command command = newCommand(call.command, call.stream);
    command.tensor = call.tensor;
    command.destination = to->address, command.source = from->address, command.bytes = bytes;
    command.sourceMemory = call.source->memory;
    const bool reads = isFile(call.source->memory), writes = isFile(call.destination->memory);
    command.file = from->file ? from->file : to->file;
    command.fileOffset = from->file ? call.source->offset : call.destination->offset;
    // Both slots are the tensor's alone, but behind a parameter there is another one.
    command.room = reads ? call.destination->bytes : std::min(call.source->bytes, call.destination->bytes);
    if (call.source->memory != call.destination->memory) {
      command.link = links[call.link].get();
      bytesRead += reads ? bytes : 0;
      bytesWritten += writes ? bytes : 0;
      bytesIn += call.destination->memory != 0 && !reads && !writes ? bytes : 0;
      bytesOut += call.source->memory != 0 && !reads && !writes ? bytes : 0;
    }
    // An init loads what stays.
    if (!inUse && call.source->segment == SLUICE_SEGMENT_STATE && call.destination->segment == SLUICE_SEGMENT_ARENA)
      keptStates.push_back({from->address, to->address, call.bytes, devices[tables.streams[call.stream].device].get()});
    issue(command, call.waits, call.numWaits);
    return {};
  });
}

} // namespace sluice::runtime
