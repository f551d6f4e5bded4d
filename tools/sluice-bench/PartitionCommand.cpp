//===- PartitionCommand.cpp - sluice-bench partition ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// SoyBean's evaluation (Wang, Huang and Li, 2018, section 6): training steps of
// its models split over devices, ours beside its own cuts, Spartan's greedy, data
// and model parallelism; and models of any size, for the time the search takes.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ModelBuilders.h"
#include "sluice/Compiler/Partitioning.h"
#include "sluice/Support/Units.h"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

struct Options {
  std::vector<std::string> models;
  std::vector<int64_t> batches, devices = {2, 4, 8};
  std::vector<std::string> flags;
  std::string scripts, machine = "p2.8xlarge", optimizer = "sgd", format = "text";
  int threads = 0;
  bool inference = false;
};

std::string formatFixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// A model of the builders, with what they take beside its batch.
struct PartitionCase {
  std::string model;
  int64_t batch = 0;
  std::vector<std::string> flags = {};
};

/// SoyBean's, figures 8 to 11: of AlexNet and VGG the batches from small to where data parallelism serves.
std::vector<PartitionCase> casesOf(const Options &options) {
  std::vector<PartitionCase> cases{{"mlp-4-8k", 512},
                                   {"mlp-4-8k", 2048},
                                   {"mlp-4-12k", 2048},
                                   {"cnn-5-2k", 256, {"--size", "6"}},
                                   {"cnn-5-512", 256, {"--size", "24"}},
                                   {"alexnet", 128},
                                   {"alexnet", 256},
                                   {"alexnet", 512},
                                   {"alexnet", 1024},
                                   {"vgg-16", 32},
                                   {"vgg-16", 64},
                                   {"vgg-16", 128}};
  if (options.models.empty())
    return cases;
  cases.clear();
  for (const std::string &model : options.models)
    for (int64_t batch : options.batches)
      cases.push_back({model, batch, options.flags});
  return cases;
}

Expected<PlannedPartition> plan(const ModelBuilders &builders, const PartitionCase &each, const Options &options,
                                int64_t devices, double &seconds) {
  Expected<std::string> path = builders.build(each.model, each.batch, each.flags);
  if (!path)
    return propagate(path);
  CompilerOptions compiler;
  compiler.machine = options.machine;
  compiler.threads = options.threads;
  compiler.searchTimeNs = 0;
  if (!options.inference) {
    Expected<TrainingOptions> training = parseTraining("loss=softmax-cross-entropy", options.optimizer);
    if (!training)
      return propagate(training);
    compiler.training = std::move(*training);
  }
  Expected<std::unique_ptr<Compilation>> compilation = Compilation::create(*path, std::move(compiler));
  if (!compilation)
    return propagate(compilation);
  if (Status status = (*compilation)->run(Phase::Differentiate); !status)
    return propagate(status);
  auto start = std::chrono::steady_clock::now();
  PartitionParams params = partitionParams((*compilation)->options());
  // Speed is compared: what does not fit a device is shown by its memory.
  params.memoryBytes = std::numeric_limits<int64_t>::max();
  Expected<PlannedPartition> planned = planPartition(**compilation, devices, params);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return planned;
}

Status runPartition(const Options &options) {
  if (!options.models.empty() && options.batches.empty())
    return makeError(ErrorCode::InvalidInput, "models have no batch, give one, option '--batch'");
  Expected<std::unique_ptr<ModelBuilders>> builders = ModelBuilders::create(options.scripts);
  if (!builders)
    return propagate(builders);
  Json rows = Json::array();
  bool isText = options.format == "text";
  if (isText)
    std::cout << "model batch devices operators | speed-up: ours soybean spartan data model | MB sent: ours soybean "
                 "spartan data model | GB a device: ours data | seconds\n";
  for (const PartitionCase &each : casesOf(options))
    for (int64_t devices : options.devices) {
      double seconds = 0;
      Expected<PlannedPartition> planned = plan(**builders, each, options, devices, seconds);
      if (!planned)
        return propagate(planned);
      const PartitionSolution &solution = planned->solution;
      Json row{{"model", each.model},
               {"batch", each.batch},
               {"devices", devices},
               {"operators", planned->program.operators.size()},
               {"singleNs", planned->singleNs},
               {"seconds", seconds}};
      std::string speeds, volumes, dataMemory;
      auto note = [&](const std::string &name, const PartitionReport &report) {
        double speedUp =
            static_cast<double>(planned->singleNs) / static_cast<double>(std::max<int64_t>(1, report.makespanNs));
        row[name] = {{"speedUp", speedUp},
                     {"makespanNs", report.makespanNs},
                     {"bytes", report.bytes},
                     {"peakBytes", report.peakBytes}};
        speeds += " " + formatFixed(speedUp, 2);
        volumes += " " + formatFixed(static_cast<double>(report.bytes) / 1e6, 1);
        if (name == "data-parallel")
          dataMemory = formatFixed(static_cast<double>(report.peakBytes) / 1e9, 2);
      };
      note("best", solution.report);
      for (const PartitionBaseline &baseline : solution.baselines)
        note(baseline.solver, baseline.report);
      if (isText)
        std::cout << each.model << " " << each.batch << " " << devices << " " << planned->program.operators.size()
                  << " |" << speeds << " |" << volumes << " | "
                  << formatFixed(static_cast<double>(solution.report.peakBytes) / 1e9, 2) << " " << dataMemory << " | "
                  << formatFixed(seconds, 1) << std::endl;
      rows.push_back(std::move(row));
    }
  if (!isText)
    std::cout << Json{{"machine", options.machine}, {"rows", std::move(rows)}}.dump(2) << "\n";
  return {};
}

} // namespace

void addPartitionCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "partition", "Training steps split over devices: ours against SoyBean, Spartan, data and model parallelism");
  command->add_option("--models", options->models, "of scripts/models, instead of SoyBean's")->delimiter(',');
  command->add_option("--batch", options->batches, "of --models")->delimiter(',')->check(CLI::PositiveNumber);
  command
      ->add_option("--model-flag", options->flags, "an argument of the builder of --models, as --model-flag=--layers")
      ->allow_extra_args(false);
  command->add_option("--devices", options->devices, "how many")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--machine", options->machine, "whose devices")->capture_default_str();
  command->add_option("--optimizer", options->optimizer, "of the training step")->capture_default_str();
  command->add_flag("--inference", options->inference, "the model alone, no training step");
  command->add_option("--threads", options->threads, "0: one a core; never changes a result")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--scripts", options->scripts, "the builders' directory, unless beside the sources");
  command->add_option("--format", options->format, "text for people, json for programs")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->callback([options, &action] { action = [options] { return runPartition(*options); }; });
}

} // namespace sluice::bench
