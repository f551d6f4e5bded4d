//===- CsvFuzzer.cpp - Any bytes as an allocation instance ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Memory/OffsetsCsv.h"

#include <cstdlib>

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<int64_t> offsets;
  Expected<OffsetProblem> problem = offsetsFromCsv({reinterpret_cast<const char *>(data), size}, "fuzz", &offsets);
  if (!problem || problem->buffers.size() > 200)
    return 0;
  BestFitParams bestFit;
  bestFit.evaluations = 4;
  if (Expected<OffsetSolution> solution = solveOffsetsBestFit(*problem, bestFit))
    if (!validate(*problem, *solution))
      std::abort();
  OffsetParams search;
  search.budget.evaluations = 500;
  if (Expected<OffsetSolution> solution = solveOffsets(*problem, search))
    if (!validate(*problem, *solution))
      std::abort();
  return 0;
}
