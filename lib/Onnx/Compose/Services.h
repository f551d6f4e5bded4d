//===- Services.h - The models of a pipeline --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_COMPOSE_SERVICES_H
#define SLUICE_LIB_ONNX_COMPOSE_SERVICES_H

#include "PipelineFile.h"
#include "sluice/Onnx/ModelFile.h"

#include <memory>
#include <onnx/onnx_pb.h>

namespace sluice::compose {

/// An input or output of a service.
struct Port {
  DeclaredTensor declared;
  ::onnx::TypeProto type; ///< The type with the denotations that the pipeline adds.
};

struct Service {
  std::string id;
  std::string file; ///< The model's path, relative to the pipeline's directory; empty for glue.
  ModelFile model;
  std::vector<Port> inputs, outputs;
  /// The model's graph in a newer opset; null where it needs no conversion.
  std::unique_ptr<::onnx::GraphProto> converted;

  const ::onnx::GraphProto &graph() const { return converted ? *converted : model.graph(); }
};

/// Opens the models and parses the glue. Glue that names no opset gets the newest one of the models. Fails on files
/// outside the pipeline's directory and on denotations of ports that do not exist.
Expected<std::vector<Service>> openServices(const Pipeline &pipeline);

/// The index of the input or output named `name`. Fails with similar names if there is none.
Expected<size_t> findPort(const Service &service, const PortName &name, bool isInput);

} // namespace sluice::compose

#endif // SLUICE_LIB_ONNX_COMPOSE_SERVICES_H
