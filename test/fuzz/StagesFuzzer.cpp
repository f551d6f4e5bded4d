//===- StagesFuzzer.cpp - Any bytes as stages.json ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// What is read must also survive being written and read again.
#include "test/fuzz/Folder.h"

#include "tools/sluice/StagesFile.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace sluice;
  fuzz::fileWith("stages.json", {reinterpret_cast<const char *>(data), size});
  const auto file = driver::readStagesFile(fuzz::folder());
  if (!file)
    return 0;
  for (const auto &[state, rank] : file->allStates())
    if (rank >= file->numRanks())
      std::abort();
  if (!driver::writeStagesFile(fuzz::folder(), *file))
    std::abort();
  const auto again = driver::readStagesFile(fuzz::folder());
  if (!again || again->digests != file->digests || again->stages != file->stages)
    std::abort();
  return 0;
}
