//===- Arena.cpp - Memory of a fixed size ---------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Arena.h"
#include "UnnamedFile.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
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

/// Between guard pages: `bytes` of memory, or of a file.
Result<std::unique_ptr<Arena>> mapArena(int64_t bytes, const char *memoryName, const char *directory) {
  if (bytes < 0 || bytes > kMaxBytes)
    return failure("an arena of ", bytes, " bytes is out of range, memory '", memoryName, "', compile the model again");
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t usable = roundUp(bytes, page), mapped = usable + 2 * page;
  void *mapping = mmap(nullptr, static_cast<size_t>(mapped), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return failure("cannot allocate an arena of ", bytes, " bytes for memory '", memoryName,
                   "': ", std::strerror(errno), ", compile for less memory");
  char *inside = static_cast<char *>(mapping) + page;
  char *start = inside + usable - roundUp(bytes, kAlignment);
  auto arena = std::make_unique<HostArena>(static_cast<char *>(mapping), mapped, start, bytes);
  if (usable == 0)
    return arena;
  if (!directory) {
    if (mprotect(inside, static_cast<size_t>(usable), PROT_READ | PROT_WRITE))
      return failure("cannot allocate an arena of ", bytes, " bytes for memory '", memoryName,
                     "': ", std::strerror(errno), ", compile for less memory");
#ifdef MADV_HUGEPAGE
    // Only advice: fewer address translations for large arenas.
    (void)madvise(inside, static_cast<size_t>(usable), MADV_HUGEPAGE);
#endif
    return arena;
  }
  const int fd = openUnnamed(directory);
  int error = fd < 0 ? errno : takeBlocks(fd, usable);
  if (!error &&
      mmap(inside, static_cast<size_t>(usable), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
    error = errno;
  if (fd >= 0)
    close(fd);
  if (error)
    return failure("cannot create a file of ", usable, " bytes for the arena of memory '", memoryName, "', directory '",
                   directory, "': ", std::strerror(error),
                   ", give a writable directory of a disk that has the space and allows files of this size");
  return arena;
}

} // namespace

Result<std::unique_ptr<Arena>> allocateHostArena(int64_t bytes, const char *memoryName) {
  return mapArena(bytes, memoryName, nullptr);
}

Result<std::unique_ptr<Arena>> allocateFileArena(int64_t bytes, const char *memoryName, const char *directory) {
  return mapArena(bytes, memoryName, directory);
}

} // namespace sluice::runtime
