//===- PipelineFile.cpp - Pipelines as they are written -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "PipelineFile.h"

#include "sluice/Support/Json.h"
#include "sluice/Support/NearestNames.h"
#include "sluice/Support/Text.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

namespace sluice::compose {
namespace {

constexpr int64_t kSchema = 1;
constexpr size_t kMostServices = 1024, kMostLinks = 65'536;

bool isId(std::string_view id) {
  auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !id.empty() && id.size() <= 100 && isLetter(id.front()) &&
         std::all_of(id.begin(), id.end(), [&](char c) { return isLetter(c) || c == '-' || (c >= '0' && c <= '9'); });
}

Status requireObject(const JsonReader &reader) { return reader.json().is_object() ? Status() : reader.onlyKeys({}); }

class PipelineReader {
public:
  explicit PipelineReader(Pipeline &pipeline) : pipeline(pipeline) {}
  Status read(const JsonReader &root);

private:
  Status readService(const JsonReader &reader);
  Status readDenotations(const JsonReader &reader, PipelineService &service);
  Expected<std::string> readGraph(const JsonReader &reader);
  Status readInputs(const JsonReader &reader);
  Status readOutputs(const JsonReader &reader);
  Expected<PortName> readPort(const JsonReader &reader);
  /// A name of an input or an output of the pipeline, which no other value of the composed model can have.
  Status checkName(const std::string &name, const JsonReader &reader);
  std::optional<size_t> findService(std::string_view id) const;

  Pipeline &pipeline;
  std::set<std::string> names;
};

std::optional<size_t> PipelineReader::findService(std::string_view id) const {
  for (size_t i = 0; i < pipeline.services.size(); ++i)
    if (pipeline.services[i].id == id)
      return i;
  return std::nullopt;
}

Expected<std::string> PipelineReader::readGraph(const JsonReader &reader) {
  if (reader.json().is_string())
    return reader.asString();
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> lines, reader.elements());
  std::string text;
  for (const JsonReader &line : lines) {
    SLUICE_ASSIGN_OR_RETURN(std::string one, line.asString());
    text += one + "\n";
  }
  return text;
}

Status PipelineReader::readDenotations(const JsonReader &reader, PipelineService &service) {
  SLUICE_RETURN_IF_ERROR(requireObject(reader));
  for (const auto &[port, value] : reader.json().items()) {
    SLUICE_ASSIGN_OR_RETURN(JsonReader member, reader.member(port));
    SLUICE_RETURN_IF_ERROR(member.onlyKeys({"type", "dims"}));
    Denotation denotation;
    SLUICE_ASSIGN_OR_RETURN(denotation.type, member.string("type", ""));
    if (member.has("dims")) {
      SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> dims,
                              member.member("dims").and_then([](const JsonReader &list) { return list.elements(); }));
      for (const JsonReader &dim : dims) {
        SLUICE_ASSIGN_OR_RETURN(std::string text, dim.asString());
        denotation.dims.push_back(std::move(text));
      }
    }
    service.denotations[port] = std::move(denotation);
  }
  return {};
}

