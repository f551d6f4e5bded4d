//===- Opsets.h - One version of each domain --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_COMPOSE_OPSETS_H
#define SLUICE_LIB_ONNX_COMPOSE_OPSETS_H

#include "Services.h"

#include <map>

namespace sluice::compose {

/// Returns for each domain, "" for ONNX's own, the newest version that a service imports. If a service has an older
/// version, in which an operator that it uses has another meaning, converts the service's graph. Fails and names the
/// operator and both versions if the change is unknown or the conversion impossible.
Expected<std::map<std::string, int64_t>> unifyOpsets(std::vector<Service> &services);

} // namespace sluice::compose

#endif // SLUICE_LIB_ONNX_COMPOSE_OPSETS_H
