//===- UseCalendar.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "UseCalendar.h"

#include <bit>

using namespace sluice;
using namespace sluice::swap;

static constexpr size_t kWordBits = 64;

UseCalendar::UseCalendar(size_t slots) : heads(slots) {
  for (size_t words = slots; bits.empty() || words > 1;) {
    words = (words + kWordBits - 1) / kWordBits;
    bits.emplace_back(words, 0);
  }
}

void UseCalendar::insert(ExtentId id, size_t slot) {
  if (links.size() <= id.index())
    links.resize(id.index() + 1);
  const ExtentId after = heads[slot];
  links[id.index()] = {ExtentId(), after};
  heads[slot] = id;
  if (after.valid()) {
    links[after.index()].previous = id;
    return;
  }
  for (std::vector<uint64_t> &level : bits) {
    uint64_t &word = level[slot / kWordBits];
    const bool wasEmpty = word == 0;
    word |= uint64_t(1) << slot % kWordBits;
    if (!wasEmpty)
      return;
    slot /= kWordBits;
  }
}

void UseCalendar::erase(ExtentId id, size_t slot) {
  const Link link = links[id.index()];
  if (link.next.valid())
    links[link.next.index()].previous = link.previous;
  if (link.previous.valid()) {
    links[link.previous.index()].next = link.next;
    return;
  }
  heads[slot] = link.next;
  if (link.next.valid())
    return;
  for (std::vector<uint64_t> &level : bits) {
    uint64_t &word = level[slot / kWordBits];
    word &= ~(uint64_t(1) << slot % kWordBits);
    if (word != 0)
      return;
    slot /= kWordBits;
  }
}

std::optional<size_t> UseCalendar::lastBelow(size_t end) const {
  // Climb to the first level whose word has a bit below `end`, then descend along the highest bits.
  for (size_t level = 0; level < bits.size() && end > 0; ++level) {
    const size_t word = (end - 1) / kWordBits;
    const uint64_t below = bits[level][word] & (~uint64_t(0) >> (kWordBits - 1 - (end - 1) % kWordBits));
    if (below == 0) {
      end = word;
      continue;
    }
    size_t slot = word * kWordBits + static_cast<size_t>(std::bit_width(below)) - 1;
    while (level-- > 0)
      slot = slot * kWordBits + static_cast<size_t>(std::bit_width(bits[level][slot])) - 1;
    return slot;
  }
  return std::nullopt;
}
