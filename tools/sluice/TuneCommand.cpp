//===- TuneCommand.cpp - sluice tune --------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "KernelTuner.h"
#include "SharedOptions.h"
#include "ThresholdProbe.h"
#include "sluice/Support/Units.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unistd.h>

namespace sluice::driver {
namespace {

struct TuneOptions {
  std::vector<std::string> models;
  std::string output, beside, only = "all", search = "best-first", format = "text";
  int64_t repeat = 15, rounds = 0; ///< 0 rounds: as many as the search takes by default.
  bool again = false;
  CompileOptions compile;
  const CLI::App *command = nullptr;
};

/// Options of compilation that change no measurement, and why.
constexpr std::pair<const char *, const char *> kWithoutEffect[] = {
    {"--tuning", "'sluice tune' reads earlier measurements from the file that -o names"},
    {"--threads", "'sluice tune' uses all threads of the CPU that '--machine' describes"},
    {"--least-gain", nullptr},
    {"--memory", nullptr},
    {"--search-time", nullptr},
    {"--search-evals", nullptr},
    {"--solver", nullptr},
    {"--plan", nullptr},
    {"--resume", nullptr},
    {"--profile", nullptr},
    {"--dump-problem", nullptr},
    {"--gpu-libraries", nullptr}};

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
  return makeError(ErrorCode::InvalidInput, "machine '", machine.name, "' has no CPU ",
                   resolved.device.empty() ? "" : "'" + resolved.device + "' ",
                   "that computes and can be measured, option '--machine', give --machine host");
}

Status checkOptions(const CLI::App &command) {
  for (const auto &[name, reason] : kWithoutEffect)
    if (command.get_option(name)->count() > 0)
      return makeError(ErrorCode::InvalidInput, "option '", name, "' has no effect, because ",
                       reason ? reason : "'sluice tune' measures single kernels of a CPU and makes no plan",
                       ", leave the option out");
  return {};
}

/// Fails where the output could not be written, before minutes of measuring.
Status checkOutput(const std::string &path) {
  std::error_code ignored;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (std::filesystem::is_directory(path, ignored))
    return makeError(ErrorCode::Io, "'", path, "' is a directory, option '-o', give a file's path");
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    return {}; // A terminal or a pipe.
  if (!parent.empty() && !std::filesystem::is_directory(parent, ignored))
    return makeError(ErrorCode::Io, "directory '", parent.string(), "' does not exist, option '-o', create it first");
  if (::access(parent.empty() ? "." : parent.c_str(), W_OK) != 0)
    return makeError(ErrorCode::Io, "directory '", parent.empty() ? "." : parent.string(),
                     "' cannot be written, option '-o', give a file of another directory");
  return {};
}

/// What an earlier run has left, unless it is not wanted.
Expected<Tuning> readEarlier(const TuneOptions &options, const Tuning &fresh) {
  std::error_code ignored;
  if (options.again || !std::filesystem::exists(options.output, ignored))
    return fresh;
  Expected<Tuning> earlier = readTuning(options.output);
  if (!earlier)
    return makeError(
        ErrorCode::InvalidInput, "file '", options.output, "' exists but is not a valid tuning file (",
        earlier.error().message,
        "), so no measurement can be added, option '-o', give another file, or --again to replace this file");
  if (const std::string difference = tuningDifference(*earlier, fresh.origin, fresh.device); !difference.empty())
    return makeError(ErrorCode::InvalidInput, "file '", options.output, "' has a tuning that was measured ", difference,
                     ", option '-o', give another file, or --again to replace this file");
  return earlier;
}

/// Those that the tuning does not have yet.
Status measureThresholds(const ProbeSetting &setting, const TargetSpec &target, Tuning &tuning) {
  for (size_t rate = 0; rate < kRateNames.size() && !interrupted; ++rate) {
    Threshold &known = tuning.thresholds[std::string(kRateNames[rate])];
    if (known.state != CrossingState::Unknown || !hasRate(target, rate))
      continue;
    showTuningProgress(concat("threshold of ", kRateNames[rate]));
    SLUICE_ASSIGN_OR_RETURN(known, measureThreshold(setting, rate));
  }
  return {};
}

/// The given models, or the standard set.
Status openPrograms(const TuneOptions &options, const CompilerOptions &compile, const TemporaryDirectory &directory,
                    std::vector<TuningProgram> &programs) {
  std::vector<std::string> models = options.models;
  if (models.empty()) {
    models.push_back(directory.file("standard.mlir"));
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(models.back(), kStandardSet));
  }
  for (const std::string &model : models) {
    SLUICE_ASSIGN_OR_RETURN(TuningProgram program, TuningProgram::open(model, compile));
    programs.push_back(std::move(program));
  }
  return {};
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

void printKernels(const std::vector<TuningProgram> &programs, const Tuning &tuning, bool isExhaustive) {
  Table table({"kernel", "shape", "default", "tuned", "trials", "tuning"});
  size_t total = 0, tuned = 0, unfinished = 0;
  std::set<std::string> printed;
  for (const TuningProgram &program : programs)
    for (const TunableKernel &kernel : program.kernels())
      if (printed.insert(kernel.key).second) {
        ++total;
        auto found = tuning.kernels.find(kernel.key);
        unfinished += found == tuning.kernels.end() || !found->second.isFinished;
        if (found == tuning.kernels.end())
          continue;
        tuned += found->second.tuning != KernelTuning();
        table.add({found->second.kind, found->second.shape, formatDuration(found->second.defaultNs),
                   formatDuration(found->second.ns), concat(found->second.trials), textOf(found->second.tuning)});
      }
  if (total == 0)
    return printLine("kernels", "no matrix product or convolution of floats has a kernel to tune");
  table.print();
  printLine("kernels", concat(total, ", ", tuned, " tuned",
                              unfinished > 0 ? concat(", ", unfinished,
                                                      isExhaustive ? " whose grid is not finished: raise --rounds"
                                                                   : " whose search is not finished: the same command "
                                                                     "continues it")
                                             : std::string()));
}

void printThresholds(const Tuning &tuning) {
  for (const auto &[rate, threshold] : tuning.thresholds)
    printLine("threshold", concat(rate, ": ",
                                  threshold.state == CrossingState::At      ? formatDuration(threshold.ns)
                                  : threshold.state == CrossingState::Never ? std::string("never")
                                                                            : std::string("unknown")));
}

std::string ratioText(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", ratio);
  return text;
}

/// Per kernel: its time as the compiler chooses, with the tuning, and with the other file's.
void printComparison(const std::vector<TuningComparison> &kernels, const std::string &other) {
  if (kernels.empty())
    return printLine("compared", concat("no kernel is in both files, '", other, "' tunes other operators"));
  Table table({"kernel", "shape", "default", "tuned", "beside", "tuned / default", "tuned / beside"});
  constexpr double kClose = 1.05;
  double ofDefault = 0, ofOther = 0;
  size_t close = 0;
  for (const TuningComparison &kernel : kernels) {
    const auto ns = static_cast<double>(kernel.ns);
    const double byDefault = ns / static_cast<double>(kernel.defaultNs),
                 byOther = ns / static_cast<double>(kernel.otherNs);
    ofDefault += std::log(byDefault);
    ofOther += std::log(byOther);
    close += byOther <= kClose;
    table.add({kernel.kind, kernel.shape, formatDuration(kernel.defaultNs), formatDuration(kernel.ns),
               formatDuration(kernel.otherNs), ratioText(byDefault), ratioText(byOther)});
  }
  table.print();
  const auto count = static_cast<double>(kernels.size());
  printLine("compared", concat(close, " of ", kernels.size(), " kernels take at most 5% longer than with '", other,
                               "'; geometric means: tuned / default ", ratioText(std::exp(ofDefault / count)),
                               ", tuned / beside ", ratioText(std::exp(ofOther / count))));
}

Status runTune(const TuneOptions &options) {
  SLUICE_RETURN_IF_ERROR(checkOptions(*options.command));
  SLUICE_RETURN_IF_ERROR(checkOutput(options.output));
  SLUICE_ASSIGN_OR_RETURN(CompilerOptions resolved, options.compile.resolveToRun());
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
  SLUICE_ASSIGN_OR_RETURN(Tuning tuning, readEarlier(options, fresh));
  std::optional<Tuning> beside;
  if (!options.beside.empty()) {
    if (options.only == "thresholds")
      return makeError(ErrorCode::InvalidInput, "'--beside' compares kernels, and '--only thresholds' measures none, "
                                                "option '--beside', leave one of the two options out");
    SLUICE_ASSIGN_OR_RETURN(beside, readTuning(options.beside));
    SLUICE_RETURN_IF_ERROR(checkTuning(*beside, fresh.origin, fresh.device, options.beside));
  }
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory directory, TemporaryDirectory::create());
  const bool isExhaustive = options.search == "grid";
  constexpr int64_t kBestFirstRounds = 120;
  const int64_t rounds = options.rounds > 0 ? options.rounds
                         : isExhaustive     ? std::numeric_limits<int64_t>::max()
                                            : kBestFirstRounds;
  KernelTuner tuner{{}, directory.file("trial.json"), cpu.threads, options.repeat, rounds, isExhaustive};
  TunedSteps steps;
  if (options.only != "kernels") {
    const ProbeSetting setting{resolved, fresh.origin, fresh.device, cpu.threads, tuner.file, options.repeat};
    SLUICE_RETURN_IF_ERROR(measureThresholds(setting, target, tuning));
  }
  steps.isStopped = interrupted;
  if (options.only != "thresholds" && !steps.isStopped) {
    SLUICE_RETURN_IF_ERROR(openPrograms(options, resolved, directory, tuner.programs));
    SLUICE_ASSIGN_OR_RETURN(steps, tuneKernels(tuner, tuning));
  }
  std::vector<TuningComparison> compared;
  if (beside && !steps.isStopped) {
    SLUICE_ASSIGN_OR_RETURN(compared, compareTunings(tuner, tuning, *beside));
  }
  clearProgress();
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(options.output, jsonText(tuningToJson(tuning), 1) + "\n"));
  if (options.format == "json") {
    nlohmann::json json = tuningToJson(tuning);
    for (const TuningComparison &kernel : compared)
      json["beside"].push_back({{"kind", kernel.kind},
                                {"shape", kernel.shape},
                                {"defaultNs", kernel.defaultNs},
                                {"ns", kernel.ns},
                                {"besideNs", kernel.otherNs}});
    printJson(json);
    return {};
  }
  if (steps.isStopped)
    printLine("stopped", "what is confirmed is kept, the same command goes on from it");
  if (!tuner.programs.empty())
    printKernels(tuner.programs, tuning, isExhaustive);
  for (size_t i = 0; i < steps.ns.size(); ++i)
    printLine("step", concat(tuner.programs[i].name(), ": ", formatDuration(steps.ns[i].first),
                             " as the compiler chooses, ", formatDuration(steps.ns[i].second), " tuned"));
  printThresholds(tuning);
  if (beside && !steps.isStopped)
    printComparison(compared, options.beside);
  return {};
}

} // namespace

void addTuneCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App *command = driver::addCommand(
      app, "tune", "Measure how this CPU computes matrix products and convolutions fastest, for --tuning");
  addOption(*command, "MODEL", options->models,
            "ONNX files whose operators are tuned; without any, a standard set of operators");
  addOption(*command, "-o,--output", options->output, "tuning file; kernels that it already has are not measured again")
      ->required();
  addOption(*command, "--repeat", options->repeat, "number of steps to measure in each trial; the median is used")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  addOption(*command, "--rounds", options->rounds,
            "limit of the trials of a kernel; by default 120 in a best-first search and all in a grid")
      ->check(CLI::PositiveNumber);
  addOption(*command, "--beside", options->beside,
            "another tuning file: in the end each kernel runs in turns with both files, and the table has the times");
  addOption(
      *command, "--search", options->search,
      "how a kernel's tuning is found: best-first (from the compiler's choice and the tiles of each width, around the "
      "best, while a step gains 1%); grid (the best of all tiles and blocks, which takes many times as long)")
      ->check(oneOf({"best-first", "grid"}))
      ->capture_default_str();
  addOption(*command, "--only", options->only,
            "what to measure: kernels; thresholds (the loop times from which on several threads are faster); all")
      ->check(oneOf({"all", "kernels", "thresholds"}))
      ->capture_default_str();
  addFlag(*command, "--again", options->again, "measure everything again and replace the output file");
  addFormatOption(*command, options->format);
  options->compile.addTo(*command);
  for (const auto &[name, reason] : kWithoutEffect)
    command->get_option(name)->group("");
  options->command = command;
  command->callback([options, &action] { action = [options] { return runTune(*options); }; });
}

} // namespace sluice::driver
