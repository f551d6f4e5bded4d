//===- TuneCommand.cpp - sluice tune --------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "SharedOptions.h"
#include "ThresholdProbe.h"
#include "TuningProgram.h"
#include "sluice/Optimize/HillClimb.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

namespace sluice::driver {
namespace {

struct Options {
  std::vector<std::string> models;
  std::string output, only = "all", format = "text";
  int64_t repeat = 15, rounds = 60;
  bool again = false;
  CompileOptions compile;
};

/// What gains less is noise, as is what a clock of some tens of nanoseconds cannot tell apart.
constexpr double kLeastGain = 0.01;
constexpr int64_t kLeastGainNs = 100;
/// A kernel that takes less is left to the compiler.
constexpr int64_t kLeastNs = 1'000;

/// A kernel's search, in whichever programs it is.
struct Search {
  TunableKernel kernel;
  std::unique_ptr<HillClimb<KernelTuning>> climb;
  int64_t defaultNs = 0;

  bool isFinished() const { return (defaultNs > 0 && defaultNs < kLeastNs) || climb->isFinished(); }
};

struct Tuner {
  const Options &options;
  CompilerOptions compile;
  TargetSpec target;
  int threads = 1;
  TemporaryDirectory directory;
  Tuning tuning = {}; ///< What is known so far.
  std::vector<TuningProgram> programs = {};
  std::map<std::string, Search> searches = {};         ///< By key, of kernels to measure.
  std::vector<std::pair<int64_t, int64_t>> steps = {}; ///< Per program: as the compiler chooses, and tuned.

  std::string trialFile() const { return directory.file("trial.json"); }
};

/// One line on a terminal, rewritten.
void showProgress(const std::string &text) {
  if (isatty(STDERR_FILENO))
    std::cerr << "\r\033[K" << text << "\r" << std::flush;
}

/// Products and convolutions as models have them, where no model is given.
constexpr const char *kStandardSet = R"(
func.func @standard(%a: tensor<1x1024xf32>, %b: tensor<32x768xf32>, %c: tensor<128x768xf32>, %d: tensor<128x3072xf32>,
                    %e: tensor<1x64x56x56xf32>, %f: tensor<1x128x28x28xf32>, %g: tensor<1x256x14x14xf32>,
                    %h: tensor<1x3x224x224xf32>, %i: tensor<1x32x112x112xf32>)
    -> (tensor<1x1000xf32>, tensor<32x768xf32>, tensor<128x3072xf32>, tensor<128x768xf32>, tensor<1x64x56x56xf32>,
        tensor<1x128x28x28xf32>, tensor<1x256x14x14xf32>, tensor<1x256x56x56xf32>, tensor<1x64x112x112xf32>,
        tensor<1x32x112x112xf32>, tensor<1x512x14x14xf32>) {
  %wa = dataflow.constant dense<0.01> : tensor<1024x1000xf32>
  %0 = dataflow.matmul %a, %wa : tensor<1x1024xf32>, tensor<1024x1000xf32>
  %wb = dataflow.constant dense<0.01> : tensor<768x768xf32>
  %1 = dataflow.matmul %b, %wb : tensor<32x768xf32>, tensor<768x768xf32>
  %wc = dataflow.constant dense<0.01> : tensor<768x3072xf32>
  %2 = dataflow.matmul %c, %wc : tensor<128x768xf32>, tensor<768x3072xf32>
  %wd = dataflow.constant dense<0.01> : tensor<3072x768xf32>
  %3 = dataflow.matmul %d, %wd : tensor<128x3072xf32>, tensor<3072x768xf32>
  %we = dataflow.constant dense<0.01> : tensor<64x64x3x3xf32>
  %4 = dataflow.conv %e, %we strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  %wf = dataflow.constant dense<0.01> : tensor<128x128x3x3xf32>
  %5 = dataflow.conv %f, %wf strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x128x28x28xf32>, tensor<128x128x3x3xf32> -> tensor<1x128x28x28xf32>
  %wg = dataflow.constant dense<0.01> : tensor<256x256x3x3xf32>
  %6 = dataflow.conv %g, %wg strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x256x14x14xf32>, tensor<256x256x3x3xf32> -> tensor<1x256x14x14xf32>
  %wh = dataflow.constant dense<0.01> : tensor<256x64x1x1xf32>
  %7 = dataflow.conv %e, %wh strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x64x56x56xf32>, tensor<256x64x1x1xf32> -> tensor<1x256x56x56xf32>
  %wi = dataflow.constant dense<0.01> : tensor<64x3x7x7xf32>
  %8 = dataflow.conv %h, %wi strides [2, 2] pads [3, 3, 3, 3] dilations [1, 1] : tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32> -> tensor<1x64x112x112xf32>
  %wj = dataflow.constant dense<0.01> : tensor<32x1x3x3xf32>
  %9 = dataflow.conv %i, %wj strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 32 : i64} : tensor<1x32x112x112xf32>, tensor<32x1x3x3xf32> -> tensor<1x32x112x112xf32>
  %wk = dataflow.constant dense<0.01> : tensor<512x256x1x1xf32>
  %10 = dataflow.conv %g, %wk strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x256x14x14xf32>, tensor<512x256x1x1xf32> -> tensor<1x512x14x14xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 : tensor<1x1000xf32>, tensor<32x768xf32>, tensor<128x3072xf32>, tensor<128x768xf32>, tensor<1x64x56x56xf32>, tensor<1x128x28x28xf32>, tensor<1x256x14x14xf32>, tensor<1x256x56x56xf32>, tensor<1x64x112x112xf32>, tensor<1x32x112x112xf32>, tensor<1x512x14x14xf32>
}
)";

