//===- PlanJson.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Plan/PlanJson.h"

#include "sluice/Plan/Names.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

namespace sluice {

static constexpr std::array<std::string_view, kNumStreamKinds> kStreamNames = {"compute",     "swap-in", "swap-out",
                                                                               "communicate", "file-in", "file-out"};

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {
/// The names of one kind of thing, and what diagnostics call it.
class Names {
public:
  template <typename Range>
  Names(std::string_view what, std::string_view place, const Range &items) : what(what), place(place), names(items) {}

  std::string write(uint32_t index) const { return names.write(index); }

  Expected<uint32_t> read(const JsonReader &reader) const {
    SLUICE_ASSIGN_OR_RETURN(std::string text, reader.asString());
    if (std::optional<uint32_t> index = names.find(text))
      return *index;
    return makeError(ErrorCode::NotFound, what, " '", text.substr(0, 200), "' is not in the ", place, ", at '",
                     reader.where(), "', give the ", place, " the plan was made for");
  }

private:
  std::string_view what, place;
  PlanNames names;
};

struct AllNames {
  Names operators, tensors, devices, memories;
  AllNames(const Graph &graph, const Machine &machine)
      : operators("operator", "graph", graph.operators()), tensors("tensor", "graph", graph.tensors()),
        devices("device", "machine", machine.devices), memories("memory", "machine", machine.memories) {}
};
} // namespace

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

template <typename T>
static Json idsToJson(const std::vector<T> &ids) {
  Json array = Json::array();
  for (T id : ids)
    array.push_back(id.value);
  return array;
}

static Json residencyToJson(const AllNames &names, const Residency &residency) {
  Json entry;
  if (residency.tensor.valid())
    entry["tensor"] = names.tensors.write(residency.tensor.value);
  entry["memory"] = names.memories.write(residency.memory.value);
  if (residency.segment == Segment::Home)
    entry["home"] = true;
  else
    entry["offset"] = residency.offset;
  entry["bytes"] = residency.bytes;
  if (residency.initial)
    entry["initial"] = true;
  return entry;
}

static Json commandToJson(const AllNames &names, const Machine &machine, const Command &command) {
  Json entry;
  if (command.kind == CommandKind::Launch) {
    entry["launch"] = names.operators.write(command.op.value);
  } else {
    const Link &link = machine.link(command.link);
    entry["copy"] = Json::array({names.memories.write(link.a.value), names.memories.write(link.b.value)});
  }
  entry["stream"] = command.stream.value;
  entry["reads"] = idsToJson(command.reads);
  entry["writes"] = idsToJson(command.writes);
  if (!command.waits.empty())
    entry["waits"] = idsToJson(command.waits);
  return entry;
}

Json planToJson(const Graph &graph, const Machine &machine, const Plan &plan) {
  AllNames names(graph, machine);
  Json json;
  json["schema"] = kPlanSchema;
  json["solver"] = plan.solver;
  json["seed"] = plan.seed;
  json["evaluations"] = plan.evaluations;
  json["stoppedByClock"] = plan.stoppedByClock;
  json["placement"] = Json::array();
  for (size_t i = 0; i < plan.placement.size(); ++i)
    json["placement"].push_back(
        Json::array({names.operators.write(static_cast<uint32_t>(i)), names.devices.write(plan.placement[i].value)}));
  json["arenas"] = Json::array();
  for (size_t i = 0; i < plan.arenaBytes.size(); ++i)
    json["arenas"].push_back(Json::array({names.memories.write(static_cast<uint32_t>(i)), plan.arenaBytes[i]}));
  json["streams"] = Json::array();
  for (const Stream &stream : plan.streams)
    json["streams"].push_back(
        Json::array({names.devices.write(stream.device.value), kStreamNames[static_cast<size_t>(stream.kind)]}));
  json["residencies"] = Json::array();
  for (const Residency &residency : plan.residencies)
    json["residencies"].push_back(residencyToJson(names, residency));
  json["commands"] = Json::array();
  for (const Command &command : plan.commands)
    json["commands"].push_back(commandToJson(names, machine, command));
  return json;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Expected<std::vector<JsonReader>> listAt(const JsonReader &reader, std::string_view key) {
  return reader.member(key).and_then([](const JsonReader &list) { return list.elements(); });
}

/// The two elements of a pair.
static Expected<std::vector<JsonReader>> pairOf(const JsonReader &reader) {
  Expected<std::vector<JsonReader>> pair = reader.elements();
  if (pair && pair->size() != 2)
    return makeError(ErrorCode::InvalidInput, "expected two elements, at '", reader.where(), "', correct the plan");
  return pair;
}

template <typename T>
static Expected<T> readId(const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(int64_t value, reader.asInteger());
  if (value < 0 || value >= T::kNone)
    return makeError(ErrorCode::InvalidInput, "index ", value, " is out of range, at '", reader.where(),
                     "', correct the plan");
  return T(static_cast<uint32_t>(value));
}

template <typename T>
static Status readIds(std::vector<T> &target, const JsonReader &reader, std::string_view key) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> elements, listAt(reader, key));
  for (const JsonReader &element : elements) {
    SLUICE_ASSIGN_OR_RETURN(T id, readId<T>(element));
    target.push_back(id);
  }
  return {};
}

