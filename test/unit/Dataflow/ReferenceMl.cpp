//===- ReferenceMl.cpp - Trees and votes ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Reference.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

/// Numbers out of range: negative ones are above all others.
static int64_t clamped(double number, int64_t greatest) {
  return number < 0 ? greatest : std::min(static_cast<int64_t>(number), greatest);
}

static Tensor treeEnsemble(TreeEnsembleOp op, Environment &values) {
  const Tensor &x = values.at(op.getInput()), &nodes = values.at(op.getNodes()),
               &thresholds = values.at(op.getThresholds()), &roots = values.at(op.getRoots()),
               &leaves = values.at(op.getLeaves()), &targets = values.at(op.getTargets()),
               &weights = values.at(op.getWeights());
  const int64_t count = nodes.shape()[0], most = count + leaves.size();
  Tensor out(op.getType());
  for (int64_t row = 0; row < x.shape()[0]; ++row) {
    std::vector<std::optional<double>> sums(out.shape()[1]);
    for (int64_t tree = 0; tree < roots.size(); ++tree) {
      int64_t node = clamped(roots.get(tree), most);
      while (node < count) {
        const double value = x.at({row, clamped(nodes.at({node, 0}), x.shape()[1] - 1)}),
                     threshold = thresholds.get(node);
        const int outcome = std::isnan(value) || std::isnan(threshold) ? 8
                            : value < threshold                        ? 4
                            : value > threshold                        ? 2
                                                                       : 1;
        const auto test =
            op.getTest() ? static_cast<int>(*op.getTest()) : static_cast<int>(values.at(op.getTests()).get(node));
        node = std::max(node + 1, clamped(nodes.at({node, test & outcome ? 1 : 2}), most));
      }
      const int64_t leaf = std::min(node - count, leaves.size() - 2);
      const int64_t end = clamped(leaves.get(leaf + 1), weights.size());
      for (int64_t i = clamped(leaves.get(leaf), weights.size()); i < end; ++i) {
        std::optional<double> &sum = sums[clamped(targets.get(i), out.shape()[1] - 1)];
        const double weight = weights.get(i);
        sum = !sum                              ? weight
              : op.getKind() == ReduceKind::sum ? *sum + weight
              : op.getKind() == ReduceKind::max ? std::max(*sum, weight)
                                                : std::min(*sum, weight);
      }
    }
    for (size_t target = 0; target < sums.size(); ++target)
      out.set(out.linearOf({row, static_cast<int64_t>(target)}), sums[target].value_or(0));
  }
  return out;
}

/// Algorithm 2 of Wu, Lin and Weng.
static Tensor coupled(CoupleProbabilitiesOp op, const Tensor &pairs) {
  Tensor out(op.getType());
  const auto k = static_cast<size_t>(out.shape()[1]);
  for (int64_t row = 0; row < out.shape()[0]; ++row) {
    std::vector<std::vector<double>> r(k, std::vector<double>(k)), q = r;
    int64_t pair = 0;
    for (size_t i = 0; i < k; ++i)
      for (size_t j = i + 1; j < k; ++j) {
        r[i][j] = pairs.at({row, pair++});
        r[j][i] = 1 - r[i][j];
      }
    for (size_t i = 0; i < k; ++i)
      for (size_t j = 0; j < k; ++j) {
        q[i][i] += i == j ? 0 : r[j][i] * r[j][i];
        if (i != j)
          q[i][j] = -r[j][i] * r[i][j];
      }
    std::vector<double> p(k, 1.0 / static_cast<double>(k)), qp(k);
    for (size_t step = 0; step < std::max<size_t>(100, k); ++step) {
      double all = 0, worst = 0;
      for (size_t i = 0; i < k; ++i) {
        qp[i] = 0;
        for (size_t j = 0; j < k; ++j)
          qp[i] += q[i][j] * p[j];
        all += p[i] * qp[i];
      }
      for (size_t i = 0; i < k; ++i)
        worst = std::max(worst, std::abs(qp[i] - all));
      if (worst < 0.005 / static_cast<double>(k))
        break;
      for (size_t t = 0; t < k; ++t) {
        const double change = (all - qp[t]) / q[t][t], scale = 1 + change;
        p[t] += change;
        all = (all + change * (change * q[t][t] + 2 * qp[t])) / scale / scale;
        for (size_t j = 0; j < k; ++j) {
          qp[j] = (qp[j] + change * q[t][j]) / scale;
          p[j] /= scale;
        }
      }
    }
    for (size_t i = 0; i < k; ++i)
      out.set(out.linearOf({row, static_cast<int64_t>(i)}), p[i]);
  }
  return out;
}

bool interpretMl(Operation *op, Environment &values) {
  if (auto trees = dyn_cast<TreeEnsembleOp>(op))
    return values.insert({trees.getResult(), treeEnsemble(trees, values)}), true;
  if (auto couple = dyn_cast<CoupleProbabilitiesOp>(op))
    return values.insert({couple.getResult(), coupled(couple, values.at(couple.getPairs()))}), true;
  return false;
}

} // namespace sluice::test
