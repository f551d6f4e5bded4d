//===- BoundCertificate.h - Why no plan is faster ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A certificate is the data from which a lower bound of a step's makespan follows by arithmetic on integers.
// docs/formats/verify-plan.md has the four arguments and why they hold.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_BOUNDCERTIFICATE_H
#define SLUICE_SEARCH_BOUNDCERTIFICATE_H

#include "sluice/Cost/CostModel.h"
#include "sluice/Graph/Graph.h"
#include "sluice/Machine/Machine.h"
#include "sluice/Support/Json.h"

#include <span>
#include <string>
#include <vector>

namespace sluice {

/// The problem whose plans a certificate speaks of. `capacities` has bytes per memory. Per operator, `placement` has
/// the device of the plan, and `pinned` the device that the problem fixes, or an invalid id; empty: the problem fixes
/// none. The argument Placements ignores `placement`, and the others ignore `pinned`.
struct BoundProblem {
  const Graph &graph;
  const Machine &machine;
  const CostTable &costs;
  std::span<const int64_t> capacities;
  std::span<const DeviceId> placement;
  std::span<const DeviceId> pinned = {};
};

enum class BoundArgument : uint8_t {
  Chain,      ///< Operators that run one after the other, and the copies between them.
  Work,       ///< All operators of a device, and the chains that must run before and after them.
  Cuts,       ///< Work and copied bytes of the segments between time cuts of the step.
  Placements, ///< Chains and all work, each operator on its fastest device. Holds for every placement.
};

/// The prices of a segment of the step, which is between two cuts.
struct SegmentPrices {
  struct Work {
    DeviceId device;
    bool communicates = false;
    int64_t share = 0; ///< The price of this device's work, in millionths of the segment's time.
  };
  int64_t in = 0, out = 0; ///< Attoseconds for each byte that is copied into the memories, and out of them.
  std::vector<Work> work;
};

struct BoundCertificate {
  BoundArgument argument = BoundArgument::Chain;
  std::vector<OperatorId>
      operators;             ///< Chain: its operators, in order. Cuts: the first start of each is a cut, in order.
  DeviceId device;           ///< Work: the device.
  bool communicates = false; ///< Work: the operators on its communication stream, instead of the compute stream.

  bool repeats = true;                 ///< Cuts: the bound holds for plans that launch operators again.
  std::vector<MemoryId> memories;      ///< Cuts: the memories that the bytes enter and leave.
  std::vector<int64_t> memoryPrices;   ///< Cuts: attoseconds for a byte that is in these memories at the cut.
  std::vector<SegmentPrices> segments; ///< Cuts: one more than cuts.
};

inline constexpr size_t kMaxCuts = 256;
inline constexpr int64_t kMaxPrice = int64_t(1) << 54;
/// A share that is the whole time of a segment.
inline constexpr int64_t kWholeShare = 1'000'000;

/// The time in nanoseconds that the certificate proves; fails where it proves nothing, and says why. Shares no code
/// with the search for bounds. Takes time linear in the graph for each cut.
Expected<int64_t> provenNs(const BoundProblem &problem, const BoundCertificate &certificate);

/// The argument in words: "bytes across 31 cuts of memory 'gpu0'".
std::string describeBound(const Graph &graph, const Machine &machine, const BoundCertificate &certificate);

/// The format of docs/formats/plan.md. Operators, devices and memories are written by the names of PlanNames.
Json certificateToJson(const Graph &graph, const Machine &machine, const BoundCertificate &certificate);
Expected<BoundCertificate> certificateFromJson(const Graph &graph, const Machine &machine, const JsonReader &reader);

} // namespace sluice

#endif // SLUICE_SEARCH_BOUNDCERTIFICATE_H
