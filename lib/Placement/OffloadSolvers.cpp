//===- OffloadSolvers.cpp - Baselines and annealing -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OffloadIndex.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Support/Rng.h"
#include "sluice/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice {
namespace {

constexpr int32_t kCpu = OffloadSolution::kCpu;
using Parts = std::vector<int32_t>;

struct Timed {
  Parts part;
  double latency = std::numeric_limits<double>::infinity();
};

//===----------------------------------------------------------------------===//
// Baselines
//===----------------------------------------------------------------------===//

/// Groups of units that one accelerator has all of, in topological order.
struct Item {
  std::vector<uint32_t> nodes;
  double bytes = 0, cpu = 0, accel = 0;
  bool supported = true;
};

std::vector<Item> itemsOf(const OffloadIndex &index) {
  std::vector<Item> items;
  for (size_t i = 0; i < index.unitOrder.size(); ++i) {
    const uint32_t unit = index.unitOrder[i];
    if (i == 0 || index.groupOf[unit] != index.groupOf[index.unitOrder[i - 1]])
      items.emplace_back();
    Item &item = items.back();
    for (uint32_t node : index.units[unit]) {
      item.nodes.push_back(node);
      item.bytes += index.problem.nodes[node].bytes;
      item.cpu += index.problem.nodes[node].cpuTime;
      item.accel += index.problem.nodes[node].accelTime;
      item.supported &= index.problem.nodes[node].supported;
    }
  }
  return items;
}

Parts placeGreedily(const OffloadIndex &index) {
  Parts part(index.count, kCpu);
  int32_t accelerator = 0;
  double bytes = 0;
  for (const Item &item : itemsOf(index)) {
    if (accelerator == static_cast<int32_t>(index.problem.accelerators))
      break;
    if (!item.supported || item.bytes > index.problem.accelBytes) {
      // What follows may depend on it: a set on both sides would wait for itself.
      if (bytes > 0)
        ++accelerator;
      bytes = 0;
      continue;
    }
    if (bytes + item.bytes > index.problem.accelBytes) {
      if (++accelerator == static_cast<int32_t>(index.problem.accelerators))
        break;
      bytes = 0;
    }
    bytes += item.bytes;
    for (uint32_t node : item.nodes)
      part[node] = accelerator;
  }
  return part;
}

/// Places to cut a long order at; the program takes their square.
constexpr size_t kMostCuts = 1500;

Parts placeByRuns(const OffloadIndex &index) {
  std::vector<Item> items = itemsOf(index);
  // Neighbours merge until few enough are left.
  while (items.size() > kMostCuts) {
    std::vector<Item> merged;
    for (size_t i = 0; i < items.size(); i += 2) {
      merged.push_back(std::move(items[i]));
      if (i + 1 == items.size())
        break;
      Item &into = merged.back();
      const Item &more = items[i + 1];
      into.nodes.insert(into.nodes.end(), more.nodes.begin(), more.nodes.end());
      into.bytes += more.bytes;
      into.cpu += more.cpu;
      into.accel += more.accel;
      into.supported &= more.supported;
    }
    items = std::move(merged);
  }
  std::vector<uint32_t> itemOf(index.count);
  for (uint32_t i = 0; i < items.size(); ++i)
    for (uint32_t node : items[i].nodes)
      itemOf[node] = i;

  const size_t most = std::min<size_t>(index.problem.accelerators, items.size());
  constexpr double kNone = std::numeric_limits<double>::infinity();
  // least[i][r]: the first i items, on r accelerators; from: where the last run
  // begins, or the item itself for a CPU's.
  std::vector<std::vector<double>> least(items.size() + 1, std::vector<double>(most + 1, kNone));
  std::vector<std::vector<uint32_t>> from(items.size() + 1, std::vector<uint32_t>(most + 1));
  std::vector<std::vector<uint8_t>> isRun(items.size() + 1, std::vector<uint8_t>(most + 1));
  least[0][0] = 0;
  for (uint32_t i = 0; i < items.size(); ++i) {
    for (size_t r = 0; r <= most; ++r)
      if (double way = least[i][r] + items[i].cpu; way < least[i + 1][r]) {
        least[i + 1][r] = way;
        from[i + 1][r] = i;
        isRun[i + 1][r] = 0;
      }
    // Runs [i, end): what enters comes from before i, what leaves is read after.
    double bytes = 0, work = 0, leaving = 0;
    std::vector<uint8_t> entered(index.count);
    std::vector<std::vector<uint32_t>> leavesUntil(items.size() + 1);
    for (uint32_t end = i + 1; end <= items.size() && most > 0; ++end) {
      const Item &item = items[end - 1];
      bytes += item.bytes;
      if (!item.supported || bytes > index.problem.accelBytes)
        break;
      work += item.accel;
      for (uint32_t node : item.nodes) {
        for (const auto &[source, cost] : index.in[node])
          if (itemOf[source] < i && !entered[source]) {
            entered[source] = 1;
            work += cost;
          }
        double cost = 0;
        uint32_t until = 0;
        for (const auto &[to, edgeCost] : index.out[node]) {
          cost = std::max(cost, edgeCost);
          until = std::max(until, itemOf[to]);
        }
        if (until >= end) {
          leaving += cost;
          leavesUntil[until + 1].push_back(node);
        }
      }
      for (uint32_t node : leavesUntil[end]) {
        double cost = 0;
        for (const auto &[to, edgeCost] : index.out[node])
          cost = std::max(cost, edgeCost);
        leaving -= cost;
      }
      for (size_t r = 0; r < most; ++r)
        if (double way = least[i][r] + work + leaving; way < least[end][r + 1]) {
          least[end][r + 1] = way;
          from[end][r + 1] = i;
          isRun[end][r + 1] = 1;
        }
    }
  }
  Parts part(index.count, kCpu);
  size_t runs = 0;
  for (size_t r = 1; r <= most; ++r)
    if (least[items.size()][r] < least[items.size()][runs])
      runs = r;
  for (size_t end = items.size(); end > 0;) {
    const uint32_t begin = from[end][runs];
    const bool run = isRun[end][runs];
    for (size_t i = begin; run && i < end; ++i)
      for (uint32_t node : items[i].nodes)
        part[node] = static_cast<int32_t>(runs) - 1;
    runs -= run;
    end = begin;
  }
  return part;
}

//===----------------------------------------------------------------------===//
// Annealing
//===----------------------------------------------------------------------===//

class Annealer {
public:
  /// `evaluations` and `work` limit together; work counts nodes timed.
  Annealer(const OffloadIndex &index, const Timed &start, int64_t evaluations, int64_t work, const Budget &budget,
           Rng rng)
      : index(index), timer(index), closure(index), budget(budget), rng(rng), evaluations(evaluations), work(work),
        current(start), best(start) {}

