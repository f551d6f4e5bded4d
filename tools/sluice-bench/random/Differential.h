//===- Differential.h - One model, compiled in many ways --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Random differential testing of compilers: McKeeman, "Differential Testing for
// Software" (1998); for models of neural networks Liu et al., "NNSmith" (ASPLOS 2023).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_RANDOM_DIFFERENTIAL_H
#define SLUICE_TOOLS_SLUICEBENCH_RANDOM_DIFFERENTIAL_H

#include "ModelWriter.h"
#include "sluice/Compiler/Options.h"
#include "sluice/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace sluice::bench {

/// A model file, its inputs, and what its outputs may be.
struct Subject {
  std::string path;
  std::map<std::string, HostTensor> inputs;
  std::vector<Value> outputs; ///< In the model's order.
  /// Outputs of another runtime, in the model's order; empty: none to compare with.
  std::vector<HostTensor> reference;
};

/// A model with `nodes` random nodes; the same for the same seed.
struct RandomModel {
  ::onnx::ModelProto model;
  std::map<std::string, HostTensor> inputs;
  std::vector<Value> outputs;
  bool suitsOthers = true; ///< Whether other runtimes end on it in reasonable time.
};
RandomModel makeRandomModel(uint64_t seed, int nodes);

/// A way to compile and run a model that must not change its results.
struct Variant {
  const char *name;
  const char *summary;
  /// Whether results are, bit by bit, those of the plain program on the same machine without a limit.
  bool exact;
  Status (*prepare)(CompilerOptions &options, Rng &random, const Subject &subject);
};

const std::vector<Variant> &variants();

/// What a check did and found. A check that found nothing has only `ran`.
struct Findings {
  std::vector<std::string> ran;         ///< Names of the variants by which the model was compiled.
  std::string refused;                  ///< Why the plain program does not compile; empty where it does.
  std::vector<std::string> unsupported; ///< Of variants that have documented limits: "grids: ...", and the error.
  std::vector<std::string> differences; ///< One for each variant that fails or differs: "swapped: output 'y' ...".
};

/// The ways in which models are compiled and run.
struct Ways {
  std::vector<std::string> variants; ///< Names of variants.
  size_t sample = 0;                 ///< Number of variants that each model draws; 0: each model runs by all of them.
  std::vector<int> levels = {3};     ///< Optimization levels of the code. Each model draws one.
};

/// Compiles and runs the model plainly and by variants, and compares all outputs. Files go below `directory`. All
/// random choices follow from the seed.
Findings check(const Subject &subject, const Ways &ways, uint64_t seed, const std::string &directory);

/// Where an element differs by more than the value's bound allows, or is outside its interval, a sentence that says so;
/// else empty. With `exact`, every byte must be the same.
std::string compareOutput(const Value &value, const HostTensor &actual, const HostTensor &expected, bool exact);

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_RANDOM_DIFFERENTIAL_H