template <typename T>
static Status readName(Id<T> &target, const Names &names, const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(uint32_t index, names.read(reader));
  target = Id<T>(index);
  return {};
}

template <typename T>
static Status readInto(T &target, Expected<T> value) {
  if (!value)
    return propagate(value);
  target = std::move(*value);
  return {};
}

static Status readPlacement(Plan &plan, const AllNames &names, const Graph &graph, const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, listAt(reader, "placement"));
  plan.placement.assign(graph.numOperators(), DeviceId());
  for (const JsonReader &entry : entries) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> pair, pairOf(entry));
    OperatorId op;
    DeviceId device;
    Status status =
        readName(op, names.operators, pair[0]).and_then([&] { return readName(device, names.devices, pair[1]); });
    if (!status)
      return status;
    if (plan.placement[op.index()].valid())
      return makeError(ErrorCode::InvalidInput, "operator '", graph.op(op).name, "' is placed twice, at '",
                       entry.where(), "', keep one");
    plan.placement[op.index()] = device;
  }
  for (size_t i = 0; i < plan.placement.size(); ++i)
    if (!plan.placement[i].valid())
      return makeError(ErrorCode::NotFound, "operator '", graph.op(OperatorId(i)).name, "' is not placed, at '",
                       reader.where(), "', add it to 'placement', or give the graph the plan was made for");
  return {};
}

static Status readArenas(Plan &plan, const AllNames &names, const Machine &machine, const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, listAt(reader, "arenas"));
  plan.arenaBytes.assign(machine.memories.size(), 0);
  for (const JsonReader &entry : entries) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> pair, pairOf(entry));
    MemoryId memory;
    int64_t bytes = 0;
    Status status =
        readName(memory, names.memories, pair[0]).and_then([&] { return readInto(bytes, pair[1].asInteger()); });
    if (!status)
      return status;
    plan.arenaBytes[memory.index()] = bytes;
  }
  return {};
}

static Status readStreams(Plan &plan, const AllNames &names, const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, listAt(reader, "streams"));
  for (const JsonReader &entry : entries) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> pair, pairOf(entry));
    Stream stream;
    std::string kind;
    Status status =
        readName(stream.device, names.devices, pair[0]).and_then([&] { return readInto(kind, pair[1].asString()); });
    if (!status)
      return status;
    size_t index = 0;
    while (index < kStreamNames.size() && kStreamNames[index] != kind)
      ++index;
    if (index == kStreamNames.size())
      return makeError(ErrorCode::InvalidInput, "stream kind '", kind.substr(0, 80), "' is unknown, at '",
                       entry.where(), "', write compute, swap-in, swap-out, communicate, file-in or file-out");
    stream.kind = static_cast<StreamKind>(index);
    plan.streams.push_back(stream);
  }
  return {};
}

static Status readResidencies(Plan &plan, const AllNames &names, const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, listAt(reader, "residencies"));
  for (const JsonReader &entry : entries) {
    Residency residency;
    bool isHome = false;
    Status status = entry.onlyKeys({"tensor", "memory", "home", "offset", "bytes", "initial"});
    status = status
                 .and_then([&]() -> Status {
                   if (!entry.has("tensor"))
                     return {};
                   return readName(residency.tensor, names.tensors, *entry.member("tensor"));
                 })
                 .and_then([&]() -> Status {
                   SLUICE_ASSIGN_OR_RETURN(JsonReader memory, entry.member("memory"));
                   return readName(residency.memory, names.memories, memory);
                 })
                 .and_then([&] { return readInto(isHome, entry.boolean("home", false)); })
                 .and_then([&] { return readInto(residency.offset, entry.integer("offset", 0)); })
                 .and_then([&] { return readInto(residency.bytes, entry.integer("bytes")); })
                 .and_then([&] { return readInto(residency.initial, entry.boolean("initial", false)); });
    if (!status)
      return status;
    residency.segment = isHome ? Segment::Home : Segment::Arena;
    plan.residencies.push_back(residency);
  }
  return {};
}

