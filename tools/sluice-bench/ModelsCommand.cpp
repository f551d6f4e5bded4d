//===- ModelsCommand.cpp - sluice-bench models ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "CompiledModel.h"
#include "DataSet.h"
#include "OnnxTests.h"
#include "Rival.h"
#include "Timing.h"
#include "sluice/Compiler/Compilation.h"
#include "sluice/Support/Temporaries.h"
#include "sluice/TensorIO/Npy.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <thread>

namespace sluice::bench {
namespace {

struct ModelsOptions : CommonOptions {
  std::vector<std::string> directories, against = {"onnxruntime"};
  std::vector<int> threads = {1, 2};
  std::string python = "python3", filter;
};

using Rivals = std::vector<std::unique_ptr<Rival>>;

/// One who runs a model: gives the seconds of so many steps.
using Runner = std::function<Expected<double>(int)>;

/// What one has measured on a model.
struct Measured {
  std::vector<double> seconds; ///< A step's, of each turn.
  std::string problem;         ///< Why there are none.

  bool isThere() const { return problem.empty() && !seconds.empty(); }
  double middle() const { return median(seconds); }
  double least() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

/// Steps of one turn: some milliseconds, so that the clock and a runtime's waking threads weigh little.
Expected<int> stepsOfTurn(const Runner &runner) {
  constexpr double kTurnSeconds = 0.02;
  constexpr int kMostSteps = 1000;
  // The first steps touch memory and start threads.
  SLUICE_RETURN_IF_ERROR(runner(1));
  SLUICE_ASSIGN_OR_RETURN(double once, runner(1));
  return std::clamp(static_cast<int>(kTurnSeconds / std::max(once, 1e-9)), 1, kMostSteps);
}

/// All of them in turns, so that what disturbs the machine disturbs all.
std::vector<Measured> measureInTurns(const std::vector<Runner> &runners, std::vector<Measured> measured, int turns) {
  // A thread pool that has nothing to do spins a while before it sleeps: ONNX Runtime's takes a core for 25 ms on one
  // machine, and for more than 40 ms on a slower one.
  constexpr std::chrono::milliseconds kPause(120);
  std::vector<int> steps(runners.size(), 1);
  auto take = [&](size_t i, const auto &result) {
    if (!result)
      measured[i].problem = result.error().message;
    return static_cast<bool>(result);
  };
  for (size_t i = 0; i < runners.size(); ++i)
    if (measured[i].problem.empty())
      if (Expected<int> count = stepsOfTurn(runners[i]); take(i, count))
        steps[i] = *count;
  for (int turn = 0; turn < turns; ++turn)
    for (size_t i = 0; i < runners.size(); ++i) {
      if (!measured[i].problem.empty())
        continue;
      std::this_thread::sleep_for(kPause);
      // Steps that are not counted bring back what the others took from the caches, and wake the threads. After a
      // pause the system may leave two threads on one core for some 25 ms: one step of a large model is too few.
      if (Expected<double> warm = runners[i](3 * steps[i]); !take(i, warm))
        continue;
      if (Expected<double> seconds = runners[i](steps[i]); take(i, seconds))
        measured[i].seconds.push_back(*seconds / steps[i]);
    }
  return measured;
}

/// A model of the list: compiled once, measured for each number of threads.
class Contest {
public:
  Contest(const OnnxTest &test, const ModelsOptions &options, const Rivals &rivals, std::filesystem::path work)
      : test(test), options(options), rivals(rivals), work(std::move(work)) {}

