//===- Candidate.h - What the search breeds ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SEARCH_CANDIDATE_H
#define SLUICE_LIB_SEARCH_CANDIDATE_H

#include "FreeClasses.h"
#include "sluice/Memory/SizeClassPool.h"
#include "sluice/Optimize/Budget.h"
#include "sluice/Search/Orders.h"
#include "sluice/Search/Repetition.h"
#include "sluice/Swap/Recompute.h"
#include "sluice/Swap/SwapPlanner.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

enum class Allocator : uint8_t { Offsets, Stays, Pools, FreePools };

/// The parameters by which CandidateSpace chooses a recomputation. The worth of a byte is a multiple of the time to
/// copy it out and in, and the length of stretches is a fraction of the capacity.
struct RecomputeRecipe {
  MemoryId memory;
  double worth = 0, stretch = 0;

  bool operator==(const RecomputeRecipe &) const = default;
};

/// A recomputation, and the graph with the second runs.
struct RecomputedProblem {
  Recomputation choice;
  RecomputedGraph graph;
  /// The recipe of this recomputation, or of the recomputation from which it was varied.
  std::optional<RecomputeRecipe> recipe;
};

/// An individual of SwapAdvisor (SCH, CLS, CNT). Free addresses with an eviction policy are
/// an alternative to the pools, and operators may run again.
struct Candidate {
  Schedule order; ///< The order of first runs.
  Allocator allocator = Allocator::Offsets;
  /// Read for Offsets and Stays. Pools read only the eviction policy and its weights: with any policy except CostAware,
  /// the planner is the paper's.
  SwapParams offsets;
  std::vector<PoolConfig> pools;   ///< For each memory; read for Pools. Empty for the host.
  std::vector<FreePool> freePools; ///< For each memory; read for FreePools.
  /// Null if every operator runs once.
  std::shared_ptr<const RecomputedProblem> recomputed;
};

struct NamedCandidate {
  std::string name;
  Candidate genes;
};

/// The distance of children from their parents.
enum class Mutation : uint8_t {
  Paper, ///< As in SwapAdvisor: each element of each part varies with probability 0.1.
  Mixed, ///< Mostly a few moves, and sometimes the moves of the paper with varied strength.
  Small, ///< One change.
};

/// The parts of a candidate that vary. SwapAdvisor's ablations keep one part.
struct Parts {
  bool order = true, allocation = true;
};

/// Plans and varies candidates for one placement. Thread-safe.
class CandidateSpace {
public:
  /// The problem passes check(). `placementOrder` is an additional order to start from, or
  /// is empty.
  CandidateSpace(const Graph &graph, const Machine &machine, const CostTable &costs, std::vector<int64_t> capacityBytes,
                 std::vector<DeviceId> placement, const Schedule &placementOrder);

  const std::vector<DeviceId> &placement() const { return devices; }
  SwapProblem problemFor(const Schedule &order) const;
  /// Distinct orders with their names, the most promising first: the overlapping order (for programs that communicate),
  /// the placement's order, the model's order, and the memory-aware, depth-first and critical-path orders.
  const std::vector<std::pair<std::string, Schedule>> &orders() const { return starts; }

  /// Every order with every eviction policy, the most promising first.
  std::vector<NamedCandidate> offsetSeeds() const;
  /// The first orders with planSwapStays, if it supports the machine, with several shares of kept and of resting states
  /// and of presence.
  std::vector<NamedCandidate> staySeeds() const;
  /// Every order with each of three pools: one class, powers of two, and one class for each
  /// size. Pools that exceed the capacity are left out.
  std::vector<NamedCandidate> poolSeeds(EvictionPolicy policy) const;
  /// The first order with several recomputations, the most promising first, and as many as
  /// the time allows.
  std::vector<NamedCandidate> recomputingSeeds(const Budget &budget) const;
  /// The first order with the recomputation of a plan. Nothing if the plan has none.
  std::optional<Candidate> recomputingAs(const Plan &plan) const;
  /// A candidate for a graph with fewer layers, extended to this space's graph. Nothing if there is no room for its
  /// pools, or if its allocator is not for this graph.
  std::optional<Candidate> extended(const Candidate &candidate, const FoldedGraph &folded) const;
  /// The candidate with the recomputation of a recipe; nothing if the recipe recomputes nothing.
  std::optional<Candidate> recomputing(const Candidate &candidate, const RecomputeRecipe &recipe) const;
  /// A candidate for the paper's planner: an order of random ready operators, and random classes with random shares of
  /// the memory.
  Candidate randomPools(Rng &rng) const;

  Expected<Plan> plan(const Candidate &candidate) const;

  /// Two orders x two allocations (SwapAdvisor, section 5.1). A part that does not vary is taken from the mother.
  std::vector<Candidate> crossover(const Candidate &mother, const Candidate &father, Rng &rng, Parts vary = {}) const;
  /// Only Mutation::Paper uses `vary`.
  void mutate(Candidate &candidate, Mutation kind, Rng &rng, Parts vary = {}) const;

private:
  /// SwapParams::keptStates for a share of the largest accelerator memory, if all updated states may stay; if only some
  /// may, fewer of them stay.
  double shareOfStates(double shareOfMemory) const;
  /// The seed with some shares of the states on their devices from step to step.
  std::vector<NamedCandidate> keepingSeeds(const NamedCandidate &seed) const;
  /// The seeds with several ways to use files and to keep states on their devices.
  std::vector<NamedCandidate> tierVariants(const std::vector<NamedCandidate> &seeds) const;
  /// Whether planSwapStays plans for the machine and the placement, and the graph is small enough for it.
  bool plansStays() const;
  PoolLayout layoutOf(const Candidate &candidate) const;
  bool fitPools(Candidate &candidate) const;
  Expected<Plan> plan(const SwapProblem &problem, const Candidate &candidate) const;
  std::shared_ptr<const RecomputedProblem> recompute(Recomputation choice,
                                                     std::optional<RecomputeRecipe> recipe = std::nullopt) const;
  Recomputation choose(const SwapProblem &problem, const RecomputeRecipe &recipe) const;
  void mutateRecomputation(Candidate &candidate, Rng &rng) const;
  void mutatePools(Candidate &candidate, double probability, Rng &rng) const;
  void mutateOffsets(SwapParams &params, Rng &rng) const;
  void mutateStays(SwapParams &params, Rng &rng) const;
  void mutateKeptStates(SwapParams &params, double width, Rng &rng) const;
  void crossPools(Candidate &a, Candidate &b, Rng &rng) const;

  const Graph &graph;
  const Machine &machine;
  const CostTable &costs;
  std::vector<int64_t> capacityBytes;
  std::vector<DeviceId> devices;
  std::vector<std::pair<std::string, Schedule>> starts;
  std::vector<std::vector<int64_t>> sizes; ///< For each memory: TS of SwapAdvisor.
  bool keepsStates = false;                ///< Candidates may keep states on their devices.
  int64_t stateBytes = 0;                  ///< Bytes of the states that a step updates.
};

} // namespace sluice

#endif // SLUICE_LIB_SEARCH_CANDIDATE_H
