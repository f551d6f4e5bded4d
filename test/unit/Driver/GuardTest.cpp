//===- GuardTest.cpp - What escapes a tool --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tools/common/Guard.h"

#include "sluice/Support/Temporaries.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace sluice::driver;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {
struct Ended {
  int status = 0;
  std::string errors;

  int exitCode() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
  int signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }
};

/// Runs a guarded tool in a process of its own.
Ended runGuarded(const std::function<int()> &tool) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]), close(ends[1]);
    const rlimit noCore{0, 0};
    setrlimit(RLIMIT_CORE, &noCore);
    // Catch's own handlers are not those of a tool.
    for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGTERM, SIGINT, SIGILL, SIGHUP, SIGPIPE})
      std::signal(signal, SIG_DFL);
    _exit(guarded(tool));
  }
  close(ends[1]);
  Ended ended;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    ended.errors.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  REQUIRE(waitpid(child, &ended.status, 0) == child);
  return ended;
}

/// Calls itself until the stack ends.
__attribute__((noinline)) int recurse(volatile char *above) {
  if (!above)
    return 0;
  volatile char here[256];
  here[0] = above[0];
  return recurse(here) + here[0];
}
} // namespace

TEST_CASE("a tool's exit code is the guard's", "[driver]") {
  CHECK(runGuarded([] { return 0; }).exitCode() == 0);
  CHECK(runGuarded([] { return 2; }).exitCode() == 2);
  CHECK(runGuarded([] { return 2; }).errors.empty());
}

TEST_CASE("a lack of memory is an error, not an abort", "[driver]") {
  for (const std::function<int()> &tool :
       {std::function<int()>([]() -> int { throw std::bad_alloc(); }), std::function<int()>([] {
          return static_cast<int>(std::vector<char>(std::vector<char>().max_size() + size_t(1)).size());
        })}) {
    Ended ended = runGuarded(tool);
    CHECK(ended.exitCode() == 1);
    CHECK_THAT(ended.errors, StartsWith("error: out of memory, ") && !Contains("report"));
  }
}

TEST_CASE("threads that run out of memory at once print one error", "[driver]") {
  Ended ended = runGuarded([] {
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (++ready; ready < 4;)
          ;
        endOutOfMemory();
      });
    for (std::thread &thread : threads)
      thread.join();
    return 0;
  });
  CHECK(ended.exitCode() == 1);
  CHECK(std::count(ended.errors.begin(), ended.errors.end(), '\n') == 1);
}

TEST_CASE("any other exception asks for a bug report", "[driver]") {
  Ended known = runGuarded([]() -> int { throw std::runtime_error("no such thing"); });
  CHECK(known.exitCode() == 1);
  CHECK_THAT(known.errors, StartsWith("error: internal: no such thing, ") && Contains("report"));
  Ended unknown = runGuarded([]() -> int { throw 42; });
  CHECK(unknown.exitCode() == 1);
  CHECK_THAT(unknown.errors, StartsWith("error: internal: ") && Contains("report"));
}

TEST_CASE("an exception that escapes a thread is an error too", "[driver]") {
  Ended ended = runGuarded([] {
    std::thread([] { throw std::bad_alloc(); }).join();
    return 0;
  });
  CHECK(ended.exitCode() == 1);
  CHECK_THAT(ended.errors, StartsWith("error: out of memory, "));
}

TEST_CASE("threads that the system refuses are no bug", "[driver]") {
  Ended ended = runGuarded(
      []() -> int { throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)); });
  CHECK(ended.exitCode() == 1);
  CHECK_THAT(ended.errors,
             StartsWith("error: the system starts no more threads for this process, ") && !Contains("report"));
}

TEST_CASE("text that cannot be printed is an error", "[driver]") {
  Ended ended = runGuarded([] {
    dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
    std::cout << "a result\n";
    return 0;
  });
  CHECK(ended.exitCode() == 1);
  CHECK_THAT(ended.errors, StartsWith("error: not all of the output could be written to the standard output, "));
}

