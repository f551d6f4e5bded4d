//===- SimulatorCommand.cpp - sluice-bench simulator ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A search plans and simulates once an evaluation: how often a second it can, a
// core alone and several side by side.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Timing.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Search/Orders.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Json.h"
#include "sluice/Swap/SwapPlanner.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

struct SimulatorOptions : CommonOptions {
  std::vector<int> sizes = {1000, 10000}, threads = {1, 2};
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
  double simulateSeconds = 0, planSeconds = 0; ///< Of one plan, of a core's time; medians.
  /// Per number of threads: plans made and simulated a second of as many cores,
  /// each with a thread to itself.
  std::vector<double> evaluationsPerSec;
};

/// Seconds of a call: the median of so many measurements, each long enough to
/// measure, but no more of them than a few seconds hold.
template <typename Function>
double timeCalls(int repeats, const Function &function) {
  constexpr double kShortest = 0.01, kAll = 4;
  std::vector<double> seconds;
  int calls = 1;
  double all = 0;
  while (static_cast<int>(seconds.size()) < repeats && (seconds.empty() || all < kAll)) {
    const double start = threadSeconds();
    for (int call = 0; call < calls; ++call)
      function();
    const double took = threadSeconds() - start;
    all += took;
    if (seconds.empty() && took < kShortest && calls < 1 << 20)
      calls *= 2;
    else
      seconds.push_back(took / calls);
  }
  return median(std::move(seconds));
}

/// The memory is halfway between the least that works and the peak, but no more
/// than the device has, so that plans hold many copies.
Expected<SimulatorTiming> timeSimulator(int operators, const SimulatorOptions &options) {
  Rng rng(options.seed);
  const Graph graph = makeLayers(operators, rng);
  SLUICE_ASSIGN_OR_RETURN(Machine machine, machinePreset("v100-16gb"));
  const CostTable costs = makeCostTable(graph, machine, RooflineCostModel());
  SwapProblem problem{graph, machine, costs, {}, modelOrder(graph), {}};
  problem.placement.assign(graph.numOperators(), machine.computeDevices().front());
  problem.capacityBytes.assign(machine.memories.size(), Memory().capacityBytes);
  SLUICE_RETURN_IF_ERROR(check(problem));
  const MemoryId memory = machine.device(problem.placement.front()).memory;
  const int64_t least = minimumBytes(problem)[memory.index()].bytes;
  problem.capacityBytes[memory.index()] =
      std::min(machine.memory(memory).capacityBytes, least + (livenessPeakBytes(problem)[memory.index()] - least) / 2);

  Expected<Plan> plan = planSwapOffsets(problem);
  if (!plan)
    return propagate(plan);
  SimulatorTiming timing;
  timing.operators = graph.numOperators();
  timing.commands = plan->commands.size();
  const int64_t makespanNs = simulate(graph, machine, costs, *plan).makespanNs;
  std::atomic<bool> differs = false;
  auto simulateOnce = [&](const Plan &made) {
    if (simulate(graph, machine, costs, made).makespanNs != makespanNs)
      differs = true;
  };
  timing.simulateSeconds = timeCalls(options.repeats, [&] { simulateOnce(*plan); });
  timing.planSeconds = timeCalls(options.repeats, [&] { plan = planSwapOffsets(problem); });

  // As many on each thread as take a second.
  const double evaluationSeconds = timing.planSeconds + timing.simulateSeconds;
  const auto each = static_cast<size_t>(std::clamp(1 / evaluationSeconds, 1.0, 1000.0));
  for (int threads : options.threads) {
    const size_t count = each * static_cast<size_t>(threads);
    const double start = processSeconds();
    parallelFor(threads, count, [&](size_t) {
      if (Expected<Plan> made = planSwapOffsets(problem))
        simulateOnce(*made);
    });
    timing.evaluationsPerSec.push_back(static_cast<double>(count) * threads / (processSeconds() - start));
  }
  if (differs)
    return makeError(ErrorCode::Internal, "the same plan of ", operators,
                     " operators took different times, this is a bug of Sluice, please report it");
  return timing;
}

Status runSimulator(const SimulatorOptions &options) {
  if (!options.json()) {
    std::printf("%10s %10s %12s %12s %12s", "operators", "commands", "simulated/s", "ns/command", "planned/s");
    for (int threads : options.threads)
      std::printf(" %5d thread%s", threads, threads == 1 ? " " : "s");
    std::printf("\n");
  }
  Json rows = Json::array();
  for (int size : options.sizes) {
    SLUICE_ASSIGN_OR_RETURN(SimulatorTiming timing, timeSimulator(size, options));
    const double nsPerCommand = timing.simulateSeconds * 1e9 / static_cast<double>(timing.commands);
    if (options.json()) {
      Json row{{"operators", timing.operators},
               {"commands", timing.commands},
               {"plansPerSec", 1 / timing.simulateSeconds},
               {"nsPerCommand", nsPerCommand},
               {"planningSeconds", timing.planSeconds}};
      for (size_t i = 0; i < options.threads.size(); ++i)
        row["evaluationsPerSec"].push_back({{"threads", options.threads[i]}, {"rate", timing.evaluationsPerSec[i]}});
      rows.push_back(std::move(row));
    } else {
      std::printf("%10zu %10zu %12.1f %12.1f %12.3g", timing.operators, timing.commands, 1 / timing.simulateSeconds,
                  nsPerCommand, 1 / timing.planSeconds);
      for (double rate : timing.evaluationsPerSec)
        std::printf(" %13.3g", rate);
      std::printf("\n");
    }
    std::fflush(stdout);
  }
  if (options.json())
    std::cout << jsonText(Json{{"benchmark", "simulator"}, {"seed", options.seed}, {"graphs", std::move(rows)}}, 2)
              << '\n';
  return {};
}

} // namespace

void addSimulatorCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<SimulatorOptions>();
  CLI::App *command =
      driver::addCommand(app, "simulator", "Count the plans that are made and simulated per second, by graph size");
  driver::addOption(*command, "--operators", options->sizes, "sizes of the random layered graphs")
      ->delimiter(',')
      ->check(CLI::Range(1, 100'000))
      ->type_name("N,...")
      ->capture_default_str();
  driver::addOption(*command, "--threads", options->threads, "number of parallel evaluations")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->type_name("N,...")
      ->capture_default_str();
  driver::addOption(*command, "--seed", options->seed, "seed of the graphs")->capture_default_str();
  options->addTo(*command);
  command->callback([options, &action] { action = [options] { return runSimulator(*options); }; });
}

} // namespace sluice::bench
