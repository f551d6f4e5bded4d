//===- Candidate.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Candidate.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice {

/// The paper's starting point for every mutation, and our choice for the width
/// it does not give.
static constexpr double kPaperProbability = 0.1;
static constexpr double kCountSigma = 0.25;

CandidateSpace::CandidateSpace(const Graph &graph, const Machine &machine, const CostTable &costs,
                               std::vector<int64_t> capacityBytes, std::vector<DeviceId> placement,
                               const Schedule &placementOrder)
    : graph(graph), machine(machine), costs(costs), capacityBytes(std::move(capacityBytes)),
      devices(std::move(placement)) {
  const std::span<const Operator> ops = graph.operators();
  const bool communicates = std::any_of(ops.begin(), ops.end(), [](const Operator &op) { return op.communicates; });
  std::pair<const char *, Schedule> all[] = {
      {"overlapping", communicates ? overlappingOrder(graph, costs, devices, modelOrder(graph)) : Schedule()},
      {"placement", placementOrder},
      {"model", modelOrder(graph)},
      {"updates-together", updatesTogetherOrder(graph, modelOrder(graph))},
      {"memory-aware", memoryAwareOrder(graph)},
      {"depth-first", depthFirstOrder(graph)},
      {"critical-path", criticalPathOrder(graph, costs, devices)}};
  auto mayStart = [&](const Schedule &order) {
    return order.size() == graph.numOperators() && (!graph.keepsOrder || order == modelOrder(graph)) &&
           std::none_of(starts.begin(), starts.end(), [&](const auto &start) { return start.second == order; });
  };
  for (auto &[name, order] : all)
    if (mayStart(order))
      starts.emplace_back(name, std::move(order));
  keepsStates = mayKeepStates(graph, machine);
  for (const Tensor &tensor : graph.tensors())
    if (tensor.kind == TensorKind::State && tensor.updatedBy.valid())
      stateBytes = saturatingAdd(stateBytes, tensor.bytes);
  sizes.resize(machine.memories.size());
  SwapProblem problem = problemFor(starts.front().second);
  for (uint32_t m = 1; m < sizes.size(); ++m) {
    sizes[m] = tensorSizes(problem, MemoryId(m));
    std::erase(sizes[m], 0);
  }
}

SwapProblem CandidateSpace::problemFor(const Schedule &order) const {
  return {graph, machine, costs, devices, order, capacityBytes};
}

std::vector<NamedCandidate> CandidateSpace::offsetSeeds() const {
  static constexpr std::pair<const char *, EvictionPolicy> kPolicies[] = {
      {"cost-aware", EvictionPolicy::CostAware},
      {"earliest-available", EvictionPolicy::EarliestAvailable},
      {"belady", EvictionPolicy::Belady},
      {"lru", EvictionPolicy::LeastRecentlyUsed}};
  std::vector<NamedCandidate> seeds;
  // Along diagonals: a budget that ends early has seen the likely ones of both.
  for (size_t sum = 0; sum + 1 < starts.size() + std::size(kPolicies); ++sum)
    for (size_t i = 0; i < starts.size() && i <= sum; ++i) {
      if (sum - i >= std::size(kPolicies))
        continue;
      const auto &[policyName, policy] = kPolicies[sum - i];
      Candidate candidate;
      candidate.order = starts[i].second;
      candidate.offsets.eviction = policy;
      seeds.push_back({concat("offsets/", policyName, "/", starts[i].first), candidate});
      if (policy != EvictionPolicy::CostAware)
        continue;
      candidate.offsets.inPlace = true;
      seeds.push_back({concat("offsets/in-place/", starts[i].first), std::move(candidate)});
    }
  if (machine.hasFiles())
    return tierVariants(seeds);
  if (keepsStates) {
    // The model's order, with results in place: what the updates of states need.
    const std::vector<NamedCandidate> keeping = keepingSeeds(seeds[1]);
    seeds.insert(seeds.begin() + 2, keeping.begin(), keeping.end());
  }
  return seeds;
}

