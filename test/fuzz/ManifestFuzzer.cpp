//===- ManifestFuzzer.cpp - Any bytes as an artifact's manifest -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// A manifest that is accepted names files of its own directory, and no rank maps
// more bytes than the parameter file has.
#include "lib/Runtime/LoadedArtifact.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto manifest = sluice::runtime::parseManifest({reinterpret_cast<const char *>(data), size}, "fuzz");
  if (!manifest)
    return 0;
  if (manifest->model.find('/') != std::string::npos || manifest->model.empty())
    std::abort();
  if (manifest->parameterBytes < 0 || manifest->rankBytes() < 0 || manifest->rankBytes() > manifest->parameterBytes)
    std::abort();
  for (const sluice::runtime::ManifestSection &section : manifest->sections)
    if (section.pieces.size() != manifest->numRanks)
      std::abort();
  return 0;
}
