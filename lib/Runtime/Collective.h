//===- Collective.h - Operations of several ranks together ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_H
#define SLUICE_RUNTIME_COLLECTIVE_H

#include "Result.h"
#include "sluice/Runtime/sluice.h"

#include <mutex>
#include <string>
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

/// Runs one collective, `sent` bytes of it to other ranks. Reductions add in the
/// order of positions, so every rank has the same bits, whatever the transport.
/// Fails on settings that contradict each other. `workspace` has collectiveWorkspace bytes. Buffers do not overlap, but
/// that an all_reduce's may be one.
Status runCollective(const sluice_communicator &communicator, uint32_t kind, const sluice_collective &what,
                     const void *operand, void *result, void *workspace, int64_t &sent);

/// What the kernels of one session call: its communicator, and what became of
/// the calls. Any thread.
class Ranks {
public:
  explicit Ranks(const sluice_communicator *communicator) : communicator(communicator) {}

  /// All ranks meet before their first step. Fails where one's program, of which
  /// `digest` tells as many characters everywhere, is another.
  Status meet(const std::string &digest);
  /// sluice_kernel_env's `collective`. Returns 0, or 1 where error() says why.
  int32_t run(uint32_t kind, void *const *args, const void *settings, int64_t bytes);
  std::string error() const;
  /// Forgets the last step's.
  void beginStep();
  int64_t bytesSent() const;

private:
  mutable std::mutex mutex;
  const sluice_communicator *communicator;
  int64_t sent = 0;
  bool met = false;
  std::string text;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_COLLECTIVE_H
