//===- LlvmErrors.h - LLVM's fatal errors as diagnostics --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_COMMON_LLVMERRORS_H
#define SLUICE_TOOLS_COMMON_LLVMERRORS_H

#include "tools/common/Guard.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <string>

namespace sluice::driver {

/// LLVM is built without exceptions: it aborts where memory is short or its own code finds no way on. From here on it
/// ends as Guard.h says. Call once.
inline void guardLlvm() {
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    const llvm::StringRef text(reason);
    // LLVM's words in llvm/lib/Support/Unix/Threading.inc and raw_ostream.cpp.
    if (text.starts_with("pthread_create failed"))
      endOutOfThreads();
    if (text.starts_with("IO failure on output stream"))
      endUnprinted();
    endAsBug(reason);
  });
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { endOutOfMemory(); });
  // The files that LLVM's tools write.
  setCleanup(llvm::sys::RunInterruptHandlers);
}

/// Prints an error, and returns the exit code of a failure.
inline int fail(const std::string &message) {
  llvm::errs() << "error: " << message << "\n";
  return EXIT_FAILURE;
}

} // namespace sluice::driver

#endif // SLUICE_TOOLS_COMMON_LLVMERRORS_H
