//===- OffsetIndex.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OffsetIndex.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::swap;

/// The number of elements of an ascending list whose offset is at most `offset`. Without branches that depend on the
/// list: these cannot be predicted and would take most of the time.
template <typename T, typename OffsetOf>
static size_t countUpTo(const std::vector<T> &list, int64_t offset, const OffsetOf &offsetOf) {
  const T *first = list.data();
  size_t left = list.size();
  while (left > 1) {
    const size_t half = left / 2;
    first += offsetOf(first[half]) <= offset ? half : 0;
    left -= half;
  }
  return static_cast<size_t>(first - list.data()) + (left == 1 && offsetOf(*first) <= offset);
}

static int64_t ownOffset(int64_t offset) { return offset; }
static int64_t entryOffset(const OffsetIndex::Entry &entry) { return entry.offset; }

/// The chunk that holds the offset, or whose range it falls into.
size_t OffsetIndex::chunkOf(int64_t offset) const {
  return std::max<size_t>(countUpTo(firsts, offset, ownOffset), 1) - 1;
}

OffsetIndex::Cursor OffsetIndex::floor(int64_t offset) const {
  if (chunks.empty())
    return {0, 0};
  const size_t c = chunkOf(offset);
  return {c, std::max<size_t>(countUpTo(chunks[c], offset, entryOffset), 1) - 1};
}

void OffsetIndex::insert(int64_t offset, ExtentId extent) {
  ++count;
  if (chunks.empty()) {
    firsts.push_back(offset);
    chunks.push_back({{offset, extent}});
    return;
  }
  size_t c = chunkOf(offset);
  if (chunks[c].size() == kChunk) {
    const auto middle = chunks[c].begin() + kChunk / 2;
    std::vector<Entry> upper(middle, chunks[c].end());
    chunks[c].erase(middle, chunks[c].end());
    const auto at = static_cast<std::ptrdiff_t>(c) + 1;
    firsts.insert(firsts.begin() + at, upper.front().offset);
    chunks.insert(chunks.begin() + at, std::move(upper));
    if (firsts[c + 1] <= offset)
      ++c;
  }
  std::vector<Entry> &chunk = chunks[c];
  chunk.insert(chunk.begin() + static_cast<std::ptrdiff_t>(countUpTo(chunk, offset, entryOffset)), {offset, extent});
  firsts[c] = chunk.front().offset;
}

void OffsetIndex::erase(int64_t offset) {
  --count;
  const Cursor at = floor(offset);
  std::vector<Entry> &chunk = chunks[at.chunk];
  chunk.erase(chunk.begin() + static_cast<std::ptrdiff_t>(at.entry));
  if (!chunk.empty()) {
    firsts[at.chunk] = chunk.front().offset;
    return;
  }
  firsts.erase(firsts.begin() + static_cast<std::ptrdiff_t>(at.chunk));
  chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(at.chunk));
}

void OffsetIndex::move(int64_t offset, int64_t to) {
  const Cursor at = floor(offset);
  chunks[at.chunk][at.entry].offset = to;
  if (at.entry == 0)
    firsts[at.chunk] = to;
}