Status PipelineReader::readService(const JsonReader &reader) {
  SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"id", "model", "graph", "opset", "denotations"}));
  PipelineService service;
  SLUICE_ASSIGN_OR_RETURN(service.id, reader.string("id"));
  if (!isId(service.id))
    return makeError(ErrorCode::InvalidInput, "'", excerpt(service.id), "' is not an id, at '", reader.where(),
                     "', write letters, digits, '_' and '-', at most 100, and a letter or '_' first");
  if (findService(service.id))
    return makeError(ErrorCode::InvalidInput, "two services have the id '", service.id, "', at '", reader.where(),
                     "', give each service an id of its own");
  if (reader.has("model") == reader.has("graph"))
    return makeError(ErrorCode::InvalidInput, "service '", service.id, "' has ",
                     reader.has("model") ? "both a model and a graph" : "neither a model nor a graph", ", at '",
                     reader.where(), "', give either 'model' or 'graph'");
  SLUICE_ASSIGN_OR_RETURN(service.model, reader.string("model", ""));
  if (reader.has("model") && service.model.empty())
    return makeError(ErrorCode::InvalidInput, "the model's path is empty, at '", reader.where(), "', name a file");
  if (reader.has("graph")) {
    SLUICE_ASSIGN_OR_RETURN(service.graph,
                            reader.member("graph").and_then([&](const JsonReader &graph) { return readGraph(graph); }));
  }
  if (reader.has("opset")) {
    if (reader.has("model"))
      return makeError(ErrorCode::InvalidInput, "service '", service.id,
                       "' has both a model, which states the opset, and an 'opset', at '", reader.where(),
                       "', remove 'opset'");
    SLUICE_ASSIGN_OR_RETURN(service.opset, reader.integer("opset"));
  }
  if (reader.has("denotations"))
    SLUICE_RETURN_IF_ERROR(
        reader.member("denotations").and_then([&](const JsonReader &map) { return readDenotations(map, service); }));
  pipeline.services.push_back(std::move(service));
  return {};
}

Expected<PortName> PipelineReader::readPort(const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(std::string text, reader.asString());
  const size_t dot = text.find('.');
  if (dot == std::string::npos || dot + 1 == text.size())
    return makeError(ErrorCode::InvalidInput, "'", excerpt(text), "' is not a port, at '", reader.where(),
                     "', write SERVICE.PORT");
  const std::string id = text.substr(0, dot);
  const std::optional<size_t> service = findService(id);
  if (!service) {
    std::vector<std::string_view> ids;
    for (const PipelineService &known : pipeline.services)
      ids.push_back(known.id);
    return makeError(ErrorCode::NotFound, "no service has the id '", excerpt(id), "'", suggestion(id, ids), ", at '",
                     reader.where(), "', correct the id or add the service");
  }
  return PortName{*service, text.substr(dot + 1), reader.where()};
}

Status PipelineReader::checkName(const std::string &name, const JsonReader &reader) {
  if (name.empty())
    return makeError(ErrorCode::InvalidInput, "a name is empty, at '", reader.where(), "', give a name");
  if (findService(std::string_view(name).substr(0, name.find('.'))) && name.find('.') != std::string::npos)
    return makeError(ErrorCode::InvalidInput, "the name '", excerpt(name),
                     "' is reserved for ports, because it begins with the id of a service and a dot, at '",
                     reader.where(), "', give another name");
  if (!names.insert(name).second)
    return makeError(ErrorCode::InvalidInput, "'", excerpt(name),
                     "' names both an input and an output of the pipeline, at '", reader.where(),
                     "', give each a name of its own");
  return {};
}

Status PipelineReader::readInputs(const JsonReader &reader) {
  SLUICE_RETURN_IF_ERROR(requireObject(reader));
  for (const auto &[name, value] : reader.json().items()) {
    SLUICE_ASSIGN_OR_RETURN(JsonReader member, reader.member(name));
    SLUICE_RETURN_IF_ERROR(checkName(name, member));
    PipelineInput input{name, {}};
    std::vector<JsonReader> ports = {member};
    if (value.is_array()) {
      SLUICE_ASSIGN_OR_RETURN(ports, member.elements());
      if (ports.empty())
        return makeError(ErrorCode::InvalidInput, "input '", excerpt(name), "' of the pipeline feeds no service, at '",
                         member.where(), "', list an input SERVICE.PORT");
    }
    for (const JsonReader &port : ports) {
      SLUICE_ASSIGN_OR_RETURN(PortName read, readPort(port));
      input.ports.push_back(std::move(read));
    }
    pipeline.inputs.push_back(std::move(input));
  }
  return {};
}

