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

/// The ranks that take part in a collective with a given rank, in the order of their positions.
struct Group {
  std::vector<uint32_t> members;
  uint32_t position = 0; ///< The given rank's own position.
};
/// The group of `rank`. Fails if a member would not be one of `numRanks` ranks, or if a rank exchanges a message with
/// itself.
Result<Group> groupOf(uint32_t kind, const sluice_collective &what, uint32_t rank, uint32_t numRanks);

/// Bytes that one rank sends to others. An all_reduce is a reduce_scatter and an
/// all_gather of equal chunks (Patarasu and Yuan 2009: 2 (g - 1) / g of the bytes,
/// the least there can be); where the elements do not divide, ranks differ.
int64_t bytesSent(uint32_t kind, const sluice_collective &what, const Group &group);
/// Bytes of workspace that runCollective needs.
int64_t collectiveWorkspace(uint32_t kind, const sluice_collective &what, size_t members);

/// The memory of a collective's buffers, and their transport. After a failure the other
/// functions do nothing, and `exchange` and `finish` return the failure.
class CollectiveSpace {
public:
  virtual ~CollectiveSpace() = default;
  /// Addresses may be null if a row has no bytes.
  virtual void copyRows(char *target, int64_t targetStride, const char *source, int64_t sourceStride, int64_t rows,
                        int64_t bytes) = 0;
  /// Fills with zeros, or with copies of the element `what.fill`.
  virtual void fill(char *target, int64_t bytes, const sluice_collective &what) = 0;
  /// Combines, in this order, `numParts` parts of `bytes` each that lie side by side in `parts`.
  virtual void combine(char *result, const char *parts, size_t numParts, int64_t bytes,
                       const sluice_collective &what) = 0;
  /// Does what sluice_communicator's exchange does.
  virtual Status exchange(const Group &group, const void *const *send, const int64_t *sendBytes, void *const *receive,
                          const int64_t *receiveBytes) = 0;
  virtual Status finish() { return {}; }
};

/// A collective and its buffers. The workspace has collectiveWorkspace bytes. Buffers do not overlap, except that an
/// all_reduce's operand may be its result.
struct CollectiveCall {
  uint32_t kind;
  const sluice_collective &settings;
  const void *operand;
  void *result, *workspace;
};

/// Runs one collective and sets `sent` to the bytes that it sends to other ranks. Reductions add in the order of
/// positions, so every rank has the same bits, whatever the transport. Fails on settings that contradict each other.
Status runCollective(CollectiveSpace &space, uint32_t rank, uint32_t numRanks, const CollectiveCall &call,
                     int64_t &sent);
/// The same in the host's memory.
Status runCollective(const sluice_communicator &communicator, uint32_t kind, const sluice_collective &what,
                     const void *operand, void *result, void *workspace, int64_t &sent);

/// The communicator that the kernels of one session call, and the state of the calls. Any
/// thread may call; exchanges run one at a time.
class Ranks {
public:
  explicit Ranks(const sluice_communicator *communicator) : communicator(communicator) {}

  /// All ranks meet before their first step. Fails if a rank runs another program, or the program of another pipeline;
  /// `digest` identifies the program or the pipeline and has the same length on all ranks.
  Status meet(const std::string &digest);
  /// Returns once all ranks have called it. Called between exchanges.
  Status await();
  /// sluice_kernel_env's `collective`. Returns 0, or 1 if error() has a message.
  int32_t run(uint32_t kind, void *const *args, const void *settings, int64_t bytes);
  /// The same in a memory; `space` is null only without a communicator.
  Status runIn(CollectiveSpace *space, uint32_t kind, void *const *args, const void *settings, int64_t bytes);
  const sluice_communicator *transport() const { return communicator; }
  /// The message of this thread's last failure in the step.
  std::string error() const;
  /// Whether the communicator serves only the thread that made it.
  bool needsCallingThread() const;
  /// This rank's number among those of its host.
  uint32_t hostRank() const;
  /// Whether no exchange can succeed any more.
  bool isBroken() const;
  /// Forgets the last step's errors and byte counts.
  void beginStep();
  int64_t bytesSent() const;

private:
  const sluice_communicator *communicator;
  bool met = false;
  std::mutex turn; ///< Held during an exchange; a collective that sends nothing does not take it.
  mutable std::mutex mutex;
  int64_t sent = 0;
  std::map<std::thread::id, std::string> texts;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_COLLECTIVE_H
