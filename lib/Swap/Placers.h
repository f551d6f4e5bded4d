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
#include <optional>
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

/// Parts of the costs of windows that are the same in all walks of a plan. They are computed once for a plan.
struct WindowCosts {
  WindowCosts(const ProblemIndex &index, const SwapParams &params);

  std::vector<double> weightAt; ///< Per distance in operators: the weight of a copy that lies so far ahead.
  /// Per memory: the least time of a copy in for each aligned byte, over all tensors; 0: unknown.
  std::vector<double> leastNsPerByte;
  bool areIntegers = false; ///< Every weight is 0, 1 or 2, so that costs are integers.
  /// No weight is negative or infinite, and no weight grows with the distance. Bounds of costs are therefore valid.
  bool areBounded = false;
};

/// Places tensors at any address from `base` on: each tensor gets the cheapest window, and the largest tensor is placed
/// first. If the operands in place leave no window, they are moved.
///
/// An allocation takes O(vacant extents) if a window costs nothing. Otherwise, with CostAware, the search visits only
/// the extents that a cheapest window may hold, by their bounds. With other policies it visits all extents.
class WindowPlacer final : public Placer {
public:
  WindowPlacer(const SwapParams &params, const WindowCosts &windowCosts, int64_t base)
      : params(params), windowCosts(windowCosts), base(base) {}
  bool worksInPlace() const override { return params.inPlace; }
  int64_t calendarBase() const override { return base; }
  Status place(const StepPlanner &state, PlaceRequest &request) override;

private:
  /// The cost of a window. Members are compared in this order.
  struct Score {
    double primary, secondary;
    bool operator<(const Score &other) const {
      return primary != other.primary ? primary < other.primary : secondary < other.secondary;
    }
  };
  /// Extents [first, last] of a gap, of which the tensor takes the addresses from `from` on.
  struct Window {
    ExtentId first, last;
    Gap gap;
    int64_t from = 0, overhang = 0;
  };
  /// The cost of evicting the occupant of an extent. A window has the sum of the first parts, and the greatest of the
  /// second parts.
  struct Weight {
    double cost, key;
  };
  /// A window and its score, whose primary part is off by at most `error`.
  struct Scored {
    Window window;
    Score score{0, 0};
    double error = 0;
    double worst = 0;                 ///< The greatest key.
    ExtentId firstCostly, lastCostly; ///< Invalid if no extent costs anything.
  };

  Weight weigh(const StepPlanner &state, const PlaceRequest &request, const Extent &extent) const;
  /// The weight with CostAware of an extent that has an occupant.
  Weight weighCopies(const StepPlanner &state, const PlaceRequest &request, ResidencyId occupant) const {
    if (!state.live(occupant))
      return {0, static_cast<double>(state.lastTouchNs(occupant))};
    const bool isSaved = state.mustSave(occupant);
    const Position next = state.nextUse(occupant);
    const double copies = next == kNever ? 0.0 : windowCosts.weightAt[next.value - request.position.value];
    return {(isSaved ? copies + 1.0 : copies) * static_cast<double>(state.copyInNs(occupant)),
            static_cast<double>(state.availableNs(occupant, isSaved))};
  }
  Score score(double sum, double worst, int64_t overhang, const Allocation &allocation) const {
    return params.eviction == EvictionPolicy::CostAware
               ? Score{costOf(sum, worst, allocation.fetch), static_cast<double>(overhang)}
               : Score{worst, sum + 1e-9 * static_cast<double>(overhang)};
  }
  /// The cost with CostAware of a window whose evictions cost `sum` and that is free at `worst`.
  double costOf(double sum, double worst, bool isFetch) const {
    if (!isFetch)
      return sum + params.stallWeight * std::max(0.0, worst - computeNs);
    double total = sum;
    total += params.stallWeight * std::max(0.0, worst - inNs);
    total += params.idleWeight * std::max(0.0, worst - swapInNs);
    return total;
  }
  /// The address in a window at which the rest of the window joins free memory.
  int64_t alignIn(const AddressMap &arena, const Window &window) const;

