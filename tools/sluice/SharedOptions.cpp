//===- SharedOptions.cpp - What the subcommands share ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SharedOptions.h"
#include "Commands.h"
#include "RunInputs.h"
#include "sluice/Codegen/Target.h"
#include "sluice/Machine/Machine.h"
#include "sluice/Placement/Placement.h"
#include "sluice/Support/Units.h"
#include "sluice/Tiling/Partition.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace sluice::driver {

static const char *const kPlanning = "Planning", *const kTraining = "Training", *const kGeneration = "Code generation",
                         *const kPruning = "Pruning (changes what the model computes)";

CLI::Option *addDimOption(CLI::App &app, DimBindings &dims) {
  auto take = [&dims](const std::vector<std::string> &texts) {
    for (const std::string &text : texts)
      if (Status added = addDimBinding(text, dims); !added)
        throw CLI::ValidationError("--dim", added.error().message);
  };
  return app
      .add_option_function<std::vector<std::string>>(
          "--dim", take,
          "size of a symbolic dimension, or its range: batch=8, sequence=1..512, height=32..320:32; one plan for sizes "
          "up to 64 and one for sizes up to 512: sequence=64,512; the size of another dimension, or a sum of sizes: "
          "state.1=input.0, total=past+sequence")
      ->type_name("NAME=N[..M][,M][:STEP]")
      ->allow_extra_args(false);
}

CLI::Option *addBoundOption(CLI::App &app, std::map<std::string, ValueBounds> &bounds) {
  auto takeBounds = [&bounds](const std::vector<std::string> &texts) {
    for (const std::string &text : texts) {
      const size_t equals = text.rfind('=');
      const std::string numbers = equals == std::string::npos ? "" : text.substr(equals + 1);
      const size_t dots = numbers.find("..");
      Expected<int64_t> high = parseInteger(dots == std::string::npos ? numbers : numbers.substr(dots + 2));
      ValueBounds said;
      bool isGiven = high && *high >= 0 && equals != 0;
      if (isGiven && dots != std::string::npos) {
        Expected<int64_t> low = parseInteger(numbers.substr(0, dots));
        isGiven = low && *low <= *high;
        said.low = low ? *low : 0;
      }
      if (!isGiven)
        throw CLI::ValidationError("--bound",
                                   "'" + text + "' does not have the form of a bound, write NAME=N or NAME=LOW..N");
      said.high = *high;
      bounds[text.substr(0, equals)] = said;
    }
  };
  return app
      .add_option_function<std::vector<std::string>>(
          "--bound", takeBounds,
          "upper bound of a tensor that determines an extent or a scale, if the model does not imply one")
      ->type_name("NAME=[LOW..]N")
      ->allow_extra_args(false);
}

CLI::Option *addMaxIterationsOption(CLI::App &app, int64_t &most) {
  return addOption(app, "--max-iterations", most,
                   "limit of the iterations of a loop whose end depends on data; a step that exceeds it fails")
      ->check(CLI::PositiveNumber);
}

CLI::Option *addFixOption(CLI::App &app, std::vector<std::string> &texts) {
  return addOption(app, "--fix", texts, "compile only for this value of an input, if shapes depend on it")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
}

