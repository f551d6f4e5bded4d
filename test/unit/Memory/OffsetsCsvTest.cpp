//===- OffsetsCsvTest.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Memory/OffsetsCsv.h"

#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>

using namespace sluice;

TEST_CASE("instances read back as written", "[memory]") {
  Expected<OffsetProblem> problem = offsetsFromCsv("id,lower,upper,size\nb1,0,3,4\r\n\nb2, 3 ,9,5\n", "x.csv");
  REQUIRE(problem);
  REQUIRE(problem->buffers.size() == 2);
  CHECK(problem->ids[1] == "b2");
  CHECK(problem->buffers[1].lower == 3);
  CHECK(problem->buffers[1].upper == 9);
  CHECK(problem->buffers[1].bytes == 5);
  Expected<std::string> text = offsetsToCsv(*problem);
  REQUIRE(text);
  CHECK(*text == "id,lower,upper,size\nb1,0,3,4\nb2,3,9,5\n");
  problem->buffers[0].alignment = 8;
  OffsetSolution solution{{0, 8}, 13, 1};
  CHECK(*offsetsToCsv(*problem, &solution) == "id,lower,upper,size,alignment,offset\nb1,0,3,4,8,0\nb2,3,9,5,1,8\n");
  std::vector<int64_t> offsets;
  REQUIRE(offsetsFromCsv(*offsetsToCsv(*problem, &solution), "x.csv", &offsets));
  CHECK(offsets == solution.offsets);
  CHECK_FALSE(offsetsFromCsv(*offsetsToCsv(*problem, &solution), "x.csv"));
  Expected<OffsetProblem> shuffled = offsetsFromCsv("size,id,upper,lower,alignment\n4,b1,3,0,8\n", "x.csv");
  REQUIRE(shuffled);
  CHECK(shuffled->buffers[0].alignment == 8);
  problem->ids[0] = "a,b";
  CHECK_FALSE(offsetsToCsv(*problem));
}

TEST_CASE("malformed instances are refused by line", "[memory]") {
  auto message = [](std::string_view text) {
    Expected<OffsetProblem> problem = offsetsFromCsv(text, "x.csv");
    return problem ? std::string() : problem.error().message;
  };
  auto contains = [](const std::string &text, const char *part) { return text.find(part) != std::string::npos; };
  CHECK(contains(message(""), "the header is missing"));
  CHECK(contains(message("a,b\n"), "unknown column 'a', x.csv:1"));
  CHECK(contains(message("id,lower,upper\n"), "column 'size' is missing"));
  CHECK(contains(message("id,id,lower,upper,size\n"), "column 'id' appears twice"));
  CHECK(contains(message("id,lower,upper,size\na,1,2\n"), "the line has 3 fields and the header has 4, x.csv:2"));
  CHECK(contains(message("id,lower,upper,size\na,1,2,x\n"), "'x' is not an integer, x.csv:2, column 'size'"));
  CHECK(contains(message("id,lower,upper,size\na,1,2,99999999999999999999\n"), "is not an integer"));
  CHECK(contains(message("id,lower,upper,size\na,1,2,-3\n"), "negative size"));
  CHECK(contains(message("id,lower,upper,size\na,3,2,1\n"), "before it starts"));
  CHECK(contains(message("id,lower,upper,size\na,1,2,1\na,1,2,1\n"), "id 'a' appears twice, x.csv:3"));
  CHECK(contains(message("id,lower,upper,size\n,1,2,1\n"), "the id is empty"));
  CHECK(contains(message("id,lower,upper,size\na,0,1,4611686018427387904\nb,0,1,4611686018427387904\n"), "2^62"));
}

TEST_CASE("no mutation of an instance file crashes the reader", "[memory]") {
  const std::string base = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\n";
  Rng rng(9);
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = base;
    for (uint64_t i = rng.below(4); i-- > 0;)
      text[rng.below(text.size())] = static_cast<char>(rng.below(256));
    if (rng.chance(0.3))
      text.resize(rng.below(text.size()));
    if (Expected<OffsetProblem> problem = offsetsFromCsv(text, "x.csv")) {
      ++accepted;
      REQUIRE(check(*problem));
    }
  }
  CHECK(accepted > 0);
}
