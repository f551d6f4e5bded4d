//===- SwapPlanner.cpp - Planners and their steady states -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Swap/SwapPlanner.h"

#include "Placers.h"
#include "StaticLayout.h"
#include "Tiers.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <functional>
#include <optional>

using namespace sluice;
using namespace sluice::swap;

using Placers = std::vector<std::unique_ptr<Placer>>;

Expected<Plan> swap::validated(const SwapProblem &problem, Plan plan, std::string solver) {
  plan.solver = std::move(solver);
  // Arenas keep their limits; homes that must be in the host's memory may not.
  if (const int64_t used = plan.bytesUsed(problem.graph, problem.machine)[0]; used > problem.capacityBytes[0]) {
    const std::string &host = problem.machine.memory(Machine::hostMemory()).name;
    return makeError(ErrorCode::Infeasible, "the arena and the permanent copies (homes) of tensors need ",
                     formatBytes(used), ", and the limit of memory '", host, "' is ",
                     formatBytes(problem.capacityBytes[0]), ", raise '--memory ", host, "' by at least ",
                     used - problem.capacityBytes[0], " bytes");
  }
  Machine limited = problem.machine;
  for (size_t m = 0; m < limited.memories.size(); ++m)
    limited.memories[m].capacityBytes = problem.capacityBytes[m];
  if (Status status = validatePlanOfChecked(problem.graph, limited, plan); !status)
    return makeError(ErrorCode::Internal, plan.solver, " made an invalid plan: ", status.error().message,
                     ", this is a bug of Sluice, please report it");
  return plan;
}

/// The placer of a layout of a memory's stays; its parameters join `parameters`.
static std::unique_ptr<FixedPlacer> placeStays(const ProblemIndex &index, MemoryId memory,
                                               const std::vector<Stay> &stays, const StaticLayout &layout,
                                               std::vector<ResidentParameter> &parameters) {
  std::vector<int64_t> offsets(index.bytes.size(), 0), workspaceOffsets(index.numPositions, 0);
  for (size_t i = 0; i < stays.size(); ++i) {
    const Stay &stay = stays[i];
    if (!stay.tensor.valid()) {
      workspaceOffsets[stay.first.index()] = layout.offsets[i];
      continue;
    }
    offsets[stay.tensor.index()] = layout.offsets[i];
    if (index.staysResident(stay.tensor))
      parameters.push_back({stay.tensor, memory, layout.offsets[i], stay.bytes});
  }
  return std::make_unique<FixedPlacer>(std::move(offsets), std::move(workspaceOffsets));
}

/// Packs the stays lengthened by their copies if they fit, so that no command waits for an address; else the stays
/// alone.
static StaticLayout packTimed(const ProblemIndex &index, MemoryId memory, const std::vector<Stay> &stays,
                              int64_t capacityBytes) {
  std::vector<Stay> timed = timedStays(index, memory, stays);
  if (peakOfStays(index, timed).first <= capacityBytes)
    if (StaticLayout layout = packStays(index, timed, capacityBytes); layout.peakBytes <= capacityBytes)
      return layout;
  return packStays(index, stays, capacityBytes);
}

/// Packs a memory from which nothing is ever evicted; null if that exceeds the
/// capacity.
static std::unique_ptr<FixedPlacer> fixedPlacer(const ProblemIndex &index, MemoryId memory,
                                                const std::vector<Stay> &stays, int64_t capacityBytes,
                                                std::vector<ResidentParameter> &parameters) {
  StaticLayout layout = packTimed(index, memory, stays, capacityBytes);
  if (layout.peakBytes > capacityBytes)
    return nullptr;
  return placeStays(index, memory, stays, layout, parameters);
}

/// Packs the host's arena as a whole if only the host computes.
static void packHost(const ProblemIndex &index, StepOptions &options) {
  if (!index.allOnHost())
    return;
  std::vector<Stay> stays = unlimitedStays(index, Machine::hostMemory());
  const int64_t capacity = index.problem.capacityBytes[0] - options.hostHomeBytes;
  StaticLayout layout = packTimed(index, Machine::hostMemory(), stays, capacity);
  if (layout.peakBytes > capacity)
    return;
  options.hostOffsets.assign(index.bytes.size(), 0);
  options.hostWorkspaceOffsets.assign(index.numPositions, 0);
  for (size_t i = 0; i < stays.size(); ++i)
    if (stays[i].tensor.valid())
      options.hostOffsets[stays[i].tensor.index()] = layout.offsets[i];
    else
      options.hostWorkspaceOffsets[stays[i].first.index()] = layout.offsets[i];
}

