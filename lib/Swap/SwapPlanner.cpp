//===- SwapPlanner.cpp - Planners and their steady states -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Swap/SwapPlanner.h"

#include "Placers.h"
#include "StaticLayout.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <functional>

using namespace sluice;
using namespace sluice::swap;

using Placers = std::vector<std::unique_ptr<Placer>>;

/// Every plan passes here, release builds too.
static Expected<Plan> validated(const SwapProblem &problem, Plan plan, std::string solver) {
  plan.solver = std::move(solver);
  Machine limited = problem.machine;
  for (size_t m = 0; m < limited.memories.size(); ++m)
    limited.memories[m].capacityBytes = problem.capacityBytes[m];
  if (Status status = validatePlan(problem.graph, limited, plan); !status)
    return makeError(ErrorCode::Internal, plan.solver, " made an invalid plan: ", status.error().message);
  return plan;
}

/// Packs a memory for which nothing is ever evicted; nullopt where the packing
/// exceeds the capacity.
static std::unique_ptr<Placer> fixedPlacer(const ProblemIndex &index, uint32_t memory, std::span<const Stay> stays,
                                           int64_t capacityBytes, std::vector<Kept> &kept) {
  StaticLayout layout = packStays(index, stays, capacityBytes);
  if (layout.peakBytes > capacityBytes)
    return nullptr;
  std::vector<int64_t> offsets(index.bytes.size(), 0), workspaceOffsets(index.numPositions, 0);
  for (size_t i = 0; i < stays.size(); ++i) {
    const Stay &stay = stays[i];
    if (!stay.tensor.valid()) {
      workspaceOffsets[stay.first] = layout.offsets[i];
      continue;
    }
    offsets[stay.tensor.index()] = layout.offsets[i];
    if (index.isParameter(stay.tensor))
      kept.push_back({stay.tensor, memory, layout.offsets[i], stay.bytes});
  }
  return std::make_unique<FixedPlacer>(std::move(offsets), std::move(workspaceOffsets));
}

/// Where only the host computes, its arena is packed as a whole.
static void packHost(const ProblemIndex &index, StepOptions &options) {
  if (!index.allOnHost())
    return;
  std::vector<Stay> stays = unlimitedStays(index, 0);
  StaticLayout layout = packStays(index, stays, index.problem.capacityBytes[0]);
  if (layout.peakBytes > index.problem.capacityBytes[0])
    return;
  options.hostOffsets.assign(index.bytes.size(), 0);
  options.hostWorkspaceOffsets.assign(index.numPositions, 0);
  for (size_t i = 0; i < stays.size(); ++i)
    if (stays[i].tensor.valid())
      options.hostOffsets[stays[i].tensor.index()] = layout.offsets[i];
    else
      options.hostWorkspaceOffsets[stays[i].first] = layout.offsets[i];
}

/// Operators that fit no memory, named before any work.
static Status checkWorkingSets(const SwapProblem &problem) {
  std::vector<MinimumBytes> minimum = minimumBytes(problem);
  for (size_t m = 1; m < minimum.size(); ++m) {
    int64_t capacity = problem.capacityBytes[m] / kArenaAlignment * kArenaAlignment;
    if (minimum[m].bytes <= capacity)
      continue;
    const std::string &memory = problem.machine.memories[m].name;
    tl::unexpected<Error> error = makeError(ErrorCode::Infeasible, "operator '", problem.graph.op(minimum[m].op).name,
                                            "' needs ", formatBytes(minimum[m].bytes), " at once, memory '", memory,
                                            "' allows ", formatBytes(capacity), ", raise --memory ", memory, " by ",
                                            minimum[m].bytes - capacity, " bytes to at least ", minimum[m].bytes);
    error.value().operators = {minimum[m].op.value};
    return error;
  }
  return {};
}

