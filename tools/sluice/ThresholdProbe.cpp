//===- ThresholdProbe.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ThresholdProbe.h"

#include "tools/common/Driver.h"

#include <cmath>
#include <map>

namespace sluice::driver {

using dataflow::kRates;
using dataflow::Rate;

bool hasRate(const TargetSpec &target, size_t rate) {
  switch (kRates[rate]) {
  case Rate::Scalars:
  case Rate::Vectors:
  case Rate::Products:
    return true;
  case Rate::ByteProducts:
    return target.byteProducts != "tiles";
  case Rate::TileProducts:
    return target.byteProducts == "tiles";
  }
  return false;
}

namespace {
/// A program of two loops. The first is long, of code of another rate: it wakes the workers, which in a model are awake
/// too. The second, under test, has `rows` rows of 64 elements.
struct ProbeProgram {
  std::string text;
  std::string_view wakeKind; ///< Of the first loop's operator.
};
} // namespace

static ProbeProgram programOf(Rate rate, int64_t rows) {
  const std::string floats = concat("tensor<", rows, "x64xf32>"), bytes = concat("tensor<", rows, "x64xui8>"),
                    sums = concat("tensor<", rows, "x64xi32>"), wake = "tensor<4096x64xf32>";
  const bool isProduct = rate == Rate::Products;
  auto function = [&](const std::string &arguments, const std::string &body, const std::string &result) {
    const std::string first = isProduct ? concat("  %wake = dataflow.unary tanh %p : ", wake, "\n")
                                        : concat("  %v = dataflow.constant dense<0.5> : tensor<64x64xf32>\n",
                                                 "  %wake = dataflow.matmul %p, %v : ", wake, ", tensor<64x64xf32>\n");
    return ProbeProgram{concat("func.func @probe(%p: ", wake, ", ", arguments, ") -> (", wake, ", ", result, ") {\n",
                               first, body, "  return %wake, %0 : ", wake, ", ", result, "\n}\n"),
                        isProduct ? "elementwise" : "matmul"};
  };
  switch (rate) {
  case Rate::Scalars:
    return function(concat("%a: ", floats),
                    concat("  %0 = dataflow.cumsum %a {axis = 1 : i64} : ", floats, " -> ", floats, "\n"), floats);
  case Rate::Vectors:
    return function(concat("%a: ", floats, ", %b: ", floats),
                    concat("  %0 = dataflow.binary add %a, %b : ", floats, ", ", floats, "\n"), floats);
  case Rate::Products:
    return function(concat("%a: ", floats),
                    concat("  %w = dataflow.constant dense<0.5> : tensor<64x64xf32>\n  %0 = dataflow.matmul %a, %w : ",
                           floats, ", tensor<64x64xf32>\n"),
                    floats);
  case Rate::ByteProducts:
  case Rate::TileProducts:
    return function(concat("%a: ", bytes),
                    concat("  %w = dataflow.constant dense<3> : tensor<64x64xi8>\n  %0 = dataflow.integer_matmul %a, ",
                           "%w : (", bytes, ", tensor<64x64xi8>) -> ", sums, "\n"),
                    sums);
  }
  return {};
}

namespace {
/// The probes of one rate: what each size takes by the estimate, and how much two chunks gain.
class ThresholdProbe {
public:
  ThresholdProbe(const ProbeSetting &setting, size_t rate) : setting(setting), rate(rate) {}

  /// The time of one chunk over that of two.
  Expected<double> gain(double rows) {
    const std::string path = setting.file + ".mlir";
    const ProbeProgram probe = programOf(kRates[rate], std::llround(rows));
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(path, probe.text));
    SLUICE_ASSIGN_OR_RETURN(TuningProgram program, TuningProgram::open(path, setting.options));
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<TuningTrial> whole, compile(program, {CrossingState::Never, 0}));
    const int64_t estimate = whole->estimatedNs(kRates[rate], probe.wakeKind);
    estimates[rows] = estimate;
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<TuningTrial> halves, compile(program, {CrossingState::At, estimate}));
    constexpr int kTurns = 4;
    for (int turn = 0; turn < kTurns; ++turn)
      for (TuningTrial *trial : {whole.get(), halves.get()})
        SLUICE_RETURN_IF_ERROR(trial->run(setting.steps));
    return static_cast<double>(whole->stepNs(probe.wakeKind)) / static_cast<double>(halves->stepNs(probe.wakeKind));
  }
  int64_t estimateOf(double rows) const { return estimates.at(rows); }
  /// Rows that are estimated to take so long, from what one size takes.
  double rowsFor(double ns) const {
    const auto &[rows, estimate] = *estimates.begin();
    return std::max(2.0, rows * ns / static_cast<double>(estimate));
  }

private:
  Expected<std::unique_ptr<TuningTrial>> compile(const TuningProgram &program, Threshold threshold) const {
    Tuning tuning;
    tuning.origin = setting.origin;
    tuning.device = setting.device;
    tuning.thresholds[std::string(kRateNames[rate])] = threshold;
    return program.compile(tuning, setting.file, setting.threads);
  }

  const ProbeSetting &setting;
  size_t rate;
  std::map<double, int64_t> estimates; ///< By rows.
};
} // namespace

Expected<Threshold> measureThreshold(const ProbeSetting &setting, size_t rate) {
  if (setting.threads < 2)
    return Threshold{};
  ThresholdProbe probe(setting, rate);
  constexpr double kCalibration = 1024, kLeastNs = 2'000, kMostNs = 300'000;
  constexpr size_t kSizes = 8;
  if (Expected<double> first = probe.gain(kCalibration); !first)
    return interrupted ? Expected<Threshold>(Threshold{}) : propagate(first);
  Status failure;
  const Crossing crossing =
      findCrossing(logSpaced(probe.rowsFor(kLeastNs), probe.rowsFor(kMostNs), kSizes), [&](double rows) {
        std::optional<double> gain;
        if (interrupted)
          return gain;
        Expected<double> measured = probe.gain(rows);
        if (measured)
          gain = *measured;
        else if (!interrupted) // A step that is stopped fails.
          failure = propagate(measured);
        return gain;
      });
  if (!failure)
    return propagate(failure);
  if (crossing.state != CrossingState::At)
    return Threshold{crossing.state, 0};
  return Threshold{CrossingState::At, probe.estimateOf(crossing.size)};
}

} // namespace sluice::driver
