//===- Services.cpp - The models of a pipeline ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Services.h"

#include "../MappedFile.h"
#include "sluice/Support/Text.h"

#include <algorithm>
#include <filesystem>

namespace sluice::compose {
namespace {

/// Of glue, where no service is a model.
constexpr int64_t kGlueOpset = 17;

Expected<ModelFile> openFile(const Pipeline &pipeline, const PipelineService &service) {
  SLUICE_ASSIGN_OR_RETURN(FileHandle root, openDirectoryOf(pipeline.path));
  const std::string owner = concat("service '", service.id, "'");
  // Opened here only to know that its path stays below the pipeline's directory.
  SLUICE_RETURN_IF_ERROR(openBeneath(root, service.model, {"model", owner, "pipeline"}));
  Expected<ModelFile> model =
      ModelFile::open((std::filesystem::path(pipeline.path).parent_path() / service.model).string());
  if (!model)
    return makeError(model.error().code, owner, " of pipeline '", pipeline.path,
                     "' cannot be opened: ", model.error().message);
  return model;
}

Expected<ModelFile> parseGlue(const Pipeline &pipeline, const PipelineService &service, int64_t newest) {
  const int64_t opset = service.opset.value_or(newest);
  return ModelFile::fromText(concat("<ir_version: 8, opset_import: [\"\" : ", opset, "]> glue ", service.graph),
                             concat("service ", service.id, " of ", pipeline.path));
}

std::vector<Port> portsOf(const std::vector<DeclaredTensor> &declared,
                          const google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto> &infos) {
  std::vector<Port> ports;
  for (const DeclaredTensor &tensor : declared) {
    auto info = std::find_if(infos.begin(), infos.end(),
                             [&](const ::onnx::ValueInfoProto &value) { return value.name() == tensor.name; });
    ports.push_back({tensor, info->type()});
  }
  return ports;
}

Status denote(Port &port, const Denotation &denotation, const std::string &where) {
  if (!denotation.type.empty())
    port.type.set_denotation(denotation.type);
  if (denotation.dims.empty())
    return {};
  auto *shape = port.type.mutable_tensor_type()->mutable_shape();
  if (!port.declared.dims || port.declared.kind != "tensor" ||
      static_cast<size_t>(shape->dim_size()) != denotation.dims.size())
    return makeError(
        ErrorCode::InvalidInput, "port ", where, " has ", denotation.dims.size(),
        denotation.dims.size() == 1 ? " denotation" : " denotations", " for ",
        port.declared.dims ? concat(port.declared.dims->size()) : std::string("an unknown number of"),
        " dimensions, give one denotation for each dimension, and an empty text for a dimension without one");
  for (size_t axis = 0; axis < denotation.dims.size(); ++axis)
    if (!denotation.dims[axis].empty())
      shape->mutable_dim(static_cast<int>(axis))->set_denotation(denotation.dims[axis]);
  return {};
}

Status denoteAll(const Pipeline &pipeline, const PipelineService &from, Service &service) {
  for (const auto &[name, denotation] : from.denotations) {
    const std::string where = concat("'", from.id, ".", excerpt(name), "' in '", pipeline.path, "'");
    Port *port = nullptr;
    for (std::vector<Port> *ports : {&service.inputs, &service.outputs})
      for (Port &candidate : *ports)
        if (candidate.declared.name == name)
          port = &candidate;
    if (!port)
      return makeError(ErrorCode::NotFound, "no input or output for the denotations of ", where, ", correct the name");
    SLUICE_RETURN_IF_ERROR(denote(*port, denotation, where));
  }
  return {};
}

} // namespace

Expected<std::vector<Service>> openServices(const Pipeline &pipeline) {
  std::vector<std::optional<ModelFile>> models(pipeline.services.size());
  int64_t newest = 0;
  for (size_t i = 0; i < models.size(); ++i)
    if (const PipelineService &service = pipeline.services[i]; !service.model.empty()) {
      SLUICE_ASSIGN_OR_RETURN(ModelFile model, openFile(pipeline, service));
      newest = std::max(newest, model.opset(""));
      models[i] = std::move(model);
    }
  std::vector<Service> services;
  for (size_t i = 0; i < models.size(); ++i) {
    const PipelineService &from = pipeline.services[i];
    if (!models[i]) {
      SLUICE_ASSIGN_OR_RETURN(ModelFile glue, parseGlue(pipeline, from, newest ? newest : kGlueOpset));
      models[i] = std::move(glue);
    }
    Service service{from.id, from.model, std::move(*models[i]), {}, {}, nullptr};
    service.inputs = portsOf(service.model.inputs(), service.model.graph().input());
    service.outputs = portsOf(service.model.outputs(), service.model.graph().output());
    SLUICE_RETURN_IF_ERROR(denoteAll(pipeline, from, service));
    services.push_back(std::move(service));
  }
  return services;
}

Expected<size_t> findPort(const Service &service, const PortName &name, bool isInput) {
  const std::vector<Port> &ports = isInput ? service.inputs : service.outputs;
  std::vector<std::string_view> known;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].declared.name == name.port)
      return i;
    known.push_back(ports[i].declared.name);
  }
  return makeError(ErrorCode::NotFound, "service '", service.id, "' has no ", isInput ? "input '" : "output '",
                   excerpt(name.port), "'", suggestion(name.port, known), ", at '", name.where,
                   "', see the inputs and outputs that 'sluice info' lists for the model of the service");
}

} // namespace sluice::compose
