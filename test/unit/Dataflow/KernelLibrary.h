//===- KernelLibrary.h - Kernels as machine code ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_DATAFLOW_KERNELLIBRARY_H
#define SLUICE_TEST_UNIT_DATAFLOW_KERNELLIBRARY_H

#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "sluice/Runtime/abi.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace sluice::test {

/// Bytes between two unreadable pages, at the end or at the begin of the
/// readable ones, from a multiple of `alignment` on.
class Guarded {
public:
  Guarded(size_t count, bool atEnd, size_t alignment = 1)
      : page(sysconf(_SC_PAGESIZE)), bytes((count + page - 1) / page * page) {
    map = static_cast<char *>(
        mmap(nullptr, bytes + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(map != MAP_FAILED);
    mprotect(map, page, PROT_NONE);
    mprotect(map + page + bytes, page, PROT_NONE);
    data = map + page + (atEnd ? (bytes - count) / alignment * alignment : 0);
    std::memset(map + page, kUnused, bytes);
    // No value a result has by chance.
    std::memset(data, 0xa5, count);
    end = data + count;
  }
  ~Guarded() { munmap(map, bytes + 2 * page); }
  Guarded(const Guarded &) = delete;
  /// Whether nobody wrote beyond the bytes, as far as that is possible.
  bool isIntact() const {
    auto isUnused = [](char byte) { return byte == kUnused; };
    return std::all_of(map + page, data, isUnused) && std::all_of(end, map + page + bytes, isUnused);
  }
  char *data, *end;

private:
  static constexpr char kUnused = 0x5a;
  size_t page, bytes;
  char *map;
};

/// Runs chunks in their order, on this thread. `count`, the pool, counts chunks. Each runs in pieces, so that a loop
/// too short for several chunks is cut as well.
void runForward(void *count, int64_t extent, int64_t grain, sluice_chunk_fn fn, void **args);
/// The same in reverse.
void runBackward(void *count, int64_t extent, int64_t grain, sluice_chunk_fn fn, void **args);

/// What kernels of this machine are emitted for; `lanes` of f32 are a vector, 0: the host's.
dataflow::VectorTarget hostTarget(int64_t lanes);

/// Puts packing before `op`, or before the group whose contraction is to read
/// the packed weight. Returns what is to run.
mlir::Operation *packWeights(mlir::Operation *op, const dataflow::VectorTarget &target,
                             const std::string &algorithmName);

/// A compiled module: kernel i, and how to find it.
class Library {
public:
  Library(mlir::ModuleOp module, size_t numKernels, unsigned architecture);
  ~Library();
  Library(const Library &) = delete;

  sluice_kernel_fn kernel(int32_t i) const;

private:
  void *handle = nullptr;
};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_DATAFLOW_KERNELLIBRARY_H
