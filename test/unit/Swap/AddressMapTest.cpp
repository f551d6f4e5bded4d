//===- AddressMapTest.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The planner's indices against plain scans, on random operations.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Swap/AddressMap.h"
#include "../../../lib/Swap/UseCalendar.h"
#include "sluice/Support/Rng.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

using namespace sluice;
using namespace sluice::swap;

TEST_CASE("an offset index finds what a sorted list holds", "[swap]") {
  Rng rng(1);
  OffsetIndex index;
  std::map<int64_t, uint32_t> plain;
  for (uint32_t step = 0; step < 4000; ++step) {
    const auto offset = static_cast<int64_t>(rng.below(1500));
    // First mostly insertions, then mostly erasures, down to nothing.
    if (plain.contains(offset)) {
      index.erase(offset);
      plain.erase(offset);
    } else if (step < 2500) {
      index.insert(offset, ExtentId(step));
      plain[offset] = step;
    } else if (!plain.empty()) {
      index.erase(plain.begin()->first);
      plain.erase(plain.begin());
    }
    // An entry may move up to the next one.
    if (auto entry = plain.lower_bound(static_cast<int64_t>(rng.below(1500))); entry != plain.end()) {
      const auto above = std::next(entry);
      const auto room = static_cast<uint64_t>((above == plain.end() ? 1500 : above->first) - entry->first);
      const int64_t to = entry->first + static_cast<int64_t>(rng.below(std::max<uint64_t>(room, 1)));
      index.move(entry->first, to);
      auto node = plain.extract(entry);
      node.key() = to;
      plain.insert(std::move(node));
    }
    REQUIRE(index.size() == plain.size());
    const auto asked = static_cast<int64_t>(rng.below(1500));
    auto floor = plain.upper_bound(asked);
    if (floor != plain.begin())
      --floor;
    OffsetIndex::Cursor at = index.floor(asked);
    for (int ahead = 0; ahead < 3 && floor != plain.end(); ++ahead, ++floor, at = index.next(at)) {
      REQUIRE(index.valid(at));
      REQUIRE(index[at].offset == floor->first);
      REQUIRE(index[at].extent == ExtentId(floor->second));
    }
    if (floor == plain.end())
      REQUIRE_FALSE(index.valid(at));
  }
  REQUIRE(plain.size() < 100);
}

TEST_CASE("an address map gives what an array of addresses holds", "[swap]") {
  constexpr int64_t kCapacity = 300;
  Rng rng(2);
  AddressMap map(kCapacity);
  // Per address: the occupant, and the first address of its extent.
  std::vector<ResidencyId> occupants(kCapacity);
  std::vector<int64_t> firsts(kCapacity, 0);
  std::vector<bool> vacant(kCapacity, true);
  int64_t peak = 0;
  for (uint32_t step = 0; step < 3000; ++step) {
    auto begin = static_cast<int64_t>(rng.below(kCapacity));
    const int64_t end =
        begin + static_cast<int64_t>(rng.below(static_cast<size_t>(std::min<int64_t>(kCapacity - begin, 40)) + 1));
    std::vector<ResidencyId> displaced, expected;
    int64_t last = -1;
    for (int64_t a = begin; a < end; ++a)
      if (std::exchange(last, firsts[size_t(a)]) != firsts[size_t(a)] && occupants[size_t(a)].valid())
        expected.push_back(occupants[size_t(a)]);
    // Any hint does, also one whose extent is gone.
    const ExtentId hint = rng.chance(0.5) ? ExtentId(rng.below(map.idBound() + 2)) : ExtentId();
    REQUIRE(map.find(begin, hint) == map.find(begin));
    const ExtentId extent = map.occupy(begin, end, ResidencyId(step), displaced, hint);
    REQUIRE(displaced == expected);
    REQUIRE(extent.valid() == (begin < end));
    for (int64_t a = end; begin < end && a < kCapacity && firsts[size_t(a)] < end; ++a)
      firsts[size_t(a)] = end;
    for (int64_t a = begin; a < end; ++a) {
      occupants[size_t(a)] = ResidencyId(step);
      firsts[size_t(a)] = begin;
      vacant[size_t(a)] = false;
    }
    if (begin < end)
      peak = std::max(peak, end);
    if (rng.chance(0.7)) {
      const ExtentId dead = map.find(static_cast<int64_t>(rng.below(kCapacity)));
      map.vacate(dead);
      for (int64_t a = map[dead].offset; a < map[dead].end; ++a)
        vacant[size_t(a)] = true;
    }
    REQUIRE(map.peakBytes() == peak);

    std::vector<Extent> extents;
    map.list(extents);
    REQUIRE(extents.size() == map.numExtents());
    OffsetIndex::Cursor at = map.vacant().floor(0);
    ExtentId id = map.front(), before;
    int64_t offset = 0;
    for (const Extent &own : extents) {
      REQUIRE(own.offset == offset);
      REQUIRE(map[id].offset == own.offset);
      REQUIRE(map[id].end == own.end);
      REQUIRE(map[id].occupant == own.occupant);
      REQUIRE(map.previous(id) == before);
      for (int64_t a = own.offset; a < own.end; ++a) {
        REQUIRE(firsts[size_t(a)] == own.offset);
        REQUIRE(occupants[size_t(a)] == own.occupant);
        REQUIRE(vacant[size_t(a)] == map.isVacant(id));
      }
      REQUIRE(map.find(own.end - 1) == id);
      if (map.isVacant(id)) {
        REQUIRE(map.vacant()[at].extent == id);
        at = map.vacant().next(at);
      }
      offset = own.end;
      before = std::exchange(id, map.next(id));
    }
    REQUIRE(offset == kCapacity);
    REQUIRE_FALSE(id.valid());
    REQUIRE_FALSE(map.vacant().valid(at));
  }
}

TEST_CASE("a use calendar finds the slots that a scan finds", "[swap]") {
  for (size_t slots : {size_t(1), size_t(64), size_t(65), size_t(9000)}) {
    Rng rng(slots);
    UseCalendar calendar(slots);
    constexpr size_t kExtents = 40;
    std::vector<size_t> slotOf(kExtents, slots);
    for (int step = 0; step < 3000; ++step) {
      const size_t extent = rng.below(kExtents);
      if (slotOf[extent] < slots)
        calendar.erase(ExtentId(extent), slotOf[extent]);
      slotOf[extent] = rng.chance(0.5) ? rng.below(slots) : slots;
      if (slotOf[extent] < slots)
        calendar.insert(ExtentId(extent), slotOf[extent]);
      const size_t end = rng.below(slots + 1);
      std::optional<size_t> expected;
      for (size_t slot : slotOf)
        if (slot < end && (!expected || slot > *expected))
          expected = slot;
      REQUIRE(calendar.lastBelow(end) == expected);
      if (!expected)
        continue;
      std::vector<size_t> found, all;
      for (ExtentId id = calendar.front(*expected); id.valid(); id = calendar.next(id))
        found.push_back(id.index());
      for (size_t e = 0; e < kExtents; ++e)
        if (slotOf[e] == *expected)
          all.push_back(e);
      std::sort(found.begin(), found.end());
      REQUIRE(found == all);
    }
  }
}
