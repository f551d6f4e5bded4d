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

/// The progress inconsistency of each step, not divided by the number of workers; -1 for a step whose update has not
/// arrived.
std::vector<int64_t> progressInconsistencies(const BarrierTrace &trace);

/// The sequence inconsistency (BarrierMetrics::sequence) if workers have these clocks, not divided by the number of
/// workers.
int64_t sequenceInconsistency(const std::vector<int64_t> &clocks);

/// Recomputes the metrics of a trace of this problem. O(steps * (log steps + sample + different clocks)).
BarrierMetrics measureTrace(const BarrierProblem &problem, const BarrierTrace &trace);

/// Fails with ErrorCode::Internal, naming the step, if a worker passed the barrier although its view forbade it, if a
/// view has the worker itself or another worker twice, if a worker waited although its view of all workers let it pass,
/// if a step took less than the least possible time, or if steps overlap or exceed the run. Also fails if a metric
/// differs from the one that the trace gives.
Status checkTrace(const BarrierProblem &problem, const BarrierRun &run);

} // namespace sluice

#endif // SLUICE_BARRIERS_CHECKTRACE_H
