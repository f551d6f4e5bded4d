//===- ProfileCommand.cpp - sluice profile --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "LinkProbe.h"
#include "OperatorSamples.h"
#include "RunInputs.h"
#include "RunSession.h"
#include "SharedOptions.h"
#include "sluice/Codegen/Target.h"
#include "sluice/Compiler/Phases.h"
#include "sluice/Cost/LearnedCostModel.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

namespace sluice::driver {
namespace {

struct ProfileOptions {
  std::string model, output, format = "text";
  int64_t repeat = 10;
  bool again = false;
  CompileOptions compile;
};

/// The model with all operators on one device.
struct Subject {
  DeviceId device;
  std::unique_ptr<Compilation> compilation;
  std::optional<TemporaryDirectory> directory = {};
  std::optional<RunSession> session = {};
  std::vector<HostTensor> inputs = {}, outputs = {};
  std::optional<OperatorSamples> samples = {};
  std::string leftOut = {}; ///< Why it cannot be measured.

  const Device &described() const { return compilation->machine().device(device); }
};

using Key = std::pair<std::string, std::string>; ///< What was measured: (signature, device).

/// Whether a profile has all that runs on the subject's device.
bool isMeasured(const Profile &profile, const Subject &subject) {
  const std::string device = deviceKey(subject.described());
  const std::span<const Operator> operators = subject.compilation->graph().operators();
  return std::all_of(operators.begin(), operators.end(), [&](const Operator &op) {
    return op.signature.empty() || profile.operators.contains({op.signature, device});
  });
}

Status open(Subject &subject, int threads) {
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory made, TemporaryDirectory::create());
  subject.directory.emplace(std::move(made));
  const std::string directory = subject.directory->path();
  SLUICE_RETURN_IF_ERROR(linkToRun(*subject.compilation, directory));
  SLUICE_ASSIGN_OR_RETURN(RunSession session, RunSession::open(directory, threads, /*trace=*/true));
  subject.session.emplace(std::move(session));
  SLUICE_RETURN_IF_ERROR(subject.session->fillStates());
  const sluice_model &model = subject.session->model();
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs,
                          makeInputs(model, subject.session->inputShapes(), std::vector<GivenInput>(model.num_inputs)));
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, subject.session->makeOutputs());
  subject.inputs = std::move(inputs);
  subject.outputs = std::move(outputs);
  const Compilation &compilation = *subject.compilation;
  subject.samples.emplace(compilation.graph(), compilation.machine(), compilation.result().plan);
  return {};
}

/// One for each kind of device that computes, or of the one asked for.
Expected<std::vector<Subject>> makeSubjects(const ProfileOptions &options, const CompilerOptions &resolved) {
  SLUICE_ASSIGN_OR_RETURN(Machine machine, loadMachine(resolved.machine));
  std::vector<std::string> names, keys;
  for (DeviceId id : machine.computeDevices()) {
    const Device &device = machine.device(id);
    if (resolved.device.empty() && std::find(keys.begin(), keys.end(), deviceKey(device)) == keys.end()) {
      names.push_back(device.name);
      keys.push_back(deviceKey(device));
    }
  }
  if (!resolved.device.empty())
    names.push_back(resolved.device);
  std::vector<Subject> subjects;
  for (const std::string &name : names) {
    CompilerOptions own = resolved;
    own.device = name;
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> created, Compilation::create(options.model, std::move(own)));
    SLUICE_RETURN_IF_ERROR(created->run(Phase::Fuse));
    size_t device = 0;
    while (created->machine().devices[device].name != name)
      ++device;
    subjects.push_back({DeviceId(device), std::move(created)});
  }
  return subjects;
}

/// What an earlier run has left, unless it was made elsewhere or is not wanted.
Expected<Profile> readEarlier(const ProfileOptions &options, const CompilerOptions &resolved) {
  SLUICE_ASSIGN_OR_RETURN(TargetSpec target, resolveTarget(resolved.target));
  Profile fresh;
  fresh.origin = measurementOrigin(target, resolved.matmulPrecision);
  std::error_code ignored;
  if (options.again || !std::filesystem::exists(options.output, ignored))
    return fresh;
  Expected<Json> json = readJsonFile(options.output);
  Expected<Profile> earlier =
      json ? profileFromJson(JsonReader(*json, options.output + ":")) : Expected<Profile>(propagate(json));
  if (!earlier)
    return makeError(
        ErrorCode::InvalidInput, "file '", options.output, "' exists but is not a valid profile (",
        earlier.error().message,
        "), so no measurement can be added, option '-o', give another file, or --again to replace this file");
  return earlier->origin == fresh.origin ? std::move(*earlier) : fresh;
}