/// The CPU whose kernels are measured.
Expected<Device> findCpu(const CompilerOptions &resolved) {
  SLUICE_ASSIGN_OR_RETURN(Machine machine, loadMachine(resolved.machine));
  for (DeviceId id : machine.computeDevices()) {
    const Device &device = machine.device(id);
    if (device.kind == DeviceKind::Cpu && (resolved.device.empty() || resolved.device == device.name))
      return device;
  }
  return makeError(ErrorCode::InvalidInput, "no CPU ", resolved.device.empty() ? "" : "'" + resolved.device + "' ",
                   "computes in machine '", machine.name, "', whose kernels could be measured, give --machine host");
}

/// What an earlier run has left, unless it was made elsewhere or is not wanted.
Expected<Tuning> readEarlier(const Options &options, const Tuning &fresh) {
  std::error_code ignored;
  if (options.again || !std::filesystem::exists(options.output, ignored))
    return fresh;
  Expected<Tuning> earlier = readTuning(options.output);
  if (!earlier)
    return makeError(ErrorCode::InvalidInput, earlier.error().message, ": '", options.output,
                     "' is there and no tuning to add to, give another file with -o or --again");
  return earlier->origin == fresh.origin && earlier->device == fresh.device ? std::move(*earlier) : fresh;
}

Status measureThresholds(Tuner &tuner) {
  ProbeSetting setting{tuner.compile, tuner.tuning.origin, tuner.tuning.device,
                       tuner.threads, tuner.trialFile(),   tuner.options.repeat};
  for (size_t rate = 0; rate < kRateNames.size() && !interrupted; ++rate) {
    Threshold &known = tuner.tuning.thresholds[std::string(kRateNames[rate])];
    if (known.state != CrossingState::Unknown || !hasRate(tuner.target, rate))
      continue;
    showProgress(concat("threshold of ", kRateNames[rate]));
    SLUICE_ASSIGN_OR_RETURN(known, measureThreshold(setting, rate));
  }
  return {};
}

Status openPrograms(Tuner &tuner) {
  std::vector<std::string> models = tuner.options.models;
  if (models.empty()) {
    models.push_back(tuner.directory.file("standard.mlir"));
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(models.back(), kStandardSet));
  }
  for (const std::string &model : models) {
    SLUICE_ASSIGN_OR_RETURN(TuningProgram program, TuningProgram::open(model, tuner.compile));
    tuner.programs.push_back(std::move(program));
  }
  return {};
}

