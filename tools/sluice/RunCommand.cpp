//===- RunCommand.cpp - sluice run ----------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "AdaptiveRun.h"
#include "ArtifactInfo.h"
#include "BarrierRun.h"
#include "ChildProcess.h"
#include "Commands.h"
#include "ElasticRun.h"
#include "KeptRun.h"
#include "MeasuredMappings.h"
#include "QuantizedModels.h"
#include "RunInputs.h"
#include "RunSession.h"
#include "SavedStates.h"
#include "SharedOptions.h"
#include "StepWatch.h"
#include "sluice/Onnx/Compose.h"
#include "sluice/Runtime/Tables.h"
#include "sluice/Support/Units.h"
#include "sluice/TensorIO/Compare.h"
#include "sluice/TensorIO/Npy.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::driver {
namespace {

struct RunOptions {
  std::string model, outputDirectory, expect, keep, trace, format = "text";
  std::vector<std::string> inputs;
  std::optional<double> tolerance;
  int64_t steps = 1, repeat = 0;
  bool adaptive = false, watches = false;
  DriftParams drift;
  std::string slow, spill, barrier;
  int64_t stepNs = 0, retestNs = BarrierTraining().retestNs;
  std::string fromStates, launcher = "mpirun";
  bool isCompatible = false, isElastic = false;
  int64_t keepEvery = 0; ///< 0: only the states after the last step are kept.

  /// The folder of states below --output-dir.
  std::string statesFolder() const { return (std::filesystem::path(outputDirectory) / "states").string(); }
  bool traces() const { return adaptive || watches || !trace.empty(); }
  CompileOptions compile;
  size_t measured = 0; ///< Mappings.
};

/// What a process of this program holds beside the model once it runs one: threads, buffers, and code that it has not
/// used yet.
constexpr int64_t kRunBytes = int64_t(12) << 20;

/// An artifact ready to run: the user's, or one made for this run.
struct OpenModel {
  std::optional<TemporaryDirectory> made;
  std::optional<RunSession> session;
  std::vector<GivenInput> given;
  std::vector<std::string> fixed;            ///< Inputs whose values it was compiled for.
  std::map<std::string, int64_t> sizes = {}; ///< Of a compiled model's symbols, as --dim says.
  std::optional<AdaptiveRun> adaptive = {};
  std::vector<MeasuredMapping> mappings = {};
  std::vector<PrunedLayer> pruned = {};
  bool quantized = false;
  int64_t requests = 1;        ///< The number of requests that a step computes at once.
  ModelIdentity identity = {}; ///< Of the model that the run begins with.
};

std::vector<std::string> namesOf(const sluice_tensor_desc *ports, uint32_t count) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < count; ++i)
    names.push_back(tableEntry(ports, i).name);
  return names;
}

tl::unexpected<Error> isForModels(const RunOptions &options, const std::string &option) {
  return makeError(ErrorCode::InvalidInput, "option '", option, "' changes the compilation, and '", options.model,
                   "' is already compiled, give the model's ONNX file or leave the option out");
}

Expected<OpenModel> openCompiled(const RunOptions &options) {
  if (options.adaptive)
    return makeError(ErrorCode::InvalidInput, "option '--adaptive' makes new plans, which needs an ONNX file, and '",
                     options.model, "' is a compiled model, give the model's ONNX file");
  if (const std::string option = options.compile.firstGiven({"--dim"}); !option.empty())
    return isForModels(options, option);
  if (const auto &ranges = options.compile.dims().ranges; !ranges.empty())
    return makeError(ErrorCode::InvalidInput, "dimension '", ranges.begin()->first,
                     "' has a range in option '--dim', and '", options.model,
                     "' is already compiled, give the one size that this run uses");
  OpenModel open;
  SLUICE_ASSIGN_OR_RETURN(RunSession session,
                          RunSession::open(options.model, options.compile.threads(), options.traces(), options.spill));
  const sluice_model &model = session.model();
  SLUICE_ASSIGN_OR_RETURN(std::vector<GivenInput> given,
                          readGivenInputs(namesOf(model.inputs, model.num_inputs), options.inputs, options.expect));
  open.given = std::move(given);
  open.sizes = options.compile.dims().values;
  if (!open.sizes.empty() && model.num_symbols == 0)
    return isForModels(options, "--dim");
  open.quantized = !options.expect.empty() && isQuantized(options.model);
  // The stages of a training step have a manifest each.
  if (std::filesystem::exists(concat(options.model, "/", kManifestFile))) {
    SLUICE_ASSIGN_OR_RETURN(open.requests, requestsOf(options.model));
  }
  open.session = std::move(session);
  return open;
}

/// Gives the dimensions that have no range the sizes of the data; those with one take the data's at each step.
void bindBesideRanges(const ModelFile &file, const std::vector<GivenInput> &given, DimBindings &dims) {
  for (size_t i = 0; i < given.size(); ++i) {
    const auto &declared = file.inputs()[i].dims;
    if (!given[i].tensor || !declared || declared->size() != given[i].tensor->shape.size())
      continue;
    for (size_t d = 0; d < declared->size(); ++d)
      if (const DeclaredDim &dim = (*declared)[d];
          dim.value < 0 && !dims.ranges.contains(dims.tiedTo(dim.symbol)) && !dims.sums.contains(dim.symbol))
        dims.values.emplace(dim.symbol, given[i].tensor->shape[d]);
  }
}

/// Compiles the model for what is given to it.
Expected<std::unique_ptr<Compilation>> compileFor(const RunOptions &options, CompilerOptions resolved,
                                                  OpenModel &open) {
  auto read = [&](const std::vector<std::string> &names) -> Status {
    SLUICE_ASSIGN_OR_RETURN(std::vector<GivenInput> given, readGivenInputs(names, options.inputs, options.expect));
    open.given = std::move(given);
    return {};
  };
  if (resolved.training || isModuleFile(options.model)) {
    // A step has inputs that the model has not, and data comes in batches.
    Expected<std::unique_ptr<Compilation>> compilation = Compilation::create(options.model, std::move(resolved));
    Status status = compilation ? (*compilation)->run(Phase::Differentiate) : propagate(compilation);
    std::vector<std::string> names;
    if (status)
      for (const ModelPort &input : (*compilation)->inputs())
        names.push_back(input.name);
    if (status)
      status = read(names);
    return status ? std::move(compilation) : propagate(status);
  }
  std::vector<std::string> names;
  {
    SLUICE_ASSIGN_OR_RETURN(ModelFile file, openModel(options.model));
    for (const DeclaredTensor &input : file.inputs())
      names.push_back(input.name);
    open.quantized = isQuantized(file.graph());
    SLUICE_RETURN_IF_ERROR(read(names));
    if (!resolved.dims.ranges.empty())
      bindBesideRanges(file, open.given, resolved.dims);
  }
  // Of several batches one step sees one: --dim says how large it is.
  if (resolved.dims.ranges.empty() && (options.steps == 1 || resolved.dims.values.empty()))
    for (auto &[name, shape] : givenShapes(names, open.given))
      resolved.dims.inputShapes[name] = std::move(shape);
  if (const auto &sequences = resolved.dims.sequences; !sequences.empty())
    return makeError(ErrorCode::Unsupported, "input '", sequences.begin()->first,
                     "' is a sequence, for which only compiled models support option '--shape', ",
                     "compile the model with 'sluice compile' and run the result");
  return Compilation::createFor(options.model, std::move(resolved), givenValues(names, open.given));
}

