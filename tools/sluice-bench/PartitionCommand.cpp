//===- PartitionCommand.cpp - sluice-bench partition ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// SoyBean's evaluation (Wang, Huang and Li, 2018, section 6): training steps of
// its models split over devices, ours beside its own cuts, Spartan's greedy, data
// and model parallelism; and models of any size, for the time the search takes.
// Transformers beside Megatron's tiling (Shoeybi et al., 2019); Spartan's random
// programs (Huang's thesis, section 3.2) beside their optima.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ModelBuilders.h"
#include "SpartanPrograms.h"
#include "sluice/Compiler/Partitioning.h"
#include "sluice/Support/Units.h"
#include "sluice/Tiling/TilingPropagation.h"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

struct PartitionOptions {
  std::vector<std::string> models;
  std::vector<int64_t> batches, devices;
  std::vector<std::string> flags;
  std::string suite = "soybean", scripts, machine, optimizer = "sgd", format = "text";
  uint64_t seed = 1;
  int threads = 0, programs = 100;
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

/// SoyBean's, figures 8 to 10: of AlexNet and VGG the batches from small to where data parallelism serves. Megatron's:
/// a block of GPT-3's width and two small ones, their vocabularies padded as Megatron does.
std::vector<PartitionCase> casesOf(const PartitionOptions &options) {
  if (options.models.empty() && options.suite == "megatron")
    return {{"bert-large", 8, {"--layers", "2", "--sequence", "512", "--vocabulary", "30720", "--classes", "2"}},
            {"llama-7b", 4, {"--layers", "2", "--sequence", "2048", "--vocabulary", "32000"}},
            {"llama-7b",
             1,
             {"--layers", "1", "--hidden", "12288", "--heads", "96", "--sequence", "2048", "--vocabulary", "32000"}}};
  std::vector<PartitionCase> cases;
  if (options.models.empty()) {
    cases = {{"mlp-4-8k", 512},
             {"mlp-4-8k", 2048},
             {"mlp-4-12k", 2048},
             {"cnn-5-2k", 256, {"--size", "6"}},
             {"cnn-5-512", 256, {"--size", "24"}}};
    for (int64_t batch : {16, 128, 256, 512, 1024})
      cases.push_back({"alexnet", batch});
    for (int64_t batch : {8, 16, 32, 64, 128})
      cases.push_back({"vgg-16", batch});
  }
  for (const std::string &model : options.models)
    for (int64_t batch : options.batches)
      cases.push_back({model, batch, options.flags});
  return cases;
}

/// Megatron-LM's tiling over all devices as one group (Shoeybi et al., 2019, section 3): weights into attention and
/// feed-forward by columns, so that heads are split, those out of them by rows, tables by words; activations between
/// blocks whole. What lies between follows by the operators' rules. Fails where no weight has such a name.
Expected<Tiling> megatronTiling(const std::string &model, const TensorProgram &program, size_t axes) {
  const std::vector<std::pair<std::string, uint32_t>> weights{
      {"query/weight", 1}, {"key/weight", 1},  {"value/weight", 1}, {"output/weight", 0},
      {"up/weight", 1},    {"gate/weight", 1}, {"down/weight", 0},  {"words", 0}};
  TilingPropagation spread(program);
  bool isTransformer = false;
  for (uint32_t t = 0; t < program.tensors.size(); ++t)
    for (const auto &[name, dim] : weights)
      if (const ProgramTensor &tensor = program.tensors[t];
          tensor.role != TensorRole::Intermediate && tensor.shape.size() == 2 && tensor.name.ends_with(name)) {
        spread.split(TensorId(t), dim);
        isTransformer = true;
      }
  if (!isTransformer)
    return makeError(ErrorCode::Unsupported, "model '", model,
                     "' has no weight that Megatron splits (such as query/weight), suite 'megatron', give a "
                     "transformer of scripts/models");
  return spread.tiling(axes);
}

Expected<PlannedPartition> plan(const ModelBuilders &builders, const PartitionCase &each,
                                const PartitionOptions &options, int64_t devices, bool training, double &seconds) {
  SLUICE_ASSIGN_OR_RETURN(std::string path, builders.build(each.model, each.batch, each.flags));
  CompilerOptions compiler;
  compiler.machine = options.machine;
  compiler.threads = options.threads;
  compiler.searchTimeNs = 0;
  if (training) {
    SLUICE_ASSIGN_OR_RETURN(TrainingOptions parsed, parseTraining("loss=softmax-cross-entropy", options.optimizer));
    compiler.training = std::move(parsed);
  }
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, Compilation::create(path, std::move(compiler)));
  SLUICE_RETURN_IF_ERROR(compilation->run(Phase::Differentiate));
  auto start = std::chrono::steady_clock::now();
  PartitionParams params = partitionParams(compilation->options());
  // Speed is compared: what does not fit a device is shown by its memory.
  params.memoryBytes = std::numeric_limits<int64_t>::max();
  Expected<PlannedPartition> planned = planPartition(*compilation, devices, params);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return planned;
}

