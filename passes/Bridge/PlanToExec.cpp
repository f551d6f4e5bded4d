//===- PlanToExec.cpp - A plan as an exec program -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/Bridge/PlanToExec.h"

#include "dialects/Dataflow/IR/FirstError.h"
#include "passes/Bridge/PlanAttributes.h"
#include "sluice/Machine/FileTier.h"
#include "sluice/Support/Units.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>
#include <limits>
#include <map>

using namespace mlir;

namespace sluice {

namespace {

std::string suffix(StreamKind kind) { return "." + exec::stringifyStreamKind(toExec(kind)).str(); }

class Builder {
public:
  Builder(OpBuilder &builder, const Machine &machine, ArrayRef<PlannedStep> steps, const ExecBinding &binding)
      : builder(builder), loc(builder.getUnknownLoc()), machine(machine), steps(steps), binding(binding),
        graph(steps.back().graph), plan(steps.back().plan) {}

  Expected<exec::ProgramOp> build();

private:
  Status assignHomes();
  Status checkOperators();
  void declareMachine();
  void use(const PlannedStep &step);
  Status addInit(DenseI64ArrayAttr bounds);
  Status addStep(DenseI64ArrayAttr bounds);
  Value addSlot(ResidencyId id);
  /// In the host's memory, or in a file.
  Value addHome(TensorId tensor, MemoryId memory);
  Value addArena(const Residency &residency, bool resident);
  Status addCommand(CommandId id);
  /// One end of a copy.
  struct Place {
    MemoryId memory;
    Value slot;
  };
  Value addCopy(Place from, Place to, TensorId tensor, LinkId link, StringRef stream, ArrayRef<Value> waits);
  Expected<std::string> streamInto(MemoryId memory, StreamKind kind);
  MemoryId homeMemory(TensorId tensor) const;
  std::string symbolFor(std::string name, StringRef kind);
  const std::string &streamOf(const Stream &stream, size_t number = 0);
  Type slotType() { return exec::SlotType::get(builder.getContext()); }
  Type eventType() { return exec::EventType::get(builder.getContext()); }
  FlatSymbolRefAttr ref(StringRef name) { return FlatSymbolRefAttr::get(builder.getContext(), name); }
  StringAttr text(StringRef value) { return builder.getStringAttr(value); }
  bool arenaKept(const Residency &residency) const { return residency.initial && residency.segment == Segment::Arena; }

  OpBuilder &builder;
  Location loc;
  const Machine &machine;
  ArrayRef<PlannedStep> steps;
  const ExecBinding &binding;
  // Of the step being built.
  const Graph *graph;
  const Plan *plan;

