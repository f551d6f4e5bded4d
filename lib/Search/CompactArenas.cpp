//===- CompactArenas.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A plan orders only what its streams and waits order. Two residencies may share addresses if every user of one happens
// before the creator of the other. This relation does not depend on addresses. The arenas are therefore packed again
// under the same relation, and any packing without clashes leaves the plan valid and its times as they are. Residencies
// that clash and nevertheless share an address (a result in the place of an operand) stay together as one block.
//
//===----------------------------------------------------------------------===//

#include "sluice/Search/CompactArenas.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sluice {
namespace {

constexpr size_t kMostResidencies = 4096;

/// What the plan's streams and waits put in order: vector clocks, as the validator
/// has of its own.
class Order {
public:
  /// More entries are too many, as to the validator.
  static bool fits(const Plan &plan) {
    constexpr size_t kMaxEntries = size_t(1) << 32;
    return plan.streams.empty() || plan.commands.size() <= kMaxEntries / plan.streams.size();
  }

  explicit Order(const Plan &plan) : plan(plan), streams(plan.streams.size()) {
    clocks.assign(plan.commands.size() * streams, 0);
    std::vector<CommandId> last(streams);
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      const Command &command = plan.commands[i];
      auto join = [&](CommandId earlier) {
        for (size_t s = 0; s < streams; ++s)
          clocks[i * streams + s] = std::max(clocks[i * streams + s], clocks[earlier.index() * streams + s]);
      };
      if (CommandId &previous = last[command.stream.index()]; previous.valid())
        join(previous);
      for (CommandId wait : command.waits)
        join(wait);
      last[command.stream.index()] = CommandId(i);
      ++clocks[i * streams + command.stream.index()];
    }
  }

  /// Of a command among those of its stream, from 1.
  uint32_t position(CommandId id) const { return clocks[id.index() * streams + streamOf(id)]; }
  size_t streamOf(CommandId id) const { return plan.commands[id.index()].stream.index(); }
  bool happensBefore(CommandId a, CommandId b) const {
    return a != b && clocks[b.index() * streams + streamOf(a)] >= position(a);
  }

private:
  const Plan &plan;
  size_t streams;
  std::vector<uint32_t> clocks; ///< [command * streams + stream]
};

struct Stay {
  CommandId creator;              ///< Invalid: there from the start, and to the end.
  std::vector<CommandId> touches; ///< The last of each stream.
};

class ArenaPacker {
public:
  ArenaPacker(const Plan &plan, const Order &order, const std::vector<Stay> &stays, MemoryId memory)
      : plan(plan), order(order), stays(stays) {
    for (uint32_t i = 0; i < plan.residencies.size(); ++i) {
      const Residency &r = plan.residencies[i];
      if (r.memory == memory && r.segment == Segment::Arena && r.bytes > 0)
        members.push_back(i);
    }
  }

  /// True if the arena can be smaller than `bytes`; apply() then makes it so.
  bool pack(int64_t bytes) {
    if (members.size() > kMostResidencies)
      return false;
    findClashes();
    if (!bindShared() || liveBytes() >= bytes)
      return false;
    int64_t best = bytes;
    for (auto before : {&ArenaPacker::hasMoreBytes, &ArenaPacker::hasMoreArea, &ArenaPacker::beginsEarlier,
                        &ArenaPacker::liesLower}) {
      std::vector<uint32_t> sequence(blocks.size());
      std::iota(sequence.begin(), sequence.end(), 0U);
      std::stable_sort(sequence.begin(), sequence.end(), [&](uint32_t a, uint32_t b) { return (this->*before)(a, b); });
      std::vector<int64_t> offsets = firstFit(sequence);
      int64_t peak = 0;
      for (size_t b = 0; b < blocks.size(); ++b)
        peak = std::max(peak, offsets[b] + blocks[b].bytes);
      if (peak >= best)
        continue;
      best = peak;
      bestOffsets = std::move(offsets);
    }
    peakBytes = best;
    return best < bytes;
  }