double CandidateSpace::shareOfStates(double shareOfMemory) const {
  int64_t largest = 0;
  for (size_t m = 1; m < capacityBytes.size(); ++m)
    largest = std::max(largest, capacityBytes[m]);
  if (stateBytes == 0)
    return 0;
  return std::min(1.0, shareOfMemory * static_cast<double>(largest) / static_cast<double>(stateBytes));
}

std::vector<NamedCandidate> CandidateSpace::keepingSeeds(const NamedCandidate &seed) const {
  // Of a share for which there is no room, the planner takes the half, and so on.
  static constexpr double kShares[] = {1, 0.1};
  std::vector<NamedCandidate> keeping;
  for (double share : kShares) {
    NamedCandidate &varied = keeping.emplace_back(seed);
    varied.name += concat("/keep-", share);
    varied.genes.offsets.keptStates = share;
  }
  static constexpr double kSpread = 0.6;
  NamedCandidate &spread = keeping.emplace_back(seed);
  spread.name += concat("/spread-", kSpread);
  spread.genes.offsets.keptStates = shareOfStates(kSpread);
  spread.genes.offsets.keptChoice = StateChoice::Spread;
  return keeping;
}

bool CandidateSpace::plansStays() const {
  // Packing takes quadratic time, so that other plans of large graphs are worth more.
  static constexpr size_t kMostOperators = 8000;
  return graph.numOperators() <= kMostOperators && !machine.hasFiles() && !devices.empty() &&
         machine.device(devices.front()).memory != Machine::hostMemory() &&
         std::all_of(devices.begin(), devices.end(), [&](DeviceId device) { return device == devices.front(); });
}

std::vector<NamedCandidate> CandidateSpace::staySeeds() const {
  std::vector<NamedCandidate> seeds;
  if (!plansStays())
    return seeds;
  // Other orders are for the search: here they are rarely better.
  static constexpr size_t kOrders = 2;
  struct Shares {
    double kept;      ///< Of the memory, states that always stay, spread over the order of updates.
    double resting;   ///< SwapParams::restingStates.
    double presence;  ///< SwapParams::presence.
    double edges = 0; ///< SwapParams::keptStates, chosen at the edges.
  };
  static constexpr Shares kShares[] = {{0, 0, 1},     {0, 0, 1, 0.1},  {0, 0.4, 0.75}, {0.3, 0.4, 0.75},
                                       {0.6, 0, 0.9}, {0.6, 0.2, 0.9}, {0, 0.8, 0.65}};
  for (const Shares &shares : kShares)
    for (size_t i = 0; i < std::min(kOrders, starts.size()); ++i) {
      if (!keepsStates && shares.kept + shares.resting + shares.edges > 0)
        continue;
      const auto &[orderName, order] = starts[i];
      NamedCandidate &seed = seeds.emplace_back();
      seed.genes.order = order;
      seed.genes.allocator = Allocator::Stays;
      SwapParams &params = seed.genes.offsets;
      params.passes = 5;
      params.idleWeight = 0.5;
      params.keptStates = shares.kept > 0 ? shareOfStates(shares.kept) : shares.edges;
      params.keptChoice = shares.kept > 0 ? StateChoice::Spread : StateChoice::Edges;
      params.restingStates = shares.resting;
      params.presence = shares.presence;
      seed.name = concat("stays/", orderName);
      auto append = [&](const char *what, double share, double usual) {
        if (share != usual)
          seed.name += concat("/", what, "-", share);
      };
      append("keep", shares.edges, 0);
      append("spread", shares.kept, 0);
      append("rest", shares.resting, 0);
      append("presence", shares.presence, 1);
    }
  return seeds;
}

