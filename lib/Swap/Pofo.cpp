//===- Pofo.cpp -----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The solver has two dynamic programs. The first one (`Rematerialization`) computes the optimal persistent schedule of
// every range of stages in every amount of memory. The second one goes over the chain from its begin and divides it
// into blocks. A state of the second program has the properties of the blocks so far that affect the blocks after them:
// the bytes that stay in memory, the bytes that still wait to leave, and the bytes that must have come back when the
// backward pass returns to these blocks. If each of these numbers is lower in one state than in another, the first
// state is never worse.
//
//===----------------------------------------------------------------------===//

#include "sluice/Swap/Pofo.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>

using namespace sluice;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// Time and memory for the tables grow with the cube and the square of the stages.
constexpr size_t kMaxStages = 400;
constexpr double kMaxSteps = 6e8;

/// The optimal persistent schedule of stages [first, last] in every amount of memory. The input of the first stage is
/// in memory beside it; the gradient of the last stage's output is part of it.
class Rematerialization {
public:
  Rematerialization(const PofoChain &chain, int parts)
      : stages(chain.stages), n(stages.size()), unit(std::max<int64_t>(1, ceilDiv(chain.memoryBytes, parts))),
        slots(static_cast<size_t>(chain.memoryBytes / unit)), times(n * n), choices(n * n) {
    for (size_t length = 1; length <= n; ++length)
      for (size_t first = 0; first + length <= n; ++first)
        fill(first, first + length - 1);
  }

  size_t slotsOf(int64_t bytes) const { return static_cast<size_t>(std::max<int64_t>(bytes, 0) / unit); }
  int64_t bytesOf(size_t count) const { return static_cast<int64_t>(count) * unit; }
  double timeNs(size_t first, size_t last, size_t memory) const { return timesOf(first, last)[memory]; }
  /// The least memory, ascending, for each time that is less than with less memory.
  std::vector<size_t> steps(size_t first, size_t last, size_t most) const {
    std::vector<size_t> result;
    const std::vector<double> &time = timesOf(first, last);
    for (size_t m = 0; m <= std::min(most, slots); ++m)
      if (time[m] < (result.empty() ? kInfinite : time[result.back()]))
        result.push_back(m);
    return result;
  }

  void appendRuns(size_t first, size_t last, size_t memory, std::vector<PofoRun> &runs) const {
    if (first == last) {
      runs.insert(runs.end(), {{first, false}, {first, true}});
      return;
    }
    const uint16_t choice = choices[first * n + last][memory];
    if (choice == kKeep) {
      runs.push_back({first, false});
      appendRuns(first + 1, last, memory - ceiled(stages[first].savedBytes), runs);
      runs.push_back({first, true});
      return;
    }
    for (size_t k = first; k < choice; ++k)
      runs.push_back({k, false});
    appendRuns(choice, last, memory - ceiled(stages[choice - 1].outputBytes), runs);
    appendRuns(first, choice - 1, memory, runs);
  }

private:
  /// A choice is the stage whose input is saved, or to keep all of the first stage, which is never such a stage.
  static constexpr uint16_t kKeep = 0;

  static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
  size_t ceiled(int64_t bytes) const { return static_cast<size_t>(ceilDiv(bytes, unit)); }
  const std::vector<double> &timesOf(size_t first, size_t last) const { return times[first * n + last]; }

