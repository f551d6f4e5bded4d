//===- LowerBound.h - Lower bounds of the makespan --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_LOWERBOUND_H
#define SLUICE_SEARCH_LOWERBOUND_H

#include "sluice/Search/BoundCertificate.h"

#include <span>
#include <vector>

namespace sluice {

/// A lower bound in nanoseconds and its proof: provenNs derives `ns` from the certificate.
struct ProvenBound {
  int64_t ns = 0;
  BoundCertificate certificate;
};

/// Four lower bounds of the makespan of a step in the steady state, for a given placement and any order and addresses.
/// `work`, `path` and `repeatCuts` hold for every valid plan. `onceCuts` holds only for plans that run each operator
/// once.
struct LowerBounds {
  ProvenBound work;       ///< The work of the busiest device, with the chains that must precede and follow it.
  ProvenBound path;       ///< The longest chain of operators and copies between memories.
  ProvenBound onceCuts;   ///< Copied bytes and work together, for plans that run each operator once.
  ProvenBound repeatCuts; ///< Copied bytes and work together, for plans that may run operators again.

  /// The greatest bound that holds for every plan.
  const ProvenBound &always() const;
  /// The greatest bound that holds for plans that run each operator once.
  const ProvenBound &once() const;
};

/// `placement` has a device per operator, and `capacities` has bytes per memory. Takes about a second for 10,000
/// operators; the time of larger graphs is linear in their size.
LowerBounds planLowerBounds(const Graph &graph, const Machine &machine, const CostTable &costs,
                            std::span<const int64_t> capacities, std::span<const DeviceId> placement);

} // namespace sluice

#endif // SLUICE_SEARCH_LOWERBOUND_H