void CompileOptions::addTo(CLI::App &app) {
  command = &app;
  addOption(app, "--machine", options.machine, "preset or machine file: " + joined(machinePresetNames()))
      ->capture_default_str()
      ->group(kPlanning);
  addOption(app, "--device", options.device, "run every operator on this device instead of placing operators")
      ->type_name("NAME")
      ->group(kPlanning);
  app.add_option_function<double>(
         "--least-gain", [this](double percent) { options.leastGain = percent / 100; },
         "percent by which several devices must be faster than one in the simulation, and split operators "
         "faster than whole ones, to be used (5)")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 99.0))
      ->group(kPlanning);
  addOption(app, "--memory", options.memory,
            "limit of a memory: NAME=SIZE, or NAME=P%, from its minimum (0%) to its peak (100%); without NAME, of the "
            "memory of every accelerator of --machine; if --machine has none, SIZE limits the whole process and P% the "
            "model's own memory, and weights that do not fit are streamed from the disk")
      ->type_name("LIMIT")
      ->allow_extra_args(false)
      ->group(kPlanning);
  app.add_option_function<double>(
         "--expert-hit-rate",
         [this](double rate) {
           if (!(rate >= 0 && rate <= 1))
             throw CLI::ValidationError("--expert-hit-rate", concat(rate, " is out of range, give a rate from 0 to 1"));
           options.expertHitRate = rate;
         },
         "assumed hit rate: the share of uses of experts that find the weights in memory, if only some experts have "
         "slots there (slots / experts)")
      ->type_name("RATE")
      ->group(kPlanning);
  auto takeTime = [this](const std::string &text) {
    Expected<int64_t> ns = parseDuration(text);
    if (!ns)
      throw CLI::ValidationError("--search-time", ns.error().message);
    options.searchTimeNs = *ns;
  };
  searchTime = app.add_option_function<std::string>("--search-time", takeTime, "clock limit of the search (5s)")
                   ->type_name("TIME")
                   ->group(kPlanning);
  addOption(app, "--search-evals", options.searchEvaluations,
            "number of plans to make; the result is then the same on any machine and number of threads")
      ->check(CLI::PositiveNumber)
      ->group(kPlanning);
  addOption(app, "--seed", options.seed, "seed of the search and of dropout")->capture_default_str()->group(kPlanning);
  addOption(app, "--solver", solvers,
            "step=name,...: place=" + joined(placementSolverNames()) + "; search=" + joined(searchSolverNames()) +
                "; tile=" + joined(partitionSolverNames()))
      ->group(kPlanning);
  CLI::Option *plan =
      addOption(app, "--plan", options.planFile, "follow this plan instead of searching")->group(kPlanning);
  addFlag(app, "--resume", options.resume, "start a search from --plan; the result is at least as fast")
      ->needs(plan)
      ->group(kPlanning);
  addOption(app, "--profile", options.profileFile, "measured times, from 'sluice profile'")->group(kPlanning);
  addOption(app, "--tuning", options.tuningFile,
            "fastest forms and times of kernels on this machine, from 'sluice tune'")
      ->type_name("FILE")
      ->group(kPlanning);
  addOption(app, "--dump-problem", options.dumpProblem, "write the planning problem to a file, for sluice-solve")
      ->type_name("FILE")
      ->group(kPlanning);
  trainOption = addOption(app, "--train", train,
                          "make a training step: loss=softmax-cross-entropy, mse or output:NAME, then of=OUTPUT, "
                          "axis=N (of the classes), accumulate=N (steps an update) or accumulate=ranks (for --barrier)")
                    ->type_name("loss=LOSS,...")
                    ->group(kTraining);
  addOption(app, "--optimizer", optimizer,
            "sgd, momentum, adam or adamw, then lr=, momentum=, nesterov=, beta1=, beta2=, epsilon=, weight-decay=")
      ->type_name("NAME,...")
      ->needs(trainOption)
      ->group(kTraining);
  addOption(app, "--trainable", trainable,
            "train only the weights whose whole names match this POSIX extended regular expression")
      ->needs(trainOption)
      ->group(kTraining);
  CLI::Option *prune =
      addOption(
          app, "--prune-partitions", options.prune.parts,
          "make this number of independent blocks of fully connected layers; the weights between blocks are lost, "
          "and the loss is printed")
          ->check(CLI::Range(2, 1024))
          ->excludes(trainOption)
          ->group(kPruning);
  prune->needs(addOption(app, "--layers", options.prune.layers,
                         "POSIX extended regular expression that the whole names of the layers' nodes match")
                   ->type_name("PATTERN")
                   ->needs(prune)
                   ->group(kPruning));
  addGenerationTo(app);
  addOption(app, "--threads", options.threads,
            "number of threads, 0: one for each core; changes the plan only if the time limit ends the search")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void CompileOptions::addGenerationTo(CLI::App &app) {
  addDimOption(app, options.dims)->group(kGeneration);
  auto takeShapes = [this](const std::vector<std::string> &texts) {
    for (const std::string &text : texts)
      if (Status added = addShapeBinding(text, options.dims); !added)
        throw CLI::ValidationError("--shape", added.error().message);
  };
  app.add_option_function<std::vector<std::string>>(
         "--shape", takeShapes,
         "shape of an input that declares none: x=2x3; of the elements of one that is a sequence: x=[2x3,4x3], without "
         "elements x=[]")
      ->type_name("NAME=SHAPE")
      ->allow_extra_args(false)
      ->group(kGeneration);
  addFixOption(app, fixed)->group(kGeneration);
  addMaxIterationsOption(app, options.maxIterations)->group(kGeneration);
  addBoundOption(app, options.bounds)->group(kGeneration);
  addOption(app, "--state", options.states,
            "make an input a state that has the value of an output in the previous step, such as a cache: "
            "past_key_values.*=present.*")
      ->type_name("PAST=PRESENT")
      ->allow_extra_args(false)
      ->group(kGeneration);
  addOption(app, "--pipeline-requests", options.requests,
            "compute N requests in each step, each in another part of the model; the outputs of a step are those of "
            "the inputs of N - 1 steps before")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->excludes(trainOption)
      ->group(kPlanning);
  auto takeBuckets = [this](const std::string &text) {
    Expected<BucketOptions> parsed = parseBuckets(text);
    if (!parsed)
      throw CLI::ValidationError("--buckets", parsed.error().message);
    parsed->sizesFile = std::move(options.buckets.sizesFile);
    options.buckets = std::move(*parsed);
  };
  CLI::Option *buckets = app.add_option_function<std::string>("--buckets", takeBuckets,
                                                              "divide the range of a dimension into at most N buckets "
                                                              "with a plan each, for the least expected time of a step")
                             ->type_name("[NAME=]auto:N")
                             ->excludes(app.get_option("--plan"))
                             ->group(kPlanning);
  addOption(app, "--sizes", options.buckets.sizesFile,
            "with --buckets: a file of sizes, each as often as it occurs; without it all are equally frequent")
      ->type_name("FILE")
      ->needs(buckets)
      ->group(kPlanning);
  addOption(app, "--target", options.target,
            "a CPU: native, x86-64, x86-64-v2 to -v4, aarch64, riscv64 or wasm32 with features, as in aarch64+dotprod; "
            "followed by GPUs: cuda:sm_80,cuda:sm_90; or cuda:emulated")
      ->capture_default_str()
      ->group(kGeneration);
  addOption(app, "--matmul-precision", matmulPrecision,
            "rounding of f32 operands of products and convolutions for tensor cores of GPUs; bf16: on CPUs too")
      ->check(oneOf(matmulPrecisionNames()))
      ->capture_default_str()
      ->group(kGeneration);
  addOption(
      app, "--gpu-libraries", gpuLibraries,
      "compute products and convolutions by cuBLAS and cuDNN if they are installed; auto: those that are faster by "
      "--profile, or large")
      ->check(oneOf(gpuLibrariesNames()))
      ->capture_default_str()
      ->group(kGeneration);
  addOption(app, "--conv-algorithm", convChoice,
            "how CPUs compute convolutions: direct; auto: by other algorithms if they are estimated to be faster; "
            "winograd: 3x3 convolutions of f32 by Winograd's algorithm wherever its error bound allows it")
      ->check(oneOf(convChoiceNames()))
      ->capture_default_str()
      ->group(kGeneration);
  addOption(app, "--dump-phases", options.dumpPhases, "write the IR of each phase into this directory")
      ->type_name("DIR")
      ->group(kGeneration);
}

