//===- Tiers.cpp ----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Tiers.h"

#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <bit>

using namespace sluice;
using namespace sluice::swap;

static constexpr int64_t kUnlimited = int64_t(1) << 62;
/// Of the host's memory: room for what addresses waste.
static constexpr double kHostShare = 0.97;
/// Divisions made for a plan, each from the times of the one before.
static constexpr int64_t kMostDivisions = 3;

namespace {

/// A tensor outside the accelerators, from the start of its copy out to the end of its last copy back.
struct Away {
  TensorId tensor;
  int64_t outNs = 0, backNs = 0, bytes = 0;
  int64_t writeNs = 0, readNs = 0; ///< To and from the file.
  size_t first = 0, last = 0;      ///< Moments that the stay covers: [first, last).
};

/// Adds to ranges, and tells the greatest sum of a range. Both in O(log size).
class MaximumTree {
public:
  explicit MaximumTree(size_t size) : leaves(std::bit_ceil(std::max<size_t>(size, 1))), most(2 * leaves), added(most) {}
  void add(size_t first, size_t last, int64_t value) { add(1, 0, leaves, first, last, value); }
  int64_t greatest(size_t first, size_t last) const { return greatest(1, 0, leaves, first, last); }

private:
  void add(size_t node, size_t begin, size_t end, size_t first, size_t last, int64_t value) {
    if (last <= begin || end <= first)
      return;
    if (first <= begin && end <= last) {
      most[node] += value;
      added[node] += value;
      return;
    }
    const size_t middle = (begin + end) / 2;
    add(2 * node, begin, middle, first, last, value);
    add(2 * node + 1, middle, end, first, last, value);
    most[node] = added[node] + std::max(most[2 * node], most[2 * node + 1]);
  }
  int64_t greatest(size_t node, size_t begin, size_t end, size_t first, size_t last) const {
    if (last <= begin || end <= first)
      return std::numeric_limits<int64_t>::min() / 2;
    if (first <= begin && end <= last)
      return most[node];
    const size_t middle = (begin + end) / 2;
    return added[node] +
           std::max(greatest(2 * node, begin, middle, first, last), greatest(2 * node + 1, middle, end, first, last));
  }

  size_t leaves;
  std::vector<int64_t> most, added;
};

class TierChooser {
public:
  TierChooser(const SwapProblem &problem, const std::vector<uint8_t> &kept) : problem(problem), index(problem, kept) {
    for (TensorId t : index.tensors())
      if (isHome(t))
        (index.mayBeInFile(t) ? movableHomes : fixedHomes).push_back(t);
    std::stable_sort(movableHomes.begin(), movableHomes.end(),
                     [&](TensorId a, TensorId b) { return bytesOf(a) < bytesOf(b); });
  }

  /// Homes in the host's memory, the smallest first, up to a share of all that may be elsewhere.
  void placeHomes(double share, StepOptions &options) const {
    options.tier.assign(index.bytes.size(), Machine::hostMemory());
    int64_t left = hostBytes() - sum(fixedHomes);
    options.hostHomeBytes = sum(fixedHomes);
    left = std::min(left, static_cast<int64_t>(share * static_cast<double>(sum(movableHomes))));
    for (TensorId t : movableHomes) {
      if (bytesOf(t) <= left) {
        left -= bytesOf(t);
        options.hostHomeBytes += bytesOf(t);
        continue;
      }
      options.tier[t.index()] = file();
      if (const TensorId next = problem.graph.tensor(t).updatedBy; next.valid())
        options.tier[next.index()] = file();
    }
  }

  /// What is away from the accelerators in a plan, and how often it comes back.
  std::vector<Away> awayIn(const Plan &plan, StepOptions &options) const {
    const Timeline timeline = simulate(problem.graph, problem.machine, problem.costs, plan);
    std::vector<Away> all(index.bytes.size());
    options.fetches.assign(index.bytes.size(), 0);
    auto evicted = [&](ResidencyId id) {
      const Residency &r = plan.residencies[id.index()];
      return r.segment == Segment::Arena && !index.isAccelerator(r.memory) && index.mayBeInFile(r.tensor);
    };
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      const Command &command = plan.commands[i];
      if (command.kind != CommandKind::Copy)
        continue;
      const TensorId t = plan.residencies[command.reads[0].index()].tensor;
      Away &away = all[t.index()];
      if (evicted(command.writes[0]) && !away.tensor.valid()) {
        away.tensor = t;
        away.outNs = timeline.commands[i].startNs;
      }
      if (evicted(command.reads[0]) && index.isAccelerator(plan.residencies[command.writes[0].index()].memory)) {
        away.backNs = std::max(away.backNs, timeline.commands[i].endNs);
        ++options.fetches[t.index()];
      }
    }
    std::erase_if(all, [](const Away &away) { return !away.tensor.valid(); });
    for (Away &away : all) {
      away.backNs = std::max(away.backNs, away.outNs + 1);
      away.bytes = index.bytes[away.tensor.index()];
      std::tie(away.writeNs, away.readNs) = fileNs(away.tensor);
    }
    findMoments(all);
    return all;
  }

