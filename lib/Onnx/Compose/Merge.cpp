//===- Merge.cpp - Services as one graph ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Merge.h"

#include "../ModelInternals.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>
#include <unordered_set>

namespace sluice::compose {
namespace {

constexpr int64_t kIrVersion = 8;

/// Gives what is in a service the names that it has in the pipeline.
class ServiceNames {
public:
  ServiceNames(const Service &service, size_t index, const PortTypes &types)
      : service(service), index(index), types(types),
        directory(std::filesystem::path(service.file).parent_path().string()) {
    for (const ::onnx::FunctionProto &function : service.model.proto().functions())
      functions.insert(function.domain() + ":" + function.name());
  }

  /// Instead of "service.value".
  void give(const std::string &value, const std::string &name) { given[value] = name; }
  std::string of(const std::string &value) const {
    if (value.empty() || keepsValues)
      return value;
    auto found = given.find(value);
    return found == given.end() ? prefixed(value) : found->second;
  }

  void rename(::onnx::GraphProto &graph) const;
  void rename(::onnx::FunctionProto &function) const;
  void rename(::onnx::NodeProto &node) const;
  void rename(::onnx::TensorProto &tensor) const;
  void rename(::onnx::SparseTensorProto &sparse) const;
  void rename(::onnx::ValueInfoProto &info) const {
    info.set_name(of(info.name()));
    types.rename(index, *info.mutable_type());
  }
  void rename(::onnx::TensorAnnotation &annotation) const;

private:
  std::string prefixed(const std::string &name) const { return concat(service.id, ".", name); }
  /// What nodes of graphs and of functions have in common.
  void renameBody(::onnx::NodeProto &node) const;
  /// External data lies beside the service's model.
  void relocate(::onnx::TensorProto &tensor) const;

  const Service &service;
  size_t index;
  const PortTypes &types;
  std::string directory;
  std::unordered_set<std::string> functions;
  std::unordered_map<std::string, std::string> given;
  bool keepsValues = false; ///< Those of a function are its own.
};

void ServiceNames::relocate(::onnx::TensorProto &tensor) const {
  if (directory.empty())
    return;
  for (::onnx::StringStringEntryProto &entry : *tensor.mutable_external_data())
    if (entry.key() == "location")
      entry.set_value((std::filesystem::path(directory) / entry.value()).string());
}

void ServiceNames::rename(::onnx::TensorProto &tensor) const {
  tensor.set_name(of(tensor.name()));
  relocate(tensor);
}

void ServiceNames::rename(::onnx::SparseTensorProto &sparse) const {
  rename(*sparse.mutable_values());
  relocate(*sparse.mutable_indices());
}

void ServiceNames::rename(::onnx::TensorAnnotation &annotation) const {
  annotation.set_tensor_name(of(annotation.tensor_name()));
  for (::onnx::StringStringEntryProto &entry : *annotation.mutable_quant_parameter_tensor_names())
    entry.set_value(of(entry.value()));
}

void ServiceNames::renameBody(::onnx::NodeProto &node) const {
  if (functions.contains(node.domain() + ":" + node.op_type()))
    node.set_op_type(prefixed(node.op_type()));
  for (::onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    if (attribute.has_t())
      relocate(*attribute.mutable_t());
    for (::onnx::TensorProto &tensor : *attribute.mutable_tensors())
      relocate(tensor);
    if (attribute.has_sparse_tensor())
      rename(*attribute.mutable_sparse_tensor());
    if (attribute.has_g())
      rename(*attribute.mutable_g());
    for (::onnx::GraphProto &graph : *attribute.mutable_graphs())
      rename(graph);
  }
}

void ServiceNames::rename(::onnx::NodeProto &node) const {
  if (!node.name().empty())
    node.set_name(prefixed(node.name()));
  for (std::string &name : *node.mutable_input())
    name = of(name);
  for (std::string &name : *node.mutable_output())
    name = of(name);
  renameBody(node);
}

void ServiceNames::rename(::onnx::GraphProto &graph) const {
  auto each = [&](auto *list) {
    for (auto &element : *list)
      rename(element);
  };
  each(graph.mutable_node());
  each(graph.mutable_initializer());
  each(graph.mutable_sparse_initializer());
  each(graph.mutable_input());
  each(graph.mutable_output());
  each(graph.mutable_value_info());
  each(graph.mutable_quantization_annotation());
}

void ServiceNames::rename(::onnx::FunctionProto &function) const {
  function.set_name(prefixed(function.name()));
  ServiceNames inside = *this;
  inside.keepsValues = true;
  for (::onnx::NodeProto &node : *function.mutable_node())
    inside.renameBody(node);
}

class Merger {
public:
  Merger(const Pipeline &pipeline, const std::vector<Service> &services, const Wiring &wiring, const PortTypes &types,
         std::map<int, OutsideData> &outside)
      : pipeline(pipeline), services(services), wiring(wiring), types(types), outside(outside) {}
  ::onnx::ModelProto run();

private:
  void addService(size_t index);
  void addInitializers(const Service &service, const ServiceNames &names);
  void addInputs();
  void addOutputs();
  /// The name of a service's output; `names` has those of its inputs.
  std::string outputName(PortIndex port, ServiceNames &names);