static Status readCommand(Command &command, const AllNames &names, const Machine &machine, const JsonReader &entry) {
  Status status = entry.onlyKeys({"launch", "copy", "stream", "reads", "writes", "waits"});
  if (!status)
    return status;
  if (entry.has("launch") == entry.has("copy"))
    return makeError(ErrorCode::InvalidInput, "a command must have either 'launch' or 'copy', at '", entry.where(),
                     "', write one of the two");
  if (entry.has("launch")) {
    status = readName(command.op, names.operators, *entry.member("launch"));
  } else {
    command.kind = CommandKind::Copy;
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> pair, pairOf(*entry.member("copy")));
    MemoryId a, b;
    status = readName(a, names.memories, pair[0]).and_then([&] { return readName(b, names.memories, pair[1]); });
    if (status) {
      command.link = machine.findLink(a, b);
      if (!command.link.valid())
        return makeError(ErrorCode::NotFound, "memories '", machine.memory(a).name, "' and '", machine.memory(b).name,
                         "' have no link in the machine, at '", entry.where(),
                         "', give the machine the plan was made for");
    }
  }
  Expected<JsonReader> stream = entry.member("stream");
  if (status && !stream)
    return propagate(stream);
  return status.and_then([&] { return readInto(command.stream, readId<StreamId>(*stream)); })
      .and_then([&] { return readIds(command.reads, entry, "reads"); })
      .and_then([&] { return readIds(command.writes, entry, "writes"); })
      .and_then([&]() -> Status {
        if (!entry.has("waits"))
          return {};
        return readIds(command.waits, entry, "waits");
      });
}

static Status readCommands(Plan &plan, const AllNames &names, const Machine &machine, const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, listAt(reader, "commands"));
  for (const JsonReader &entry : entries) {
    Command command;
    SLUICE_RETURN_IF_ERROR(readCommand(command, names, machine, entry));
    plan.commands.push_back(std::move(command));
  }
  return {};
}

Expected<Plan> planFromJson(const Graph &graph, const Machine &machine, const JsonReader &reader) {
  AllNames names(graph, machine);
  Plan plan;
  int64_t schema = 0;
  Status status = reader.onlyKeys({"schema", "solver", "seed", "evaluations", "stoppedByClock", "placement", "arenas",
                                   "streams", "residencies", "commands"});
  status = status.and_then([&] { return readInto(schema, reader.integer("schema")); });
  if (!status)
    return propagate(status);
  if (schema < 1 || schema > kPlanSchema)
    return makeError(ErrorCode::Unsupported, "plan schema ", schema, " is not known, at '", reader.where(),
                     "', this version reads 1 to ", kPlanSchema, ", use a newer version of Sluice");
  if (reader.has("seed")) { // All 64 bits, which an integer read would not take.
    JsonReader seed = *reader.member("seed");
    if (!seed.json().is_number_unsigned())
      return makeError(ErrorCode::InvalidInput, "seed is not a non-negative integer, at '", seed.where(),
                       "', correct the plan");
    plan.seed = seed.json().get<uint64_t>();
  }
  status = readInto(plan.solver, reader.string("solver", ""))
               .and_then([&] { return readInto(plan.evaluations, reader.integer("evaluations", 0)); })
               .and_then([&] { return readInto(plan.stoppedByClock, reader.boolean("stoppedByClock", false)); })
               .and_then([&] { return readPlacement(plan, names, graph, reader); })
               .and_then([&] { return readArenas(plan, names, machine, reader); })
               .and_then([&] { return readStreams(plan, names, reader); })
               .and_then([&] { return readResidencies(plan, names, reader); })
               .and_then([&] { return readCommands(plan, names, machine, reader); });
  if (!status)
    return propagate(status);
  return plan;
}

} // namespace sluice
