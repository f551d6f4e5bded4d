//===- Work.cpp - How long a parallel loop takes --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Dataflow/Emit/Work.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

namespace sluice::dataflow {

namespace {
/// The rate of a core's second-level cache.
constexpr int64_t kBytesPerNs = 128;

/// Items of the thread with most of them, where `threads` share chunks of `grain` items as ThreadPool has it.
int64_t largestShare(int64_t extent, int64_t grain, int64_t threads) {
  const int64_t chunks = extent / grain + (extent % grain != 0), shares = std::min(chunks, threads);
  int64_t largest = 0;
  for (int64_t share = 0; share < shares; ++share) {
    const int64_t begin = share * chunks / shares * grain;
    const int64_t end = share + 1 == shares ? extent : (share + 1) * chunks / shares * grain;
    largest = std::max(largest, end - begin);
  }
  return largest;
}
} // namespace

int64_t ChunkTimes::of(Rate rate) const { return ns[std::find(kRates.begin(), kRates.end(), rate) - kRates.begin()]; }

std::optional<ChunkTimes> ChunkTimes::parse(std::string_view text) {
  ChunkTimes times;
  std::array<bool, kRates.size()> isGiven = {};
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const size_t equals = entry.find('=');
    const auto *name = std::find(kRateNames.begin(), kRateNames.end(), entry.substr(0, equals));
    const std::string_view value = equals == std::string_view::npos ? "" : entry.substr(equals + 1);
    int64_t time = kNever;
    if (value != "never") {
      auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), time);
      if (error != std::errc() || end != value.data() + value.size())
        return std::nullopt;
    }
    if (name == kRateNames.end() || time < 1 || time > kNever ||
        std::exchange(isGiven[name - kRateNames.begin()], true))
      return std::nullopt;
    times.ns[name - kRateNames.begin()] = time;
  }
  return times;
}

Count Work::ns() const { return std::max<int64_t>(operations / static_cast<int64_t>(rate), bytes / kBytesPerNs); }

int64_t chooseGrain(int64_t extent, const Work &work, int64_t multiple, const ChunkTimes &times) {
  const int64_t blocks = extent / multiple + (extent % multiple != 0);
  const int64_t most = work.ns() / (work.chunkNs > 0 ? work.chunkNs : times.of(work.rate));
  if (most < 2 || blocks < 2)
    return std::max<int64_t>(1, extent);
  if (most >= blocks)
    return multiple;
  const auto chunks = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)));
  const int64_t largest = (blocks - 1) / chunks + 1;
  // Chunks of many blocks are nearly equal as they are.
  constexpr int64_t kTried = 64;
  int64_t grain = largest;
  double least = 0;
  for (int64_t tried = largest; 4 * tried >= largest && tried > largest - kTried; --tried) {
    double unequal = 0;
    for (int64_t threads = 2; threads <= std::min<int64_t>(chunks, 4); threads *= 2)
      unequal += static_cast<double>(largestShare(blocks, tried, threads)) * static_cast<double>(threads);
    if (tried == largest || unequal < least)
      grain = tried, least = unequal;
  }
  return grain * multiple;
}

} // namespace sluice::dataflow