/// Kernels that the file has no end of, each with its climb from the best that is known.
void prepareSearches(Tuner &tuner) {
  for (const TuningProgram &program : tuner.programs)
    for (const TunableKernel &kernel : program.kernels()) {
      auto known = tuner.tuning.kernels.find(kernel.key);
      if (known != tuner.tuning.kernels.end() && known->second.isFinished)
        continue;
      Search &search = tuner.searches[kernel.key];
      if (search.climb)
        continue;
      search.kernel = kernel;
      std::vector<KernelTuning> starts = tuningStarts(kernel);
      if (known != tuner.tuning.kernels.end() && known->second.tuning != KernelTuning())
        starts.push_back(known->second.tuning);
      search.climb = std::make_unique<HillClimb<KernelTuning>>(
          std::move(starts),
          [&search, &program](const KernelTuning &from) {
            return tuningNeighbours(search.kernel, from, program.target());
          },
          kLeastGain);
    }
}

/// Whether the program has a kernel that is still searched for.
bool isSearched(Tuner &tuner, const TuningProgram &program) {
  return std::any_of(program.kernels().begin(), program.kernels().end(), [&](const TunableKernel &kernel) {
    auto found = tuner.searches.find(kernel.key);
    return found != tuner.searches.end() && !found->second.isFinished();
  });
}

/// All kernels with the tunings that `choose` gives those being searched, for a trial.
template <typename Choose>
Tuning trialOf(const Tuner &tuner, Choose choose) {
  Tuning trial = tuner.tuning;
  trial.profile = {};
  for (const auto &[key, search] : tuner.searches) {
    TunedKernel &kernel = trial.kernels[key];
    kernel = {search.kernel.kind, search.kernel.shape, choose(search), 1, 1, 1};
  }
  return trial;
}

/// Measures one tuning of each kernel. Kernels that no program runs are given up.
Status runRound(Tuner &tuner, bool isFirst) {
  const Tuning trial = trialOf(tuner, [](const Search &search) {
    const std::optional<KernelTuning> next = search.isFinished() ? std::nullopt : search.climb->next();
    return next ? *next : search.climb->best().value_or(KernelTuning());
  });
  std::map<std::string, int64_t> times;
  for (const TuningProgram &program : tuner.programs) {
    if (!isSearched(tuner, program))
      continue;
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<TuningTrial> run, program.compile(trial, tuner.trialFile(), tuner.threads));
    SLUICE_RETURN_IF_ERROR(run->run(tuner.options.repeat));
    for (const auto &[key, ns] : run->kernelNs())
      times[key] += ns;
    if (isFirst)
      for (const auto &[key, algorithm] : run->algorithms())
        if (auto found = tuner.searches.find(key); found != tuner.searches.end())
          found->second.kernel.chosen.algorithm = algorithm;
  }
  for (auto search = tuner.searches.begin(); search != tuner.searches.end();) {
    auto time = times.find(search->first);
    if (time == times.end() && isFirst) {
      search = tuner.searches.erase(search);
      continue;
    }
    if (time != times.end() && !search->second.isFinished()) {
      if (isFirst)
        search->second.defaultNs = time->second;
      search->second.climb->tell(static_cast<double>(time->second));
    }
    ++search;
  }
  return {};
}

/// The kernels' best tunings into what is known.
void keepBest(Tuner &tuner) {
  for (auto &[key, search] : tuner.searches)
    if (search.climb->trials() > 0) {
      const auto ns = static_cast<int64_t>(search.climb->bestCost());
      tuner.tuning.kernels[key] = {search.kernel.kind,       search.kernel.shape, *search.climb->best(),
                                   std::max<int64_t>(ns, 1), search.defaultNs,    search.climb->trials(),
                                   search.isFinished()};
    }
}

