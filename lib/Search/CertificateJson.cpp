//===- CertificateJson.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Plan/Names.h"
#include "sluice/Search/BoundCertificate.h"

#include <nlohmann/json.hpp>

namespace sluice {

static std::string_view loadName(bool communicates) { return communicates ? "communicate" : "compute"; }

std::string describeBound(const Graph &graph, const Machine &machine, const BoundCertificate &certificate) {
  switch (certificate.argument) {
  case BoundArgument::Chain:
    return concat("a chain of ", certificate.operators.size(),
                  certificate.operators.size() == 1 ? " operator" : " operators", " with its copies");
  case BoundArgument::Work:
    return concat("the work of device '", machine.device(certificate.device).name, "'",
                  certificate.communicates ? " that communicates" : "");
  case BoundArgument::Placements:
    return "chains and work on the fastest devices";
  case BoundArgument::Cuts:
    break;
  }
  std::string names;
  for (MemoryId m : certificate.memories)
    names += concat(names.empty() ? "'" : ", '", machine.memory(m).name, "'");
  const size_t cuts = certificate.operators.size();
  return concat("work and bytes across ", cuts, cuts == 1 ? " cut of " : " cuts of ",
                certificate.memories.size() == 1 ? "memory " : "memories ", names);
}

Json certificateToJson(const Graph &graph, const Machine &machine, const BoundCertificate &certificate) {
  const PlanNames operators(graph.operators()), devices(machine.devices), memories(machine.memories);
  Json json;
  switch (certificate.argument) {
  case BoundArgument::Chain:
    json["argument"] = "chain";
    json["operators"] = Json::array();
    for (OperatorId op : certificate.operators)
      json["operators"].push_back(operators.write(op.value));
    return json;
  case BoundArgument::Work:
    json["argument"] = "work";
    json["device"] = devices.write(certificate.device.value);
    json["stream"] = loadName(certificate.communicates);
    return json;
  case BoundArgument::Placements:
    json["argument"] = "placements";
    return json;
  case BoundArgument::Cuts:
    break;
  }
  json["argument"] = "cuts";
  json["memories"] = Json::array();
  for (MemoryId m : certificate.memories)
    json["memories"].push_back(memories.write(m.value));
  json["cuts"] = Json::array();
  for (size_t j = 0; j < certificate.operators.size(); ++j)
    json["cuts"].push_back({operators.write(certificate.operators[j].value), certificate.memoryPrices[j]});
  json["segments"] = Json::array();
  for (const SegmentPrices &segment : certificate.segments) {
    Json entry{{"in", segment.in}, {"out", segment.out}, {"work", Json::array()}};
    if (segment.copiesIn > 0)
      entry["copiesIn"] = segment.copiesIn;
    if (segment.copiesOut > 0)
      entry["copiesOut"] = segment.copiesOut;
    for (const SegmentPrices::Work &work : segment.work)
      entry["work"].push_back({devices.write(work.device.value), loadName(work.communicates), work.share});
    json["segments"].push_back(std::move(entry));
  }
  return json;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

class CertificateReader {
public:
  CertificateReader(const Graph &graph, const Machine &machine)
      : operators(graph.operators()), devices(machine.devices), memories(machine.memories) {}

  Expected<BoundCertificate> read(const JsonReader &reader) {
    SLUICE_ASSIGN_OR_RETURN(std::string argument, reader.string("argument"));
    Status status =
        argument == "chain"  ? readChain(reader)
        : argument == "work" ? readWork(reader)
        : argument == "cuts" ? readCuts(reader)
        : argument == "placements"
            ? readPlacements(reader)
            : makeError(ErrorCode::InvalidInput, "the argument '", argument.substr(0, 80),
                        "' is not chain, work, cuts or placements, at '", reader.where(), "', correct the certificate");
    if (!status)
      return propagate(status);
    return std::move(certificate);
  }

private:
  static Expected<std::vector<JsonReader>> listOf(const JsonReader &reader, std::string_view key) {
    return reader.member(key).and_then([](const JsonReader &list) { return list.elements(); });
  }

  /// An array of so many elements.
  static Expected<std::vector<JsonReader>> tupleOf(const JsonReader &reader, size_t size) {
    Expected<std::vector<JsonReader>> elements = reader.elements();
    if (elements && elements->size() != size)
      return makeError(ErrorCode::InvalidInput, "expected ", size, " elements, at '", reader.where(),
                       "', correct the certificate");
    return elements;
  }

  static Expected<uint32_t> readName(const PlanNames &names, std::string_view what, const JsonReader &reader) {
    SLUICE_ASSIGN_OR_RETURN(std::string text, reader.asString());
    if (std::optional<uint32_t> index = names.find(text))
      return *index;
    return makeError(ErrorCode::NotFound, what, " '", text.substr(0, 80), "' is not in the problem, at '",
                     reader.where(), "', correct the certificate");
  }

  static Expected<bool> readLoad(const JsonReader &reader) {
    SLUICE_ASSIGN_OR_RETURN(std::string text, reader.asString());
    if (text != loadName(false) && text != loadName(true))
      return makeError(ErrorCode::InvalidInput, "stream '", text.substr(0, 80),
                       "' is neither compute nor communicate, at '", reader.where(), "', correct the certificate");
    return text == loadName(true);
  }

  Status readChain(const JsonReader &reader) {
    SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"argument", "operators"}));
    certificate.argument = BoundArgument::Chain;
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> names, listOf(reader, "operators"));
    for (const JsonReader &name : names) {
      SLUICE_ASSIGN_OR_RETURN(uint32_t op, readName(operators, "operator", name));
      certificate.operators.push_back(OperatorId(op));
    }
    return {};
  }

  Status readWork(const JsonReader &reader) {
    SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"argument", "device", "stream"}));
    certificate.argument = BoundArgument::Work;
    SLUICE_ASSIGN_OR_RETURN(uint32_t device, reader.member("device").and_then([&](const JsonReader &name) {
      return readName(devices, "device", name);
    }));
    certificate.device = DeviceId(device);
    SLUICE_ASSIGN_OR_RETURN(certificate.communicates, reader.member("stream").and_then(readLoad));
    return {};
  }

  Status readPlacements(const JsonReader &reader) {
    certificate.argument = BoundArgument::Placements;
    return reader.onlyKeys({"argument"});
  }

  Status readCuts(const JsonReader &reader) {
    SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"argument", "memories", "cuts", "segments"}));
    certificate.argument = BoundArgument::Cuts;
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> names, listOf(reader, "memories"));
    for (const JsonReader &name : names) {
      SLUICE_ASSIGN_OR_RETURN(uint32_t memory, readName(memories, "memory", name));
      certificate.memories.push_back(MemoryId(memory));
    }
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> cuts, listOf(reader, "cuts"));
    for (const JsonReader &cut : cuts) {
      SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> pair, tupleOf(cut, 2));
      SLUICE_ASSIGN_OR_RETURN(uint32_t op, readName(operators, "operator", pair[0]));
      SLUICE_ASSIGN_OR_RETURN(int64_t price, pair[1].asInteger());
      certificate.operators.push_back(OperatorId(op));
      certificate.memoryPrices.push_back(price);
    }
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> segments, listOf(reader, "segments"));
    for (const JsonReader &segment : segments)
      SLUICE_RETURN_IF_ERROR(readSegment(segment));
    return {};
  }

  Status readSegment(const JsonReader &reader) {
    SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"in", "out", "copiesIn", "copiesOut", "work"}));
    SegmentPrices prices;
    SLUICE_ASSIGN_OR_RETURN(prices.in, reader.integer("in"));
    SLUICE_ASSIGN_OR_RETURN(prices.out, reader.integer("out"));
    SLUICE_ASSIGN_OR_RETURN(prices.copiesIn, reader.has("copiesIn") ? reader.integer("copiesIn") : 0);
    SLUICE_ASSIGN_OR_RETURN(prices.copiesOut, reader.has("copiesOut") ? reader.integer("copiesOut") : 0);
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, listOf(reader, "work"));
    for (const JsonReader &entry : entries) {
      SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> triple, tupleOf(entry, 3));
      SegmentPrices::Work work;
      SLUICE_ASSIGN_OR_RETURN(uint32_t device, readName(devices, "device", triple[0]));
      work.device = DeviceId(device);
      SLUICE_ASSIGN_OR_RETURN(work.communicates, readLoad(triple[1]));
      SLUICE_ASSIGN_OR_RETURN(work.share, triple[2].asInteger());
      prices.work.push_back(work);
    }
    certificate.segments.push_back(std::move(prices));
    return {};
  }

  PlanNames operators, devices, memories;
  BoundCertificate certificate;
};

} // namespace

Expected<BoundCertificate> certificateFromJson(const Graph &graph, const Machine &machine, const JsonReader &reader) {
  return CertificateReader(graph, machine).read(reader);
}

} // namespace sluice