/// Fails on an operator whose working set exceeds its memory.
static Status checkWorkingSets(const ProblemIndex &index) {
  const SwapProblem &problem = index.problem;
  std::vector<MinimumBytes> minimum = swap::minimumBytes(index);
  for (size_t m = 1; m < minimum.size(); ++m) {
    int64_t capacity = problem.capacityBytes[m] / kArenaAlignment * kArenaAlignment;
    if (minimum[m].bytes <= capacity)
      continue;
    const std::string &memory = problem.machine.memories[m].name;
    tl::unexpected<Error> error = makeError(
        ErrorCode::Infeasible, "operator '", problem.graph.op(minimum[m].op).name, "' needs ",
        formatBytes(minimum[m].bytes), " at once, and the limit of memory '", memory, "' is ", formatBytes(capacity),
        ", raise --memory ", memory, " by ", minimum[m].bytes - capacity, " bytes to at least ", minimum[m].bytes);
    error.value().operators = {minimum[m].op.value};
    return error;
  }
  return {};
}

namespace {
struct Candidate {
  Walk walk;
  WalkCost cost; ///< Estimated.
};
} // namespace

/// Walks the order again and again, and returns the best walk by its estimated makespan.
/// Stops once a walk ends with the parameters in place that it started with, once it
/// is no better than those before, or after `passes` walks. The parameters `always` are
/// in place in every walk. With `foresee`, a walk saves early what the one before had to evict. Where every walk but
/// the first must cost more than `rival`, some or all of them are left out.
static Expected<Candidate> steadyState(const ProblemIndex &index, StepOptions options,
                                       const std::vector<ResidentParameter> &always, int passes, bool foresee,
                                       const std::function<Placers()> &makePlacers,
                                       const WalkCost &rival = kUnlimitedCost) {
  std::vector<ResidentParameter> initial = always;
  Candidate best;
  WalkLimits limits;
  limits.rival = rival;
  for (int pass = 0; pass < std::max(passes, 1); ++pass) {
    Placers owned = makePlacers();
    std::vector<Placer *> placers;
    for (const std::unique_ptr<Placer> &placer : owned)
      placers.push_back(placer.get());
    StepPlanner planner(index, options);
    // The first pass is a plan in any case.
    limits.isLast = pass + 1 == passes;
    if (Status status = planner.run(initial, placers, pass == 0 ? WalkLimits() : limits); !status) {
      if (pass == 0)
        return propagate(status);
      break; // An earlier pass has a plan.
    }
    if (planner.stoppedEarly())
      break;
    std::vector<ResidentParameter> next = pass == 0 ? planner.residentAtEnd() : planner.survivors();
    const WalkCost cost = planner.cost();
    if (pass > 0 && cost >= best.cost)
      break;
    bool settled = next == initial && (!foresee || planner.evicted() == options.saveEarly);
    if (foresee)
      options.saveEarly = planner.evicted();
    best = {planner.takeWalk(), cost};
    limits.best = cost;
    if (settled)
      break;
    initial = std::move(next);
  }
  return best;
}

