//===- Report.h - Reports of plans ------------------------------*- C++ -*-===//
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

/// The place of an operator in the drawing of the graph. Layers go from left to right.
struct GraphPlace {
  uint32_t layer = 0; ///< Length of the longest path to it from an operator without predecessors.
  uint32_t row = 0;   ///< Position within the layer; no two operators of a layer have the same row.
};
/// Computes a place for each operator of an acyclic graph: layers by longest path, and rows by
/// the barycenter rule (Sugiyama, Tagawa and Toda 1981).
std::vector<GraphPlace> layoutGraph(const Graph &graph);

/// A measured step. Times are relative to the start of the step.
struct MeasuredStep {
  std::string name; ///< Name of the file without extension. With several ranks, "rank 1 of run" for run.json.
  std::vector<Interval> commands; ///< The time of each command of the plan; {-1, -1} if it was not measured.
  int64_t makespanNs = 0;         ///< End of the last command.
};
/// Reads a trace of `sluice run --trace`; the result has one step for each rank. Times are by the device's clock if it
/// has one, and otherwise by the host's clock. Fails if a command of the trace has another name in the plan.
Expected<std::vector<MeasuredStep>> readMeasuredSteps(const PlanFile &file, const std::string &path);

/// Further contents of a report.
struct ReportExtras {
  const PlanFile *against = nullptr; ///< Another plan.
  /// The differences from another plan, where A is the report's plan; null without one.
  const PlanDiff *diff = nullptr;
  std::vector<MeasuredStep> measured;
};

/// The data of the page: operators, tensors, residencies and commands with simulated times, bytes over time per memory,
/// the reasons of stalls and copies, and places in the drawing. If there is another plan (ReportExtras::against), its
/// data follows in the same form.
Json reportData(const PlanFile &file, const ReportExtras &extras = {});

/// A complete HTML page that contains its style, script and data. Names are escaped, so the
/// text of a model cannot become markup.
std::string reportHtml(const PlanFile &file, const ReportExtras &extras = {});

/// The graph for Graphviz: operators coloured by device with their times, tensors with their bytes; a tensor that is
/// copied between memories is dashed.
std::string reportDot(const PlanFile &file);

/// A drawing of the simulated step: a row for each stream, then the bytes in use of each memory that the plan uses,
/// with its limit, then the map of each arena. The title of a command or residency has its name and times. It has no
/// script.
std::string reportSvg(const PlanFile &file);

/// A drawing in UTF-8 characters with lines of at most `columns` characters (at least 42). The step is divided into
/// equal parts, and each part shows the load of each stream and the largest number of bytes in use.
std::string reportText(const PlanFile &file, int columns);

} // namespace sluice

#endif // SLUICE_COMPILER_REPORT_H
