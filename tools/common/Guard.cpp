//===- Guard.cpp ----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tools/common/Guard.h"

#include "sluice/Support/Temporaries.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <execinfo.h>
#include <iostream>
#include <new>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace sluice::driver {

static constexpr char kNoMemory[] =
    "error: out of memory, in this process, free memory or give a smaller model, problem or limit\n";
static constexpr char kNoThreads[] =
    "error: the system starts no more threads for this process, end other programs or raise 'ulimit -u'\n";
static constexpr char kNotPrinted[] =
    "error: not all of the output could be written to the standard output, make room on its disk and free memory\n";
[[maybe_unused]] static constexpr char kNoStack[] =
    "error: the stack is exhausted because the input is nested too deeply, give an "
    "input with less nesting or raise 'ulimit -s'\n";

constexpr unsigned kSecondsToEnd = 5;

/// Needs no memory of the heap, and no stream that may be locked.
static void print(const char *text) {
  for (size_t left = std::strlen(text); left > 0;) {
    ssize_t count = ::write(STDERR_FILENO, text, left);
    if (count <= 0)
      return;
    text += count, left -= static_cast<size_t>(count);
  }
}

/// Lets one thread alone say why the process ends: several may run out of memory at once. The others wait, and end it
/// should the first be stuck.
static void claimEnd() {
  static std::atomic<const void *> owner{nullptr};
  thread_local const char self = 0;
  const void *found = nullptr;
  if (owner.compare_exchange_strong(found, &self))
    return;
  if (found != &self)
    sleep(kSecondsToEnd);
  _exit(1);
}

static void printBug(const char *what) {
  print("error: internal: ");
  print(what);
  print(", this is a bug of Sluice, please report it with the command and its input\n");
}

/// Prints the exception in flight.
static void printException() {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    print(kNoMemory);
  } catch (const std::length_error &) { // A container larger than the address space.
    print(kNoMemory);
  } catch (const std::system_error &error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      print(kNoThreads);
    else
      printBug(error.what());
  } catch (const std::exception &error) {
    printBug(error.what());
  } catch (...) {
    printBug("an exception of unknown type");
  }
}

static std::atomic<void (*)()> otherCleanup{nullptr};

void setCleanup(void (*cleanup)()) { otherCleanup = cleanup; }

static void cleanUp() {
  if (void (*cleanup)() = otherCleanup.load())
    cleanup();
  removeTemporaries();
}

[[noreturn]] static void end() {
  cleanUp();
  _exit(1);
}

void endAsBug(const char *what) {
  claimEnd();
  printBug(what);
  end();
}

void endOutOfMemory() {
  claimEnd();
  print(kNoMemory);
  end();
}

void endOutOfThreads() {
  claimEnd();
  print(kNoThreads);
  end();
}

void endUnprinted() {
  claimEnd();
  print(kNotPrinted);
  end();
}

void endBySignal(int signal) {
  removeTemporaries();
  // It is blocked until this handler returns, and then ends the process.
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

[[noreturn]] static void onTerminate() {
  claimEnd();
  if (std::current_exception())
    printException();
  else
    printBug("terminated");
  end();
}

// Sanitizers report faults themselves. GCC defines a macro for each, clang has features.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLUICE_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLUICE_SANITIZED
#endif
#endif

#ifndef SLUICE_SANITIZED
static uintptr_t lowestStack = 0;

/// Whether an object at a null pointer was used because there is no memory: MLIR uses what malloc returns unchecked.
/// `error` is the thread's errno at the fault. malloc sets ENOMEM where it returns null, and calls that succeed leave
/// it. A thread that uses a null pointer of another one has its own errno; for it, a new mapping is tried.
static bool isFaultOfNoMemory(const siginfo_t &info, int error) {
  constexpr uintptr_t kLargestObject = uintptr_t(1) << 16;
  constexpr size_t kProbe = size_t(1) << 20;
  // An address that no pointer can have is reported as null, with another code.
  if (info.si_code != SEGV_MAPERR || reinterpret_cast<uintptr_t>(info.si_addr) >= kLargestObject)
    return false;
  if (error == ENOMEM)
    return true;
  void *probe = mmap(nullptr, kProbe, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED)
    return true;
  munmap(probe, kProbe);
  return false;
}

static void onFault(int signal, siginfo_t *info, void *) {
  // The page below a full stack is what a call too deep touches first; frames are smaller than this.
  constexpr uintptr_t kLargestFrame = uintptr_t(1) << 20;
  const int error = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (address + kLargestFrame >= lowestStack && address < lowestStack + kLargestFrame) {
    print(kNoStack);
    _exit(1);
  }
  if (isFaultOfNoMemory(*info, error))
    endOutOfMemory();
  // Any other fault is a crash, as it would have been.
  std::signal(signal, SIG_DFL);
}

static void hearStackOverflow() {
  pthread_attr_t attributes;
  void *low = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return;
  const bool isKnown = pthread_attr_getstack(&attributes, &low, &size) == 0;
  pthread_attr_destroy(&attributes);
  static char handlerStack[1 << 16];
  stack_t alternate{};
  alternate.ss_sp = handlerStack;
  alternate.ss_size = sizeof handlerStack;
  if (!isKnown || sigaltstack(&alternate, nullptr) != 0)
    return;
  lowestStack = reinterpret_cast<uintptr_t>(low);
  struct sigaction action {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
}
#else
/// Sanitizers report it themselves.
static void hearStackOverflow() {}
#endif

static void hearSignals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction old {};
    // nohup, for one, has a signal ignored.
    if (sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_DFL)
      std::signal(number, endBySignal);
  }
  // A limit of file sizes is then an error of write.
  std::signal(SIGXFSZ, SIG_IGN);
}

static bool hasPrintedAll() {
  std::cout.flush();
  return std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

/// The C library loads its unwinder when it first needs it, and aborts if there is no memory for it then.
static void loadUnwinder() {
  void *frame = nullptr;
  backtrace(&frame, 1);
}

int guarded(const std::function<int()> &tool) {
  std::set_terminate(onTerminate);
  loadUnwinder();
  watchAllocations();
  hearSignals();
  hearStackOverflow();
  try {
    const int status = tool();
    if (status != 0 || (hasPrintedAll() && !hasAllocationFailed()))
      return status;
    claimEnd();
    print(hasAllocationFailed() ? kNoMemory : kNotPrinted);
    return 1;
  } catch (...) {
    claimEnd();
    printException();
    return 1;
  }
}

} // namespace sluice::driver