/// The operators that take longest, all of one signature together.
void printProfile(const std::vector<Subject> &subjects, const Profile &profile) {
  struct Row {
    std::string name, kind, device;
    int64_t count = 0, medianNs = 0, spreadNs = 0, plannedNs = 0;
  };
  std::map<Key, Row> rows;
  for (const Subject &subject : subjects) {
    const Graph &graph = subject.compilation->graph();
    for (size_t i = 0; i < graph.numOperators(); ++i) {
      const Operator &op = graph.op(OperatorId(i));
      auto measured = profile.operators.find({op.signature, deviceKey(subject.described())});
      if (measured == profile.operators.end())
        continue;
      Row &row = rows[measured->first];
      if (row.count++ == 0)
        row = {op.name,
               op.kind,
               subject.described().name,
               1,
               measured->second.medianNs,
               measured->second.spreadNs,
               subject.compilation->costs().timeNs(OperatorId(i), subject.device)};
    }
  }
  std::vector<Row> sorted;
  for (auto &[key, row] : rows)
    sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Row &a, const Row &b) { return a.count * a.medianNs > b.count * b.medianNs; });
  Table table({"operator", "kind", "device", "times", "median", "spread", "planned with"});
  for (size_t i = 0; i < sorted.size() && i < 20; ++i)
    table.add({sorted[i].name, sorted[i].kind, sorted[i].device, concat(sorted[i].count),
               formatDuration(sorted[i].medianNs), formatDuration(sorted[i].spreadNs),
               formatDuration(sorted[i].plannedNs)});
  table.print();
  if (sorted.size() > 20)
    std::cout << "and " << sorted.size() - 20 << " more\n";
  for (const Subject &subject : subjects)
    if (!subject.leftOut.empty())
      printLine("left out", concat(subject.described().name, ": ", subject.leftOut));
}

void printLinks(const Machine &machine, const Profile &profile) {
  if (machine.links.empty())
    return;
  auto rate = [](double bytesPerSec) { return formatBytes(static_cast<int64_t>(bytesPerSec)) + "/s"; };
  std::cout << '\n';
  Table table({"link", "latency", "events", "one way", "both ways", "spread", "planned with"});
  for (const Link &link : machine.links) {
    const std::string &a = machine.memory(link.a).name, &b = machine.memory(link.b).name;
    const std::string planned = concat(formatDuration(link.latencyNs), ", ", rate(link.bytesPerSec));
    auto found = profile.links.find({a, b});
    if (found == profile.links.end()) {
      table.add({concat(a, " - ", b), "not measured", "", "", "", "", planned});
      continue;
    }
    const LinkMeasurement &measured = found->second;
    char spread[32];
    std::snprintf(spread, sizeof spread, "%.1f%%", 100 * measured.spread);
    table.add({concat(a, " - ", b), formatDuration(measured.latencyNs), formatDuration(measured.eventLatencyNs),
               rate(measured.bytesPerSec), rate(measured.duplexBytesPerSec), spread, planned});
  }
  table.print();
}

