//===- ReportData.cpp - What the report shows, as data --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ReportText.h"
#include "sluice/Compiler/Report.h"
#include "sluice/Explain/Explain.h"
#include "sluice/Plan/Names.h"
#include "sluice/Simulator/Simulator.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

namespace sluice {

namespace {
/// Texts that repeat, as indices.
class Texts {
public:
  size_t index(const std::string &text) {
    auto [entry, isNew] = indices.try_emplace(text, list.size());
    if (isNew)
      list.push_back(text);
    return entry->second;
  }
  Json take() { return std::move(list); }

private:
  std::unordered_map<std::string, size_t> indices;
  Json list = Json::array();
};

template <typename Ids>
Json idsToJson(const Ids &ids) {
  Json list = Json::array();
  for (auto id : ids)
    list.push_back(id.value);
  return list;
}

/// Things of a kind are an object of columns, each with an entry a thing, in the plan's order.
class DataWriter {
public:
  explicit DataWriter(const PlanFile &file)
      : file(file), graph(file.problem.graph), machine(file.problem.machine), plan(file.plan), summary(file.summary),
        timeline(simulate(graph, machine, file.problem.costs, plan)), step(explainStep(file)),
        operatorNames(graph.operators()), tensorNames(graph.tensors()) {}

  Json write() {
    Json json;
    json["makespanNs"] = timeline.makespanNs;
    json["idealNs"] = summary.idealNs;
    json["lowerBoundNs"] = summary.lowerBoundNs;
    json["evaluations"] = summary.evaluations;
    json["history"] = Json::array();
    for (const SearchPoint &point : summary.history)
      json["history"].push_back({point.evaluations, point.makespanNs});
    json["devices"] = Json::array();
    for (const Device &device : machine.devices)
      json["devices"].push_back(device.name);
    json["streams"] = Json::array();
    for (const Stream &stream : plan.streams)
      json["streams"].push_back({stream.device.value, static_cast<int>(stream.kind), streamLabel(machine, stream)});
    operators(json);
    tensors(json);
    json["commands"] = commands();
    json["residencies"] = residencies();
    json["memories"] = memories();
    reasons(json);
    overview(json);
    return json;
  }

private:
  const PlanFile &file;
  const Graph &graph;
  const Machine &machine;
  const Plan &plan;
  const PlanSummary &summary;
  const Timeline timeline;
  const StepFacts step;
  const PlanNames operatorNames, tensorNames;

  void operators(Json &json) const {
    const std::vector<GraphPlace> places = layoutGraph(graph);
    Texts kinds;
    Json columns;
    for (const char *name : {"name", "kind", "device", "flops", "workingSetBytes", "layer", "row", "inputs", "outputs"})
      columns[name] = Json::array();
    for (size_t i = 0; i < graph.numOperators(); ++i) {
      const Operator &op = graph.op(OperatorId(i));
      columns["name"].push_back(operatorNames.write(i));
      columns["kind"].push_back(kinds.index(op.kind));
      columns["device"].push_back(plan.placement[i].value);
      columns["flops"].push_back(op.flops);
      columns["workingSetBytes"].push_back(graph.workingSetBytes(OperatorId(i)));
      columns["layer"].push_back(places[i].layer);
      columns["row"].push_back(places[i].row);
      columns["inputs"].push_back(idsToJson(op.inputs));
      columns["outputs"].push_back(idsToJson(op.outputs));
    }
    json["operators"] = std::move(columns);
    json["kinds"] = kinds.take();
  }

  void tensors(Json &json) const {
    Texts kinds, types;
    Json columns;
    for (const char *name : {"name", "kind", "type", "bytes"})
      columns[name] = Json::array();
    for (size_t i = 0; i < graph.numTensors(); ++i) {
      const Tensor &tensor = graph.tensor(TensorId(i));
      columns["name"].push_back(tensorNames.write(i));
      columns["kind"].push_back(kinds.index(kindOf(tensor)));
      columns["type"].push_back(types.index(tensor.type));
      columns["bytes"].push_back(tensor.bytes);
    }
    json["tensors"] = std::move(columns);
    json["tensorKinds"] = kinds.take();
    json["types"] = types.take();
  }

  Json commands() const {
    Json columns;
    for (const char *name : {"stream", "startNs", "endNs", "slackNs", "heldBy", "operator", "reads", "writes", "waits"})
      columns[name] = Json::array();
    for (size_t c = 0; c < plan.commands.size(); ++c) {
      const Command &command = plan.commands[c];
      columns["stream"].push_back(command.stream.value);
      columns["startNs"].push_back(timeline.commands[c].startNs);
      columns["endNs"].push_back(timeline.commands[c].endNs);
      columns["slackNs"].push_back(step.slackNs[c]);
      columns["heldBy"].push_back(step.heldBy[c].valid() ? int64_t(step.heldBy[c].value) : -1);
      const bool isLaunch = command.kind == CommandKind::Launch;
      columns["operator"].push_back(isLaunch ? int64_t(command.op.value) : -1);
      columns["reads"].push_back(idsToJson(command.reads));
      columns["writes"].push_back(idsToJson(command.writes));
      columns["waits"].push_back(idsToJson(command.waits));
    }
    return columns;
  }