Expected<std::unique_ptr<Compilation>> compileFor(const RunOptions &options, OpenModel &open) {
  SLUICE_ASSIGN_OR_RETURN(CompilerOptions resolved,
                          options.keep.empty() ? options.compile.resolveToRun() : options.compile.resolve());
  return compileFor(options, std::move(resolved), open);
}

Expected<OpenModel> compileAndOpen(const RunOptions &options) {
  OpenModel open;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, compileFor(options, open));
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory made, TemporaryDirectory::create());
  open.made.emplace(std::move(made));
  for (const auto &[name, tensor] : compilation->options().fixedInputs)
    open.fixed.push_back(name);
  if (options.measured > 0)
    measureMappings(*compilation, options.measured, open.given);
  const std::string directory = open.made->path();
  SLUICE_RETURN_IF_ERROR(linkToRun(*compilation, directory));
  SLUICE_ASSIGN_OR_RETURN(RunSession session,
                          RunSession::open(directory, options.compile.threads(), options.traces(), options.spill));
  open.session = std::move(session);
  open.requests = compilation->options().requests;
  open.mappings = compilation->measuredMappings();
  open.pruned = compilation->prunedLayers();
  if (options.adaptive)
    open.adaptive.emplace(options.model, compilation->options(), options.drift);
  return open;
}

/// The same where the options limit what this process holds: another one compiles.
Expected<OpenModel> compileApartAndOpen(const RunOptions &options) {
  OpenModel open;
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory made, TemporaryDirectory::create());
  open.made.emplace(std::move(made));
  const std::string directory = open.made->path();
  const int64_t processBytes = residentBytes() + kRunBytes;
  auto compile = [&]() -> Expected<Json> {
    OpenModel child;
    SLUICE_ASSIGN_OR_RETURN(CompilerOptions resolved, options.compile.resolveToRun());
    resolved.processBytes = processBytes;
    SLUICE_ASSIGN_OR_RETURN(auto compilation, compileFor(options, std::move(resolved), child));
    SLUICE_RETURN_IF_ERROR(linkToRun(*compilation, directory));
    Json fixed = Json::array();
    for (const auto &[name, tensor] : compilation->options().fixedInputs)
      fixed.push_back(name);
    return Json{{"fixed", std::move(fixed)}, {"quantized", child.quantized}};
  };
  SLUICE_ASSIGN_OR_RETURN(const Json compiled, runInChild(compile));
  clearProgress();
  open.fixed = compiled["fixed"].get<std::vector<std::string>>();
  open.quantized = compiled["quantized"].get<bool>();
  SLUICE_ASSIGN_OR_RETURN(RunSession session,
                          RunSession::open(directory, options.compile.threads(), options.traces(), options.spill));
  const sluice_model &model = session.model();
  SLUICE_ASSIGN_OR_RETURN(open.given,
                          readGivenInputs(namesOf(model.inputs, model.num_inputs), options.inputs, options.expect));
  open.session = std::move(session);
  SLUICE_ASSIGN_OR_RETURN(open.requests, requestsOf(directory));
  return open;
}

Status compileAndKeep(const RunOptions &options) {
  OpenModel open;
  if (options.compile.requests() > 1)
    return makeError(ErrorCode::Unsupported,
                     "a kept run has one step, and the outputs of the first request are known "
                     "after ",
                     options.compile.requests(), " steps, option '--pipeline-requests', leave this option out");
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, compileFor(options, open));
  return keepRun(options.keep, *compilation, std::move(open.given), options.expect, open.quantized);
}

Status makeDirectory(const std::string &directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return makeError(ErrorCode::Io, "cannot make directory '", directory, "', ", error.message(),
                     ", choose another path");
  return {};
}

Status writeOutputs(const std::string &directory, const std::vector<HostTensor> &outputs) {
  SLUICE_RETURN_IF_ERROR(makeDirectory(directory));
  const std::vector<std::string> names = tensorFileNames(outputs);
  for (size_t i = 0; i < outputs.size(); ++i)
    SLUICE_RETURN_IF_ERROR(writeNpy((std::filesystem::path(directory) / names[i]).string(), outputs[i]));
  return {};
}

/// Before the first step: refuses a folder in which states could not be written later.
Status prepareToKeep(const RunOptions &options) {
  std::error_code error;
  if (options.keepEvery > 0)
    SLUICE_RETURN_IF_ERROR(makeDirectory(options.outputDirectory));
  else if (options.outputDirectory.empty() || !std::filesystem::exists(options.outputDirectory, error))
    return {};
  return checkReplaceable(options.statesFolder());
}

/// The last step's outputs, and below "states" what it leaves to the next.
Status writeResults(const RunOptions &options, const std::vector<HostTensor> &outputs, const ModelIdentity &model,
                    RunProgress progress, const std::vector<HostTensor> &states) {
  SLUICE_RETURN_IF_ERROR(writeOutputs(options.outputDirectory, outputs));
  return states.empty() ? Status() : saveStates(options.statesFolder(), model, progress, states);
}

struct Checked {
  std::string name;
  TensorComparison comparison;
};

Expected<std::vector<Checked>> compareOutputs(const RunOptions &options, bool quantized,
                                              const std::vector<HostTensor> &outputs,
                                              const std::map<size_t, HostTensor> &expected) {
  std::vector<Checked> checked;
  for (const auto &[index, reference] : expected) {
    const HostTensor &output = outputs[index];
    Tolerance tolerance = defaultTolerance(reference.type, quantized);
    if (options.tolerance && isFloatingPoint(reference.type))
      tolerance = {*options.tolerance, -1};
    SLUICE_ASSIGN_OR_RETURN(TensorComparison comparison, compareTensors(output, reference, tolerance));
    checked.push_back({output.name, comparison});
  }
  return checked;
}

