//===- GradientBoosting.h - Regression by boosted trees ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Least-squares boosting with shrinkage (Friedman, "Greedy Function
// Approximation: A Gradient Boosting Machine", Annals of Statistics 2001,
// algorithm 2 and section 5), trees grown best leaf first over binned features
// (Ke et al., "LightGBM", NeurIPS 2017, sections 2.1 and 3). Beside it the linear
// model and the measure of rank that predictors are compared by.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_OPTIMIZE_GRADIENTBOOSTING_H
#define SLUICE_OPTIMIZE_GRADIENTBOOSTING_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sluice {

/// Examples to learn from. All numbers are finite.
struct TrainingSet {
  size_t numFeatures = 0;
  std::vector<float> features; ///< [row * numFeatures + feature]
  std::vector<double> targets; ///< Per row.

  size_t numRows() const { return targets.size(); }
  std::span<const float> row(size_t i) const { return {features.data() + i * numFeatures, numFeatures}; }
  void add(std::span<const float> row, double target);
};

struct BoostingParams {
  int trees = 200;
  int leaves = 8;
  double learningRate = 0.1;
  /// Examples a leaf keeps at least.
  size_t leafRows = 3;
};

class BoostedTrees {
public:
  /// At least one row. Deterministic.
  static BoostedTrees train(const TrainingSet &set, const BoostingParams &params = {});
  double predict(std::span<const float> row) const;

private:
  struct Node {
    int32_t feature = -1; ///< Negative: a leaf.
    float threshold = 0;  ///< At most this: to the left.
    uint32_t left = 0, right = 0;
    double value = 0;
  };
  std::vector<Node> nodes;
  std::vector<uint32_t> roots;
  double base = 0;
};

/// Least squares with a small penalty on the weights (ridge regression), so that
/// features that depend on each other have a solution.
class LinearModel {
public:
  /// At least one row; `penalty` positive, relative to the features' mean square.
  static LinearModel train(const TrainingSet &set, double penalty = 1e-3);
  double predict(std::span<const float> row) const;

private:
  std::vector<double> weights;
  double base = 0;
};

/// The share of pairs, of those that truly differ, which a prediction orders the
/// other way round, one that it does not tell apart counting half (normalised
/// Kendall tau distance): 0 alike, 1 reversed, 0.5 by chance. 0 where no pair
/// differs.
double kendallDistance(std::span<const double> truth, std::span<const double> predicted);

using Predictor = std::function<double(std::span<const float>)>;
using Trainer = std::function<Predictor(const TrainingSet &)>;
Trainer boostedTrainer(const BoostingParams &params = {});
Trainer linearTrainer();
/// Every row's prediction by a model that has not seen it: trained on the other
/// folds of `folds` (at least 2), into which rows are dealt at random. At least
/// as many rows as folds.
std::vector<double> crossPredict(const TrainingSet &set, size_t folds, uint64_t seed, const Trainer &train);

} // namespace sluice

#endif // SLUICE_OPTIMIZE_GRADIENTBOOSTING_H
