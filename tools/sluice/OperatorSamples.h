//===- OperatorSamples.h - How long operators ran ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_OPERATORSAMPLES_H
#define SLUICE_TOOLS_SLUICE_OPERATORSAMPLES_H

#include "RunSession.h"
#include "sluice/Cost/Profile.h"
#include "sluice/Plan/Plan.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice::driver {

/// The launches of operators of one signature on one kind of device.
struct Samples {
  OperatorShape shape;
  std::vector<int64_t> ns;
};
/// The keys are (signature, deviceKey).
using SampleMap = std::map<std::pair<std::string, std::string>, Samples>;

/// The launches of one compiled program, by operator. Graph, machine and plan outlive it.
class OperatorSamples {
public:
  OperatorSamples(const Graph &graph, const Machine &machine, const Plan &plan);

  /// Adds the launches of the last step of a session that traces.
  void addStep(const RunSession &session);
  /// Removes all launches.
  void clear() { ns.assign(ns.size(), {}); }
  /// 0 for an operator that never ran.
  int64_t medianNs(OperatorId op) const;
  /// Adds all launches of operators with a signature.
  void addTo(SampleMap &samples) const;

private:
  const Graph &graph;
  const Machine &machine;
  const Plan &plan;
  std::map<std::string_view, OperatorId> byName;
  std::vector<std::vector<int64_t>> ns; ///< Per operator.
};

/// Writes medians and quartiles to the profile's times.
void summarize(SampleMap samples, Profile &profile);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_OPERATORSAMPLES_H