/// In quotes, of a readable length, without what would move a terminal's cursor.
std::string quotedText(std::string_view text) {
  constexpr size_t kMost = 60;
  std::string quoted = "'";
  for (char c : text.substr(0, kMost))
    quoted += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '.' : c;
  return quoted + (text.size() > kMost ? "...'" : "'");
}

/// The first values, for people.
std::string preview(const HostTensor &tensor) {
  std::string text = concat(tensor.name, ": ", elementTypeName(tensor.type), " ", formatShape(tensor.shape));
  const int64_t shown = std::min<int64_t>(tensor.numElements(), 6);
  for (int64_t i = 0; i < shown; ++i) {
    text += i ? " " : " = ";
    if (tensor.type == ElementType::String)
      text += quotedText(tensor.data<StringElement>()[i].view());
    else
      text += concat(tensor.valueAt(i));
  }
  return text + (shown < tensor.numElements() ? " ..." : "");
}

/// What an output of one number was in each step: a loss.
struct Series {
  std::string name;
  std::vector<double> values;
};

/// In how many rows of an output the greatest element is where the reference has it.
struct Accuracy {
  std::string name;
  int64_t rows = 0;
  double whole = 0, pruned = 0; ///< Shares, before and after pruning.
};

struct Outcome {
  int64_t firstStep = 0; ///< Steps that the run began with.
  std::vector<Series> series;
  std::vector<std::string> files; ///< Of the outputs, in their order, where they are written.
  std::vector<Checked> checked;
  bool passes = true;
  std::vector<std::string> fixed; ///< Inputs whose values the model was compiled for.
  std::vector<int64_t> repeatNs;  ///< Ascending.
  std::vector<int64_t> inOrderNs; ///< They as they came.
  std::vector<Replan> replans;
  std::vector<MeasuredMapping> mappings;
  std::vector<PrunedLayer> pruned;
  std::vector<Accuracy> accuracy;
  sluice_stats stats;
  sluice_expert_stats experts;
  std::vector<RunSession::RankTraffic> traffic;
  std::vector<std::string> notes;

  int64_t medianNs() const { return repeatNs[repeatNs.size() / 2]; }
};

/// The first step, the last, and some between them.
void printSeries(const std::vector<Series> &series, int64_t firstStep) {
  if (series.empty() || series.front().values.size() < 2)
    return;
  constexpr size_t kMostRows = 11;
  std::vector<std::string> header = {"step"};
  for (const Series &one : series)
    header.push_back(one.name);
  Table table(std::move(header));
  const size_t steps = series.front().values.size(), rows = std::min(steps, kMostRows);
  for (size_t row = 0; row < rows; ++row) {
    const size_t step = row * (steps - 1) / (rows - 1);
    std::vector<std::string> cells = {concat(firstStep + static_cast<int64_t>(step) + 1)};
    for (const Series &one : series)
      cells.push_back(concat(one.values[step]));
    table.add(std::move(cells));
  }
  table.print();
}

void printOutcome(const sluice_model &model, const Outcome &outcome, const std::vector<HostTensor> &outputs) {
  printSeries(outcome.series, outcome.firstStep);
  if (outcome.checked.empty())
    for (const HostTensor &output : outputs)
      printLine("output", preview(output));
  for (const Checked &check : outcome.checked)
    printLine(check.comparison.matches ? "matches" : "differs", concat(check.name, ": ", describe(check.comparison)));
  for (const std::string &input : outcome.fixed)
    printLine("compiled for", concat("this value of input '", input, "'"));
  printPruned(outcome.pruned);
  for (const Accuracy &one : outcome.accuracy)
    printLine("accuracy", concat(one.name, ": ", formatPercent(one.pruned), " of ", one.rows,
                                 " rows as in the reference, unpruned ", formatPercent(one.whole)));
  printMappings(outcome.mappings);
  printLine("step", formatDuration(outcome.stats.step_ns));
  if (!outcome.repeatNs.empty())
    printLine("median", concat(formatDuration(outcome.medianNs()), " of ", outcome.repeatNs.size(), ", least ",
                               formatDuration(outcome.repeatNs.front())));
  for (const Replan &replan : outcome.replans) {
    std::string changes;
    for (const auto &[device, factor] : replan.slowdowns)
      changes +=
          concat(changes.empty() ? "" : ", ", device, " takes ", std::round(factor * 100) / 100, " times as long");
    printLine("planned anew",
              concat("after step ", replan.step, ": ", changes, "; step ", formatDuration(replan.plannedNs)));
  }
  if (outcome.stats.bounds) {
    std::vector<std::pair<std::string, int64_t>> bounds;
    for (uint32_t s = 0; s < model.num_symbols; ++s)
      bounds.emplace_back(tableEntry(model.symbols, s).name, outcome.stats.bounds[s]);
    printLine("bucket", describeBounds(bounds));
  }
  printLine("copied in", concat(outcome.stats.bytes_in, " bytes a step, planned ", outcome.stats.planned_bytes_in));
  printLine("copied out", concat(outcome.stats.bytes_out, " bytes a step, planned ", outcome.stats.planned_bytes_out));
  if (outcome.stats.planned_bytes_read > 0 || outcome.stats.init_bytes_read > 0)
    printLine("read", concat(outcome.stats.bytes_read, " bytes a step, planned ", outcome.stats.planned_bytes_read,
                             ", ", outcome.stats.init_bytes_read, " before the first step"));
  if (outcome.stats.planned_bytes_written > 0)
    printLine("written",
              concat(outcome.stats.bytes_written, " bytes a step, planned ", outcome.stats.planned_bytes_written));
  printExperts(outcome.experts);
  if (outcome.stats.planned_bytes_read > 0 || outcome.experts.slots > 0)
    printLine("process", concat("held ", formatBytes(peakResidentBytes()), " at most"));
  for (uint32_t m = 0; m < model.num_memories; ++m)
    printLine("arena", concat(tableEntry(model.memories, m).name, ": ", outcome.stats.arena_peak_bytes[m],
                              " bytes touched, planned ", outcome.stats.planned_arena_bytes[m]));
  for (const RunSession::RankTraffic &rank : outcome.traffic)
    printLine(concat("rank ", rank.rank), concat("sent ", rank.bytesSent, " bytes a step, planned ",
                                                 rank.plannedBytesSent, "; ", rank.parameterBytes, " of weights"));
  for (const RunSession::RankTraffic &rank : outcome.traffic)
    for (const RunSession::RankTraffic::Arena &arena : rank.arenas)
      printLine(concat("arena rank ", rank.rank),
                concat(arena.memory, ": ", arena.touchedBytes, " bytes touched, planned ", arena.plannedBytes));
  if (outcome.stats.device_exchange)
    printLine("exchanged", concat("through ", outcome.stats.device_exchange));
  for (const std::string &note : outcome.notes)
    printLine("note", note);
  if (!outcome.checked.empty() && outcome.pruned.empty())
    std::cout << (outcome.passes ? "PASS" : "FAIL") << '\n';
}