/// Runs every program as the compiler chooses and tuned, in turns: what disturbs one disturbs both. A kernel that is
/// not faster so is left to the compiler.
Status verify(Tuner &tuner) {
  std::map<std::string, int64_t> defaults, tuned;
  std::vector<std::pair<std::unique_ptr<TuningTrial>, std::unique_ptr<TuningTrial>>> trials;
  const Tuning plain = trialOf(tuner, [](const Search &) { return KernelTuning(); });
  const Tuning best =
      trialOf(tuner, [](const Search &search) { return search.climb->best().value_or(KernelTuning()); });
  SampleMap samples;
  for (const TuningProgram &program : tuner.programs) {
    showProgress(concat("comparing ", program.name()));
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<TuningTrial> first,
                            program.compile(plain, tuner.trialFile(), tuner.threads));
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<TuningTrial> second,
                            program.compile(best, tuner.trialFile(), tuner.threads));
    constexpr int64_t kTurn = 5;
    for (int64_t done = 0; done < 2 * tuner.options.repeat; done += kTurn)
      for (TuningTrial *trial : {first.get(), second.get()})
        SLUICE_RETURN_IF_ERROR(trial->run(kTurn));
    for (const auto &[key, ns] : first->kernelNs())
      defaults[key] += ns;
    for (const auto &[key, ns] : second->kernelNs())
      tuned[key] += ns;
    for (const TuningTrial *trial : {first.get(), second.get()})
      trial->addTo(samples);
    tuner.steps.emplace_back(first->stepNs(), second->stepNs());
  }
  for (auto &[key, search] : tuner.searches) {
    auto found = tuner.tuning.kernels.find(key);
    if (found == tuner.tuning.kernels.end() || !defaults.contains(key) || !tuned.contains(key))
      continue;
    TunedKernel &kernel = found->second;
    kernel.defaultNs = defaults[key];
    const auto most = static_cast<double>(std::max<int64_t>(defaults[key] - kLeastGainNs, 0));
    const bool gains =
        kernel.tuning != KernelTuning() &&
        static_cast<double>(tuned[key]) < std::min(most, (1 - kLeastGain) * static_cast<double>(defaults[key]));
    kernel.ns = gains ? tuned[key] : defaults[key];
    if (!gains)
      kernel.tuning = {};
  }
  summarize(std::move(samples), tuner.tuning.profile);
  tuner.tuning.profile.origin = tuner.tuning.origin;
  return {};
}

Status tuneKernels(Tuner &tuner) {
  SLUICE_RETURN_IF_ERROR(openPrograms(tuner));
  prepareSearches(tuner);
  for (int64_t round = 0; round < tuner.options.rounds && !interrupted; ++round) {
    const auto left = std::count_if(tuner.searches.begin(), tuner.searches.end(),
                                    [](const auto &entry) { return !entry.second.isFinished(); });
    if (left == 0)
      break;
    showProgress(concat("round ", round + 1, ", ", left, " of ", tuner.searches.size(), " kernels left"));
    if (Status ran = runRound(tuner, round == 0); !ran && !interrupted)
      return ran;
  }
  keepBest(tuner);
  if (interrupted || tuner.searches.empty())
    return {};
  Status compared = verify(tuner);
  return interrupted ? Status() : compared;
}

std::string textOf(const KernelTuning &tuning) {
  std::string text;
  if (tuning.algorithm != TunedAlgorithm::Any)
    text = kAlgorithmNames[static_cast<size_t>(tuning.algorithm)];
  for (const TuningField &field : kTuningFields)
    if (const int64_t value = tuning.*field.value; value != 0)
      text += concat(text.empty() ? "" : ", ", field.name, " ",
                     value == kMostChunkNs ? std::string("never") : std::to_string(value));
  return text.empty() ? "as the compiler chooses" : text;
}

