//===- ReportDrawing.cpp - A plan as DOT and as SVG -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ReportText.h"
#include "sluice/Compiler/Report.h"
#include "sluice/Explain/Explain.h"
#include "sluice/Plan/CopiedBytes.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace sluice {

std::string streamLabel(const Machine &machine, const Stream &stream) {
  static constexpr const char *kKinds[] = {"", " in", " out", " exchange", " file in", " file out"};
  static_assert(std::size(kKinds) == kNumStreamKinds);
  return machine.device(stream.device).name + kKinds[static_cast<size_t>(stream.kind)];
}

int64_t drawnBytes(int64_t capacityBytes, int64_t peakBytes) {
  const bool showsLimit = capacityBytes != std::numeric_limits<int64_t>::max() && capacityBytes / 4 <= peakBytes;
  return std::max<int64_t>(showsLimit ? std::max(capacityBytes, peakBytes) : peakBytes, 1);
}

/// The page's script has the same.
static const char *deviceColour(DeviceId device) {
  static constexpr const char *kPalette[] = {"#3b8f6a", "#7a5fc0", "#b8553f", "#3d7f9c",
                                             "#93802a", "#a2467f", "#55713a", "#57618f"};
  return kPalette[device.index() % std::size(kPalette)];
}

/// A name inside a quoted string of DOT.
static std::string escapeDot(std::string_view text) {
  std::string escaped;
  for (char c : excerpt(text)) {
    if (c == '"' || c == '\\')
      escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string reportDot(const PlanFile &file) {
  const auto &[problem, plan, summary] = file;
  const Graph &graph = problem.graph;
  std::vector<bool> copied(graph.numTensors(), false);
  for (const Command &command : plan.commands)
    if (command.kind == CommandKind::Copy)
      copied[plan.residencies[command.reads[0].index()].tensor.index()] = true;
  std::string text =
      concat("digraph plan {\n  label=\"", escapeDot(graph.name), ", ", formatDuration(summary.makespanNs),
             " a step, simulated\";\n", "  node [shape=box, style=filled, fontcolor=white];\n");
  for (size_t i = 0; i < graph.numOperators(); ++i) {
    const Operator &op = graph.op(OperatorId(i));
    const DeviceId device = plan.placement[i];
    text += concat("  o", i, " [label=\"", escapeDot(op.name), "\\n", escapeDot(op.kind), "\\n",
                   escapeDot(problem.machine.device(device).name), ", ",
                   formatDuration(problem.costs.timeNs(OperatorId(i), device)), "\", fillcolor=\"",
                   deviceColour(device), "\"];\n");
  }
  for (size_t t = 0; t < graph.numTensors(); ++t) {
    const Tensor &tensor = graph.tensor(TensorId(t));
    if (!tensor.producer.valid())
      continue;
    for (OperatorId consumer : tensor.consumers)
      text += concat("  o", tensor.producer.value, " -> o", consumer.value, " [label=\"", formatBytes(tensor.bytes),
                     "\"", copied[t] ? ", style=dashed" : "", "];\n");
  }
  return text + "}\n";
}

/// Of a residency, by its tensor's kind. The page's style has the same.
static const char *kindColour(const Graph &graph, TensorId tensor) {
  if (!tensor.valid())
    return "#8a8f98";
  switch (graph.tensor(tensor).kind) {
  case TensorKind::Parameter:
    return "#4a7fb5";
  case TensorKind::State:
    return "#7a5fc0";
  case TensorKind::Activation:
  case TensorKind::Input:
    return "#3b8f6a";
  }
  return "";
}

namespace {
/// Rows from above, time from left to right.
class Drawing {
public:
  explicit Drawing(const PlanFile &file)
      : graph(file.problem.graph), machine(file.problem.machine), plan(file.plan), capacities(file.problem.capacities),
        timeline(simulate(graph, machine, file.problem.costs, plan)), profile(memoryProfile(machine, plan, timeline)),
        times(residencyTimes(machine, plan, timeline)) {}

  std::string draw() {
    for (size_t s = 0; s < plan.streams.size(); ++s)
      drawStream(StreamId(s));
    for (size_t m = 0; m < machine.memories.size(); ++m)
      if (profile.peakBytes[m] > 0)
        drawMemory(m);
    for (size_t m = 0; m < machine.memories.size(); ++m)
      if (plan.arenaBytes[m] > 0)
        drawMap(m);
    const std::string size = concat(kLeft + kWidth + kRight, " ", top + kGap);
    return concat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", size, "\" role=\"img\">\n<title>",
                  escapeHtml(excerpt(graph.name)), ", ", formatDuration(timeline.makespanNs),
                  " a step, simulated</title>\n<style>text{font:11px sans-serif;fill:#1b1f24}</style>\n",
                  "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", body, "</svg>\n");
  }

private:
  static constexpr int kLeft = 130, kWidth = 1060, kRight = 10, kRow = 22, kGap = 8, kMemory = 90, kMap = 240;
  const Graph &graph;
  const Machine &machine;
  const Plan &plan;
  const std::vector<int64_t> &capacities;
  const Timeline timeline;
  const MemoryProfile profile;
  const std::vector<Interval> times; ///< Per residency.
  std::string body;
  int top = kGap;

  static std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", value);
    return text;
  }
  double x(int64_t ns) const {
    return kLeft + kWidth * static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(timeline.makespanNs, 1));
  }
  void label(const std::string &text, int y) {
    body += concat("<text x=\"4\" y=\"", y, "\">", escapeHtml(excerpt(text)), "</text>\n");
  }

  void drawStream(StreamId stream) {
    const DeviceId device = plan.streams[stream.index()].device;
    label(streamLabel(machine, plan.streams[stream.index()]), top + 15);
    for (size_t c = 0; c < plan.commands.size(); ++c) {
      const Command &command = plan.commands[c];
      if (command.stream != stream)
        continue;
      const Interval &interval = timeline.commands[c];
      const bool isLaunch = command.kind == CommandKind::Launch;
      const bool isIn = !isLaunch && copyDirection(machine, plan, command) == CopyDirection::In;
      const std::string name =
          isLaunch ? graph.op(command.op).name : graph.tensor(plan.residencies[command.reads[0].index()].tensor).name;
      body +=
          concat("<rect x=\"", number(x(interval.startNs)), "\" y=\"", top, "\" width=\"",
                 number(std::max(x(interval.endNs) - x(interval.startNs), 0.2)), "\" height=\"", kRow - 2, "\" fill=\"",
                 isLaunch ? deviceColour(device)
                 : isIn   ? "#2f7ed8"
                          : "#e08a1e",
                 "\"><title>", escapeHtml(excerpt(name)), isLaunch ? "" : ", copied", ", ",
                 describeSpan(interval, timeline.makespanNs), "</title></rect>\n");
    }
    top += kRow;
  }

  void drawMemory(size_t memory) {
    top += kGap;
    const bool isLimited = capacities[memory] != std::numeric_limits<int64_t>::max();
    const int64_t peak = profile.peakBytes[memory];
    const int64_t most = drawnBytes(capacities[memory], peak);
    auto y = [&](int64_t bytes) {
      return number(top + kMemory - kMemory * static_cast<double>(bytes) / static_cast<double>(most));
    };
    label(machine.memories[memory].name, top + 15);
    label(concat("used ", formatBytes(peak)), top + 30);
    if (isLimited)
      label(concat("limit ", formatBytes(capacities[memory])), top + 45);
    std::string points = concat(number(x(0)), ",", y(0));
    int64_t bytes = 0;
    for (const MemoryProfile::Sample &sample : profile.perMemory[memory]) {
      points +=
          concat(" ", number(x(sample.timeNs)), ",", y(bytes), " ", number(x(sample.timeNs)), ",", y(sample.bytes));
      bytes = sample.bytes;
    }
    points +=
        concat(" ", number(x(timeline.makespanNs)), ",", y(bytes), " ", number(x(timeline.makespanNs)), ",", y(0));
    body += concat("<polygon points=\"", points, "\" fill=\"#93a1b3\"/>\n");
    if (isLimited && most >= capacities[memory])
      body += concat("<path d=\"M", kLeft, " ", y(capacities[memory]), "h", kWidth, "\" stroke=\"#d0342c\"/>\n");
    top += kMemory;
  }

  /// A rectangle for each residency of the arena: its time across, its addresses up.
  void drawMap(size_t memory) {
    top += kGap;
    label(concat(machine.memories[memory].name, " arena"), top + 15);
    label(formatBytes(plan.arenaBytes[memory]), top + 30);
    const double scale = static_cast<double>(kMap) / static_cast<double>(plan.arenaBytes[memory]);
    for (size_t i = 0; i < plan.residencies.size(); ++i) {
      const Residency &stay = plan.residencies[i];
      if (stay.segment != Segment::Arena || stay.memory.index() != memory)
        continue;
      const int64_t end = stay.offset + stay.bytes;
      const std::string name = stay.tensor.valid() ? graph.tensor(stay.tensor).name : "workspace";
      body += concat(
          "<rect x=\"", number(x(times[i].startNs)), "\" y=\"", number(top + kMap - scale * static_cast<double>(end)),
          "\" width=\"", number(std::max(x(times[i].endNs) - x(times[i].startNs), 0.2)), "\" height=\"",
          number(std::max(scale * static_cast<double>(stay.bytes), 0.2)), "\" fill=\"", kindColour(graph, stay.tensor),
          "\" stroke=\"#ffffff\" stroke-width=\"0.3\"><title>", escapeHtml(excerpt(name)), ", bytes ", stay.offset,
          " to ", end, ", ", describeSpan(times[i], timeline.makespanNs), "</title></rect>\n");
    }
    top += kMap;
  }
};
} // namespace

std::string reportSvg(const PlanFile &file) { return Drawing(file).draw(); }

} // namespace sluice