Status PipelineReader::readOutputs(const JsonReader &reader) {
  SLUICE_RETURN_IF_ERROR(requireObject(reader));
  pipeline.outputs.emplace();
  for (const auto &[name, value] : reader.json().items()) {
    SLUICE_ASSIGN_OR_RETURN(JsonReader member, reader.member(name));
    SLUICE_RETURN_IF_ERROR(checkName(name, member));
    SLUICE_ASSIGN_OR_RETURN(PortName port, readPort(member));
    pipeline.outputs->push_back({name, std::move(port)});
  }
  if (pipeline.outputs->empty())
    return makeError(ErrorCode::InvalidInput, "the list of outputs is empty, at '", reader.where(),
                     "', list an output or remove 'outputs'");
  return {};
}

Status PipelineReader::read(const JsonReader &root) {
  SLUICE_RETURN_IF_ERROR(root.onlyKeys({"schema", "name", "services", "links", "inputs", "outputs"}));
  SLUICE_ASSIGN_OR_RETURN(int64_t schema, root.integer("schema"));
  if (schema != kSchema)
    return makeError(ErrorCode::Unsupported, "the pipeline has schema ", schema, ", in '", pipeline.path,
                     "', and this version reads only schema ", kSchema, ", use a newer version of Sluice");
  SLUICE_ASSIGN_OR_RETURN(pipeline.name, root.string("name", pipeline.name));
  auto elementsOf = [&](std::string_view key, size_t most) -> Expected<std::vector<JsonReader>> {
    SLUICE_ASSIGN_OR_RETURN(JsonReader member, root.member(key));
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> elements, member.elements());
    if (elements.size() > most)
      return makeError(ErrorCode::Unsupported, "the pipeline has ", elements.size(), " ", key, ", and at most ", most,
                       " are supported, at '", member.where(),
                       "', compose parts of it first and use the composed models as services");
    return elements;
  };
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> services, elementsOf("services", kMostServices));
  if (services.empty())
    return makeError(ErrorCode::InvalidInput, "the pipeline has no service, in '", pipeline.path, "', add a service");
  for (const JsonReader &service : services)
    SLUICE_RETURN_IF_ERROR(readService(service));
  if (root.has("links")) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> links, elementsOf("links", kMostLinks));
    for (const JsonReader &link : links) {
      SLUICE_RETURN_IF_ERROR(link.onlyKeys({"from", "to"}));
      SLUICE_ASSIGN_OR_RETURN(JsonReader from, link.member("from"));
      SLUICE_ASSIGN_OR_RETURN(JsonReader to, link.member("to"));
      SLUICE_ASSIGN_OR_RETURN(PortName source, readPort(from));
      SLUICE_ASSIGN_OR_RETURN(PortName target, readPort(to));
      pipeline.links.push_back({std::move(source), std::move(target)});
    }
  }
  if (root.has("inputs"))
    SLUICE_RETURN_IF_ERROR(root.member("inputs").and_then([&](const JsonReader &map) { return readInputs(map); }));
  if (root.has("outputs"))
    SLUICE_RETURN_IF_ERROR(root.member("outputs").and_then([&](const JsonReader &map) { return readOutputs(map); }));
  return {};
}

} // namespace

std::string suggestion(const std::string &name, const std::vector<std::string_view> &known) {
  std::string text;
  for (const std::string &near : nearestNames(name, known))
    text += concat(text.empty() ? " (did you mean '" : ", '", excerpt(near), "'");
  return text.empty() ? text : text + "?)";
}

Expected<Pipeline> readPipeline(const std::string &path) {
  constexpr int64_t kMostBytes = int64_t(64) << 20;
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path, kMostBytes));
  Pipeline pipeline;
  pipeline.path = path;
  pipeline.name = std::filesystem::path(path).stem().string();
  SLUICE_RETURN_IF_ERROR(PipelineReader(pipeline).read(JsonReader(json, path + ":")));
  return pipeline;
}

} // namespace sluice::compose
