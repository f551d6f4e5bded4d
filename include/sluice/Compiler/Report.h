//===- Report.h - A plan as one HTML page -----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_REPORT_H
#define SLUICE_COMPILER_REPORT_H

#include "sluice/Explain/PlanDiff.h"
#include "sluice/Search/PlanFile.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Json.h"

#include <string>
#include <vector>

namespace sluice {

/// Where an operator is drawn: layers from left to right, each below an operator
/// it does not depend on.
struct GraphPlace {
  uint32_t layer = 0; ///< Longest path from a source.
  uint32_t row = 0;   ///< Within the layer, each once.
};
/// Layers by longest path, rows by the barycenter rule (Sugiyama, Tagawa and
/// Toda 1981). Needs an acyclic graph; per operator.
std::vector<GraphPlace> layoutGraph(const Graph &graph);

/// A step that ran. Times are from the step's start.
struct MeasuredStep {
  std::string name;               ///< Its file's, without the extension; of several ranks "rank 1 of run".
  std::vector<Interval> commands; ///< Per command of the plan; {-1, -1} where it was not measured.
  int64_t makespanNs = 0;         ///< The last end.
};
/// Reads what `sluice run --trace` wrote, a step for each rank: by a device's own clock where it has one, else by the
/// host's. Fails where a command of the trace has another name in the plan.
Expected<std::vector<MeasuredStep>> readMeasuredSteps(const PlanFile &file, const std::string &path);

/// What the report shows beside the plan.
struct ReportExtras {
  const PlanFile *against = nullptr; ///< Another plan.
  const PlanDiff *diff = nullptr;    ///< Where there is one: what differs in it, the plan being A.
  std::vector<MeasuredStep> measured;
};

/// What the page shows, as data: operators, tensors, residencies and commands with simulated times, bytes over time per
/// memory, why streams stall and tensors are copied, and places in the drawing; the same of the other plan.
Json reportData(const PlanFile &file, const ReportExtras &extras = {});

/// One page that needs nothing else: style, script and data are inside. Names
/// are escaped; nothing of a model's text is markup.
std::string reportHtml(const PlanFile &file, const ReportExtras &extras = {});

/// The graph for Graphviz: operators coloured by device with their times, tensors with their bytes; a tensor that is
/// copied between memories is dashed.
std::string reportDot(const PlanFile &file);

/// The simulated step as a drawing: a row a stream, then the bytes in use of each memory that the plan uses, with its
/// limit, then the map of each arena. Each command and residency has its name and times as its title. No script.
std::string reportSvg(const PlanFile &file);

/// The same in characters of UTF-8, in lines of at most `columns` (at least 42): how busy each stream is, and the most
/// bytes in use, in each of equal parts of the step.
std::string reportText(const PlanFile &file, int columns);

} // namespace sluice

#endif // SLUICE_COMPILER_REPORT_H
