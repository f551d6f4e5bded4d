//===- ReportGraph.cpp - Where operators are drawn ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Report.h"

#include <algorithm>
#include <numeric>

namespace sluice {

namespace {
/// Operators by layer, in drawing order.
class Layers {
public:
  Layers(const Graph &graph, const std::vector<OperatorId> &order) : graph(graph), places(graph.numOperators()) {
    for (OperatorId op : order)
      for (OperatorId before : graph.predecessors(op))
        places[op.index()].layer = std::max(places[op.index()].layer, places[before.index()].layer + 1);
    for (size_t i = 0; i < places.size(); ++i) {
      layers.resize(std::max<size_t>(layers.size(), places[i].layer + 1));
      places[i].row = static_cast<uint32_t>(layers[places[i].layer].size());
      layers[places[i].layer].push_back(OperatorId(i));
    }
  }

  /// Sorts each layer by the mean row of what it reads, or of what reads it.
  void sweep(bool forward) {
    for (size_t i = 0; i < layers.size(); ++i) {
      std::vector<OperatorId> &layer = layers[forward ? i : layers.size() - 1 - i];
      std::vector<std::pair<double, OperatorId>> keyed;
      for (OperatorId op : layer) {
        const std::vector<OperatorId> others = forward ? graph.predecessors(op) : graph.successors(op);
        double sum = 0;
        for (OperatorId other : others)
          sum += share(other);
        keyed.emplace_back(others.empty() ? share(op) : sum / static_cast<double>(others.size()), op);
      }
      std::stable_sort(keyed.begin(), keyed.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
      for (size_t row = 0; row < keyed.size(); ++row) {
        layer[row] = keyed[row].second;
        places[keyed[row].second.index()].row = static_cast<uint32_t>(row);
      }
    }
  }

  std::vector<GraphPlace> take() { return std::move(places); }

private:
  const Graph &graph;
  std::vector<GraphPlace> places;
  std::vector<std::vector<OperatorId>> layers;

  /// Where in its layer an operator is drawn, from the layer's middle: layers
  /// are centred.
  double share(OperatorId op) const {
    const GraphPlace &place = places[op.index()];
    return place.row - (static_cast<double>(layers[place.layer].size()) - 1) / 2;
  }
};
} // namespace

std::vector<GraphPlace> layoutGraph(const Graph &graph) {
  Expected<std::vector<OperatorId>> order = graph.topologicalOrder();
  if (!order)
    return std::vector<GraphPlace>(graph.numOperators());
  Layers layers(graph, *order);
  for (int i = 0; i < 4; ++i) {
    layers.sweep(/*forward=*/true);
    layers.sweep(/*forward=*/false);
  }
  layers.sweep(/*forward=*/true);
  return layers.take();
}

} // namespace sluice
