//===- CheckedSearch.h - Searches whose results are checked -----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_SEARCH_CHECKEDSEARCH_H
#define SLUICE_TEST_UNIT_SEARCH_CHECKEDSEARCH_H

#include "sluice/Plan/Plan.h"
#include "sluice/Search/Search.h"
#include "sluice/Simulator/Simulator.h"

#include <catch2/catch.hpp>

namespace sluice::test {

/// solveSearch, with checks of what every result promises: a valid plan within the capacities, the simulated makespan,
/// and the lower bound.
inline SearchResult solve(const SearchProblem &problem, const SearchParams &params) {
  Expected<SearchResult> result = solveSearch(problem, params);
  INFO((result ? std::string() : result.error().message));
  REQUIRE(result);
  REQUIRE(validatePlan(*problem.graph, *problem.machine, result->plan));
  for (size_t m = 0; m < problem.capacityBytes.size(); ++m)
    CHECK(result->plan.arenaBytes[m] <= problem.capacityBytes[m]);
  CHECK(simulate(*problem.graph, *problem.machine, *problem.costs, result->plan).makespanNs == result->makespanNs);
  CHECK(result->makespanNs >= result->lowerBoundNs);
  return std::move(*result);
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_SEARCH_CHECKEDSEARCH_H
