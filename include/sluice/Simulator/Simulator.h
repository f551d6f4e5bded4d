//===- Simulator.h - A plan's timeline on a machine -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SIMULATOR_SIMULATOR_H
#define SLUICE_SIMULATOR_SIMULATOR_H

#include "sluice/Cost/CostModel.h"
#include "sluice/Plan/Plan.h"
#include "sluice/Support/Json.h"

#include <vector>

namespace sluice {

struct Interval {
  int64_t startNs = 0, endNs = 0; ///< Half-open.
};

struct Timeline {
  std::vector<Interval> commands; ///< Per command of the plan: when it runs.
  int64_t makespanNs = 0;
};

/// Simulates a valid plan by events. A stream runs its commands in order, and a command starts when its waits are
/// complete. If a command waited for a command of another stream, and at least one of the two is a copy, the waiting
/// command starts later by the event latency of the copy's link. If both are copies, the greater of their links' event
/// latencies counts. The two directions of a link share duplexBytesPerSec fairly while both are busy, and several
/// copies in one direction share its rate equally. Deterministic.
Timeline simulate(const Graph &graph, const Machine &machine, const CostTable &costs, const Plan &plan);

/// The commands of the critical path by ascending time. The last command of the path is the one that ends last in the
/// whole step. Every other command of the path is the one that ended last among those that its successor on the path
/// had to wait for: the successor's Command::waits and the previous command of its stream.
std::vector<CommandId> criticalPath(const Plan &plan, const Timeline &timeline);

/// Per residency, including homes and workspaces: the time in which its bytes are in use. This time begins with the
/// start of the command that creates the residency, or at 0. It ends with the last command that touches the residency,
/// or with the step if the residency is kept until then.
std::vector<Interval> residencyTimes(const Machine &machine, const Plan &plan, const Timeline &timeline);

/// Bytes of arena residencies in use over time (residencyTimes), and their peak, per memory.
struct MemoryProfile {
  struct Sample {
    int64_t timeNs;
    int64_t bytes;
  };
  std::vector<std::vector<Sample>> perMemory;
  std::vector<int64_t> peakBytes;
};
MemoryProfile memoryProfile(const Machine &machine, const Plan &plan, const Timeline &timeline);

/// A trace for Chrome and Perfetto (JSON trace event format) with one track for each stream.
Json traceJson(const Graph &graph, const Machine &machine, const Plan &plan, const Timeline &timeline);

} // namespace sluice

#endif // SLUICE_SIMULATOR_SIMULATOR_H
