//===- MachineJson.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Machine/MachineJson.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace sluice {

static constexpr std::array<std::string_view, 3> kKindNames = {"cpu", "emulated", "cuda"};
static constexpr std::array<std::string_view, 2> kMemoryKindNames = {"ram", "file"};

Json machineToJson(const Machine &machine) {
  Json json;
  json["schema"] = kMachineSchema;
  json["name"] = machine.name;
  json["memories"] = Json::array();
  for (const Memory &memory : machine.memories) {
    Json entry;
    entry["name"] = memory.name;
    if (memory.capacityBytes != Memory().capacityBytes)
      entry["capacity"] = memory.capacityBytes;
    if (memory.kind != MemoryKind::Ram)
      entry["kind"] = kMemoryKindNames[static_cast<size_t>(memory.kind)];
    json["memories"].push_back(std::move(entry));
  }
  json["devices"] = Json::array();
  for (const Device &device : machine.devices) {
    Json entry;
    entry["name"] = device.name;
    entry["kind"] = kKindNames[static_cast<size_t>(device.kind)];
    entry["memory"] = machine.memory(device.memory).name;
    entry["computes"] = device.computes;
    entry["flopsPerSec"] = device.flopsPerSec;
    entry["memoryBytesPerSec"] = device.memoryBytesPerSec;
    entry["launchOverhead"] = concat(device.launchOverheadNs, "ns");
    if (!device.efficiency.empty())
      for (const auto &[kind, fraction] : device.efficiency)
        entry["efficiency"][kind] = fraction;
    entry["threads"] = device.threads;
    if (device.speed != 1.0)
      entry["speed"] = device.speed;
    json["devices"].push_back(std::move(entry));
  }
  json["links"] = Json::array();
  for (const Link &link : machine.links) {
    Json entry;
    entry["between"] = Json::array({machine.memory(link.a).name, machine.memory(link.b).name});
    entry["bytesPerSec"] = link.bytesPerSec;
    entry["duplexBytesPerSec"] = link.duplexBytesPerSec;
    entry["latency"] = concat(link.latencyNs, "ns");
    if (link.eventLatencyNs > 0)
      entry["eventLatency"] = concat(link.eventLatencyNs, "ns");
    if (link.throttle)
      entry["throttle"] = true;
    if (link.reverseBytesPerSec != 0)
      entry["reverseBytesPerSec"] = link.reverseBytesPerSec;
    if (link.trunk.valid()) {
      const Link &trunk = machine.link(link.trunk);
      entry["trunk"] = Json::array({machine.memory(trunk.a).name, machine.memory(trunk.b).name});
    }
    json["links"].push_back(std::move(entry));
  }
  return json;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// A number, or a text that `parse` understands.
static Expected<int64_t> quantity(const JsonReader &reader, std::string_view key, int64_t fallback,
                                  Expected<int64_t> (*parse)(std::string_view)) {
  if (!reader.has(key))
    return fallback;
  JsonReader member = *reader.member(key);
  if (!member.json().is_string())
    return member.asInteger();
  Expected<int64_t> value = parse(*member.asString());
  if (!value)
    return makeError(ErrorCode::InvalidInput, "member '", member.where(), "' is invalid: ", value.error().message);
  return value;
}

/// Bytes a second: a number, or "12GB/s".
static Expected<double> byteRate(const JsonReader &reader, std::string_view key, double fallback) {
  if (!reader.has(key))
    return fallback;
  JsonReader member = *reader.member(key);
  if (!member.json().is_string())
    return member.asNumber();
  std::string text = *member.asString();
  Expected<int64_t> value(0);
  if (text.ends_with("/s"))
    value = parseBytes(std::string_view(text).substr(0, text.size() - 2));
  if (!text.ends_with("/s") || !value)
    return makeError(ErrorCode::InvalidInput, "'", text.substr(0, 80), "' is not a rate, at '", member.where(),
                     "', write it as in '12GB/s'");
  return static_cast<double>(*value);
}

template <typename T>
static Status readInto(T &target, Expected<T> value) {
  if (!value)
    return propagate(value);
  target = std::move(*value);
  return {};
}

static Expected<MemoryId> memoryNamed(const Machine &machine, const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(std::string name, reader.asString());
  Expected<MemoryId> id = machine.findMemory(name);
  if (!id)
    return makeError(ErrorCode::InvalidInput, "member '", reader.where(), "' is invalid: ", id.error().message);
  return id;
}

static Expected<Memory> readMemory(const JsonReader &reader) {
  Memory memory;
  std::string kind;
  Status status = reader.onlyKeys({"name", "capacity", "kind"});
  status = status.and_then([&] { return readInto(memory.name, reader.string("name")); })
               .and_then([&] {
                 return readInto(memory.capacityBytes, quantity(reader, "capacity", memory.capacityBytes, parseBytes));
               })
               .and_then([&] { return readInto(kind, reader.string("kind", "ram")); });
  if (!status)
    return propagate(status);
  const auto *const known = std::find(kMemoryKindNames.begin(), kMemoryKindNames.end(), kind);
  if (known == kMemoryKindNames.end())
    return makeError(ErrorCode::InvalidInput, "memory kind '", kind.substr(0, 80), "' is unknown, at '", reader.where(),
                     ".kind', write ram or file");
  memory.kind = static_cast<MemoryKind>(known - kMemoryKindNames.begin());
  return memory;
}

static Status readEfficiency(Device &device, const JsonReader &reader) {
  if (!reader.json().is_object())
    return makeError(ErrorCode::InvalidInput, "expected an object, at '", reader.where(),
                     "', write operator kinds and fractions");
  for (const auto &[kind, unused] : reader.json().items()) {
    SLUICE_ASSIGN_OR_RETURN(double fraction, reader.number(kind));
    device.efficiency[kind] = fraction;
  }
  return {};
}

static Expected<Device> readDevice(const Machine &machine, const JsonReader &reader) {
  Device device;
  std::string kind;
  int64_t threads = 1;
  Status status = reader.onlyKeys({"name", "kind", "memory", "computes", "flopsPerSec", "memoryBytesPerSec",
                                   "launchOverhead", "efficiency", "threads", "speed"});
  status =
      status.and_then([&] { return readInto(device.name, reader.string("name")); })
          .and_then([&] { return readInto(kind, reader.string("kind", "cpu")); })
          .and_then([&] {
            return readInto(device.memory, reader.member("memory").and_then(
                                               [&](const JsonReader &member) { return memoryNamed(machine, member); }));
          })
          .and_then([&] { return readInto(device.computes, reader.boolean("computes", true)); })
          .and_then([&] { return readInto(device.flopsPerSec, reader.number("flopsPerSec", device.flopsPerSec)); })
          .and_then([&] {
            return readInto(device.memoryBytesPerSec, byteRate(reader, "memoryBytesPerSec", device.memoryBytesPerSec));
          })
          .and_then([&] {
            return readInto(device.launchOverheadNs,
                            quantity(reader, "launchOverhead", device.launchOverheadNs, parseDuration));
          })
          .and_then([&] { return readInto(threads, reader.integer("threads", 1)); })
          .and_then([&] { return readInto(device.speed, reader.number("speed", 1.0)); });
  if (status && reader.has("efficiency"))
    status = readEfficiency(device, *reader.member("efficiency"));
  if (!status)
    return propagate(status);
  size_t index = 0;
  while (index < kKindNames.size() && kKindNames[index] != kind)
    ++index;
  if (index == kKindNames.size())
    return makeError(ErrorCode::InvalidInput, "device kind '", kind.substr(0, 80), "' is unknown, at '", reader.where(),
                     ".kind', write cpu, emulated or cuda");
  device.kind = static_cast<DeviceKind>(index);
  if (threads < 1 || threads > 65536)
    return makeError(ErrorCode::InvalidInput, "threads ", threads, " is out of range, at '", reader.where(),
                     ".threads', write a number from 1 to 65536");
  device.threads = static_cast<int>(threads);
  return device;
}

static Expected<Link> readLink(const Machine &machine, const JsonReader &reader) {
  Link link;
  Status status = reader.onlyKeys({"between", "bytesPerSec", "reverseBytesPerSec", "duplexBytesPerSec", "latency",
                                   "eventLatency", "throttle", "trunk"});
  if (!status)
    return propagate(status);
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> ends,
                          reader.member("between").and_then([](const JsonReader &list) { return list.elements(); }));
  if (ends.size() != 2)
    return makeError(ErrorCode::InvalidInput, "'between' must name two memories, at '", reader.where(),
                     ".between', write their two names");
  status = readInto(link.a, memoryNamed(machine, ends[0]))
               .and_then([&] { return readInto(link.b, memoryNamed(machine, ends[1])); })
               .and_then([&] { return readInto(link.bytesPerSec, byteRate(reader, "bytesPerSec", link.bytesPerSec)); })
               .and_then([&] { return readInto(link.reverseBytesPerSec, byteRate(reader, "reverseBytesPerSec", 0)); })
               .and_then([&] {
                 // By default, both directions run freely.
                 const double free = link.bytesPerSec + link.rateFrom(link.b);
                 return readInto(link.duplexBytesPerSec, byteRate(reader, "duplexBytesPerSec", free));
               })
               .and_then(
                   [&] { return readInto(link.latencyNs, quantity(reader, "latency", link.latencyNs, parseDuration)); })
               .and_then([&] {
                 return readInto(link.eventLatencyNs, quantity(reader, "eventLatency", int64_t(0), parseDuration));
               })
               .and_then([&] { return readInto(link.throttle, reader.boolean("throttle", false)); });
  if (!status)
    return propagate(status);
  if (reader.has("reverseBytesPerSec") && link.reverseBytesPerSec == 0)
    return makeError(ErrorCode::InvalidInput, "the rate is 0, at '", reader.where(),
                     ".reverseBytesPerSec', write at least 1 byte per second");
  return link;
}