  exec::ProgramOp program;
  OpBuilder::InsertPoint declarations;
  /// Symbols of the program; those of the machine's parts and the step's streams, by number.
  llvm::StringSet<> symbols;
  std::vector<std::string> memorySymbols, deviceSymbols, linkSymbols, streamSymbols;
  /// By device, kind, and which one of these.
  std::map<std::tuple<DeviceId, StreamKind, size_t>, std::string> streams;
  /// Per tensor: what its home is, and where.
  struct Home {
    bool known = false;
    exec::HomeKind kind = exec::HomeKind::Parameter;
    int64_t position = 0;
  };
  std::vector<Home> homes;
  std::vector<Value> slots;  ///< Per residency, once made.
  std::vector<Value> events; ///< Per command.
  /// Per state tensor: commands so far that read its home.
  std::vector<std::vector<CommandId>> homeReaders;
};

Status Builder::assignHomes() {
  homes.assign(graph->numTensors(), {});
  auto give = [&](TensorId tensor, exec::HomeKind kind, int64_t position) -> Status {
    if (tensor.index() >= homes.size())
      return makeError(ErrorCode::Internal, "an input or output is bound to a tensor that is not in the graph, this is "
                                            "a bug of Sluice, please report it");
    Home &home = homes[tensor.index()];
    if (home.known)
      return makeError(ErrorCode::Unsupported, "tensor '", graph->tensor(tensor).name,
                       "' is more than one of input, output and state, insert an identity operator between them");
    home = {true, kind, position};
    return {};
  };
  for (size_t i = 0; i < graph->numTensors(); ++i) {
    TensorId id(i);
    const Tensor &tensor = graph->tensor(id);
    Status status;
    if (tensor.kind == TensorKind::Parameter)
      status = give(id, exec::HomeKind::Parameter, binding.homeOffsets[i]);
    if (tensor.kind == TensorKind::State && !tensor.updates.valid())
      status = give(id, exec::HomeKind::State, binding.homeOffsets[i]);
    if (!status)
      return status;
  }
  for (size_t i = 0; i < graph->numTensors(); ++i)
    if (TensorId old = graph->tensor(TensorId(i)).updates; old.valid()) {
      if (graph->tensor(TensorId(i)).bytes != graph->tensor(old).bytes)
        return makeError(ErrorCode::Unsupported, "state '", graph->tensor(old).name, "' changes its size, from ",
                         graph->tensor(old).bytes, " to ", graph->tensor(TensorId(i)).bytes,
                         " bytes, pad the state to the largest size");
      SLUICE_RETURN_IF_ERROR(give(TensorId(i), exec::HomeKind::State, homes[old.index()].position));
    }
  for (size_t i = 0; i < binding.inputs.size(); ++i)
    SLUICE_RETURN_IF_ERROR(give(binding.inputs[i].tensor, exec::HomeKind::Input, static_cast<int64_t>(i)));
  for (size_t i = 0; i < binding.outputs.size(); ++i)
    SLUICE_RETURN_IF_ERROR(give(binding.outputs[i].tensor, exec::HomeKind::Output, static_cast<int64_t>(i)));
  return {};
}

Status Builder::checkOperators() {
  if (binding.kernels.size() != graph->numOperators() || binding.homeOffsets.size() != graph->numTensors())
    return makeError(ErrorCode::Internal, "binding has ", binding.kernels.size(), " kernels and ",
                     binding.homeOffsets.size(), " offsets for ", graph->numOperators(), " operators and ",
                     graph->numTensors(), " tensors");
  return {};
}

/// A symbol that is not taken: the name, where another declaration has it with the kind added.
std::string Builder::symbolFor(std::string name, StringRef kind) {
  if (symbols.insert(name).second)
    return name;
  name += ("." + kind).str();
  while (!symbols.insert(name).second)
    name += "_";
  return name;
}

/// The program's stream of that number among those of a device and kind, declared when it is first asked for.
const std::string &Builder::streamOf(const Stream &stream, size_t number) {
  std::string &symbol = streams[{stream.device, stream.kind, number}];
  if (!symbol.empty())
    return symbol;
  OpBuilder::InsertionGuard guard(builder);
  builder.restoreInsertionPoint(declarations);
  symbol = symbolFor(machine.device(stream.device).name + suffix(stream.kind), "stream");
  exec::StreamOp::create(builder, loc, symbol, toExec(stream.kind), deviceSymbols[stream.device.index()]);
  declarations = builder.saveInsertionPoint();
  return symbol;
}

void Builder::use(const PlannedStep &step) {
  graph = step.graph;
  plan = step.plan;
  streamSymbols.clear();
  std::map<std::pair<DeviceId, StreamKind>, size_t> counts;
  for (const Stream &stream : plan->streams)
    streamSymbols.push_back(streamOf(stream, counts[{stream.device, stream.kind}]++));
}

void Builder::declareMachine() {
  auto i64 = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  auto f64 = [&](double value) { return builder.getF64FloatAttr(value); };
  // The runtime reports the machine's names, whatever the symbols.
  auto called = [&](const std::string &name, const std::string &symbol) {
    return name == symbol ? StringAttr() : text(name);
  };
  for (size_t i = 0; i < machine.memories.size(); ++i) {
    const Memory &memory = machine.memories[i];
    const std::string &symbol = memorySymbols.emplace_back(symbolFor(memory.name, "memory"));
    bool limited = memory.capacityBytes != std::numeric_limits<int64_t>::max();
    int64_t arena = 0;
    for (const PlannedStep &step : steps)
      arena = std::max(arena, step.plan->arenaBytes[i]);
    exec::MemoryOp::create(builder, loc, text(symbol), called(memory.name, symbol),
                           memory.kind == MemoryKind::File ? builder.getUnitAttr() : UnitAttr(), i64(arena),
                           limited ? i64(memory.capacityBytes) : IntegerAttr());
  }
  for (const Device &device : machine.devices) {
    const std::string &symbol = deviceSymbols.emplace_back(symbolFor(device.name, "device"));
    exec::DeviceOp::create(builder, loc, symbol, called(device.name, symbol), toExec(device.kind),
                           memorySymbols[device.memory.index()], std::max(device.threads, 1), APFloat(device.speed));
  }
  for (const Link &link : machine.links) {
    linkSymbols.push_back(symbolFor(machine.memory(link.a).name + "." + machine.memory(link.b).name, "link"));
    exec::LinkOp::create(builder, loc, text(linkSymbols.back()), ref(memorySymbols[link.a.index()]),
                         ref(memorySymbols[link.b.index()]), f64(link.bytesPerSec), f64(link.duplexBytesPerSec),
                         i64(link.latencyNs), link.throttle ? builder.getUnitAttr() : UnitAttr());
  }
  declarations = builder.saveInsertionPoint();
  for (const PlannedStep &step : steps)
    use(step);
  builder.restoreInsertionPoint(declarations);
  for (const ExecBinding::Port &port : binding.inputs) {
    auto input = exec::InputOp::create(builder, loc, port.name, port.type);
    if (!port.fixed.empty())
      exec::ExecDialect::FixedAttrHelper(input->getContext()).setAttr(input, builder.getDenseI8ArrayAttr(port.fixed));
    if (port.range)
      exec::ExecDialect::RangeAttrHelper(input->getContext()).setAttr(input, port.range);
  }
  for (const ExecBinding::Port &port : binding.outputs)
    exec::OutputOp::create(builder, loc, port.name, port.type);
  for (const ExecBinding::Port &port : binding.states)
    exec::StateOp::create(builder, loc, port.name, binding.homeOffsets[port.tensor.index()], port.type,
                          port.cuts.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(port.cuts),
                          port.cutBlocks.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(port.cutBlocks),
                          port.length);
  for (const ExecBinding::Expert &expert : binding.experts)
    exec::ExpertOp::create(builder, loc, graph->op(expert.op).name, expert.group, expert.element, expert.mask,
                           expert.offset, expert.bytes);
}

Value Builder::addHome(TensorId tensor, MemoryId memory) {
  const Tensor &data = graph->tensor(tensor);
  const Home &home = homes[tensor.index()];
  bool resident = home.kind == exec::HomeKind::State && !data.updates.valid();
  return exec::HomeOp::create(builder, loc, slotType(), home.kind, home.position,
                              machine.isFile(memory) ? ref(memorySymbols[memory.index()]) : FlatSymbolRefAttr(),
                              data.bytes, data.name, resident,
                              data.updates.valid() ? text(graph->tensor(data.updates).name) : StringAttr());
}

Value Builder::addArena(const Residency &residency, bool resident) {
  StringAttr tensor, replaced;
  if (residency.tensor.valid()) {
    const Tensor &data = graph->tensor(residency.tensor);
    tensor = text(data.name);
    if (data.updates.valid())
      replaced = text(graph->tensor(data.updates).name);
  }
  return exec::SlotOp::create(builder, loc, slotType(), memorySymbols[residency.memory.index()], residency.offset,
                              residency.bytes, tensor, resident, replaced);
}

Value Builder::addSlot(ResidencyId id) {
  Value &slot = slots[id.index()];
  const Residency &residency = plan->residencies[id.index()];
  if (!slot)
    slot = residency.segment == Segment::Home ? addHome(residency.tensor, residency.memory)
                                              : addArena(residency, residency.initial);
  return slot;
}

Value Builder::addCopy(Place from, Place to, TensorId tensor, LinkId link, StringRef stream, ArrayRef<Value> waits) {
  int64_t bytes = graph->tensor(tensor).bytes;
  StringRef over = linkSymbols[link.index()];
  if (machine.isFile(from.memory))
    return exec::ReadOp::create(builder, loc, eventType(), from.slot, to.slot, bytes, over, stream, waits);
  if (machine.isFile(to.memory))
    return exec::WriteOp::create(builder, loc, eventType(), from.slot, to.slot, bytes, over, stream, waits);
  if (from.memory == Machine::hostMemory())
    return exec::SwapInOp::create(builder, loc, eventType(), from.slot, to.slot, bytes, over, stream, waits);
  if (to.memory == Machine::hostMemory())
    return exec::SwapOutOp::create(builder, loc, eventType(), from.slot, to.slot, bytes, over, stream, waits);
  return exec::CopyOp::create(builder, loc, eventType(), from.slot, to.slot, bytes, over, stream, waits);
}

/// The stream of the device that owns a memory on which tensors come to it; declared where no step has a use for one.
Expected<std::string> Builder::streamInto(MemoryId memory, StreamKind kind) {
  for (size_t i = 0; i < machine.devices.size(); ++i)
    if (machine.devices[i].memory == memory)
      return streamOf({DeviceId(i), kind});
  return makeError(ErrorCode::Internal, "memory '", machine.memory(memory).name, "' has no device");
}

/// Where the step finds a tensor's home: where its plan says, else where homes are by default.
MemoryId Builder::homeMemory(TensorId tensor) const {
  for (const Residency &residency : plan->residencies)
    if (residency.segment == Segment::Home && residency.tensor == tensor)
      return residency.memory;
  const MemoryId file = fileBelowHost(machine);
  return file.valid() ? file : Machine::hostMemory();
}

Status Builder::addInit(DenseI64ArrayAttr bounds) {
  if (std::none_of(plan->residencies.begin(), plan->residencies.end(),
                   [&](const Residency &r) { return arenaKept(r); }))
    return {};
  auto init = exec::InitOp::create(builder, loc, bounds);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&init.getBody().front());
  for (const Residency &residency : plan->residencies) {
    if (!arenaKept(residency))
      continue;
    // A state that stays has its home in the state store: from there it is loaded, and there callers read it.
    const bool isState = graph->tensor(residency.tensor).kind == TensorKind::State;
    const MemoryId from = isState ? Machine::hostMemory() : homeMemory(residency.tensor);
    LinkId link = machine.findLink(from, residency.memory);
    if (!link.valid())
      return makeError(ErrorCode::Unsupported, "tensor '", graph->tensor(residency.tensor).name,
                       "' is in the arena of memory '", machine.memory(residency.memory).name,
                       "' between steps, and no link joins this memory to memory '", machine.memory(from).name,
                       "' with the tensor's home, make a plan that uses the tensor at its home");
    SLUICE_ASSIGN_OR_RETURN(
        std::string stream,
        streamInto(residency.memory, machine.isFile(from) ? StreamKind::FileIn : StreamKind::SwapIn));
    const Place arena{residency.memory, addArena(residency, false)};
    const Place home{from, addHome(residency.tensor, from)};
    addCopy(home, arena, residency.tensor, link, stream, {});
  }
  return {};
}

Status Builder::addCommand(CommandId id) {
  const Command &command = plan->commands[id.index()];
  std::vector<CommandId> waitIds = command.waits;
  SmallVector<Value> reads, writes, waits;
  for (ResidencyId read : command.reads) {
    reads.push_back(addSlot(read));
    const Residency &residency = plan->residencies[read.index()];
    if (residency.segment == Segment::Home && graph->tensor(residency.tensor).kind == TensorKind::State)
      homeReaders[residency.tensor.index()].push_back(id);
  }
  for (auto [i, write] : llvm::enumerate(command.writes)) {
    writes.push_back(addSlot(write));
    const Residency &residency = plan->residencies[write.index()];
    TensorId old = residency.segment == Segment::Home ? graph->tensor(residency.tensor).updates : TensorId();
    if (!old.valid())
      continue;
    for (CommandId reader : homeReaders[old.index()])
      if (reader != id)
        waitIds.push_back(reader);
    for (auto [j, read] : llvm::enumerate(command.reads)) {
      const Residency &source = plan->residencies[read.index()];
      if (command.kind != CommandKind::Launch || source.segment != Segment::Home || source.tensor != old)
        continue;
      const auto &inPlace = graph->op(command.op).inPlace;
      if (std::find(inPlace.begin(), inPlace.end(), std::pair(uint32_t(j), uint32_t(i))) == inPlace.end())
        return makeError(ErrorCode::Unsupported, "operator '", graph->op(command.op).name, "' writes state '",
                         graph->tensor(old).name,
                         "' over the value that this operator reads, and the operator cannot work in place, insert an "
                         "identity operator after it");
    }
  }
  std::sort(waitIds.begin(), waitIds.end());
  waitIds.erase(std::unique(waitIds.begin(), waitIds.end()), waitIds.end());
  for (CommandId wait : waitIds)
    if (plan->commands[wait.index()].stream != command.stream)
      waits.push_back(events[wait.index()]);

  const std::string &stream = streamSymbols[command.stream.index()];
  if (command.kind == CommandKind::Launch) {
    events[id.index()] = exec::LaunchOp::create(builder, loc, eventType(), binding.kernels[command.op.index()],
                                                graph->op(command.op).name, reads, writes, stream, waits);
    return {};
  }
  const Residency &from = plan->residencies[command.reads[0].index()],
                  &to = plan->residencies[command.writes[0].index()];
  events[id.index()] =
      addCopy({from.memory, reads[0]}, {to.memory, writes[0]}, from.tensor, command.link, stream, waits);
  return {};
}

Status Builder::addStep(DenseI64ArrayAttr bounds) {
  auto step = exec::StepOp::create(builder, loc, bounds,
                                   bounds ? builder.getDenseI64ArrayAttr(plan->arenaBytes) : DenseI64ArrayAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&step.getBody().front());
  slots.assign(plan->residencies.size(), {});
  events.assign(plan->commands.size(), {});
  homeReaders.assign(graph->numTensors(), {});
  for (size_t i = 0; i < plan->residencies.size(); ++i) {
    const Residency &residency = plan->residencies[i];
    if (residency.segment == Segment::Home && machine.isFile(residency.memory) &&
        graph->tensor(residency.tensor).kind != TensorKind::Parameter)
      return makeError(ErrorCode::Unsupported, "state '", graph->tensor(residency.tensor).name,
                       "' has its home in file '", machine.memory(residency.memory).name,
                       "', where callers cannot reach it, give the host's memory room for the state");
    if (residency.segment == Segment::Home && !homes[residency.tensor.index()].known)
      return makeError(ErrorCode::Internal, "tensor '", graph->tensor(residency.tensor).name,
                       "' has a home in the plan and is not a parameter, input, output or state");
    // Kept tensors are named first, used by the step or not; others where used.
    if (arenaKept(residency))
      addSlot(ResidencyId(i));
  }
  for (size_t i = 0; i < plan->commands.size(); ++i)
    SLUICE_RETURN_IF_ERROR(addCommand(CommandId(i)));
  return {};
}

Expected<exec::ProgramOp> Builder::build() {
  SLUICE_RETURN_IF_ERROR(checkOperators());
  SLUICE_RETURN_IF_ERROR(assignHomes());
  program = exec::ProgramOp::create(builder, loc, binding.name, binding.parameterBytes, binding.stateBytes);
  if (binding.stateInitial >= 0)
    program.setStateInitial(binding.stateInitial);
  if (!binding.bytesSent.empty())
    program.setSends(binding.bytesSent);
  if (binding.symbols)
    program.setSymbolsAttr(binding.symbols);
  if (!binding.experts.empty())
    program.setExpertSlots(binding.expertSlots);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&program.getBody().front());
  declareMachine();
  Status status;
  for (const PlannedStep &step : steps) {
    use(step);
    const DenseI64ArrayAttr bounds =
        step.bounds.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(step.bounds);
    status = std::move(status).and_then([&] { return addInit(bounds); }).and_then([&] { return addStep(bounds); });
  }
  if (status) {
    const FirstError problem(builder.getContext());
    if (failed(mlir::verify(program)))
      status = makeError(ErrorCode::Internal, "the plan makes no valid program: ", problem.message(),
                         ", this is a bug of Sluice, please report it");
  }
  if (!status) {
    program.erase();
    return propagate(status);
  }
  return program;
}

} // namespace

Expected<exec::ProgramOp> buildExecProgram(OpBuilder &builder, const Machine &machine, ArrayRef<PlannedStep> steps,
                                           const ExecBinding &binding) {
  return Builder(builder, machine, steps, binding).build();
}

} // namespace sluice
