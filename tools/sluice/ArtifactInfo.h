//===- ArtifactInfo.h - What an artifact is ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_ARTIFACTINFO_H
#define SLUICE_TOOLS_SLUICE_ARTIFACTINFO_H

#include "sluice/Support/Error.h"

#include <string>

namespace sluice::driver {

/// The number of requests that a step of the artifact computes at once, 1 for most. Fails as printArtifact does.
Expected<int64_t> requestsOf(const std::string &directory);
/// Prints the manifest of the artifact in `directory`: inputs, outputs, and symbols with their ranges. Loads no code of
/// the artifact, so it may be for another processor. Fails if there is no manifest of schema 1.
Status printArtifact(const std::string &directory, bool asJson);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_ARTIFACTINFO_H
