//===- Guard.h - The last handler of errors ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_COMMON_GUARD_H
#define SLUICE_TOOLS_COMMON_GUARD_H

#include <functional>

namespace sluice::driver {

/// Runs a tool and returns its exit code. An exception that escapes it, in any thread, and a stack that nesting has
/// exhausted on the main thread end the process with `error: ...` and exit code 1 instead of a signal. A message that
/// does not blame a lack of memory or the input's nesting asks for a bug report.
/// Text that could not be printed, or memory that was refused on the way, makes an exit code of 0 a failure too.
/// However the process ends, also by SIGINT, SIGTERM, SIGHUP or SIGPIPE, it removes its temporary files.
int guarded(const std::function<int()> &tool);

/// Prints "error: <what>" with the request for a bug report, and ends the process with exit code 1 at once: nothing on
/// the stack is destroyed. For handlers that must not return.
[[noreturn]] void endAsBug(const char *what);
/// The same for a lack of memory.
[[noreturn]] void endOutOfMemory();
/// The same for a lack of threads, and where standard output refuses text.
[[noreturn]] void endOutOfThreads();
[[noreturn]] void endUnprinted();
/// A handler of signals: removes temporary files, and ends the process by the signal.
void endBySignal(int signal);

/// Another function that removes temporary files, called where the process ends early.
void setCleanup(void (*cleanup)());

} // namespace sluice::driver

#endif // SLUICE_TOOLS_COMMON_GUARD_H
