//===- Options.cpp - Options' names and values ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Options.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "sluice/Placement/Placement.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"
#include "sluice/Tiling/Partition.h"

#include <algorithm>

namespace sluice {

/// The value whose name it is: names are in the order of the values.
template <typename T>
static Expected<T> parseName(std::string_view name, const std::vector<std::string> &names, const char *what) {
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return makeError(ErrorCode::InvalidInput, "'", name, "' is not a ", what, ", use ", alternatives(names));
  return static_cast<T>(found - names.begin());
}

const std::vector<std::string> &phaseNames() {
  static const std::vector<std::string> names{"import", "simplify", "differentiate", "partition", "fuse",
                                              "place",  "schedule", "exec",          "codegen",   "link"};
  return names;
}

Expected<Phase> parsePhase(std::string_view name) { return parseName<Phase>(name, phaseNames(), "phase"); }

const std::vector<std::string> &gpuLibrariesNames() {
  static const std::vector<std::string> names = {"auto", "on", "off"};
  return names;
}

Expected<GpuLibraries> parseGpuLibraries(std::string_view name) {
  return parseName<GpuLibraries>(name, gpuLibrariesNames(), "choice of GPU libraries");
}

const std::vector<std::string> &convChoiceNames() {
  static const std::vector<std::string> names = {"auto", "direct", "winograd"};
  return names;
}

Expected<ConvChoice> parseConvChoice(std::string_view name) {
  return parseName<ConvChoice>(name, convChoiceNames(), "way to compute convolutions");
}

const std::vector<std::string> &matmulPrecisionNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (uint32_t i = 0; i <= dataflow::getMaxEnumValForMatmulPrecision(); ++i)
      list.push_back(dataflow::stringifyMatmulPrecision(static_cast<dataflow::MatmulPrecision>(i)).str());
    return list;
  }();
  return names;
}

Expected<dataflow::MatmulPrecision> parseMatmulPrecision(std::string_view name) {
  return parseName<dataflow::MatmulPrecision>(name, matmulPrecisionNames(), "precision of products");
}

const std::string &matmulPrecisionName(dataflow::MatmulPrecision precision) {
  return matmulPrecisionNames()[static_cast<size_t>(precision)];
}

Expected<SolverChoices> parseSolvers(std::string_view text) {
  SolverChoices result;
  while (!text.empty()) {
    size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    size_t equals = part.find('=');
    std::string_view name = part.substr(0, equals);
    std::string solver(equals == std::string_view::npos ? "" : part.substr(equals + 1));
    std::vector<std::string> known;
    SolverStep step = SolverStep::Search;
    if (name == "search") {
      known = searchSolverNames();
    } else if (name == "place") {
      step = SolverStep::Place;
      known = placementSolverNames();
    } else if (name == "tile") {
      step = SolverStep::Tile;
      known = partitionSolverNames();
    } else {
      return makeError(ErrorCode::InvalidInput, "'", name, "' is not a step with solvers, option '--solver', use ",
                       "search=NAME, place=NAME or tile=NAME");
    }
    if (std::find(known.begin(), known.end(), solver) == known.end())
      return makeError(ErrorCode::InvalidInput, "'", solver, "' is not a solver of step '", name, "', use ",
                       alternatives(known));
    result[step] = solver;
  }
  return result;
}

Expected<BucketOptions> parseBuckets(std::string_view text) {
  BucketOptions options;
  const size_t equals = text.rfind('=');
  std::string_view choice = text;
  if (equals != std::string_view::npos) {
    options.dim = text.substr(0, equals);
    choice = text.substr(equals + 1);
  }
  constexpr std::string_view kAuto = "auto:";
  constexpr int64_t kMost = 64;
  Expected<int64_t> count = choice.starts_with(kAuto) ? parseInteger(choice.substr(kAuto.size())) : 0;
  if (!count || *count < 1 || *count > kMost || (equals != std::string_view::npos && options.dim.empty()))
    return makeError(ErrorCode::InvalidInput, "'", text,
                     "' does not give a valid number of buckets, option '--buckets', write auto:4 or ",
                     "NAME=auto:4, with 1 to ", kMost);
  options.count = *count;
  return options;
}

} // namespace sluice
