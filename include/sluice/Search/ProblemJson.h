//===- ProblemJson.h - Planning problems as JSON ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What `--dump-problem` writes and sluice-solve reads: everything a placement
// or a plan is made from, so that any user's graph can be a benchmark.
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
  /// Per memory of the machine: bytes its arena may take.
  std::vector<int64_t> capacities;
  /// Per operator. Empty: all are open. An invalid id: this one is open.
  std::vector<DeviceId> placement;
};

/// { schema, graph, machine, costs: [operator][device] ns, capacities: {memory:
/// bytes}, placement: [device name or null] }.
Json problemToJson(const ProblemFile &problem);

/// Absent costs are those of the roofline model, an absent capacity is that of the memory,
/// and an absent placement is open. Fails naming the JSON path of the first error. Graph and
/// machine pass their checks.
Expected<ProblemFile> problemFromJson(const JsonReader &reader);

} // namespace sluice

#endif // SLUICE_SEARCH_PROBLEMJSON_H
