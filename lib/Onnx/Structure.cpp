//===- Structure.cpp - Names, order and tensors of a model ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ModelInternals.h"

#include "sluice/Support/Text.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace sluice {

std::string describeNode(const ::onnx::GraphProto &graph, int index) {
  const ::onnx::NodeProto &node = graph.node(index);
  if (!node.name().empty())
    return concat("'", excerpt(node.name()), "'");
  return concat("number ", index, " (", excerpt(node.op_type()), ")");
}

void collectReads(const ::onnx::NodeProto &node, std::vector<std::string_view> &names) {
  names.insert(names.end(), node.input().begin(), node.input().end());
  auto inside = [&](const ::onnx::GraphProto &graph) {
    std::vector<std::string_view> reads;
    std::unordered_set<std::string_view> own;
    for (const ::onnx::ValueInfoProto &input : graph.input())
      own.insert(input.name());
    for (const ::onnx::TensorProto &initializer : graph.initializer())
      own.insert(initializer.name());
    for (const ::onnx::NodeProto &inner : graph.node()) {
      collectReads(inner, reads);
      own.insert(inner.output().begin(), inner.output().end());
    }
    for (const ::onnx::ValueInfoProto &output : graph.output())
      reads.push_back(output.name());
    std::copy_if(reads.begin(), reads.end(), std::back_inserter(names),
                 [&](std::string_view name) { return !own.count(name); });
  };
  for (const ::onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      inside(attribute.g());
    for (const ::onnx::GraphProto &graph : attribute.graphs())
      inside(graph);
  }
}

namespace {

using CheckTensor = std::function<Status(const ::onnx::TensorProto &)>;

/// Names a graph's nodes may use so far; outer graphs' names are visible inside.
struct Scope {
  const Scope *outer = nullptr;
  std::unordered_set<std::string_view> names;

  bool has(std::string_view name) const {
    for (const Scope *scope = this; scope; scope = scope->outer)
      if (scope->names.count(name))
        return true;
    return false;
  }
};

using Producers = std::unordered_map<std::string_view, int>;

/// Nodes with producers before consumers, otherwise as they stand; fails on a cycle, naming its nodes.
Expected<std::vector<int>> sortNodes(const ::onnx::GraphProto &graph, const Producers &producers) {
  enum class Mark : uint8_t { New, Open, Done };
  struct Visit {
    int node;
    std::vector<int> before;
    size_t next = 0;
  };
  std::vector<Mark> marks(graph.node_size(), Mark::New);
  std::vector<int> order;
  std::vector<Visit> stack;
  auto open = [&](int node) {
    marks[node] = Mark::Open;
    std::vector<std::string_view> reads;
    collectReads(graph.node(node), reads);
    Visit visit{node, {}};
    for (std::string_view name : reads)
      if (auto producer = producers.find(name); producer != producers.end())
        visit.before.push_back(producer->second);
    stack.push_back(std::move(visit));
  };
  for (int root = 0; root < graph.node_size(); ++root) {
    if (marks[root] == Mark::New)
      open(root);
    while (!stack.empty()) {
      Visit &top = stack.back();
      if (top.next == top.before.size()) {
        marks[top.node] = Mark::Done;
        order.push_back(top.node);
        stack.pop_back();
        continue;
      }
      int producer = top.before[top.next++];
      if (marks[producer] == Mark::New) {
        open(producer);
      } else if (marks[producer] == Mark::Open) {
        // The stack reads towards producers; data flows the other way.
        std::string cycle = describeNode(graph, producer);
        for (size_t shown = 0, i = stack.size(); i-- > 0 && shown <= 8; ++shown) {
          cycle += concat(" -> ", shown == 8 ? std::string("...") : describeNode(graph, stack[i].node));
          if (stack[i].node == producer)
            break;
        }
        return makeError(ErrorCode::InvalidInput, "the graph has a cycle: ", cycle);
      }
    }
  }
  return order;
}

class StructureChecker {
public:
  explicit StructureChecker(const CheckTensor &checkTensor) : checkTensor(checkTensor) {}