/// Parameters that are never evicted, spread evenly over the order. They leave room for
/// the activations and for `depth` times the largest parameter; empty if there is no
/// such room.
static std::vector<TensorId> pinnedParameters(const ProblemIndex &index, MemoryId memory, std::span<const Stay> stays,
                                              int64_t capacityBytes, int depth) {
  std::vector<Stay> activations, parameters;
  int64_t total = 0, largest = 0;
  for (const Stay &stay : stays) {
    bool parameter = stay.tensor.valid() && index.isParameter(stay.tensor);
    (parameter ? parameters : activations).push_back(stay);
    if (parameter) {
      total += stay.bytes;
      largest = std::max(largest, stay.bytes);
    }
  }
  int64_t budget = capacityBytes - peakOfStays(index, activations).first - saturatingMul(largest, std::max(depth, 0));
  if (depth <= 0 || budget <= 0 || total == 0)
    return {};
  std::stable_sort(parameters.begin(), parameters.end(), [&](const Stay &a, const Stay &b) {
    return index.uses(index.spot(a.tensor, memory)).front() < index.uses(index.spot(b.tensor, memory)).front();
  });
  std::vector<TensorId> pinned;
  std::vector<uint8_t> isPinned(index.bytes.size(), 0);
  double share = std::min(1.0, static_cast<double>(budget) / static_cast<double>(total)), due = 0;
  int64_t taken = 0;
  for (const Stay &stay : parameters) {
    due += share * static_cast<double>(stay.bytes);
    if (static_cast<double>(taken + stay.bytes) > due + 0.5 * static_cast<double>(stay.bytes) ||
        taken + stay.bytes > budget)
      continue;
    taken += stay.bytes;
    pinned.push_back(stay.tensor);
    isPinned[stay.tensor.index()] = 1;
  }
  // Each operator must fit above the pinned parameters with the other tensors that it touches.
  for (Position p : index.positions()) {
    if (index.memoryOf(p) != memory)
      continue;
    int64_t needed = index.workingSets[p.index()];
    for (TensorId t : index.operatorAt(p).inputs)
      needed -= isPinned[t.index()] ? index.bytes[t.index()] : 0;
    if (needed > capacityBytes - taken)
      return {};
  }
  return pinned;
}

/// As pinnedParameters, for parameters of very different sizes: those above the size of a buffer are pinned too, so
/// that a buffer for the largest of all is not needed. Of the others, the largest are copied, because many small copies
/// take longer than few large ones. Takes the size of a buffer with which the copies take the least time. For machines
/// without files.
static std::vector<TensorId> pinnedBySize(const ProblemIndex &index, MemoryId memory, std::span<const Stay> stays,
                                          int64_t capacityBytes) {
  // One is read and the next one is copied.
  constexpr int64_t kBuffers = 2;
  constexpr int kMostSizes = 16;
  std::vector<Stay> activations, parameters;
  for (const Stay &stay : stays)
    (stay.tensor.valid() && index.isParameter(stay.tensor) ? parameters : activations).push_back(stay);
  std::stable_sort(parameters.begin(), parameters.end(),
                   [](const Stay &a, const Stay &b) { return a.bytes > b.bytes; });
  int64_t total = 0;
  for (const Stay &stay : parameters)
    total += stay.bytes;
  auto usesOf = [&](const Stay &stay) { return index.uses(index.spot(stay.tensor, memory)); };
  // The activations beside the buffers, while parameters of this size are read.
  auto besideBytes = [&](int64_t buffer) {
    Position begin = index.lastPosition(), end(0);
    for (const Stay &stay : parameters)
      if (stay.bytes == buffer) {
        begin = std::min(begin, usesOf(stay).front());
        end = std::max(end, usesOf(stay).back());
      }
    std::vector<Stay> beside;
    std::copy_if(activations.begin(), activations.end(), std::back_inserter(beside),
                 [&](const Stay &stay) { return stay.first > stay.last || (stay.first <= end && stay.last >= begin); });
    return peakOfStays(index, beside).first;
  };
  // The copied ones are [first, last) of the sorted ones.
  struct Choice {
    size_t first = 0, last = 0;
    int64_t ns = 0;
  };
  auto copyFrom = [&](size_t first, int64_t room) -> std::optional<Choice> {
    Choice choice{first, first, 0};
    int64_t excess = total - room;
    for (; choice.last < parameters.size() && excess > 0; ++choice.last) {
      excess -= parameters[choice.last].bytes;
      choice.ns = saturatingAdd(choice.ns, index.copyInNs(index.spot(parameters[choice.last].tensor, memory)));
    }
    return excess <= 0 ? std::optional(choice) : std::nullopt;
  };
  const int64_t least = peakOfStays(index, activations).first;
  std::optional<Choice> best;
  int64_t largerBytes = 0;
  int sizes = 0;
  for (size_t first = 0; first < parameters.size() && sizes < kMostSizes; ++first) {
    const int64_t buffer = parameters[first].bytes;
    if (first == 0 || buffer < parameters[first - 1].bytes) {
      ++sizes;
      const int64_t room = capacityBytes - least - saturatingMul(buffer, kBuffers);
      if (const std::optional<Choice> choice = copyFrom(first, room);
          choice && largerBytes <= room && (!best || choice->ns < best->ns))
        best = choice;
    }
    largerBytes += buffer;
  }
  if (!best || best->first == best->last)
    return {};
  const int64_t buffer = parameters[best->first].bytes;
  best = copyFrom(best->first, capacityBytes - std::max(least, saturatingMul(buffer, kBuffers) + besideBytes(buffer)));
  if (!best || best->first == best->last)
    return {};
  // Parameters of one size are copied evenly over the order.
  std::vector<TensorId> pinned;
  for (size_t begin = 0, end; begin < parameters.size(); begin = end) {
    for (end = begin; end < parameters.size() && parameters[end].bytes == parameters[begin].bytes;)
      ++end;
    const auto count = static_cast<int64_t>(end - begin);
    const auto copies = static_cast<int64_t>(std::clamp(best->last, begin, end) - std::clamp(best->first, begin, end));
    std::stable_sort(parameters.begin() + static_cast<ptrdiff_t>(begin),
                     parameters.begin() + static_cast<ptrdiff_t>(end),
                     [&](const Stay &a, const Stay &b) { return usesOf(a).front() < usesOf(b).front(); });
    for (int64_t i = 0; i < count; ++i)
      if ((i + 1) * copies / count == i * copies / count)
        pinned.push_back(parameters[begin + static_cast<size_t>(i)].tensor);
  }
  return pinned;
}

