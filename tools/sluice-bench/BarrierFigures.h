//===- BarrierFigures.h - Experiments with barriers -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_BARRIERFIGURES_H
#define SLUICE_TOOLS_SLUICEBENCH_BARRIERFIGURES_H

#include "sluice/Barriers/Simulator.h"

#include <functional>
#include <string>
#include <vector>

namespace sluice::bench {

/// A number of a run. x matters if one run gives all rows of a figure. NaN: the run has no such number.
struct BarrierMeasure {
  std::string name;
  std::function<double(const BarrierRun &run, double x)> value;
};

/// A figure as tables, one for each measure: a row for each x, a column for each barrier.
struct BarrierFigure {
  std::string id, title, xName;
  std::vector<double> xs;
  std::vector<std::string> barriers;
  std::function<void(BarrierProblem &problem, double x)>
      change; ///< Applies x to the setting. Empty if only the measures use x.
  std::vector<BarrierMeasure> measures;
  BarrierProblem setting;
  bool isRelative = false; ///< Values are divided by those of the first row.
};

/// The figures of Zhao's thesis, chapter 6, that do not train a model, and one that polls where figure 6.5 does not.
std::vector<BarrierFigure> barrierFigures();

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_BARRIERFIGURES_H
