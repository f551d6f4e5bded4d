//===- Placers.h - Addresses for missing tensors --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_PLACERS_H
#define SLUICE_LIB_SWAP_PLACERS_H

#include "StepPlanner.h"
#include "sluice/Swap/SwapPlanner.h"

#include <array>
#include <memory>
#include <string>

namespace sluice::swap {

/// Addresses decided beforehand: per tensor, and per position for workspaces.
class FixedPlacer final : public Placer {
public:
  FixedPlacer(std::vector<int64_t> offsets, std::vector<int64_t> workspaceOffsets)
      : offsets(std::move(offsets)), workspaceOffsets(std::move(workspaceOffsets)) {}
  Status place(const StepPlanner &state, PlaceRequest &request) override;

private:
  std::vector<int64_t> offsets, workspaceOffsets;
};

/// A range of addresses between two operands that may not move.
struct Gap {
  int64_t begin, end;
};

/// Any address from `base` on: the cheapest window for each tensor, the largest
/// tensor first. Where the operands in place leave no windows, they move.
class WindowPlacer final : public Placer {
public:
  WindowPlacer(const SwapParams &params, int64_t base) : params(params), base(base) {}
  bool worksInPlace() const override { return params.inPlace; }
  Status place(const StepPlanner &state, PlaceRequest &request) override;

private:
  /// What a window costs: compared in this order.
  struct Score {
    double primary, secondary;
    bool operator<(const Score &other) const {
      return primary != other.primary ? primary < other.primary : secondary < other.secondary;
    }
  };
  void findIdle(const StepPlanner &state, const PlaceRequest &request);
  /// Searches the tightest window whose occupants cost nothing and are gone in time;
  /// narrows `overhang`. Such a window beats all others, so no other is weighed.
  void searchIdle(const StepPlanner &state, const PlaceRequest &request, Gap gap, const Allocation &allocation,
                  int64_t &overhang, int64_t &bestOffset) const;
  void weighExtents(const StepPlanner &state, const PlaceRequest &request);
  Score score(double sum, double worst, int64_t overhang, const Allocation &allocation) const;
  void searchGap(const StepPlanner &state, const PlaceRequest &request, Gap gap, const Allocation &allocation,
                 Score &best, int64_t &bestOffset);
  /// The address in a window of extents [first, last), from an address on, at which the rest of the window joins
  /// free memory.
  int64_t alignIn(const StepPlanner &state, const PlaceRequest &request, Gap gap, size_t first, size_t last,
                  int64_t from, int64_t overhang) const;
  bool placeByWindows(const StepPlanner &state, PlaceRequest &request);
  bool placeByFirstFit(const StepPlanner &state, PlaceRequest &request);
  std::vector<Gap> gapsBetween(const StepPlanner &state, const PlaceRequest &request) const;

  const SwapParams &params;
  int64_t base;
  // Per extent, the cost of evicting its occupant: the part compared first, the
  // additive part, and the prefix sums of the additive part.
  std::vector<double> key, costs, sums;
  std::vector<size_t> falling;        ///< Scratch of searchGap.
  std::vector<double> idleUntil;      ///< Per extent: when it is free at no cost, or infinite.
  bool weighed = false;               ///< weighExtents has run for this request.
  std::vector<double> weightAt;       ///< Per distance in operators: the weight of a copy that lies so far ahead.
  double computeNs = 0, swapInNs = 0; ///< The times until which these streams are busy.
  double copyNs = 0;                  ///< The time to copy in the tensor being placed.
};

/// One object of a size class for each tensor.
class PoolPlacer final : public Placer {
public:
  PoolPlacer(std::vector<ObjectClass> classes, const PoolParams &params, MemoryId memory);
  Status place(const StepPlanner &state, PlaceRequest &request) override;

private:
  /// The cost of evicting an occupant: compared in this order, lower is better.
  using Rank = std::array<double, 3>;
  Rank rank(const StepPlanner &state, const PlaceRequest &request, const Allocation &allocation, ResidencyId occupant);
  size_t classFor(int64_t bytes) const;

  struct Object {
    int64_t offset;
    Position takenAt; ///< Position of the operator that reserved it last.
  };
  std::vector<ObjectClass> classes;
  std::vector<size_t> firstOf; ///< Per class: its first object; one more at the end.
  std::vector<Object> objects;
  const PoolParams &params;
  std::span<const std::pair<int64_t, int64_t>> classOfSize;
  std::vector<double> weightAt; ///< Cost-aware, per distance in operators: the weight of a copy that lies so far ahead.
};

/// Best fit among free ranges; evicts least recently used until one fits.
class LruPlacer final : public Placer {
public:
  Status place(const StepPlanner &state, PlaceRequest &request) override;

private:
  std::vector<uint8_t> free; ///< Per extent.
};

/// The error for an operator that does not fit; `what` names the obstacle, or is empty if its working set is too large.
tl::unexpected<Error> infeasibleAt(const StepPlanner &state, const PlaceRequest &request, const std::string &what);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_PLACERS_H