CLI::Option *CompileOptions::addDevicesTo(CLI::App &app) {
  return addOption(app, "--devices", options.devices, "split the model over this number of the machine's devices")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str()
      ->group(kPlanning);
}

void CompileOptions::addPipelineTo(CLI::App &app) {
  pipelineOption =
      addOption(app, "--pipeline", pipeline,
                "run the training step as stages on ranks: stages=N, or best to weigh pipelines, tilings and both, "
                "microbatches=N (batches of the model in a step), schedule=1f1b, gpipe or interleaved, and ranks=N if "
                "a rank has several stages; with --devices above the number of stages, each is tiled over several "
                "ranks")
          ->type_name("stages=N,...")
          ->needs(trainOption)
          ->group(kTraining);
}

CLI::Option *CompileOptions::addSplitTo(CLI::App &app) {
  return addFlag(
             app, "--split-operators", options.splitOperators,
             "split operators that dominate the step into several, on several devices, if the simulated step becomes "
             "faster; takes up to three times the time of the search")
      ->excludes(app.get_option("--device"))
      ->excludes(app.get_option("--plan"))
      ->group(kPlanning);
}

/// One line on a terminal, rewritten.
static void showProgress(const SearchProgress &progress, int64_t limitNs) {
  std::cerr << "\r\033[K" << progress.evaluations << " plans, best "
            << (progress.makespanNs ? formatDuration(*progress.makespanNs) : "none yet");
  if (progress.idealNs > 0)
    std::cerr << ", ideal " << formatDuration(progress.idealNs);
  std::cerr << ", bound " << formatDuration(progress.lowerBoundNs);
  if (limitNs > 0)
    std::cerr << ", " << formatDuration(std::max<int64_t>(limitNs - progress.elapsedNs, 0)) << " left";
  std::cerr << "\r" << std::flush;
}