/// The time of the copies that are not necessary if the parameters stay in the memory.
static int64_t savedCopyNs(const ProblemIndex &index, MemoryId memory, std::span<const TensorId> pinned) {
  int64_t ns = 0;
  for (TensorId t : pinned)
    ns = saturatingAdd(ns, index.copyInNs(index.spot(t, memory)));
  return ns;
}

/// Plans with the tiers that the options have.
static Expected<Plan> planOffsets(const ProblemIndex &index, const SwapParams &params, StepOptions options) {
  const SwapProblem &problem = index.problem;
  packHost(index, options);

  // A memory that holds all stays is packed. If the liveness peak fits and the packing
  // does not, parameters take the bottom and everything else moves above them.
  std::vector<ResidentParameter> always, streaming;
  std::vector<std::unique_ptr<FixedPlacer>> packed(index.numMemories);
  std::vector<int64_t> base(index.numMemories, 0);
  std::vector<int64_t> streamingBase(index.numMemories, 0);
  bool streams = false;
  auto stack = [&](std::vector<ResidentParameter> &parameters, std::vector<int64_t> &tops, TensorId t,
                   MemoryId memory) {
    int64_t &top = tops[memory.index()];
    parameters.push_back({t, memory, top, index.bytes[t.index()]});
    top += index.bytes[t.index()];
  };
  for (MemoryId m : index.acceleratorMemories()) {
    int64_t capacity = problem.capacityBytes[m.index()] / kArenaAlignment * kArenaAlignment;
    std::vector<Stay> stays = unlimitedStays(index, m);
    if (peakOfStays(index, stays).first > capacity) {
      for (const Stay &stay : stays)
        if (stay.tensor.valid() && index.isKept(stay.tensor))
          stack(always, base, stay.tensor, m);
      std::erase_if(stays, [&](const Stay &stay) { return stay.tensor.valid() && index.isKept(stay.tensor); });
      capacity -= base[m.index()];
      streamingBase[m.index()] = base[m.index()];
      std::vector<TensorId> pinned = pinnedParameters(index, m, stays, capacity, params.streamDepth);
      if (params.streamDepth > 0 && !index.hasFiles()) {
        std::vector<TensorId> bySize = pinnedBySize(index, m, stays, capacity);
        if (savedCopyNs(index, m, bySize) > savedCopyNs(index, m, pinned))
          pinned = std::move(bySize);
      }
      for (TensorId t : pinned) {
        stack(streaming, streamingBase, t, m);
        streams = true;
      }
      continue;
    }
    packed[m.index()] = fixedPlacer(index, m, stays, capacity, always);
    if (packed[m.index()])
      continue;
    for (const Stay &stay : stays)
      if (stay.tensor.valid() && index.staysResident(stay.tensor))
        stack(always, base, stay.tensor, m);
    streamingBase[m.index()] = base[m.index()];
  }
  const WindowCosts windowCosts(index, params);
  auto placersAbove = [&](const std::vector<int64_t> &bases) {
    Placers placers(index.numMemories);
    for (size_t m = 1; m < index.numRam; ++m)
      if (packed[m])
        placers[m] = std::make_unique<FixedPlacer>(*packed[m]);
      else
        placers[m] = std::make_unique<WindowPlacer>(params, windowCosts, bases[m]);
    return placers;
  };
  // The streaming plan comes first: it is the faster one more often, and then cuts the others short.
  std::optional<Candidate> streamed;
  if (streams && params.passes > 1) {
    streaming.insert(streaming.end(), always.begin(), always.end());
    if (Expected<Candidate> made = steadyState(index, options, streaming, params.saveEarly ? 2 : 1, params.saveEarly,
                                               [&] { return placersAbove(streamingBase); }))
      streamed = std::move(*made);
  }
  Expected<Candidate> best = steadyState(
      index, options, always, params.passes, params.saveEarly, [&] { return placersAbove(base); },
      streamed ? streamed->cost : kUnlimitedCost);
  if (!best)
    return propagate(best);
  if (streamed && streamed->cost < best->cost)
    best = std::move(*streamed);
  return std::move(best->walk).toPlan();
}