Json outcomeToJson(const sluice_model &model, const Outcome &outcome, bool adaptive) {
  Json json;
  json["stepNs"] = outcome.stats.step_ns;
  if (outcome.firstStep > 0)
    json["firstStep"] = outcome.firstStep;
  if (!outcome.repeatNs.empty()) {
    json["medianNs"] = outcome.medianNs();
    json["leastNs"] = outcome.repeatNs.front();
  }
  for (const Replan &replan : outcome.replans) {
    Json slowdowns = Json::object();
    for (const auto &[device, factor] : replan.slowdowns)
      slowdowns[device] = factor;
    json["replans"].push_back(
        {{"step", replan.step}, {"slowdowns", std::move(slowdowns)}, {"plannedNs", replan.plannedNs}});
  }
  if (!outcome.pruned.empty())
    json["pruned"] = prunedToJson(outcome.pruned);
  for (const Accuracy &one : outcome.accuracy)
    json["accuracy"].push_back({{"name", one.name}, {"rows", one.rows}, {"whole", one.whole}, {"pruned", one.pruned}});
  if (!outcome.mappings.empty())
    json["mappings"] = mappingsToJson(outcome.mappings);
  if (adaptive)
    json["repeatNs"] = outcome.inOrderNs;
  json["bytesIn"] = outcome.stats.bytes_in;
  json["bytesOut"] = outcome.stats.bytes_out;
  json["plannedBytesIn"] = outcome.stats.planned_bytes_in;
  json["plannedBytesOut"] = outcome.stats.planned_bytes_out;
  json["bytesRead"] = outcome.stats.bytes_read;
  json["bytesWritten"] = outcome.stats.bytes_written;
  json["plannedBytesRead"] = outcome.stats.planned_bytes_read;
  json["plannedBytesWritten"] = outcome.stats.planned_bytes_written;
  json["peakResidentBytes"] = peakResidentBytes();
  for (uint32_t s = 0; outcome.stats.bounds && s < model.num_symbols; ++s)
    json["bucket"][tableEntry(model.symbols, s).name] = outcome.stats.bounds[s];
  json["arenas"] = Json::object();
  for (uint32_t m = 0; m < model.num_memories; ++m)
    json["arenas"][tableEntry(model.memories, m).name] = {{"touchedBytes", outcome.stats.arena_peak_bytes[m]},
                                                          {"plannedBytes", outcome.stats.planned_arena_bytes[m]}};
  for (const RunSession::RankTraffic &rank : outcome.traffic) {
    Json entry = {{"rank", rank.rank},
                  {"bytesSent", rank.bytesSent},
                  {"plannedBytesSent", rank.plannedBytesSent},
                  {"parameterBytes", rank.parameterBytes}};
    for (const RunSession::RankTraffic::Arena &arena : rank.arenas)
      entry["arenas"][arena.memory] = {{"touchedBytes", arena.touchedBytes}, {"plannedBytes", arena.plannedBytes}};
    json["ranks"].push_back(std::move(entry));
  }
  if (outcome.experts.slots > 0)
    json["experts"] = expertsToJson(outcome.experts);
  if (outcome.stats.device_exchange)
    json["exchanged"] = outcome.stats.device_exchange;
  json["fixedInputs"] = outcome.fixed;
  if (!outcome.files.empty())
    json["files"] = outcome.files;
  if (!outcome.notes.empty())
    json["notes"] = outcome.notes;
  for (const Series &one : outcome.series)
    json["series"][one.name] = one.values;
  if (outcome.checked.empty())
    return json;
  json["passes"] = outcome.passes;
  json["outputs"] = Json::array();
  for (const Checked &check : outcome.checked)
    json["outputs"].push_back({{"name", check.name},
                               {"matches", check.comparison.matches},
                               {"ratio", check.comparison.ratio},
                               {"cosine", check.comparison.cosine},
                               {"nonFiniteMismatches", check.comparison.nonFiniteMismatches}});
  return json;
}

/// The share of rows, along the last dimension, whose greatest element is in one place.
double agreement(const HostTensor &output, const HostTensor &reference) {
  const int64_t extent = reference.shape.back(), rows = reference.numElements() / extent;
  auto greatest = [&](const HostTensor &tensor, int64_t row) {
    int64_t best = 0;
    for (int64_t i = 1; i < extent; ++i)
      if (tensor.valueAt(row * extent + i) > tensor.valueAt(row * extent + best))
        best = i;
    return best;
  };
  int64_t equal = 0;
  for (int64_t row = 0; row < rows; ++row)
    equal += greatest(output, row) == greatest(reference, row);
  return static_cast<double>(equal) / static_cast<double>(rows);
}

/// What pruning did to `pruned`, the last step's outputs: the model is run unpruned beside.
Expected<std::vector<Accuracy>> measureAccuracy(const RunOptions &options, const std::vector<HostTensor> &pruned,
                                                const std::map<size_t, HostTensor> &references) {
  RunOptions plain = options;
  plain.compile.keepWhole();
  plain.adaptive = false;
  plain.measured = 0;
  SLUICE_ASSIGN_OR_RETURN(OpenModel open, compileAndOpen(plain));
  SLUICE_ASSIGN_OR_RETURN(StepInputs inputs,
                          StepInputs::create(*open.session, std::move(open.given), options.steps, open.sizes));
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, open.session->makeOutputs());
  for (int64_t step = 0; step < options.steps; ++step)
    SLUICE_RETURN_IF_ERROR(open.session->step(inputs.at(step), outputs));
  SLUICE_RETURN_IF_ERROR(cutToExtents(outputs));
  std::vector<Accuracy> accuracy;
  for (const auto &[index, reference] : references)
    if (isFloatingPoint(reference.type) && !reference.shape.empty() && reference.shape.back() > 1 &&
        reference.numElements() > 0)
      accuracy.push_back({pruned[index].name, reference.numElements() / reference.shape.back(),
                          agreement(outputs[index], reference), agreement(pruned[index], reference)});
  return accuracy;
}