std::vector<NamedCandidate> CandidateSpace::tierVariants(const std::vector<NamedCandidate> &seeds) const {
  struct Variant {
    const char *name;
    double keptStates;
    FileDivision division;
    double homesOnHost;
  };
  static constexpr Variant kVariants[] = {
      {"/latest", 0.25, FileDivision::Latest, 1},      {"/from-begin", 0.25, FileDivision::FromBegin, 1},
      {"/from-end", 0, FileDivision::FromEnd, 1},      {"/from-begin-late", 0.1, FileDivision::FromBeginLate, 0.5},
      {"/longest/keep", 1, FileDivision::Longest, 1},  {"/from-begin/keep", 1, FileDivision::FromBegin, 0},
      {"/latest/half", 0.5, FileDivision::Latest, 0.5}};
  // A budget that ends early has seen every order.
  std::vector<NamedCandidate> all, others;
  for (const Variant &variant : kVariants)
    for (const NamedCandidate &seed : seeds) {
      const bool isLikely = seed.genes.offsets.eviction == EvictionPolicy::CostAware;
      // Other policies than the likely one see one variant.
      if (!isLikely && &variant != kVariants)
        continue;
      NamedCandidate &varied = (isLikely ? all : others).emplace_back(seed);
      varied.name += variant.name;
      varied.genes.offsets.keptStates = variant.keptStates;
      varied.genes.offsets.division = variant.division;
      varied.genes.offsets.homesOnHost = variant.homesOnHost;
    }
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::vector<NamedCandidate> CandidateSpace::poolSeeds(EvictionPolicy policy) const {
  // Whether a size, after the one before it, opens a class of its own.
  using Opens = bool (*)(int64_t, int64_t);
  static constexpr std::pair<const char *, Opens> kShapes[] = {
      {"one-class", [](int64_t, int64_t) { return false; }},
      {"powers",
       [](int64_t before, int64_t size) { return std::bit_width(uint64_t(before)) != std::bit_width(uint64_t(size)); }},
      {"class-per-size", [](int64_t, int64_t) { return true; }}};
  // More objects than tensors are of no use.
  const int64_t plenty = static_cast<int64_t>(graph.numTensors() + graph.numOperators());
  const char *prefix = policy == EvictionPolicy::CostAware ? "weighed-pools/" : "pools/";
  std::vector<NamedCandidate> seeds;
  for (const auto &[shapeName, opens] : kShapes) {
    Candidate candidate;
    candidate.allocator = Allocator::Pools;
    candidate.offsets.eviction = policy;
    candidate.pools.resize(sizes.size());
    for (size_t m = 1; m < sizes.size(); ++m) {
      PoolConfig &pool = candidate.pools[m];
      pool.sizes = sizes[m];
      for (size_t i = 0; i < pool.sizes.size(); ++i)
        pool.classes.push_back(i == 0 ? 1 : pool.classes.back() + opens(pool.sizes[i - 1], pool.sizes[i]));
      if (!pool.classes.empty())
        pool.counts.assign(static_cast<size_t>(pool.classes.back()), plenty);
    }
    if (!fitPools(candidate))
      continue;
    for (const auto &[orderName, order] : starts) {
      candidate.order = order;
      seeds.push_back({concat(prefix, shapeName, "/", orderName), candidate});
    }
  }
  return seeds;
}

std::vector<NamedCandidate> CandidateSpace::recomputingSeeds(const Budget &budget) const {
  // Stretches as parts of the memory; worth as multiples of copying out and in.
  static constexpr double kStretches[] = {0.0625, 0.25, 0.015625, 0.125, 0.03125};
  static constexpr double kWorths[] = {0.3, 0.1, 1000, 0.03, 1};
  const SwapProblem problem = problemFor(starts.front().second);
  const std::vector<int64_t> peaks = livenessPeakBytes(problem);
  std::vector<NamedCandidate> seeds;
  for (uint32_t m = 1; m < machine.memories.size(); ++m) {
    const LinkId link = machine.findLink(Machine::hostMemory(), MemoryId(m));
    if (peaks[m] <= capacityBytes[m] || !link.valid())
      continue;
    std::vector<Recomputation> known;
    for (double worth : kWorths)
      for (double stretch : kStretches) {
        if (budget.mustStop())
          return seeds;
        const RecomputeRecipe recipe{MemoryId(m), worth, stretch};
        Recomputation choice = choose(problem, recipe);
        if (choice.again.empty() || std::find(known.begin(), known.end(), choice) != known.end())
          continue;
        known.push_back(choice);
        Candidate candidate;
        candidate.order = starts.front().second;
        candidate.recomputed = recompute(std::move(choice), recipe);
        candidate.offsets.keptStates = machine.hasFiles() ? 0.25 : 0;
        seeds.push_back({concat("recompute/", machine.memories[m].name, "/", worth, "/", stretch), candidate});
      }
  }
  return seeds;
}

Recomputation CandidateSpace::choose(const SwapProblem &problem, const RecomputeRecipe &recipe) const {
  const Link &link = machine.link(machine.findLink(Machine::hostMemory(), recipe.memory));
  RecomputeParams params;
  params.stretchBytes =
      static_cast<int64_t>(recipe.stretch * static_cast<double>(capacityBytes[recipe.memory.index()]));
  params.nsPerByte = recipe.worth * 2e9 / link.bytesPerSec;
  return chooseRecomputation(problem, recipe.memory, params);
}

std::optional<Candidate> CandidateSpace::recomputing(const Candidate &candidate, const RecomputeRecipe &recipe) const {
  Candidate result = candidate;
  result.recomputed = recompute(choose(problemFor(starts.front().second), recipe), recipe);
  if (!result.recomputed)
    return std::nullopt;
  return result;
}

std::optional<Candidate> CandidateSpace::recomputingAs(const Plan &plan) const {
  Candidate candidate;
  candidate.order = starts.front().second;
  candidate.recomputed = recompute(recomputationOf(graph, plan));
  if (!candidate.recomputed)
    return std::nullopt;
  return candidate;
}

std::optional<Candidate> CandidateSpace::extended(const Candidate &candidate, const FoldedGraph &folded) const {
  if (candidate.allocator == Allocator::Stays && !plansStays())
    return std::nullopt;
  Candidate result = candidate;
  result.order = folded.expandOrder(candidate.order);
  if (candidate.recomputed)
    result.recomputed = recompute(folded.expandRecomputation(candidate.recomputed->choice));
  // Classes are for the sizes of the small graph.
  for (size_t m = 1; m < result.pools.size(); ++m)
    if (result.pools[m].sizes != sizes[m])
      return std::nullopt;
  if (!fitPools(result))
    return std::nullopt;
  return result;
}

std::shared_ptr<const RecomputedProblem> CandidateSpace::recompute(Recomputation choice,
                                                                   std::optional<RecomputeRecipe> recipe) const {
  RecomputedGraph expanded(graph, costs, choice);
  choice.again = expanded.again();
  if (choice.again.empty())
    return nullptr;
  return std::make_shared<RecomputedProblem>(RecomputedProblem{std::move(choice), std::move(expanded), recipe});
}

Expected<Plan> CandidateSpace::plan(const Candidate &candidate) const {
  if (!candidate.recomputed)
    return plan(problemFor(candidate.order), candidate);
  const RecomputedGraph &expanded = candidate.recomputed->graph;
  return plan({expanded.graph(), machine, expanded.costs(), expanded.placement(devices),
               expanded.order(candidate.order), capacityBytes},
              candidate)
      .map([&](Plan plan) { return expanded.planOfFirst(std::move(plan)); });
}

Expected<Plan> CandidateSpace::plan(const SwapProblem &problem, const Candidate &candidate) const {
  if (candidate.allocator == Allocator::Offsets)
    return planSwapOffsets(problem, candidate.offsets);
  if (candidate.allocator == Allocator::Stays)
    return planSwapStays(problem, candidate.offsets);
  PoolParams params;
  params.costAware = candidate.offsets.eviction == EvictionPolicy::CostAware;
  params.stallWeight = candidate.offsets.stallWeight;
  params.idleWeight = candidate.offsets.idleWeight;
  params.distanceExponent = candidate.offsets.distanceExponent;
  params.inPlace = candidate.offsets.inPlace;
  if (candidate.allocator == Allocator::FreePools)
    for (const FreePool &pool : candidate.freePools)
      params.classOfSize.push_back(classOfSize(pool));
  return planSwapPool(problem, layoutOf(candidate), params);
}

PoolLayout CandidateSpace::layoutOf(const Candidate &candidate) const {
  PoolLayout layout(sizes.size());
  for (size_t m = 1; m < layout.size(); ++m) {
    if (candidate.allocator == Allocator::FreePools) {
      layout[m] = ::sluice::layoutOf(candidate.freePools[m]);
      continue;
    }
    const PoolConfig &pool = candidate.pools[m];
    std::vector<int64_t> bytes = classBytes(pool);
    for (size_t c = 0; c < bytes.size(); ++c)
      layout[m].push_back({bytes[c], pool.counts[c]});
  }
  return layout;
}

Candidate CandidateSpace::randomPools(Rng &rng) const {
  Candidate candidate;
  candidate.allocator = Allocator::Pools;
  candidate.offsets.eviction = EvictionPolicy::Belady;
  candidate.order = graph.keepsOrder ? starts.front().second : mutateOrder(graph, starts.front().second, 1.0, rng);
  candidate.pools.resize(sizes.size());
  for (size_t m = 1; m < sizes.size(); ++m) {
    PoolConfig &pool = candidate.pools[m];
    pool.sizes = sizes[m];
    for (size_t i = 0; i < pool.sizes.size(); ++i)
      pool.classes.push_back(i == 0 ? 1 : pool.classes.back() + static_cast<int32_t>(rng.below(2)));
    const std::vector<int64_t> bytes = classBytes(pool);
    std::vector<double> shares;
    double total = 0;
    for (size_t c = 0; c < bytes.size(); ++c) {
      shares.push_back(-std::log1p(-rng.uniform()));
      total += shares.back();
    }
    const double most = static_cast<double>(graph.numTensors() + graph.numOperators());
    for (size_t c = 0; c < bytes.size(); ++c) {
      double share = shares[c] / std::max(total, 1e-300) * static_cast<double>(capacityBytes[m]);
      pool.counts.push_back(static_cast<int64_t>(std::clamp(share / static_cast<double>(bytes[c]), 1.0, most)));
    }
  }
  // Where these classes cannot fit, planning says why.
  fitPools(candidate);
  return candidate;
}

/// Lowers counts to the capacity, but not below what some operator needs; false
/// where that is too much.
bool CandidateSpace::fitPools(Candidate &candidate) const {
  // Needs do not depend on the order; any serves.
  SwapProblem problem = problemFor(starts.front().second);
  for (uint32_t m = 1; m < candidate.freePools.size(); ++m)
    if (!candidate.freePools[m].sizes.empty() && !fit(candidate.freePools[m], problem, MemoryId(m)))
      return false;
  for (uint32_t m = 1; m < candidate.pools.size(); ++m) {
    PoolConfig &pool = candidate.pools[m];
    if (pool.sizes.empty())
      continue;
    std::vector<int64_t> least = minimumObjects(problem, MemoryId(m), classBytes(pool));
    for (size_t c = 0; c < least.size(); ++c)
      pool.counts[c] = std::max(pool.counts[c], least[c]);
    if (!repairCounts(pool, capacityBytes[m], least))
      return false;
  }
  return true;
}

void CandidateSpace::crossPools(Candidate &a, Candidate &b, Rng &rng) const {
  for (size_t m = 1; m < sizes.size(); ++m) {
    if (sizes[m].empty())
      continue;
    const size_t point = rng.below(sizes[m].size() + 1);
    auto cross = [&](auto &one, auto &other) {
      const auto first = one, second = other;
      one = ::sluice::crossover(first, second, point);
      other = ::sluice::crossover(second, first, point);
    };
    if (a.allocator == Allocator::FreePools)
      cross(a.freePools[m], b.freePools[m]);
    else
      cross(a.pools[m], b.pools[m]);
  }
  fitPools(a);
  fitPools(b);
}

std::vector<Candidate> CandidateSpace::crossover(const Candidate &mother, const Candidate &father, Rng &rng,
                                                 Parts vary) const {
  Candidate a = mother, b = father;
  if (vary.allocation && a.allocator == b.allocator) {
    if (a.allocator == Allocator::Pools || a.allocator == Allocator::FreePools)
      crossPools(a, b, rng);
    auto maybeSwap = [&](auto &x, auto &y) {
      if (rng.chance(0.5))
        std::swap(x, y);
    };
    maybeSwap(a.offsets.eviction, b.offsets.eviction);
    maybeSwap(a.offsets.stallWeight, b.offsets.stallWeight);
    maybeSwap(a.offsets.idleWeight, b.offsets.idleWeight);
    maybeSwap(a.offsets.distanceExponent, b.offsets.distanceExponent);
    maybeSwap(a.offsets.passes, b.offsets.passes);
    maybeSwap(a.offsets.inPlace, b.offsets.inPlace);
    if ((machine.hasFiles() || keepsStates) && rng.chance(0.5)) {
      std::swap(a.offsets.keptStates, b.offsets.keptStates);
      std::swap(a.offsets.keptChoice, b.offsets.keptChoice);
    }
    if (a.allocator == Allocator::Stays) {
      maybeSwap(a.offsets.restingStates, b.offsets.restingStates);
      maybeSwap(a.offsets.presence, b.offsets.presence);
    }
    if (machine.hasFiles()) {
      maybeSwap(a.offsets.division, b.offsets.division);
      maybeSwap(a.offsets.homesOnHost, b.offsets.homesOnHost);
    }
  }
  if (vary.allocation && rng.chance(0.5))
    std::swap(a.recomputed, b.recomputed);
  const size_t point = rng.below(mother.order.size() + 1);
  std::vector<Schedule> orders = {mother.order};
  if (vary.order)
    orders = {crossoverOrders(mother.order, father.order, point), crossoverOrders(father.order, mother.order, point)};
  std::vector<const Candidate *> allocations = {&a};
  if (vary.allocation)
    allocations.push_back(&b);
  std::vector<Candidate> children;
  for (const Schedule &order : orders)
    for (const Candidate *allocation : allocations) {
      children.push_back(*allocation);
      children.back().order = order;
    }
  return children;
}

void CandidateSpace::mutatePools(Candidate &candidate, double probability, Rng &rng) const {
  for (FreePool &pool : candidate.freePools)
    if (!pool.sizes.empty())
      ::sluice::mutate(pool, probability, kCountSigma, rng);
  for (PoolConfig &pool : candidate.pools) {
    if (pool.sizes.empty())
      continue;
    mutateClasses(pool, probability, rng);
    mutateCounts(pool, probability, kCountSigma, rng);
  }
  fitPools(candidate);
}

void CandidateSpace::mutateKeptStates(SwapParams &params, double width, Rng &rng) const {
  params.keptStates = std::clamp(params.keptStates + width * rng.normal(), 0.0, 1.0);
  if (rng.chance(0.25))
    params.keptChoice = params.keptChoice == StateChoice::Edges ? StateChoice::Spread : StateChoice::Edges;
}

void CandidateSpace::mutateOffsets(SwapParams &params, Rng &rng) const {
  auto scale = [&](double &value) { value = std::clamp(value * std::exp(0.7 * rng.normal()), 1e-3, 1e3); };
  if (machine.hasFiles() && rng.chance(0.3)) {
    auto move = [&](double &share) { share = std::clamp(share + 0.2 * rng.normal(), 0.0, 1.0); };
    switch (rng.below(3)) {
    case 0:
      return move(params.keptStates);
    case 1:
      return move(params.homesOnHost);
    default:
      params.division = static_cast<FileDivision>(rng.below(kNumFileDivisions));
      return;
    }
  }
  // Where keeping states does not pay, the rest of the search does not vary it.
  if (!machine.hasFiles() && params.keptStates > 0 && rng.chance(0.2)) {
    mutateKeptStates(params, 0.2, rng);
    return;
  }
  const bool weighs = params.eviction == EvictionPolicy::CostAware;
  switch (weighs ? rng.below(7) : rng.below(3)) {
  case 0:
    params.passes = 1 + static_cast<int>(rng.below(5));
    break;
  case 1:
    params.eviction = static_cast<EvictionPolicy>(rng.below(4));
    break;
  case 2:
    params.inPlace = !params.inPlace;
    break;
  case 3:
    params.distanceExponent = std::clamp(params.distanceExponent + 0.25 * rng.normal(), 0.0, 3.0);
    break;
  case 4:
    scale(params.idleWeight);
    break;
  default:
    scale(params.stallWeight);
    break;
  }
}

void CandidateSpace::mutateStays(SwapParams &params, Rng &rng) const {
  auto scale = [&](double &value) { value = std::clamp(value * std::exp(0.7 * rng.normal()), 1e-3, 1e3); };
  switch (rng.below(keepsStates ? 6 : 4)) {
  case 0:
    params.passes = 1 + static_cast<int>(rng.below(8));
    break;
  case 1:
    scale(params.stallWeight);
    break;
  case 2:
    scale(params.idleWeight);
    break;
  case 3:
    params.presence = std::clamp(params.presence + 0.1 * rng.normal(), 0.3, 1.0);
    break;
  case 4:
    mutateKeptStates(params, 0.05, rng);
    break;
  default:
    params.restingStates = std::clamp(params.restingStates + 0.15 * rng.normal(), 0.0, 1.0);
    break;
  }
}

void CandidateSpace::mutateRecomputation(Candidate &candidate, Rng &rng) const {
  Recomputation choice = candidate.recomputed->choice;
  // Few at a time; whole runs of neighbours, which share what they read.
  const size_t at = rng.below(choice.again.size());
  const size_t count = std::min<size_t>(choice.again.size() - at, size_t(1) << rng.below(4));
  choice.again.erase(choice.again.begin() + static_cast<ptrdiff_t>(at),
                     choice.again.begin() + static_cast<ptrdiff_t>(at + count));
  candidate.recomputed = recompute(std::move(choice), candidate.recomputed->recipe);
}

void CandidateSpace::mutate(Candidate &candidate, Mutation kind, Rng &rng, Parts vary) const {
  auto mutateAllocation = [&](double probability) {
    if (candidate.allocator == Allocator::Stays)
      return mutateStays(candidate.offsets, rng);
    // The paper's planner has no weights to vary.
    const bool weighs = candidate.allocator == Allocator::Offsets || kind != Mutation::Paper;
    if (candidate.allocator == Allocator::Offsets || (weighs && rng.chance(0.3)))
      mutateOffsets(candidate.offsets, rng);
    else
      mutatePools(candidate, probability, rng);
  };
  auto moveSome = [&](uint64_t most) {
    for (uint64_t moves = 1 + rng.below(most); moves > 0; --moves)
      candidate.order = moveOne(graph, candidate.order, rng);
  };
  if (candidate.recomputed && rng.chance(0.25))
    return mutateRecomputation(candidate, rng);
  if (graph.keepsOrder)
    return mutateAllocation(kPaperProbability);
  switch (kind) {
  case Mutation::Paper:
    if (vary.order)
      candidate.order = mutateOrder(graph, candidate.order, kPaperProbability, rng);
    if (vary.allocation)
      mutateAllocation(kPaperProbability);
    return;
  case Mutation::Mixed: {
    double dice = rng.uniform();
    if (dice < 0.4) {
      moveSome(8);
    } else if (dice < 0.7) {
      // A few places on average, however long the order is.
      double places = std::exp2(1 + static_cast<double>(rng.below(6)));
      double probability = std::min(kPaperProbability, places / static_cast<double>(candidate.order.size() + 1));
      candidate.order = mutateOrder(graph, candidate.order, probability, rng);
    } else if (dice < 0.75) {
      candidate.order = mutateOrder(graph, candidate.order, kPaperProbability, rng);
    }
    if (dice >= 0.75 || rng.chance(0.5))
      mutateAllocation(kPaperProbability);
    return;
  }
  case Mutation::Small:
    if (rng.chance(0.6))
      moveSome(3);
    else
      mutateAllocation(1.0 / 16);
    return;
  }
}

} // namespace sluice