  /// Puts enough of the stays into the file.
  void divide(const std::vector<Away> &all, FileDivision division, StepOptions &options) const {
    const bool fromEnd = division == FileDivision::FromEnd;
    const int64_t room = static_cast<int64_t>(
        kHostShare * static_cast<double>(std::max<int64_t>(hostBytes() - options.hostHomeBytes - staging(all), 0)));
    std::vector<uint8_t> inFile(all.size(), 0);
    int64_t high = 1;
    for (const Away &away : all)
      high = std::max(high, saturatingAdd(away.backNs, saturatingAdd(away.writeNs, away.readNs)) *
                                static_cast<int64_t>(1 + all.size() / 64));
    const bool isAll = division == FileDivision::Longest || division == FileDivision::Latest;
    for (int64_t low = isAll ? high : 0; low < high;) { // The least delay of the file's link with which the rest fits.
      const int64_t delayNs = low + (high - low) / 2;
      fillFile(all, fromEnd, delayNs, inFile);
      if (fits(all, inFile, room))
        high = delayNs;
      else
        low = delayNs + 1;
    }
    fillFile(all, fromEnd, high, inFile);
    const bool isEarliest = division == FileDivision::Latest || division == FileDivision::FromBeginLate;
    takeBack(all, isEarliest, room, inFile);
    // What was never away costs what the file costs where the host's memory is full of earlier evictions.
    for (TensorId t : index.tensors())
      if (division == FileDivision::Latest && !index.hasHome[t.index()] && index.mayBeInFile(t))
        options.tier[t.index()] = file();
    for (size_t i = 0; i < all.size(); ++i)
      options.tier[all[i].tensor.index()] = inFile[i] ? file() : Machine::hostMemory();
  }

private:
  int64_t hostBytes() const { return problem.capacityBytes[0]; }
  int64_t bytesOf(TensorId t) const { return problem.graph.tensor(t).bytes; }
  MemoryId file() const { return *index.files().begin(); }
  /// New values of states are where the states are.
  bool isHome(TensorId t) const {
    const Tensor &tensor = problem.graph.tensor(t);
    return index.hasHome[t.index()] && !tensor.updates.valid() &&
           (tensor.producer.valid() || !tensor.consumers.empty() || tensor.updatedBy.valid());
  }
  int64_t sum(const std::vector<TensorId> &tensors) const {
    int64_t bytes = 0;
    for (TensorId t : tensors)
      bytes = saturatingAdd(bytes, bytesOf(t));
    return bytes;
  }

  /// To write a tensor to the file, and to read it.
  std::pair<int64_t, int64_t> fileNs(TensorId t) const {
    const Position produced = index.producedAt(t);
    const MemoryId memory = produced.valid() ? index.memoryOf(produced) : Machine::hostMemory();
    LinkId link = index.link(memory, file());
    const MemoryId from = link.valid() ? memory : Machine::hostMemory();
    if (!link.valid())
      link = index.link(from, file());
    if (!link.valid())
      return {0, 0};
    return {transferTimeNs(problem.machine.link(link), from, bytesOf(t)),
            transferTimeNs(problem.machine.link(link), file(), bytesOf(t))};
  }

  /// In the host's arena, for what passes through it on its way to the file and back.
  int64_t staging(const std::vector<Away> &all) const {
    bool isDirect = true;
    for (MemoryId memory : index.acceleratorMemories())
      isDirect &= index.link(memory, file()).valid();
    int64_t largest = 0;
    for (const Away &away : all)
      largest = std::max(largest, away.bytes);
    for (TensorId t : movableHomes)
      largest = std::max(largest, index.bytes[t.index()]);
    return isDirect ? 0 : std::min(4 * largest, hostBytes() / 2);
  }

  static void findMoments(std::vector<Away> &all) {
    std::vector<int64_t> begins;
    for (const Away &away : all)
      begins.push_back(away.outNs);
    std::sort(begins.begin(), begins.end());
    for (Away &away : all) {
      away.first = static_cast<size_t>(std::lower_bound(begins.begin(), begins.end(), away.outNs) - begins.begin());
      away.last = static_cast<size_t>(std::lower_bound(begins.begin(), begins.end(), away.backNs) - begins.begin());
    }
  }

