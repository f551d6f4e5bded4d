//===- ProblemJson.h - Planning problems as JSON ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The format that `--dump-problem` writes and sluice-solve reads. A problem has
// everything from which a placement or a plan is made, so any user's graph can be a
// benchmark.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_PROBLEMJSON_H
#define SLUICE_SEARCH_PROBLEMJSON_H

#include "sluice/Cost/CostModel.h"
#include "sluice/Graph/Graph.h"
#include "sluice/Machine/Machine.h"
#include "sluice/Support/Json.h"

#include <vector>

namespace sluice {

inline constexpr int kProblemSchema = 1;

struct ProblemFile {
  Graph graph;
  Machine machine;
  CostTable costs;
  /// Per memory of the machine: the largest number of bytes that its arena may have.
  std::vector<int64_t> capacities;
  /// Per operator: the device that the problem fixes. An invalid id means that the planner chooses the device. If the
  /// list is empty, the planner chooses all devices.
  std::vector<DeviceId> placement;
};

/// { schema, graph, machine, costs: [operator][device] ns, capacities: {memory:
/// bytes}, placement: [device name or null] }.
Json problemToJson(const ProblemFile &problem);

/// If the file has no costs, they come from the roofline model. If a capacity is absent, the capacity of the machine's
/// memory is used. If the file has no placement, the problem fixes no device. An error names the JSON path of the first
/// mistake. The graph and the machine of the result pass their checks.
Expected<ProblemFile> problemFromJson(const JsonReader &reader);

} // namespace sluice

#endif // SLUICE_SEARCH_PROBLEMJSON_H
