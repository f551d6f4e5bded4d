//===- InfoCommand.cpp - sluice info --------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ArtifactInfo.h"
#include "Commands.h"
#include "ModelPorts.h"
#include "SharedOptions.h"
#include "StagesFile.h"
#include "sluice/Onnx/Compose.h"
#include "sluice/Onnx/Dimensions.h"
#include "sluice/Onnx/Operators.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <onnx/onnx_pb.h>
#include <set>

namespace sluice::driver {
namespace {

struct InfoOptions {
  std::string model, format = "text";
};

/// What is worth knowing of a model before anything is compiled.
struct ModelInfo {
  std::map<std::string, int64_t> operators; ///< By type, subgraphs included.
  std::set<std::string> unsupported;        ///< Types that the importer does not have at the model's opset.
  int64_t parameters = 0;                   ///< Elements of initializers.
  int64_t parameterBytes = 0;
};

/// The operators of the importer, and the functions of the model.
class KnownOperators {
public:
  explicit KnownOperators(const ::onnx::ModelProto &model) {
    for (const SupportedOperator &entry : supportedOperators())
      since[{entry.domain, entry.name}] = entry.since.front();
    for (const ::onnx::FunctionProto &function : model.functions())
      since[{canonical(function.domain()), function.name()}] = 0;
  }
  bool has(const ::onnx::NodeProto &node, int64_t opset) const {
    const auto found = since.find({canonical(node.domain()), node.op_type()});
    return found != since.end() && found->second <= opset;
  }
  static std::string canonical(const std::string &domain) { return domain == "ai.onnx" ? "" : domain; }

private:
  std::map<std::pair<std::string, std::string>, int64_t> since; ///< First opsets, by domain and name.
};

std::string typeName(const ::onnx::NodeProto &node) {
  const std::string domain = KnownOperators::canonical(node.domain());
  return domain.empty() ? node.op_type() : domain + "." + node.op_type();
}

/// Nesting was bounded when the model was opened.
void collect(const ::onnx::GraphProto &graph, const ModelFile &model, const KnownOperators &known, ModelInfo &info) {
  for (const ::onnx::NodeProto &node : graph.node()) {
    ++info.operators[typeName(node)];
    if (!known.has(node, model.opset(node.domain())))
      info.unsupported.insert(typeName(node));
    for (const ::onnx::AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        collect(attribute.g(), model, known, info);
      for (const ::onnx::GraphProto &subgraph : attribute.graphs())
        collect(subgraph, model, known, info);
    }
  }
  for (const ::onnx::TensorProto &tensor : graph.initializer()) {
    const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
    Expected<int64_t> count = checkedElementCount(dims, tensor.name());
    if (!count)
      continue;
    info.parameters = saturatingAdd(info.parameters, *count);
    info.parameterBytes = saturatingAdd(info.parameterBytes, tensorByteCount(tensor.data_type(), *count));
  }
}

Json portsToJson(const std::vector<DeclaredTensor> &ports) {
  Json list = Json::array();
  for (const DeclaredTensor &port : ports) {
    Json entry{{"name", port.name}, {"kind", port.kind}, {"type", onnxtype::name(port.elementType)}};
    if (port.dims) {
      entry["shape"] = Json::array();
      for (const DeclaredDim &dim : *port.dims)
        entry["shape"].push_back(dim.value >= 0 ? Json(dim.value) : Json(dim.symbol));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json infoToJson(const ModelFile &model, const ModelInfo &info) {
  Json json;
  json["name"] = model.graph().name();
  json["irVersion"] = model.irVersion();
  json["opsets"] = Json::object();
  json["opsets"]["ai.onnx"] = model.opset("");
  for (const DomainVersion &other : model.otherDomains())
    json["opsets"][other.domain] = other.version;
  json["inputs"] = portsToJson(model.inputs());
  json["outputs"] = portsToJson(model.outputs());
  json["symbolicDims"] = Json::array();
  for (const SymbolUse &use : symbolicDims(model))
    json["symbolicDims"].push_back(use.symbol);
  json["parameters"] = info.parameters;
  json["parameterBytes"] = info.parameterBytes;
  json["missingData"] = Json::array();
  for (const MissingData &missing : model.missingData())
    json["missingData"].push_back(missing.file);
  json["operators"] = Json(info.operators);
  json["unsupported"] = Json(info.unsupported);
  return json;
}

void printInfo(const ModelFile &model, const ModelInfo &info) {
  printLine("model", model.graph().name());
  printLine("producer", concat(model.proto().producer_name(), " ", model.proto().producer_version()));
  std::string opsets = concat("ai.onnx ", model.opset(""));
  for (const DomainVersion &other : model.otherDomains())
    opsets += concat(", ", other.domain, " ", other.version);
  printLine("opsets", concat(opsets, " (IR version ", model.irVersion(), ")"));
  for (const DeclaredTensor &input : model.inputs())
    printLine("input", concat(input.name, ": ", describePort(input)));
  for (const DeclaredTensor &output : model.outputs())
    printLine("output", concat(output.name, ": ", describePort(output)));
  for (const SymbolUse &use : symbolicDims(model))
    printLine("symbolic", concat(use.symbol, ", of input '", use.input, "', axis ", use.axis, ": bind with --dim"));
  printLine("parameters", concat(info.parameters, " in ", formatBytes(info.parameterBytes)));
  for (const MissingData &missing : model.missingData())
    printLine("missing", concat(missing.file, ": enough to plan with, not to run"));

  std::vector<std::pair<std::string, int64_t>> histogram(info.operators.begin(), info.operators.end());
  std::stable_sort(histogram.begin(), histogram.end(),
                   [](const auto &a, const auto &b) { return a.second > b.second; });
  int64_t total = 0;
  for (const auto &[type, count] : histogram)
    total += count;
  printLine("operators", concat(total));
  for (const auto &[type, count] : histogram)
    printLine("", concat(count, " ", type));
  for (const std::string &type : info.unsupported)
    printLine("unsupported", type);
}

Status runInfo(const InfoOptions &options) {
  SLUICE_RETURN_IF_ERROR(refusePipeline(options.model));
  std::error_code ignored;
  if (std::filesystem::is_directory(options.model, ignored))
    return printArtifact(options.model, options.format == "json");
  SLUICE_ASSIGN_OR_RETURN(ModelFile model, openModel(options.model));
  ModelInfo info;
  collect(model.graph(), model, KnownOperators(model.proto()), info);
  if (options.format == "json")
    printJson(infoToJson(model, info));
  else
    printInfo(model, info);
  return {};
}

} // namespace

void addInfoCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App *command = driver::addCommand(
      app, "info", "Show a model's inputs, outputs, dimensions and operators, or a compiled model's");
  addOption(*command, "MODEL", options->model,
            "an ONNX file, a pipeline of models (.json), or a compiled model's directory")
      ->required();
  addFormatOption(*command, options->format);
  command->callback([options, &action] { action = [options] { return runInfo(*options); }; });
}

} // namespace sluice::driver
