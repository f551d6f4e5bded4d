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
  size_t service = 0; ///< The service of an output.
  size_t index = 0;   ///< The index among the service's outputs, or among the pipeline's inputs.
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
  std::vector<NamedInput> inputs; ///< The pipeline's inputs: those that it names, then the others as "service.input".
  std::vector<NamedOutput> outputs;
  /// The services in an order in which producers come before readers, otherwise in the order of the list.
  std::vector<size_t> order;
};

/// Fails on ports that do not exist, on inputs with two sources, and on cycles, whose services it names.
Expected<Wiring> wire(const Pipeline &pipeline, const std::vector<Service> &services);

} // namespace sluice::compose

#endif // SLUICE_LIB_ONNX_COMPOSE_WIRING_H