/// Runs what is not measured yet, the devices in turns: what disturbs one disturbs all.
Status measureOperators(const ProfileOptions &options, std::vector<Subject> &subjects, Profile &profile) {
  std::vector<Subject *> running;
  Status first;
  for (Subject &subject : subjects) {
    if (isMeasured(profile, subject))
      continue;
    Status opened = open(subject, options.compile.threads());
    if (!opened && opened.error().code != ErrorCode::Infeasible)
      return opened;
    if (opened) {
      running.push_back(&subject);
    } else {
      subject.leftOut = opened.error().message;
      if (first)
        first = std::move(opened);
    }
  }
  if (running.empty() && subjects.size() == 1)
    return first;
  // The first step of a turn warms caches and pages, and is not counted.
  constexpr int64_t kTurn = 5;
  for (int64_t done = 0; done < options.repeat; done += kTurn)
    for (Subject *subject : running)
      for (int64_t step = 0; step <= std::min(kTurn, options.repeat - done); ++step) {
        // Plans are for the upper bounds of sizes, so operators are measured with full states.
        SLUICE_RETURN_IF_ERROR(subject->session->fillStates());
        SLUICE_RETURN_IF_ERROR(subject->session->step(subject->inputs, subject->outputs));
        if (step > 0)
          subject->samples->addStep(*subject->session);
      }
  // Grids that stood in for a library say nothing of it. Where it refuses some kernels alone, asking it takes as long
  // there.
  for (const Subject *subject : running)
    for (const std::string &note : subject->session->notes())
      if (note.find(", so Sluice's own kernels compute the ") != std::string::npos)
        return makeError(ErrorCode::Unsupported, "the times of a GPU library cannot be measured, ", note,
                         ", install the library or give '--gpu-libraries off'");
  SampleMap samples;
  for (const Subject *subject : running)
    subject->samples->addTo(samples);
  summarize(std::move(samples), profile);
  return {};
}

Status measureLinks(const ProfileOptions &options, const Machine &machine, Profile &profile) {
  for (size_t i = 0; i < machine.links.size(); ++i) {
    const Link &link = machine.links[i];
    LinkMeasurement &known = profile.links[{machine.memory(link.a).name, machine.memory(link.b).name}];
    if (known.setting == linkKey(link))
      continue;
    Expected<LinkMeasurement> measured = measureLink(machine, LinkId(i), options.repeat);
    if (measured) {
      known = *measured;
      known.setting = linkKey(link);
      continue;
    }
    profile.links.erase({machine.memory(link.a).name, machine.memory(link.b).name});
    if (measured.error().code != ErrorCode::Unsupported)
      return propagate(measured);
    // Too small or too slow: as the machine says it is.
  }
  return {};
}

/// How well times of operators never measured are predicted from this profile.
void printPredictor(const Machine &machine, const Profile &profile) {
  const std::vector<PredictorQuality> qualities = measurePredictor(profile, machine);
  if (qualities.empty())
    return;
  auto factor = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2fx", value);
    return std::string(text);
  };
  std::cout << '\n';
  Table table({"predictor", "operators", "off by", "linear", "roofline"});
  for (const PredictorQuality &quality : qualities)
    table.add({quality.device, concat(quality.operators), factor(quality.learned), factor(quality.linear),
               factor(quality.roofline)});
  table.print();
}

Status runProfile(const ProfileOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(CompilerOptions resolved, options.compile.resolveToRun());
  SLUICE_ASSIGN_OR_RETURN(Profile profile, readEarlier(options, resolved));
  SLUICE_ASSIGN_OR_RETURN(std::vector<Subject> subjects, makeSubjects(options, resolved));
  SLUICE_RETURN_IF_ERROR(measureOperators(options, subjects, profile));
  const Machine &machine = subjects.front().compilation->machine();
  SLUICE_RETURN_IF_ERROR(measureLinks(options, machine, profile));
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(options.output, jsonText(profileToJson(profile), 1) + "\n"));
  if (options.format == "json") {
    printJson(profileToJson(profile));
    return {};
  }
  printProfile(subjects, profile);
  printLinks(machine, profile);
  printPredictor(machine, profile);
  return {};
}

} // namespace

void addProfileCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App *command =
      driver::addCommand(app, "profile", "Measure a model's operators on every device, and the links, for --profile");
  addOption(*command, "MODEL", options->model, "an ONNX file")->required();
  addOption(*command, "-o,--output", options->output,
            "file of the measured times; times that it already has are not measured again")
      ->required();
  addOption(*command, "--repeat", options->repeat, "number of steps to measure; the median is used")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  addFlag(*command, "--again", options->again, "measure everything again, whatever the output file has");
  addFormatOption(*command, options->format);
  options->compile.addTo(*command);
  command->callback([options, &action] { action = [options] { return runProfile(*options); }; });
}

} // namespace sluice::driver
