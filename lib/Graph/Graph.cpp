//===- Graph.cpp ----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Graph/Graph.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <queue>
#include <string_view>
#include <unordered_set>

namespace sluice {

TensorId Graph::addTensor(Tensor tensor) {
  TensorId id(tensorList.size()), state = tensor.updates;
  tensorList.push_back(std::move(tensor));
  if (auto earlier = pendingUpdates.find(id); earlier != pendingUpdates.end())
    tensorList.back().updatedBy = earlier->second;
  if (state.valid())
    setUpdates(id, state);
  return id;
}

void Graph::setUpdates(TensorId newValue, TensorId state) {
  tensorList[newValue.index()].updates = state;
  if (state.index() < tensorList.size())
    tensorList[state.index()].updatedBy = newValue;
  else
    pendingUpdates[state] = newValue;
}

OperatorId Graph::addOperator(Operator op) {
  OperatorId id(operatorList.size());
  // Ids out of range are not linked; check() reports them.
  for (TensorId input : op.inputs) {
    if (input.index() >= tensorList.size())
      continue;
    std::vector<OperatorId> &consumers = tensorList[input.index()].consumers;
    if (consumers.empty() || consumers.back() != id)
      consumers.push_back(id);
  }
  for (TensorId output : op.outputs)
    if (output.index() < tensorList.size() && !tensorList[output.index()].producer.valid())
      tensorList[output.index()].producer = id;
  operatorList.push_back(std::move(op));
  return id;
}

//===----------------------------------------------------------------------===//
// check
//===----------------------------------------------------------------------===//

/// Larger sizes could not be added up; no machine has a thousandth of it.
static constexpr int64_t kMaxBytes = int64_t(1) << 56;

static Status checkOperator(const Graph &graph, OperatorId id) {
  const Operator &op = graph.op(id);
  auto bad = [&](const auto &...what) {
    Error error{ErrorCode::InvalidInput, concat(what..., ", operator '", op.name, "', correct the graph"), {id.value}};
    return tl::unexpected<Error>(std::move(error));
  };
  if (op.outputs.empty())
    return bad("the operator has no output");
  for (const std::vector<TensorId> *list : {&op.inputs, &op.outputs}) {
    std::unordered_set<TensorId> seen;
    for (TensorId tensor : *list) {
      if (tensor.index() >= graph.numTensors())
        return bad("tensor ", tensor.value, " does not exist");
      if (!seen.insert(tensor).second)
        return bad("tensor '", graph.tensor(tensor).name, "' is listed twice");
    }
  }
  for (TensorId input : op.inputs) {
    const std::vector<OperatorId> &consumers = graph.tensor(input).consumers;
    if (!std::binary_search(consumers.begin(), consumers.end(), id))
      return bad("input '", graph.tensor(input).name, "' does not list this operator as a consumer");
  }
  for (TensorId output : op.outputs) {
    const Tensor &tensor = graph.tensor(output);
    if (tensor.kind == TensorKind::Parameter || tensor.kind == TensorKind::Input)
      return bad("tensor '", tensor.name, "' is a parameter or an input and may not be written");
    if (tensor.producer != id)
      return bad("tensor '", tensor.name, "' has two producers");
  }
  if (op.flops < 0 || op.bytesMoved < 0 || op.demandBytes < 0)
    return bad("flops, bytes moved and bytes on demand may not be negative");
  if (op.workspaceBytes < 0 || op.workspaceBytes > kMaxBytes)
    return bad("workspace of ", op.workspaceBytes, " bytes is not in [0, 2^56]");
  for (auto [input, output] : op.inPlace)
    if (input >= op.inputs.size() || output >= op.outputs.size())
      return bad("in-place pair (", input, ", ", output, ") is out of range");
  return {};
}

static Status checkTensor(const Graph &graph, TensorId id) {
  const Tensor &tensor = graph.tensor(id);
  auto bad = [&](const auto &...what) {
    return makeError(ErrorCode::InvalidInput, what..., ", tensor '", tensor.name, "', correct the graph");
  };
  if (tensor.bytes < 0 || tensor.bytes > kMaxBytes)
    return bad("size of ", tensor.bytes, " bytes is not in [0, 2^56]");
  if (tensor.touchedBytes < 0 || tensor.touchedBytes > tensor.bytes)
    return bad("'touchedBytes' is ", tensor.touchedBytes, " and must be in [0, ", tensor.bytes, "]");
  if (tensor.touchedBytes > 0 && tensor.kind != TensorKind::Parameter)
    return bad("the tensor has 'touchedBytes', which only parameters can have");
  if (tensor.isPooled && tensor.touchedBytes == 0 && tensor.bytes > 0)
    return bad("the tensor is pooled and has no 'touchedBytes', which pooled tensors need");
  if (tensor.producer.valid()) {
    if (tensor.producer.index() >= graph.numOperators())
      return bad("producer ", tensor.producer.value, " does not exist");
    const std::vector<TensorId> &outputs = graph.op(tensor.producer).outputs;
    if (std::find(outputs.begin(), outputs.end(), id) == outputs.end())
      return bad("the tensor names a producer that does not list the tensor as an output");
  } else if (tensor.kind == TensorKind::Activation && (!tensor.consumers.empty() || tensor.isOutput)) {
    return bad("activation is read but no operator writes it");
  }
  OperatorId previous;
  for (OperatorId consumer : tensor.consumers) {
    if (consumer.index() >= graph.numOperators())
      return bad("consumer ", consumer.value, " does not exist");
    if (previous.valid() && !(previous < consumer))
      return bad("consumers are not ascending");
    const std::vector<TensorId> &inputs = graph.op(consumer).inputs;
    if (std::find(inputs.begin(), inputs.end(), id) == inputs.end())
      return bad("the tensor names consumer '", graph.op(consumer).name, "', which does not read this tensor");
    previous = consumer;
  }
  if (tensor.updates.valid()) {
    if (tensor.updates.index() >= graph.numTensors())
      return bad("updated tensor ", tensor.updates.value, " does not exist");
    const Tensor &state = graph.tensor(tensor.updates);
    if (state.updatedBy != id)
      return makeError(ErrorCode::InvalidInput, "state '", state.name,
                       "' is updated by two tensors, keep one of these updates");
    if (state.kind != TensorKind::State || state.producer.valid() || state.updates.valid())
      return bad("the tensor updates '", state.name, "', which is not a state whose value exists before the step");
    if (state.bytes != tensor.bytes)
      return bad("the size differs from that of the updated state '", state.name, "'");
    if (!tensor.producer.valid())
      return bad("the tensor updates a state, and no operator writes the tensor");
  } else if (tensor.kind == TensorKind::State && tensor.producer.valid()) {
    return bad("an operator writes this state, so 'updates' must name the state whose next value it is");
  }
  return {};
}

Status Graph::check() const {
  std::unordered_set<std::string_view> names;
  names.reserve(operatorList.size());
  for (size_t i = 0; i < operatorList.size(); ++i) {
    if (!names.insert(operatorList[i].name).second)
      return makeError(ErrorCode::InvalidInput, "two operators are named '", operatorList[i].name,
                       "', rename one of the operators");
    SLUICE_RETURN_IF_ERROR(checkOperator(*this, OperatorId(i)));
  }
  for (size_t i = 0; i < tensorList.size(); ++i)
    SLUICE_RETURN_IF_ERROR(checkTensor(*this, TensorId(i)));
  SLUICE_RETURN_IF_ERROR(topologicalOrder());
  return {};
}

//===----------------------------------------------------------------------===//
// Topology
//===----------------------------------------------------------------------===//

static void sortUnique(std::vector<OperatorId> &ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

/// Graph::predecessors, in place of what the list held.
static void listPredecessors(const Graph &graph, OperatorId id, std::vector<OperatorId> &result) {
  result.clear();
  for (TensorId input : graph.op(id).inputs)
    if (OperatorId producer = graph.tensor(input).producer; producer.valid())
      result.push_back(producer);
  for (TensorId output : graph.op(id).outputs)
    if (TensorId state = graph.tensor(output).updates; state.valid())
      for (OperatorId reader : graph.tensor(state).consumers)
        if (reader != id)
          result.push_back(reader);
  sortUnique(result);
}

/// Graph::successors, in place of what the list held.
static void listSuccessors(const Graph &graph, OperatorId id, std::vector<OperatorId> &result) {
  result.clear();
  for (TensorId output : graph.op(id).outputs) {
    const std::vector<OperatorId> &consumers = graph.tensor(output).consumers;
    result.insert(result.end(), consumers.begin(), consumers.end());
  }
  for (TensorId input : graph.op(id).inputs)
    if (TensorId next = graph.tensor(input).updatedBy; next.valid())
      if (OperatorId writer = graph.tensor(next).producer; writer.valid() && writer != id)
        result.push_back(writer);
  sortUnique(result);
}

std::vector<OperatorId> Graph::predecessors(OperatorId id) const {
  std::vector<OperatorId> result;
  listPredecessors(*this, id, result);
  return result;
}

std::vector<OperatorId> Graph::successors(OperatorId id) const {
  std::vector<OperatorId> result;
  listSuccessors(*this, id, result);
  return result;
}

/// One cycle among the operators whose `missing` is not zero. Each of those has
/// such a predecessor, so walking backwards must meet itself.
static std::vector<OperatorId> findCycle(const Graph &graph, const std::vector<uint32_t> &missing) {
  OperatorId at;
  for (size_t i = 0; i < missing.size() && !at.valid(); ++i)
    if (missing[i] != 0)
      at = OperatorId(i);
  std::vector<OperatorId> walk;
  std::vector<int64_t> position(missing.size(), -1);
  while (position[at.index()] < 0) {
    position[at.index()] = static_cast<int64_t>(walk.size());
    walk.push_back(at);
    for (OperatorId predecessor : graph.predecessors(at))
      if (missing[predecessor.index()] != 0) {
        at = predecessor;
        break;
      }
  }
  walk.erase(walk.begin(), walk.begin() + position[at.index()]);
  std::reverse(walk.begin(), walk.end());
  return walk;
}

bool Graph::isRepeatable(OperatorId id) const {
  const std::vector<TensorId> &outputs = op(id).outputs;
  if (keepsOrder && op(id).communicates)
    return false;
  return std::all_of(outputs.begin(), outputs.end(), [&](TensorId output) {
    const Tensor &written = tensor(output);
    return written.kind == TensorKind::Activation && !written.isOutput && !written.updates.valid();
  });
}

Expected<std::vector<OperatorId>> Graph::topologicalOrder() const {
  std::vector<uint32_t> missing(operatorList.size());
  std::priority_queue<OperatorId, std::vector<OperatorId>, std::greater<>> ready;
  std::vector<OperatorId> neighbours;
  for (size_t i = 0; i < operatorList.size(); ++i) {
    listPredecessors(*this, OperatorId(i), neighbours);
    missing[i] = static_cast<uint32_t>(neighbours.size());
    if (missing[i] == 0)
      ready.push(OperatorId(i));
  }
  std::vector<OperatorId> order;
  order.reserve(operatorList.size());
  while (!ready.empty()) {
    OperatorId next = ready.top();
    ready.pop();
    order.push_back(next);
    listSuccessors(*this, next, neighbours);
    for (OperatorId successor : neighbours)
      if (--missing[successor.index()] == 0)
        ready.push(successor);
  }
  if (order.size() == operatorList.size())
    return order;

  std::vector<OperatorId> cycle = findCycle(*this, missing);
  constexpr size_t kShown = 8;
  Error error{ErrorCode::InvalidInput, "operators form a cycle: ", {}};
  for (size_t i = 0; i < cycle.size(); ++i) {
    error.operators.push_back(cycle[i].value);
    if (i < kShown)
      error.message += concat("'", op(cycle[i]).name, "' -> ");
  }
  if (cycle.size() > kShown)
    error.message += concat("(", cycle.size() - kShown, " more) -> ");
  error.message += concat("'", op(cycle.front()).name, "', remove one of these dependencies");
  return tl::unexpected<Error>(std::move(error));
}

bool Graph::isTopological(std::span<const OperatorId> order) const {
  if (order.size() != operatorList.size())
    return false;
  std::vector<bool> done(operatorList.size(), false);
  for (OperatorId id : order) {
    if (id.index() >= operatorList.size() || done[id.index()])
      return false;
    for (TensorId input : op(id).inputs)
      if (OperatorId producer = tensor(input).producer; producer.valid() && !done[producer.index()])
        return false;
    for (TensorId output : op(id).outputs)
      if (TensorId state = tensor(output).updates; state.valid())
        for (OperatorId reader : tensor(state).consumers)
          if (reader != id && !done[reader.index()])
            return false;
    done[id.index()] = true;
  }
  return true;
}

int64_t Graph::workingSetBytes(OperatorId id) const {
  const Operator &o = op(id);
  int64_t total = alignUp(o.workspaceBytes);
  for (const std::vector<TensorId> *list : {&o.inputs, &o.outputs})
    for (TensorId t : *list)
      total = saturatingAdd(total, alignUp(tensor(t).bytes));
  return total;
}

} // namespace sluice
