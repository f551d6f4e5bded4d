//===- PipelineCommand.cpp - sluice-solve pipeline ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Schedules of pipelines with equal stages, or with stages of given times: their
// bubbles beside the closed forms of their papers, and the microbatches that the
// first stage keeps.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Pipeline/Schedule.h"
#include "sluice/Support/Units.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::solve {
namespace {

constexpr int kMost = 1024; ///< Of groups, stages and microbatches.

struct PipelineOptions {
  std::vector<int> groups = {2, 4, 8}, microbatches = {4, 8, 16, 32, 64}, chunks = {2};
  std::vector<int64_t> forwardNs, backwardNs; ///< Per stage; empty: equal stages.
  std::string format = "text";
};

struct PipelineRow {
  PipelineKind kind;
  uint32_t groups, chunks, microbatches;

  double closedForm() const { return equalBubbleShare(groups, microbatches, chunks); }
};

std::vector<PipelineRow> rowsOf(const PipelineOptions &options) {
  std::vector<PipelineRow> rows;
  auto add = [&](PipelineKind kind, int groups, int chunks, int microbatches) {
    rows.push_back(
        {kind, static_cast<uint32_t>(groups), static_cast<uint32_t>(chunks), static_cast<uint32_t>(microbatches)});
  };
  // Stages of given times are one for each group.
  const bool isTimed = !options.forwardNs.empty();
  for (int groups : isTimed ? std::vector<int>{static_cast<int>(options.forwardNs.size())} : options.groups)
    for (int microbatches : options.microbatches) {
      add(PipelineKind::GPipe, groups, 1, microbatches);
      add(PipelineKind::OneForward, groups, 1, microbatches);
      for (int chunks : options.chunks)
        if (!isTimed && microbatches % groups == 0)
          add(PipelineKind::Interleaved, groups, chunks, microbatches);
    }
  return rows;
}

std::string formatRow(const PipelineRow &row, const std::string &name, double share, double kept) {
  char text[160];
  std::snprintf(text, sizeof text, "| %s | %u | %u | %u | %.4f | %.4f | %.6g |\n", name.c_str(), row.groups, row.chunks,
                row.microbatches, share, row.closedForm(), kept);
  return text;
}

/// Before anything is printed.
Status checkRows(const std::vector<PipelineRow> &rows) {
  for (const PipelineRow &row : rows)
    if (row.groups * row.chunks > static_cast<uint32_t>(kMost))
      return makeError(ErrorCode::InvalidInput, row.groups, " groups of ", row.chunks, " stages have more than ", kMost,
                       " stages, options '--groups' and '--stages-per-group', give smaller numbers");
  return {};
}

Status runPipeline(const PipelineOptions &options, const std::atomic<bool> &interrupt) {
  if (options.forwardNs.size() != options.backwardNs.size() || options.forwardNs.size() == 1)
    return makeError(ErrorCode::InvalidInput, "option '--forward' lists ", options.forwardNs.size(),
                     options.forwardNs.size() == 1 ? " duration" : " durations", ", and option '--backward' lists ",
                     options.backwardNs.size(), ", give both options the same number of durations, at least two");
  const std::vector<PipelineRow> all = rowsOf(options);
  SLUICE_RETURN_IF_ERROR(checkRows(all));
  const bool isText = options.format == "text";
  if (isText)
    std::cout << "| schedule | groups | stages a group | microbatches | bubbles, simulated | closed form | kept "
                 "microbatches of the first group |\n|---|---:|---:|---:|---:|---:|---:|\n";
  Json rows = Json::array();
  for (const PipelineRow &row : all) {
    if (interrupt)
      return makeError(ErrorCode::Interrupted, "the simulation was stopped before its last row, run it again");
    SLUICE_ASSIGN_OR_RETURN(const PipelineSchedule schedule,
                            makeSchedule(row.kind, row.groups, row.groups * row.chunks, row.microbatches));
    // A microbatch keeps a byte in each stage, and as many in a group as it has stages.
    constexpr int64_t kForwardNs = 1'000'000;
    PipelineCosts costs = PipelineCosts::equal(schedule.stages, kForwardNs, /*keptBytes=*/1);
    if (!options.forwardNs.empty())
      costs.forwardNs = options.forwardNs, costs.backwardNs = options.backwardNs;
    SLUICE_ASSIGN_OR_RETURN(const PipelineTimeline timeline, simulatePipeline(schedule, costs));
    const double kept = static_cast<double>(timeline.keptBytes.front()) / row.chunks;
    const std::string &name = pipelineKindNames()[static_cast<size_t>(row.kind)];
    if (isText)
      std::cout << formatRow(row, name, timeline.bubbleShare(), kept);
    rows.push_back({{"schedule", name},
                    {"groups", row.groups},
                    {"stagesPerGroup", row.chunks},
                    {"microbatches", row.microbatches},
                    {"bubbleShare", timeline.bubbleShare()},
                    {"closedForm", row.closedForm()},
                    {"keptMicrobatches", kept}});
  }
  if (!isText)
    printJson(Json{{"rows", std::move(rows)}});
  return {};
}

} // namespace

void addPipelineCommand(CLI::App &app, Action &action, const std::atomic<bool> &interrupt) {
  auto options = std::make_shared<PipelineOptions>();
  CLI::App *command = driver::addCommand(
      app, "pipeline",
      "Simulate schedules of pipelines with equal stages, and compare their bubbles with closed forms");
  auto addNumbers = [&](const char *name, std::vector<int> &numbers, const char *description, int least = 1) {
    driver::addOption(*command, name, numbers, description)
        ->delimiter(',')
        ->check(CLI::Range(least, kMost))
        ->type_name("N,...")
        ->capture_default_str();
  };
  addNumbers("--groups", options->groups, "numbers of groups of ranks, each with stages of its own");
  addNumbers("--microbatches", options->microbatches, "numbers of microbatches of a step");
  addNumbers("--stages-per-group", options->chunks,
             "numbers of stages of a group in interleaved schedules, which need a multiple of the groups as "
             "microbatches",
             /*least=*/2);
  auto addTimes = [&](const char *name, std::vector<int64_t> &times, const char *description) {
    auto take = [name, &times](const std::vector<std::string> &texts) {
      for (const std::string &text : texts) {
        const Expected<int64_t> ns = parseDuration(text);
        if (!ns || *ns < 1)
          throw CLI::ValidationError(name, ns ? concat("'", text, "' is not a positive time, give a time such as 5ms")
                                              : ns.error().message);
        times.push_back(*ns);
      }
    };
    return command->add_option_function<std::vector<std::string>>(name, take, description)
        ->delimiter(',')
        ->type_name("TIME,...");
  };
  CLI::Option *forward = addTimes("--forward", options->forwardNs,
                                  "time of each stage's forward pass of a microbatch, for stages that are not equal");
  CLI::Option *backward = addTimes("--backward", options->backwardNs, "the same of the backward passes");
  forward->needs(backward)->excludes(command->get_option("--groups"));
  backward->needs(forward)->excludes(command->get_option("--stages-per-group"));
  addFormatOption(*command, options->format);
  command->callback(
      [options, &action, &interrupt] { action = [options, &interrupt] { return runPipeline(*options, interrupt); }; });
}

} // namespace sluice::solve
