//===- FoldedGraph.cpp - A graph with fewer layers ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/Repetition.h"

#include <algorithm>
#include <queue>

namespace sluice {

std::optional<FoldedGraph> FoldedGraph::of(const Graph &graph, const CostTable &costs, const Repetition &repetition,
                                           int64_t keptLayers) {
  if (keptLayers < 2 || repetition.layers <= keptLayers)
    return std::nullopt;
  FoldedGraph result(graph, repetition, keptLayers);
  if (!result.cutRuns() || !result.build(costs) || !result.folded.check())
    return std::nullopt;
  return result;
}

bool FoldedGraph::cutRuns() {
  const int64_t firstLeftOut = (keptLayers + 1) / 2, lastLeftOut = repetition.layers - keptLayers / 2 - 1;
  leftOut = lastLeftOut - firstLeftOut + 1;
  runOf.assign(full.numOperators(), -1);
  positionOf.resize(full.numOperators());
  for (size_t at = 0; at < repetition.order.size(); ++at)
    positionOf[repetition.order[at].index()] = at;
  for (size_t r = 0; r < repetition.runs.size(); ++r) {
    const BlockRun &run = repetition.runs[r];
    const int64_t first = run.isReversed ? run.layer - lastLeftOut : firstLeftOut - run.layer;
    const int64_t last = first + leftOut;
    if (first < 1 || last >= static_cast<int64_t>(run.count))
      return false;
    cuts.push_back({static_cast<size_t>(first), static_cast<size_t>(last)});
    for (size_t at = run.begin; at < run.end(); ++at)
      runOf[repetition.order[at].index()] = static_cast<int32_t>(r);
  }
  return true;
}

/// The tensor that stands for one that is left out: that of the block before the cut which is as many blocks before the
/// cut as this one is before the first block after it.
std::optional<TensorId> FoldedGraph::redirected(TensorId tensor) const {
  const OperatorId producer = full.tensor(tensor).producer;
  if (!producer.valid() || foldedOf[producer.index()].valid())
    return tensor;
  if (runOf[producer.index()] < 0)
    return std::nullopt;
  const BlockRun &run = repetition.runs[static_cast<size_t>(runOf[producer.index()])];
  const size_t by = static_cast<size_t>(leftOut) * run.period, at = positionOf[producer.index()];
  if (at < run.begin + by)
    return std::nullopt;
  const OperatorId other = repetition.order[at - by];
  if (!foldedOf[other.index()].valid())
    return std::nullopt;
  const std::vector<TensorId> &outputs = full.op(producer).outputs;
  return full.op(other)
      .outputs[static_cast<size_t>(std::find(outputs.begin(), outputs.end(), tensor) - outputs.begin())];
}

bool FoldedGraph::build(const CostTable &costs) {
  folded.name = full.name;
  folded.keepsOrder = full.keepsOrder;
  foldedOf.assign(full.numOperators(), OperatorId());
  table.numDevices = costs.numDevices;
  std::vector<TensorId> foldedTensor(full.numTensors());
  auto add = [&](auto &self, TensorId id) -> TensorId {
    TensorId &known = foldedTensor[id.index()];
    if (known.valid())
      return known;
    Tensor tensor = full.tensor(id);
    tensor.producer = {};
    tensor.consumers.clear();
    tensor.updatedBy = {};
    if (tensor.updates.valid())
      tensor.updates = self(self, tensor.updates);
    return known = folded.addTensor(std::move(tensor));
  };
  for (OperatorId id : repetition.order) {
    const int32_t r = runOf[id.index()];
    if (r >= 0) {
      const BlockRun &run = repetition.runs[static_cast<size_t>(r)];
      const Cut &cut = cuts[static_cast<size_t>(r)];
      const size_t block = (positionOf[id.index()] - run.begin) / run.period;
      if (block >= cut.first && block < cut.last)
        continue;
    }
    Operator op = full.op(id);
    std::vector<TensorId> inputs;
    std::vector<int32_t> newPosition;
    bool hadProducers = false, hasProducers = false;
    for (TensorId input : op.inputs) {
      newPosition.push_back(-1);
      const bool isWritten = full.tensor(input).producer.valid();
      hadProducers |= isWritten;
      std::optional<TensorId> source = redirected(input);
      if (r < 0 && source && *source != input)
        source.reset();
      if (!source) {
        if (r >= 0)
          return false;
        continue;
      }
      hasProducers |= isWritten;
      const TensorId own = add(add, *source);
      if (std::find(inputs.begin(), inputs.end(), own) != inputs.end())
        continue;
      newPosition.back() = static_cast<int32_t>(inputs.size());
      inputs.push_back(own);
    }
    if (hadProducers && !hasProducers)
      continue;
    op.inputs = std::move(inputs);
    std::vector<std::pair<uint32_t, uint32_t>> inPlace;
    for (auto [input, output] : op.inPlace)
      if (newPosition[input] >= 0)
        inPlace.emplace_back(static_cast<uint32_t>(newPosition[input]), output);
    op.inPlace = std::move(inPlace);
    for (TensorId &output : op.outputs)
      output = add(add, output);
    foldedOf[id.index()] = folded.addOperator(std::move(op));
    originalOf.push_back(id);
    for (size_t device = 0; device < costs.numDevices; ++device)
      table.operatorNs.push_back(costs.timeNs(id, DeviceId(device)));
  }
  return true;
}

std::vector<DeviceId> FoldedGraph::placement(std::span<const DeviceId> full) const {
  std::vector<DeviceId> own;
  for (OperatorId op : originalOf)
    own.push_back(full[op.index()]);
  return own;
}

/// The operator of the folded graph that decides for an operator of the full one; invalid if none does.
OperatorId FoldedGraph::sourceOf(OperatorId op) const {
  if (foldedOf[op.index()].valid() || runOf[op.index()] < 0)
    return foldedOf[op.index()];
  const BlockRun &run = repetition.runs[static_cast<size_t>(runOf[op.index()])];
  const Cut &cut = cuts[static_cast<size_t>(runOf[op.index()])];
  const size_t block = run.isReversed ? cut.last : cut.first - 1;
  return foldedOf[repetition.order[run.begin + block * run.period + (positionOf[op.index()] - run.begin) % run.period]
                      .index()];
}

std::vector<OperatorId> FoldedGraph::expandOrder(std::span<const OperatorId> order) const {
  std::vector<double> position(order.size());
  for (size_t at = 0; at < order.size(); ++at)
    position[order[at].index()] = static_cast<double>(at);
  // Where the mean operator of a block is.
  auto middleOf = [&](const BlockRun &run, size_t block) {
    double sum = 0;
    for (size_t at = run.begin + block * run.period; at < run.begin + (block + 1) * run.period; ++at)
      sum += position[foldedOf[repetition.order[at].index()].index()];
    return sum / static_cast<double>(run.period);
  };
  // Runs whose blocks alternate with each other, such as a backward pass and the updates of its weights, are cut at the
  // same time.
  struct Moment {
    double at = 0, distance = 0;
  };
  std::vector<Moment> moments;
  std::vector<size_t> momentOf;
  for (size_t r = 0; r < repetition.runs.size(); ++r) {
    const double before = middleOf(repetition.runs[r], cuts[r].first - 1),
                 after = middleOf(repetition.runs[r], cuts[r].last);
    const Moment own{(before + after) / 2, std::max(after - before, 1.0)};
    const auto same = std::find_if(moments.begin(), moments.end(), [&](const Moment &moment) {
      return std::abs(moment.at - own.at) < std::max(moment.distance, own.distance);
    });
    momentOf.push_back(static_cast<size_t>(same - moments.begin()));
    if (same == moments.end())
      moments.push_back(own);
    else
      same->distance = std::max(same->distance, own.distance);
  }
  const auto periods = static_cast<double>(leftOut);
  // The position of a kept operator among all.
  auto keyOf = [&](OperatorId op) {
    const double at = position[foldedOf[op.index()].index()];
    const int32_t r = runOf[op.index()];
    double key = at;
    for (size_t m = 0; m < moments.size(); ++m) {
      bool isAfter = at > moments[m].at;
      if (r >= 0 && momentOf[static_cast<size_t>(r)] == m) {
        const BlockRun &run = repetition.runs[static_cast<size_t>(r)];
        isAfter = (positionOf[op.index()] - run.begin) / run.period >= cuts[static_cast<size_t>(r)].last;
      }
      key += isAfter ? moments[m].distance * periods : 0;
    }
    return key;
  };
  std::vector<double> keys(full.numOperators(), -1);
  for (OperatorId op : repetition.order) {
    const int32_t r = runOf[op.index()];
    double &key = keys[op.index()];
    if (foldedOf[op.index()].valid()) {
      key = keyOf(op);
    } else if (r < 0) {
      // Right after its operands.
      for (OperatorId before : full.predecessors(op))
        key = std::max(key, keys[before.index()]);
    } else {
      const BlockRun &run = repetition.runs[static_cast<size_t>(r)];
      const size_t block = (positionOf[op.index()] - run.begin) / run.period;
      const OperatorId source = originalOf[sourceOf(op).index()];
      const size_t sourceBlock = (positionOf[source.index()] - run.begin) / run.period;
      const double distance = moments[momentOf[static_cast<size_t>(r)]].distance;
      key = keyOf(source) + (static_cast<double>(block) - static_cast<double>(sourceBlock)) * distance;
    }
  }
  // List scheduling by these keys, which makes the order topological wherever they contradict the operands.
  std::vector<size_t> open(full.numOperators());
  std::vector<std::vector<OperatorId>> readers(full.numOperators());
  using Entry = std::pair<double, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (OperatorId op : repetition.order) {
    const std::vector<OperatorId> before = full.predecessors(op);
    open[op.index()] = before.size();
    for (OperatorId other : before)
      readers[other.index()].push_back(op);
    if (before.empty())
      ready.emplace(keys[op.index()], positionOf[op.index()]);
  }
  std::vector<OperatorId> result;
  while (!ready.empty()) {
    const OperatorId op = repetition.order[ready.top().second];
    ready.pop();
    result.push_back(op);
    for (OperatorId reader : readers[op.index()])
      if (--open[reader.index()] == 0)
        ready.emplace(keys[reader.index()], positionOf[reader.index()]);
  }
  return result;
}

Recomputation FoldedGraph::expandRecomputation(const Recomputation &recomputation) const {
  std::vector<char> isAgain(folded.numOperators(), 0);
  for (OperatorId op : recomputation.again)
    isAgain[op.index()] = 1;
  Recomputation result;
  result.late.assign(full.numOperators(), false);
  for (size_t i = 0; i < full.numOperators(); ++i) {
    const OperatorId source = sourceOf(OperatorId(i));
    if (!source.valid())
      continue;
    result.late[i] = recomputation.late[source.index()];
    if (isAgain[source.index()] && full.isRepeatable(OperatorId(i)))
      result.again.push_back(OperatorId(i));
  }
  return result;
}

} // namespace sluice