  void apply(Plan &changed) const {
    for (size_t b = 0; b < blocks.size(); ++b)
      for (uint32_t i : blocks[b].stays)
        changed.residencies[members[i]].offset = bestOffsets[b];
    if (!blocks.empty())
      changed.arenaBytes[plan.residencies[members[0]].memory.index()] = peakBytes;
  }

private:
  /// Residencies at one address.
  struct Block {
    std::vector<uint32_t> stays; ///< Indices into members.
    int64_t bytes = 0, offset = 0;
    uint32_t first = std::numeric_limits<uint32_t>::max(), last = 0; ///< Commands.
  };

  bool precedes(const Stay &a, const Stay &b) const {
    return a.creator.valid() && b.creator.valid() &&
           std::all_of(a.touches.begin(), a.touches.end(),
                       [&](CommandId touch) { return order.happensBefore(touch, b.creator); });
  }
  bool clash(uint32_t i, uint32_t j) const { return clashes[i * members.size() + j]; }

  /// Commands, [begin, end), in whatever order they run one by one.
  std::pair<size_t, size_t> rangeOf(const Stay &stay) const {
    if (!stay.creator.valid())
      return {0, plan.commands.size()};
    return {stay.creator.index(), std::max_element(stay.touches.begin(), stay.touches.end())->index() + 1};
  }

  /// The most that is live at once where commands run one by one; what is at one
  /// address counts once. No packing of the blocks is smaller.
  int64_t liveBytes() const {
    std::vector<int64_t> change(plan.commands.size() + 1, 0);
    for (const Block &block : blocks) {
      std::vector<std::pair<size_t, size_t>> ranges;
      for (uint32_t i : block.stays)
        ranges.push_back(rangeOf(stays[members[i]]));
      std::sort(ranges.begin(), ranges.end());
      size_t end = 0;
      for (auto [from, to] : ranges) {
        if (to <= end)
          continue;
        change[std::max(from, end)] += block.bytes;
        change[to] -= block.bytes;
        end = to;
      }
    }
    int64_t live = 0, most = 0;
    for (int64_t bytes : change)
      most = std::max(most, live += bytes);
    return most;
  }

  void findClashes() {
    const size_t count = members.size();
    clashes.assign(count * count, false);
    for (uint32_t i = 0; i < count; ++i)
      for (uint32_t j = i + 1; j < count; ++j) {
        const Stay &a = stays[members[i]], &b = stays[members[j]];
        clashes[i * count + j] = clashes[j * count + i] = !precedes(a, b) && !precedes(b, a);
      }
  }

