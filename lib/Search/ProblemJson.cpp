//===- ProblemJson.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/ProblemJson.h"

#include "sluice/Graph/GraphJson.h"
#include "sluice/Machine/MachineJson.h"

#include <nlohmann/json.hpp>

namespace sluice {

Json problemToJson(const ProblemFile &problem) {
  Json json;
  json["schema"] = kProblemSchema;
  json["graph"] = graphToJson(problem.graph);
  json["machine"] = machineToJson(problem.machine);
  Json costs = Json::array();
  for (size_t op = 0; op < problem.graph.numOperators(); ++op) {
    Json row = Json::array();
    for (size_t device = 0; device < problem.costs.numDevices; ++device)
      row.push_back(problem.costs.timeNs(OperatorId(op), DeviceId(device)));
    costs.push_back(std::move(row));
  }
  json["costs"] = std::move(costs);
  Json capacities = Json::object();
  for (size_t i = 0; i < problem.capacities.size(); ++i)
    capacities[problem.machine.memories[i].name] = problem.capacities[i];
  json["capacities"] = std::move(capacities);
  if (!problem.placement.empty()) {
    Json placement = Json::array();
    for (DeviceId device : problem.placement)
      placement.push_back(device.valid() ? Json(problem.machine.device(device).name) : Json());
    json["placement"] = std::move(placement);
  }
  return json;
}

/// The elements of a member, of which there must be `count`.
static Expected<std::vector<JsonReader>> elementsOf(const JsonReader &reader, size_t count, const char *what) {
  Expected<std::vector<JsonReader>> elements = reader.elements();
  if (elements && elements->size() != count)
    return makeError(ErrorCode::InvalidInput, "'", reader.where(), "' has ", elements->size(),
                     " elements, and must have one element for each ", what, ", that is ", count, ", correct the list");
  return elements;
}

static Status readCosts(const JsonReader &reader, ProblemFile &problem) {
  problem.costs.numDevices = problem.machine.devices.size();
  SLUICE_ASSIGN_OR_RETURN(auto rows, elementsOf(reader, problem.graph.numOperators(), "operator"));
  for (const JsonReader &row : rows) {
    SLUICE_ASSIGN_OR_RETURN(auto times, elementsOf(row, problem.costs.numDevices, "device"));
    for (const JsonReader &time : times) {
      SLUICE_ASSIGN_OR_RETURN(int64_t ns, time.asInteger());
      if (ns < 1)
        return makeError(ErrorCode::InvalidInput, "time ", ns, " is out of range, at '", time.where(),
                         "', give times of 1 ns or more");
      problem.costs.operatorNs.push_back(ns);
    }
  }
  return {};
}

static Status readCapacities(const JsonReader &reader, ProblemFile &problem) {
  if (!reader.json().is_object())
    return makeError(ErrorCode::InvalidInput, "'", reader.where(), "' is not an object, write {memory: bytes}");
  for (const auto &[name, value] : reader.json().items()) {
    SLUICE_ASSIGN_OR_RETURN(MemoryId memory, problem.machine.findMemory(name));
    SLUICE_ASSIGN_OR_RETURN(int64_t bytes, reader.integer(name));
    if (bytes < 0)
      return makeError(ErrorCode::InvalidInput, "capacity ", bytes, " is negative, at '", reader.where(), ".", name,
                       "', give at least 0 bytes");
    problem.capacities[memory.index()] = bytes;
  }
  return {};
}

static Status readPlacement(const JsonReader &reader, ProblemFile &problem) {
  SLUICE_ASSIGN_OR_RETURN(auto names, elementsOf(reader, problem.graph.numOperators(), "operator"));
  for (const JsonReader &entry : names) {
    DeviceId found;
    if (!entry.json().is_null()) {
      SLUICE_ASSIGN_OR_RETURN(std::string name, entry.asString());
      for (uint32_t i = 0; i < problem.machine.devices.size(); ++i)
        if (problem.machine.devices[i].name == name)
          found = DeviceId(i);
      if (!found.valid() || !problem.machine.device(found).computes)
        return makeError(ErrorCode::NotFound, "machine '", problem.machine.name, "' has no compute device '", name,
                         "', at '", entry.where(), "', name a device that computes");
    }
    problem.placement.push_back(found);
  }
  return {};
}

Expected<ProblemFile> problemFromJson(const JsonReader &reader) {
  SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"schema", "graph", "machine", "costs", "capacities", "placement"}));
  SLUICE_ASSIGN_OR_RETURN(int64_t schema, reader.integer("schema"));
  if (schema < 1 || schema > kProblemSchema)
    return makeError(ErrorCode::Unsupported, "problem schema ", schema, " is not known, at '", reader.where(),
                     "', this version reads 1 to ", kProblemSchema, ", use a newer version of Sluice");
  ProblemFile problem;
  SLUICE_ASSIGN_OR_RETURN(Graph graph, reader.member("graph").and_then(graphFromJson));
  problem.graph = std::move(graph);
  SLUICE_ASSIGN_OR_RETURN(Machine machine, reader.member("machine").and_then(machineFromJson));
  problem.machine = std::move(machine);
  for (const Memory &memory : problem.machine.memories)
    problem.capacities.push_back(memory.capacityBytes);
  if (!reader.has("costs"))
    problem.costs = makeCostTable(problem.graph, problem.machine, RooflineCostModel());

  const std::pair<const char *, Status (*)(const JsonReader &, ProblemFile &)> optional[] = {
      {"costs", readCosts}, {"capacities", readCapacities}, {"placement", readPlacement}};
  for (const auto &[key, read] : optional) {
    if (!reader.has(key))
      continue;
    SLUICE_ASSIGN_OR_RETURN(JsonReader member, reader.member(key));
    SLUICE_RETURN_IF_ERROR(read(member, problem));
  }
  return problem;
}

} // namespace sluice
