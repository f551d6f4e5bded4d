//===- ProfileCommand.cpp - sluice profile --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "LinkProbe.h"
#include "Options.h"
#include "RunInputs.h"
#include "RunSession.h"
#include "sluice/Cost/Profile.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::driver {
namespace {

struct Options {
  std::string model, output, format = "text";
  int64_t repeat = 10;
  CompileOptions compile;
};

/// Times by what was measured: (signature, device).
using Samples = std::map<std::pair<std::string, std::string>, std::vector<int64_t>>;

/// Adds the last step's launches.
void takeSamples(const RunSession &session, const Compilation &compilation,
                 const std::map<std::string_view, OperatorId> &operators, Samples &samples) {
  const sluice_model &model = session.model();
  const Plan &plan = compilation.result().plan;
  for (const sluice_command_time &time : session.commandTimes()) {
    if (time.op == UINT32_MAX)
      continue;
    auto found = operators.find(model.op_names[time.op]);
    if (found == operators.end())
      continue;
    const Operator &op = compilation.graph().op(found->second);
    if (op.signature.empty())
      continue;
    const Device &device = compilation.machine().device(plan.placement[found->second.index()]);
    samples[{op.signature, deviceKey(device)}].push_back(std::max<int64_t>(time.end_ns - time.start_ns, 1));
  }
}

Profile summarize(Samples samples) {
  Profile profile;
  for (auto &[key, times] : samples) {
    std::sort(times.begin(), times.end());
    const size_t count = times.size();
    profile.operators[key] = {times[count / 2], times[count * 3 / 4] - times[count / 4], static_cast<int64_t>(count)};
  }
  return profile;
}

/// The operators that take longest, all of one signature together.
void printProfile(const Compilation &compilation, const Profile &profile) {
  struct Row {
    std::string name, kind, device;
    int64_t count = 0, medianNs = 0, spreadNs = 0, plannedNs = 0;
  };
  std::map<std::pair<std::string, std::string>, Row> rows;
  const Graph &graph = compilation.graph();
  for (size_t i = 0; i < graph.numOperators(); ++i) {
    const Operator &op = graph.op(OperatorId(i));
    const DeviceId placed = compilation.result().plan.placement[i];
    const Device &device = compilation.machine().device(placed);
    auto measured = profile.operators.find({op.signature, deviceKey(device)});
    if (measured == profile.operators.end())
      continue;
    Row &row = rows[measured->first];
    if (row.count++ == 0)
      row = {op.name,
             op.kind,
             device.name,
             1,
             measured->second.medianNs,
             measured->second.spreadNs,
             compilation.costs().timeNs(OperatorId(i), placed)};
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
}

void printLinks(const Machine &machine, const Profile &profile) {
  if (machine.links.empty())
    return;
  auto rate = [](double bytesPerSec) { return formatBytes(static_cast<int64_t>(bytesPerSec)) + "/s"; };
  std::cout << '\n';
  Table table({"link", "latency", "one way", "both ways", "spread", "planned with"});
  for (const Link &link : machine.links) {
    const std::string &a = machine.memory(link.a).name, &b = machine.memory(link.b).name;
    const std::string planned = concat(formatDuration(link.latencyNs), ", ", rate(link.bytesPerSec));
    auto found = profile.links.find({a, b});
    if (found == profile.links.end()) {
      table.add({concat(a, " - ", b), "not measured", "", "", "", planned});
      continue;
    }
    const LinkMeasurement &measured = found->second;
    char spread[32];
    std::snprintf(spread, sizeof spread, "%.1f%%", 100 * measured.spread);
    table.add({concat(a, " - ", b), formatDuration(measured.latencyNs), rate(measured.bytesPerSec),
               rate(measured.duplexBytesPerSec), spread, planned});
  }
  table.print();
}

Status runProfile(const Options &options) {
  Expected<CompilerOptions> resolved = options.compile.resolve();
  if (!resolved)
    return propagate(resolved);
  Expected<std::unique_ptr<Compilation>> created = Compilation::create(options.model, std::move(*resolved));
  if (!created)
    return propagate(created);
  Compilation &compilation = **created;
  Expected<TemporaryDirectory> made = TemporaryDirectory::create();
  if (!made)
    return propagate(made);
  const std::string directory = made->file("model");
  if (Status status = linkToRun(compilation, directory); !status)
    return status;
  Expected<RunSession> session = RunSession::open(directory, options.compile.threads(), /*trace=*/true);
  if (!session)
    return propagate(session);
  const sluice_model &model = session->model();
  Expected<std::vector<HostTensor>> inputs = makeInputs(model, std::vector<GivenInput>(model.num_inputs));
  if (!inputs)
    return propagate(inputs);
  Expected<std::vector<HostTensor>> outputs = makeOutputs(model);
  if (!outputs)
    return propagate(outputs);

  std::map<std::string_view, OperatorId> operators;
  for (size_t i = 0; i < compilation.graph().numOperators(); ++i)
    operators.emplace(compilation.graph().op(OperatorId(i)).name, OperatorId(i));
  Samples samples;
  // The first step warms caches and pages, and is not counted.
  for (int64_t step = 0; step <= options.repeat; ++step) {
    if (Status status = session->step(*inputs, *outputs); !status)
      return status;
    if (step > 0)
      takeSamples(*session, compilation, operators, samples);
  }
  Profile profile = summarize(std::move(samples));
  const Machine &machine = compilation.machine();
  for (size_t i = 0; i < machine.links.size(); ++i) {
    Expected<LinkMeasurement> measured = measureLink(machine, LinkId(i), options.repeat);
    if (!measured && measured.error().code == ErrorCode::Unsupported)
      continue; // Too small or too slow: as the machine says it is.
    if (!measured)
      return propagate(measured);
    const Link &link = machine.links[i];
    profile.links[{machine.memory(link.a).name, machine.memory(link.b).name}] = *measured;
  }
  if (Status status = writeFileAtomically(options.output, profileToJson(profile).dump(1) + "\n"); !status)
    return status;
  if (options.format == "json") {
    printJson(profileToJson(profile));
    return {};
  }
  printProfile(compilation, profile);
  printLinks(machine, profile);
  return {};
}

} // namespace

void addProfileCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<Options>();
  CLI::App *command =
      app.add_subcommand("profile", "Measure a model's operators and the machine's links, for --profile");
  command->add_option("MODEL", options->model, "an ONNX file")->required();
  command->add_option("-o,--output", options->output, "the measured times")->required();
  command->add_option("--repeat", options->repeat, "steps to measure; the median counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  addFormatOption(*command, options->format);
  options->compile.addTo(*command);
  command->callback([options, &action] { action = [options] { return runProfile(*options); }; });
}

} // namespace sluice::driver
