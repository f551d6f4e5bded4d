//===- ReportMeasured.cpp - A step that ran, beside its plan --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Report.h"
#include "sluice/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

/// A command of a trace.
struct Event {
  int64_t command = 0;
  int64_t track = 0;
  int64_t rank = 0;
  std::string name;
  Interval interval;
};

/// Each rank gets a lane with all commands.
constexpr int64_t kMostRanks = 256;

/// Times beyond a year are no step's.
constexpr double kLongestUs = 365.0 * 24 * 3600 * 1e6;

Expected<int64_t> nanoseconds(const JsonReader &event, std::string_view key) {
  SLUICE_ASSIGN_OR_RETURN(double us, event.number(key));
  if (us < 0 || us > kLongestUs)
    return makeError(ErrorCode::InvalidInput, "the time ", key, " = ", us, " us is out of range, at '", event.where(),
                     "', give a file that 'sluice run --trace' wrote");
  return std::llround(us * 1e3);
}

Expected<Event> readEvent(const JsonReader &reader) {
  Event event;
  SLUICE_ASSIGN_OR_RETURN(event.name, reader.string("name"));
  SLUICE_ASSIGN_OR_RETURN(event.track, reader.integer("tid"));
  SLUICE_ASSIGN_OR_RETURN(event.interval.startNs, nanoseconds(reader, "ts"));
  SLUICE_ASSIGN_OR_RETURN(int64_t tookNs, nanoseconds(reader, "dur"));
  event.interval.endNs = event.interval.startNs + tookNs;
  SLUICE_ASSIGN_OR_RETURN(JsonReader arguments, reader.member("args"));
  SLUICE_ASSIGN_OR_RETURN(event.command, arguments.integer("command"));
  SLUICE_ASSIGN_OR_RETURN(event.rank, arguments.integer("rank", 0));
  if (event.rank < 0 || event.rank >= kMostRanks)
    return makeError(ErrorCode::InvalidInput, "rank ", event.rank, " is out of range, at '", reader.where(),
                     "', give a trace of ranks 0 to ", kMostRanks - 1);
  return event;
}

/// The name that traces give a command.
const std::string &nameOf(const PlanFile &file, const Command &command) {
  if (command.kind == CommandKind::Launch)
    return file.problem.graph.op(command.op).name;
  return file.problem.graph.tensor(file.plan.residencies[command.reads[0].index()].tensor).name;
}

/// The steps of a trace, by rank.
class StepReader {
public:
  explicit StepReader(const PlanFile &file) : file(file), commands(file.plan.commands) {}

  Status add(const JsonReader &entry) {
    SLUICE_ASSIGN_OR_RETURN(Event event, readEvent(entry));
    const bool isKnown = event.command >= 0 && event.command < static_cast<int64_t>(commands.size());
    if (!isKnown || nameOf(file, commands[event.command]) != event.name)
      return makeError(ErrorCode::InvalidInput, "command ", event.command, " of the trace is '", excerpt(event.name),
                       "' and ",
                       isKnown ? concat("that of the plan is '", excerpt(nameOf(file, commands[event.command])), "'")
                               : concat("the plan has only ", commands.size(), " commands"),
                       ", at '", entry.where(), "', give the trace of a run of this plan");
    auto [found, isNew] = steps.try_emplace(event.rank);
    auto &[step, tracks] = found->second;
    if (isNew) {
      step.commands.assign(commands.size(), {-1, -1});
      tracks.assign(commands.size(), -1);
    }
    // A device's own clock has a later track than the host's, and leaves out the time in which a command waits.
    if (int64_t &track = tracks[event.command]; event.track > track) {
      track = event.track;
      step.commands[event.command] = event.interval;
    }
    step.makespanNs = std::max(step.makespanNs, event.interval.endNs);
    return {};
  }

  std::vector<MeasuredStep> take(const std::string &name) {
    std::vector<MeasuredStep> result;
    for (auto &[rank, entry] : steps) {
      entry.first.name = steps.size() > 1 ? concat("rank ", rank, " of ", name) : name;
      result.push_back(std::move(entry.first));
    }
    return result;
  }

private:
  const PlanFile &file;
  const std::vector<Command> &commands;
  std::map<int64_t, std::pair<MeasuredStep, std::vector<int64_t>>> steps; ///< With the track of each command's times.
};

} // namespace

Expected<std::vector<MeasuredStep>> readMeasuredSteps(const PlanFile &file, const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path));
  SLUICE_ASSIGN_OR_RETURN(
      std::vector<JsonReader> entries,
      JsonReader(json, path).member("traceEvents").and_then([](const JsonReader &list) { return list.elements(); }));
  StepReader reader(file);
  for (const JsonReader &entry : entries) {
    SLUICE_ASSIGN_OR_RETURN(std::string phase, entry.string("ph"));
    if (phase == "X")
      SLUICE_RETURN_IF_ERROR(reader.add(entry));
  }
  std::vector<MeasuredStep> steps = reader.take(std::filesystem::path(path).stem().string());
  if (steps.empty())
    return makeError(ErrorCode::InvalidInput, "the trace has no commands, '", path,
                     "', give a file that 'sluice run --trace' wrote");
  return steps;
}

} // namespace sluice
