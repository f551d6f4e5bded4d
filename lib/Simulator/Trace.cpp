//===- Trace.cpp - Timelines for trace viewers ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The file writes the trace event format that Chrome and Perfetto read. Times are in microseconds. A device is a
// process, a stream is a thread, and a memory is a counter.
//
//===----------------------------------------------------------------------===//

#include "sluice/Simulator/Simulator.h"

#include <nlohmann/json.hpp>

namespace sluice {

static double microseconds(int64_t ns) { return static_cast<double>(ns) / 1e3; }

static std::string_view streamName(StreamKind kind) {
  switch (kind) {
  case StreamKind::Compute:
    return "compute";
  case StreamKind::SwapIn:
    return "swap in";
  case StreamKind::SwapOut:
    return "swap out";
  case StreamKind::Communicate:
    return "communicate";
  case StreamKind::FileIn:
    return "file in";
  case StreamKind::FileOut:
    return "file out";
  }
  return {};
}

static Json metadata(std::string_view what, size_t process, size_t thread, std::string name) {
  Json event;
  event["ph"] = "M";
  event["name"] = what;
  event["pid"] = process;
  event["tid"] = thread;
  event["args"]["name"] = std::move(name);
  return event;
}

static Json commandEvent(const Graph &graph, const Machine &machine, const Plan &plan, size_t index,
                         const Interval &interval) {
  const Command &command = plan.commands[index];
  Json event;
  event["ph"] = "X";
  if (command.kind == CommandKind::Launch) {
    const Operator &op = graph.op(command.op);
    event["name"] = op.name;
    event["cat"] = op.kind;
    event["args"]["flops"] = op.flops;
  } else {
    const Residency &source = plan.residencies[command.reads[0].index()];
    const Residency &destination = plan.residencies[command.writes[0].index()];
    const Tensor &tensor = graph.tensor(source.tensor);
    event["name"] = tensor.name;
    event["cat"] = "copy";
    event["args"]["bytes"] = tensor.bytes;
    event["args"]["from"] = machine.memory(source.memory).name;
    event["args"]["to"] = machine.memory(destination.memory).name;
  }
  event["args"]["command"] = index;
  event["pid"] = plan.streams[command.stream.index()].device.index();
  event["tid"] = command.stream.index();
  event["ts"] = microseconds(interval.startNs);
  event["dur"] = microseconds(interval.endNs - interval.startNs);
  return event;
}

Json traceJson(const Graph &graph, const Machine &machine, const Plan &plan, const Timeline &timeline) {
  Json events = Json::array();
  for (size_t i = 0; i < machine.devices.size(); ++i)
    events.push_back(metadata("process_name", i, 0, machine.devices[i].name));
  for (size_t i = 0; i < plan.streams.size(); ++i)
    events.push_back(
        metadata("thread_name", plan.streams[i].device.index(), i, std::string(streamName(plan.streams[i].kind))));
  for (size_t i = 0; i < plan.commands.size(); ++i)
    events.push_back(commandEvent(graph, machine, plan, i, timeline.commands[i]));

  MemoryProfile profile = memoryProfile(machine, plan, timeline);
  for (size_t m = 0; m < profile.perMemory.size(); ++m) {
    size_t owner = 0; // The first device that works in this memory shows it.
    while (owner + 1 < machine.devices.size() && machine.devices[owner].memory.index() != m)
      ++owner;
    for (const MemoryProfile::Sample &sample : profile.perMemory[m]) {
      Json event;
      event["ph"] = "C";
      event["name"] = concat("memory '", machine.memories[m].name, "'");
      event["pid"] = owner;
      event["ts"] = microseconds(sample.timeNs);
      event["args"]["bytes"] = sample.bytes;
      events.push_back(std::move(event));
    }
  }
  Json trace;
  trace["displayTimeUnit"] = "ns";
  trace["traceEvents"] = std::move(events);
  return trace;
}

} // namespace sluice
