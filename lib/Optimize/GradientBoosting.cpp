//===- GradientBoosting.cpp -----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Optimize/GradientBoosting.h"

#include "sluice/Support/Rng.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace sluice {

void TrainingSet::add(std::span<const float> row, double target) {
  numFeatures = row.size();
  features.insert(features.end(), row.begin(), row.end());
  targets.push_back(target);
}

namespace {

constexpr size_t kMostBins = 64;

/// A feature's values, cut so that bins hold about as many rows each.
struct BinnedFeature {
  std::vector<float> upper;  ///< Per bin but the last: its greatest value.
  std::vector<uint8_t> bins; ///< Per row.
};

BinnedFeature binFeature(const TrainingSet &set, size_t feature) {
  const size_t rows = set.numRows();
  std::vector<float> values(rows);
  for (size_t i = 0; i < rows; ++i)
    values[i] = set.features[i * set.numFeatures + feature];
  std::vector<float> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  BinnedFeature binned;
  std::vector<float> distinct = sorted;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() <= kMostBins) {
    binned.upper.assign(distinct.begin(), distinct.end() - 1);
  } else {
    for (size_t bin = 1; bin < kMostBins; ++bin)
      binned.upper.push_back(sorted[bin * rows / kMostBins]);
    binned.upper.erase(std::unique(binned.upper.begin(), binned.upper.end()), binned.upper.end());
    if (binned.upper.back() == sorted.back())
      binned.upper.pop_back();
  }
  binned.bins.resize(rows);
  for (size_t i = 0; i < rows; ++i)
    binned.bins[i] = static_cast<uint8_t>(std::lower_bound(binned.upper.begin(), binned.upper.end(), values[i]) -
                                          binned.upper.begin());
  return binned;
}

struct Split {
  double gain = 0; ///< Of squares; 0: none.
  size_t feature = 0, bin = 0;
};

struct Leaf {
  uint32_t node = 0;
  std::vector<uint32_t> rows;
  double sum = 0; ///< Of residuals.
  Split split = {};
};

Split bestSplit(const std::vector<BinnedFeature> &features, const Leaf &leaf, std::span<const double> residuals,
                size_t leafRows) {
  Split best;
  const double all = static_cast<double>(leaf.rows.size()), parent = leaf.sum * leaf.sum / all;
  std::array<double, kMostBins + 1> sums;
  std::array<size_t, kMostBins + 1> counts;
  for (size_t f = 0; f < features.size(); ++f) {
    const size_t bins = features[f].upper.size() + 1;
    if (bins < 2)
      continue;
    std::fill_n(sums.begin(), bins, 0.0);
    std::fill_n(counts.begin(), bins, size_t(0));
    for (uint32_t row : leaf.rows) {
      sums[features[f].bins[row]] += residuals[row];
      ++counts[features[f].bins[row]];
    }
    double left = 0;
    size_t below = 0;
    for (size_t bin = 0; bin + 1 < bins; ++bin) {
      left += sums[bin];
      below += counts[bin];
      const size_t above = leaf.rows.size() - below;
      if (below < leafRows || above < leafRows)
        continue;
      const double right = leaf.sum - left;
      const double gain =
          left * left / static_cast<double>(below) + right * right / static_cast<double>(above) - parent;
      // What is only rounding is no gain.
      if (gain > best.gain && gain > 1e-12 * std::abs(parent))
        best = {gain, f, bin};
    }
  }
  return best;
}

} // namespace

BoostedTrees BoostedTrees::train(const TrainingSet &set, const BoostingParams &params) {
  const size_t rows = set.numRows();
  std::vector<BinnedFeature> features;
  for (size_t f = 0; f < set.numFeatures; ++f)
    features.push_back(binFeature(set, f));
  BoostedTrees model;
  model.base = std::accumulate(set.targets.begin(), set.targets.end(), 0.0) / static_cast<double>(rows);
  std::vector<double> residuals = set.targets;
  for (double &residual : residuals)
    residual -= model.base;

  for (int tree = 0; tree < params.trees; ++tree) {
    std::vector<Leaf> leaves(1);
    leaves[0].node = static_cast<uint32_t>(model.nodes.size());
    leaves[0].rows.resize(rows);
    std::iota(leaves[0].rows.begin(), leaves[0].rows.end(), 0u);
    leaves[0].sum = std::accumulate(residuals.begin(), residuals.end(), 0.0);
    leaves[0].split = bestSplit(features, leaves[0], residuals, params.leafRows);
    if (leaves[0].split.gain <= 0)
      break;
    model.roots.push_back(leaves[0].node);
    model.nodes.emplace_back();
    while (leaves.size() < static_cast<size_t>(params.leaves)) {
      size_t at = 0;
      for (size_t i = 1; i < leaves.size(); ++i)
        if (leaves[i].split.gain > leaves[at].split.gain)
          at = i;
      const Split split = leaves[at].split;
      if (split.gain <= 0)
        break;
      Leaf left, right;
      left.node = static_cast<uint32_t>(model.nodes.size());
      right.node = left.node + 1;
      for (uint32_t row : leaves[at].rows) {
        Leaf &side = features[split.feature].bins[row] <= split.bin ? left : right;
        side.rows.push_back(row);
        side.sum += residuals[row];
      }
      model.nodes[leaves[at].node] = {static_cast<int32_t>(split.feature), features[split.feature].upper[split.bin],
                                      left.node, right.node, 0};
      model.nodes.resize(model.nodes.size() + 2);
      for (Leaf *side : {&left, &right})
        side->split = bestSplit(features, *side, residuals, params.leafRows);
      leaves[at] = std::move(left);
      leaves.push_back(std::move(right));
    }
    for (const Leaf &leaf : leaves) {
      const double value = params.learningRate * leaf.sum / static_cast<double>(leaf.rows.size());
      model.nodes[leaf.node].value = value;
      for (uint32_t row : leaf.rows)
        residuals[row] -= value;
    }
  }
  return model;
}

