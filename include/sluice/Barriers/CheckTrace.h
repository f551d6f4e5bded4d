//===- CheckTrace.h - Simulated training, checked ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The checker shares only the barrier's predicate with the simulator. It replays a trace and recomputes every metric
// from its definition.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_BARRIERS_CHECKTRACE_H
#define SLUICE_BARRIERS_CHECKTRACE_H

#include "sluice/Barriers/Simulator.h"

namespace sluice {

/// The progress inconsistency of each step, not divided by the number of workers; -1 for a step without an update.
std::vector<int64_t> progressInconsistencies(const BarrierTrace &trace);

/// The number of updates that are in either the true or the noisy sequence, but not in both, when workers have these
/// clocks.
int64_t sequenceInconsistency(const std::vector<int64_t> &clocks);

/// Recomputes the metrics of a trace that is one of the problem's. O(steps * (log steps + sample + different clocks)).
BarrierMetrics measureTrace(const BarrierProblem &problem, const BarrierTrace &trace);

/// Fails with ErrorCode::Internal, naming the step, where a worker passed a barrier that its view forbade, saw itself
/// or a worker twice, waited although its view of all workers let it pass, or took less time than a step takes at
/// least; where steps overlap or leave the run; and where a metric is not what the trace gives.
Status checkTrace(const BarrierProblem &problem, const BarrierRun &run);

} // namespace sluice

#endif // SLUICE_BARRIERS_CHECKTRACE_H