bool isScalar(const HostTensor &output) { return isFloatingPoint(output.type) && output.numElements() == 1; }

/// Runs an open model step by step: slows a device down from the step asked for, and
/// changes to another plan between two steps where the run is adaptive.
class StepRunner {
public:
  StepRunner(const RunOptions &options, OpenModel &open, std::optional<Disturbance> slow)
      : options(options), open(open), session(*open.session), slow(std::move(slow)) {}

  /// Fails on options that the model does not allow, before any step has run.
  Status check() const {
    const uint32_t ranks = session.model().num_ranks;
    if (exchangesGradients(session.model()))
      return makeError(ErrorCode::InvalidInput,
                       "the model was compiled with '--train accumulate=ranks' and exchanges gradients between ranks, "
                       "option '--barrier' is missing",
                       ", give --barrier bsp or another barrier");
    if (ranks > 1 && (options.adaptive || slow))
      return makeError(ErrorCode::Unsupported, "option '", slow ? "--slow" : "--adaptive",
                       "' is for models of a single rank, and the model has ", ranks, " ranks, leave the option out");
    for (uint32_t s = 0; options.adaptive && s < session.model().num_symbols; ++s)
      if (const sluice_symbol_desc symbol = tableEntry(session.model().symbols, s); symbol.input == SLUICE_SYMBOL_STATE)
        return makeError(ErrorCode::Unsupported, "state '", tableEntry(session.model().states, symbol.dimension).name,
                         "' grows with each step, and option '--adaptive' supports states of constant length only, "
                         "leave the option out");
    return slow ? Disturbance{slow->device, 1, 0}.apply(session) : Status();
  }

  /// Opens the inputs, restores the states and makes room for the outputs.
  Status prepare() {
    if (options.steps < open.requests)
      return makeError(ErrorCode::InvalidInput, "the outputs of the first request are known after ", open.requests,
                       " steps, and option '--steps ", options.steps, "' ends before that, give --steps ",
                       open.requests, " or more");
    SLUICE_RETURN_IF_ERROR(restore());
    if (options.watches && session.isFirst()) {
      SLUICE_ASSIGN_OR_RETURN(StepWatch started, StepWatch::start(options.steps - first.steps + options.repeat));
      watch.emplace(started);
    }
    SLUICE_ASSIGN_OR_RETURN(StepInputs made,
                            StepInputs::create(session, std::move(open.given), options.steps, open.sizes));
    inputs.emplace(std::move(made));
    SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> room, session.makeOutputs());
    outputs = std::move(room);
    if (options.expect.empty())
      return {};
    SLUICE_ASSIGN_OR_RETURN(
        auto read, readExpected(namesOf(session.model().outputs, session.model().num_outputs), options.expect));
    references = std::move(read);
    return {};
  }

  /// Runs the steps asked for, until one's outputs differ from the reference. Every step
  /// is compared: the first and the steady one do not copy alike.
  Status runSteps(Outcome &outcome) {
    // What is a number at its upper bounds is one, or nothing, in each step.
    std::vector<size_t> scalars;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (isScalar(outputs[i])) {
        outcome.series.push_back({outputs[i].name, {}});
        scalars.push_back(i);
      }
    outcome.firstStep = first.steps;
    for (int64_t step = first.steps; step < options.steps && outcome.passes; ++step) {
      SLUICE_RETURN_IF_ERROR(step > first.steps ? adapt() : Status());
      SLUICE_RETURN_IF_ERROR(runStep(inputs->at(progressAfter(step).batches)));
      for (size_t k = 0; k < scalars.size(); ++k)
        if (isScalar(outputs[scalars[k]]))
          outcome.series[k].values.push_back(outputs[scalars[k]].valueAt(0));
      results = outputs;
      SLUICE_RETURN_IF_ERROR(cutToExtents(results));
      // Until the first request has passed all stages, outputs follow from initial values.
      const bool isOfRequest = step + 1 >= open.requests;
      SLUICE_ASSIGN_OR_RETURN(
          std::vector<Checked> checked,
          compareOutputs(options, open.quantized, results, isOfRequest ? references : std::map<size_t, HostTensor>()));
      outcome.checked = std::move(checked);
      // A pruned model's outputs are expected to differ; its accuracy is measured instead.
      outcome.passes =
          !outcome.pruned.empty() || std::all_of(outcome.checked.begin(), outcome.checked.end(),
                                                 [](const Checked &check) { return check.comparison.matches; });
      SLUICE_RETURN_IF_ERROR(keep(step + 1));
    }
    return {};
  }

  /// All ranks' processes call it.
  Status writeAll() const {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<HostTensor> states, session.readStates());
    return session.isFirst() ? writeResults(options, results, open.identity, progressAfter(stepsDone), states)
                             : Status();
  }

  Status measurePruned(Outcome &outcome) const {
    if (outcome.pruned.empty() || references.empty())
      return {};
    SLUICE_ASSIGN_OR_RETURN(std::vector<Accuracy> measured, measureAccuracy(options, results, references));
    outcome.accuracy = std::move(measured);
    return {};
  }

  /// Times the steps that come after the compared ones.
  Status repeat(Outcome &outcome) {
    for (int64_t i = 0; i < options.repeat; ++i) {
      SLUICE_RETURN_IF_ERROR(adapt());
      SLUICE_RETURN_IF_ERROR(runStep(inputs->at(progressAfter(options.steps + i).batches)));
      outcome.inOrderNs.push_back(session.stats().step_ns);
    }
    if (watch)
      watch->finish(session);
    outcome.repeatNs = outcome.inOrderNs;
    std::sort(outcome.repeatNs.begin(), outcome.repeatNs.end());
    return {};
  }

  /// The last compared step's outputs: as much of each as holds data.
  const std::vector<HostTensor> &lastResults() const { return results; }

