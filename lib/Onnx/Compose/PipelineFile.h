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

/// "service.port" of a pipeline file.
struct PortName {
  size_t service = 0; ///< Index in Pipeline::services.
  std::string port;
  std::string where; ///< The place in the file, for errors.
};

struct Denotation {
  std::string type;
  std::vector<std::string> dims; ///< Empty text: none.
};

struct PipelineService {
  std::string id;
  std::string model; ///< Path of its file; empty: glue.
  std::string graph; ///< Of glue, in ONNX's textual syntax.
  std::optional<int64_t> opset;
  std::map<std::string, Denotation> denotations; ///< By port.
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
  std::optional<std::vector<PipelineOutput>> outputs; ///< None listed: every output that no link reads.
};

/// Reads and checks all that needs no model: members, ids, the services that ports name, and names that appear twice.
Expected<Pipeline> readPipeline(const std::string &path);

/// ", 'a' or 'b'?" for a name that is not among `known`; empty where none is near.
std::string suggestion(const std::string &name, const std::vector<std::string_view> &known);

} // namespace sluice::compose

#endif // SLUICE_LIB_ONNX_COMPOSE_PIPELINEFILE_H
