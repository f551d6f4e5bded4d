//===- TestPool.h - Many small pieces of work, each isolated ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_TESTPOOL_H
#define SLUICE_TOOLS_SLUICEBENCH_TESTPOOL_H

#include "sluice/Support/Error.h"

#include <cstdint>
#include <functional>
#include <string>

namespace sluice::bench {

/// How one piece of work ended.
struct PoolResult {
  bool passed = false;
  std::string reason; ///< Why not: its error, the signal that ended it, or the time limit.
  std::string said;   ///< What the body returned, of one that passed.
  int64_t elapsedNs = 0;
};

struct PoolParams {
  int processes = 1;
  int64_t timeoutNs = 60'000'000'000;
};

/// Runs body(0) ... body(count - 1), each in a forked process of its own whose standard streams are /dev/null, so that
/// none can end the run; calls done(index, result) in the order they end. For a program of one thread.
Status runIsolated(size_t count, const PoolParams &params, const std::function<Expected<std::string>(size_t)> &body,
                   const std::function<void(size_t, const PoolResult &)> &done);

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_TESTPOOL_H
