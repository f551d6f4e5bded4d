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

/// A bound in nanoseconds, and why it holds: `ns` is what provenNs derives from the certificate.
struct ProvenBound {
  int64_t ns = 0;
  BoundCertificate certificate;
};

/// Each bound alone holds for the makespan of every valid plan of the steady step with this placement, whatever its
/// order and addresses; onceCuts only where each operator runs once.
struct LowerBounds {
  ProvenBound work;       ///< The busiest device, with what must precede and follow.
  ProvenBound path;       ///< The longest chain of operators and copies between memories.
  ProvenBound onceCuts;   ///< Bytes and work together, where each operator runs once.
  ProvenBound repeatCuts; ///< The same for plans that may run operators again.

  /// The best that holds for every plan.
  const ProvenBound &always() const;
  /// The best that holds where each operator runs once.
  const ProvenBound &once() const;
};

/// `placement` has a device per operator, `capacities` bytes per memory. Takes about a second for 10,000 operators, and
/// time linear in the graph beyond that.
LowerBounds planLowerBounds(const Graph &graph, const Machine &machine, const CostTable &costs,
                            std::span<const int64_t> capacities, std::span<const DeviceId> placement);

} // namespace sluice

#endif // SLUICE_SEARCH_LOWERBOUND_H
