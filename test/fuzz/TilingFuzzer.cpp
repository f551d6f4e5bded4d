//===- TilingFuzzer.cpp - Any bytes as a tiling instance ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// An instance that is read can be written and read again, and each solver's
// answer to it is valid.
#include "sluice/Tiling/Tiling.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Expected<Json> json = parseJson({reinterpret_cast<const char *>(data), size}, "fuzz");
  if (!json)
    return 0;
  Expected<TilingProblem> problem = tilingFromJson(JsonReader(*json, "fuzz"));
  if (!problem)
    return 0;
  const Json again = tilingToJson(*problem);
  if (!problem->check() || !tilingFromJson(JsonReader(again, "again")))
    std::abort();
  if (problem->nodes.size() > 100 || problem->edges.size() > 200)
    return 0;
  TilingParams params;
  params.budget.evaluations = 20;
  for (const std::string &solver : tilingSolverNames()) {
    params.solver = solver;
    if (Expected<TilingSolution> solution = solveTiling(*problem, params))
      if (!validateTiling(*problem, *solution))
        std::abort();
  }
  return 0;
}
