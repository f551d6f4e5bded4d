//===- ExpertCache.h - Which experts stay in memory -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A model has more experts than memory has slots for, and the data of a step chooses
// which of them it uses. This is the policy of replacement alone: it knows numbers of
// experts and slots, and no bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXPERTCACHE_H
#define SLUICE_RUNTIME_EXPERTCACHE_H

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::runtime {

/// Replaces by frequency and recency (LRFU: Lee et al., IEEE Transactions on Computers 50, 2001): a use adds 1 to the
/// expert's count, all counts halve every `halfLife` uses of any experts, and the expert with the smallest count is
/// replaced. An expert keeps its counts while it is in no slot. Ties: the expert of the lower number is replaced. One
/// thread at a time.
class ExpertCache {
public:
  /// At least one slot. With a half-life of 0 the least recently used expert is replaced.
  ExpertCache(uint32_t numExperts, uint32_t numSlots, double halfLife);

  struct Place {
    uint32_t slot;
    bool isHit; ///< Whether the slot already held the expert. Otherwise the caller has to fill it.
  };
  /// Counts a use of an expert, and keeps it in its slot until release(). Returns nothing and counts no use if held
  /// experts occupy all slots. The expert must not be held. O(slots).
  std::optional<Place> hold(uint32_t expert);
  void release(uint32_t expert) { isHeld[expert] = 0; }
  /// Empties and releases the slot of an expert whose weights could not be read.
  void drop(uint32_t expert);

  /// The experts of hold(), in order, up to kMostRecorded of them.
  const std::vector<uint32_t> &recorded() const { return uses; }
  /// The number of hits among recorded().
  int64_t recordedHits() const { return hits; }
  static constexpr size_t kMostRecorded = size_t(1) << 18;

private:
  static constexpr uint32_t kNone = UINT32_MAX;
  void count(uint32_t expert, bool isHit);

  const double halfLife;
  double now = 0;
  std::vector<double> weights;  ///< Per expert: the binary logarithm of its counts, decayed to time 0.
  std::vector<char> isHeld;     ///< Per expert.
  std::vector<uint32_t> slotOf; ///< Per expert; kNone: in no slot.
  std::vector<uint32_t> holder; ///< Per slot: its expert; kNone: it is empty.
  std::vector<uint32_t> uses;
  int64_t hits = 0;
};

/// The hits of the best cache of `numSlots` on these uses, which knows all of them: it replaces the expert whose next
/// use comes last (Belady, IBM Systems Journal 5, 1966). No cache that begins empty and has an expert in a slot while
/// the expert is used has more hits. O(uses x log(slots)).
int64_t mostHits(const std::vector<uint32_t> &uses, uint32_t numSlots);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_EXPERTCACHE_H
