//===- Sections.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Sections.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace sluice;
using namespace sluice::memory;

/// Numbers the sections, given a half-open lifetime of each item.
template <typename Lifetime>
static void assignSections(Sections &sections, Lifetime lifetime) {
  // (time, whether it starts, item): ends before the starts of the same time. A
  // section begins at the first start after an end.
  std::vector<std::tuple<int64_t, bool, uint32_t>> events;
  events.reserve(sections.items.size() * 2);
  for (uint32_t i = 0; i < sections.items.size(); ++i) {
    auto [lower, upper] = lifetime(sections.items[i]);
    events.emplace_back(lower, true, i);
    events.emplace_back(upper, false, i);
  }
  std::sort(events.begin(), events.end());
  sections.count = 0;
  bool ended = true;
  for (auto [time, starts, i] : events) {
    Item &item = sections.items[i];
    if (!starts) {
      item.last = sections.count;
      ended = true;
      continue;
    }
    sections.count += ended;
    ended = false;
    item.first = sections.count - 1;
  }
}

/// Fills in what follows from the items.
static void sumUp(Sections &sections) {
  sections.live.assign(sections.count + 1, 0);
  sections.maxSpareBytes = 0;
  for (const Item &item : sections.items) {
    sections.live[item.first] += item.size;
    sections.live[item.last] -= item.size;
    sections.maxSpareBytes = std::max(sections.maxSpareBytes, item.spareBytes);
  }
  std::partial_sum(sections.live.begin(), sections.live.end(), sections.live.begin());
  sections.live.pop_back();
}

Sections memory::sectionsOf(const OffsetProblem &problem) {
  Sections sections;
  // Offsets are multiples of the common divisor of all alignments. Where that is
  // one of the sizes too, every packing pushed down has multiples of it only.
  int64_t alignment = 0, size = 0;
  for (uint32_t i = 0; i < problem.buffers.size(); ++i)
    if (const Buffer &buffer = problem.buffers[i]; occupies(buffer)) {
      sections.items.push_back({i});
      alignment = std::gcd(alignment, buffer.alignment);
      size = std::gcd(size, buffer.bytes);
    }
  bool unaligned = std::all_of(sections.items.begin(), sections.items.end(),
                               [&](const Item &item) { return size % problem.buffers[item.buffer].alignment == 0; });
  sections.unitBytes = std::max<int64_t>(1, unaligned ? size : alignment);

  assignSections(sections, [&](const Item &item) {
    const Buffer &buffer = problem.buffers[item.buffer];
    return std::pair(buffer.lower, buffer.upper);
  });
  for (Item &item : sections.items) {
    const Buffer &buffer = problem.buffers[item.buffer];
    item.size = (buffer.bytes + sections.unitBytes - 1) / sections.unitBytes;
    item.alignment = std::max<int64_t>(1, unaligned ? 1 : buffer.alignment / sections.unitBytes);
    item.spareBytes = item.size * sections.unitBytes - buffer.bytes;
  }
  sumUp(sections);
  return sections;
}

int64_t memory::boundBytes(const Sections &sections) {
  // Only the topmost item of a section may end within a unit.
  int64_t most = sections.live.empty() ? 0 : *std::max_element(sections.live.begin(), sections.live.end());
  return std::max<int64_t>(0, most * sections.unitBytes - sections.maxSpareBytes);
}

/// Cuts where no item crosses.
static std::vector<Part> cut(Part whole) {
  const uint32_t count = whole.sections.count;
  std::vector<int32_t> crossing(count + 1, 0);
  for (const Item &item : whole.sections.items) {
    ++crossing[item.first + 1];
    --crossing[item.last];
  }
  std::vector<uint32_t> partAt(count, 0);
  uint32_t numParts = 0;
  int32_t open = 0;
  for (uint32_t s = 0; s < count; ++s) {
    open += crossing[s];
    numParts += open == 0;
    partAt[s] = numParts - 1;
  }
  if (numParts == 1) {
    std::vector<Part> only;
    only.push_back(std::move(whole));
    return only;
  }
  std::vector<Part> parts(numParts);
  for (const Item &item : whole.sections.items)
    parts[partAt[item.first]].sections.items.push_back(item);
  for (Part &part : parts) {
    part.base = whole.base;
    part.sections.unitBytes = whole.sections.unitBytes;
  }
  return parts;
}

/// Takes items to the bottom that meet all others: swapped with what is below,
/// one shifts that by its size, which alignments must allow. True if any went.
static bool takeDown(Part &part, std::vector<int64_t> &offsets) {
  Sections &s = part.sections;
  int64_t alignment = 1; // The least common multiple.
  for (const Item &item : s.items)
    alignment = saturatingMul(alignment / std::gcd(alignment, item.alignment), item.alignment);
  auto stays = [&](const Item &item) {
    return item.last - item.first < s.count || item.size % alignment != 0 || (s.count > 1 && item.spareBytes > 0);
  };
  auto gone = std::stable_partition(s.items.begin(), s.items.end(), stays);
  const bool any = gone != s.items.end();
  // What need not be rounded comes last: it may be the topmost.
  std::stable_sort(gone, s.items.end(), [](const Item &a, const Item &b) { return a.spareBytes < b.spareBytes; });
  for (auto item = gone; item != s.items.end(); ++item) {
    offsets[item->buffer] = part.base;
    part.base += item->size;
  }
  s.items.erase(gone, s.items.end());
  return any;
}

std::vector<Part> memory::partsOf(const Sections &sections, std::vector<int64_t> &offsets) {
  auto ownSections = [](const Item &item) { return std::pair<int64_t, int64_t>(item.first, item.last); };
  std::vector<Part> pending, done;
  if (!sections.items.empty())
    pending.push_back({sections, 0});
  // Nested lifetimes go one at a time: enough is enough.
  size_t work = sections.items.size() * 64;
  while (!pending.empty()) {
    Part part = std::move(pending.back());
    pending.pop_back();
    assignSections(part.sections, ownSections);
    const bool tired = work < part.sections.items.size();
    work -= std::min(work, part.sections.items.size());
    const bool changed = !tired && takeDown(part, offsets);
    if (part.sections.items.empty())
      continue;
    if (changed)
      assignSections(part.sections, ownSections);
    std::vector<Part> pieces = cut(std::move(part));
    if (pieces.size() > 1 || (changed && pieces[0].sections.items.size() > 1)) {
      for (Part &piece : pieces)
        pending.push_back(std::move(piece));
      continue;
    }
    sumUp(pieces[0].sections);
    if (const std::vector<Item> &items = pieces[0].sections.items; items.size() == 1)
      offsets[items[0].buffer] = (pieces[0].base + items[0].alignment - 1) / items[0].alignment * items[0].alignment;
    else
      done.push_back(std::move(pieces[0]));
  }
  return done;
}