  void fill(size_t first, size_t last) {
    std::vector<double> &best = times[first * n + last];
    best.assign(slots + 1, kInfinite);
    const PofoStage &stage = stages[first];
    const int64_t gradient = stages[last].gradientBytes;
    const size_t keepPeak = std::max(ceiled(stage.keepPeakBytes + gradient), ceiled(stage.backwardPeakBytes));
    const double own = static_cast<double>(stage.forwardNs + stage.backwardNs);
    if (first == last) {
      for (size_t m = keepPeak; m <= slots; ++m)
        best[m] = own;
      return;
    }
    std::vector<uint16_t> &choice = choices[first * n + last];
    choice.assign(slots + 1, kKeep);
    const size_t saved = ceiled(stage.savedBytes);
    const std::vector<double> &rest = timesOf(first + 1, last);
    for (size_t m = std::max(keepPeak, saved); m <= slots; ++m)
      best[m] = own + rest[m - saved];
    int64_t peak = 0;
    double forward = 0;
    for (size_t split = first + 1; split <= last && stages[split - 1].isRepeatable; ++split) {
      const PofoStage &before = stages[split - 1];
      const int64_t input = split - 1 == first ? 0 : stages[split - 2].outputBytes;
      peak = std::max(peak, input + before.dropPeakBytes);
      forward += static_cast<double>(before.forwardNs);
      const size_t output = ceiled(before.outputBytes);
      const std::vector<double> &late = timesOf(split, last), &early = timesOf(first, split - 1);
      for (size_t m = std::max(ceiled(peak + gradient), output); m <= slots; ++m)
        if (const double total = forward + late[m - output] + early[m]; total < best[m]) {
          best[m] = total;
          choice[m] = static_cast<uint16_t>(split);
        }
    }
  }

  const std::vector<PofoStage> &stages;
  size_t n;
  int64_t unit;
  size_t slots;
  std::vector<std::vector<double>> times; ///< [first * n + last][slots of memory]
  std::vector<std::vector<uint16_t>> choices;
};

/// What the blocks before a stage mean for those after it.
struct Label {
  int64_t keptBytes = 0;            ///< Inputs that stay in memory until their blocks' backward passes.
  double outBytes = 0, inBytes = 0; ///< That still leave, and that have come back before.
  double timeNs = 0;                ///< Of all passes of the blocks, and of their waits.
  size_t parent = std::numeric_limits<size_t>::max();
  PofoBlock block; ///< The last block.

  bool dominates(const Label &other) const {
    return timeNs <= other.timeNs && keptBytes <= other.keptBytes && outBytes <= other.outBytes &&
           inBytes <= other.inBytes;
  }
};

class BlockSearch {
public:
  BlockSearch(const PofoChain &chain, const PofoParams &params, const Rematerialization &again)
      : chain(chain), stages(chain.stages), n(stages.size()), again(again),
        cellBytes(params.tolerance * static_cast<double>(chain.memoryBytes)), nodes(2 * n) {}

  std::optional<PofoSchedule> run() {
    labels.push_back({});
    nodes[0].open.push_back(0);
    for (size_t first = 0; first < n; ++first)
      for (bool isAfterKeep : {false, true})
        expand(first, isAfterKeep);
    if (!best)
      return std::nullopt;
    PofoSchedule schedule;
    schedule.timeNs = best->timeNs;
    schedule.blocks = {best->block};
    for (size_t at = best->parent; labels[at].parent < labels.size(); at = labels[at].parent)
      schedule.blocks.push_back(labels[at].block);
    std::reverse(schedule.blocks.begin(), schedule.blocks.end());
    appendRuns(schedule);
    return schedule;
  }

private:
  /// The states before a stage, by whether the block before saves all.
  struct Node {
    std::vector<size_t> open;                       ///< Labels.
    std::map<std::array<int64_t, 3>, size_t> cells; ///< With a tolerance: the place in `open` of each cell's label.
  };

  int64_t inputBytes(size_t first, bool isAfterKeep) const {
    return first == 0 ? 0 : isAfterKeep ? stages[first - 1].savedBytes : stages[first - 1].outputBytes;
  }

  void add(Node &node, Label label) {
    if (cellBytes > 0) {
      const std::array<int64_t, 3> cell = {static_cast<int64_t>(static_cast<double>(label.keptBytes) / cellBytes),
                                           static_cast<int64_t>(label.outBytes / cellBytes),
                                           static_cast<int64_t>(label.inBytes / cellBytes)};
      auto [at, isNew] = node.cells.try_emplace(cell, node.open.size());
      if (!isNew) {
        if (Label &known = labels[node.open[at->second]]; label.timeNs < known.timeNs)
          known = label;
        return;
      }
    } else {
      if (std::any_of(node.open.begin(), node.open.end(), [&](size_t l) { return labels[l].dominates(label); }))
        return;
      std::erase_if(node.open, [&](size_t l) { return label.dominates(labels[l]); });
    }
    node.open.push_back(labels.size());
    labels.push_back(label);
  }

