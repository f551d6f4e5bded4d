//===- ReportData.cpp - What the report shows, as data --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Report.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace sluice {

namespace {
/// One launch that reads or writes a tensor.
struct Use {
  Interval interval;
  OperatorId op;
};

struct CopyCount {
  int64_t in = 0, out = 0;
};

/// A tensor's longest time without a use.
struct Pause {
  int64_t ns = 0;
  OperatorId from, to;
  bool overStepEnd = false;
};

class DataWriter {
public:
  explicit DataWriter(const PlanFile &file)
      : graph(file.problem.graph), machine(file.problem.machine), plan(file.plan), summary(file.summary),
        capacities(file.problem.capacities), timeline(simulate(graph, machine, file.problem.costs, plan)) {}

  Json write() {
    Json json;
    json["makespanNs"] = timeline.makespanNs;
    json["devices"] = Json::array();
    for (const Device &device : machine.devices)
      json["devices"].push_back(device.name);
    json["streams"] = Json::array();
    for (const Stream &stream : plan.streams)
      json["streams"].push_back({stream.device.value, static_cast<int>(stream.kind)});
    json["operators"] = operators();
    commands(json);
    json["memories"] = memories();
    json["swaps"] = swaps();
    if (graph.numOperators() <= kReportGraphLimit)
      drawing(json);
    return json;
  }

private:
  const Graph &graph;
  const Machine &machine;
  const Plan &plan;
  const PlanSummary &summary;
  const std::vector<int64_t> &capacities;
  const Timeline timeline;

  Json operators() const {
    // Of first launches.
    std::vector<Interval> launched(graph.numOperators(), Interval{-1, -1});
    for (size_t c = 0; c < plan.commands.size(); ++c)
      if (plan.commands[c].kind == CommandKind::Launch)
        if (Interval &interval = launched[plan.commands[c].op.index()]; interval.startNs < 0)
          interval = timeline.commands[c];
    std::vector<int64_t> again(graph.numOperators(), 0);
    for (OperatorId op : plan.computedAgain())
      ++again[op.index()];
    Json list = Json::array();
    for (size_t i = 0; i < graph.numOperators(); ++i) {
      const Operator &op = graph.op(OperatorId(i));
      Json entry;
      entry["name"] = op.name;
      entry["kind"] = op.kind;
      entry["device"] = plan.placement[i].value;
      entry["startNs"] = launched[i].startNs;
      entry["timeNs"] = launched[i].endNs - launched[i].startNs;
      entry["computedAgain"] = again[i];
      entry["flops"] = op.flops;
      entry["workingSetBytes"] = graph.workingSetBytes(OperatorId(i));
      list.push_back(std::move(entry));
    }
    return list;
  }

  /// [stream, start, end, 0, operator] or [stream, start, end, 1, copied, bytes].
  void commands(Json &json) const {
    json["copied"] = Json::array();
    json["commands"] = Json::array();
    std::vector<int64_t> numbers(graph.numTensors(), -1);
    for (size_t c = 0; c < plan.commands.size(); ++c) {
      const Command &command = plan.commands[c];
      const Interval &interval = timeline.commands[c];
      Json entry = {command.stream.value, interval.startNs, interval.endNs};
      if (command.kind == CommandKind::Launch) {
        entry.push_back(0);
        entry.push_back(command.op.value);
      } else {
        const TensorId tensor = plan.residencies[command.reads[0].index()].tensor;
        int64_t &number = numbers[tensor.index()];
        if (number < 0) {
          number = static_cast<int64_t>(json["copied"].size());
          json["copied"].push_back(graph.tensor(tensor).name);
        }
        entry.push_back(1);
        entry.push_back(number);
        entry.push_back(graph.tensor(tensor).bytes);
      }
      json["commands"].push_back(std::move(entry));
    }
  }