// Sanitizers end a process that asks for so much.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("memory that was refused on the way is an error", "[driver]") {
  Ended ended = runGuarded([] {
    try {
      volatile size_t huge = SIZE_MAX / 4;
      ::operator delete(::operator new(huge));
    } catch (const std::bad_alloc &) {
    }
    return 0;
  });
  CHECK(ended.exitCode() == 1);
  CHECK_THAT(ended.errors, StartsWith("error: out of memory, "));
}
#endif

TEST_CASE("temporary files go, however a tool ends", "[driver]") {
  auto folder = sluice::TemporaryDirectory::create("sluice-test");
  REQUIRE(folder);
  const std::string path = folder->file("temporary");
  auto leave = [&](const std::function<void()> &end) {
    Ended ended = runGuarded([&] {
      std::ofstream(path) << "x";
      sluice::Temporary temporary(path);
      end();
      return 0;
    });
    CHECK(!std::filesystem::exists(path));
    return ended;
  };
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    CHECK(leave([&] { raise(signal); }).signal() == signal);
  CHECK(leave([] { endOutOfMemory(); }).exitCode() == 1);
  CHECK(leave([] { endAsBug("a reason"); }).exitCode() == 1);
  CHECK(leave([] { std::thread([] { throw std::bad_alloc(); }).join(); }).exitCode() == 1);
  CHECK(leave([] {}).exitCode() == 0);
}

TEST_CASE("what a handler ends says what happened", "[driver]") {
  Ended bug = runGuarded([]() -> int { endAsBug("a reason"); });
  CHECK(bug.exitCode() == 1);
  CHECK_THAT(bug.errors, StartsWith("error: internal: a reason, "));
  Ended memory = runGuarded([]() -> int { endOutOfMemory(); });
  CHECK(memory.exitCode() == 1);
  CHECK_THAT(memory.errors, StartsWith("error: out of memory, "));
  CHECK_THAT(runGuarded([]() -> int { endOutOfThreads(); }).errors, StartsWith("error: the system starts no more "));
  CHECK_THAT(runGuarded([]() -> int { endUnprinted(); }).errors, StartsWith("error: not all of the output "));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a stack that nesting exhausts is an error, any other fault a crash", "[driver]") {
  Ended deep = runGuarded([] {
    volatile char top = 0;
    return recurse(&top);
  });
  CHECK(deep.exitCode() == 1);
  CHECK_THAT(deep.errors, StartsWith("error: the stack is exhausted because "));
  Ended fault = runGuarded([] {
    // An address of no page, far from the stack.
    volatile int *nothing = reinterpret_cast<int *>(uintptr_t(64));
    return *nothing;
  });
  CHECK(fault.signal() == SIGSEGV);
}

TEST_CASE("the null pointer of a single malloc that failed, used unchecked, is an error about memory", "[driver]") {
  Ended ended = runGuarded([] {
    volatile size_t huge = SIZE_MAX / 4;
    auto *object = static_cast<volatile int *>(std::malloc(huge));
    std::free(std::malloc(16));
    return object[16];
  });
  CHECK(ended.exitCode() == 1);
  CHECK_THAT(ended.errors, StartsWith("error: out of memory, "));
  // A wild pointer is none, whatever failed before.
  Ended wild = runGuarded([] {
    errno = ENOMEM;
    return *reinterpret_cast<volatile int *>(uintptr_t(1) << 63);
  });
  CHECK(wild.signal() == SIGSEGV);
}

TEST_CASE("an object at a null pointer, where there is no memory, is an error about memory", "[driver]") {
  Ended ended = runGuarded([] {
    const rlimit nothing{0, 0};
    setrlimit(RLIMIT_AS, &nothing);
    volatile int *object = reinterpret_cast<int *>(uintptr_t(64));
    return *object;
  });
  CHECK(ended.exitCode() == 1);
  CHECK_THAT(ended.errors, StartsWith("error: out of memory, "));
}
#endif
