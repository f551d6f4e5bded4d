//===- LearnedCostModel.cpp -----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Cost/LearnedCostModel.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace sluice {
namespace {

constexpr size_t kFolds = 5;

double logOf(int64_t value) { return std::log1p(static_cast<double>(value)); }

/// Sizes, their ratios, and which kind it is.
std::vector<float> featuresOf(const OperatorShape &shape, const Device &device, const std::vector<std::string> &kinds) {
  const double flops = logOf(shape.flops), moved = logOf(shape.bytesMoved);
  std::vector<float> row;
  for (double value : {flops, moved, flops - moved, logOf(shape.inputBytes), logOf(shape.parameterBytes),
                       logOf(shape.outputBytes), logOf(shape.inputBytes) - logOf(shape.outputBytes),
                       logOf(shape.workspaceBytes), logOf(rooflineTimeNs(shape, device))})
    row.push_back(static_cast<float>(value));
  for (const std::string &kind : kinds)
    row.push_back(kind == shape.kind);
  return row;
}

/// What was measured of a device, and by what factor the roofline errs there.
struct Examples {
  std::vector<std::string> kinds;
  TrainingSet set;
};

Examples examplesOf(const Profile &profile, const Device &device) {
  Examples examples;
  const std::string key = deviceKey(device);
  std::set<std::string> kinds;
  for (const auto &[what, measured] : profile.operators)
    if (what.second == key && !measured.shape.kind.empty())
      kinds.insert(measured.shape.kind);
  examples.kinds.assign(kinds.begin(), kinds.end());
  for (const auto &[what, measured] : profile.operators)
    if (what.second == key && !measured.shape.kind.empty())
      examples.set.add(featuresOf(measured.shape, device, examples.kinds),
                       std::log(static_cast<double>(measured.medianNs) /
                                static_cast<double>(rooflineTimeNs(measured.shape, device))));
  return examples;
}

double meanFactor(const std::vector<double> &truth, const std::vector<double> &predicted) {
  double sum = 0;
  for (size_t i = 0; i < truth.size(); ++i)
    sum += std::abs(truth[i] - predicted[i]);
  return std::exp(sum / static_cast<double>(truth.size()));
}

} // namespace

LearnedCostModel::LearnedCostModel(const Profile &profile, const Machine &machine) {
  for (const Device &device : machine.devices) {
    if (!device.computes || byDevice.contains(deviceKey(device)))
      continue;
    Examples examples = examplesOf(profile, device);
    if (examples.set.numRows() >= kLeastOperators)
      byDevice.emplace(deviceKey(device), Learned{std::move(examples.kinds), BoostedTrees::train(examples.set)});
  }
}

int64_t LearnedCostModel::operatorTimeNs(const Graph &graph, OperatorId op, const Device &device) const {
  const OperatorShape shape = shapeOf(graph, op);
  const int64_t roofline = rooflineTimeNs(shape, device);
  auto learned = byDevice.find(deviceKey(device));
  if (learned == byDevice.end())
    return roofline;
  const double factor = std::exp(learned->second.trees.predict(featuresOf(shape, device, learned->second.kinds)));
  return static_cast<int64_t>(std::clamp(static_cast<double>(roofline) * factor, 1.0, 0x1p61));
}

std::vector<PredictorQuality> measurePredictor(const Profile &profile, const Machine &machine) {
  std::vector<PredictorQuality> all;
  std::set<std::string> known;
  for (const Device &device : machine.devices) {
    if (!device.computes || !known.insert(deviceKey(device)).second)
      continue;
    const Examples examples = examplesOf(profile, device);
    const TrainingSet &set = examples.set;
    if (set.numRows() < LearnedCostModel::kLeastOperators)
      continue;
    PredictorQuality quality;
    quality.device = deviceKey(device);
    quality.operators = set.numRows();
    quality.learned = meanFactor(set.targets, crossPredict(set, kFolds, 0, boostedTrainer()));
    quality.linear = meanFactor(set.targets, crossPredict(set, kFolds, 0, linearTrainer()));
    quality.roofline = meanFactor(set.targets, std::vector<double>(set.numRows()));
    all.push_back(std::move(quality));
  }
  return all;
}

} // namespace sluice