  Json memories() const {
    const MemoryProfile profile = memoryProfile(machine, plan, timeline);
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

  Json swaps() const {
    std::vector<CopyCount> copies(graph.numTensors());
    std::vector<std::vector<Use>> uses(graph.numTensors());
    for (size_t c = 0; c < plan.commands.size(); ++c) {
      const Command &command = plan.commands[c];
      if (command.kind == CommandKind::Copy) {
        const Residency &from = plan.residencies[command.reads[0].index()];
        const bool toHost = plan.residencies[command.writes[0].index()].memory == Machine::hostMemory();
        CopyCount &count = copies[from.tensor.index()];
        ++(toHost ? count.out : count.in);
        continue;
      }
      for (const auto *tensors : {&graph.op(command.op).inputs, &graph.op(command.op).outputs})
        for (TensorId tensor : *tensors)
          uses[tensor.index()].push_back({timeline.commands[c], command.op});
    }
    Json list = Json::array();
    for (size_t t = 0; t < graph.numTensors(); ++t) {
      if (copies[t].in + copies[t].out == 0)
        continue;
      static constexpr const char *kKinds[] = {"activation", "parameter", "input", "state"};
      const Tensor &tensor = graph.tensor(TensorId(t));
      std::stable_sort(uses[t].begin(), uses[t].end(),
                       [](const Use &a, const Use &b) { return a.interval.startNs < b.interval.startNs; });
      Json entry;
      entry["name"] = tensor.name;
      entry["kind"] = tensor.isOutput ? "output" : kKinds[static_cast<size_t>(tensor.kind)];
      entry["type"] = tensor.type;
      entry["bytes"] = tensor.bytes;
      entry["copiesIn"] = copies[t].in;
      entry["copiesOut"] = copies[t].out;
      entry["movedBytes"] = saturatingMul(tensor.bytes, copies[t].in + copies[t].out);
      entry["why"] = why(tensor, copies[t], uses[t]);
      list.push_back(std::move(entry));
    }
    std::stable_sort(list.begin(), list.end(), [](const Json &a, const Json &b) {
      return a["movedBytes"].get<int64_t>() > b["movedBytes"].get<int64_t>();
    });
    return list;
  }

  Pause longestPause(const std::vector<Use> &uses, bool livesOn) const {
    Pause longest;
    for (size_t i = 0; i + 1 < uses.size(); ++i)
      if (int64_t ns = uses[i + 1].interval.startNs - uses[i].interval.endNs; ns > longest.ns)
        longest = {ns, uses[i].op, uses[i + 1].op, false};
    if (livesOn && !uses.empty())
      if (int64_t ns = timeline.makespanNs - uses.back().interval.endNs + uses.front().interval.startNs;
          ns > longest.ns)
        longest = {ns, uses.back().op, uses.front().op, true};
    return longest;
  }

  std::string why(const Tensor &tensor, const CopyCount &count, const std::vector<Use> &uses) const {
    if (tensor.kind == TensorKind::Input && count.out == 0 && count.in == 1)
      return "the caller gives it in host memory";
    if (tensor.isOutput && count.in == 0 && count.out == 1)
      return "the caller reads it in host memory";
    for (const Use &use : uses)
      if (const DeviceId other = plan.placement[use.op.index()]; other != plan.placement[uses[0].op.index()])
        return concat("used on '", machine.device(plan.placement[uses[0].op.index()]).name, "' and on '",
                      machine.device(other).name, "'");
    const bool livesOn = tensor.kind == TensorKind::Parameter || tensor.kind == TensorKind::State;
    const Pause pause = longestPause(uses, livesOn);
    if (!pause.from.valid())
      return tensor.updates.valid() ? "its state's home is in host memory" : "no pause between its uses";
    if (pause.from == pause.to)
      return concat("used once a step, by '", graph.op(pause.from).name, "': its ", formatBytes(tensor.bytes),
                    " serve others for ", formatDuration(pause.ns));
    return concat("unused for ", formatDuration(pause.ns), pause.overStepEnd ? " over the step's end" : "", ", from '",
                  graph.op(pause.from).name, "' to '", graph.op(pause.to).name, "': its ", formatBytes(tensor.bytes),
                  " serve others meanwhile");
  }

  void drawing(Json &json) const {
    const std::vector<GraphPlace> places = layoutGraph(graph);
    json["edges"] = Json::array();
    for (size_t i = 0; i < graph.numOperators(); ++i) {
      json["operators"][i]["place"] = {places[i].layer, places[i].row};
      for (OperatorId next : graph.successors(OperatorId(i)))
        json["edges"].push_back({i, next.value});
    }
  }
};
} // namespace

Json reportData(const PlanFile &file) { return DataWriter(file).write(); }

} // namespace sluice
