//===- LocalGroup.cpp - Ranks that are threads of one process -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// There is a letter box for each pair of a sender and a receiver. A sender stores the address of its bytes in the box.
// The receiver copies the bytes and empties the box. The sender returns when all of its boxes are empty. No byte is
// copied twice.
//
//===----------------------------------------------------------------------===//
#include "Result.h"
#include "sluice/Runtime/sluice.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

using namespace sluice::runtime;

namespace {

struct Member {
  sluice_local_group *group = nullptr;
  sluice_communicator communicator{};
  std::string error;
};

struct Letter {
  enum class State { Empty, Full, BeingRead };
  const void *data = nullptr;
  int64_t bytes = 0;
  State state = State::Empty;
};

} // namespace

struct sluice_local_group {
  explicit sluice_local_group(uint32_t numRanks)
      : members(numRanks), letters(static_cast<size_t>(numRanks) * numRanks) {}

  std::vector<Member> members;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Letter> letters; ///< sender x ranks + receiver.
  std::string broken;          ///< Why no exchange succeeds any more; empty: they do.

  Letter &letter(uint32_t sender, uint32_t receiver) { return letters[sender * members.size() + receiver]; }

  /// Once, and for all.
  void breakUp(std::string why) {
    if (broken.empty())
      broken = std::move(why);
    changed.notify_all();
  }

  Status exchange(uint32_t rank, const uint32_t *others, uint32_t count, const void *const *send,
                  const int64_t *sendBytes, void *const *receive, const int64_t *receiveBytes) {
    std::unique_lock<std::mutex> lock(mutex);
    for (uint32_t i = 0; i < count; ++i)
      if (others[i] != rank)
        letter(rank, others[i]) = {send[i], sendBytes[i], Letter::State::Full};
    changed.notify_all();
    uint32_t i = 0;
    for (; i < count && broken.empty(); ++i) {
      Letter *in = nullptr;
      const void *data = send[i];
      int64_t bytes = sendBytes[i];
      if (others[i] != rank) {
        in = &letter(others[i], rank);
        changed.wait(lock, [&] { return in->state == Letter::State::Full || !broken.empty(); });
        if (!broken.empty())
          break;
        data = in->data, bytes = in->bytes;
      }
      if (bytes != receiveBytes[i]) {
        breakUp(failure("rank ", others[i], " sends ", bytes, " bytes and rank ", rank, " waits for ", receiveBytes[i],
                        ", so they run different programs, give all ranks the same compiled model")
                    .value());
        break;
      }
      if (in)
        in->state = Letter::State::BeingRead;
      lock.unlock();
      if (bytes > 0)
        std::memcpy(receive[i], data, static_cast<size_t>(bytes));
      lock.lock();
      if (in)
        in->state = Letter::State::Empty;
      changed.notify_all();
    }
    const bool hasAll = i == count;
    auto is = [&](Letter::State state) {
      return std::any_of(others, others + count,
                         [&](uint32_t other) { return other != rank && letter(rank, other).state == state; });
    };
    // The caller may change what was sent once this returns: nobody reads it then.
    changed.wait(lock, [&] { return !is(Letter::State::BeingRead) && !(is(Letter::State::Full) && broken.empty()); });
    // What was done before somebody left is done.
    if (broken.empty() || (hasAll && !is(Letter::State::Full)))
      return {};
    return failure(broken);
  }
};

extern "C" {

sluice_local_group *sluice_local_group_create(uint32_t num_ranks) {
  if (num_ranks == 0)
    return nullptr;
  std::unique_ptr<sluice_local_group> group;
  try {
    group = std::make_unique<sluice_local_group>(num_ranks);
  } catch (const std::exception &) {
    return nullptr;
  }
  for (uint32_t rank = 0; rank < num_ranks; ++rank) {
    Member &member = group->members[rank];
    member.group = group.get();
    member.communicator = {sizeof(sluice_communicator),
                           rank,
                           num_ranks,
                           &member,
                           [](void *self, const uint32_t *members, uint32_t count, const void *const *send,
                              const int64_t *sendBytes, void *const *receive, const int64_t *receiveBytes) -> int32_t {
                             auto *member = static_cast<Member *>(self);
                             Status status = member->group->exchange(member->communicator.rank, members, count, send,
                                                                     sendBytes, receive, receiveBytes);
                             if (status)
                               return 0;
                             member->error = status.error();
                             return 1;
                           },
                           [](void *self) { return static_cast<Member *>(self)->error.c_str(); },
                           /*calling_thread=*/0,
                           /*host_rank=*/rank,
                           [](void *self) -> int32_t {
                             sluice_local_group &group = *static_cast<Member *>(self)->group;
                             std::lock_guard<std::mutex> lock(group.mutex);
                             return !group.broken.empty();
                           }};
  }
  return group.release();
}

void sluice_local_group_destroy(sluice_local_group *group) { delete group; }

const sluice_communicator *sluice_local_group_member(sluice_local_group *group, uint32_t rank) {
  return rank < group->members.size() ? &group->members[rank].communicator : nullptr;
}

void sluice_local_group_leave(sluice_local_group *group, uint32_t rank, const char *reason) {
  std::lock_guard<std::mutex> lock(group->mutex);
  group->breakUp(failure("rank ", rank, " has stopped: ", reason ? reason : "no reason was given").value());
}
}
