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
  std::vector<Interval> commands; ///< Per command of the plan.
  int64_t makespanNs = 0;
};

/// Event simulation. A stream runs its commands in order, each once its waits
/// are complete, and the link's event latency later where it waited for another
/// stream's copy or is one that waited; a link's two directions share duplexBytesPerSec fairly while
/// both are busy, and several copies in one direction share it equally. Needs a
/// valid plan; deterministic.
Timeline simulate(const Graph &graph, const Machine &machine, const CostTable &costs, const Plan &plan);

/// Commands that the makespan hangs on, in time's order: the last to end, what it
/// waited for longest, before it on its stream or on another, and so on to the start.
std::vector<CommandId> criticalPath(const Plan &plan, const Timeline &timeline);

/// Per residency: when its bytes are in use. From the start of the command that creates it (or 0) to the end of the
/// last that touches it (of those kept to the step's end: to its end). Homes and workspaces too.
std::vector<Interval> residencyTimes(const Machine &machine, const Plan &plan, const Timeline &timeline);

/// Bytes of arena residencies in use per memory over time, see residencyTimes. Peak per memory.
struct MemoryProfile {
  struct Sample {
    int64_t timeNs;
    int64_t bytes;
  };
  std::vector<std::vector<Sample>> perMemory;
  std::vector<int64_t> peakBytes;
};
MemoryProfile memoryProfile(const Machine &machine, const Plan &plan, const Timeline &timeline);

/// Chrome/Perfetto trace (JSON trace event format): one track a stream.
Json traceJson(const Graph &graph, const Machine &machine, const Plan &plan, const Timeline &timeline);

} // namespace sluice

#endif // SLUICE_SIMULATOR_SIMULATOR_H