Expected<Plan> sluice::planSwapOffsets(const SwapProblem &problem, const SwapParams &params) {
  SLUICE_RETURN_IF_ERROR(check(problem));
  const std::vector<uint8_t> kept = statesToKeep(problem, params.keptStates, params.keptChoice);
  const ProblemIndex index(problem, kept);
  SLUICE_RETURN_IF_ERROR(checkWorkingSets(index));
  auto withTiers = [&](const SwapProblem &own, const StepOptions &options) {
    return planOffsets(ProblemIndex(own, kept), params, options);
  };
  Expected<Plan> plan = problem.machine.hasFiles() ? planInTiers(problem, params, kept, withTiers)
                                                   : planOffsets(index, params, StepOptions());
  if (!plan)
    return plan;
  return validated(problem, std::move(*plan), "swap=offsets");
}

Expected<Plan> sluice::planSwapPool(const SwapProblem &problem, const PoolLayout &pool, const PoolParams &params) {
  SLUICE_RETURN_IF_ERROR(check(problem));
  if (pool.size() != problem.machine.memories.size())
    return makeError(ErrorCode::InvalidInput, "the number of pools is ", pool.size(), " and the number of memories is ",
                     problem.machine.memories.size(), ", give one pool for each memory");
  // The planner lists the objects one by one.
  constexpr int64_t kMaxObjects = int64_t(1) << 22;
  for (size_t m = 1; m < pool.size(); ++m) {
    int64_t bytes = 0, objects = 0;
    const std::string &memory = problem.machine.memories[m].name;
    for (size_t c = 0; c < pool[m].size(); ++c) {
      const ObjectClass &entry = pool[m][c];
      if (entry.bytes <= 0 || entry.bytes > int64_t(1) << 62 || entry.count < 0 ||
          (c > 0 && entry.bytes <= pool[m][c - 1].bytes))
        return makeError(ErrorCode::InvalidInput, "size class ", c, " of memory '", memory,
                         "' is malformed, give sizes that are positive and ascend, and counts of 0 or more");
      bytes = saturatingAdd(bytes, saturatingMul(alignUp(entry.bytes), entry.count));
      objects = saturatingAdd(objects, entry.count);
    }
    if (bytes > problem.capacityBytes[m])
      return makeError(ErrorCode::Infeasible, "the pool of memory '", memory, "' needs ", formatBytes(bytes),
                       ", which is ", bytes - problem.capacityBytes[m], " bytes more than the limit of ",
                       formatBytes(problem.capacityBytes[m]), ", lower the counts of the pool");
    if (objects > kMaxObjects)
      return makeError(ErrorCode::Unsupported, "the pool of memory '", memory, "' has ", objects,
                       " objects, lower the counts to at most ", kMaxObjects, " in all");
  }
  for (const auto &sizes : params.classOfSize)
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i].second < sizes[i].first || (i > 0 && sizes[i].first <= sizes[i - 1].first))
        return makeError(ErrorCode::InvalidInput, "size ", sizes[i].first, " has objects of ", sizes[i].second,
                         " bytes, give ascending sizes, and objects that are at least as large");
  ProblemIndex index(problem);
  StepOptions options;
  options.copyOutAfterLastUse = true;
  options.cyclicNextUse = params.cyclicNextUse;
  options.lazyOutputs = params.lazyOutputs;
  setDefaultTiers(index, options);
  packHost(index, options);
  auto makePlacers = [&] {
    Placers placers(index.numMemories);
    for (size_t m = 1; m < index.numRam; ++m)
      placers[m] = std::make_unique<PoolPlacer>(pool[m], params, MemoryId(m));
    return placers;
  };
  SLUICE_ASSIGN_OR_RETURN(Candidate best, steadyState(index, options, {}, params.passes, false, makePlacers));
  return validated(problem, std::move(best.walk).toPlan(), "swap=pool");
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
                                            const std::vector<int64_t> &objectBytes,
                                            std::span<const std::pair<int64_t, int64_t>> classOfSize) {
  std::vector<int64_t> most(objectBytes.size(), 0), here(objectBytes.size(), 0);
  for (const OperatorId op : problem.order) {
    if (problem.machine.device(problem.placement[op.index()]).memory != memory)
      continue;
    std::fill(here.begin(), here.end(), 0);
    auto count = [&](int64_t bytes) {
      int64_t reservedBytes = alignUp(bytes);
      auto entry = std::lower_bound(classOfSize.begin(), classOfSize.end(), std::pair(reservedBytes, int64_t(0)));
      if (entry != classOfSize.end() && entry->first == reservedBytes)
        reservedBytes = entry->second;
      auto at = std::lower_bound(objectBytes.begin(), objectBytes.end(), reservedBytes);
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

Expected<Plan> sluice::planOdSwap(const SwapProblem &problem, bool inPlace) {
  SLUICE_RETURN_IF_ERROR(check(problem));
  ProblemIndex index(problem);
  SLUICE_RETURN_IF_ERROR(checkWorkingSets(index));
  StepOptions options;
  options.copyOutAfterLastUse = true;
  setDefaultTiers(index, options);
  packHost(index, options);
  auto makePlacers = [&] {
    Placers placers(index.numMemories);
    for (size_t m = 1; m < index.numRam; ++m)
      placers[m] = std::make_unique<LruPlacer>(inPlace);
    return placers;
  };
  SLUICE_ASSIGN_OR_RETURN(Candidate best, steadyState(index, options, {}, 2, false, makePlacers));
  return validated(problem, std::move(best.walk).toPlan(), "swap=odswap");
}

Expected<Plan> sluice::planIdeal(const SwapProblem &problem, bool keepsStates) {
  SwapProblem unlimited = problem;
  unlimited.capacityBytes.assign(problem.machine.memories.size(), int64_t(1) << 62);
  SLUICE_RETURN_IF_ERROR(check(unlimited));
  ProblemIndex index(unlimited, statesToKeep(unlimited, keepsStates ? 1.0 : 0.0));
  StepOptions options;
  packHost(index, options);
  // The packed plan is taken unless the plan that uses no address twice is faster. How long a rank of a pipeline waits
  // for others is not simulated, so that its plan is the packed one.
  Candidate best;
  for (bool reuse : {true, false}) {
    if (!reuse && problem.graph.keepsOrder)
      break;
    std::vector<ResidentParameter> always;
    std::vector<std::unique_ptr<FixedPlacer>> packed(index.numMemories);
    for (MemoryId m : index.acceleratorMemories()) {
      std::vector<Stay> stays = unlimitedStays(index, m);
      std::vector<Stay> apart = reuse ? timedStays(index, m, stays) : stays;
      for (Stay &stay : apart)
        if (!reuse) {
          stay.first = Position(0u);
          stay.last = index.lastPosition();
        }
      StaticLayout layout = packStays(index, apart, unlimited.capacityBytes[m.index()]);
      packed[m.index()] = placeStays(index, m, stays, layout, always);
    }
    SLUICE_ASSIGN_OR_RETURN(Candidate candidate, steadyState(index, options, always, 1, false, [&] {
                              Placers placers(index.numMemories);
                              for (size_t m = 1; m < index.numRam; ++m)
                                placers[m] = std::make_unique<FixedPlacer>(*packed[m]);
                              return placers;
                            }));
    if (reuse || candidate.cost < best.cost)
      best = std::move(candidate);
  }
  return validated(unlimited, std::move(best.walk).toPlan(), "swap=ideal");
}
