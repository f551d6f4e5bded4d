//===- PlanAttributes.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Bridge/PlanAttributes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

using namespace mlir;

namespace sluice {

exec::DeviceKind toExec(DeviceKind kind) {
  switch (kind) {
  case DeviceKind::Cpu:
    return exec::DeviceKind::Cpu;
  case DeviceKind::Emulated:
    return exec::DeviceKind::Emulated;
  case DeviceKind::Cuda:
    return exec::DeviceKind::Cuda;
  }
  llvm_unreachable("unknown device kind");
}

exec::StreamKind toExec(StreamKind kind) {
  switch (kind) {
  case StreamKind::Compute:
    return exec::StreamKind::Compute;
  case StreamKind::SwapIn:
    return exec::StreamKind::In;
  case StreamKind::SwapOut:
    return exec::StreamKind::Out;
  case StreamKind::Communicate:
    return exec::StreamKind::Communicate;
  case StreamKind::FileIn:
    return exec::StreamKind::FileIn;
  case StreamKind::FileOut:
    return exec::StreamKind::FileOut;
  }
  llvm_unreachable("unknown stream kind");
}

template <typename Kind>
static Kind fromExec(decltype(toExec(Kind())) kind, std::initializer_list<Kind> all) {
  return *llvm::find_if(all, [&](Kind each) { return toExec(each) == kind; });
}

static DeviceKind fromExec(exec::DeviceKind kind) {
  return fromExec<DeviceKind>(kind, {DeviceKind::Cpu, DeviceKind::Emulated, DeviceKind::Cuda});
}

static StreamKind fromExec(exec::StreamKind kind) {
  return fromExec<StreamKind>(kind, {StreamKind::Compute, StreamKind::SwapIn, StreamKind::SwapOut,
                                     StreamKind::Communicate, StreamKind::FileIn, StreamKind::FileOut});
}

//===----------------------------------------------------------------------===//
// Machines
//===----------------------------------------------------------------------===//

exec::MachineAttr machineToAttribute(MLIRContext *context, const Machine &machine) {
  Builder b(context);
  SmallVector<Attribute> memories, devices, links;
  for (const Memory &memory : machine.memories)
    memories.push_back(
        exec::MemoryAttr::get(context, memory.name, memory.capacityBytes, memory.kind == MemoryKind::File));
  for (const Device &device : machine.devices)
    devices.push_back(exec::DeviceAttr::get(context, device.name, toExec(device.kind),
                                            machine.memory(device.memory).name, device.threads,
                                            b.getF64FloatAttr(device.speed)));
  for (const Link &link : machine.links) {
    // A program knows the rate of one direction, by which the runtime throttles.
    const double duplex = std::clamp(link.duplexBytesPerSec, link.bytesPerSec, 2 * link.bytesPerSec);
    links.push_back(exec::LinkAttr::get(context, machine.memory(link.a).name, machine.memory(link.b).name,
                                        b.getF64FloatAttr(link.bytesPerSec), b.getF64FloatAttr(duplex), link.latencyNs,
                                        link.throttle));
  }
  return exec::MachineAttr::get(context, b.getArrayAttr(memories), b.getArrayAttr(devices), b.getArrayAttr(links));
}

Machine machineFromAttribute(exec::MachineAttr attribute) {
  Machine machine;
  machine.name = "the module's";
  llvm::StringMap<MemoryId> memories;
  for (auto memory : attribute.getMemories().getAsRange<exec::MemoryAttr>()) {
    memories[memory.getName()] = MemoryId(machine.memories.size());
    machine.memories.push_back(
        {memory.getName().str(), memory.getCapacity(), memory.getFile() ? MemoryKind::File : MemoryKind::Ram});
  }
  for (auto each : attribute.getDevices().getAsRange<exec::DeviceAttr>()) {
    Device device;
    device.name = each.getName().str();
    device.kind = fromExec(each.getKind());
    device.memory = memories[each.getMemory()];
    device.threads = static_cast<int>(each.getThreads());
    device.speed = each.getSpeed().getValueAsDouble();
    machine.devices.push_back(std::move(device));
  }
  for (auto each : attribute.getLinks().getAsRange<exec::LinkAttr>()) {
    Link link;
    link.a = memories[each.getFirst()];
    link.b = memories[each.getSecond()];
    link.bytesPerSec = each.getRate().getValueAsDouble();
    link.duplexBytesPerSec = each.getDuplex().getValueAsDouble();
    link.latencyNs = each.getLatency();
    link.throttle = each.getThrottle();
    machine.links.push_back(link);
  }
  return machine;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

namespace {
/// Names and indices of one kind of thing.
template <typename Id>
class Names {
public:
  template <typename Range>
  Names(StringRef what, const Range &items) : what(what) {
    for (const auto &item : items) {
      auto [found, isNew] = indices.try_emplace(item.name, names.size());
      if (!isNew)
        found->second = kAmbiguous;
      names.push_back(item.name);
    }
  }

  std::string write(Id id) const {
    StringRef name = names[id.index()];
    if (name.empty() || name.starts_with("#") || indices.lookup(name) == kAmbiguous)
      return concat("#", id.index());
    return name.str();
  }

  Expected<Id> read(StringRef name) const {
    size_t index = 0;
    if (StringRef digits = name; digits.consume_front("#") && !digits.getAsInteger(10, index) && index < names.size())
      return Id(index);
    if (auto found = indices.find(name); found != indices.end() && found->second != kAmbiguous)
      return Id(found->second);
    return makeError(ErrorCode::NotFound, what.str(), " '", name.substr(0, 80).str(), "' does not exist, attribute '",
                     exec::ExecDialect::PlanAttrHelper::getNameStr().str(),
                     "', apply the plan of this program and machine");
  }

private:
  static constexpr size_t kAmbiguous = SIZE_MAX;
  StringRef what;
  std::vector<StringRef> names;
  llvm::StringMap<size_t> indices;
};

template <typename Id>
DenseI64ArrayAttr numbersOf(MLIRContext *context, const std::vector<Id> &ids) {
  SmallVector<int64_t> numbers;
  for (Id id : ids)
    numbers.push_back(static_cast<int64_t>(id.index()));
  return DenseI64ArrayAttr::get(context, numbers);
}

template <typename Id>
std::vector<Id> idsOf(ArrayRef<int64_t> numbers) {
  std::vector<Id> ids;
  for (int64_t number : numbers)
    ids.push_back(Id(static_cast<size_t>(number)));
  return ids;
}
} // namespace

exec::PlanAttr planToAttribute(MLIRContext *context, const Graph &graph, const Machine &machine, const Plan &plan) {
  const Names<OperatorId> operators("operator", graph.operators());
  const Names<TensorId> tensors("tensor", graph.tensors());
  Builder b(context);
  SmallVector<Attribute> streams, slots, commands;
  for (const Stream &stream : plan.streams)
    streams.push_back(exec::StreamAttr::get(context, machine.device(stream.device).name, toExec(stream.kind)));
  for (const Residency &residency : plan.residencies)
    slots.push_back(exec::SlotAttr::get(
        context, residency.tensor.valid() ? tensors.write(residency.tensor) : "", machine.memory(residency.memory).name,
        residency.segment == Segment::Home ? -1 : residency.offset, residency.bytes, residency.initial));
  for (const Command &command : plan.commands) {
    const auto stream = static_cast<int64_t>(command.stream.index());
    const DenseI64ArrayAttr waits = numbersOf(context, command.waits);
    if (command.kind == CommandKind::Launch)
      commands.push_back(exec::LaunchAttr::get(context, operators.write(command.op), stream,
                                               numbersOf(context, command.reads), numbersOf(context, command.writes),
                                               waits));
    else
      commands.push_back(exec::CopyAttr::get(context, static_cast<int64_t>(command.reads[0].index()),
                                             static_cast<int64_t>(command.writes[0].index()),
                                             static_cast<int64_t>(command.link.index()), stream, waits));
  }
  return exec::PlanAttr::get(context, b.getDenseI64ArrayAttr(plan.arenaBytes), b.getArrayAttr(streams),
                             b.getArrayAttr(slots), b.getArrayAttr(commands));
}

namespace {
/// Reads a plan's attribute. Numbers of slots, streams and commands are in range: the
/// attribute's verifier sees to that.
class PlanReader {
public:
  PlanReader(exec::PlanAttr attribute, const Graph &graph, const Machine &machine)
      : attribute(attribute), graph(graph), machine(machine), operators("operator", graph.operators()),
        tensors("tensor", graph.tensors()), devices("device", machine.devices), memories("memory", machine.memories) {}

  Expected<Plan> read() {
    plan.placement.resize(graph.numOperators());
    plan.arenaBytes = attribute.getArenas().asArrayRef().vec();
    SLUICE_RETURN_IF_ERROR(readStreams());
    SLUICE_RETURN_IF_ERROR(readSlots());
    for (Attribute command : attribute.getCommands())
      SLUICE_RETURN_IF_ERROR(readCommand(command));
    if (Status valid = validatePlan(graph, machine, plan); !valid)
      return makeError(ErrorCode::InvalidInput, valid.error().message, ", attribute '",
                       exec::ExecDialect::PlanAttrHelper::getNameStr().str(), "', apply a valid plan");
    return std::move(plan);
  }

private:
  Status readStreams() {
    for (auto each : attribute.getStreams().getAsRange<exec::StreamAttr>()) {
      SLUICE_ASSIGN_OR_RETURN(DeviceId device, devices.read(each.getDevice()));
      plan.streams.push_back({device, fromExec(each.getKind())});
    }
    return {};
  }

  Status readSlots() {
    for (auto each : attribute.getSlots().getAsRange<exec::SlotAttr>()) {
      SLUICE_ASSIGN_OR_RETURN(MemoryId memory, memories.read(each.getMemory()));
      Residency residency{TensorId(),
                          memory,
                          each.isHome() ? Segment::Home : Segment::Arena,
                          each.isHome() ? 0 : each.getOffset(),
                          each.getBytes(),
                          each.getResident()};
      if (!each.getTensor().empty()) {
        SLUICE_ASSIGN_OR_RETURN(TensorId tensor, tensors.read(each.getTensor()));
        residency.tensor = tensor;
      }
      plan.residencies.push_back(residency);
    }
    return {};
  }

  Status readCommand(Attribute attribute) {
    Command command;
    if (auto launch = dyn_cast<exec::LaunchAttr>(attribute)) {
      SLUICE_ASSIGN_OR_RETURN(OperatorId op, operators.read(launch.getOp()));
      command = {CommandKind::Launch,
                 StreamId(static_cast<size_t>(launch.getStream())),
                 op,
                 LinkId(),
                 idsOf<ResidencyId>(launch.getReads()),
                 idsOf<ResidencyId>(launch.getWrites()),
                 idsOf<CommandId>(launch.getWaits())};
      plan.placement[op.index()] = plan.streams[command.stream.index()].device;
    } else {
      auto copy = cast<exec::CopyAttr>(attribute);
      if (static_cast<size_t>(copy.getLink()) >= machine.links.size())
        return makeError(ErrorCode::NotFound, "link ", copy.getLink(), " does not exist, attribute '",
                         exec::ExecDialect::PlanAttrHelper::getNameStr().str(), "', apply the plan of this machine");
      command = {CommandKind::Copy,
                 StreamId(static_cast<size_t>(copy.getStream())),
                 OperatorId(),
                 LinkId(static_cast<size_t>(copy.getLink())),
                 idsOf<ResidencyId>({copy.getFrom()}),
                 idsOf<ResidencyId>({copy.getTo()}),
                 idsOf<CommandId>(copy.getWaits())};
    }
    plan.commands.push_back(std::move(command));
    return {};
  }

  exec::PlanAttr attribute;
  const Graph &graph;
  const Machine &machine;
  const Names<OperatorId> operators;
  const Names<TensorId> tensors;
  const Names<DeviceId> devices;
  const Names<MemoryId> memories;
  Plan plan;
};
} // namespace

Expected<Plan> planFromAttribute(exec::PlanAttr attribute, const Graph &graph, const Machine &machine) {
  return PlanReader(attribute, graph, machine).read();
}

} // namespace sluice
