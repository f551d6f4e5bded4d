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
  std::map<std::string, std::string> data; ///< SHA-256 of each file of external data, by its name in the model.
};
using Pins = std::map<std::string, Pin>; ///< The pins of services that have a file, by name of the service.

/// Hashes the existing files. Missing files of external data get no hash. O(bytes).
Expected<Pins> hashServices(const Pipeline &pipeline, const std::vector<Service> &services);

/// Fails with both hashes if a file's hash differs from that in the lock file. Fails if the lock file does not name a
/// file. A lock file that does not exist allows all files.
Status checkPins(const std::string &lock, const std::string &pipeline, const Pins &pins);

Status writePins(const std::string &lock, const Pins &pins);

} // namespace sluice::compose

#endif // SLUICE_LIB_ONNX_COMPOSE_LOCK_H