/// Links may name links that come after them as their trunks.
static Status readTrunks(Machine &machine, const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries,
                          reader.member("links").and_then([](const JsonReader &list) { return list.elements(); }));
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].has("trunk"))
      continue;
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> ends, entries[i].member("trunk")->elements());
    if (ends.size() != 2)
      return makeError(ErrorCode::InvalidInput, "'trunk' must name the two memories of a link, at '",
                       entries[i].where(), ".trunk', write their two names");
    SLUICE_ASSIGN_OR_RETURN(MemoryId a, memoryNamed(machine, ends[0]));
    SLUICE_ASSIGN_OR_RETURN(MemoryId b, memoryNamed(machine, ends[1]));
    machine.links[i].trunk = machine.findLink(a, b);
    if (!machine.links[i].trunk.valid())
      return makeError(ErrorCode::InvalidInput, "no link joins '", machine.memory(a).name, "' and '",
                       machine.memory(b).name, "', at '", entries[i].where(), ".trunk', name a link of the machine");
  }
  return {};
}

/// Reads the array at `key` with `read`, appending to `target`.
template <typename T, typename Read>
static Status readList(std::vector<T> &target, const JsonReader &reader, std::string_view key, Read read) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries,
                          reader.member(key).and_then([](const JsonReader &list) { return list.elements(); }));
  // Links alone could be quadratic in a file's devices; no machine nears this.
  constexpr size_t kMaxEntries = 4096;
  if (entries.size() > kMaxEntries)
    return makeError(ErrorCode::InvalidInput, "the list '", key, "' has more than ", kMaxEntries, " entries, at '",
                     reader.where(), "', describe a smaller machine");
  for (const JsonReader &entry : entries) {
    SLUICE_ASSIGN_OR_RETURN(T item, read(entry));
    target.push_back(std::move(item));
  }
  return {};
}