Expected<CompilerOptions> CompileOptions::resolve() const {
  CompilerOptions resolved = options;
  if (!solvers.empty()) {
    SLUICE_ASSIGN_OR_RETURN(SolverChoices parsed, parseSolvers(solvers));
    resolved.solvers = std::move(parsed);
    if (resolved.solvers.contains(SolverStep::Tile) && resolved.devices == 1)
      return makeError(ErrorCode::InvalidInput, "a model on one device is not split, so 'tile' does not run, option "
                                                "'--solver tile', add --devices or leave 'tile' out");
  }
  SLUICE_ASSIGN_OR_RETURN(dataflow::MatmulPrecision precision, parseMatmulPrecision(matmulPrecision));
  resolved.matmulPrecision = precision;
  SLUICE_ASSIGN_OR_RETURN(GpuLibraries libraries, parseGpuLibraries(gpuLibraries));
  resolved.gpuLibraries = libraries;
  SLUICE_ASSIGN_OR_RETURN(ConvChoice convolutions, parseConvChoice(convChoice));
  resolved.convChoice = convolutions;
  if (trainOption->count() > 0) {
    SLUICE_ASSIGN_OR_RETURN(TrainingOptions parsed, parseTraining(train, optimizer));
    parsed.trainable = trainable;
    parsed.seed = options.seed;
    if (pipelineOption && pipelineOption->count() > 0) {
      SLUICE_ASSIGN_OR_RETURN(parsed.pipeline, parsePipeline(pipeline, options.devices));
    }
    resolved.training = std::move(parsed);
  }
  SLUICE_ASSIGN_OR_RETURN(auto values, readFixedInputs(fixed));
  resolved.fixedInputs = std::move(values);
  // A number of plans is the reproducible limit; it needs no clock beside it.
  if (resolved.searchEvaluations > 0 && searchTime->count() == 0)
    resolved.searchTimeNs = 0;
  resolved.interrupt = &interrupted;
  if (isatty(STDERR_FILENO))
    resolved.progress = [limitNs = resolved.searchTimeNs](const SearchProgress &progress) {
      showProgress(progress, limitNs);
    };
  return resolved;
}

Expected<CompilerOptions> CompileOptions::resolveToRun() const {
  SLUICE_ASSIGN_OR_RETURN(CompilerOptions resolved, resolve());
  SLUICE_ASSIGN_OR_RETURN(TargetSpec target, resolveTarget(resolved.target));
  SLUICE_RETURN_IF_ERROR(checkRunsOnHost(target));
  return resolved;
}

constexpr const char *kPlanned[] = {"--memory", "--search-time",  "--search-evals", "--solver", "--plan",
                                    "--resume", "--dump-problem", "--buckets",      "--sizes",  "--expert-hit-rate"};

void CompileOptions::hidePlanned() {
  for (const char *name : kPlanned)
    command->get_option(name)->group("");
}

std::string CompileOptions::firstPlanned() const {
  for (const char *name : kPlanned)
    if (command->get_option(name)->count() > 0)
      return name;
  return {};
}

bool CompileOptions::limitsProcess() const {
  Expected<Machine> machine = options.machine == "host" ? Machine() : loadMachine(options.machine);
  if (!machine)
    return false;
  const bool isPlain = options.machine == "host";
  if (!isPlain)
    for (DeviceId device : machine->computeDevices())
      if (machine->device(device).memory != Machine::hostMemory())
        return false;
  const std::string host = isPlain ? "host" : machine->memory(Machine::hostMemory()).name;
  return std::any_of(options.memory.begin(), options.memory.end(), [&](const std::string &limit) {
    const size_t equals = limit.find('=');
    return equals == std::string::npos || limit.substr(0, equals) == host;
  });
}