  /// Fails where our side does not compile.
  Status prepare();
  /// Ours first, then the rivals', in their order.
  std::vector<Measured> measure(int threads) const;

private:
  const OnnxTest &test;
  const ModelsOptions &options;
  const Rivals &rivals;
  std::filesystem::path work;
  DataSet set;
  std::map<std::string, std::string> files; ///< Inputs as the rivals read them.
};

Status Contest::prepare() {
  SLUICE_ASSIGN_OR_RETURN(ModelFile model, ModelFile::open(test.modelPath));
  if (test.dataSets.empty())
    return makeError(ErrorCode::NotFound,
                     "no folder test_data_set_0 beside the model, add one with inputs and outputs");
  SLUICE_ASSIGN_OR_RETURN(set, readDataSet(test.dataSets.front(), model));
  if (!set.sequences.empty())
    return makeError(ErrorCode::Unsupported, "an input is a sequence, and only models with tensors are measured");
  CompilerOptions compiler;
  for (const auto &[name, tensor] : set.inputs) {
    compiler.dims.inputShapes[name] = tensor.shape;
    files[name] = (work / concat(files.size(), ".npy")).string();
    SLUICE_RETURN_IF_ERROR(writeNpy(files[name], tensor));
  }
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation,
                          Compilation::createFor(test.modelPath, std::move(compiler), set.inputs));
  return compilation->link((work / "model").string());
}

std::vector<Measured> Contest::measure(int threads) const {
  std::vector<Measured> measured(1 + rivals.size());
  std::vector<Runner> runners(1 + rivals.size());
  Expected<CompiledModel> ours = CompiledModel::open((work / "model").string(), threads, set.inputs);
  if (!ours)
    measured[0].problem = ours.error().message;
  runners[0] = [&](int steps) -> Expected<double> {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i)
      SLUICE_RETURN_IF_ERROR(ours->run());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (size_t i = 0; i < rivals.size(); ++i) {
    if (Status opened = rivals[i]->open(test.modelPath, files, threads); !opened)
      measured[i + 1].problem = opened.error().message;
    runners[i + 1] = [&rival = *rivals[i]](int steps) { return rival.runSeconds(steps); };
  }
  return measureInTurns(runners, std::move(measured), options.repeats);
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Our times over a rival's.
struct Ratios {
  double logarithms = 0;
  size_t count = 0;

  void add(double ratio) { logarithms += std::log(ratio), ++count; }
  double geometricMean() const { return std::exp(logarithms / static_cast<double>(count)); }
};

std::string formatted(const char *format, double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

class Table {
public:
  Table(const ModelsOptions &options, const Rivals &rivals) : options(options), rivals(rivals) {}

  void printHeader() const;
  void add(const std::string &model, int threads, const std::vector<Measured> &measured);
  void addFailure(const std::string &model, const std::string &problem);
  void finish() const;
  size_t failures = 0;

private:
  Json toJson(const Measured &measured) const {
    if (!measured.isThere())
      return {{"error", measured.problem}};
    return {{"seconds", measured.middle()}, {"least_seconds", measured.least()}, {"turns", measured.seconds.size()}};
  }

  const ModelsOptions &options;
  const Rivals &rivals;
  Json rows = Json::array();
  std::map<std::pair<int, size_t>, Ratios> ratios; ///< By threads and rival.
};

void Table::printHeader() const {
  if (options.json())
    return;
  std::printf("%-34s %7s %10s", "model", "threads", "ours ms");
  for (const std::unique_ptr<Rival> &rival : rivals)
    std::printf(" %11s ms %6s", rival->name().c_str(), "ratio");
  std::printf("\n");
}

void Table::add(const std::string &model, int threads, const std::vector<Measured> &measured) {
  Json row{{"model", model}, {"threads", threads}, {"ours", toJson(measured[0])}};
  failures += !measured[0].isThere();
  for (size_t i = 0; i < rivals.size(); ++i) {
    row[rivals[i]->name()] = toJson(measured[i + 1]);
    if (!measured[0].isThere() || !measured[i + 1].isThere())
      continue;
    const double ratio = measured[0].middle() / measured[i + 1].middle();
    row[rivals[i]->name()]["ratio"] = ratio;
    ratios[{threads, i}].add(ratio);
  }
  if (!options.json()) {
    auto milliseconds = [](const Measured &of) { return of.isThere() ? formatted("%.3f", of.middle() * 1e3) : "-"; };
    std::printf("%-34s %7d %10s", model.c_str(), threads, milliseconds(measured[0]).c_str());
    for (size_t i = 0; i < rivals.size(); ++i) {
      const Json &theirs = row[rivals[i]->name()];
      const std::string ratio = theirs.contains("ratio") ? formatted("%.2f", theirs["ratio"].get<double>()) : "-";
      std::printf(" %14s %6s", milliseconds(measured[i + 1]).c_str(), ratio.c_str());
    }
    std::printf("\n");
    for (size_t i = 0; i < measured.size(); ++i)
      if (!measured[i].problem.empty())
        std::printf("  %s: %s\n", i == 0 ? "ours" : rivals[i - 1]->name().c_str(), measured[i].problem.c_str());
    std::fflush(stdout);
  }
  rows.push_back(std::move(row));
}

void Table::addFailure(const std::string &model, const std::string &problem) {
  ++failures;
  rows.push_back({{"model", model}, {"ours", {{"error", problem}}}});
  if (!options.json())
    std::printf("%-34s ours: %s\n", model.c_str(), problem.c_str());
}

void Table::finish() const {
  Json means = Json::array();
  for (const auto &[key, of] : ratios) {
    const auto &[threads, rival] = key;
    means.push_back({{"threads", threads},
                     {"against", rivals[rival]->name()},
                     {"version", rivals[rival]->version()},
                     {"models", of.count},
                     {"geometricMean", of.geometricMean()}});
    if (!options.json())
      std::printf("%d thread%s: %.3f times %s %s's time, geometric mean of %zu model%s\n", threads,
                  threads == 1 ? "" : "s", of.geometricMean(), rivals[rival]->name().c_str(),
                  rivals[rival]->version().c_str(), of.count, of.count == 1 ? "" : "s");
  }
  if (options.json())
    std::cout << jsonText(Json{{"benchmark", "models"}, {"means", means}, {"models", rows}}, 2) << '\n';
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

Expected<std::vector<OnnxTest>> findModels(const ModelsOptions &options) {
  std::vector<OnnxTest> models;
  for (const std::string &directory : options.directories) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<OnnxTest> found, findOnnxTests(directory));
    std::move(found.begin(), found.end(), std::back_inserter(models));
  }
  if (options.filter.empty())
    return models;
  try {
    const std::regex filter(options.filter);
    std::erase_if(models, [&](const OnnxTest &model) { return !std::regex_search(model.name, filter); });
  } catch (const std::regex_error &) {
    return makeError(ErrorCode::InvalidInput, "'", options.filter,
                     "' is not a regular expression, option '--filter', correct its syntax");
  }
  if (models.empty())
    return makeError(ErrorCode::NotFound, "no model has a name that matches '", options.filter,
                     "', option '--filter', leave this option out to see all names");
  return models;
}

/// Those that are installed; a note for each other.
Expected<Rivals> startRivals(const ModelsOptions &options) {
  Rivals rivals;
  for (const std::string &name : options.against) {
    Expected<std::unique_ptr<Rival>> rival = Rival::start(name, options.python);
    if (rival)
      rivals.push_back(std::move(*rival));
    else if (rival.error().code == ErrorCode::NotFound)
      std::cerr << "note: skipped: " << rival.error().message << '\n';
    else
      return propagate(rival);
  }
  return rivals;
}

Status runModels(const ModelsOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<OnnxTest> models, findModels(options));
  SLUICE_ASSIGN_OR_RETURN(Rivals rivals, startRivals(options));
  Table table(options, rivals);
  table.printHeader();
  for (const OnnxTest &model : models) {
    SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory work, TemporaryDirectory::create("sluice-bench"));
    Contest contest(model, options, rivals, work.path());
    if (Status ready = contest.prepare(); !ready) {
      table.addFailure(model.name, ready.error().message);
      continue;
    }
    for (int threads : options.threads)
      table.add(model.name, threads, contest.measure(threads));
  }
  table.finish();
  if (table.failures > 0)
    return makeError(ErrorCode::InvalidInput, table.failures, " measurements of Sluice failed, see the messages above");
  return {};
}

} // namespace

void addModelsCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<ModelsOptions>();
  CLI::App *command =
      driver::addCommand(app, "models", "Time steps of models in Sluice and in other runtimes, in turns");
  driver::addOption(*command, "DIR", options->directories, "folders of model.onnx and test_data_set_*, at any depth")
      ->required();
  driver::addOption(*command, "--against", options->against,
                    "other runtimes: onnxruntime, openvino; skipped if not installed")
      ->delimiter(',')
      ->check(driver::oneOf({"onnxruntime", "openvino"}))
      ->allow_extra_args(false)
      ->capture_default_str();
  driver::addOption(*command, "--threads", options->threads, "numbers of threads, each of which is measured")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->allow_extra_args(false)
      ->capture_default_str();
  driver::addOption(*command, "--python", options->python, "the interpreter with the packages of the other runtimes")
      ->type_name("PATH")
      ->capture_default_str();
  driver::addOption(*command, "--filter", options->filter, "only models whose name matches this regular expression")
      ->type_name("REGEX");
  options->addTo(*command);
  command->callback([options, &action] { action = [options] { return runModels(*options); }; });
}

} // namespace sluice::bench
