//===- ArtifactInfo.h - What an artifact is ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_ARTIFACTINFO_H
#define SLUICE_TOOLS_SLUICE_ARTIFACTINFO_H

#include "sluice/Support/Error.h"

#include <string>

namespace sluice::driver {

/// Prints what the manifest of the artifact in `directory` says: inputs, outputs, symbols with their ranges. No code of
/// the artifact is loaded, so it may be another processor's. Fails where there is no manifest, or not one of schema 1.
Status printArtifact(const std::string &directory, bool asJson);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_ARTIFACTINFO_H
