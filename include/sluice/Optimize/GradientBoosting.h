//===- GradientBoosting.h - Regression by boosted trees ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Least-squares boosting with shrinkage (Friedman, "Greedy Function
// Approximation: A Gradient Boosting Machine", Annals of Statistics 2001,
// algorithm 2 and section 5). The trees grow at the best leaf first, over binned features (Ke et al., "LightGBM",
// NeurIPS 2017, sections 2.1 and 3). The file also has the linear model and the rank distance with which predictors are
// compared.
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

/// Training examples. All numbers must be finite.
struct TrainingSet {
  size_t numFeatures = 0;
  std::vector<float> features; ///< [row * numFeatures + feature]
  std::vector<double> targets; ///< The target of each row.

  size_t numRows() const { return targets.size(); }
  std::span<const float> row(size_t i) const { return {features.data() + i * numFeatures, numFeatures}; }
  void add(std::span<const float> row, double target);
};

struct BoostingParams {
  int trees = 200;
  int leaves = 8;
  double learningRate = 0.1;
  /// The least number of examples in a leaf.
  size_t leafRows = 3;
};

class BoostedTrees {
public:
  /// Requires at least one row. Deterministic.
  static BoostedTrees train(const TrainingSet &set, const BoostingParams &params = {});
  double predict(std::span<const float> row) const;

private:
  struct Node {
    int32_t feature = -1; ///< Negative: a leaf.
    float threshold = 0;  ///< Values up to this one continue to the left.
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
  /// Requires at least one row and a positive `penalty`, which is relative to the features' mean square.
  static LinearModel train(const TrainingSet &set, double penalty = 1e-3);
  double predict(std::span<const float> row) const;

private:
  std::vector<double> weights;
  double base = 0;
};

/// Normalised Kendall tau distance: the fraction of pairs with different true values that the
/// prediction orders the other way round. A pair with equal predictions counts half. The
/// distance is 0 for the same order, 1 for the reversed order, 0.5 on average for a random order,
/// and 0 if no pair has different true values.
double kendallDistance(std::span<const double> truth, std::span<const double> predicted);

using Predictor = std::function<double(std::span<const float>)>;
using Trainer = std::function<Predictor(const TrainingSet &)>;
Trainer boostedTrainer(const BoostingParams &params = {});
Trainer linearTrainer();
/// Cross-validation: predicts every row by a model that is trained on the other folds. Rows
/// are assigned to `folds` folds (at least 2) at random. Requires at least as many rows as
/// folds.
std::vector<double> crossPredict(const TrainingSet &set, size_t folds, uint64_t seed, const Trainer &train);

} // namespace sluice

#endif // SLUICE_OPTIMIZE_GRADIENTBOOSTING_H
