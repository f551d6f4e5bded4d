//===- ModelIdentity.h - Which compiled model a directory has ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_MODELIDENTITY_H
#define SLUICE_TOOLS_SLUICE_MODELIDENTITY_H

#include "sluice/Support/Error.h"

#include <string>

namespace sluice::driver {

/// The identity of a compiled model in folders of states.
struct ModelIdentity {
  std::string name;
  std::string
      digest; ///< SHA-256 of the hashes of its code and parameters; of a pipeline, SHA-256 of its ranks' digests.
};

/// Reads the manifest of an artifact. Of a pipeline, reads stages.json and the manifest of each rank, and fails if a
/// rank's digest differs from stages.json.
Expected<ModelIdentity> identityOf(const std::string &directory);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_MODELIDENTITY_H
