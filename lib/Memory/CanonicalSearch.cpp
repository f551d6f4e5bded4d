//===- CanonicalSearch.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The invariant is a lower bound `lowest[i]` of the offset of every free item, which only rises on the way down the
// tree. If an item cannot be at its bound, its bound is raised to the lowest top of a free item that it meets, because
// in a canonical packing every item is at the bottom or on another item. A state without a packing is stored by a hash
// of its free items and bounds, and is not searched again. All changes are on a trail, which undoes them in reverse
// order.
//
// If no free item crosses between two sections, the items on either side are packed independently.
//
//===----------------------------------------------------------------------===//

#include "CanonicalSearch.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace sluice;
using namespace sluice::memory;

namespace {

constexpr uint32_t kNone = ~0u;

/// A set of failed states, bounded: a newer one takes an older one's place.
class FailedStates {
public:
  struct Key {
    uint64_t a = 0, b = 0;
    bool operator==(const Key &) const = default;
  };
  bool contains(Key key) const { return !slots.empty() && slots[key.a & (slots.size() - 1)] == key; }
  void insert(Key key) {
    if (slots.empty())
      slots.resize(size_t(1) << 18);
    slots[key.a & (slots.size() - 1)] = key;
  }

private:
  std::vector<Key> slots;
};

/// splitmix64's finalizer.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Searcher {
public:
  Searcher(const Sections &sections, int64_t capacityBytes, const CanonicalParams &params, const Budget &budget)
      : sections(sections), items(sections.items), params(params), budget(budget) {
    const size_t n = items.size();
    capacity = (capacityBytes + sections.maxSpareBytes) / sections.unitBytes;
    lowest.assign(n, 0);
    highest.resize(n);
    free.assign(n, 1);
    sum = sections.live;
    state.resize(sections.count);
    crossing.assign(sections.count + 1, 0);
    queued.assign(sections.count, 0);
    members.resize(sections.count);
    next.assign(n, kNone);
    previous.assign(n, kNone);
    slotBase.resize(n + 1, 0);
    for (uint32_t i = 0; i < n; ++i) {
      slotBase[i + 1] = slotBase[i] + (items[i].last - items[i].first);
      int64_t bytes = items[i].size * sections.unitBytes - items[i].spareBytes;
      highest[i] = capacityBytes < bytes ? -1 : (capacityBytes - bytes) / sections.unitBytes;
    }
    slots.resize(slotBase[n]);
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t s = items[i].first; s < items[i].last; ++s) {
        slots[slotBase[i] + s - items[i].first] = static_cast<uint32_t>(members[s].size());
        members[s].push_back(i);
        crossing[s] += s > items[i].first;
      }
    numMembers.resize(sections.count);
    for (uint32_t s = 0; s < sections.count; ++s)
      numMembers[s] = static_cast<uint32_t>(members[s].size());
    // Of items alike, the one of lower number lies lower.
    std::vector<uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    auto kind = [&](uint32_t i) {
      return std::tuple(items[i].first, items[i].last, items[i].size, items[i].alignment, items[i].spareBytes);
    };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t i, uint32_t j) { return kind(i) < kind(j); });
    for (size_t k = 1; k < n; ++k)
      if (kind(order[k - 1]) == kind(order[k])) {
        next[order[k - 1]] = order[k];
        previous[order[k]] = order[k - 1];
      }
    byFirst = std::move(order);
    firstIn.assign(sections.count + 1, static_cast<uint32_t>(n));
    for (size_t k = n; k-- > 0;)
      firstIn[items[byFirst[k]].first] = static_cast<uint32_t>(k);
    for (uint32_t s = sections.count; s-- > 0;)
      firstIn[s] = std::min(firstIn[s], firstIn[s + 1]);
  }

  Outcome run(int64_t &used, std::vector<int64_t> &offsets) {
    for (uint32_t i = 0; i < items.size(); ++i)
      if (highest[i] < 0)
        return Outcome::Infeasible;
    bool found = true;
    for (uint32_t i = 0; i < items.size() && found; ++i)
      if (next[i] != kNone)
        found = raise(next[i], lowest[i] + items[i].size);
    for (uint32_t s = 0; s < sections.count; ++s)
      enqueue(s);
    found = propagate(found) && solve(0, sections.count);
    used += evaluations;
    if (found)
      offsets = lowest;
    return found ? Outcome::Found : stopped ? Outcome::Stopped : Outcome::Infeasible;
  }

