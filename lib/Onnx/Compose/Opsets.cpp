//===- Opsets.cpp - One version of each domain ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Opsets.h"

#include "lib/Onnx/Schemas.h"
#include "sluice/Support/Text.h"

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

namespace sluice::compose {
namespace {

std::string canonical(const std::string &domain) { return domain == "ai.onnx" ? "" : domain; }

/// A node whose operator has another definition in another version.
struct ChangedNode {
  std::string type;
  bool isNested = false; ///< In a subgraph.
};

struct Versions {
  std::string domain;
  int64_t from = 0, to = 0;
};

bool hasChanged(const std::string &type, const Versions &versions) {
  if (versions.to > newestKnownVersion(versions.domain))
    return true;
  const auto *before = ::onnx::OpSchemaRegistry::Schema(type, static_cast<int>(versions.from), versions.domain);
  const auto *after = ::onnx::OpSchemaRegistry::Schema(type, static_cast<int>(versions.to), versions.domain);
  return !before || !after || before->since_version() != after->since_version();
}

std::optional<ChangedNode> findChanged(const ::onnx::GraphProto &graph, const Versions &versions, bool isNested,
                                       bool onlyNested) {
  for (const ::onnx::NodeProto &node : graph.node()) {
    if (canonical(node.domain()) == versions.domain && (isNested || !onlyNested) &&
        hasChanged(node.op_type(), versions))
      return ChangedNode{node.op_type(), isNested};
    for (const ::onnx::AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        if (auto changed = findChanged(attribute.g(), versions, /*isNested=*/true, onlyNested))
          return changed;
      for (const ::onnx::GraphProto &inner : attribute.graphs())
        if (auto changed = findChanged(inner, versions, /*isNested=*/true, onlyNested))
          return changed;
    }
  }
  return std::nullopt;
}

/// The graph with the service's own initializers, which keep their places; the converter has lost their data.
void restoreInitializers(const ::onnx::GraphProto &original, ::onnx::GraphProto &graph) {
  std::map<std::string, bool> own;
  for (const ::onnx::TensorProto &tensor : original.initializer())
    own[tensor.name()] = true;
  auto added = graph.initializer();
  *graph.mutable_initializer() = original.initializer();
  for (::onnx::TensorProto &tensor : added)
    if (!own.contains(tensor.name()))
      *graph.add_initializer() = std::move(tensor);
  *graph.mutable_sparse_initializer() = original.sparse_initializer();
}

/// Converts by ONNX's own converter. What of it fails, it says by exceptions of several types.
Expected<std::unique_ptr<::onnx::GraphProto>> convert(const Service &service, int64_t opset) {
  ::onnx::ModelProto model = service.model.proto();
  model.clear_functions();
  try {
    ::onnx::shape_inference::InferShapes(model);
    ::onnx::ModelProto converted = ::onnx::version_conversion::ConvertVersion(model, static_cast<int>(opset));
    auto graph = std::make_unique<::onnx::GraphProto>(std::move(*converted.mutable_graph()));
    restoreInitializers(service.model.graph(), *graph);
    return graph;
  } catch (const std::exception &failure) {
    return makeError(ErrorCode::Unsupported, excerpt(failure.what()));
  }
}

Status unify(Service &service, const std::string &newest, const Versions &versions) {
  const auto changed = findChanged(service.model.graph(), versions, /*isNested=*/false, /*onlyNested=*/false);
  if (!changed)
    return {};
  auto refuse = [&](const ChangedNode &node, const std::string &why) {
    return makeError(ErrorCode::Unsupported, "service '", service.id, "' uses version ", versions.from,
                     " and service '", newest, "' uses version ", versions.to, " of the operators of '",
                     versions.domain.empty() ? "ai.onnx" : excerpt(versions.domain), "', and '", excerpt(node.type),
                     "' ", why, ", convert one of the models with onnx.version_converter");
  };
  if (const int64_t known = newestKnownVersion(versions.domain); versions.to > known)
    return refuse(
        *changed,
        known ? concat(
                    "cannot be compared between these versions, because definitions are known here only up to version ",
                    known)
              : std::string("may differ between these versions"));
  if (!versions.domain.empty())
    return refuse(*changed, "differs between these versions");
  if (const auto nested = findChanged(service.model.graph(), versions, /*isNested=*/false, /*onlyNested=*/true))
    return refuse(*nested, "differs between these versions and is in a subgraph, which is not converted");
  auto graph = convert(service, versions.to);
  if (!graph)
    return refuse(*changed, concat("differs between these versions: ", graph.error().message));
  service.converted = std::move(*graph);
  return {};
}

} // namespace

Expected<std::map<std::string, int64_t>> unifyOpsets(std::vector<Service> &services) {
  std::map<std::string, int64_t> newest;
  std::map<std::string, std::string> by;
  auto each = [&](const Service &service, auto &&take) {
    for (const ::onnx::OperatorSetIdProto &import : service.model.proto().opset_import())
      take(canonical(import.domain()), import.version());
  };
  for (const Service &service : services)
    each(service, [&](const std::string &domain, int64_t version) {
      if (auto [known, isNew] = newest.try_emplace(domain, version); isNew || known->second < version) {
        known->second = version;
        by[domain] = service.id;
      }
    });
  for (Service &service : services) {
    Status unified;
    each(service, [&](const std::string &domain, int64_t version) {
      if (unified && version < newest[domain])
        unified = unify(service, by[domain], {domain, version, newest[domain]});
    });
    if (!unified)
      return propagate(unified);
  }
  return newest;
}

} // namespace sluice::compose