  std::optional<Window> cheapestWindow(const StepPlanner &state, const PlaceRequest &request,
                                       const Allocation &allocation);
  /// The tightest window, the first of equals, whose occupants cost nothing and are gone in time; nothing if there is
  /// none. Such a window beats all others. `amongLive`: live occupants may cost nothing too.
  std::optional<Window> searchIdle(const StepPlanner &state, const Allocation &allocation, bool amongLive) const;
  /// The first gap that ends above the address.
  size_t gapAbove(int64_t offset) const {
    size_t gap = 0;
    for (const Gap &each : gaps)
      gap += each.end <= offset; // No branch: it could not be predicted.
    return gap;
  }

  // The search by bounds (WindowSearch.cpp).
  /// The cheapest window of all gaps; of equal ones the first. Nothing if the search cannot decide.
  std::optional<Window> searchByBounds(const StepPlanner &state, const PlaceRequest &request,
                                       const Allocation &allocation);
  /// Tries the windows that hold the extent.
  void tryAround(const StepPlanner &state, const PlaceRequest &request, const Allocation &allocation, ExtentId extent);
  void tryWindow(const StepPlanner &state, const PlaceRequest &request, Gap gap, const Allocation &allocation,
                 ExtentId first);
  void offer(const Scored &candidate);
  /// The extent's weight, computed once for a request.
  const Weight &weightOf(const StepPlanner &state, const PlaceRequest &request, ExtentId extent);
  double errorOf(double total) const { return errorPart * (liveCost + total); }

  // The search of all windows.
  void weighExtents(const StepPlanner &state, const PlaceRequest &request);
  void searchGap(const StepPlanner &state, Gap gap, const Allocation &allocation, std::optional<Scored> &best);

  bool placeByWindows(const StepPlanner &state, PlaceRequest &request);
  bool placeByFirstFit(const StepPlanner &state, PlaceRequest &request);
  /// Fills `gaps`.
  void listGaps(const StepPlanner &state, const PlaceRequest &request);

  const SwapParams &params;
  const WindowCosts &windowCosts;
  int64_t base;
  MemoryId memory;
  std::vector<Gap> gaps, barriers;    ///< Between the operands in place and what is placed already; scratch.
  bool isLiveIdle = false;            ///< Evicting some live tensor costs nothing.
  double computeNs = 0, swapInNs = 0; ///< The times until which these streams are busy.
  double inNs = 0; ///< The time at which a copy of the tensor being placed may start without a delay.

  // Of the search by bounds.
  struct Known {
    uint32_t weighedFor = 0, triedFor = 0; ///< The request and the search that these are of.
    Weight weight{0, 0};
  };
  std::vector<Known> known; ///< Per extent id.
  uint32_t requests = 0, searches = 0;
  std::optional<Scored> cheapest;
  double limit = 0;                   ///< A window whose sum exceeds it, rounding included, is not the cheapest.
  double rival = 0;                   ///< The least primary score that another window than the cheapest may have.
  double liveCost = 0, errorPart = 0; ///< A score's error is errorPart * (liveCost + score).
  size_t steps = 0, maxSteps = 0;     ///< Number of visited extents; the search gives up if there are too many.

  // Of the search of all windows: per extent, by offset.
  bool weighed = false; ///< weighExtents has run for this request.
  std::vector<Extent> extents;
  std::vector<double> key, sums; ///< `sums` are prefix sums of the costs.
  std::vector<size_t> falling;   ///< Scratch of searchGap.
};

/// One object of a size class for each tensor.
class PoolPlacer final : public Placer {
public:
  PoolPlacer(std::vector<ObjectClass> classes, const PoolParams &params, MemoryId memory);
  bool worksInPlace() const override { return params.inPlace; }
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

/// Places tensors by best fit among free ranges. Until a range fits, it evicts the least recently used tensor.
class LruPlacer final : public Placer {
public:
  explicit LruPlacer(bool inPlace) : inPlace(inPlace) {}
  bool worksInPlace() const override { return inPlace; }
  Status place(const StepPlanner &state, PlaceRequest &request) override;

private:
  bool inPlace;
  std::vector<Extent> extents;
  std::vector<uint8_t> free; ///< Per extent.
};

/// The error for an operator that does not fit; `what` names the obstacle, or is empty if its working set is too large.
tl::unexpected<Error> infeasibleAt(const StepPlanner &state, const PlaceRequest &request, const std::string &what);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_PLACERS_H
