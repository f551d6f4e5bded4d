//===- TestPool.cpp - Many small pieces of work, each isolated ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TestPool.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  pid_t process = -1;
  int pipe = -1; ///< What it says; closed when it ends.
  size_t index = 0;
  Clock::time_point start;
  std::string said;
};

[[noreturn]] void runChild(int pipe, const std::function<Expected<std::string>(size_t)> &body, size_t index) {
  setpgid(0, 0);
  const int null = open("/dev/null", O_RDWR);
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    dup2(null, stream);
  const Expected<std::string> said = body(index);
  const std::string &text = said ? *said : said.error().message;
  for (size_t at = 0; at < text.size();) {
    const ssize_t wrote = write(pipe, text.data() + at, text.size() - at);
    if (wrote <= 0)
      break;
    at += static_cast<size_t>(wrote);
  }
  _exit(said ? 0 : 1);
}

Expected<Child> start(const std::function<Expected<std::string>(size_t)> &body, size_t index) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return makeError(ErrorCode::Io, "cannot make a pipe for a test, ", std::strerror(errno), ", raise 'ulimit -n'");
  const pid_t process = fork();
  if (process < 0) {
    close(ends[0]);
    close(ends[1]);
    return makeError(ErrorCode::Io, "cannot start a process for a test, ", std::strerror(errno),
                     ", free memory, end other programs or raise 'ulimit -u'");
  }
  if (process == 0)
    runChild(ends[1], body, index);
  setpgid(process, process);
  close(ends[1]);
  return Child{process, ends[0], index, Clock::now(), {}};
}

/// Waits for a child that has closed its pipe, or, where it is late, ends it.
PoolResult finish(Child &child, bool late, int64_t timeoutNs) {
  if (late)
    kill(-child.process, SIGKILL);
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  kill(-child.process, SIGKILL); // What it left behind.
  close(child.pipe);
  PoolResult result;
  result.elapsedNs = std::chrono::nanoseconds(Clock::now() - child.start).count();
  if (late)
    result.reason = concat("still running after ", formatDuration(timeoutNs));
  else if (WIFSIGNALED(status))
    result.reason = concat("crashed with signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")");
  else if (WEXITSTATUS(status) != 0)
    result.reason = child.said.empty() ? concat("exit code ", WEXITSTATUS(status)) : child.said;
  else {
    result.passed = true;
    result.said = std::move(child.said);
  }
  return result;
}

} // namespace

Status runIsolated(size_t count, const PoolParams &params, const std::function<Expected<std::string>(size_t)> &body,
                   const std::function<void(size_t, const PoolResult &)> &done) {
  std::vector<Child> running;
  Status failed;
  for (size_t next = 0; next < count || !running.empty();) {
    while (failed && next < count && running.size() < static_cast<size_t>(std::max(params.processes, 1))) {
      Expected<Child> child = start(body, next++);
      if (child)
        running.push_back(std::move(*child));
      else
        failed = propagate(child);
    }
    if (!failed && running.empty())
      return failed;
    std::vector<pollfd> pipes;
    for (const Child &child : running)
      pipes.push_back({child.pipe, POLLIN, 0});
    constexpr int kPollMs = 200;
    poll(pipes.data(), pipes.size(), kPollMs);
    for (size_t i = running.size(); i-- > 0;) {
      Child &child = running[i];
      bool ended = false;
      if (pipes[i].revents) {
        char buffer[4096];
        const ssize_t got = read(child.pipe, buffer, sizeof buffer);
        if (got > 0)
          child.said.append(buffer, static_cast<size_t>(got));
        ended = got == 0 || (got < 0 && errno != EINTR);
      }
      const bool late = !ended && Clock::now() - child.start > std::chrono::nanoseconds(params.timeoutNs);
      if (!ended && !late)
        continue;
      const PoolResult result = finish(child, late, params.timeoutNs);
      done(child.index, result);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return failed;
}

} // namespace sluice::bench