  static void fillFile(const std::vector<Away> &all, bool fromEnd, int64_t delayNs, std::vector<uint8_t> &inFile) {
    std::vector<uint32_t> order(all.size());
    for (uint32_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return fromEnd ? all[a].backNs > all[b].backNs : all[a].outNs < all[b].outNs;
    });
    const int64_t endNs = all.empty() ? 0 : all[order.front()].backNs;
    int64_t clockNs = 0;
    for (uint32_t i : order) {
      // Time runs from the begin, or back from the end.
      const int64_t dueNs = fromEnd ? endNs - all[i].backNs : all[i].outNs;
      inFile[i] = clockNs <= saturatingAdd(dueNs, delayNs);
      if (inFile[i])
        clockNs = saturatingAdd(std::max(clockNs, dueNs), fromEnd ? all[i].readNs : all[i].writeNs);
    }
  }

  static bool fits(const std::vector<Away> &all, const std::vector<uint8_t> &inFile, int64_t room) {
    std::vector<int64_t> change(all.size() + 1, 0);
    for (size_t i = 0; i < all.size(); ++i)
      if (!inFile[i]) {
        change[all[i].first] += all[i].bytes;
        change[all[i].last] -= all[i].bytes;
      }
    int64_t bytes = 0;
    return std::all_of(change.begin(), change.end(), [&](int64_t c) { return (bytes += c) <= room; });
  }

  /// Moves stays to the host's memory while it has room: the earliest first, or the shortest.
  static void takeBack(const std::vector<Away> &all, bool isEarliest, int64_t room, std::vector<uint8_t> &inFile) {
    MaximumTree used(all.size());
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < all.size(); ++i)
      if (inFile[i])
        order.push_back(i);
      else
        used.add(all[i].first, all[i].last, all[i].bytes);
    auto rank = [&](const Away &away) { return isEarliest ? away.outNs : away.backNs - away.outNs; };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return rank(all[a]) < rank(all[b]); });
    for (uint32_t i : order)
      if (used.greatest(all[i].first, all[i].last) + all[i].bytes <= room) {
        used.add(all[i].first, all[i].last, all[i].bytes);
        inFile[i] = 0;
      }
  }

  const SwapProblem &problem;
  ProblemIndex index;
  std::vector<TensorId> movableHomes, fixedHomes; ///< Those that may be in a file by ascending bytes.
};

} // namespace

void swap::setDefaultTiers(const ProblemIndex &index, StepOptions &options) {
  if (index.hasFiles())
    TierChooser(index.problem, {}).placeHomes(1.0, options);
}

Expected<Plan> swap::planInTiers(const SwapProblem &problem, const SwapParams &params, const std::vector<uint8_t> &kept,
                                 const PlanWithTiers &plan) {
  SwapProblem relaxed = problem;
  relaxed.capacityBytes[0] = kUnlimited;
  SLUICE_ASSIGN_OR_RETURN(Plan first, plan(relaxed, StepOptions()));
  if (first.bytesUsed(problem.graph, problem.machine)[0] <= problem.capacityBytes[0])
    return first;
  const TierChooser chooser(problem, kept);
  // A plan's own stays are better known than those of the plan before: the division is made anew while that gains.
  auto planDivided = [&](double homesOnHost, FileDivision division) -> Expected<Plan> {
    Expected<Plan> best = makeError(ErrorCode::Internal, "no division was tried");
    const Plan *known = &first;
    for (int64_t bestNs = 0, round = 0; round < kMostDivisions; ++round) {
      StepOptions options;
      const std::vector<Away> away = chooser.awayIn(*known, options);
      chooser.placeHomes(homesOnHost, options);
      chooser.divide(away, division, options);
      Expected<Plan> next = plan(problem, options);
      if (!next)
        return round == 0 ? std::move(next) : std::move(best);
      const int64_t ns = simulate(problem.graph, problem.machine, problem.costs, *next).makespanNs;
      if (round > 0 && ns >= bestNs)
        break;
      best = std::move(next);
      bestNs = ns;
      known = &*best;
    }
    return best;
  };
  Expected<Plan> divided = planDivided(params.homesOnHost, params.division);
  for (FileDivision division : {FileDivision::Longest, FileDivision::FromEnd, FileDivision::FromBegin})
    if (!divided && divided.error().code == ErrorCode::Infeasible)
      if (Expected<Plan> other = planDivided(0, division))
        divided = std::move(other);
  return divided;
}
