//===- PlanFile.h - A plan with all that it was made from -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A plan file is one JSON file. `sluice plan -o` writes it, `sluice compile` writes
// one into the artifact, `--plan` makes the compiler follow it, and `sluice report`
// shows it:
//
//   { schema, problem: see Search/ProblemJson.h, plan: see Plan/PlanJson.h,
//     summary: { makespanNs, idealNs, lowerBoundNs, bytesSwappedIn,
//                bytesSwappedOut, computedAgain, evaluations,
//                memories: {name: {capacityBytes, minimumBytes, peakBytes, arenaBytes}},
//                baselines: [{name, makespanNs, notTaken (optional)} or {name, infeasible}],
//                splits: [{operator, rule, parts}],
//                certificate (optional): why lowerBoundNs holds,
//                onceBoundNs, onceCertificate (optional): the bound for plans that run
//                each operator once, and why it holds,
//                history (optional): [[evaluations, makespanNs], ...],
//                buckets (optional): {symbol, choices: [{bounds, meanNs, meanBytes}]} } }
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_PLANFILE_H
#define SLUICE_SEARCH_PLANFILE_H

#include "sluice/Plan/Plan.h"
#include "sluice/Search/Buckets.h"
#include "sluice/Search/ProblemJson.h"
#include "sluice/Search/Search.h"

#include <string>
#include <vector>

namespace sluice {

inline constexpr int kPlanFileSchema = 2; ///< Schema 1 has no splits.
/// The plan's name in a compiled model's directory.
inline constexpr const char *kPlanFileName = "plan.json";

/// An operator of the model that is split into several (OperatorSplit), by its name and the
/// name of its rule.
struct NamedSplit {
  std::string op, rule;
  int64_t parts = 2;
};

/// The results of a search, without the plan.
struct PlanSummary {
  int64_t makespanNs = 0;
  int64_t idealNs = 0;
  int64_t lowerBoundNs = 0;
  std::optional<BoundCertificate> certificate; ///< Why lowerBoundNs holds.
  int64_t onceBoundNs = 0; ///< Lower bound for plans that run each operator once; 0 if the file has none.
  std::optional<BoundCertificate> onceCertificate; ///< Why onceBoundNs holds.
  int64_t evaluations = 0;
  std::vector<int64_t> minimumBytes; ///< Per memory: the bytes of SearchResult::minimumBytes.
  std::vector<int64_t> peakBytes;    ///< Per memory: SearchResult::peakBytes.
  std::vector<Baseline> baselines;
  std::vector<NamedSplit> splits = {};   ///< The splits with which the planned graph was made.
  BucketTable buckets = {};              ///< The bounds that were compared; empty without --buckets auto.
  std::vector<SearchPoint> history = {}; ///< SearchResult::history; empty if the file has none.
};

struct PlanFile {
  ProblemFile problem;
  Plan plan;
  PlanSummary summary;
};

PlanFile makePlanFile(const SearchProblem &problem, const SearchResult &result);

/// The summary alone, as `sluice plan --format=json` prints it.
Json summaryToJson(const PlanFile &file);
Json planFileToJson(const PlanFile &file);
/// Reads a plan file. An error names the JSON path of the first mistake. The plan that is read passes validatePlan and
/// fits the problem's capacities. Its makespan is simulated again.
Expected<PlanFile> planFileFromJson(const JsonReader &reader);

/// Writes a temporary file beside `path` and renames it to `path`.
Status writePlanFile(const std::string &path, const PlanFile &file);
Expected<PlanFile> readPlanFile(const std::string &path);
/// Like readPlanFile, with further checks. Each operator must be on the device that the problem fixes, if any, and
/// operators of one colocation must be on one device. The numbers of the summary must agree with the plan and the
/// problem: makespan, bytes copied, operators that run again, capacities and arenas. No lower bound may exceed the
/// makespan, and each certificate must prove its bound.
Expected<PlanFile> checkPlanFile(const std::string &path);

/// The splits that the plan of a file requires.
Expected<std::vector<NamedSplit>> readPlanSplits(const std::string &path);

/// Reads the plan of a file for this graph and machine. Operators and tensors are found by
/// name, and the plan must be valid for the graph.
Expected<Plan> readPlanOn(const Graph &graph, const Machine &machine, const std::string &path);

/// Reads a saved plan for a model that was imported again. Operators and tensors are found
/// by name in the graph of `problem`. The plan must be valid for this problem and fit its capacities. The ideal time,
/// the bounds and the baselines come from the file.
Expected<SearchResult> readPlanFor(const SearchProblem &problem, const std::string &path);

} // namespace sluice

#endif // SLUICE_SEARCH_PLANFILE_H
