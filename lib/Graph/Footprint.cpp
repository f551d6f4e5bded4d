//===- Footprint.cpp - What a step has, without reuse ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Graph/Footprint.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace sluice {
namespace {

/// MXNET_EXEC_INPLACE_GRAD_SUM_CAP: from here on gradients are added one by one.
constexpr size_t kChainFrom = 8;
constexpr std::string_view kGradient = ".gradient";

/// "conv1#2" is a piece of "conv1".
std::string_view nodeOf(std::string_view name) {
  size_t hash = name.find_last_of('#');
  if (hash == std::string_view::npos || hash + 1 == name.size() ||
      name.find_first_not_of("0123456789", hash + 1) != std::string_view::npos)
    return name;
  return name.substr(0, hash);
}

class Counter {
public:
  explicit Counter(const Graph &graph) : graph(graph) {
    for (const Operator &op : graph.operators())
      nodes.push_back(indices.try_emplace(std::string(nodeOf(op.name)), indices.size()).first->second);
    for (const Operator &op : graph.operators())
      hasGradient.push_back(indices.count(concat(nodeOf(op.name), kGradient)) != 0);
  }

  Footprint count(const std::vector<OperatorId> &order) {
    result.operators = indices.size() + gradientSums();
    std::set<int64_t> sizes;
    auto add = [&](const Tensor &tensor) {
      result.bytes = saturatingAdd(result.bytes, tensor.bytes);
      sizes.insert(tensor.bytes);
    };
    for (const Tensor &tensor : graph.tensors()) {
      if (tensor.producer.valid())
        continue;
      add(tensor);
      if (tensor.kind != TensorKind::Input)
        result.stateBytes = saturatingAdd(result.stateBytes, tensor.bytes);
    }
    // In order, so that operands are known.
    overwrites.assign(graph.numTensors(), false);
    isOverwritten.assign(graph.numTensors(), false);
    for (OperatorId id : order) {
      const Operator &op = graph.op(id);
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        TensorId output = op.outputs[i];
        const Tensor &tensor = graph.tensor(output);
        overwrites[output.index()] = overwrite(op, id, i);
        if (!tensor.updates.valid() && !isInside(tensor) && !overwrites[output.index()])
          add(tensor);
      }
    }
    result.tensorSizes.assign(sizes.begin(), sizes.end());
    return std::move(result);
  }

private:
  /// Only pieces of the node that writes it read it.
  bool isInside(const Tensor &tensor) const {
    return !tensor.isOutput && !tensor.consumers.empty() && readOnlyBy(nodes[tensor.producer.index()], tensor);
  }

  bool readOnlyBy(size_t node, const Tensor &tensor) const {
    return std::all_of(tensor.consumers.begin(), tensor.consumers.end(),
                       [&](OperatorId reader) { return nodes[reader.index()] == node; });
  }

  /// Takes an operand's place, or that of what it overwrote where it is inside;
  /// no place is taken twice.
  bool overwrite(const Operator &op, OperatorId id, size_t position) {
    for (auto [from, to] : op.inPlace) {
      TensorId input = op.inputs[from];
      const Tensor &operand = graph.tensor(input);
      if (to != position || isOverwritten[input.index()] || !operand.producer.valid() || operand.isOutput ||
          operand.updates.valid() || !readOnlyBy(nodes[id.index()], operand) ||
          (isInside(operand) && !overwrites[input.index()]))
        continue;
      isOverwritten[input.index()] = true;
      return true;
    }
    return false;
  }

  /// Of every tensor that several nodes with a gradient read.
  size_t gradientSums() const {
    size_t sums = 0;
    for (const Tensor &tensor : graph.tensors()) {
      if (tensor.kind == TensorKind::Input)
        continue;
      if (tensor.producer.valid() && !hasGradient[tensor.producer.index()])
        continue;
      std::set<size_t> readers;
      for (OperatorId reader : tensor.consumers)
        if (hasGradient[reader.index()] &&
            !(tensor.producer.valid() && nodes[reader.index()] == nodes[tensor.producer.index()]))
          readers.insert(nodes[reader.index()]);
      if (readers.size() > 1)
        sums += readers.size() < kChainFrom ? 1 : readers.size();
    }
    return sums;
  }

  const Graph &graph;
  std::map<std::string, size_t, std::less<>> indices;
  // By operator.
  std::vector<size_t> nodes;
  std::vector<bool> hasGradient;
  // By tensor.
  std::vector<bool> overwrites, isOverwritten;
  Footprint result;
};

} // namespace

Expected<Footprint> countFootprint(const Graph &graph) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<OperatorId> order, graph.topologicalOrder());
  return Counter(graph).count(order);
}

} // namespace sluice
