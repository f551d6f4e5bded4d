//===- CheckTrace.h - Simulated training, checked ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The checker shares only Barrier::passes with the simulator. It replays a trace and recomputes every metric from its
// definition.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_BARRIERS_CHECKTRACE_H
#define SLUICE_BARRIERS_CHECKTRACE_H

#include "sluice/Barriers/Simulator.h"

namespace sluice {

/// The progress inconsistency (BarrierMetrics::meanProgress) of each step, not divided by the number of workers; -1 for
/// a step whose update has not arrived.
std::vector<int64_t> progressInconsistencies(const BarrierTrace &trace);

/// The sequence inconsistency (BarrierMetrics::sequence) if workers have these clocks, not divided by the number of
/// workers.
int64_t sequenceInconsistency(const std::vector<int64_t> &clocks);

/// Recomputes the metrics of a trace of this problem. The time is O(steps * (log steps + v + c)), where v is the number
/// of sampled workers in a view and c the number of different clocks.
BarrierMetrics measureTrace(const BarrierProblem &problem, const BarrierTrace &trace);

/// Fails with ErrorCode::Internal if the trace breaks a rule, and names the step. A worker must pass the barrier only
/// if its view allows it. The view of a worker must not contain this worker, and no other worker twice. If views have
/// all workers, a worker must not wait longer than its view requires. A step must take at least the least possible
/// time. The steps of a worker must not overlap, and must be within the run. The function also fails if a metric of the
/// run differs from the one that follows from the trace.
Status checkTrace(const BarrierProblem &problem, const BarrierRun &run);

} // namespace sluice

#endif // SLUICE_BARRIERS_CHECKTRACE_H
