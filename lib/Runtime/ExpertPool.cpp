//===- ExpertPool.cpp - Memory for the experts that steps choose ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ExpertPool.h"
#include "ThreadPool.h"

#include <algorithm>

namespace sluice::runtime {

Result<std::unique_ptr<ExpertPool>> ExpertPool::create(const Model &model, const BackingFile &file, Link *link,
                                                       uint32_t fileMemory) {
  Result<std::unique_ptr<Arena>> arena =
      allocateHostArena(model.source->expert_slots * model.expertSlotBytes(), "slots of experts");
  if (!arena)
    return tl::unexpected(arena.error());
  return std::unique_ptr<ExpertPool>(new ExpertPool(model, file, link, fileMemory, std::move(*arena)));
}

ExpertPool::ExpertPool(const Model &model, const BackingFile &file, Link *link, uint32_t fileMemory,
                       std::unique_ptr<Arena> arena)
    : file(file), link(link), fileMemory(fileMemory), arena(std::move(arena)), slots(model.source->expert_slots),
      slotBytes(model.expertSlotBytes()),
      // The half-life is the number of experts: layers take turns, so a shorter one would forget a layer before its
      // next turn.
      cache(model.source->num_experts, slots, model.source->num_experts) {
  for (const sluice_expert_desc &each : model.experts)
    experts.push_back({each.offset, each.bytes, each.group, each.element});
}

ExpertPool::~ExpertPool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  hasWork.notify_all();
  for (std::thread &reader : readers)
    reader.join();
}

/// Holds a slot and begins the reads that it lacks; false where no slot is free. Under the lock.
bool ExpertPool::request(uint32_t number) {
  // Threads start before a slot is held, because the system may refuse threads.
  startReaders();
  const std::optional<ExpertCache::Place> place = cache.hold(number);
  if (!place)
    return false;
  Expert &expert = experts[number];
  expert.isRequested = true;
  expert.slot = place->slot;
  ++total.uses;
  if (place->isHit) {
    ++total.hits;
    return true;
  }
  total.bytesRead += expert.bytes;
  // All readers share a large expert: often it is the only one that is missing.
  constexpr int64_t kLeastPiece = int64_t(128) << 10;
  const int64_t share = (expert.bytes / static_cast<int64_t>(kReaders) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  const int64_t piece = std::max(share, kLeastPiece);
  try {
    for (int64_t begin = 0; begin < expert.bytes; begin += piece) {
      queue.push_back({number, begin, std::min(piece, expert.bytes - begin)});
      ++expert.pendingReads;
    }
  } catch (...) {
    // The slot has only a part of the weights.
    expert.hasFailed = true;
    hasWork.notify_all();
    throw;
  }
  hasWork.notify_all();
  return true;
}

void ExpertPool::startReaders() {
  // All readers share the rate of a throttled link. If the system refuses the second thread, one reader suffices.
  try {
    while (readers.size() < kReaders)
      readers.push_back(
          startThread([](void *pool) { static_cast<ExpertPool *>(pool)->work(); }, this, "sluice-experts"));
  } catch (const std::system_error &) {
    if (readers.empty())
      throw;
  }
}

void ExpertPool::lookAhead(uint32_t number, const unsigned char *isChosen) {
  std::lock_guard<std::mutex> lock(mutex);
  const uint32_t group = experts[number].group;
  for (; number < experts.size() && experts[number].group == group; ++number)
    if (const Expert &expert = experts[number];
        isChosen[expert.element] && !expert.isRequested && !expert.isDone && !request(number))
      return;
}

/// Releases an expert whose reads have ended and that no launch has taken. Under the lock.
void ExpertPool::cancel(uint32_t number) {
  Expert &expert = experts[number];
  if (std::exchange(expert.hasFailed, false))
    cache.drop(number);
  else
    cache.release(number);
  expert.error.clear();
  expert.isRequested = false;
}

/// Frees a slot that holds an expert for a later launch; false if there is none whose reads have ended.
bool ExpertPool::cancelAhead() {
  for (uint32_t number = 0; number < experts.size(); ++number)
    if (const Expert &expert = experts[number]; expert.isRequested && !expert.isTaken && expert.pendingReads == 0) {
      cancel(number);
      return true;
    }
  return false;
}

Result<char *> ExpertPool::take(uint32_t number) {
  std::unique_lock<std::mutex> lock(mutex);
  Expert &expert = experts[number];
  // If no slot is free, an expert that was read ahead loses its slot: a launch must not wait for a slot that a later
  // launch will release. Launches that run at the same time may hold all slots; each of them has what it needs, and
  // releases it.
  while (!expert.isRequested && !request(number))
    if (!cancelAhead())
      hasChanged.wait(lock);
  expert.isTaken = true;
  hasChanged.wait(lock, [&] { return expert.pendingReads == 0; });
  if (!expert.hasFailed)
    return arena->base() + expert.slot * slotBytes;
  std::string error = std::exchange(expert.error, {});
  cache.drop(number);
  expert.hasFailed = expert.isRequested = expert.isTaken = false;
  hasChanged.notify_all();
  if (error.empty())
    return failure("the system gave no more memory to read experts, give the process more memory");
  return tl::unexpected(std::move(error));
}

void ExpertPool::release(uint32_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  cache.release(number);
  Expert &expert = experts[number];
  expert.isRequested = expert.isTaken = false;
  expert.isDone = true;
  hasChanged.notify_all();
}

void ExpertPool::endStep() {
  std::unique_lock<std::mutex> lock(mutex);
  for (uint32_t number = 0; number < experts.size(); ++number) {
    Expert &expert = experts[number];
    expert.isDone = false;
    if (!expert.isRequested)
      continue;
    hasChanged.wait(lock, [&] { return expert.pendingReads == 0; });
    expert.isTaken = false;
    cancel(number);
  }
}

ExpertPool::Figures ExpertPool::figures() const {
  std::lock_guard<std::mutex> lock(mutex);
  Figures figures = total;
  figures.recordedHits = cache.recordedHits();
  return figures;
}

std::vector<uint32_t> ExpertPool::recordedUses() const {
  std::lock_guard<std::mutex> lock(mutex);
  return cache.recorded();
}

Status ExpertPool::read(char *to, int64_t room, int64_t offset, int64_t bytes) {
  if (!link || !link->isThrottled())
    return file.read(to, room, offset, bytes);
  Status status;
  link->pace(fileMemory, bytes, [&](int64_t done, int64_t piece) {
    status = file.read(to + done, room - done, offset + done, piece);
    return status ? 0 : 1;
  });
  return status;
}

void ExpertPool::work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    hasWork.wait(lock, [&] { return isEnding || !queue.empty(); });
    if (isEnding)
      return;
    const Read next = queue.front();
    queue.pop_front();
    char *const to = arena->base() + experts[next.expert].slot * slotBytes + next.begin;
    const int64_t offset = experts[next.expert].offset + next.begin;
    lock.unlock();
    Status status;
    bool hasMemory = true;
    // An exception that leaves a thread would end the process.
    try {
      status = read(to, slotBytes - next.begin, offset, next.bytes);
    } catch (const std::bad_alloc &) {
      hasMemory = false;
    }
    lock.lock();
    Expert &read = experts[next.expert];
    if ((!status || !hasMemory) && !std::exchange(read.hasFailed, true) && !status)
      read.error = std::move(status.error());
    if (--read.pendingReads == 0)
      hasChanged.notify_all();
  }
}

} // namespace sluice::runtime