  void run() {
    if (index.problem.accelerators == 0)
      return;
    // Each round cools down from less heat than the one before, from the best.
    constexpr int kRounds = 6;
    double heat = 0.05;
    for (int round = 0; round < kRounds && !stopped; ++round, heat *= 0.6) {
      current = best;
      const double first = heat * best.latency, last = 2e-5 * best.latency;
      for (double done = 0; done < 1 && !stopped; done = share() * kRounds - round) {
        if ((steps & 63) == 0)
          stopped = budget.mustStop();
        step(first * std::pow(last / first, done));
      }
    }
  }

  int64_t evaluationsMade() const { return steps; }
  const Timed &result() const { return best; }
  bool stoppedByClock() const { return stopped; }

private:
  /// Of the budget used up.
  double share() const {
    return std::max(static_cast<double>(steps) / static_cast<double>(evaluations),
                    static_cast<double>(worked) / static_cast<double>(work));
  }

  int32_t anyPart() { return static_cast<int32_t>(rng.below(index.problem.accelerators + 1)) - 1; }

  /// Where a neighbour is, or anywhere.
  int32_t likelyPart(uint32_t node) {
    const size_t count = index.in[node].size() + index.out[node].size();
    if (count == 0 || rng.chance(0.3))
      return anyPart();
    const size_t pick = rng.below(count);
    const size_t before = index.in[node].size();
    return current.part[pick < before ? index.in[node][pick].node : index.out[node][pick - before].node];
  }

  void step(double temperature) {
    ++steps;
    worked += index.count;
    trial = current.part;
    moved.clear();
    const uint32_t node = index.topological[rng.below(index.count)];
    int32_t to = likelyPart(node);
    const int32_t from = current.part[node];
    const uint64_t dice = rng.below(100);
    if (dice < 35) {
      moved.push_back(node);
    } else if (dice < 60) {
      // All of its set that depends on it, or that it depends on.
      if (from == kCpu || !index.hasReach())
        growOnCpu(node);
      else {
        const NodeSet &side = rng.chance(0.5) ? index.descendants[node] : index.ancestors[node];
        for (uint32_t other = 0; other < index.count; ++other)
          if (current.part[other] == from && contains(side, other))
            moved.push_back(other);
      }
    } else if (dice < 90) {
      // A stretch of the order.
      const size_t begin = rng.below(index.unitOrder.size());
      const size_t end = std::min<size_t>(index.unitOrder.size(), begin + 1 + rng.below(uint64_t(2) << rng.below(6)));
      for (size_t i = begin; i < end; ++i)
        moved.push_back(index.units[index.unitOrder[i]].front());
    } else {
      // A whole set.
      if (from == kCpu)
        return;
      for (uint32_t other = 0; other < index.count; ++other)
        if (current.part[other] == from)
          moved.push_back(other);
    }
    if (to == from && moved.size() == 1)
      to = anyPart();
    if (!assign(to))
      return;
    if (trial == current.part)
      return;
    const double latency = timer.latency(trial);
    if (latency < 0)
      return;
    const double worse = latency - current.latency;
    if (worse > 0 && rng.uniform() >= std::exp(-worse / temperature))
      return;
    current.part.swap(trial);
    current.latency = latency;
    if (latency < best.latency)
      best = current;
  }

