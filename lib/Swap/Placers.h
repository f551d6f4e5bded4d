//===- Placers.h - Where missing tensors go -------------------------------===//
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

/// The free ranges between barriers.
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
  /// The tightest window whose occupants cost nothing and are gone in time, which
  /// beats all others; narrows `overhang`. Nothing else need be weighed then.
  void searchIdle(const StepPlanner &state, const PlaceRequest &request, Gap gap, const Want &want, int64_t &overhang,
                  int64_t &bestOffset) const;
  void weighExtents(const StepPlanner &state, const PlaceRequest &request);
  Score score(double sum, double worst, int64_t overhang, const Want &want) const;
  void searchGap(const StepPlanner &state, const PlaceRequest &request, Gap gap, const Want &want, Score &best,
                 int64_t &bestOffset);
  /// Where in a window of extents [first, last) from an address on, so that what is left over joins free memory.
  int64_t alignIn(const StepPlanner &state, const PlaceRequest &request, Gap gap, size_t first, size_t last,
                  int64_t from, int64_t overhang) const;
  bool placeByWindows(const StepPlanner &state, PlaceRequest &request);
  bool placeByFirstFit(const StepPlanner &state, PlaceRequest &request);
  std::vector<Gap> gapsBetween(const StepPlanner &state, const PlaceRequest &request) const;

  const SwapParams &params;
  int64_t base;
  // Of evicting an extent's occupant: the decisive part, the additive one, and
  // prefix sums of that.
  std::vector<double> key, costs, sums;
  std::vector<size_t> falling;        ///< Of searchGap.
  std::vector<double> idleUntil;      ///< Per extent: when it is free at no cost; infinite where never.
  bool weighed = false;               ///< Of the request at hand.
  std::vector<double> weightAt;       ///< Of a copy so many operators ahead.
  double computeNs = 0, swapInNs = 0; ///< Until when these streams are busy.
  double copyNs = 0;                  ///< Copying in the tensor in question.
};

/// One object of a size class for each tensor.
class PoolPlacer final : public Placer {
public:
  PoolPlacer(std::vector<ObjectClass> classes, const PoolParams &params, uint32_t memory);
  Status place(const StepPlanner &state, PlaceRequest &request) override;

private:
  /// What an occupant costs: compared in this order, less is better.
  using Rank = std::array<double, 3>;
  Rank rank(const StepPlanner &state, const PlaceRequest &request, const Want &want, uint32_t occupant);
  size_t classFor(int64_t bytes) const;

  struct Object {
    int64_t offset;
    uint32_t takenAt; ///< Position of the operator that reserved it last.
  };
  std::vector<ObjectClass> classes;
  std::vector<size_t> firstOf; ///< Per class: its first object; one more at the end.
  std::vector<Object> objects;
  const PoolParams &params;
  std::span<const std::pair<int64_t, int64_t>> classOfSize;
  std::vector<double> weightAt; ///< Cost-aware: of a copy so many operators ahead.
};

/// Best fit among free ranges; evicts least recently used until one fits.
class LruPlacer final : public Placer {
public:
  Status place(const StepPlanner &state, PlaceRequest &request) override;

private:
  std::vector<uint8_t> free; ///< Per extent.
};

/// Error of an operator that fits nowhere.
tl::unexpected<Error> infeasibleAt(const StepPlanner &state, const PlaceRequest &request, const std::string &what);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_PLACERS_H
