//===- Differential.cpp - One model, compiled in many ways ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Differential.h"
#include "../CompiledModel.h"
#include "Operators.h"
#include "Training.h"
#include "sluice/Compiler/Compilation.h"
#include "sluice/Onnx/ExportOptions.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sluice::bench {

RandomModel makeRandomModel(uint64_t seed, int nodes) {
  static const std::vector<int64_t> kOpsets = {13, 15, 17, 18, 20};
  Rng choice = Rng(seed).fork(1);
  ModelWriter writer(seed, kOpsets[choice.below(kOpsets.size())]);
  // Few kinds of operators in one model combine more often than all kinds do.
  std::vector<OperatorMaker> makers = allMakers();
  if (choice.chance(0.7))
    for (OperatorMaker &maker : makers)
      if (choice.chance(0.6))
        maker.weight = 0;
  makers.push_back({"arithmetic", 2, binaryMakers().front().make});
  makers.push_back({"function", 2, unaryMakers().front().make});
  for (int i = 0; i < nodes; ++i)
    addRandomNode(writer, makers);
  RandomModel made;
  made.model = writer.complete();
  if (writer.outputs().empty()) {
    addRandomNode(writer, {{"function", 1, unaryMakers().front().make}});
    made.model = writer.complete();
  }
  made.inputs = writer.inputs();
  made.outputs = writer.outputs();
  made.suitsOthers = writer.suitsOthers();
  return made;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

std::string compareOutput(const Value &value, const HostTensor &actual, const HostTensor &expected, bool exact) {
  if (actual.type != expected.type || actual.shape != expected.shape)
    return concat("output '", value.name, "' is ", elementTypeName(actual.type), " ", formatShape(actual.shape),
                  " for ", elementTypeName(expected.type), " ", formatShape(expected.shape));
  if (exact || !isFloatingPoint(actual.type)) {
    if (actual.bytes == expected.bytes)
      return "";
    if (!exact && !isFloatingPoint(actual.type) && value.error > 0)
      return "";
  }
  const double bound = exact ? 0 : 2 * value.error + 1e-6 * std::max(value.largest(), 1e-3);
  for (int64_t i = 0; i < expected.numElements(); ++i) {
    const double a = actual.valueAt(i), b = expected.valueAt(i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    if (exact || !(std::abs(a - b) <= bound))
      return concat("output '", value.name, "' ", formatShape(actual.shape), " differs at element ", i, ": ", a,
                    " for ", b, ", where ", bound, " is allowed");
  }
  return "";
}

/// Whether elements lie where the generator's bounds put them: a finding about the model, or about the generator.
static std::string checkInterval(const Value &value, const HostTensor &actual) {
  if (value.type != actual.type || value.shape != actual.shape)
    return concat("output '", value.name, "' is ", elementTypeName(actual.type), " ", formatShape(actual.shape),
                  ", not ", elementTypeName(value.type), " ", formatShape(value.shape));
  const double slack =
      1e-3 * std::max(value.largest(), 1e-3) + 2 * value.error + roundingOf(value.type, value.largest());
  for (int64_t i = 0; i < actual.numElements(); ++i) {
    const double element = actual.valueAt(i);
    if (!(element >= value.low - slack && element <= value.high + slack))
      return concat("output '", value.name, "' is ", element, " at element ", i, ", outside of [", value.low, ", ",
                    value.high, "]");
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

template <size_t N>
static const char *oneOf(Rng &random, const char *const (&choices)[N]) {
  return choices[random.below(N)];
}

constexpr int kSteps = 2;

static Status swapped(CompilerOptions &options, Rng &random, const Subject &) {
  static constexpr const char *kLimits[] = {"accel0=0%", "accel0=3%", "accel0=10%", "accel0=30%", "accel0=60%"};
  options.machine = "emulated";
  options.memory = {oneOf(random, kLimits)};
  options.searchEvaluations = 1 + static_cast<int64_t>(random.below(30));
  options.seed = random.next();
  return {};
}

static Status placed(CompilerOptions &options, Rng &random, const Subject &) {
  static constexpr const char *kSolvers[] = {"heft", "cpop", "htf-mpr", "etf"};
  options.machine = "emulated:2";
  options.leastGain = 0;
  options.searchEvaluations = 10;
  options.seed = random.next();
  Expected<SolverChoices> solvers = parseSolvers(concat("place=", oneOf(random, kSolvers)));
  if (solvers)
    options.solvers = *solvers;
  return {};
}

static Status split(CompilerOptions &options, Rng &random, const Subject &) {
  options.machine = "emulated:2";
  options.leastGain = 0;
  options.splitOperators = true;
  options.searchEvaluations = 10;
  options.seed = random.next();
  return {};
}

static Status grids(CompilerOptions &options, Rng &, const Subject &) {
  options.machine = "emulated";
  options.target = "native,cuda:emulated";
  return {};
}

static Status level(CompilerOptions &options, Rng &random, const Subject &) {
  static constexpr const char *kLevels[] = {"x86-64-v2", "x86-64-v3", "x86-64"};
  options.target = oneOf(random, kLevels);
  return {};
}

static Status direct(CompilerOptions &options, Rng &random, const Subject &) {
  options.convChoice = random.chance(0.5) ? ConvChoice::Direct : ConvChoice::Winograd;
  return {};
}

/// All inputs are constants, so that the interpreter computes what it folds.
static Status folded(CompilerOptions &options, Rng &, const Subject &subject) {
  options.fixedInputs = subject.inputs;
  return {};
}

static Status unrolled(CompilerOptions &options, Rng &, const Subject &) {
  options.unrollsLoops = true;
  return {};
}

/// A step computes as many requests as compileAndRun makes steps, so the last step has the outputs of the first inputs.
static Status overlapped(CompilerOptions &options, Rng &, const Subject &) {
  options.requests = kSteps;
  return {};
}

static Status same(CompilerOptions &, Rng &, const Subject &) { return {}; }

const std::vector<Variant> &variants() {
  static const std::vector<Variant> kVariants = {
      {"threads", "by two threads", true, same},
      {"swapped", "in little of an emulated accelerator's memory", true, swapped},
      {"placed", "on the host and two emulated accelerators", false, placed},
      {"split", "with operators split over two emulated accelerators", false, split},
      {"grids", "by the code for GPUs, on the processor", false, grids},
      {"level", "for an older processor", false, level},
      {"convolutions", "with one algorithm for all convolutions", false, direct},
      {"folded", "with all inputs as constants", false, folded},
      {"unrolled", "with loops unrolled", false, unrolled},
      {"overlapped", "with two requests in a step", false, overlapped},
      {"exported", "exported and imported again", false, same},
      {"trained", "as a training step, with little memory and without a limit, and against differences of the loss",
       true, swapped},
  };
  return kVariants;
}

namespace {

class Checker {
public:
  Checker(const Subject &subject, uint64_t seed, std::string directory)
      : subject(subject), random(seed), directory(std::move(directory)) {}

  Findings run(const Ways &ways);

private:
  Expected<std::vector<HostTensor>> compileAndRun(const std::string &model, const CompilerOptions &options,
                                                  const std::string &name, int threads) {
    return compileAndRun(model, options, name, threads, subject.inputs);
  }
  Expected<std::vector<HostTensor>> compileAndRun(const std::string &model, const CompilerOptions &options,
                                                  const std::string &name, int threads,
                                                  const std::map<std::string, HostTensor> &inputs);
  Expected<std::vector<HostTensor>> runVariant(const Variant &variant);
  /// As the standard of an exact variant: machines with accelerators choose other kernels than the host alone.
  Expected<std::vector<HostTensor>> runUnlimited();
  /// A training step in little memory gives the losses of one without a limit, bit by bit.
  Status checkTraining(const Variant &variant);
  /// Adds an error to the findings: a limit, or a difference.
  void addError(std::string_view name, const Error &error);
  bool compare(std::string_view name, const std::vector<HostTensor> &actual, const std::vector<HostTensor> &expected,
               bool exact);

  CompilerOptions plainOptions() const {
    CompilerOptions options;
    options.searchTimeNs = 0;
    options.searchEvaluations = 1;
    options.threads = 1;
    options.optLevel = optLevel;
    return options;
  }

  const Subject &subject;
  Rng random;
  std::string directory;
  int optLevel = 3;
  std::vector<HostTensor> plain;
  Findings findings;
};

Expected<std::vector<HostTensor>> Checker::compileAndRun(const std::string &model, const CompilerOptions &options,
                                                         const std::string &name, int threads,
                                                         const std::map<std::string, HostTensor> &inputs) {
  const std::string artifact = directory + "/" + name;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, Compilation::create(model, options));
  SLUICE_RETURN_IF_ERROR(compilation->link(artifact));
  SLUICE_ASSIGN_OR_RETURN(CompiledModel opened, CompiledModel::open(artifact, threads, inputs));
  // The second step starts from what the first one left in the arenas.
  for (int step = 0; step < kSteps; ++step)
    SLUICE_RETURN_IF_ERROR(opened.run());
  return opened.takeOutputs();
}

Expected<std::vector<HostTensor>> Checker::runVariant(const Variant &variant) {
  CompilerOptions options = plainOptions();
  SLUICE_RETURN_IF_ERROR(variant.prepare(options, random, subject));
  const std::string name = variant.name;
  if (name != "exported")
    return compileAndRun(subject.path, options, name, name == "threads" ? 2 : 1);
  const std::string again = directory + "/exported.onnx";
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, Compilation::create(subject.path, options));
  SLUICE_RETURN_IF_ERROR(compilation->exportModel(again, ExportOptions()));
  return compileAndRun(again, options, name, 1);
}

Expected<std::vector<HostTensor>> Checker::runUnlimited() {
  CompilerOptions options = plainOptions();
  options.machine = "emulated";
  return compileAndRun(subject.path, options, "unlimited", 1);
}

void Checker::addError(std::string_view name, const Error &error) {
  const bool isLimit = error.code == ErrorCode::Unsupported;
  (isLimit ? findings.unsupported : findings.differences).push_back(concat(name, ": ", error.message));
}

Status Checker::checkTraining(const Variant &variant) {
  const std::optional<CompilerOptions> options = trainingOptions(plainOptions(), subject);
  CompilerOptions limited = options.value_or(CompilerOptions());
  SLUICE_RETURN_IF_ERROR(variant.prepare(limited, random, subject));
  if (!options)
    return {};
  const std::map<std::string, HostTensor> inputs = trainingInputs(subject, *options);
  CompilerOptions whole = *options;
  whole.machine = limited.machine;
  Expected<std::vector<HostTensor>> expected = compileAndRun(subject.path, whole, "trained", 1, inputs);
  // Some models have nothing to train, or huge windows. Any other refusal is a difference.
  if (!expected)
    for (const char *limit : {"no weights to train", "no trainable parameter", "whose gradient is not supported"})
      if (expected.error().message.find(limit) != std::string::npos)
        return makeError(ErrorCode::Unsupported, expected.error().message);
  if (!expected)
    return propagate(expected);
  SLUICE_ASSIGN_OR_RETURN(const std::vector<HostTensor> actual,
                          compileAndRun(subject.path, limited, "trained-limited", 1, inputs));
  if (actual.size() != 1 || expected->size() != 1 || actual.front().bytes != expected->front().bytes)
    findings.differences.push_back(concat("trained: the loss is ", actual.front().valueAt(0), " in little memory for ",
                                          expected->front().valueAt(0)));
  if (!hasPlainGradients(subject))
    return {};
  SLUICE_ASSIGN_OR_RETURN(const std::string difference,
                          checkGradients(directory + "/trained", inputs, options->training->learningRate));
  if (!difference.empty())
    findings.differences.push_back("trained: " + difference);
  return {};
}

/// The first difference; empty where there is none.
static std::string differenceOf(const std::vector<Value> &outputs, const std::vector<HostTensor> &actual,
                                const std::vector<HostTensor> &expected, bool exact) {
  if (actual.size() != expected.size())
    return concat(actual.size(), " outputs for ", expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    if (std::string difference = compareOutput(outputs[i], actual[i], expected[i], exact); !difference.empty())
      return difference;
  return "";
}

bool Checker::compare(std::string_view name, const std::vector<HostTensor> &actual,
                      const std::vector<HostTensor> &expected, bool exact) {
  const std::string difference = differenceOf(subject.outputs, actual, expected, exact);
  if (!difference.empty())
    findings.differences.push_back(concat(name, ": ", difference));
  return difference.empty();
}

Findings Checker::run(const Ways &ways) {
  // Draws of their own, so that a model is compiled alike whatever is drawn here.
  Rng choice = random.fork(2);
  optLevel = ways.levels[choice.below(ways.levels.size())];
  std::vector<std::string> names = ways.variants;
  if (ways.sample > 0 && ways.sample < names.size()) {
    choice.shuffle(names);
    names.resize(ways.sample);
  }
  Expected<std::vector<HostTensor>> results = compileAndRun(subject.path, plainOptions(), "plain", 1);
  if (!results) {
    findings.refused = results.error().message;
    return findings;
  }
  plain = std::move(*results);
  for (size_t i = 0; i < plain.size() && i < subject.outputs.size(); ++i)
    if (const std::string outside = checkInterval(subject.outputs[i], plain[i]); !outside.empty()) {
      findings.differences.push_back("plain: " + outside);
      break;
    }
  if (!subject.reference.empty())
    compare("plain", plain, subject.reference, false);
  for (const Variant &variant : variants()) {
    if (std::find(names.begin(), names.end(), variant.name) == names.end())
      continue;
    findings.ran.emplace_back(variant.name);
    if (variant.name == std::string_view("trained")) {
      if (const Status trained = checkTraining(variant); !trained)
        addError(variant.name, trained.error());
      continue;
    }
    Expected<std::vector<HostTensor>> actual = runVariant(variant);
    if (!actual) {
      addError(variant.name, actual.error());
      continue;
    }
    if (!compare(variant.name, *actual, plain, false) || !variant.exact ||
        differenceOf(subject.outputs, *actual, plain, true).empty())
      continue;
    if (Expected<std::vector<HostTensor>> unlimited = runUnlimited())
      compare(variant.name, *actual, *unlimited, true);
    else
      findings.differences.push_back(concat("unlimited: ", unlimited.error().message));
  }
  return findings;
}

} // namespace

Findings check(const Subject &subject, const Ways &ways, uint64_t seed, const std::string &directory) {
  return Checker(subject, seed, directory).run(ways);
}

} // namespace sluice::bench
