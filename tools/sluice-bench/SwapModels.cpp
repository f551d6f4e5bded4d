//===- SwapModels.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SwapModels.h"

#include "passes/Bridge/GraphBridge.h"
#include "sluice/Compiler/Compilation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace sluice::bench {

std::span<const TrainingCase> trainingCases() {
  static const TrainingCase kCases[] = {{"wresnet-152-10", 16, {}, {}},     {"wresnet-152-10", 64, 0.95, 0.95},
                                        {"inception-v4-4", 16, 0.80, 0.80}, {"inception-v4-4", 64, 0.65, 0.65},
                                        {"nasnet-25", 16, 0.80, 0.80},      {"nasnet-25", 64, 0.53, 0.53},
                                        {"rnn-8-8k", 16, {}, {}},           {"rnn-8-8k", 256, 0.80, 0.80},
                                        {"brnn-4-8k", 16, {}, {}},          {"brnn-4-8k", 128, 0.80, 0.80}};
  return kCases;
}

std::vector<std::string> trainingModels() {
  std::vector<std::string> names;
  for (const TrainingCase &entry : trainingCases())
    if (names.empty() || names.back() != entry.model)
      names.push_back(entry.model);
  return names;
}

std::span<const InferenceCase> inferenceCases() {
  static const std::vector<InferenceCase> cases = [] {
    constexpr int64_t kBatches[] = {1, 16, 32, 64};
    struct Row {
      int64_t megabytes;
      double seconds[4]; ///< 0: does not fit.
    };
    constexpr Row kRows[] = {{64, {.024, 0, 0, 0}},           {128, {.022, .077, 0, 0}},
                             {192, {.018, .044, 0, 0}},       {256, {.017, .043, .130, 0}},
                             {320, {.017, .042, .073, 0}},    {512, {.017, .040, .067, .238}},
                             {640, {.017, .040, .067, .123}}, {1024, {.017, .040, .067, .121}}};
    std::vector<InferenceCase> list;
    for (size_t b = 0; b < std::size(kBatches); ++b)
      for (const Row &row : kRows)
        list.push_back({row.megabytes, kBatches[b], row.seconds[b] > 0 ? std::optional(row.seconds[b]) : std::nullopt});
    return list;
  }();
  return cases;
}

static ProblemFile makeProblem(Graph graph, const Machine &machine, CostTable costs) {
  ProblemFile problem{std::move(graph), machine, std::move(costs), {}, {}};
  for (const Memory &memory : machine.memories)
    problem.capacities.push_back(memory.capacityBytes);
  return problem;
}

Expected<ProblemFile> trainingProblem(const ModelBuilders &builders, const std::string &model, int64_t batch,
                                      const std::string &machine) {
  // The paper's operator counts leave no room for batch normalization; only
  // NasNet's image size is not the builder's own.
  std::vector<std::string> flags;
  if (model.starts_with("nasnet"))
    flags = {"--no-batch-norm", "--size", "224"};
  else if (model.starts_with("wresnet") || model.starts_with("inception"))
    flags = {"--no-batch-norm"};
  SLUICE_ASSIGN_OR_RETURN(std::string path, builders.build(model, batch, flags));
  CompilerOptions options;
  options.machine = machine;
  SLUICE_ASSIGN_OR_RETURN(TrainingOptions training, parseTraining("loss=softmax-cross-entropy", "momentum"));
  options.training = std::move(training);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, Compilation::create(path, std::move(options)));
  SLUICE_RETURN_IF_ERROR(compilation->run(Phase::Fuse));
  return makeProblem(compilation->graph(), compilation->machine(), compilation->costs());
}

Expected<ProblemFile> inferenceProblem(const ModelBuilders &builders, int64_t batch, const std::string &machine,
                                       bool unfused) {
  // Folding normalization into weights leaves biases; these weights are absent
  // and cannot be folded into.
  SLUICE_ASSIGN_OR_RETURN(std::string path,
                          builders.build("resnet-152", batch, {unfused ? "--batch-norm" : "--no-batch-norm"}));
  CompilerOptions options;
  options.machine = machine;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, Compilation::create(path, std::move(options)));
  SLUICE_RETURN_IF_ERROR(compilation->run(unfused ? Phase::Simplify : Phase::Fuse));
  const Machine &target = compilation->machine();
  if (!unfused)
    return makeProblem(compilation->graph(), target, compilation->costs());
  SLUICE_ASSIGN_OR_RETURN(BridgedGraph bridged,
                          buildGraph(*compilation->module().getOps<mlir::func::FuncOp>().begin()));
  CostTable costs = makeCostTable(bridged.graph, target, RooflineCostModel());
  return makeProblem(std::move(bridged.graph), target, std::move(costs));
}

void scaleComputeRate(ProblemFile &problem, double rate) {
  for (Device &device : problem.machine.devices)
    device.flopsPerSec *= rate;
  problem.costs = makeCostTable(problem.graph, problem.machine, RooflineCostModel());
}

} // namespace sluice::bench
