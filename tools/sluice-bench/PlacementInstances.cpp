//===- PlacementInstances.cpp ---------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PlacementInstances.h"

#include <algorithm>
#include <cmath>

namespace sluice::bench {
namespace {

using Edges = std::vector<std::vector<size_t>>; ///< Per operator: those it reads from.

Edges layered(size_t operators, Rng &rng) {
  Edges from(operators);
  const size_t width = std::max<size_t>(1, static_cast<size_t>(std::sqrt(static_cast<double>(operators))));
  size_t begin = 0, previous = 0;
  while (begin < operators) {
    const size_t end = std::min(operators, begin + 1 + rng.below(2 * width - 1 > 0 ? 2 * width - 1 : 1));
    for (size_t i = begin; i < end && begin > 0; ++i)
      for (size_t k = 1 + rng.below(3); k > 0; --k)
        from[i].push_back(rng.chance(0.8) ? previous + rng.below(begin - previous) : rng.below(begin));
    previous = begin;
    begin = end;
  }
  return from;
}

/// Forks of random width that join again, one after the other.
Edges forkJoin(size_t operators, Rng &rng) {
  Edges from(1);
  size_t fork = 0;
  while (from.size() + 2 <= operators) {
    const size_t width = std::min<size_t>(1 + rng.below(12), operators - from.size() - 1);
    std::vector<size_t> branches;
    for (size_t i = 0; i < width; ++i) {
      from.push_back({fork});
      branches.push_back(from.size() - 1);
    }
    from.push_back(branches);
    fork = from.size() - 1;
  }
  return from;
}

/// Of an m x m matrix: a pivot and the columns behind it, m - 1 times.
Edges gauss(size_t operators) {
  size_t m = 2;
  while ((m + 1) * (m + 2) / 2 - 1 <= operators)
    ++m;
  Edges from;
  std::vector<size_t> column(m, SIZE_MAX);
  for (size_t k = 0; k + 1 < m; ++k) {
    const size_t pivot = from.size();
    from.emplace_back();
    if (column[k] != SIZE_MAX)
      from.back().push_back(column[k]);
    for (size_t j = k + 1; j < m; ++j) {
      from.push_back({pivot});
      if (column[j] != SIZE_MAX)
        from.back().push_back(column[j]);
      column[j] = from.size() - 1;
    }
  }
  return from;
}

/// Recursive calls down to single points, then butterflies.
Edges fft(size_t operators) {
  size_t points = 2, levels = 1;
  while (2 * (2 * points) - 1 + 2 * points * (levels + 1) <= operators) {
    points *= 2;
    ++levels;
  }
  Edges from(2 * points - 1);
  for (size_t i = 1; i < from.size(); ++i)
    from[i].push_back((i - 1) / 2);
  size_t before = points - 1; // The calls' leaves.
  for (size_t level = 0; level < levels; ++level) {
    const size_t begin = from.size();
    for (size_t i = 0; i < points; ++i)
      from.push_back({before + i, before + (i ^ (size_t(1) << level))});
    before = begin;
  }
  return from;
}

Machine makeStar(size_t devices) {
  Machine machine;
  machine.name = "star";
  machine.memories.push_back({"host"});
  for (size_t i = 0; i < devices; ++i) {
    Device device;
    device.name = i == 0 ? "cpu" : concat("accel", i - 1);
    device.kind = i == 0 ? DeviceKind::Cpu : DeviceKind::Emulated;
    device.memory = Machine::hostMemory();
    if (i > 0) {
      device.memory = MemoryId(machine.memories.size());
      machine.memories.push_back({device.name});
      Link link{Machine::hostMemory(), device.memory};
      link.bytesPerSec = 1e10;
      link.duplexBytesPerSec = 2e10;
      link.latencyNs = 1000;
      machine.links.push_back(link);
    }
    machine.devices.push_back(device);
  }
  return machine;
}

} // namespace

std::vector<std::string> placementFamilies() { return {"layered", "fork-join", "gauss", "fft"}; }

PlacementInstance makePlacementInstance(const InstanceSpec &spec) {
  Rng rng(spec.seed);
  PlacementInstance instance;
  instance.machine = makeStar(spec.devices);
  Graph &graph = instance.graph;
  graph.name = concat(spec.family, spec.operators, "-", spec.seed);
  Edges from;
  if (spec.family == "fork-join")
    from = forkJoin(spec.operators, rng);
  else if (spec.family == "gauss")
    from = gauss(spec.operators);
  else if (spec.family == "fft")
    from = fft(spec.operators);
  else
    from = layered(spec.operators, rng);

  constexpr double kMeanNs = 50'000;
  auto tensor = [&](TensorKind kind) {
    Tensor tensor;
    tensor.name = concat("t", graph.numTensors());
    tensor.kind = kind;
    const double ns = kMeanNs * spec.communication * 2 * rng.uniform();
    tensor.bytes = static_cast<int64_t>(ns * instance.machine.links.front().bytesPerSec * 1e-9);
    return graph.addTensor(tensor);
  };
  std::vector<uint8_t> read(from.size());
  for (std::vector<size_t> &sources : from) {
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    for (size_t source : sources)
      read[source] = 1;
  }
  instance.costs.numDevices = spec.devices;
  std::vector<TensorId> made;
  for (size_t i = 0; i < from.size(); ++i) {
    Operator op;
    op.name = concat("op", i);
    op.kind = "any";
    for (size_t source : from[i])
      op.inputs.push_back(made[source]);
    if (from[i].empty())
      op.inputs.push_back(tensor(TensorKind::Input));
    made.push_back(tensor(TensorKind::Activation));
    graph.mutableTensor(made.back()).isOutput = !read[i];
    op.outputs = {made.back()};
    graph.addOperator(op);
    const double mean = kMeanNs * 2 * rng.uniform();
    for (size_t d = 0; d < spec.devices; ++d)
      instance.costs.operatorNs.push_back(
          1 + static_cast<int64_t>(mean * (1 + spec.heterogeneity * (2 * rng.uniform() - 1))));
  }
  return instance;
}

PlacementInstance makeMnistSoftmax() {
  PlacementInstance instance;
  Graph &graph = instance.graph;
  graph.name = "mnist-softmax";
  constexpr int64_t kBatch = 100, kPixels = 28 * 28, kClasses = 10, kFloat = 4;
  auto tensor = [&](const char *name, TensorKind kind, int64_t elements, bool output = false) {
    Tensor tensor;
    tensor.name = name;
    tensor.kind = kind;
    tensor.bytes = elements * kFloat;
    tensor.isOutput = output;
    return graph.addTensor(tensor);
  };
  auto op = [&](const char *name, const char *kind, std::vector<TensorId> inputs, TensorId output, int64_t flops) {
    Operator op;
    op.name = name;
    op.kind = kind;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    op.flops = flops;
    graph.addOperator(op);
    return output;
  };
  const auto act = TensorKind::Activation;
  const TensorId images = tensor("images", TensorKind::Input, kBatch * kPixels);
  const TensorId labels = tensor("labels", TensorKind::Input, kBatch * kClasses);
  const TensorId weights = tensor("weights", TensorKind::State, kPixels * kClasses);
  const TensorId bias = tensor("bias", TensorKind::State, kClasses);
  const int64_t scores = kBatch * kClasses;
  const int64_t product = 2 * kBatch * kPixels * kClasses;
  TensorId xw = op("matmul", "matmul", {images, weights}, tensor("xw", act, scores), product);
  TensorId logits = op("add_bias", "elementwise", {xw, bias}, tensor("logits", act, scores), scores);
  TensorId softmax = op("softmax", "softmax", {logits}, tensor("softmax", act, scores), 5 * scores);
  TensorId entropy = op("entropy", "reduce", {softmax, labels}, tensor("entropy", act, kBatch), 3 * scores);
  op("loss", "reduce", {entropy}, tensor("loss", act, 1, true), kBatch);
  TensorId slope = op("slope", "elementwise", {softmax, labels}, tensor("slope", act, scores), 2 * scores);
  TensorId dw = op("weights_gradient", "matmul", {images, slope}, tensor("dw", act, kPixels * kClasses), product);
  TensorId db = op("bias_gradient", "reduce", {slope}, tensor("db", act, kClasses), scores);
  TensorId newWeights = tensor("new_weights", act, kPixels * kClasses), newBias = tensor("new_bias", act, kClasses);
  op("update_weights", "elementwise", {weights, dw}, newWeights, 2 * kPixels * kClasses);
  op("update_bias", "elementwise", {bias, db}, newBias, 2 * kClasses);
  graph.setUpdates(newWeights, weights);
  graph.setUpdates(newBias, bias);

  Machine &machine = instance.machine;
  machine = makeStar(3);
  machine.name = "cpu and two gpus";
  const struct {
    double flops, bytes;
    int64_t overheadNs;
  } kDevices[] = {{1e11, 2e10, 1000}, {4e12, 2e11, 6000}, {2e12, 1e11, 6000}};
  for (size_t d = 0; d < 3; ++d) {
    machine.devices[d].flopsPerSec = kDevices[d].flops;
    machine.devices[d].memoryBytesPerSec = kDevices[d].bytes;
    machine.devices[d].launchOverheadNs = kDevices[d].overheadNs;
  }
  for (Link &link : machine.links) {
    link.bytesPerSec = 1.2e10;
    link.duplexBytesPerSec = 2.4e10;
    link.latencyNs = 8000;
  }
  instance.costs = makeCostTable(graph, machine, RooflineCostModel());
  return instance;
}

} // namespace sluice::bench
