//===- Child.cpp - Work in a process of its own ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Child.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sluice::reduce {

std::atomic<bool> interrupted{false};

std::string ChildResult::describe(int64_t timeoutNs) const {
  switch (end) {
  case End::Exited:
    return concat("exit code ", code);
  case End::Killed:
    return concat("signal ", code);
  case End::TimedOut:
    return concat("still running after ", formatDuration(timeoutNs));
  case End::Interrupted:
    break;
  }
  return "interrupted";
}

static ChildResult waitFor(pid_t child, int64_t timeoutNs) {
  using Clock = std::chrono::steady_clock;
  using End = ChildResult::End;
  const auto start = Clock::now();
  auto pause = std::chrono::microseconds(100);
  while (true) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      kill(-child, SIGKILL);
      if (WIFEXITED(status))
        return {End::Exited, WEXITSTATUS(status)};
      return {End::Killed, WTERMSIG(status)};
    }
    const bool late = Clock::now() - start > std::chrono::nanoseconds(timeoutNs);
    if (late || interrupted) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      return {late ? End::TimedOut : End::Interrupted, 0};
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10000));
  }
}

Expected<ChildResult> runForked(const std::function<bool()> &body, int64_t timeoutNs) {
  const pid_t child = fork();
  if (child < 0)
    return makeError(ErrorCode::Io, "cannot start a process: ", std::strerror(errno));
  if (child == 0) {
    setpgid(0, 0);
    _exit(body() ? 0 : 1);
  }
  // In both processes, so that the group exists whoever comes first.
  setpgid(child, child);
  return waitFor(child, timeoutNs);
}

Expected<ChildResult> runShell(const std::string &command, int64_t timeoutNs) {
  auto body = [&] {
    const int null = open("/dev/null", O_RDWR);
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      dup2(null, stream);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    return false;
  };
  return runForked(body, timeoutNs);
}

} // namespace sluice::reduce
