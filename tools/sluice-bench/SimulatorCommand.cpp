//===- SimulatorCommand.cpp - sluice-bench simulator ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A search plans and simulates once an evaluation: how often a second it can.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Timing.h"
#include "sluice/Search/Orders.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Json.h"
#include "sluice/Swap/SwapPlanner.h"
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

struct Options : CommonOptions {
  std::vector<int> sizes = {100, 1000, 10000};
  uint64_t seed = 1;
};

/// Layers with a parameter each that read the one before, and every fourth also one of the eight before that: as
/// residual networks do. Tensors are 1 to 16 MiB, times are those of real layers.
Graph makeLayers(int operators, Rng &rng) {
  constexpr int64_t kMiB = int64_t(1) << 20;
  Graph graph;
  graph.name = concat("layers", operators);
  auto addTensor = [&](std::string name, TensorKind kind, bool output = false) {
    Tensor tensor;
    tensor.name = std::move(name);
    tensor.kind = kind;
    tensor.bytes = kMiB * static_cast<int64_t>(1 + rng.below(16));
    tensor.isOutput = output;
    return graph.addTensor(std::move(tensor));
  };
  std::vector<TensorId> values = {addTensor("x", TensorKind::Input)};
  for (int i = 0; i < operators; ++i) {
    Operator op;
    op.name = concat("layer", i);
    op.kind = "matmul";
    op.inputs = {values.back(), addTensor(concat("weight", i), TensorKind::Parameter)};
    if (i % 4 == 3)
      op.inputs.push_back(values[values.size() - 2 - rng.below(std::min<size_t>(values.size() - 1, 8))]);
    op.flops = static_cast<int64_t>(1 + rng.below(1'000'000'000));
    op.outputs = {addTensor(concat("value", i), TensorKind::Activation, i + 1 == operators)};
    values.push_back(op.outputs.front());
    graph.addOperator(std::move(op));
  }
  return graph;
}

struct SimulatorTiming {
  size_t operators = 0, commands = 0;
  double simulateSeconds = 0, planSeconds = 0; ///< Of one plan, medians.
};

/// The memory is halfway between the least that works and the peak, so that plans hold many copies.
Expected<SimulatorTiming> timeSimulator(int operators, const Options &options) {
  Rng rng(options.seed);
  const Graph graph = makeLayers(operators, rng);
  Expected<Machine> machine = machinePreset("v100-16gb");
  if (!machine)
    return propagate(machine);
  const CostTable costs = makeCostTable(graph, *machine, RooflineCostModel());
  SwapProblem problem{graph, *machine, costs, {}, modelOrder(graph), {}};
  problem.placement.assign(graph.numOperators(), machine->computeDevices().front());
  problem.capacityBytes.assign(machine->memories.size(), Memory().capacityBytes);
  if (Status status = check(problem); !status)
    return propagate(status);
  const size_t memory = machine->device(problem.placement.front()).memory.index();
  const int64_t least = minimumBytes(problem)[memory].bytes;
  problem.capacityBytes[memory] = least + (livenessPeakBytes(problem)[memory] - least) / 2;

  SimulatorTiming timing;
  timing.operators = graph.numOperators();
  double start = threadSeconds();
  Expected<Plan> plan = planSwapOffsets(problem);
  if (!plan)
    return propagate(plan);
  timing.planSeconds = threadSeconds() - start;
  timing.commands = plan->commands.size();
  std::vector<double> seconds;
  for (int i = 0; i < options.repeats; ++i) {
    // Small plans are simulated several times a measurement.
    const int calls = 1 + 2000 / operators;
    start = threadSeconds();
    for (int call = 0; call < calls; ++call)
      if (simulate(graph, *machine, costs, *plan).makespanNs <= 0)
        return makeError(ErrorCode::Internal, "a plan of ", operators, " operators takes no time");
    seconds.push_back((threadSeconds() - start) / calls);
  }
  timing.simulateSeconds = median(std::move(seconds));
  return timing;
}

Status runSimulator(const Options &options) {
  if (!options.json())
    std::printf("%10s %10s %12s %12s %12s\n", "operators", "commands", "plans/s", "ns/command", "planning ms");
  Json rows = Json::array();
  for (int size : options.sizes) {
    Expected<SimulatorTiming> timing = timeSimulator(size, options);
    if (!timing)
      return propagate(timing);
    const double nsPerCommand = timing->simulateSeconds * 1e9 / static_cast<double>(timing->commands);
    if (options.json())
      rows.push_back({{"operators", timing->operators},
                      {"commands", timing->commands},
                      {"plansPerSec", 1 / timing->simulateSeconds},
                      {"nsPerCommand", nsPerCommand},
                      {"planningSeconds", timing->planSeconds}});
    else
      std::printf("%10zu %10zu %12.1f %12.1f %12.1f\n", timing->operators, timing->commands,
                  1 / timing->simulateSeconds, nsPerCommand, timing->planSeconds * 1e3);
    std::fflush(stdout);
  }
  if (options.json())
    std::cout << Json{{"benchmark", "simulator"}, {"seed", options.seed}, {"graphs", std::move(rows)}}.dump(2) << '\n';
  return {};
}

} // namespace

void addSimulatorCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("simulator", "Plans simulated per second against graph size");
  command->add_option("--operators", options->sizes, "sizes of the random layered graphs")
      ->delimiter(',')
      ->check(CLI::Range(1, 100'000))
      ->type_name("N,...")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of the graphs")->capture_default_str();
  options->addTo(*command);
  command->callback([options, &action] { action = [options] { return runSimulator(*options); }; });
}

} // namespace sluice::bench
