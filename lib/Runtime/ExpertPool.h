//===- ExpertPool.h - Memory for the experts that steps choose --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The slots that a plan reserves for experts, and the reads that fill them. All weights
// of an expert are one range of the parameter file, which one slot holds. The slots keep
// their contents between steps and when another bucket's plan comes into use.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXPERTPOOL_H
#define SLUICE_RUNTIME_EXPERTPOOL_H

#include "Arena.h"
#include "BackingFile.h"
#include "Device.h"
#include "ExpertCache.h"
#include "Model.h"

#include <array>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sluice::runtime {

/// Thread-safe.
class ExpertPool {
public:
  /// `file` has the model's parameters, and outlives the pool. `link` is the link from memory `fileMemory`, or null. If
  /// it is throttled, reads keep to its rate. Fails where the system has no memory for the slots.
  static Result<std::unique_ptr<ExpertPool>> create(const Model &model, const BackingFile &file, Link *link,
                                                    uint32_t fileMemory);
  ~ExpertPool();
  ExpertPool(const ExpertPool &) = delete;
  ExpertPool &operator=(const ExpertPool &) = delete;

  /// Begins to read the experts of the group of `expert` that a step chose, from this one on, while there are slots
  /// for them. Those that the step has released are not read again. `isChosen`: a byte for each element of the group.
  void lookAhead(uint32_t expert, const unsigned char *isChosen);
  /// The address of an expert's weights, once they are read. They stay there until release(). If all slots are in use,
  /// takes one of an expert that was read ahead and not taken yet, or waits for a release(). Fails where the weights
  /// could not be read.
  Result<char *> take(uint32_t expert);
  void release(uint32_t expert);
  /// Ends a step: releases what was read ahead and not taken. Call it only when no launch runs.
  void endStep();

  struct Figures {
    int64_t uses = 0, hits = 0;
    int64_t recordedHits = 0; ///< Hits among recordedUses().
    int64_t bytesRead = 0;
  };
  Figures figures() const;
  /// The first uses, at most ExpertCache::kMostRecorded.
  std::vector<uint32_t> recordedUses() const;
  uint32_t numSlots() const { return slots; }

private:
  static constexpr size_t kReaders = 2;

  ExpertPool(const Model &model, const BackingFile &file, Link *link, uint32_t fileMemory,
             std::unique_ptr<Arena> arena);
  bool request(uint32_t expert);
  void cancel(uint32_t expert);
  bool cancelAhead();
  void startReaders();
  void work();
  Status read(char *to, int64_t room, int64_t offset, int64_t bytes);

  struct Expert {
    int64_t offset, bytes;
    uint32_t group, element;
    // True from the expert's request until its release.
    bool isRequested = false;
    // True from take() until the expert's release.
    bool isTaken = false;
    // True from the expert's release until the step ends.
    bool isDone = false;
    uint32_t slot = 0, pendingReads = 0;
    // Whether a read failed. `error` is empty if the system had no memory, because there may be none for a text either.
    bool hasFailed = false;
    std::string error = {};
  };
  struct Read {
    uint32_t expert;
    int64_t begin, bytes; ///< Within the expert.
  };

  const BackingFile &file;
  Link *const link;
  const uint32_t fileMemory;
  const std::unique_ptr<Arena> arena;
  const uint32_t slots;
  const int64_t slotBytes;

  mutable std::mutex mutex;
  std::condition_variable hasWork, hasChanged;
  std::vector<Expert> experts;
  ExpertCache cache;
  Figures total;
  std::deque<Read> queue;
  bool isEnding = false;
  std::vector<std::thread> readers; ///< Started with the first read.
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_EXPERTPOOL_H