  const Pipeline &pipeline;
  const std::vector<Service> &services;
  const Wiring &wiring;
  const PortTypes &types;
  std::map<int, OutsideData> &outside;
  ::onnx::ModelProto model;
  ::onnx::GraphProto &graph = *model.mutable_graph();
  std::vector<std::vector<std::string>> values; ///< Names of outputs, per service.
};

std::string Merger::outputName(PortIndex port, ServiceNames &names) {
  const Service &service = services[port.service];
  const std::string &name = service.outputs[port.index].declared.name;
  // An input that is an output too has the name that its source gives it.
  const auto isThis = [&](const Port &input) { return input.declared.name == name; };
  const auto output = std::find_if(wiring.outputs.begin(), wiring.outputs.end(), [&](const NamedOutput &named) {
    return named.port.service == port.service && named.port.index == port.index;
  });
  if (output != wiring.outputs.end() && std::none_of(service.inputs.begin(), service.inputs.end(), isThis))
    names.give(name, output->name);
  return names.of(name);
}

void Merger::addInitializers(const Service &service, const ServiceNames &names) {
  // The model knows its own initializers by address; a converted graph begins with copies of them.
  const auto &own = service.model.graph().initializer();
  for (int i = 0; i < service.graph().initializer_size(); ++i) {
    const int at = graph.initializer_size();
    ::onnx::TensorProto &tensor = *graph.add_initializer();
    tensor = service.graph().initializer(i);
    const bool isOutside = i < own.size() && tensor.has_raw_data() && tensor.raw_data().empty();
    if (isOutside && tensor.data_location() != ::onnx::TensorProto::EXTERNAL)
      // Opening the model has checked it.
      if (Expected<TensorData> data = service.model.tensor(own[i]); data && !data->bytes.empty())
        outside[at] = {data->bytes, data->owner};
    names.rename(tensor);
  }
}

void Merger::addService(size_t index) {
  const Service &service = services[index];
  ServiceNames names(service, index, types);
  for (size_t i = 0; i < service.inputs.size(); ++i) {
    const Source &source = wiring.sources[index][i];
    names.give(service.inputs[i].declared.name,
               source.isPipelineInput ? wiring.inputs[source.index].name : values[source.service][source.index]);
  }
  for (size_t i = 0; i < service.outputs.size(); ++i)
    values[index].push_back(outputName({index, i}, names));

  addInitializers(service, names);
  for (const ::onnx::SparseTensorProto &sparse : service.graph().sparse_initializer())
    names.rename(*graph.add_sparse_initializer() = sparse);
  for (int i : nodeOrder(service.graph()))
    names.rename(*graph.add_node() = service.graph().node(i));
  for (const ::onnx::ValueInfoProto &info : service.graph().value_info())
    names.rename(*graph.add_value_info() = info);
  for (const ::onnx::TensorAnnotation &annotation : service.graph().quantization_annotation())
    names.rename(*graph.add_quantization_annotation() = annotation);
  for (const ::onnx::FunctionProto &function : service.model.proto().functions())
    names.rename(*model.add_functions() = function);
  for (const ::onnx::StringStringEntryProto &entry : service.model.proto().metadata_props()) {
    ::onnx::StringStringEntryProto &own = *model.add_metadata_props();
    own.set_key(concat(service.id, ".", entry.key()));
    own.set_value(entry.value());
  }
}

void Merger::addInputs() {
  for (const NamedInput &input : wiring.inputs) {
    ::onnx::ValueInfoProto &info = *graph.add_input();
    info.set_name(input.name);
    // Of several readers, one that declares a shape.
    const auto declares = [&](PortIndex port) {
      return services[port.service].inputs[port.index].declared.dims.has_value();
    };
    const auto reader = std::find_if(input.readers.begin(), input.readers.end(), declares);
    *info.mutable_type() =
        types.typeOf(reader == input.readers.end() ? input.readers.front() : *reader, /*isInput=*/true);
  }
}

void Merger::addOutputs() {
  std::set<std::string> declared;
  for (const NamedOutput &output : wiring.outputs) {
    ::onnx::ValueInfoProto &info = *graph.add_output();
    info.set_name(output.name);
    *info.mutable_type() = types.typeOf(output.port, /*isInput=*/false);
    declared.insert(output.name);
    // One value can be several outputs, or an input too.
    const std::string &value = values[output.port.service][output.port.index];
    if (value == output.name)
      continue;
    ::onnx::NodeProto &copy = *graph.add_node();
    copy.set_op_type("Identity");
    copy.set_name(output.name);
    copy.add_input(value);
    copy.add_output(output.name);
  }
  for (const NamedInput &input : wiring.inputs)
    declared.insert(input.name);
  for (size_t s = 0; s < services.size(); ++s)
    for (size_t i = 0; i < services[s].outputs.size(); ++i) {
      if (!declared.insert(values[s][i]).second)
        continue;
      ::onnx::ValueInfoProto &info = *graph.add_value_info();
      info.set_name(values[s][i]);
      *info.mutable_type() = types.typeOf({s, i}, /*isInput=*/false);
    }
}

::onnx::ModelProto Merger::run() {
  int64_t version = kIrVersion;
  for (const Service &service : services)
    version = std::max(version, service.model.irVersion());
  model.set_ir_version(version);
  model.set_producer_name("sluice");
  graph.set_name(pipeline.name);
  values.resize(services.size());
  for (size_t service : wiring.order)
    addService(service);
  addInputs();
  addOutputs();
  return std::move(model);
}

} // namespace

::onnx::ModelProto mergeServices(const Pipeline &pipeline, const std::vector<Service> &services, const Wiring &wiring,
                                 const PortTypes &types, const std::map<std::string, int64_t> &opsets,
                                 std::map<int, OutsideData> &outside) {
  ::onnx::ModelProto model = Merger(pipeline, services, wiring, types, outside).run();
  for (const auto &[domain, version] : opsets) {
    ::onnx::OperatorSetIdProto &import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
  return model;
}

} // namespace sluice::compose