/// A row's solvers, as text and JSON.
class Row {
public:
  explicit Row(const PlannedPartition &planned) : singleNs(planned.singleNs) {
    note("best", planned.solution.report);
    for (const PartitionBaseline &baseline : planned.solution.baselines) {
      note(baseline.solver, baseline.report);
      if (!baseline.gathering.empty())
        json[baseline.solver]["gathering"] = baseline.gathering;
    }
  }

  /// `inTurns`: where collectives and operators wait for each other.
  void note(const std::string &name, const PartitionReport &report) {
    const int64_t inTurns = report.computeNs + report.communicationNs;
    json[name] = {
        {"speedUp", speedUp(report.makespanNs)}, {"makespanNs", report.makespanNs}, {"inTurnsNs", inTurns},
        {"inTurnsSpeedUp", speedUp(inTurns)},    {"bytes", report.bytes},           {"peakBytes", report.peakBytes}};
    order.push_back(name);
  }
  std::string column(const std::string &key, double unit, int digits) const {
    std::string text;
    for (const std::string &name : order)
      text += " " + at(name, key, unit, digits);
    return text;
  }
  std::string at(const std::string &name, const std::string &key, double unit, int digits) const {
    return formatFixed(json[name][key].get<double>() / unit, digits);
  }

  Json json;

private:
  double speedUp(int64_t ns) const {
    return static_cast<double>(singleNs) / static_cast<double>(std::max<int64_t>(1, ns));
  }
  int64_t singleNs;
  std::vector<std::string> order;
};

Status runModels(const PartitionOptions &options, Json &rows) {
  if (!options.models.empty() && options.batches.empty())
    return makeError(ErrorCode::InvalidInput,
                     "option '--models' needs the batch size of the models, give a batch size by '--batch'");
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<ModelBuilders> builders, ModelBuilders::create(options.scripts));
  const bool isText = options.format == "text", isMegatron = options.suite == "megatron";
  if (isText)
    std::cout << "model batch " << (isMegatron ? "step " : "")
              << "devices operators | speed-up: ours soybean spartan data model" << (isMegatron ? " megatron" : "")
              << " | in turns: the same | MB sent: the same | GB a device: ours data | seconds\n";
  for (const PartitionCase &each : casesOf(options))
    for (bool training : {false, true}) {
      const bool isBoth = isMegatron && !options.inference;
      if (!isBoth && training == options.inference)
        continue;
      for (int64_t devices : options.devices) {
        double seconds = 0;
        SLUICE_ASSIGN_OR_RETURN(PlannedPartition planned, plan(*builders, each, options, devices, training, seconds));
        Row row(planned);
        if (isMegatron) {
          SLUICE_ASSIGN_OR_RETURN(Tiling tiling,
                                  megatronTiling(each.model, planned.program, planned.machine.mesh.axes.size()));
          SLUICE_RETURN_IF_ERROR(validateTiling(planned.program, planned.machine.mesh, tiling));
          row.note("megatron", measurePartition(planned.program, planned.machine, tiling));
        }
        if (isText)
          std::cout << each.model << " " << each.batch << " "
                    << (!isMegatron ? ""
                        : training  ? "training "
                                    : "inference ")
                    << devices << " " << planned.program.operators.size() << " |" << row.column("speedUp", 1, 2) << " |"
                    << row.column("inTurnsSpeedUp", 1, 2) << " |" << row.column("bytes", 1e6, 1) << " | "
                    << row.at("best", "peakBytes", 1e9, 2) << " " << row.at("data-parallel", "peakBytes", 1e9, 2)
                    << " | " << formatFixed(seconds, 1) << std::endl;
        row.json.update({{"model", each.model},
                         {"batch", each.batch},
                         {"training", training},
                         {"devices", devices},
                         {"operators", planned.program.operators.size()},
                         {"singleNs", planned.singleNs},
                         {"seconds", seconds}});
        rows.push_back(std::move(row.json));
      }
    }
  return {};
}

