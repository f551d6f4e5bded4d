//===- TuningProgram.h - A model whose kernels are tuned --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_TUNINGPROGRAM_H
#define SLUICE_TOOLS_SLUICE_TUNINGPROGRAM_H

#include "OperatorSamples.h"
#include "RunSession.h"
#include "dialects/Dataflow/Emit/Work.h"
#include "passes/Tuning.h"
#include "sluice/Compiler/Phases.h"
#include "sluice/Cost/Tuning.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::driver {

/// A program that was compiled with one tuning, and the times of its steps.
class TuningTrial {
public:
  /// Runs `steps` steps. The very first step warms caches and pages and does not count.
  Status run(int64_t steps);
  /// Forgets the times of earlier steps.
  void forget() { samples_.clear(); }
  /// Per kernel of the tuning: the sum of the median times of its operators, without operators that never ran.
  std::map<std::string, int64_t> kernelNs() const;
  /// The same sum for all operators except those of a kind.
  int64_t stepNs(std::string_view without = {}) const;
  /// The algorithm of each kernel of convolutions; nothing for direct convolution.
  std::map<std::string, std::optional<dataflow::ConvAlgorithm>> algorithms() const;
  /// The emitters' estimate for the longest operator whose loop has this rate, among operators that are not of the
  /// given kind.
  int64_t estimatedNs(dataflow::Rate rate, std::string_view without) const;
  void addTo(SampleMap &samples) const { samples_.addTo(samples); }

private:
  friend class TuningProgram;
  TuningTrial(std::shared_ptr<const Planned> planned, TemporaryDirectory directory, RunSession session);
  std::string kernelOf(size_t op) const;

  std::shared_ptr<const Planned> planned;
  TemporaryDirectory directory;
  RunSession session;
  std::vector<HostTensor> inputs, outputs;
  OperatorSamples samples_;
  bool isWarm = false;
};

/// A model that is compiled up to the choice of its kernels, which is repeated for each trial.
class TuningProgram {
public:
  /// The options are those of `sluice compile`. All operators run on `device`, the name of a CPU.
  static Expected<TuningProgram> open(const std::string &model, CompilerOptions options);

  const std::vector<TunableKernel> &kernels() const { return tunable; }
  const std::string &name() const { return partitioned.origin->name; }
  const emit::VectorTarget &target() const { return vectors; }
  /// Compiles the program with a tuning, which is written to `file`, and opens it with `threads` threads.
  Expected<std::unique_ptr<TuningTrial>> compile(const Tuning &tuning, const std::string &file, int threads) const;

private:
  TuningProgram(Partitioned partitioned, CompilerOptions options);

  Partitioned partitioned;
  CompilerOptions options;
  emit::VectorTarget vectors;
  std::vector<TunableKernel> tunable;
};

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_TUNINGPROGRAM_H
