//===- LiveNodes.cpp - Nodes that results follow from ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LiveNodes.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace sluice {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

/// Appends every name that the node may read: its inputs', and those in its attributes, bodies included.
static void appendReads(const ::onnx::NodeProto &node, std::vector<std::string> &names) {
  llvm::SmallVector<const ::onnx::NodeProto *> open{&node};
  auto addBody = [&](const ::onnx::GraphProto &body) {
    for (const ::onnx::NodeProto &member : body.node())
      open.push_back(&member);
    for (const ::onnx::ValueInfoProto &output : body.output())
      names.push_back(output.name());
  };
  while (!open.empty()) {
    const ::onnx::NodeProto &next = *open.pop_back_val();
    names.insert(names.end(), next.input().begin(), next.input().end());
    for (const ::onnx::AttributeProto &attribute : next.attribute()) {
      if (attribute.has_s())
        names.push_back(attribute.s());
      names.insert(names.end(), attribute.strings().begin(), attribute.strings().end());
      if (attribute.has_g())
        addBody(attribute.g());
      for (const ::onnx::GraphProto &body : attribute.graphs())
        addBody(body);
    }
  }
}

llvm::DenseSet<const ::onnx::NodeProto *> liveNodes(const Nodes &nodes, std::vector<std::string> outputs) {
  llvm::StringMap<llvm::SmallVector<const ::onnx::NodeProto *, 1>> producers;
  for (const ::onnx::NodeProto &node : nodes)
    for (const std::string &output : node.output())
      if (!output.empty())
        producers[output].push_back(&node);
  llvm::DenseSet<const ::onnx::NodeProto *> live;
  while (!outputs.empty()) {
    const std::string name = std::move(outputs.back());
    outputs.pop_back();
    auto found = producers.find(name);
    if (found == producers.end())
      continue;
    for (const ::onnx::NodeProto *node : found->second)
      if (live.insert(node).second)
        appendReads(*node, outputs);
    producers.erase(found);
  }
  return live;
}

} // namespace sluice