Expected<Machine> machineFromJson(const JsonReader &reader) {
  Machine machine;
  int64_t schema = 0;
  Status status = reader.onlyKeys({"schema", "name", "memories", "devices", "links"});
  status = status.and_then([&] { return readInto(schema, reader.integer("schema")); }).and_then([&] {
    return readInto(machine.name, reader.string("name", ""));
  });
  if (!status)
    return propagate(status);
  if (schema < 1 || schema > kMachineSchema)
    return makeError(ErrorCode::Unsupported, "machine schema ", schema, " is not known, at '", reader.where(),
                     "', this version reads 1 to ", kMachineSchema, ", use a newer version of Sluice");
  status = readList(machine.memories, reader, "memories", readMemory)
               .and_then([&] {
                 return readList(machine.devices, reader, "devices",
                                 [&](const JsonReader &entry) { return readDevice(machine, entry); });
               })
               .and_then([&]() -> Status {
                 if (!reader.has("links"))
                   return {};
                 return readList(machine.links, reader, "links",
                                 [&](const JsonReader &entry) { return readLink(machine, entry); })
                     .and_then([&] { return readTrunks(machine, reader); });
               });
  if (!status)
    return propagate(status);
  SLUICE_RETURN_IF_ERROR(machine.check());
  return machine;
}

} // namespace sluice
