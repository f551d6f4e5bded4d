//===- PipelineFile.h - Pipelines as they are written -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_COMPOSE_PIPELINEFILE_H
#define SLUICE_LIB_ONNX_COMPOSE_PIPELINEFILE_H

#include "sluice/Support/Error.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::compose {

/// A port "service.port" of a pipeline file.
struct PortName {
  size_t service = 0; ///< The service's index in Pipeline::services.
  std::string port;
  std::string where; ///< The place in the file, for errors.
};

struct Denotation {
  std::string type;
  std::vector<std::string> dims; ///< The denotation of each dimension; an empty text for none.
};

struct PipelineService {
  std::string id;
  std::string model; ///< The path of its file; empty for glue.
  std::string graph; ///< The graph of glue, in ONNX's textual syntax.
  std::optional<int64_t> opset;
  std::map<std::string, Denotation> denotations; ///< The denotations by port.
};

struct PipelineLink {
  PortName from, to;
};

struct PipelineInput {
  std::string name;
  std::vector<PortName> ports;
};

struct PipelineOutput {
  std::string name;
  PortName port;
};

struct Pipeline {
  std::string path, name;
  std::vector<PipelineService> services;
  std::vector<PipelineLink> links;
  std::vector<PipelineInput> inputs;
  /// The pipeline's outputs; absent if they are all outputs that no link reads.
  std::optional<std::vector<PipelineOutput>> outputs;
};

/// Reads a pipeline file and makes all checks that need no model: members, ids, the services that ports name, and names
/// that appear twice.
Expected<Pipeline> readPipeline(const std::string &path);

/// Suggests similar names for a name that is not among `known`: ", 'a' or 'b'?". Empty if none is similar.
std::string suggestion(const std::string &name, const std::vector<std::string_view> &known);

} // namespace sluice::compose

#endif // SLUICE_LIB_ONNX_COMPOSE_PIPELINEFILE_H
