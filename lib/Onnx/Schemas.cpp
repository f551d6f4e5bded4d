//===- Schemas.cpp - ONNX's definitions of operators ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Schemas.h"

#include <algorithm>
#include <onnx/defs/schema.h>

namespace sluice {

int64_t newestKnownVersion(const std::string &domain) {
  const auto &ranges = ::onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  auto found = ranges.find(domain);
  return found == ranges.end() ? 0 : found->second.second;
}

/// Null if the library does not have it.
static const ::onnx::OpSchema *schemaOf(const ::onnx::NodeProto &node, int64_t version) {
  const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  if (version < 1 || version > newestKnownVersion(domain))
    return nullptr;
  return ::onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(version), domain);
}

std::string unknownAttribute(const ::onnx::NodeProto &node, int64_t version) {
  const ::onnx::OpSchema *schema = node.attribute_size() > 0 ? schemaOf(node, version) : nullptr;
  if (!schema)
    return "";
  for (const ::onnx::AttributeProto &attribute : node.attribute())
    if (!schema->attributes().contains(attribute.name()) && attribute.name().compare(0, 2, "__") != 0)
      return attribute.name();
  return "";
}

bool forbidsText(const ::onnx::NodeProto &node, int64_t version, size_t input) {
  const ::onnx::OpSchema *schema = schemaOf(node, version);
  if (!schema || schema->inputs().empty())
    return false;
  // The last input may be repeated.
  const auto &formal = schema->inputs()[std::min(input, schema->inputs().size() - 1)];
  const auto &types = formal.GetTypes();
  return std::none_of(types.begin(), types.end(),
                      [](const std::string *type) { return type->find("tensor(string)") != std::string::npos; });
}

} // namespace sluice
