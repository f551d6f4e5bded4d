//===- Arena.cpp - Memory of a fixed size ---------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Arena.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace sluice::runtime {

namespace {

constexpr int64_t kAlignment = 64;
/// No machine has more; keeps the sums below from overflowing.
constexpr int64_t kMaxBytes = int64_t(1) << 47;

int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

class HostArena final : public Arena {
public:
  HostArena(char *mapping, int64_t mapped, char *start, int64_t length)
      : Arena(start, length), mapping(mapping), mapped(mapped) {}
  ~HostArena() override { munmap(mapping, static_cast<size_t>(mapped)); }

private:
  char *mapping;
  int64_t mapped;
};

} // namespace

Result<std::unique_ptr<Arena>> allocateHostArena(int64_t bytes, const char *memoryName) {
  if (bytes < 0 || bytes > kMaxBytes)
    return failure("arena of ", bytes, " bytes, in memory '", memoryName, "', is larger than any machine's");
  int64_t page = sysconf(_SC_PAGESIZE);
  int64_t usable = roundUp(bytes, page), mapped = usable + 2 * page;
  void *mapping = mmap(nullptr, static_cast<size_t>(mapped), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *inside = static_cast<char *>(mapping) + page;
  if (mapping == MAP_FAILED || (usable > 0 && mprotect(inside, static_cast<size_t>(usable), PROT_READ | PROT_WRITE))) {
    int error = errno;
    if (mapping != MAP_FAILED)
      munmap(mapping, static_cast<size_t>(mapped));
    return failure("cannot allocate an arena of ", bytes, " bytes, for memory '", memoryName,
                   "': ", std::strerror(error), ", compile for less memory");
  }
#ifdef MADV_HUGEPAGE
  // Only advice: fewer address translations for large arenas.
  if (usable > 0)
    (void)madvise(inside, static_cast<size_t>(usable), MADV_HUGEPAGE);
#endif
  char *start = inside + usable - roundUp(bytes, kAlignment);
  return std::make_unique<HostArena>(static_cast<char *>(mapping), mapped, start, bytes);
}

} // namespace sluice::runtime