/// Spartan's greedy, the fewest bytes of what it chooses among by enumeration, and ours, which may hold tensors whole
/// as well.
Status runSpartan(const PartitionOptions &options, Json &rows) {
  const bool isText = options.format == "text";
  if (isText)
    std::cout << "program devices operators | GB sent: spartan fewest ours | seconds: spartan enumeration ours\n";
  constexpr int kFewest = 2, kMost = 15; // Operators: the thesis'.
  for (int64_t devices : options.devices)
    if (kSpartanExtent % devices != 0)
      return makeError(ErrorCode::InvalidInput, "suite 'spartan' needs a number of devices that divides ",
                       kSpartanExtent, ", and ", devices, " does not, option '--devices', give a power of two");
  for (int64_t devices : options.devices) {
    Rng rng(options.seed);
    PartitionMachine machine;
    machine.mesh.axes = {{"workers", devices}};
    int64_t greedyOptimal = 0, oursOptimal = 0;
    for (int program = 0; program <= options.programs; ++program) {
      // The last is the known failure.
      const TensorProgram made =
          program == options.programs
              ? spartanFailure(kSpartanExtent)
              : randomSpartanProgram(kFewest + static_cast<int>(rng.below(kMost - kFewest + 1)), rng);
      auto timed = [&](const auto &work, double &seconds) {
        auto start = std::chrono::steady_clock::now();
        auto result = work();
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return result;
      };
      PartitionParams params;
      params.cost = PartitionCost::Volume;
      params.seed = options.seed;
      params.threads = options.threads;
      double seconds[3] = {};
      Expected<PartitionSolution> answers[2];
      for (size_t i = 0; i < 2; ++i) {
        params.solver = i == 0 ? "spartan" : "best";
        answers[i] = timed([&] { return solvePartition(made, machine, params); }, seconds[2 * i]);
        if (!answers[i])
          return propagate(answers[i]);
      }
      // The thesis counts the conversions of each operator. Ours share them.
      const int64_t greedy = answers[0]->chargedCost, ours = answers[1]->report.bytes;
      const int64_t fewest = timed([&] { return fewestBytes(made, machine.mesh, greedy); }, seconds[1]);
      if (program < options.programs) {
        greedyOptimal += greedy == fewest;
        oursOptimal += ours <= fewest;
      }
      if (isText)
        std::cout << made.name << " " << devices << " " << made.operators.size() << " |" << [&] {
          std::string text;
          for (int64_t bytes : {greedy, fewest, ours})
            text += " " + formatFixed(static_cast<double>(bytes) / 1e9, 1);
          text += " |";
          for (double s : seconds)
            text += " " + formatFixed(s, 3);
          return text;
        }() << '\n';
      rows.push_back({{"program", made.name},
                      {"devices", devices},
                      {"operators", made.operators.size()},
                      {"spartanBytes", greedy},
                      {"fewestBytes", fewest},
                      {"bytes", ours},
                      {"seconds", {seconds[0], seconds[1], seconds[2]}}});
    }
    if (isText)
      std::cout << "on " << devices << " devices spartan sends the fewest bytes for " << greedyOptimal
                << " random programs of " << options.programs << ", ours for " << oursOptimal << '\n';
  }
  return {};
}

