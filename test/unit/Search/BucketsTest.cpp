//===- BucketsTest.cpp - Sizes that share a plan --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Search/Buckets.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>

using namespace sluice;
using Catch::Matchers::Contains;

namespace {

/// Expected time and memory of a set of bounds, as a step takes the first that is not below its size.
std::pair<double, double> valueOf(const BucketProblem &problem, const std::vector<size_t> &bounds) {
  double ns = 0, bytes = 0, count = 0;
  for (size_t i = 0; i < problem.sizes.size(); ++i) {
    size_t bound = 0;
    while (bounds[bound] < i)
      ++bound;
    const auto weight = static_cast<double>(problem.counts[i]);
    ns += weight * static_cast<double>(problem.ns[bounds[bound]][i]);
    bytes += weight * static_cast<double>(problem.bytes[bounds[bound]]);
    count += weight;
  }
  return {ns / count, bytes / count};
}

} // namespace

TEST_CASE("buckets are the best of all choices", "[search]") {
  Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    BucketProblem problem;
    const size_t n = 1 + rng.below(8);
    for (size_t i = 0; i < n; ++i) {
      problem.sizes.push_back(static_cast<int64_t>(10 * i + rng.below(10)));
      problem.counts.push_back(static_cast<int64_t>(rng.below(5)));
      problem.bytes.push_back(static_cast<int64_t>(100 * i + rng.below(200)));
      problem.ns.emplace_back();
      for (size_t j = 0; j <= i; ++j)
        problem.ns.back().push_back(static_cast<int64_t>(round % 3 == 0 ? j : 5 * i + rng.below(40)));
    }
    problem.counts[rng.below(n)] += 1;
    const size_t most = 1 + rng.below(5);
    const std::vector<BucketChoice> choices = chooseBuckets(problem, most);
    REQUIRE(choices.size() == most);
    for (size_t k = 1; k <= most; ++k) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      std::pair<double, double> best{kInfinity, kInfinity};
      for (uint32_t set = 0; set < 1u << (n - 1); ++set) {
        std::vector<size_t> bounds;
        for (size_t i = 0; i + 1 < n; ++i)
          if (set >> i & 1)
            bounds.push_back(i);
        bounds.push_back(n - 1);
        if (bounds.size() <= k)
          best = std::min(best, valueOf(problem, bounds));
      }
      const BucketChoice &choice = choices[k - 1];
      INFO(round << ", " << n << " sizes, " << k << " bounds");
      REQUIRE(choice.bounds.size() <= k);
      CHECK(choice.bounds.back() == problem.sizes.back());
      std::vector<size_t> chosen;
      for (int64_t bound : choice.bounds)
        chosen.push_back(static_cast<size_t>(std::lower_bound(problem.sizes.begin(), problem.sizes.end(), bound) -
                                             problem.sizes.begin()));
      CHECK(choice.meanNs == Approx(best.first));
      CHECK(choice.meanBytes == Approx(best.second));
      CHECK(valueOf(problem, chosen).first == Approx(choice.meanNs));
      CHECK(valueOf(problem, chosen).second == Approx(choice.meanBytes));
    }
  }
}

TEST_CASE("more buckets than help are not taken", "[search]") {
  // Every plan takes as long, and as much memory.
  BucketProblem problem{{1, 2, 3}, {1, 1, 1}, {64, 64, 64}, {{5}, {5, 5}, {5, 5, 5}}};
  for (const BucketChoice &choice : chooseBuckets(problem, 3)) {
    CHECK(choice.bounds == std::vector<int64_t>{3});
    CHECK(choice.meanNs == 5);
    CHECK(choice.meanBytes == 64);
  }
}

TEST_CASE("files of sizes are read", "[search]") {
  const std::string path = (std::filesystem::temp_directory_path() / "sluice-sizes-test.txt").string();
  auto read = [&](const std::string &text) {
    REQUIRE(writeFileAtomically(path, text));
    return readSizes(path, 2, 20, 2);
  };
  CHECK(*read("8 4\n\n20\t4\r\n2") == std::vector<int64_t>{2, 4, 4, 8, 20});
  CHECK_THAT(read("8\n7\n").error().message,
             Contains("'7' is not an allowed size of the dimension with buckets, line 2 of"));
  CHECK_THAT(read("8\nx").error().message, Contains("write integers from 2 to 20 in steps of 2"));
  CHECK_THAT(read("22").error().message, Contains("'22' is not an allowed size of the dimension with buckets"));
  CHECK_THAT(read("-2").error().message, Contains("'-2' is not an allowed size of the dimension with buckets"));
  CHECK_THAT(read(" \n").error().message, Contains("the file has no sizes"));
  std::filesystem::remove(path);
  CHECK_FALSE(readSizes(path, 2, 20, 2));
}