  /// Blocks of what is at one address although it clashes; false where such ranges
  /// only overlap in part.
  bool bindShared() {
    std::vector<uint32_t> sorted(members.size()), blockOf(members.size());
    std::iota(sorted.begin(), sorted.end(), 0U);
    auto offset = [&](uint32_t i) { return plan.residencies[members[i]].offset; };
    auto end = [&](uint32_t i) { return offset(i) + plan.residencies[members[i]].bytes; };
    std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t i, uint32_t j) { return offset(i) < offset(j); });
    std::iota(blockOf.begin(), blockOf.end(), 0U);
    auto root = [&](uint32_t i) {
      while (blockOf[i] != i)
        i = blockOf[i];
      return i;
    };
    for (size_t a = 0; a < sorted.size(); ++a)
      for (size_t b = a + 1; b < sorted.size() && offset(sorted[b]) < end(sorted[a]); ++b) {
        if (!clash(sorted[a], sorted[b]))
          continue;
        if (offset(sorted[a]) != offset(sorted[b]))
          return false;
        blockOf[root(sorted[b])] = root(sorted[a]);
      }
    std::vector<uint32_t> number(members.size(), std::numeric_limits<uint32_t>::max());
    for (uint32_t i = 0; i < members.size(); ++i) {
      uint32_t &at = number[root(i)];
      if (at == std::numeric_limits<uint32_t>::max()) {
        at = static_cast<uint32_t>(blocks.size());
        blocks.emplace_back();
      }
      Block &block = blocks[at];
      const Stay &stay = stays[members[i]];
      block.stays.push_back(i);
      block.bytes = std::max(block.bytes, alignUp(plan.residencies[members[i]].bytes));
      block.offset = offset(i);
      block.first = std::min(block.first, stay.creator.valid() ? stay.creator.value : 0);
      for (CommandId touch : stay.touches)
        block.last = std::max(block.last, touch.value);
      if (!stay.creator.valid())
        block.last = static_cast<uint32_t>(plan.commands.size());
    }
    return true;
  }

  bool clashBlocks(const Block &a, const Block &b) const {
    return std::any_of(a.stays.begin(), a.stays.end(), [&](uint32_t i) {
      return std::any_of(b.stays.begin(), b.stays.end(), [&](uint32_t j) { return clash(i, j); });
    });
  }

  bool hasMoreBytes(uint32_t a, uint32_t b) const { return blocks[a].bytes > blocks[b].bytes; }
  bool hasMoreArea(uint32_t a, uint32_t b) const { return area(blocks[a]) > area(blocks[b]); }
  bool beginsEarlier(uint32_t a, uint32_t b) const { return blocks[a].first < blocks[b].first; }
  bool liesLower(uint32_t a, uint32_t b) const { return blocks[a].offset < blocks[b].offset; }
  static double area(const Block &block) {
    return static_cast<double>(block.bytes) * (static_cast<double>(block.last) - block.first + 1);
  }

  std::vector<int64_t> firstFit(const std::vector<uint32_t> &sequence) const {
    std::vector<int64_t> offsets(blocks.size());
    std::vector<uint32_t> placed; // By offset.
    for (uint32_t b : sequence) {
      int64_t at = 0;
      for (uint32_t other : placed) {
        if (offsets[other] >= at + blocks[b].bytes)
          break;
        if (offsets[other] + blocks[other].bytes > at && clashBlocks(blocks[b], blocks[other]))
          at = offsets[other] + blocks[other].bytes;
      }
      offsets[b] = at;
      placed.insert(std::upper_bound(placed.begin(), placed.end(), at,
                                     [&](int64_t value, uint32_t other) { return value < offsets[other]; }),
                    b);
    }
    return offsets;
  }

  const Plan &plan;
  const Order &order;
  const std::vector<Stay> &stays;
  std::vector<uint32_t> members; ///< Residencies.
  std::vector<bool> clashes;
  std::vector<Block> blocks;
  std::vector<int64_t> bestOffsets;
  int64_t peakBytes = 0;
};

std::vector<Stay> staysOf(const Plan &plan) {
  std::vector<Stay> stays(plan.residencies.size());
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    const Command &command = plan.commands[i];
    for (const std::vector<ResidencyId> *list : {&command.reads, &command.writes})
      for (ResidencyId r : *list) {
        Stay &stay = stays[r.index()];
        if (list == &command.writes)
          stay.creator = CommandId(i);
        auto same = std::find_if(stay.touches.begin(), stay.touches.end(), [&](CommandId touch) {
          return plan.commands[touch.index()].stream == command.stream;
        });
        if (same == stay.touches.end())
          stay.touches.push_back(CommandId(i));
        else
          *same = CommandId(i);
      }
  }
  return stays;
}

} // namespace

void compactArenas(Plan &plan) {
  if (!Order::fits(plan))
    return;
  const Order order(plan);
  const std::vector<Stay> stays = staysOf(plan);
  for (uint32_t m = 0; m < plan.arenaBytes.size(); ++m) {
    ArenaPacker packer(plan, order, stays, MemoryId(m));
    if (packer.pack(plan.arenaBytes[m]))
      packer.apply(plan);
  }
}

} // namespace sluice