  /// A few nodes around one, all on CPUs.
  void growOnCpu(uint32_t node) {
    moved.push_back(node);
    const uint64_t size = uint64_t(1) << rng.below(5);
    for (size_t i = 0; i < moved.size() && moved.size() < size; ++i)
      for (const auto *list : {&index.out[moved[i]], &index.in[moved[i]]})
        for (const auto &[other, cost] : *list)
          if (moved.size() < size && current.part[other] == current.part[node] &&
              std::find(moved.begin(), moved.end(), other) == moved.end())
            moved.push_back(other);
  }

  /// Moves what is in `moved` to a part, with all that must go too.
  bool assign(int32_t to) {
    if (to != kCpu && index.hasReach() && rng.chance(0.9)) {
      // The set as it will be, closed.
      closure.clear();
      for (uint32_t node = 0; node < index.count; ++node)
        if (current.part[node] == to && !closure.add(node))
          return false;
      for (uint32_t node : moved)
        if (!closure.add(node))
          return false;
      for (uint32_t node : closure.nodes())
        trial[node] = to;
      worked += static_cast<int64_t>(closure.nodes().size() * (index.count / 512));
      return true;
    }
    for (uint32_t node : moved) {
      const uint32_t unit = index.unitOf[node];
      if (to != kCpu && !index.unitSupported[unit])
        return false;
      for (uint32_t mate : index.units[unit])
        trial[mate] = to;
    }
    return true;
  }

  const OffloadIndex &index;
  OffloadTimer timer;
  Closure closure;
  const Budget &budget;
  Rng rng;
  int64_t evaluations, work;
  int64_t steps = 0, worked = 0;
  bool stopped = false;
  Timed current, best;
  Parts trial;
  std::vector<uint32_t> moved;
};

/// Chains, so that the result does not depend on the number of threads.
constexpr size_t kChains = 4;
/// Of each chain, where no evaluations are given: small graphs need few, large
/// ones get what the work allows.
constexpr int64_t kDefaultWork = 300'000'000, kEvaluationsPerNode = 12'000;

} // namespace

std::vector<std::string> offloadSolverNames() { return {"best", "cpu", "greedy", "dp-split"}; }

Expected<OffloadSolution> solveOffload(const OffloadProblem &problem, const OffloadParams &params) {
  const std::vector<std::string> names = offloadSolverNames();
  if (std::find(names.begin(), names.end(), params.solver) == names.end()) {
    return makeError(ErrorCode::NotFound, "offload solver '", params.solver, "' does not exist, use ",
                     alternatives(names));
  }
  SLUICE_RETURN_IF_ERROR(problem.check());
  const OffloadIndex index(problem);
  OffloadTimer timer(index);
  // Everything on CPUs always works; the others stand where they do too.
  Timed best;
  std::string winner = "cpu";
  std::vector<Timed> starts;
  auto offer = [&](const std::string &name, Parts part) {
    Timed timed{std::move(part), 0};
    timed.latency = timer.latency(timed.part);
    if (timed.latency < 0)
      return;
    if (timed.latency < best.latency) {
      best = timed;
      winner = name;
    }
    starts.push_back(std::move(timed));
  };
  OffloadSolution solution;
  const bool all = params.solver == "best";
  if (all || params.solver == "cpu")
    offer("cpu", Parts(index.count, kCpu));
  if (all || params.solver == "greedy")
    offer("greedy", placeGreedily(index));
  if (all || params.solver == "dp-split")
    offer("dp-split", placeByRuns(index));
  if (starts.empty())
    return makeError(ErrorCode::Infeasible, "solver '", params.solver,
                     "' found only placements in which accelerators wait for each other in a cycle, instance '",
                     problem.name, "', use solver 'best'");
  solution.bound = offloadLowerBound(problem);
  solution.latency = best.latency;
  if (all && !solution.optimal()) {
    std::stable_sort(starts.begin(), starts.end(),
                     [](const Timed &a, const Timed &b) { return a.latency < b.latency; });
    int64_t evaluations = kEvaluationsPerNode * int64_t(index.count), work = kDefaultWork;
    if (params.budget.evaluations != std::numeric_limits<int64_t>::max()) {
      evaluations = std::max<int64_t>(params.budget.evaluations / int64_t(kChains), 1);
      work = std::numeric_limits<int64_t>::max();
    }
    const Rng root(params.seed);
    std::vector<Timed> ends(kChains);
    std::vector<std::pair<int64_t, bool>> how(kChains);
    parallelFor(params.threads, kChains, [&](size_t i) {
      Annealer annealer(index, starts[i % starts.size()], evaluations, work, params.budget, root.fork(i));
      annealer.run();
      ends[i] = annealer.result();
      how[i] = {annealer.evaluationsMade(), annealer.stoppedByClock()};
    });
    for (size_t i = 0; i < kChains; ++i) {
      solution.evaluations += how[i].first;
      solution.stoppedByClock |= how[i].second;
      if (ends[i].latency < best.latency) {
        best = std::move(ends[i]);
        winner = "annealing";
      }
    }
  }
  solution.part = std::move(best.part);
  solution.latency = best.latency;
  solution.solver = all ? concat("best (", winner, ")") : params.solver;
  SLUICE_RETURN_IF_ERROR(validateOffload(problem, solution));
  return solution;
}

} // namespace sluice
