//===- LearnedCostModel.h - Times of unmeasured operators -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Boosted trees over operators' shapes, trained on a device's measurements in a profile. The trees learn the factor by
// which the roofline model errs, and not the time itself: trees cannot extrapolate beyond the sizes of their training
// data, and the roofline model can.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COST_LEARNEDCOSTMODEL_H
#define SLUICE_COST_LEARNEDCOSTMODEL_H

#include "sluice/Cost/Profile.h"
#include "sluice/Optimize/GradientBoosting.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Errors in five-fold cross-validation: the geometric mean of the factors, at least 1, by
/// which predictions differ from measurements of operators outside the training data.
struct PredictorQuality {
  std::string device; ///< The deviceKey() of the device.
  size_t operators = 0;
  /// The errors of the learned model, of a linear model that learns from the same operators, and of the roofline model.
  double learned = 1, linear = 1, roofline = 1;
};

class LearnedCostModel final : public CostModel {
public:
  /// A device is learned if at least this number of operators were measured on it.
  static constexpr size_t kLeastOperators = 20;

  /// Learns each device of the machine with enough measurements in the profile. Deterministic.
  LearnedCostModel(const Profile &profile, const Machine &machine);
  /// Returns the roofline time for a device that was not learned.
  int64_t operatorTimeNs(const Graph &graph, OperatorId op, const Device &device) const override;

private:
  struct Learned {
    std::vector<std::string> kinds;
    BoostedTrees trees;
  };
  std::map<std::string, Learned> byDevice; ///< The keys are results of deviceKey().
};

/// The quality for each kind of computing device that can be learned, in the machine's order.
std::vector<PredictorQuality> measurePredictor(const Profile &profile, const Machine &machine);

} // namespace sluice

#endif // SLUICE_COST_LEARNEDCOSTMODEL_H