void printTuning(const Tuner &tuner) {
  if (tuner.options.only != "thresholds") {
    Table table({"kernel", "shape", "default", "tuned", "trials", "tuning"});
    std::set<std::string> printed;
    for (const TuningProgram &program : tuner.programs)
      for (const TunableKernel &kernel : program.kernels())
        if (auto found = tuner.tuning.kernels.find(kernel.key);
            found != tuner.tuning.kernels.end() && printed.insert(kernel.key).second)
          table.add({found->second.kind, found->second.shape, formatDuration(found->second.defaultNs),
                     formatDuration(found->second.ns), concat(found->second.trials), textOf(found->second.tuning)});
    table.print();
    for (size_t i = 0; i < tuner.steps.size(); ++i)
      printLine("step", concat(tuner.programs[i].name(), ": ", formatDuration(tuner.steps[i].first),
                               " as the compiler chooses, ", formatDuration(tuner.steps[i].second), " tuned"));
  }
  for (const auto &[rate, threshold] : tuner.tuning.thresholds)
    printLine("threshold", concat(rate, ": ",
                                  threshold.state == CrossingState::At      ? formatDuration(threshold.ns)
                                  : threshold.state == CrossingState::Never ? std::string("never")
                                                                            : std::string("unknown")));
}

Status runTune(const Options &options) {
  SLUICE_ASSIGN_OR_RETURN(CompilerOptions resolved, options.compile.resolve());
  if (!resolved.tuningFile.empty())
    return makeError(ErrorCode::InvalidInput, "a tuning is what 'sluice tune' writes, option '--tuning', name the file "
                                              "with -o, what it has already is not measured again");
  // The plan of a single CPU matters little: any one serves.
  resolved.progress = nullptr;
  resolved.searchEvaluations = 1;
  resolved.searchTimeNs = 0;
  SLUICE_ASSIGN_OR_RETURN(Device cpu, findCpu(resolved));
  resolved.device = cpu.name;
  SLUICE_ASSIGN_OR_RETURN(TargetSpec target, resolveTarget(resolved.target));
  Tuning fresh;
  fresh.origin = measurementOrigin(target, resolved.matmulPrecision);
  fresh.device = deviceKey(cpu);
  SLUICE_ASSIGN_OR_RETURN(Tuning earlier, readEarlier(options, fresh));
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory directory, TemporaryDirectory::create());
  Tuner tuner{options, std::move(resolved), std::move(target), cpu.threads, std::move(directory), std::move(earlier)};
  if (options.only != "kernels")
    SLUICE_RETURN_IF_ERROR(measureThresholds(tuner));
  if (options.only != "thresholds" && !interrupted)
    SLUICE_RETURN_IF_ERROR(tuneKernels(tuner));
  clearProgress();
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(options.output, tuningToJson(tuner.tuning).dump(1) + "\n"));
  if (options.format == "json") {
    printJson(tuningToJson(tuner.tuning));
    return {};
  }
  if (interrupted)
    printLine("stopped", "what is measured is kept, the same command goes on from it");
  printTuning(tuner);
  return {};
}

} // namespace

void addTuneCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<Options>();
  CLI::App *command = driver::addCommand(
      app, "tune", "Measure how this CPU computes matrix products and convolutions fastest, for --tuning");
  addOption(*command, "MODEL", options->models, "ONNX files whose operators are tuned; a standard set without them");
  addOption(*command, "-o,--output", options->output, "the tuning; what it has already is not measured again")
      ->required();
  addOption(*command, "--repeat", options->repeat, "steps to measure of each trial; the median counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  addOption(*command, "--rounds", options->rounds, "trials of each kernel at most; fewer where nothing gains 1%")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  addOption(*command, "--only", options->only, "what to measure: kernels, thresholds (from which time on threads gain)")
      ->check(oneOf({"all", "kernels", "thresholds"}))
      ->capture_default_str();
  addFlag(*command, "--again", options->again, "measure all, whatever the output file has");
  addFormatOption(*command, options->format);
  options->compile.addTo(*command);
  command->callback([options, &action] { action = [options] { return runTune(*options); }; });
}

} // namespace sluice::driver