private:
  RunProgress progressAfter(int64_t steps) const { return {steps, first.batches + steps - first.steps}; }

  Status restore() {
    const bool hasStates = session.model().num_states > 0;
    if (options.keepEvery > 0 && !hasStates)
      return makeError(ErrorCode::InvalidInput,
                       "the model has no states to keep, option '--keep-every', leave this option out");
    if (options.keepEvery > 0)
      SLUICE_RETURN_IF_ERROR(session.checkLengthsOfStates("--keep-every"));
    if (!options.fromStates.empty()) {
      if (!hasStates)
        return makeError(ErrorCode::InvalidInput,
                         "the model has no states, option '--from-states', leave this option out");
      SLUICE_ASSIGN_OR_RETURN(const std::vector<StateType> wanted, session.stateTypes());
      SLUICE_ASSIGN_OR_RETURN(const SavedStates saved,
                              loadStates(options.fromStates, open.identity, wanted, options.isCompatible));
      SLUICE_RETURN_IF_ERROR(checkStepsLeft(options.fromStates, saved.progress, options.steps));
      first = saved.progress;
      stepsDone = first.steps;
      SLUICE_RETURN_IF_ERROR(session.writeStates(saved.states));
    }
    return hasStates && session.isFirst() ? prepareToKeep(options) : Status();
  }

  /// After a step that --keep-every names. The states of the last step are written with its outputs.
  Status keep(int64_t steps) const {
    if (options.keepEvery == 0 || steps % options.keepEvery != 0 || steps == options.steps)
      return {};
    SLUICE_ASSIGN_OR_RETURN(const std::vector<HostTensor> states, session.readStates());
    return session.isFirst() ? saveStates(options.statesFolder(), open.identity, progressAfter(steps), states)
                             : Status();
  }

  Status runStep(const std::vector<HostTensor> &from) {
    if (slow && std::max(slow->step, first.steps) == stepsDone)
      SLUICE_RETURN_IF_ERROR(slow->apply(session));
    ++stepsDone;
    SLUICE_RETURN_IF_ERROR(session.step(from, outputs));
    if (watch)
      watch->afterStep(session);
    return {};
  }

  /// Between steps; the last step's outputs are not needed any more.
  Status adapt() {
    if (!open.adaptive)
      return {};
    SLUICE_ASSIGN_OR_RETURN(std::optional<Reopened> again, open.adaptive->afterStep(session));
    if (!again)
      return {};
    SLUICE_RETURN_IF_ERROR(again->session.setShapes(session.inputShapes()));
    session = std::move(again->session);
    open.made.emplace(std::move(again->directory));
    return slow && slow->step < stepsDone ? slow->apply(session) : Status();
  }

  const RunOptions &options;
  OpenModel &open;
  RunSession &session;
  const std::optional<Disturbance> slow;
  int64_t stepsDone = 0; ///< Also those before the run.
  RunProgress first;     ///< When this run began.
  std::optional<StepWatch> watch;
  std::optional<StepInputs> inputs;
  std::vector<HostTensor> outputs, results;
  std::map<size_t, HostTensor> references;
};

/// Writes the trace and prints the outcome, in the first rank's process only.
Status reportOutcome(const RunOptions &options, const RunSession &session, const Outcome &outcome,
                     const std::vector<HostTensor> &results) {
  if (!session.isFirst())
    return outcome.passes
               ? Status()
               : makeError(ErrorCode::InvalidInput, "outputs differ from the reference, see the first rank's output");
  if (!options.trace.empty()) {
    const std::string text = jsonText(session.traceJson());
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(options.trace, text + "\n"));
  }
  if (options.format == "json")
    printJson(outcomeToJson(session.model(), outcome, options.adaptive));
  else
    printOutcome(session.model(), outcome, results);
  std::cout << std::flush;
  if (!outcome.passes)
    return makeError(ErrorCode::InvalidInput, "outputs differ from the reference, in '", options.expect,
                     "', raise --tolerance if the differences above are acceptable");
  return {};
}

/// The training step of each rank: it runs whole on the rank, and its gradients are exchanged.
Expected<CompilerOptions> resolveForBarrier(const RunOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(CompilerOptions resolved, options.compile.resolve());
  if (!resolved.training)
    return makeError(
        ErrorCode::InvalidInput,
        "a barrier is for training, and --train is missing, option '--barrier', add --train or leave --barrier out");
  if (int64_t &accumulate = resolved.training->accumulate; accumulate > 1)
    return makeError(ErrorCode::Unsupported,
                     "a barrier cannot be combined with accumulated gradients, option '--train accumulate=", accumulate,
                     "', leave 'accumulate' out");
  else
    accumulate = kAccumulateRanks;
  if (options.compile.limitsProcess())
    return makeError(
        ErrorCode::Unsupported,
        "ranks that train with a barrier cannot read weights from the disk in each step, option '--memory', ",
        "limit the memory of an accelerator instead or leave the option out");
  resolved.devices = 1;
  return resolved;
}

/// The number of ranks that --devices or mpirun starts.
Expected<int64_t> ranksForBarrier(const RunOptions &options) {
  const int64_t devices = options.compile.devices();
  if (isMpiProcess()) {
    SLUICE_ASSIGN_OR_RETURN(const sluice_communicator *const ranks, mpiCommunicator());
    if (devices != 1 && devices != ranks->num_ranks)
      return makeError(ErrorCode::InvalidInput, "mpirun started ", ranks->num_ranks,
                       " processes, and '--devices' asks for ", devices,
                       " ranks, option '--devices', leave this option out");
    return ranks->num_ranks;
  }
  constexpr int64_t kMostThreads = 1024;
  if (devices < 2 || devices > kMostThreads)
    return makeError(ErrorCode::InvalidInput, "the number of ranks is ", devices, " and must be 2 to ", kMostThreads,
                     " for a barrier in one process, option '--devices', give a number in this range or start "
                     "processes with mpirun");
  return devices;
}

/// Whether this process reads and writes for all ranks.
Expected<bool> isFirstProcess() {
  if (!isMpiProcess())
    return true;
  SLUICE_ASSIGN_OR_RETURN(const sluice_communicator *const ranks, mpiCommunicator());
  return ranks->rank == 0;
}