std::string CompileOptions::firstGiven(std::initializer_list<std::string_view> besides) const {
  for (const CLI::Option *option : command->get_options())
    if (const std::string &group = option->get_group();
        option->count() > 0 && std::find(besides.begin(), besides.end(), option->get_name()) == besides.end() &&
        (group == kPlanning || group == kTraining || group == kGeneration || group == kPruning))
      return option->get_name();
  return {};
}

void printPruned(const std::vector<PrunedLayer> &layers) {
  for (const PrunedLayer &layer : layers)
    printLine("pruned", concat(layer.name, ", ", layer.parts, " partitions, ", formatPercent(layer.weightLoss),
                               " of its weights' magnitude lost"));
}

Json prunedToJson(const std::vector<PrunedLayer> &layers) {
  Json list = Json::array();
  for (const PrunedLayer &layer : layers)
    list.push_back({{"layer", layer.name}, {"partitions", layer.parts}, {"weightLoss", layer.weightLoss}});
  return list;
}

std::string describeBounds(const std::vector<std::pair<std::string, int64_t>> &bounds) {
  std::string text;
  for (const auto &[name, bound] : bounds)
    text += concat(text.empty() ? "" : ", ", name, " up to ", bound);
  return text;
}

std::string formatPercent(double share) { return concat(std::round(share * 1e4) / 1e2, "%"); }

static double shareOf(int64_t part, int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

std::string describeExperts(const Graph &graph) {
  int64_t slots = 0, expected = 0;
  for (const Tensor &tensor : graph.tensors())
    slots += tensor.isPooled ? tensor.touchedBytes : 0;
  for (const Operator &op : graph.operators())
    expected += op.demandBytes;
  return slots == 0 ? ""
                    : concat(formatBytes(slots), " of slots, ", formatBytes(expected), " expected to be read a step");
}

void printExperts(const sluice_expert_stats &stats) {
  if (stats.slots == 0)
    return;
  std::string text = concat(stats.slots, " of ", stats.experts, " in memory, ",
                            formatPercent(shareOf(stats.hits, stats.uses)), " of ", stats.uses, " uses hit");
  // Of a long run, only the beginning is recorded.
  if (stats.recorded_uses < stats.uses)
    text += concat(", ", formatPercent(shareOf(stats.recorded_hits, stats.recorded_uses)), " of the first ",
                   stats.recorded_uses);
  printLine("experts", concat(text, ", best possible ", formatPercent(shareOf(stats.best_hits, stats.recorded_uses)),
                              ", ", stats.bytes_read, " bytes read"));
}

Json expertsToJson(const sluice_expert_stats &stats) {
  return {{"experts", stats.experts},
          {"slots", stats.slots},
          {"uses", stats.uses},
          {"hits", stats.hits},
          {"bytesRead", stats.bytes_read},
          {"recordedUses", stats.recorded_uses},
          {"recordedHits", stats.recorded_hits},
          {"bestHits", stats.best_hits}};
}

Status linkToRun(Compilation &compilation, const std::string &directory) {
  // Before a search that nothing could run.
  SLUICE_RETURN_IF_ERROR(compilation.requireData());
  SLUICE_RETURN_IF_ERROR(compilation.run(Phase::Schedule));
  clearProgress();
  hearInterrupts();
  return compilation.link(directory);
}

void Table::print() const {
  std::vector<size_t> widths;
  for (const std::vector<std::string> &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), row.size()));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::vector<size_t> starts = {0};
  for (size_t width : widths)
    starts.push_back(starts.back() + width + 2);
  for (const std::vector<std::string> &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      if (!row[i].empty()) {
        line.resize(starts[i], ' ');
        line += row[i];
      }
    std::cout << line << '\n';
  }
}

std::string formatCapacity(int64_t bytes) {
  return bytes == std::numeric_limits<int64_t>::max() ? "no limit" : formatBytes(bytes);
}

} // namespace sluice::driver
