//===- Collective.h - Operations of several ranks together ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_H
#define SLUICE_RUNTIME_COLLECTIVE_H

#include "Result.h"
#include "sluice/Runtime/sluice.h"

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sluice::runtime {

/// The ranks that take part with `rank`, in the order of their positions.
struct Group {
  std::vector<uint32_t> members;
  uint32_t position = 0; ///< Of `rank` itself.
};
/// Fails where a member would not be one of `numRanks` ranks.
Result<Group> groupOf(const sluice_collective &what, uint32_t rank, uint32_t numRanks);

/// Bytes that one rank sends to others. An all_reduce is a reduce_scatter and an
/// all_gather of equal chunks (Patarasu and Yuan 2009: 2 (g - 1) / g of the bytes,
/// the least there can be); where the elements do not divide, ranks differ.
int64_t bytesSent(uint32_t kind, const sluice_collective &what, const Group &group);
/// Scratch that runCollective needs.
int64_t collectiveWorkspace(uint32_t kind, const sluice_collective &what, size_t members);

/// The memory that a collective's buffers are in, and how they travel. What fails
/// is kept, the rest then does nothing, and `exchange` and `finish` say it.
class CollectiveSpace {
public:
  virtual ~CollectiveSpace() = default;
  /// Of no bytes a row there may be no address.
  virtual void copyRows(char *target, int64_t targetStride, const char *source, int64_t sourceStride, int64_t rows,
                        int64_t bytes) = 0;
  /// Zeros, or the element `what.fill` again and again.
  virtual void fill(char *target, int64_t bytes, const sluice_collective &what) = 0;
  /// `parts` are `numParts` of `bytes` each: their combination in this order.
  virtual void combine(char *result, const char *parts, size_t numParts, int64_t bytes,
                       const sluice_collective &what) = 0;
  /// As sluice_communicator's.
  virtual Status exchange(const Group &group, const void *const *send, const int64_t *sendBytes, void *const *receive,
                          const int64_t *receiveBytes) = 0;
  virtual Status finish() { return {}; }
};

/// Runs one collective, `sent` bytes of it to other ranks. Reductions add in the
/// order of positions, so every rank has the same bits, whatever the transport.
/// Fails on settings that contradict each other. `workspace` has collectiveWorkspace bytes. Buffers do not overlap, but
/// that an all_reduce's may be one.
Status runCollective(CollectiveSpace &space, uint32_t rank, uint32_t numRanks, uint32_t kind,
                     const sluice_collective &what, const void *operand, void *result, void *workspace, int64_t &sent);
/// In the host's memory.
Status runCollective(const sluice_communicator &communicator, uint32_t kind, const sluice_collective &what,
                     const void *operand, void *result, void *workspace, int64_t &sent);

/// What the kernels of one session call: its communicator, and what became of
/// the calls. Any thread; exchanges take turns.
class Ranks {
public:
  explicit Ranks(const sluice_communicator *communicator) : communicator(communicator) {}

  /// All ranks meet before their first step. Fails where one's program, of which
  /// `digest` tells as many characters everywhere, is another.
  Status meet(const std::string &digest);
  /// Returns once all ranks are here. Between exchanges.
  Status await();
  /// sluice_kernel_env's `collective`. Returns 0, or 1 where error() says why.
  int32_t run(uint32_t kind, void *const *args, const void *settings, int64_t bytes);
  /// The same in a memory; null only where there is no communicator.
  Status runIn(CollectiveSpace *space, uint32_t kind, void *const *args, const void *settings, int64_t bytes);
  const sluice_communicator *transport() const { return communicator; }
  /// Of this thread's last failure in the step.
  std::string error() const;
  /// The communicator serves the thread alone that made it.
  bool needsCallingThread() const;
  /// This rank's number among those of its host.
  uint32_t hostRank() const;
  /// No exchange can succeed any more.
  bool isBroken() const;
  /// Forgets the last step's.
  void beginStep();
  int64_t bytesSent() const;

private:
  const sluice_communicator *communicator;
  bool met = false;
  std::mutex turn; ///< Of exchanges; what sends nothing waits for none.
  mutable std::mutex mutex;
  int64_t sent = 0;
  std::map<std::thread::id, std::string> texts;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_COLLECTIVE_H
