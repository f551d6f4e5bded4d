//===- Arena.h - Memory of a fixed size -------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_ARENA_H
#define SLUICE_RUNTIME_ARENA_H

#include "Result.h"

#include <cstdint>
#include <memory>

namespace sluice::runtime {

/// `bytes()` bytes from `base()`, in the address space of one memory's devices.
class Arena {
public:
  virtual ~Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  char *base() const { return start; }
  int64_t bytes() const { return length; }

protected:
  Arena(char *start, int64_t length) : start(start), length(length) {}
  char *start;
  int64_t length;
};

/// Allocates zeroed host memory between two inaccessible pages, at which a kernel that runs past an end of the arena
/// stops. The base is a multiple of 64 bytes. The end lies at the second page if `bytes` is a multiple of 64, else at
/// most 63 bytes before it.
Result<std::unique_ptr<Arena>> allocateHostArena(int64_t bytes, const char *memoryName);
/// Allocates the same, mapped from a file without a name in `directory`, whose blocks are reserved at once. The system
/// may write pages to the file and take their memory back.
Result<std::unique_ptr<Arena>> allocateFileArena(int64_t bytes, const char *memoryName, const char *directory);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_ARENA_H
