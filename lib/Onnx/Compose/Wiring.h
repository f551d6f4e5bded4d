//===- Wiring.h - Which port feeds which ------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_COMPOSE_WIRING_H
#define SLUICE_LIB_ONNX_COMPOSE_WIRING_H

#include "Services.h"

namespace sluice::compose {

/// An output of a service, or an input of the pipeline.
struct Source {
  bool isPipelineInput = false;
  size_t service = 0; ///< Of an output.
  size_t index = 0;   ///< Among the service's outputs, or the pipeline's inputs.
};

/// Where a service's value comes from or goes to.
struct PortIndex {
  size_t service = 0, index = 0;
};

struct NamedInput {
  std::string name;
  std::vector<PortIndex> readers; ///< At least one.
};

struct NamedOutput {
  std::string name;
  PortIndex port;
};

struct Wiring {
  std::vector<std::vector<Source>> sources; ///< Per service and input.
  std::vector<NamedInput> inputs;           ///< Of the pipeline: those that it names, then "service.input" of others.
  std::vector<NamedOutput> outputs;
  std::vector<size_t> order; ///< Services, those that are read from first, otherwise as they are listed.
};

/// Fails on ports that are not there, on inputs with two sources, and on cycles, naming their services.
Expected<Wiring> wire(const Pipeline &pipeline, const std::vector<Service> &services);

} // namespace sluice::compose

#endif // SLUICE_LIB_ONNX_COMPOSE_WIRING_H
