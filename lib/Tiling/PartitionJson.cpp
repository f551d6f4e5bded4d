//===- PartitionJson.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/Partition.h"

#include <nlohmann/json.hpp>

namespace sluice {

static constexpr int kPartitionSchema = 1;

std::string tilingName(AxisTiling tiling) {
  if (tiling.isSplit())
    return concat("split ", tiling.dim);
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

} // namespace sluice
