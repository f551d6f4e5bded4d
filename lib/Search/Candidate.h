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
#include "sluice/Swap/Recompute.h"
#include "sluice/Swap/SwapPlanner.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

enum class Allocator : uint8_t { Offsets, Pools, FreePools };

/// What runs again, and the graph in which it does.
struct RecomputedProblem {
  Recomputation choice;
  RecomputedGraph graph;
};

/// SwapAdvisor's individual (SCH, CLS, CNT), with free addresses and an eviction
/// policy as an alternative to the pools, and operators that run again.
struct Candidate {
  Schedule order; ///< Of first runs.
  Allocator allocator = Allocator::Offsets;
  /// Read for Offsets; for pools only whether and how evictions are weighed: any
  /// policy but CostAware is the paper's planner.
  SwapParams offsets;
  std::vector<PoolConfig> pools;   ///< Per memory; read for Pools. Empty for the host.
  std::vector<FreePool> freePools; ///< Likewise, for FreePools.
  /// Null: every operator runs once.
  std::shared_ptr<const RecomputedProblem> recomputed;
};

struct NamedCandidate {
  std::string name;
  Candidate genes;
};

/// How far children stray from their parents.
enum class Mutation : uint8_t {
  Paper, ///< SwapAdvisor's: each step of everything with probability 0.1.
  Mixed, ///< Mostly a few moves; sometimes the paper's, of varied strength.
  Small, ///< One thing.
};

/// What of a candidate varies: SwapAdvisor's ablations hold one part.
struct Parts {
  bool order = true, allocation = true;
};

/// Plans and varies candidates for one placement. Thread-safe.
class CandidateSpace {
public:
  /// The problem is checked. `placementOrder` is one more order to start from,
  /// or empty.
  CandidateSpace(const Graph &graph, const Machine &machine, const CostTable &costs, std::vector<int64_t> capacityBytes,
                 std::vector<DeviceId> placement, const Schedule &placementOrder);

  const std::vector<DeviceId> &placement() const { return devices; }
  SwapProblem problemFor(const Schedule &order) const;
  /// Distinct orders with their names, the most promising first: overlapping (of
  /// programs that communicate), the placement's, the model's, memory-aware,
  /// depth-first, critical-path.
  const std::vector<std::pair<std::string, Schedule>> &orders() const { return starts; }

  /// Every order with every eviction policy, the likely ones first.
  std::vector<NamedCandidate> offsetSeeds() const;
  /// Every order with each of three pools: one class, powers of two, one class
  /// a size. Pools that the capacity cannot hold are left out.
  std::vector<NamedCandidate> poolSeeds(EvictionPolicy policy) const;
  /// The first order with choices of what to run again, the likely ones first; as
  /// many as there is time for.
  std::vector<NamedCandidate> recomputingSeeds(const Budget &budget) const;
  /// The first order, running again what a plan does; nothing where it does not.
  std::optional<Candidate> recomputingAs(const Plan &plan) const;
  /// Random ready operators one after the other; random classes, of random
  /// shares of the memory. The paper's planner.
  Candidate randomPools(Rng &rng) const;

  Expected<Plan> plan(const Candidate &candidate) const;

  /// Two orders x two allocations (SwapAdvisor, section 5.1); of a part that
  /// does not vary, the mother's alone.
  std::vector<Candidate> crossover(const Candidate &mother, const Candidate &father, Rng &rng, Parts vary = {}) const;
  /// `vary` is heeded by Mutation::Paper.
  void mutate(Candidate &candidate, Mutation kind, Rng &rng, Parts vary = {}) const;

private:
  /// The seeds with several ways to use files and to keep states on their devices.
  std::vector<NamedCandidate> tierVariants(const std::vector<NamedCandidate> &seeds) const;
  PoolLayout layoutOf(const Candidate &candidate) const;
  bool fitPools(Candidate &candidate) const;
  Expected<Plan> plan(const SwapProblem &problem, const Candidate &candidate) const;
  std::shared_ptr<const RecomputedProblem> recompute(Recomputation choice) const;
  void mutateRecomputation(Candidate &candidate, Rng &rng) const;
  void mutatePools(Candidate &candidate, double probability, Rng &rng) const;
  void mutateOffsets(SwapParams &params, Rng &rng) const;
  void crossPools(Candidate &a, Candidate &b, Rng &rng) const;

  const Graph &graph;
  const Machine &machine;
  const CostTable &costs;
  std::vector<int64_t> capacityBytes;
  std::vector<DeviceId> devices;
  std::vector<std::pair<std::string, Schedule>> starts;
  std::vector<std::vector<int64_t>> sizes; ///< Per memory: SwapAdvisor's TS.
};

} // namespace sluice

#endif // SLUICE_LIB_SEARCH_CANDIDATE_H