Status runBarrier(const RunOptions &options, bool isCompiled, std::optional<Disturbance> slow) {
  BarrierRunOptions run;
  if (options.barrier.starts_with("auto")) {
    SLUICE_ASSIGN_OR_RETURN(run.mostLossRatio, parseBarrierChoice(options.barrier));
  } else {
    SLUICE_ASSIGN_OR_RETURN(run.barrier, parseBarrier(options.barrier));
  }
  SLUICE_ASSIGN_OR_RETURN(run.numRanks, ranksForBarrier(options));
  run.steps = options.steps;
  run.stepNs = options.stepNs;
  run.retestNs = options.retestNs;
  run.slow = std::move(slow);
  run.threads = options.compile.threads();
  run.spill = options.spill;
  run.seed = options.compile.seed();
  std::string directory = options.model;
  std::optional<TemporaryDirectory> made;
  if (isCompiled) {
    if (const std::string option = options.compile.firstGiven({"--dim", "--devices", "--seed"}); !option.empty())
      return isForModels(options, option);
  } else {
    OpenModel open;
    SLUICE_ASSIGN_OR_RETURN(CompilerOptions resolved, resolveForBarrier(options));
    SLUICE_ASSIGN_OR_RETURN(auto compilation, compileFor(options, std::move(resolved), open));
    SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory temporary, TemporaryDirectory::create());
    directory = made.emplace(std::move(temporary)).path();
    SLUICE_RETURN_IF_ERROR(linkToRun(*compilation, directory));
  }
  auto read = [&](const std::vector<std::string> &names) { return readGivenInputs(names, options.inputs, {}); };
  SLUICE_ASSIGN_OR_RETURN(const ModelIdentity identity, identityOf(directory));
  run.fromStates = options.fromStates;
  run.isCompatible = options.isCompatible;
  run.keepEvery = options.keepEvery;
  run.keep = [&](RunProgress progress, const std::vector<HostTensor> &states) {
    return saveStates(options.statesFolder(), identity, progress, states);
  };
  SLUICE_ASSIGN_OR_RETURN(const bool isFirst, isFirstProcess());
  if (isFirst)
    SLUICE_RETURN_IF_ERROR(prepareToKeep(options));
  SLUICE_ASSIGN_OR_RETURN(const BarrierOutcome outcome, runUnderBarrier(directory, run, read,
                                                                        isCompiled ? options.compile.dims().values
                                                                                   : std::map<std::string, int64_t>()));
  if (!isFirst)
    return {};
  if (!options.outputDirectory.empty())
    SLUICE_RETURN_IF_ERROR(writeResults(options, outcome.outputs, identity, outcome.progress, outcome.states));
  if (options.format == "json")
    printJson(barrierOutcomeToJson(run, outcome));
  else
    printBarrierOutcome(run, outcome);
  std::cout << std::flush;
  return {};
}

/// As many as --devices allows.
constexpr int64_t kMostRanks = 65536;
/// Batches of all ranks and steps are counted.
constexpr int64_t kMostSteps = int64_t(1) << 40;

/// The ranks that --elastic starts: those of a model that is split, or of a barrier.
Expected<int64_t> ranksForElastic(const RunOptions &options, bool isCompiled) {
  if (!isCompiled)
    return makeError(ErrorCode::InvalidInput, "option '--elastic' needs a compiled model, and '", options.model,
                     "' is not compiled, ", "run 'sluice compile' on the model first");
  if (isMpiProcess())
    return makeError(ErrorCode::InvalidInput,
                     "mpirun started this process, and option '--elastic' starts mpirun itself, ",
                     "run the command without mpirun, and give options of mpirun with --launcher");
  if (!options.barrier.empty()) {
    if (options.compile.devices() < 2)
      return makeError(ErrorCode::InvalidInput, "the number of ranks is missing, option '--elastic', ",
                       "give --devices N");
    return options.compile.devices();
  }
  const int64_t ranks = ranksOf(options.model);
  if (ranks < 1 || ranks > kMostRanks)
    return makeError(ErrorCode::InvalidInput, "artifact '", options.model, "' has ", ranks, " ranks, option '",
                     "--elastic', give an artifact of 1 to ", kMostRanks, " ranks");
  return ranks;
}

Status runElastically(const RunOptions &options, bool isCompiled) {
  ElasticRun run;
  SLUICE_ASSIGN_OR_RETURN(run.numRanks, ranksForElastic(options, isCompiled));
  SLUICE_RETURN_IF_ERROR(prepareToKeep(options));
  run.launcher = options.launcher;
  run.steps = options.steps;
  run.states = options.statesFolder();
  run.fromStates = options.fromStates;
  return runElastic(run);
}

Status runRun(const RunOptions &options) {
  std::error_code ignored;
  const bool isCompiled = std::filesystem::is_directory(options.model, ignored);
  if (options.isElastic)
    return runElastically(options, isCompiled);
  if (!isCompiled && isMpiProcess())
    return makeError(ErrorCode::InvalidInput, "processes that mpirun starts need a compiled model, and '",
                     options.model, "' is not compiled, run 'sluice compile' on the model first");
  if (!options.keep.empty())
    return isCompiled ? makeError(ErrorCode::InvalidInput, "option '--keep' compiles the model, and '", options.model,
                                  "' is already compiled, give the model's ONNX file")
                      : compileAndKeep(options);
  std::optional<Disturbance> slow;
  if (!options.slow.empty()) {
    SLUICE_ASSIGN_OR_RETURN(Disturbance parsed, Disturbance::parse(options.slow));
    slow = std::move(parsed);
  }
  if (!options.barrier.empty())
    return runBarrier(options, isCompiled, std::move(slow));
  const bool isApart = !isCompiled && !options.adaptive && options.measured == 0 && options.compile.limitsProcess();
  SLUICE_ASSIGN_OR_RETURN(OpenModel open, isCompiled ? openCompiled(options)
                                          : isApart  ? compileApartAndOpen(options)
                                                     : compileAndOpen(options));
  if (!options.outputDirectory.empty() || !options.fromStates.empty()) {
    SLUICE_ASSIGN_OR_RETURN(open.identity, identityOf(open.made ? open.made->path() : options.model));
  }
  StepRunner runner(options, open, std::move(slow));
  SLUICE_RETURN_IF_ERROR(runner.check());
  SLUICE_RETURN_IF_ERROR(runner.prepare());
  Outcome outcome;
  outcome.fixed = open.fixed;
  outcome.mappings = open.mappings;
  outcome.pruned = open.pruned;
  SLUICE_RETURN_IF_ERROR(runner.runSteps(outcome));
  SLUICE_RETURN_IF_ERROR(runner.measurePruned(outcome));
  const RunSession &session = *open.session;
  if (!options.outputDirectory.empty()) {
    SLUICE_RETURN_IF_ERROR(runner.writeAll());
    outcome.files = tensorFileNames(runner.lastResults());
  }
  SLUICE_RETURN_IF_ERROR(runner.repeat(outcome));
  if (open.adaptive)
    outcome.replans = open.adaptive->replans();
  outcome.stats = session.stats();
  outcome.experts = session.expertStats();
  outcome.traffic = session.traffic();
  outcome.notes = session.notes();
  return reportOutcome(options, session, outcome, runner.lastResults());
}

