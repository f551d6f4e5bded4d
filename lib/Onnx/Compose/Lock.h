//===- Lock.h - Models pinned by their content ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_COMPOSE_LOCK_H
#define SLUICE_LIB_ONNX_COMPOSE_LOCK_H

#include "Services.h"
#include "sluice/Onnx/Compose.h"

namespace sluice::compose {

/// The content of a service's files.
struct Pin {
  std::string model, sha256;
  std::map<std::string, std::string> data; ///< SHA-256 of files of external data, by their names in the model.
};
using Pins = std::map<std::string, Pin>; ///< By service; those with a file.

/// Hashes what is there: files of external data that are missing have no hash. O(bytes).
Expected<Pins> hashServices(const Pipeline &pipeline, const std::vector<Service> &services);

/// Fails with both hashes where a file is not the one that the lock file names, and where the lock file does not name
/// it. A lock file that does not exist pins nothing.
Status checkPins(const std::string &lock, const std::string &pipeline, const Pins &pins);

Status writePins(const std::string &lock, const Pins &pins);

} // namespace sluice::compose

#endif // SLUICE_LIB_ONNX_COMPOSE_LOCK_H