Status runPartition(PartitionOptions options) {
  if (options.devices.empty())
    options.devices = options.suite == "megatron"  ? std::vector<int64_t>{2, 4, 8}
                      : options.suite == "spartan" ? std::vector<int64_t>{128}
                                                   : std::vector<int64_t>{2, 4, 8, 16};
  const bool isSpartan = options.suite == "spartan"; // Its devices are of no machine.
  if (options.machine.empty() && !isSpartan)
    options.machine = options.suite == "megatron" ? "h200x8" : "p2.16xlarge";
  Json rows = Json::array();
  SLUICE_RETURN_IF_ERROR(isSpartan ? runSpartan(options, rows) : runModels(options, rows));
  if (options.format == "json") {
    Json answer{{"suite", options.suite}, {"rows", std::move(rows)}};
    if (!isSpartan)
      answer["machine"] = options.machine;
    std::cout << jsonText(answer, 2) << "\n";
  }
  return {};
}

} // namespace

void addPartitionCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<PartitionOptions>();
  CLI::App *command = driver::addCommand(
      app, "partition", "Compare training steps split over devices with SoyBean, Spartan, data and model parallelism");
  driver::addOption(*command, "--suite", options->suite,
                    "soybean: models of that paper; megatron: transformers with Megatron's tiling beside; spartan: "
                    "random programs of that paper")
      ->check(driver::oneOf({"soybean", "megatron", "spartan"}))
      ->capture_default_str();
  CLI::Option *models = driver::addOption(*command, "--models", options->models,
                                          "models of scripts/models, instead of those of the suite")
                            ->delimiter(',');
  driver::addOption(*command, "--batch", options->batches, "batch size of --models")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->needs(models);
  driver::addOption(*command, "--model-flag", options->flags,
                    "an argument of the builder of --models, as in --model-flag=--layers")
      ->allow_extra_args(false)
      ->needs(models);
  driver::addOption(*command, "--devices", options->devices,
                    "numbers of devices; by default those of the suite, or 2, 4, 8 and 16")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  driver::addOption(*command, "--machine", options->machine,
                    "machine with the devices; by default p2.16xlarge, for megatron h200x8");
  driver::addOption(*command, "--programs", options->programs, "number of programs of the suite spartan")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  driver::addOption(*command, "--seed", options->seed, "seed of the programs of the suite spartan")
      ->capture_default_str();
  driver::addOption(*command, "--optimizer", options->optimizer, "optimizer of the training step")
      ->capture_default_str();
  driver::addFlag(*command, "--inference", options->inference, "split the model without a training step");
  driver::addOption(*command, "--threads", options->threads,
                    "number of threads, 0: one for each core; never changes a result")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  driver::addOption(*command, "--scripts", options->scripts,
                    "directory of the model builders; by default that beside the sources");
  driver::addFormatOption(*command, options->format);
  command->callback([command, options, &action] {
    const bool isSpartan = options->suite == "spartan";
    for (const char *name : {"--models", "--machine", "--optimizer", "--inference", "--scripts"})
      if (isSpartan && command->count(name) > 0)
        throw CLI::ValidationError(name, "has no effect on suite spartan, leave the option out");
    for (const char *name : {"--programs", "--seed"})
      if (!isSpartan && command->count(name) > 0)
        throw CLI::ValidationError(name, "has an effect on suite spartan only, leave the option out");
    action = [options] { return runPartition(*options); };
  });
}

} // namespace sluice::bench
