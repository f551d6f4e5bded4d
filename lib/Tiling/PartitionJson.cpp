//===- PartitionJson.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/PartitionFile.h"

#include <nlohmann/json.hpp>

namespace sluice {

static constexpr int kPartitionSchema = 1;

std::string tilingName(AxisTiling tiling) {
  if (tiling.isSplit())
    return tiling.blocks == 1 ? concat("split ", tiling.dim)
                              : concat("split ", tiling.dim, " in ", tiling.blocks, " blocks");
  if (tiling.isReplicated())
    return "whole";
  constexpr const char *kinds[] = {"partial sum", "partial max", "partial min"};
  return kinds[static_cast<size_t>(tiling.reduction)];
}

static Json namesOf(const std::vector<AxisTiling> &tilings) {
  Json list = Json::array();
  for (AxisTiling tiling : tilings)
    list.push_back(tilingName(tiling));
  return list;
}

static Json reportToJson(const PartitionReport &report) {
  Json json{{"makespanNs", report.makespanNs},
            {"computeNs", report.computeNs},
            {"communicationNs", report.communicationNs},
            {"peakBytes", report.peakBytes},
            {"bytes", report.bytes},
            {"paperBytes", report.paperBytes},
            {"ghostBytes", report.ghostBytes},
            {"recursiveGhostBytes", report.recursiveGhostBytes}};
  for (size_t kind = 0; kind < report.bytesByCollective.size(); ++kind)
    if (report.bytesByCollective[kind] > 0)
      json["bytesByCollective"][std::string(collectiveName(static_cast<CollectiveKind>(kind)))] =
          report.bytesByCollective[kind];
  return json;
}

Json partitionSummaryToJson(const PartitionMachine &machine, const PartitionSolution &solution) {
  Json json{{"solver", solution.solver}, {"devices", machine.mesh.numDevices()}, {"proven", solution.proven}};
  json.update(reportToJson(solution.report));
  if (!solution.gathering.empty())
    json["gathering"] = solution.gathering;
  json["baselines"] = Json::array();
  for (const PartitionBaseline &baseline : solution.baselines) {
    Json entry{{"solver", baseline.solver}};
    entry.update(reportToJson(baseline.report));
    if (!baseline.gathering.empty())
      entry["gathering"] = baseline.gathering;
    json["baselines"].push_back(std::move(entry));
  }
  return json;
}

Json partitionToJson(const TensorProgram &program, const PartitionMachine &machine, const PartitionSolution &solution) {
  Json json{{"schema", kPartitionSchema}, {"program", program.name}, {"solver", solution.solver}};
  for (const MeshAxis &axis : machine.mesh.axes)
    json["mesh"].push_back({{"name", axis.name}, {"size", axis.size}});
  json["tensors"] = json["operators"] = json["conversions"] = Json::array();
  for (size_t t = 0; t < program.tensors.size(); ++t)
    json["tensors"].push_back({{"name", program.tensors[t].name},
                               {"shape", program.tensors[t].shape},
                               {"tiling", namesOf(solution.tiling.tensors[t])}});
  for (size_t i = 0; i < program.operators.size(); ++i) {
    const ProgramOperator &op = program.operators[i];
    Json rules = Json::array();
    for (uint32_t rule : solution.tiling.rules[i])
      rules.push_back(op.rules[rule].name);
    json["operators"].push_back({{"name", op.name}, {"rules", std::move(rules)}});
  }
  for (const PlannedConversion &conversion : solution.report.conversions) {
    Json steps = Json::array();
    for (const CollectiveStep &step : conversion.steps) {
      Json axes = Json::array();
      for (uint32_t axis : step.axes)
        axes.push_back(machine.mesh.axes[axis].name);
      steps.push_back({{"collective", collectiveName(step.kind)}, {"axes", std::move(axes)}, {"bytes", step.bytes}});
    }
    json["conversions"].push_back({{"tensor", program.tensors[conversion.tensor.index()].name},
                                   {"operator", program.operators[conversion.op.index()].name},
                                   {"from", namesOf(conversion.from)},
                                   {"to", namesOf(conversion.to)},
                                   {"steps", std::move(steps)}});
  }
  json["summary"] = partitionSummaryToJson(machine, solution);
  return json;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The entries of a list that has one for each of `items`, in order, with the item's name.
template <typename Item>
static Expected<std::vector<JsonReader>> readEntries(const JsonReader &reader, const char *key,
                                                     const std::vector<Item> &items) {
  Expected<std::vector<JsonReader>> entries =
      reader.member(key).and_then([](const JsonReader &member) { return member.elements(); });
  if (!entries)
    return entries;
  bool isSame = entries->size() == items.size();
  for (size_t i = 0; isSame && i < items.size(); ++i) {
    Expected<std::string> name = (*entries)[i].string("name");
    isSame = name && *name == items[i].name;
  }
  if (!isSame)
    return makeError(ErrorCode::InvalidInput, "the ", key, " of the partition and of the program differ, at '",
                     reader.where(), "', give the program that the partition was made for");
  return entries;
}

static Expected<AxisTiling> readAxis(const JsonReader &reader, size_t rank) {
  SLUICE_ASSIGN_OR_RETURN(std::string name, reader.asString());
  if (name == tilingName(AxisTiling::replicated()))
    return AxisTiling::replicated();
  for (uint32_t dim = 0; dim < rank; ++dim)
    for (uint32_t blocks = 1; blocks <= kMostBlocks; ++blocks)
      if (AxisTiling split = AxisTiling::split(dim, blocks); name == tilingName(split))
        return split;
  return makeError(ErrorCode::InvalidInput, "'", name.substr(0, 80), "' is not a tiling, at '", reader.where(),
                   "', write 'whole', or 'split' and a dimension, such as 'split 1' or 'split 1 in 3 blocks'");
}

static Expected<uint32_t> readRule(const JsonReader &reader, const ProgramOperator &op) {
  SLUICE_ASSIGN_OR_RETURN(std::string name, reader.asString());
  for (size_t rule = 0; rule < op.rules.size(); ++rule)
    if (op.rules[rule].name == name)
      return static_cast<uint32_t>(rule);
  return makeError(ErrorCode::InvalidInput, "operator '", op.name, "' has no rule '", name.substr(0, 80), "', at '",
                   reader.where(), "', give the program that the partition was made for");
}

/// A member that is a list with an entry for each axis of the mesh.
template <typename Read>
static auto readAxes(const JsonReader &reader, const char *key, size_t numAxes, const Read &read)
    -> Expected<std::vector<typename decltype(read(reader))::value_type>> {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries,
                          reader.member(key).and_then([](const JsonReader &member) { return member.elements(); }));
  if (entries.size() != numAxes)
    return makeError(ErrorCode::InvalidInput, "the list has ", entries.size(), " entries, at '", reader.where(), ".",
                     key, "', write one for each of the mesh's ", numAxes, " axes");
  std::vector<typename decltype(read(reader))::value_type> list;
  for (const JsonReader &entry : entries) {
    SLUICE_ASSIGN_OR_RETURN(auto value, read(entry));
    list.push_back(value);
  }
  return list;
}

Expected<MeshTiling> partitionFromJson(const TensorProgram &program, const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(int64_t schema, reader.integer("schema"));
  if (schema != kPartitionSchema)
    return makeError(ErrorCode::Unsupported, "partition schema ", schema, " is not known, at '", reader.where(),
                     "', this version reads ", kPartitionSchema, ", use a newer version of Sluice");
  MeshTiling read;
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> mesh,
                          reader.member("mesh").and_then([](const JsonReader &member) { return member.elements(); }));
  for (const JsonReader &axis : mesh) {
    Expected<std::string> name = axis.string("name");
    Expected<int64_t> size = axis.integer("size");
    if (!name || !size)
      return name ? propagate(size) : propagate(name);
    read.mesh.axes.push_back({*name, *size});
  }
  SLUICE_RETURN_IF_ERROR(read.mesh.check());
  const size_t numAxes = read.mesh.axes.size();
  Expected<std::vector<JsonReader>> tensors = readEntries(reader, "tensors", program.tensors);
  Expected<std::vector<JsonReader>> operators = readEntries(reader, "operators", program.operators);
  if (!tensors || !operators)
    return tensors ? propagate(operators) : propagate(tensors);
  for (size_t i = 0; i < tensors->size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(auto held, readAxes((*tensors)[i], "tiling", numAxes, [&](const JsonReader &entry) {
                              return readAxis(entry, program.tensors[i].shape.size());
                            }));
    read.tiling.tensors.push_back(std::move(held));
  }
  for (size_t i = 0; i < operators->size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(auto rules, readAxes((*operators)[i], "rules", numAxes, [&](const JsonReader &entry) {
                              return readRule(entry, program.operators[i]);
                            }));
    read.tiling.rules.push_back(std::move(rules));
  }
  SLUICE_RETURN_IF_ERROR(validateTiling(program, read.mesh, read.tiling));
  return read;
}

} // namespace sluice
