//===- LocalWindows.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Barriers/Windows.h"

#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <vector>

namespace sluice {
namespace {

struct Window {
  std::array<std::atomic<int64_t>, kNumRankCounters> counters{};
  std::vector<double> doubles;
};

class Group;

class Member final : public Windows {
public:
  Member(Group &group, int64_t own) : group(group), own(own) {}
  int64_t rank() const override { return own; }
  int64_t numRanks() const override;
  Status write(int64_t owner, int64_t first, std::span<const double> values) override;
  Status add(int64_t owner, int64_t first, std::span<const double> values) override;
  Status read(int64_t owner, int64_t first, std::span<double> values) override;
  Status advance(RankCounter counter) override;
  Expected<int64_t> count(int64_t owner, RankCounter counter) override;

private:
  std::atomic<int64_t> &counterOf(int64_t owner, RankCounter counter);
  /// Calls `body(i, element)` for each of the owner's doubles in the range.
  template <typename Body>
  Status each(int64_t owner, int64_t first, size_t count, const Body &body);

  Group &group;
  const int64_t own;
};

class Group final : public LocalWindows {
public:
  Group(int64_t numRanks, int64_t doubles) : windows(static_cast<size_t>(numRanks)) {
    for (Window &window : windows)
      window.doubles.resize(static_cast<size_t>(doubles));
    for (int64_t rank = 0; rank < numRanks; ++rank)
      members.emplace_back(*this, rank);
  }
  Windows &member(int64_t rank) override { return members[static_cast<size_t>(rank)]; }
  void leave(int64_t rank, const std::string &reason) override {
    const std::lock_guard lock(mutex);
    if (!isLeft.load(std::memory_order_relaxed))
      whyLeft = concat("rank ", rank, " has stopped: ", reason);
    isLeft.store(true, std::memory_order_release);
  }

  std::vector<Window> windows;
  std::vector<Member> members;
  std::mutex mutex;
  std::atomic<bool> isLeft = false;
  std::string whyLeft; ///< Written once, before isLeft.
};

int64_t Member::numRanks() const { return static_cast<int64_t>(group.windows.size()); }

std::atomic<int64_t> &Member::counterOf(int64_t owner, RankCounter counter) {
  return group.windows[static_cast<size_t>(owner)].counters[static_cast<size_t>(counter)];
}

template <typename Body>
Status Member::each(int64_t owner, int64_t first, size_t count, const Body &body) {
  std::vector<double> &doubles = group.windows[static_cast<size_t>(owner)].doubles;
  if (first < 0 || static_cast<size_t>(first) > doubles.size() || count > doubles.size() - static_cast<size_t>(first))
    return makeError(ErrorCode::Internal, count, " doubles from index ", first, " are outside the window of rank ",
                     owner, ", this is a bug of Sluice, please report it");
  // Which updates a reader sees is decided by the counters. Elements alone need no order.
  for (size_t i = 0; i < count; ++i)
    body(i, std::atomic_ref<double>(doubles[static_cast<size_t>(first) + i]));
  return {};
}

Status Member::write(int64_t owner, int64_t first, std::span<const double> values) {
  return each(owner, first, values.size(),
              [&](size_t i, std::atomic_ref<double> to) { to.store(values[i], std::memory_order_relaxed); });
}

Status Member::add(int64_t owner, int64_t first, std::span<const double> values) {
  return each(owner, first, values.size(),
              [&](size_t i, std::atomic_ref<double> to) { to.fetch_add(values[i], std::memory_order_relaxed); });
}

Status Member::read(int64_t owner, int64_t first, std::span<double> values) {
  return each(owner, first, values.size(),
              [&](size_t i, std::atomic_ref<double> from) { values[i] = from.load(std::memory_order_relaxed); });
}

Status Member::advance(RankCounter counter) {
  counterOf(own, counter).fetch_add(1, std::memory_order_release);
  return {};
}

Expected<int64_t> Member::count(int64_t owner, RankCounter counter) {
  if (group.isLeft.load(std::memory_order_acquire))
    return makeError(ErrorCode::InvalidInput, group.whyLeft);
  return counterOf(owner, counter).load(std::memory_order_acquire);
}

} // namespace

Expected<std::unique_ptr<LocalWindows>> LocalWindows::create(int64_t numRanks, int64_t doubles) {
  try {
    return std::make_unique<Group>(numRanks, doubles);
  } catch (const std::exception &) {
    return makeError(ErrorCode::Io, "cannot allocate the memory that ranks share, ", doubles, " numbers for each of ",
                     numRanks, " ranks, use fewer devices or a smaller model");
  }
}

} // namespace sluice
