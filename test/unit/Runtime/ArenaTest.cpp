//===- ArenaTest.cpp - Memory of a fixed size -----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Arena.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace sluice::runtime;

namespace {

/// Asks the kernel, which answers where a read of one's own would be killed.
bool readable(const char *address) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  bool fine = syscall(SYS_write, ends[1], address, 1) == 1;
  REQUIRE((fine || errno == EFAULT));
  close(ends[0]), close(ends[1]);
  return fine;
}

/// A limit of this process, until the end of the scope.
class Limit {
public:
  Limit(int resource, rlim_t bytes) : resource(static_cast<__rlimit_resource>(resource)) {
    REQUIRE(getrlimit(this->resource, &before) == 0);
    rlimit lower{bytes, before.rlim_max};
    REQUIRE(setrlimit(this->resource, &lower) == 0);
  }
  ~Limit() { setrlimit(resource, &before); }

private:
  __rlimit_resource resource;
  rlimit before{};
};

} // namespace

TEST_CASE("an arena ends where it says", "[runtime]") {
  const std::string scratch = std::filesystem::temp_directory_path();
  const bool isFile = GENERATE(false, true);
  for (int64_t bytes : {64, 4096, 4096 + 64, 1 << 20}) {
    INFO(bytes);
    auto arena = isFile ? allocateFileArena(bytes, "host", scratch.c_str()) : allocateHostArena(bytes, "accel0");
    REQUIRE(arena);
    char *base = (*arena)->base();
    CHECK((*arena)->bytes() == bytes);
    CHECK(reinterpret_cast<uintptr_t>(base) % 64 == 0);
    CHECK(base[0] == 0);
    base[0] = base[bytes - 1] = 1;
    CHECK(readable(base + bytes - 1));
    CHECK_FALSE(readable(base + bytes));
  }
  CHECK(allocateHostArena(0, "accel0"));
  CHECK_FALSE(allocateHostArena(-1, "accel0"));
  auto tooLarge = allocateHostArena(INT64_MAX, "accel0");
  REQUIRE_FALSE(tooLarge);
  CHECK(tooLarge.error().find("memory 'accel0'") != std::string::npos);
}

TEST_CASE("an arena in a file takes no memory of the process and leaves no name", "[runtime]") {
  const std::filesystem::path scratch = std::filesystem::temp_directory_path() / ("spill" + std::to_string(getpid()));
  std::filesystem::create_directory(scratch);
  constexpr int64_t kBytes = int64_t(64) << 20;
  {
    // Half of it is left of the private memory that can be written.
    std::ifstream pages("/proc/self/statm");
    rlim_t data = 0;
    for (int field = 0; field < 6; ++field)
      pages >> data;
    Limit half(RLIMIT_DATA, data * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + kBytes / 2);
    CHECK_FALSE(allocateHostArena(kBytes, "host"));
    auto arena = allocateFileArena(kBytes, "host", scratch.c_str());
    REQUIRE(arena);
    (*arena)->base()[kBytes - 1] = 1;
    CHECK(std::filesystem::is_empty(scratch));
  }
  std::filesystem::remove(scratch);
}

TEST_CASE("a disk without room is met when the arena is made", "[runtime]") {
  const std::string scratch = std::filesystem::temp_directory_path();
  auto before = std::signal(SIGXFSZ, SIG_IGN);
  {
    Limit small(RLIMIT_FSIZE, 1 << 20);
    auto arena = allocateFileArena(2 << 20, "host", scratch.c_str());
    REQUIRE_FALSE(arena);
    CHECK(arena.error().find("directory '" + scratch + "'") != std::string::npos);
  }
  std::signal(SIGXFSZ, before);
  auto nowhere = allocateFileArena(4096, "host", "/nowhere/at/all");
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().find("No such file or directory") != std::string::npos);
}