  Status checkGraph(const ::onnx::GraphProto &graph, const Scope *outer);
  Status checkAttributes(const ::onnx::NodeProto &node, const std::string &described, const Scope *scope);

private:
  Status checkSparse(const ::onnx::SparseTensorProto &sparse);
  Status checkTensors(const ::onnx::AttributeProto &attribute);
  const CheckTensor &checkTensor;
};

Status StructureChecker::checkSparse(const ::onnx::SparseTensorProto &sparse) {
  SLUICE_RETURN_IF_ERROR(checkTensor(sparse.values()));
  SLUICE_RETURN_IF_ERROR(checkTensor(sparse.indices()));
  std::vector<int64_t> dims(sparse.dims().begin(), sparse.dims().end());
  SLUICE_RETURN_IF_ERROR(checkedElementCount(dims, concat("sparse tensor '", excerpt(sparse.values().name()), "'")));
  return {};
}

Status StructureChecker::checkTensors(const ::onnx::AttributeProto &attribute) {
  if (attribute.has_t())
    SLUICE_RETURN_IF_ERROR(checkTensor(attribute.t()));
  for (const ::onnx::TensorProto &tensor : attribute.tensors())
    SLUICE_RETURN_IF_ERROR(checkTensor(tensor));
  if (attribute.has_sparse_tensor())
    SLUICE_RETURN_IF_ERROR(checkSparse(attribute.sparse_tensor()));
  for (const ::onnx::SparseTensorProto &sparse : attribute.sparse_tensors())
    SLUICE_RETURN_IF_ERROR(checkSparse(sparse));
  return {};
}

Status StructureChecker::checkAttributes(const ::onnx::NodeProto &node, const std::string &described,
                                         const Scope *scope) {
  std::unordered_set<std::string_view> seen;
  for (const ::onnx::AttributeProto &attribute : node.attribute()) {
    if (!seen.insert(attribute.name()).second)
      return makeError(ErrorCode::InvalidInput, "node ", described, " has the attribute '", excerpt(attribute.name()),
                       "' twice");
    SLUICE_RETURN_IF_ERROR(checkTensors(attribute));
    if (attribute.has_g())
      SLUICE_RETURN_IF_ERROR(checkGraph(attribute.g(), scope));
    for (const ::onnx::GraphProto &graph : attribute.graphs())
      SLUICE_RETURN_IF_ERROR(checkGraph(graph, scope));
  }
  return {};
}

Status StructureChecker::checkGraph(const ::onnx::GraphProto &graph, const Scope *outer) {
  Scope scope{outer, {}};
  auto twice = [](std::string_view what, std::string_view name) {
    return makeError(ErrorCode::InvalidInput, "the ", what, " '", excerpt(name), "' is defined twice");
  };
  for (const ::onnx::ValueInfoProto &input : graph.input()) {
    if (input.name().empty())
      return makeError(ErrorCode::InvalidInput, "an input of a graph has no name");
    if (!scope.names.insert(input.name()).second)
      return twice("graph input", input.name());
  }
  // An initializer may give a graph input its default.
  std::unordered_set<std::string_view> initializers;
  for (const ::onnx::TensorProto &initializer : graph.initializer()) {
    if (initializer.name().empty())
      return makeError(ErrorCode::InvalidInput, "an initializer of the model has no name");
    if (!initializers.insert(initializer.name()).second)
      return twice("initializer", initializer.name());
    SLUICE_RETURN_IF_ERROR(checkTensor(initializer));
  }
  for (const ::onnx::SparseTensorProto &sparse : graph.sparse_initializer()) {
    if (!initializers.insert(sparse.values().name()).second)
      return twice("initializer", sparse.values().name());
    SLUICE_RETURN_IF_ERROR(checkSparse(sparse));
  }
  scope.names.insert(initializers.begin(), initializers.end());

  Producers producers;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string &output : graph.node(i).output()) {
      if (output.empty())
        continue;
      if (scope.names.count(output))
        return makeError(ErrorCode::InvalidInput, "node ", describeNode(graph, i), " produces '", excerpt(output),
                         "', which is already an input or initializer");
      auto [first, added] = producers.emplace(output, i);
      // Some converters leave a Constant behind that a later one replaces; ONNX Runtime takes the last, so do we.
      bool constants = graph.node(i).op_type() == "Constant" && graph.node(first->second).op_type() == "Constant";
      if (!added && !constants)
        return makeError(ErrorCode::InvalidInput, "'", excerpt(output), "' is produced twice, by node ",
                         describeNode(graph, first->second), " and by node ", describeNode(graph, i));
    }
  // A Constant may stand anywhere: it reads nothing.
  for (const ::onnx::NodeProto &node : graph.node())
    if (node.op_type() == "Constant" && node.input_size() == 0)
      scope.names.insert(node.output().begin(), node.output().end());

  SLUICE_ASSIGN_OR_RETURN(std::vector<int> order, sortNodes(graph, producers));
  for (int i : order) {
    const ::onnx::NodeProto &node = graph.node(i);
    if (node.op_type().empty())
      return makeError(ErrorCode::InvalidInput, "node ", describeNode(graph, i), " has no operator type");
    for (const std::string &input : node.input()) {
      if (input.empty() || scope.has(input))
        continue;
      return makeError(ErrorCode::InvalidInput, "node ", describeNode(graph, i), " reads '", excerpt(input),
                       "', which no node, input or initializer defines");
    }
    SLUICE_RETURN_IF_ERROR(checkAttributes(node, describeNode(graph, i), &scope));
    for (const std::string &output : node.output())
      if (!output.empty())
        scope.names.insert(output);
  }

  std::unordered_set<std::string_view> outputs;
  for (const ::onnx::ValueInfoProto &output : graph.output()) {
    if (!scope.has(output.name()))
      return makeError(ErrorCode::InvalidInput, "no node, input or initializer defines the graph output '",
                       excerpt(output.name()), "'");
    // Subgraphs may yield one value twice.
    if (!outputs.insert(output.name()).second && !outer)
      return twice("graph output", output.name());
  }
  return {};
}

} // namespace

Status checkStructure(const ::onnx::ModelProto &model, const CheckTensor &checkTensor) {
  StructureChecker checker(checkTensor);
  SLUICE_RETURN_IF_ERROR(checker.checkGraph(model.graph(), nullptr));
  for (const ::onnx::FunctionProto &function : model.functions()) {
    Scope scope;
    scope.names.insert(function.input().begin(), function.input().end());
    for (const ::onnx::NodeProto &node : function.node()) {
      SLUICE_RETURN_IF_ERROR(checker.checkAttributes(node, concat("'", excerpt(node.name()), "'"), &scope));
      scope.names.insert(node.output().begin(), node.output().end());
    }
  }
  return {};
}

std::vector<int> nodeOrder(const ::onnx::GraphProto &graph) {
  Producers producers;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string &output : graph.node(i).output())
      if (!output.empty()) // An input without a name is not there: nobody produces it.
        producers.emplace(output, i);
  Expected<std::vector<int>> order = sortNodes(graph, producers);
  return order ? std::move(*order) : std::vector<int>();
}

} // namespace sluice
