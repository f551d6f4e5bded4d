//===- GpuTest.cpp - Collectives on a real GPU ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "../Skip.h"
#include "GpuRanks.h"

#include <cstdio>

using namespace sluice::test;

TEST_CASE("collectives on a GPU of this machine do what abi.h says", "[gpu]") {
  GpuRanks ranks;
  // Only the lack of a GPU is a reason to skip; a driver that fails on one is a failure.
  for (const char *absent : {"no CUDA driver", "CUDA_ERROR_NO_DEVICE"})
    if (ranks.errors[0].find(absent) != std::string::npos)
      return skip(ranks.errors[0]);
  REQUIRE(ranks.errors[0] == "");
  std::mt19937 random(7);
  for (uint32_t i = 0; i < 300; ++i)
    checkRandomStep(ranks, random, i);
  const auto operands = chooseSum(), results = ranks.step(operands);
  for (uint32_t rank = 0; rank < kRanks; ++rank)
    CHECK(results[rank] == sumOf(operands));
  std::printf("exchanged through %s\n", ranks.exchange(0).c_str());
}
