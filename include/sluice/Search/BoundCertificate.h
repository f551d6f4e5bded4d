//===- BoundCertificate.h - Why no plan is faster ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A certificate is the data from which a lower bound of a step's makespan follows by arithmetic on integers.
// There are four kinds of proofs, called *arguments* (BoundArgument). docs/formats/verify-plan.md defines them and says
// why they hold.
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

/// The problem to whose plans a certificate applies. `capacities` has bytes per memory. Per operator, `placement` has
/// the device of the plan, and `pinned` has the device that the problem fixes, or an invalid id. If `pinned` is empty,
/// the problem fixes no device. A proof of kind BoundArgument::Placements does not use `placement`; proofs of the other
/// kinds do not use `pinned`.
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

/// The prices of a segment, which is the part of a step between two cuts. A price is the time that the bound counts for
/// a unit of work, or for a copied byte, in this segment (docs/formats/verify-plan.md).
struct SegmentPrices {
  struct Work {
    DeviceId device;
    bool communicates = false;
    int64_t share = 0; ///< The time that the bound counts for 1 ns of this device's work, in units of 1e-6 ns.
  };
  int64_t in = 0, out = 0; ///< Attoseconds per byte that is copied into the memories, and out of them.
  std::vector<Work> work;
  /// The time that the bound counts for 1 ns in which a stream copies into the memories, or out of them, in units of
  /// 1e-6 ns. A copy occupies its stream for the latency of its link and for the time of its bytes.
  int64_t copiesIn = 0, copiesOut = 0;
};

struct BoundCertificate {
  BoundArgument argument = BoundArgument::Chain;
  /// Chain: the operators of the chain, in order. Cuts: one operator for each cut, in order. A cut is a time: the time
  /// at which its operator first starts.
  std::vector<OperatorId> operators;
  DeviceId device;           ///< Work: the device whose work gives the bound.
  bool communicates = false; ///< Work: true for the work of the communication stream, false for the compute stream.

  bool repeats = true;                 ///< Cuts: the bound also holds for plans that launch operators again.
  std::vector<MemoryId> memories;      ///< Cuts: the memories that the bytes enter and leave.
  std::vector<int64_t> memoryPrices;   ///< Cuts: per cut, attoseconds per byte that is in these memories at the cut.
  std::vector<SegmentPrices> segments; ///< Cuts: the segments; there is one segment more than cuts.
};

inline constexpr size_t kMaxCuts = 256;
inline constexpr int64_t kMaxPrice = int64_t(1) << 54;
/// The greatest value of SegmentPrices::Work::share: the price of a nanosecond of work is then one nanosecond.
inline constexpr int64_t kWholeShare = 1'000'000;

/// The lower bound in nanoseconds that the certificate proves. If the certificate proves nothing, fails with the
/// reason. The function shares no code with the search for bounds. Its running time is linear in the size of the graph;
/// for BoundArgument::Cuts, it is linear in the size of the graph times the number of cuts.
Expected<int64_t> provenNs(const BoundProblem &problem, const BoundCertificate &certificate);

/// A text that describes the proof, such as "bytes across 31 cuts of memory 'gpu0'".
std::string describeBound(const Graph &graph, const Machine &machine, const BoundCertificate &certificate);

/// The format of docs/formats/plan.md. Operators, devices and memories are written by the names of PlanNames.
Json certificateToJson(const Graph &graph, const Machine &machine, const BoundCertificate &certificate);
Expected<BoundCertificate> certificateFromJson(const Graph &graph, const Machine &machine, const JsonReader &reader);

} // namespace sluice

#endif // SLUICE_SEARCH_BOUNDCERTIFICATE_H