/// Walks until the parameters in place at the end are those of the start, or
/// `passes` are over; the best walk by its estimated makespan. `always` are
/// kept in every pass.
static Expected<Plan> steadyState(const ProblemIndex &index, const StepOptions &options,
                                  const std::vector<Kept> &always, int passes,
                                  const std::function<Placers()> &makePlacers) {
  std::vector<Kept> initial = always;
  Plan best;
  std::pair<int64_t, int64_t> bestCost; // Nanoseconds, then bytes copied.
  for (int pass = 0; pass < std::max(passes, 1); ++pass) {
    Placers owned = makePlacers();
    std::vector<Placer *> placers;
    for (const std::unique_ptr<Placer> &placer : owned)
      placers.push_back(placer.get());
    StepPlanner planner(index, options);
    if (Status status = planner.run(initial, placers); !status) {
      if (pass == 0)
        return propagate(status);
      break; // An earlier pass has a plan.
    }
    std::vector<Kept> next = pass == 0 ? planner.residentAtEnd() : planner.survivors();
    std::pair cost(planner.makespanNs(), planner.bytesCopied());
    if (pass == 0 || cost < bestCost) {
      bestCost = cost;
      best = planner.takePlan();
    }
    if (next == initial)
      break;
    initial = std::move(next);
  }
  return best;
}

Expected<Plan> sluice::planSwapOffsets(const SwapProblem &problem, const SwapParams &params) {
  if (Status status = check(problem); !status)
    return propagate(status);
  if (Status status = checkWorkingSets(problem); !status)
    return propagate(status);
  ProblemIndex index(problem);
  StepOptions options;
  packHost(index, options);

  // Memories in which all fits are packed; where the liveness peak fits and the
  // packing does not, parameters take the bottom and the rest moves above them.
  std::vector<Kept> always;
  std::vector<std::unique_ptr<Placer>> packed(index.numMemories);
  std::vector<int64_t> base(index.numMemories, 0);
  for (uint32_t m = 1; m < index.numMemories; ++m) {
    int64_t capacity = problem.capacityBytes[m] / kArenaAlignment * kArenaAlignment;
    std::vector<Stay> stays = unlimitedStays(index, m);
    if (peakOfStays(index, stays).first > capacity)
      continue;
    packed[m] = fixedPlacer(index, m, stays, capacity, always);
    if (packed[m])
      continue;
    for (const Stay &stay : stays)
      if (stay.tensor.valid() && index.isParameter(stay.tensor)) {
        always.push_back({stay.tensor, m, base[m], stay.bytes});
        base[m] += stay.bytes;
      }
  }
  auto makePlacers = [&] {
    Placers placers(index.numMemories);
    for (uint32_t m = 1; m < index.numMemories; ++m)
      if (packed[m])
        placers[m] = std::make_unique<FixedPlacer>(static_cast<const FixedPlacer &>(*packed[m]));
      else
        placers[m] = std::make_unique<WindowPlacer>(params, base[m]);
    return placers;
  };
  Expected<Plan> plan = steadyState(index, options, always, params.passes, makePlacers);
  if (!plan)
    return plan;
  return validated(problem, std::move(*plan), "swap=offsets");
}

Expected<Plan> sluice::planSwapPool(const SwapProblem &problem, const PoolLayout &pool, const PoolParams &params) {
  if (Status status = check(problem); !status)
    return propagate(status);
  if (pool.size() != problem.machine.memories.size())
    return makeError(ErrorCode::InvalidInput, "pools for ", pool.size(), " of ", problem.machine.memories.size(),
                     " memories");
  // Objects are listed one by one: more than this is no pool.
  constexpr int64_t kMaxObjects = int64_t(1) << 22;
  for (size_t m = 1; m < pool.size(); ++m) {
    int64_t bytes = 0, objects = 0;
    const std::string &memory = problem.machine.memories[m].name;
    for (size_t c = 0; c < pool[m].size(); ++c) {
      const ObjectClass &entry = pool[m][c];
      if (entry.bytes <= 0 || entry.bytes > int64_t(1) << 62 || entry.count < 0 ||
          (c > 0 && entry.bytes <= pool[m][c - 1].bytes))
        return makeError(ErrorCode::InvalidInput, "size class ", c, " of memory '", memory,
                         "' is malformed, sizes must be positive and ascend, counts not negative");
      bytes = saturatingAdd(bytes, saturatingMul(alignUp(entry.bytes), entry.count));
      objects = saturatingAdd(objects, entry.count);
    }
    if (bytes > problem.capacityBytes[m])
      return makeError(ErrorCode::Infeasible, "the pool of memory '", memory, "' takes ", formatBytes(bytes), ", ",
                       bytes - problem.capacityBytes[m], " bytes above the ", formatBytes(problem.capacityBytes[m]),
                       " allowed, lower its counts");
    if (objects > kMaxObjects)
      return makeError(ErrorCode::Unsupported, "the pool of memory '", memory, "' has ", objects,
                       " objects, use at most ", kMaxObjects);
  }
  ProblemIndex index(problem);
  StepOptions options;
  options.copyOutAfterLastUse = true;
  options.cyclicNextUse = params.cyclicNextUse;
  options.lazyOutputs = params.lazyOutputs;
  packHost(index, options);
  auto makePlacers = [&] {
    Placers placers(index.numMemories);
    for (uint32_t m = 1; m < index.numMemories; ++m)
      placers[m] = std::make_unique<PoolPlacer>(pool[m], params);
    return placers;
  };
  Expected<Plan> plan = steadyState(index, options, {}, params.passes, makePlacers);
  if (!plan)
    return plan;
  return validated(problem, std::move(*plan), "swap=pool");
}