private:
  //===--------------------------------------------------------------------===//
  // State and its trail
  //===--------------------------------------------------------------------===//

  /// What inference knows of a section's free items.
  struct SectionState {
    uint32_t numFirst = 0;          ///< Those that can be the lowest.
    uint32_t topItem = kNone;       ///< Whose top could be the lowest.
    int64_t floor = 0;              ///< Least offset.
    int64_t top = 0, secondTop = 0; ///< Least tops; the second is another item's.
    bool operator==(const SectionState &) const = default;
  };
  struct Entry {
    int64_t old;
    uint32_t index;
    bool isPlaced;
  };
  struct Mark {
    size_t entries, states;
  };

  void undo(Mark mark) {
    for (; trail.size() > mark.entries; trail.pop_back())
      if (const Entry &entry = trail.back(); entry.isPlaced)
        restore(entry.index);
      else
        lowest[entry.index] = entry.old;
    for (; stateTrail.size() > mark.states; stateTrail.pop_back())
      state[stateTrail.back().first] = stateTrail.back().second;
  }

  void enqueue(uint32_t s) {
    if (!queued[s]) {
      queued[s] = 1;
      queue.push_back(s);
    }
  }

  bool raise(uint32_t i, int64_t offset) {
    for (; i != kNone; offset = lowest[i] + items[i].size, i = next[i]) {
      if (!free[i] || offset <= lowest[i])
        return true;
      const int64_t alignment = items[i].alignment;
      if (alignment > 1)
        offset = (offset + alignment - 1) / alignment * alignment;
      if (offset > highest[i])
        return false;
      trail.push_back({lowest[i], i, false});
      lowest[i] = offset;
      for (uint32_t s = items[i].first; s < items[i].last; ++s)
        enqueue(s);
    }
    return true;
  }

  /// Removal from the sections swaps with the last member, so that undoing in
  /// reverse order finds everything in place.
  void remove(uint32_t i) {
    free[i] = 0;
    for (uint32_t s = items[i].first; s < items[i].last; ++s) {
      uint32_t &slot = slots[slotBase[i] + s - items[i].first];
      uint32_t other = members[s][--numMembers[s]];
      members[s][slot] = other;
      slots[slotBase[other] + s - items[other].first] = slot;
      members[s][numMembers[s]] = i;
      slot = numMembers[s];
      sum[s] -= items[i].size;
      crossing[s] -= s > items[i].first;
      enqueue(s);
    }
    trail.push_back({0, i, true});
  }

  void restore(uint32_t i) {
    free[i] = 1;
    for (uint32_t s = items[i].first; s < items[i].last; ++s) {
      ++numMembers[s];
      sum[s] += items[i].size;
      crossing[s] += s > items[i].first;
    }
  }

  /// At its lowest offset; what it meets goes above it.
  bool place(uint32_t i) {
    remove(i);
    const int64_t top = lowest[i] + items[i].size;
    for (uint32_t s = items[i].first; s < items[i].last; ++s)
      for (uint32_t k = 0; k < numMembers[s]; ++k)
        if (uint32_t other = members[s][k]; lowest[other] < top && !raise(other, top))
          return false;
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Inference
  //===--------------------------------------------------------------------===//

  /// Empties the queue in any case.
  bool propagate(bool consistent = true) {
    for (size_t k = 0; k < queue.size(); ++k) {
      uint32_t s = queue[k];
      queued[s] = 0;
      consistent = consistent && filter(s);
    }
    queue.clear();
    return consistent;
  }

  /// One machine with release times. The jobs that can come first are those that
  /// leave room for all others above; the rest start after one of these ends.
  bool filter(uint32_t s) {
    const uint32_t count = numMembers[s];
    visits += count;
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    SectionState now{0, kNone, kMost, kMost, kMost};
    if (count > 0) {
      const int64_t limit = capacity - sum[s];
      int64_t highestFloor = 0, earliestEnd = kMost;
      for (uint32_t k = 0; k < count; ++k) {
        const uint32_t i = members[s][k];
        const int64_t floor = lowest[i], top = floor + items[i].size;
        highestFloor = std::max(highestFloor, floor);
        now.floor = std::min(now.floor, floor);
        if (floor <= limit) {
          ++now.numFirst;
          earliestEnd = std::min(earliestEnd, top);
        }
        if (top < now.top) {
          now.secondTop = now.top;
          now.top = top;
          now.topItem = i;
        } else {
          now.secondTop = std::min(now.secondTop, top);
        }
      }
      if (now.numFirst == 0)
        return false;
      if (highestFloor > limit) {
        order.clear();
        for (uint32_t k = 0; k < count; ++k)
          order.emplace_back(lowest[members[s][k]], items[members[s][k]].size);
        std::sort(order.begin(), order.end());
        int64_t end = 0;
        for (auto [release, size] : order)
          end = std::max(end, release) + size;
        if (end > capacity)
          return false;
        for (uint32_t k = 0; k < count; ++k)
          if (uint32_t i = members[s][k]; lowest[i] > limit && lowest[i] < earliestEnd && !raise(i, earliestEnd))
            return false;
      }
    }
    if (!(now == state[s])) {
      stateTrail.emplace_back(s, state[s]);
      state[s] = now;
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Branching
  //===--------------------------------------------------------------------===//

  /// The lowest offset at which `i` lies if not at its bound: on a free item.
  int64_t postponed(uint32_t i) const {
    int64_t lowestTop = std::numeric_limits<int64_t>::max();
    for (uint32_t s = items[i].first; s < items[i].last && lowestTop > lowest[i]; ++s)
      lowestTop = std::min(lowestTop, state[s].topItem == i ? state[s].secondTop : state[s].top);
    return lowestTop;
  }

  struct Choice {
    uint32_t item = kNone;
    int64_t otherwise = 0; ///< Its least offset if not placed at its bound.
  };

  /// A candidate for the bottom of section `s` that no free item fits below.
  Choice candidateOf(uint32_t s) const {
    Choice best;
    for (uint32_t k = 0; k < numMembers[s]; ++k) {
      uint32_t i = members[s][k];
      if (lowest[i] + sum[s] > capacity || (previous[i] != kNone && free[previous[i]]))
        continue;
      if (best.item != kNone && !before(i, best.item))
        continue;
      int64_t otherwise = postponed(i);
      if (otherwise > lowest[i])
        best = {i, otherwise};
    }
    return best;
  }

  bool before(uint32_t i, uint32_t j) const {
    if (!params.rankFirst && lowest[i] != lowest[j])
      return lowest[i] < lowest[j];
    return params.rank[i] < params.rank[j];
  }

  Choice choose(uint32_t begin, uint32_t end) {
    ranked.clear();
    for (uint32_t s = begin; s < end; ++s) {
      if (numMembers[s] == 0)
        continue;
      const int64_t floor = state[s].floor, slack = capacity - sum[s] - floor;
      switch (params.branching) {
      case Branching::FewestFirst:
        ranked.emplace_back(state[s].numFirst, slack, s);
        break;
      case Branching::LowestFirst:
        ranked.emplace_back(floor, state[s].numFirst, s);
        break;
      }
    }
    // The item of the least bound is always a candidate, so one exists.
    std::make_heap(ranked.begin(), ranked.end(), std::greater<>());
    while (!ranked.empty()) {
      if (Choice choice = candidateOf(std::get<2>(ranked.front())); choice.item != kNone)
        return choice;
      std::pop_heap(ranked.begin(), ranked.end(), std::greater<>());
      ranked.pop_back();
    }
    return {};
  }

  FailedStates::Key stateOf(uint32_t begin, uint32_t end) const {
    FailedStates::Key key;
    for (uint32_t k = firstIn[begin]; k < firstIn[end]; ++k)
      if (uint32_t i = byFirst[k]; free[i]) {
        uint64_t h = mix(mix(i) ^ static_cast<uint64_t>(lowest[i]));
        key.a += h;
        key.b += h * h;
      }
    return key;
  }

  /// Packs the free items of these sections. True leaves them placed; false may
  /// leave changes for the caller to undo.
  bool solve(uint32_t begin, uint32_t end) {
    const FailedStates::Key entry = stateOf(begin, end);
    if (failed.contains(entry))
      return false;
    for (;;) {
      evaluations += 1 + visits / 256;
      visits %= 256;
      if (stopped || evaluations > budget.evaluations || ((++nodes & 63) == 0 && budget.mustStop())) {
        stopped = true;
        return false;
      }
      const Choice choice = choose(begin, end);
      if (choice.item == kNone)
        break;
      const Mark mark{trail.size(), stateTrail.size()};
      if (propagate(place(choice.item)) && solveParts(begin, end))
        return true;
      undo(mark);
      if (stopped)
        return false;
      if (choice.otherwise == std::numeric_limits<int64_t>::max())
        break; // Nothing it could lie on.
      if (!propagate(raise(choice.item, choice.otherwise)))
        break;
    }
    failed.insert(entry);
    return false;
  }

  /// What no free item connects is independent: fewest items first.
  bool solveParts(uint32_t begin, uint32_t end) {
    struct Part {
      uint32_t numItems, begin, end;
    };
    std::vector<Part> parts;
    for (uint32_t s = begin; s < end; ++s) {
      if (numMembers[s] == 0)
        continue;
      uint32_t from = s;
      while (s + 1 < end && crossing[s + 1] > 0)
        ++s;
      uint32_t numItems = 0;
      for (uint32_t k = firstIn[from]; k < firstIn[s + 1]; ++k)
        numItems += free[byFirst[k]];
      parts.push_back({numItems, from, s + 1});
    }
    std::sort(parts.begin(), parts.end(), [](const Part &a, const Part &b) {
      return std::tie(a.numItems, a.begin) < std::tie(b.numItems, b.begin);
    });
    for (const Part &part : parts)
      if (!solve(part.begin, part.end))
        return false;
    return true;
  }

  const Sections &sections;
  const std::vector<Item> &items;
  const CanonicalParams &params;
  const Budget &budget;
  int64_t capacity = 0;

  std::vector<int64_t> lowest, highest; ///< Per item: bounds of its offset.
  std::vector<uint8_t> free;
  std::vector<uint32_t> next, previous; ///< Among items alike.
  std::vector<uint32_t> byFirst;        ///< Items by first section.
  std::vector<uint32_t> firstIn;        ///< Per section: where it begins in byFirst.
  // Per section: its free items come first among the members.
  std::vector<std::vector<uint32_t>> members;
  std::vector<uint32_t> numMembers;
  std::vector<uint32_t> slots, slotBase; ///< Where an item is among them.
  std::vector<int64_t> sum;              ///< Units of the free items.
  std::vector<SectionState> state;
  std::vector<uint32_t> crossing; ///< Free items of this and the section before.
  std::vector<uint8_t> queued;
  std::vector<uint32_t> queue;
  std::vector<Entry> trail;
  std::vector<std::pair<uint32_t, SectionState>> stateTrail;
  FailedStates failed;
  std::vector<std::pair<int64_t, int64_t>> order;
  std::vector<std::tuple<int64_t, int64_t, uint32_t>> ranked;
  int64_t nodes = 0, visits = 0, evaluations = 0;
  bool stopped = false;
};

} // namespace

Outcome memory::searchCanonical(const Sections &sections, int64_t capacityBytes, const CanonicalParams &params,
                                const Budget &budget, int64_t &used, std::vector<int64_t> &offsets) {
  return Searcher(sections, capacityBytes, params, budget).run(used, offsets);
}
