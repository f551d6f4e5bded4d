//===- Child.h - Work in a process of its own -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEREDUCE_CHILD_H
#define SLUICE_TOOLS_SLUICEREDUCE_CHILD_H

#include "sluice/Support/Error.h"

#include <atomic>
#include <functional>
#include <string>

namespace sluice::reduce {

/// Raised by SIGINT; a child is killed soon after.
extern std::atomic<bool> interrupted;

struct ChildResult {
  enum class End : uint8_t { Exited, Killed, TimedOut, Interrupted };
  End end = End::Killed;
  int code = 0; ///< The exit code, or the signal that killed it.

  bool success() const { return end == End::Exited && code == 0; }
  /// "exit code 1", "signal 11", "still running after 60.00 s", "interrupted".
  std::string describe(int64_t timeoutNs) const;
};

/// Runs `body`, which returns its exit code, in a forked process group. What is left of the group is killed when it
/// ends, or when the time is up. For a program of one thread. Fails where the system starts no process.
Expected<ChildResult> runForked(const std::function<int()> &body, int64_t timeoutNs);
/// Runs a shell command so, its input and output /dev/null.
Expected<ChildResult> runShell(const std::string &command, int64_t timeoutNs);

} // namespace sluice::reduce

#endif // SLUICE_TOOLS_SLUICEREDUCE_CHILD_H