double BoostedTrees::predict(std::span<const float> row) const {
  double sum = base;
  for (uint32_t at : roots) {
    while (nodes[at].feature >= 0)
      at = row[static_cast<size_t>(nodes[at].feature)] <= nodes[at].threshold ? nodes[at].left : nodes[at].right;
    sum += nodes[at].value;
  }
  return sum;
}

LinearModel LinearModel::train(const TrainingSet &set, double penalty) {
  const size_t n = set.numFeatures, rows = set.numRows();
  std::vector<double> means(n), matrix(n * n);
  LinearModel model;
  model.weights.resize(n);
  for (size_t i = 0; i < rows; ++i)
    for (size_t f = 0; f < n; ++f)
      means[f] += set.row(i)[f] / static_cast<double>(rows);
  const double mean = std::accumulate(set.targets.begin(), set.targets.end(), 0.0) / static_cast<double>(rows);
  std::vector<double> centred(n);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t f = 0; f < n; ++f)
      centred[f] = set.row(i)[f] - means[f];
    for (size_t a = 0; a < n; ++a) {
      model.weights[a] += centred[a] * (set.targets[i] - mean);
      for (size_t b = 0; b <= a; ++b)
        matrix[a * n + b] += centred[a] * centred[b];
    }
  }
  double trace = 0;
  for (size_t f = 0; f < n; ++f)
    trace += matrix[f * n + f];
  for (size_t f = 0; f < n; ++f)
    matrix[f * n + f] += std::max(penalty * trace / static_cast<double>(n), 1e-12);
  // Cholesky's factor, in place; then forward and back.
  for (size_t a = 0; a < n; ++a)
    for (size_t b = 0; b <= a; ++b) {
      double sum = matrix[a * n + b];
      for (size_t k = 0; k < b; ++k)
        sum -= matrix[a * n + k] * matrix[b * n + k];
      matrix[a * n + b] = a == b ? std::sqrt(std::max(sum, 1e-300)) : sum / matrix[b * n + b];
    }
  std::vector<double> &x = model.weights;
  for (size_t a = 0; a < n; ++a) {
    for (size_t k = 0; k < a; ++k)
      x[a] -= matrix[a * n + k] * x[k];
    x[a] /= matrix[a * n + a];
  }
  for (size_t a = n; a-- > 0;) {
    for (size_t k = a + 1; k < n; ++k)
      x[a] -= matrix[k * n + a] * x[k];
    x[a] /= matrix[a * n + a];
  }
  model.base = mean;
  for (size_t f = 0; f < n; ++f)
    model.base -= x[f] * means[f];
  return model;
}

double LinearModel::predict(std::span<const float> row) const {
  double sum = base;
  for (size_t f = 0; f < weights.size(); ++f)
    sum += weights[f] * row[f];
  return sum;
}

double kendallDistance(std::span<const double> truth, std::span<const double> predicted) {
  double differing = 0, otherwise = 0;
  for (size_t i = 0; i < truth.size(); ++i)
    for (size_t k = 0; k < i; ++k) {
      if (truth[i] == truth[k])
        continue;
      differing += 1;
      if (predicted[i] == predicted[k])
        otherwise += 0.5;
      else if ((truth[i] < truth[k]) != (predicted[i] < predicted[k]))
        otherwise += 1;
    }
  return differing > 0 ? otherwise / differing : 0;
}

Trainer boostedTrainer(const BoostingParams &params) {
  return [params](const TrainingSet &set) -> Predictor {
    return [trees = BoostedTrees::train(set, params)](std::span<const float> row) { return trees.predict(row); };
  };
}

Trainer linearTrainer() {
  return [](const TrainingSet &set) -> Predictor {
    return [model = LinearModel::train(set)](std::span<const float> row) { return model.predict(row); };
  };
}

std::vector<double> crossPredict(const TrainingSet &set, size_t folds, uint64_t seed, const Trainer &train) {
  std::vector<size_t> order(set.numRows());
  std::iota(order.begin(), order.end(), size_t(0));
  Rng rng(seed);
  rng.shuffle(order);
  std::vector<double> predicted(set.numRows());
  for (size_t fold = 0; fold < folds; ++fold) {
    TrainingSet others;
    for (size_t i = 0; i < order.size(); ++i)
      if (i % folds != fold)
        others.add(set.row(order[i]), set.targets[order[i]]);
    const Predictor predict = train(others);
    for (size_t i = fold; i < order.size(); i += folds)
      predicted[order[i]] = predict(set.row(order[i]));
  }
  return predicted;
}

} // namespace sluice
