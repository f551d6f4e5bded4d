//===- ArenaTest.cpp - Memory of a fixed size -----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Arena.h"

#include <catch2/catch.hpp>
#include <cerrno>
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

} // namespace

TEST_CASE("an arena ends where it says", "[runtime]") {
  for (int64_t bytes : {64, 4096, 4096 + 64, 1 << 20}) {
    INFO(bytes);
    auto arena = allocateHostArena(bytes, "accel0");
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