  void expand(size_t first, bool isAfterKeep) {
    const std::vector<size_t> open = nodes[2 * first + isAfterKeep].open;
    for (size_t id : open) {
      const Label from = labels[id];
      const int64_t input = inputBytes(first, isAfterKeep);
      const int64_t room = chain.memoryBytes - from.keptBytes - input;
      if (room < 0)
        continue;
      if (first + 1 < n)
        keep(id, from, first, input, room);
      computeAgain(id, from, first, input, room);
      finish(id, from, first, room);
    }
  }

  /// The passes of a block, and the bytes for which they wait each way.
  struct Passes {
    double forwardNs = 0, backwardNs = 0;
    double lateOut = 0, lateIn = 0;
  };

  /// Adds the states after a block with these passes.
  void advance(size_t parent, const Label &from, PofoBlock block, int64_t input, const Passes &passes) {
    const auto [forwardNs, backwardNs, lateOut, lateIn] = passes;
    auto waitNs = [](double bytes, double rate) { return bytes <= 0 ? 0 : rate > 0 ? bytes / rate : kInfinite; };
    const double totalNs = from.timeNs + forwardNs + backwardNs + waitNs(lateOut, chain.outBytesPerNs) +
                           waitNs(lateIn, chain.inBytesPerNs);
    if (totalNs == kInfinite || (best && totalNs >= best->timeNs))
      return;
    for (bool isOffloaded : {false, true}) {
      // What has no bytes stays, and so does everything without a link.
      if (isOffloaded && (input == 0 || chain.outBytesPerNs <= 0 || chain.inBytesPerNs <= 0))
        continue;
      const double bytes = isOffloaded ? static_cast<double>(input) : 0;
      Label next;
      next.keptBytes = from.keptBytes + (isOffloaded ? 0 : input);
      next.outBytes = std::max(0.0, from.outBytes + bytes - lateOut - forwardNs * chain.outBytesPerNs);
      next.inBytes = std::max(0.0, from.inBytes - lateIn - backwardNs * chain.inBytesPerNs) + bytes;
      next.timeNs = totalNs;
      next.parent = parent;
      next.block = block;
      next.block.isOffloaded = isOffloaded;
      add(nodes[2 * (block.last + 1) + (block.kind == PofoBlock::Kind::Keep)], next);
    }
  }

  /// The bytes that must be gone so that `needed` fit beside `occupied`.
  static double excess(double occupied, int64_t needed, int64_t room) {
    return std::max(0.0, occupied + static_cast<double>(needed - room));
  }

  void keep(size_t id, const Label &from, size_t first, int64_t input, int64_t room) {
    const PofoStage &stage = stages[first];
    if (std::max(stage.keepPeakBytes, stage.backwardPeakBytes) > room)
      return;
    advance(id, from, {PofoBlock::Kind::Keep, first, first, false, 0}, input,
            {static_cast<double>(stage.forwardNs), static_cast<double>(stage.backwardNs),
             excess(from.outBytes, stage.keepPeakBytes, room), excess(from.inBytes, stage.backwardPeakBytes, room)});
  }

  void computeAgain(size_t id, const Label &from, size_t first, int64_t input, int64_t room) {
    double forwardNs = 0, lateOut = 0;
    for (size_t last = first; last + 1 < n; ++last) {
      const PofoStage &stage = stages[last];
      const int64_t peak = (last == first ? 0 : stages[last - 1].outputBytes) + stage.dropPeakBytes;
      if (!stage.isRepeatable || peak > room)
        return;
      lateOut = std::max(lateOut, excess(from.outBytes, peak, room) - forwardNs * chain.outBytesPerNs);
      forwardNs += static_cast<double>(stage.forwardNs);
      for (size_t memory : memories(first, last, room, from.inBytes)) {
        const int64_t bytes = again.bytesOf(memory);
        advance(id, from, {PofoBlock::Kind::Again, first, last, false, bytes}, input,
                {forwardNs, again.timeNs(first, last, memory), lateOut, excess(from.inBytes, bytes, room)});
      }
    }
  }