std::vector<int64_t> sluice::tensorSizes(const SwapProblem &problem, MemoryId memory) {
  std::vector<int64_t> sizes;
  for (const OperatorId op : problem.order) {
    if (problem.machine.device(problem.placement[op.index()]).memory != memory)
      continue;
    const Operator &o = problem.graph.op(op);
    for (const std::vector<TensorId> *list : {&o.inputs, &o.outputs})
      for (TensorId t : *list)
        sizes.push_back(alignUp(problem.graph.tensor(t).bytes));
    sizes.push_back(alignUp(o.workspaceBytes));
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (!sizes.empty() && sizes.front() == 0)
    sizes.erase(sizes.begin());
  return sizes;
}

std::vector<int64_t> sluice::minimumObjects(const SwapProblem &problem, MemoryId memory,
                                            const std::vector<int64_t> &objectBytes) {
  std::vector<int64_t> most(objectBytes.size(), 0), here(objectBytes.size(), 0);
  for (const OperatorId op : problem.order) {
    if (problem.machine.device(problem.placement[op.index()]).memory != memory)
      continue;
    std::fill(here.begin(), here.end(), 0);
    auto count = [&](int64_t bytes) {
      auto at = std::lower_bound(objectBytes.begin(), objectBytes.end(), alignUp(bytes));
      if (bytes > 0 && at != objectBytes.end())
        ++here[static_cast<size_t>(at - objectBytes.begin())];
    };
    const Operator &o = problem.graph.op(op);
    for (const std::vector<TensorId> *list : {&o.inputs, &o.outputs})
      for (TensorId t : *list)
        count(problem.graph.tensor(t).bytes);
    count(o.workspaceBytes);
    for (size_t c = 0; c < most.size(); ++c)
      most[c] = std::max(most[c], here[c]);
  }
  return most;
}

Expected<Plan> sluice::planOdSwap(const SwapProblem &problem) {
  if (Status status = check(problem); !status)
    return propagate(status);
  if (Status status = checkWorkingSets(problem); !status)
    return propagate(status);
  ProblemIndex index(problem);
  StepOptions options;
  options.copyOutAfterLastUse = true;
  packHost(index, options);
  auto makePlacers = [&] {
    Placers placers(index.numMemories);
    for (uint32_t m = 1; m < index.numMemories; ++m)
      placers[m] = std::make_unique<LruPlacer>();
    return placers;
  };
  Expected<Plan> plan = steadyState(index, options, {}, 2, makePlacers);
  if (!plan)
    return plan;
  return validated(problem, std::move(*plan), "swap=odswap");
}

Expected<Plan> sluice::planIdeal(const SwapProblem &problem) {
  SwapProblem unlimited = problem;
  unlimited.capacityBytes.assign(problem.machine.memories.size(), int64_t(1) << 62);
  Expected<Plan> plan = planSwapOffsets(unlimited);
  if (plan)
    plan->solver = "swap=ideal";
  return plan;
}
