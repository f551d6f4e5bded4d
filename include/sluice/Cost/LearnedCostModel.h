//===- LearnedCostModel.h - Times of shapes never measured ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Boosted trees over operators' shapes, trained on what a profile has of a
// device. They learn by what factor the roofline errs: trees know nothing beyond
// the sizes they have seen, the roofline does.
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

/// Five-fold errors: by which factor, at least 1, predictions are off in the
/// geometric mean, for operators that the predictor was not shown.
struct PredictorQuality {
  std::string device; ///< deviceKey
  size_t operators = 0;
  double learned = 1, linear = 1, roofline = 1;
};

class LearnedCostModel final : public CostModel {
public:
  /// Operators that a device needs in a profile to be learned from.
  static constexpr size_t kLeastOperators = 20;

  /// For each device of the machine of which the profile has enough. Deterministic.
  LearnedCostModel(const Profile &profile, const Machine &machine);
  /// The roofline's where nothing was learned of the device.
  int64_t operatorTimeNs(const Graph &graph, OperatorId op, const Device &device) const override;

private:
  struct Learned {
    std::vector<std::string> kinds;
    BoostedTrees trees;
  };
  std::map<std::string, Learned> byDevice; ///< By deviceKey.
};

/// Of each kind of computing device that can be learned of, in the machine's order.
std::vector<PredictorQuality> measurePredictor(const Profile &profile, const Machine &machine);

} // namespace sluice

#endif // SLUICE_COST_LEARNEDCOSTMODEL_H