void addStatesOptions(CLI::App &command, RunOptions &options) {
  CLI::Option *from =
      addOption(command, "--from-states", options.fromStates,
                "begin with the states in this folder, which an earlier run wrote as states/ below --output-dir, and "
                "with the step and the batch after them")
          ->type_name("DIR");
  addFlag(command, "--compatible-states", options.isCompatible,
          "accept for --from-states also states that another compiled model wrote, if names, types and shapes agree")
      ->needs(from);
  CLI::Option *every =
      addOption(command, "--keep-every", options.keepEvery,
                "write the states also after each multiple of N steps, whole and in place of those before")
          ->type_name("N")
          ->check(CLI::PositiveNumber)
          ->needs(command.get_option("--output-dir"));
  CLI::Option *elastic =
      addFlag(command, "--elastic", options.isElastic,
              "start the ranks of a compiled model as processes by --launcher, and all of them again from the kept "
              "states when one dies")
          ->needs(every);
  addOption(command, "--launcher", options.launcher,
            "command that starts the ranks of --elastic, with its options; -n and the number of ranks follow")
      ->type_name("COMMAND")
      ->needs(elastic)
      ->capture_default_str();
}

} // namespace

void addRunCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command = driver::addCommand(app, "run", "Run a compiled model, or compile one and run it");
  addOption(*command, "MODEL", options->model, "a compiled model's directory, or an ONNX file")->required();
  addOption(*command, "--input", options->inputs,
            "data of an input: [NAME=]FILE.npy, FILE.pb or random:SEED (random:0); without NAME, inputs in the model's "
            "order; with --steps a file may hold several batches")
      ->type_name("TENSOR")
      ->allow_extra_args(false);
  addOption(*command, "--output-dir", options->outputDirectory,
            "write each output into this directory as .npy, and states, such as trained weights, below states/")
      ->type_name("DIR");
  addOption(*command, "--expect", options->expect, "run the directory's input_*.pb and compare with its output_*.pb")
      ->type_name("DIR");
  addOption(*command, "--tolerance", options->tolerance,
            "tolerance of floating-point outputs: greatest difference divided by greatest value")
      ->check(CLI::NonNegativeNumber);
  addOption(*command, "--steps", options->steps,
            "number of steps to run, all of which are compared; states are kept between steps; steps before "
            "--from-states count")
      ->check(CLI::Range(int64_t(1), kMostSteps))
      ->capture_default_str();
  addOption(*command, "--repeat", options->repeat, "afterwards, time this number of steps and print the median")
      ->check(CLI::NonNegativeNumber);
  CLI::Option *spill =
      addOption(*command, "--spill", options->spill,
                "keep swapped-out tensors and states in unnamed files in this directory instead of in memory")
          ->type_name("DIR");
  CLI::Option *adaptive =
      addFlag(*command, "--adaptive", options->adaptive,
              "watch the times of steps and make a new plan between two steps when a device's speed changes")
          ->excludes(spill);
  addOption(*command, "--window", options->drift.window, "number of steps in each window of --adaptive")
      ->check(CLI::Range(4, 100'000))
      ->needs(adaptive)
      ->capture_default_str();
  addOption(*command, "--beta", options->drift.beta, "number of deviations by which the median of a window may change")
      ->check(CLI::PositiveNumber)
      ->needs(adaptive)
      ->capture_default_str();
  CLI::Option *barrier =
      addOption(
          *command, "--barrier", options->barrier,
          "train data-parallel on --devices N ranks, or on the processes of mpirun, which exchange gradients: bsp "
          "(in step), ssp:S (at most S steps ahead of any rank), asp (no waits), pbsp:B and pssp:S,B (compare with "
          "B ranks, drawn anew in each test), auto:loss=X (one of these that a trial chooses: the fastest whose "
          "estimated loss is at most X times that of bsp)")
          ->type_name("BARRIER");
  auto addTime = [&](const char *name, int64_t &ns, const char *description) {
    auto take = [name, &ns](const std::string &text) {
      Expected<int64_t> parsed = parseDuration(text);
      if (!parsed || *parsed < 1)
        throw CLI::ValidationError(name, parsed ? concat("'", text, "' is not a positive time, give a time such as 5ms")
                                                : parsed.error().message);
      ns = *parsed;
    };
    command->add_option_function<std::string>(name, take, description)->type_name("TIME")->needs(barrier);
  };
  addTime("--step-time", options->stepNs, "let each step of --barrier take at least this long, for tests");
  addTime("--retest", options->retestNs,
          "time from a test of --barrier that a rank does not pass to the next one, with a new sample (200us)");
  addOption(*command, "--slow", options->slow,
            "make an emulated device, or with --barrier a rank (rank0, rank1, ...), X times slower from a step on, for "
            "tests")
      ->type_name("NAME=X@STEP");
  addFlag(*command, "--watch", options->watches,
          "draw steps per second, bytes copied and the load of each stream on a terminal while the steps run");
  addOption(*command, "--trace", options->trace,
            "write the timeline of the last step, for Perfetto or chrome://tracing")
      ->type_name("FILE");
  addStatesOptions(*command, *options);
  CLI::Option *keep =
      addOption(
          *command, "--keep", options->keep,
          "compile, and write into this directory a run for sluice-runner with inputs and references; run nothing")
          ->type_name("DIR");
  for (const char *name : {"--output-dir", "--tolerance", "--steps", "--repeat", "--spill", "--adaptive", "--slow",
                           "--trace", "--watch", "--barrier", "--from-states", "--keep-every"})
    keep->excludes(command->get_option(name));
  for (const char *name : {"--expect", "--tolerance", "--repeat", "--adaptive", "--trace", "--watch"})
    barrier->excludes(command->get_option(name));
  addFormatOption(*command, options->format);
  options->compile.addTo(*command);
  options->compile.addDevicesTo(*command);
  options->compile.addSplitTo(*command)->excludes(command->get_option("--devices"));
  addMeasureOption(*command, options->measured)->excludes(command->get_option("--keep"))->excludes(barrier);
  command->callback([options, &action] {
    action = [options] {
      Status status = runRun(*options);
      finishRanks(status);
      return status;
    };
  });
}

} // namespace sluice::driver
