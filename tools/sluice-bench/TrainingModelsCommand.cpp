//===- TrainingModelsCommand.cpp - sluice-bench training-models -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ModelBuilders.h"
#include "passes/Bridge/GraphBridge.h"
#include "sluice/Compiler/Compilation.h"
#include "sluice/Graph/Footprint.h"
#include "sluice/Support/Json.h"
#include "sluice/Swap/SwapProblem.h"

#include "mlir/IR/BuiltinOps.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

struct TrainingModelsOptions : CommonOptions {
  std::vector<std::string> models;
  std::string scripts, optimizer = "momentum", machine = "v100-16gb";
  bool paper = false;
};

/// A training step as the compiler has it.
struct Counts {
  Footprint footprint;   ///< Before fusion.
  size_t operators = 0;  ///< After it: what is scheduled.
  int64_t peakBytes = 0; ///< Of liveness, in the model's order, everything on one accelerator.
  double seconds = 0;    ///< From the file to the graph a planner takes.
};

Expected<Counts> countStep(const std::string &path, const TrainingModelsOptions &options) {
  auto begin = std::chrono::steady_clock::now();
  CompilerOptions compiler;
  compiler.machine = options.machine;
  SLUICE_ASSIGN_OR_RETURN(TrainingOptions training, parseTraining("loss=softmax-cross-entropy", options.optimizer));
  compiler.training = std::move(training);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, Compilation::create(path, std::move(compiler)));
  SLUICE_RETURN_IF_ERROR(compilation->run(Phase::Differentiate));
  Counts counts;
  mlir::func::FuncOp main = *compilation->module().getOps<mlir::func::FuncOp>().begin();
  SLUICE_ASSIGN_OR_RETURN(BridgedGraph unfused, buildGraph(main));
  SLUICE_ASSIGN_OR_RETURN(Footprint footprint, countFootprint(unfused.graph));
  counts.footprint = std::move(footprint);
  SLUICE_RETURN_IF_ERROR(compilation->run(Phase::Fuse));
  counts.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Graph &graph = compilation->graph();
  const Machine &machine = compilation->machine();
  counts.operators = graph.numOperators();
  SLUICE_ASSIGN_OR_RETURN(std::vector<OperatorId> order, graph.topologicalOrder());
  const std::vector<DeviceId> devices = machine.computeDevices();
  SwapProblem problem{graph,
                      machine,
                      compilation->costs(),
                      std::vector<DeviceId>(graph.numOperators(), devices.back()),
                      std::move(order),
                      {}};
  for (const Memory &memory : machine.memories)
    problem.capacityBytes.push_back(memory.capacityBytes);
  SLUICE_RETURN_IF_ERROR(check(problem));
  std::vector<int64_t> peaks = livenessPeakBytes(problem);
  counts.peakBytes = *std::max_element(peaks.begin(), peaks.end());
  return counts;
}

/// --batch-norm or --no-batch-norm, --size 224...
void addFlags(const Json &options, std::vector<std::string> &command) {
  for (const auto &[key, value] : options.items()) {
    std::string flag = key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (value.is_boolean()) {
      command.push_back((value.get<bool>() ? "--" : "--no-") + flag);
    } else {
      command.push_back("--" + flag);
      command.push_back(jsonText(value));
    }
  }
}

std::string labelOf(const Json &row) {
  std::string label = row["model"];
  for (const auto &[key, value] : row["options"].items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', ' ');
    label += ", " + (value.is_boolean() ? (value.get<bool>() ? "" : "no ") + name : jsonText(value) + " " + name);
  }
  return label;
}

Json toJson(const Counts &counts) {
  return {{"memory_gb", static_cast<double>(counts.footprint.bytes) / 1e9}, {"own_nodes", counts.footprint.operators},
          {"own_tensor_sizes", counts.footprint.tensorSizes.size()},        {"own_operators", counts.operators},
          {"peak_gb", static_cast<double>(counts.peakBytes) / 1e9},         {"seconds", counts.seconds}};
}

void printHeader() {
  std::printf("%-44s %6s %8s %6s %9s %6s %10s %9s %6s   %s\n", "model", "batch", "GB", "MXNet", "apart", "sizes",
              "own nodes", "operators", "peak", "paper: GB, operators, sizes");
}

void printRow(const std::string &label, const Json &row) {
  std::string paper;
  if (row.contains("paper"))
    paper = jsonText(row["paper"]["memory_gb"]) + ", " + jsonText(row["paper"]["operators"]) + ", " +
            jsonText(row["paper"]["tensor_sizes"]);
  auto text = [&](const char *key) { return row.contains(key) ? jsonText(row[key]) : std::string(); };
  std::printf("%-44s %6s %8.1f %6s %9s %6s %10s %9s %6.1f   %s\n", label.c_str(), text("batch").c_str(),
              row["memory_gb"].get<double>(), text("operators").c_str(), text("operators_apart").c_str(),
              text("tensor_sizes").c_str(), text("own_nodes").c_str(), text("own_operators").c_str(),
              row["peak_gb"].get<double>(), paper.c_str());
  std::fflush(stdout);
}

/// The paper's models, built, counted at MXNet's grain by the builders and at
/// our own by the compiler.
Status countPaper(const TrainingModelsOptions &options, Json &rows) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<ModelBuilders> builders, ModelBuilders::create(options.scripts));
  SLUICE_ASSIGN_OR_RETURN(Json published, builders->paperModels());
  for (Json row : published) {
    std::vector<std::string> flags;
    addFlags(row["options"], flags);
    SLUICE_ASSIGN_OR_RETURN(std::string model, builders->build(row["model"], row["batch"], flags));
    SLUICE_ASSIGN_OR_RETURN(Counts counts, countStep(model, options));
    row["memory_gb_mxnet"] = row["memory_gb"];
    row.update(toJson(counts));
    if (!options.json())
      printRow(labelOf(row), row);
    rows.push_back(std::move(row));
  }
  return {};
}

Status runTrainingModels(const TrainingModelsOptions &options) {
  Json rows = Json::array();
  if (!options.json())
    printHeader();
  if (options.paper)
    SLUICE_RETURN_IF_ERROR(countPaper(options, rows));
  for (const std::string &model : options.models) {
    SLUICE_ASSIGN_OR_RETURN(Counts counts, countStep(model, options));
    Json row = toJson(counts);
    row["model"] = model;
    if (!options.json())
      printRow(model, row);
    rows.push_back(std::move(row));
  }
  if (options.json())
    std::cout << jsonText(rows, 2) << '\n';
  return {};
}

} // namespace

void addTrainingModelsCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<TrainingModelsOptions>();
  CLI::App *command = driver::addCommand(app, "training-models",
                                         "Count bytes, operators and tensor sizes of training steps, and their peak");
  driver::addOption(*command, "MODEL", options->models, "ONNX files, with or without weights");
  driver::addFlag(*command, "--paper", options->paper,
                  "count the five models of the SwapAdvisor paper, beside its Table 1");
  driver::addOption(*command, "--scripts", options->scripts, "directory of the model builders, scripts/models")
      ->type_name("DIR");
  driver::addOption(*command, "--optimizer", options->optimizer, "optimizer, as in 'sluice compile'")
      ->capture_default_str();
  driver::addFormatOption(*command, options->format);
  command->callback([options, &action] {
    if (!options->paper && options->models.empty())
      throw CLI::RequiredError("MODEL or --paper");
    action = [options] { return runTrainingModels(*options); };
  });
}

} // namespace sluice::bench