  void finish(size_t id, const Label &from, size_t first, int64_t room) {
    for (size_t memory : memories(first, n - 1, room, std::max(from.inBytes, from.outBytes))) {
      const int64_t bytes = again.bytesOf(memory);
      const double lateOut = excess(from.outBytes, bytes, room), lateIn = excess(from.inBytes, bytes, room);
      const double timeNs = again.timeNs(first, n - 1, memory);
      // Data has left before it comes back.
      double waitNs = 0, linkNs = 0;
      if (from.outBytes > 0) {
        waitNs += lateOut / chain.outBytesPerNs;
        linkNs += (from.outBytes - lateOut) / chain.outBytesPerNs;
      }
      if (from.inBytes > 0) {
        waitNs += lateIn / chain.inBytesPerNs;
        linkNs += (from.inBytes - lateIn) / chain.inBytesPerNs;
      }
      Label end;
      end.timeNs = from.timeNs + std::max(timeNs, linkNs) + waitNs;
      end.parent = id;
      end.block = {PofoBlock::Kind::Last, first, n - 1, false, bytes};
      if (!best || end.timeNs < best->timeNs)
        best = end;
    }
  }

  /// The amounts of memory to try for a rematerialization beside which bytes come or go: all that differ, or with a
  /// tolerance the most, the most without a wait, the least and one between.
  std::vector<size_t> memories(size_t first, size_t last, int64_t room, double movedBytes) const {
    std::vector<size_t> steps = again.steps(first, last, again.slotsOf(room));
    if (movedBytes <= 0 && !steps.empty())
      return {steps.back()};
    if (cellBytes <= 0 || steps.size() <= 4)
      return steps;
    const size_t free = again.slotsOf(room - static_cast<int64_t>(movedBytes));
    const auto above = std::upper_bound(steps.begin(), steps.end(), free);
    std::vector<size_t> chosen = {steps.front(), steps[steps.size() / 2], steps.back()};
    if (above != steps.begin())
      chosen.push_back(above[-1]);
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
  }

  void appendRuns(PofoSchedule &schedule) const {
    for (const PofoBlock &block : schedule.blocks)
      if (block.kind != PofoBlock::Kind::Last)
        for (size_t stage = block.first; stage <= block.last; ++stage)
          schedule.runs.push_back({stage, false});
    for (size_t i = schedule.blocks.size(); i-- > 0;) {
      const PofoBlock &block = schedule.blocks[i];
      if (block.kind == PofoBlock::Kind::Keep)
        schedule.runs.push_back({block.first, true});
      else
        again.appendRuns(block.first, block.last, again.slotsOf(block.memoryBytes), schedule.runs);
    }
  }

  const PofoChain &chain;
  const std::vector<PofoStage> &stages;
  size_t n;
  const Rematerialization &again;
  double cellBytes; ///< 0: labels are compared exactly.
  std::vector<Node> nodes;
  std::vector<Label> labels;
  std::optional<Label> best;
};

} // namespace

Expected<PofoSchedule> sluice::solvePofo(const PofoChain &chain, const PofoParams &params) {
  const size_t n = chain.stages.size();
  if (n == 0 || chain.memoryBytes < 0 || params.memoryParts < 1 || !(params.tolerance >= 0))
    return makeError(ErrorCode::InvalidInput, "solver 'pofo' cannot plan ", n, " stages in ", chain.memoryBytes,
                     " bytes of memory that are divided into ", params.memoryParts, " parts, with a tolerance of ",
                     params.tolerance, ", give at least 1 stage and 1 part, and no negative memory or tolerance");
  if (n > kMaxStages)
    return makeError(ErrorCode::Unsupported, "the chain has ", n, " stages, and POFO supports at most ", kMaxStages,
                     ", use --solver search=default");
  const double cubes = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / 6 + 1;
  const int parts = std::min(params.memoryParts, std::max(50, static_cast<int>(std::min(kMaxSteps / cubes, 1e6))));
  const Rematerialization again(chain, parts);
  if (std::optional<PofoSchedule> schedule = BlockSearch(chain, params, again).run())
    return std::move(*schedule);
  return makeError(ErrorCode::Infeasible, "solver 'pofo' finds no schedule of ", n, " stages whose activations fit ",
                   formatBytes(chain.memoryBytes), ", raise --memory");
}