  Json residencies() const {
    const std::vector<Interval> times = residencyTimes(machine, plan, timeline);
    Json columns;
    for (const char *name : {"tensor", "memory", "home", "offset", "bytes", "startNs", "endNs"})
      columns[name] = Json::array();
    for (size_t i = 0; i < plan.residencies.size(); ++i) {
      const Residency &residency = plan.residencies[i];
      columns["tensor"].push_back(residency.tensor.valid() ? int64_t(residency.tensor.value) : -1);
      columns["memory"].push_back(residency.memory.value);
      columns["home"].push_back(residency.segment == Segment::Home ? 1 : 0);
      columns["offset"].push_back(residency.offset);
      columns["bytes"].push_back(residency.bytes);
      columns["startNs"].push_back(times[i].startNs);
      columns["endNs"].push_back(times[i].endNs);
    }
    return columns;
  }

  Json memories() const {
    const MemoryProfile profile = memoryProfile(machine, plan, timeline);
    const std::vector<int64_t> &capacities = file.problem.capacities;
    Json list = Json::array();
    for (size_t m = 0; m < machine.memories.size(); ++m) {
      Json entry;
      entry["name"] = machine.memories[m].name;
      entry["limitBytes"] = capacities[m] == std::numeric_limits<int64_t>::max() ? Json(nullptr) : Json(capacities[m]);
      entry["minimumBytes"] = summary.minimumBytes[m];
      entry["peakBytes"] = summary.peakBytes[m];
      entry["plannedBytes"] = plan.arenaBytes[m];
      entry["samples"] = Json::array();
      for (const MemoryProfile::Sample &sample : profile.perMemory[m])
        entry["samples"].push_back({sample.timeNs, sample.bytes});
      list.push_back(std::move(entry));
    }
    return list;
  }

  /// Writes for each time in which others may use a tensor's addresses the stay that has them, and the start and the
  /// end of that time. The page finds these tensors in the residencies, because there may be thousands of them for each
  /// tensor.
  static Json absencesOf(const TensorFacts &facts) {
    std::set<ResidencyId> known;
    Json absences = Json::array();
    for (const CopyFact &copy : facts.copies) {
      // A copy out and the copy back have the same absence.
      if (!copy.absence || !known.insert(copy.absence->back).second)
        continue;
      for (size_t i = 0; i < copy.absence->times.size(); ++i)
        absences.push_back(
            {copy.absence->places[i].value, copy.absence->times[i].startNs, copy.absence->times[i].endNs});
    }
    return absences;
  }

  /// How devices spend the step, and what the links can do.
  void overview(Json &json) const {
    json["deviceTimes"] = Json::array();
    json["links"] = Json::array();
    for (const DeviceTime &time : step.deviceTimes)
      json["deviceTimes"].push_back(describe(time));
    std::set<LinkId> used;
    for (const Command &command : plan.commands)
      if (command.kind == CommandKind::Copy)
        used.insert(command.link);
    for (LinkId link : used)
      json["links"].push_back(describeLink(machine, machine.link(link)));
    json["criticalPath"] = idsToJson(step.criticalPath);
  }

  /// Why streams stall and tensors are copied.
  void reasons(Json &json) const {
    Json stalls, why;
    for (const char *name : {"command", "ns", "text", "during"})
      stalls[name] = Json::array();
    for (const StallFact &stall : step.stalls) {
      stalls["command"].push_back(stall.launch.id.value);
      stalls["ns"].push_back(stall.stallNs);
      stalls["text"].push_back(describe(stall));
      stalls["during"].push_back(idsToJson(stall.during));
    }
    for (const char *name : {"tensor", "text", "sentences", "absences"})
      why[name] = Json::array();
    for (const auto &[id, facts] : step.copied) {
      why["tensor"].push_back(id.value);
      why["absences"].push_back(absencesOf(facts));
      // Per copy, in the order of their starts.
      Json &texts = why["text"].emplace_back(Json::array());
      for (size_t i = 0; i < facts.copies.size(); ++i)
        texts.push_back(whyCopied(facts, i));
      Json &copies = why["sentences"].emplace_back(Json::array());
      for (const std::vector<Sentence> &copy : describeCopies(facts)) {
        Json &sentences = copies.emplace_back(Json::array());
        for (const Sentence &sentence : copy)
          sentences.push_back(sentence.text);
      }
    }
    json["stalls"] = std::move(stalls);
    json["why"] = std::move(why);
  }
};
} // namespace

Json reportData(const PlanFile &file, const ReportExtras &extras) {
  Json json = DataWriter(file).write();
  json["measured"] = Json::array();
  for (const MeasuredStep &step : extras.measured) {
    Json &entry = json["measured"].emplace_back();
    entry["name"] = step.name;
    entry["makespanNs"] = step.makespanNs;
    entry["startNs"] = entry["endNs"] = Json::array();
    for (const Interval &interval : step.commands) {
      entry["startNs"].push_back(interval.startNs);
      entry["endNs"].push_back(interval.endNs);
    }
  }
  if (extras.against) {
    json["against"] = DataWriter(*extras.against).write();
    json["diff"] = diffToJson(*extras.diff);
  }
  return json;
}

} // namespace sluice
