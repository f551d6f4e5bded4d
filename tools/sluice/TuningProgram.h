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

/// A program compiled with one tuning, and what its steps took.
class TuningTrial {
public:
  /// Runs `steps` steps; the first one of all warms caches and pages, and is not counted.
  Status run(int64_t steps);
  /// Forgets the times of the steps before.
  void forget() { samples_.clear(); }
  /// Per kernel of the tuning: the median times of its operators, added up. Without those that never ran.
  std::map<std::string, int64_t> kernelNs() const;
  /// The same of all operators but those of a kind.
  int64_t stepNs(std::string_view without = {}) const;
  /// The algorithm of each kernel of convolutions; nothing where it is direct.
  std::map<std::string, std::optional<dataflow::ConvAlgorithm>> algorithms() const;
  /// What the emitters estimate that the longest operator but those of a kind takes, where its loop has this rate.
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

/// A model up to the choice of its kernels, which is made anew for each trial.
class TuningProgram {
public:
  /// Options as of `sluice compile`; all operators run on `device`, a CPU's name.
  static Expected<TuningProgram> open(const std::string &model, CompilerOptions options);

  const std::vector<TunableKernel> &kernels() const { return tunable; }
  const std::string &name() const { return partitioned.origin->name; }
  const emit::VectorTarget &target() const { return vectors; }
  /// Compiles the program with a tuning, which passes through `file`, and opens it with so many threads.
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
