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
#include <spawn.h>
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

static tl::unexpected<Error> cannotStart(int why) {
  return makeError(ErrorCode::Io, "cannot start a process, ", std::strerror(why),
                   why == E2BIG ? ", shorten the command or its environment"
                                : ", end other programs, free memory or raise 'ulimit -u' and 'ulimit -n'");
}

Expected<ChildResult> runForked(const std::function<int()> &body, int64_t timeoutNs) {
  const pid_t child = fork();
  if (child < 0)
    return cannotStart(errno);
  if (child == 0) {
    setpgid(0, 0);
    _exit(body());
  }
  // In both processes, so that the group exists whoever comes first.
  setpgid(child, child);
  return waitFor(child, timeoutNs);
}

namespace {

/// Of posix_spawn, which tells a shell that cannot be started from one that fails.
struct SpawnOptions {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error;

  SpawnOptions() : error(posix_spawn_file_actions_init(&actions)) {
    then(posix_spawnattr_init(&attributes));
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      then(posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0));
    then(posix_spawnattr_setpgroup(&attributes, 0));
    then(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP));
  }
  ~SpawnOptions() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  SpawnOptions(const SpawnOptions &) = delete;
  SpawnOptions &operator=(const SpawnOptions &) = delete;

private:
  void then(int result) { error = error ? error : result; }
};

} // namespace

Expected<ChildResult> runShell(const std::string &command, int64_t timeoutNs) {
  const SpawnOptions options;
  if (options.error)
    return cannotStart(options.error);
  std::string name = "sh", option = "-c", text = command;
  char *const arguments[] = {name.data(), option.data(), text.data(), nullptr};
  pid_t child = 0;
  if (const int error = posix_spawn(&child, "/bin/sh", &options.actions, &options.attributes, arguments, environ))
    return cannotStart(error);
  return waitFor(child, timeoutNs);
}

} // namespace sluice::reduce
