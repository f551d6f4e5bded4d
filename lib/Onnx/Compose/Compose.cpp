//===- Compose.cpp - Several models as one --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Onnx/Compose.h"

#include "../WeightFiles.h"
#include "Lock.h"
#include "Merge.h"
#include "Opsets.h"

#include <climits>
#include <filesystem>

namespace sluice {

using namespace compose;

/// Makes the types on both ends of every link agree, and of an input's readers.
static Status joinTypes(const Wiring &wiring, const std::vector<Service> &services, PortTypes &types) {
  for (size_t s = 0; s < services.size(); ++s)
    for (size_t i = 0; i < services[s].inputs.size(); ++i) {
      const Source &source = wiring.sources[s][i];
      SLUICE_RETURN_IF_ERROR(source.isPipelineInput
                                 ? types.join(wiring.inputs[source.index].readers.front(), true, {s, i}, true)
                                 : types.join({source.service, source.index}, false, {s, i}, true));
    }
  types.nameDims();
  return {};
}

std::string lockPath(const std::string &pipeline) {
  return std::filesystem::path(pipeline).replace_extension(".lock").string();
}

Expected<Composition> composePipeline(const std::string &path, PinMode pins) {
  SLUICE_ASSIGN_OR_RETURN(Pipeline pipeline, readPipeline(path));
  SLUICE_ASSIGN_OR_RETURN(std::vector<Service> services, openServices(pipeline));
  const std::string lock = lockPath(path);
  std::error_code ignored;
  const bool isPinned = pins != PinMode::Renew && std::filesystem::exists(lock, ignored);
  Pins hashes;
  if (isPinned || pins != PinMode::Check) {
    SLUICE_ASSIGN_OR_RETURN(hashes, hashServices(pipeline, services));
  }
  if (isPinned)
    SLUICE_RETURN_IF_ERROR(checkPins(lock, path, hashes));

  SLUICE_ASSIGN_OR_RETURN(Wiring wiring, wire(pipeline, services));
  PortTypes types(services, path);
  SLUICE_RETURN_IF_ERROR(joinTypes(wiring, services, types));
  SLUICE_ASSIGN_OR_RETURN(auto opsets, unifyOpsets(services));
  std::map<int, OutsideData> outside;
  ::onnx::ModelProto merged = mergeServices(pipeline, services, wiring, types, opsets, outside);
  SLUICE_ASSIGN_OR_RETURN(ModelFile model, ModelFile::fromProto(std::move(merged), path, outside));

  std::vector<ComposedService> described;
  for (const Service &service : services)
    described.push_back({service.id, service.file, hashes[service.id].sha256, service.model.opset("")});
  if (!isPinned && pins != PinMode::Check) {
    SLUICE_RETURN_IF_ERROR(model.requireData());
    std::erase_if(hashes, [](const auto &pin) { return pin.second.model.empty(); });
    SLUICE_RETURN_IF_ERROR(writePins(lock, hashes));
  }
  return Composition{std::move(model), std::move(described)};
}

Expected<ModelFile> openModel(const std::string &path) {
  if (!path.ends_with(".json"))
    return ModelFile::open(path);
  SLUICE_ASSIGN_OR_RETURN(Composition composition, composePipeline(path, PinMode::Check));
  return std::move(composition.model);
}

Status writeModel(const ModelFile &model, const std::string &path, const ExportOptions &options) {
  SLUICE_RETURN_IF_ERROR(model.requireData());
  ::onnx::ModelProto copy = model.proto();
  std::vector<PendingWeight> weights;
  for (int i = 0; i < copy.graph().initializer_size(); ++i) {
    ::onnx::TensorProto &tensor = *copy.mutable_graph()->mutable_initializer(i);
    const bool isElsewhere = tensor.data_location() == ::onnx::TensorProto::EXTERNAL;
    if (!isElsewhere && !(tensor.has_raw_data() && tensor.raw_data().empty()))
      continue;
    SLUICE_ASSIGN_OR_RETURN(TensorData data, model.tensor(model.graph().initializer(i)));
    tensor.clear_data_location();
    tensor.clear_external_data();
    tensor.clear_raw_data();
    weights.push_back({&tensor, static_cast<int64_t>(data.bytes.size()), [data](std::vector<char> &) {
                         return Expected<std::span<const char>>(
                             std::span(reinterpret_cast<const char *>(data.bytes.data()), data.bytes.size()));
                       }});
  }
  return writeModelFiles(copy, weights, path, options);
}

} // namespace sluice
