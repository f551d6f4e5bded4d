//===- Functions.cpp - Calls of a model's own functions -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ModelInternals.h"

#include <algorithm>
#include <map>

namespace sluice {

/// Replaces references to a function's attributes, in its nodes and their subgraphs.
template <typename Nodes>
static void resolveAttributes(Nodes &nodes, const std::map<std::string, const ::onnx::AttributeProto *> &values) {
  for (::onnx::NodeProto &node : nodes) {
    auto *attributes = node.mutable_attribute();
    for (int i = attributes->size(); i-- > 0;) {
      ::onnx::AttributeProto &attribute = *attributes->Mutable(i);
      if (!attribute.ref_attr_name().empty()) {
        auto value = values.find(attribute.ref_attr_name());
        if (value == values.end()) {
          attributes->DeleteSubrange(i, 1);
          continue;
        }
        std::string name = attribute.name();
        attribute = *value->second;
        attribute.set_name(name);
      } else if (attribute.has_g()) {
        resolveAttributes(*attribute.mutable_g()->mutable_node(), values);
      }
    }
  }
}

bool usesAttributes(const ::onnx::NodeProto &node) {
  for (const ::onnx::AttributeProto &attribute : node.attribute()) {
    if (!attribute.ref_attr_name().empty())
      return true;
    if (attribute.has_g() && std::any_of(attribute.g().node().begin(), attribute.g().node().end(), usesAttributes))
      return true;
  }
  return false;
}

::onnx::NodeProto withAttributes(const ::onnx::NodeProto &member, const ::onnx::NodeProto &call) {
  google::protobuf::RepeatedPtrField<::onnx::NodeProto> nodes;
  *nodes.Add() = member;
  std::map<std::string, const ::onnx::AttributeProto *> values;
  for (const ::onnx::AttributeProto &attribute : call.attribute())
    values[attribute.name()] = &attribute;
  resolveAttributes(nodes, values);
  return std::move(nodes[0]);
}

} // namespace sluice
