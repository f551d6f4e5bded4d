//===- LearningTest.cpp - Boosted trees, linear models, TPE ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Optimize/GradientBoosting.h"
#include "sluice/Optimize/Tpe.h"
#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace sluice;

namespace {

/// What a row's target is: a line, a product of two features, or a step.
TrainingSet makeSet(size_t rows, uint64_t seed, double (*target)(std::span<const float>)) {
  TrainingSet set;
  Rng rng(seed);
  for (size_t i = 0; i < rows; ++i) {
    std::vector<float> row(4);
    for (float &value : row)
      value = static_cast<float>(rng.uniform());
    set.add(row, target(row));
  }
  return set;
}

double line(std::span<const float> row) { return 3 + 2 * row[0] - row[2]; }
double corners(std::span<const float> row) { return (row[0] > 0.5f) != (row[1] > 0.5f) ? 5 : 1; }

double meanError(const TrainingSet &set, const Predictor &predict) {
  double sum = 0;
  for (size_t i = 0; i < set.numRows(); ++i)
    sum += std::abs(set.targets[i] - predict(set.row(i)));
  return sum / static_cast<double>(set.numRows());
}

} // namespace

TEST_CASE("boosted trees learn what no line can", "[optimize]") {
  const TrainingSet seen = makeSet(400, 1, corners), unseen = makeSet(200, 2, corners);
  CHECK(meanError(unseen, boostedTrainer()(seen)) < 0.4);
  CHECK(meanError(unseen, linearTrainer()(seen)) > 1.5);
}

TEST_CASE("a linear model finds a line", "[optimize]") {
  const TrainingSet seen = makeSet(100, 1, line), unseen = makeSet(100, 2, line);
  CHECK(meanError(unseen, linearTrainer()(seen)) < 0.02);
  CHECK(meanError(unseen, boostedTrainer()(seen)) < 0.2);
  // Features that say the same twice have a solution too.
  TrainingSet twice;
  for (size_t i = 0; i < seen.numRows(); ++i)
    twice.add(std::vector<float>{seen.row(i)[0], seen.row(i)[0]}, seen.row(i)[0]);
  CHECK(std::abs(LinearModel::train(twice).predict(std::vector<float>{0.5f, 0.5f}) - 0.5) < 0.01);
}

TEST_CASE("one row, equal rows and no features are learned from", "[optimize]") {
  TrainingSet one;
  one.add(std::vector<float>{1, 2}, 7);
  CHECK(BoostedTrees::train(one).predict(std::vector<float>{0, 0}) == 7);
  TrainingSet none;
  none.add(std::vector<float>{}, 2);
  none.add(std::vector<float>{}, 4);
  CHECK(BoostedTrees::train(none).predict({}) == 3);
  CHECK(LinearModel::train(none).predict({}) == 3);
}

TEST_CASE("more distinct values than bins are cut evenly", "[optimize]") {
  TrainingSet set;
  for (int i = 0; i < 1000; ++i)
    set.add(std::vector<float>{static_cast<float>(i)}, i < 700 ? 0 : 10);
  const BoostedTrees trees = BoostedTrees::train(set);
  CHECK(trees.predict(std::vector<float>{100}) == Approx(0).margin(0.01));
  CHECK(trees.predict(std::vector<float>{900}) == Approx(10).margin(0.01));
}

TEST_CASE("Kendall's distance counts pairs the other way round", "[optimize]") {
  const std::vector<double> truth = {1, 2, 3, 4};
  CHECK(kendallDistance(truth, truth) == 0);
  CHECK(kendallDistance(truth, std::vector<double>{4, 3, 2, 1}) == 1);
  CHECK(kendallDistance(truth, std::vector<double>{2, 1, 3, 4}) == Approx(1.0 / 6));
  CHECK(kendallDistance(truth, std::vector<double>{5, 5, 5, 5}) == 0.5);
  CHECK(kendallDistance(std::vector<double>{1, 1}, std::vector<double>{1, 2}) == 0);
}

TEST_CASE("no row is predicted by a model that has seen it", "[optimize]") {
  TrainingSet set;
  for (int i = 0; i < 23; ++i)
    set.add(std::vector<float>{static_cast<float>(i)}, i);
  size_t trained = 0;
  const std::vector<double> predicted = crossPredict(set, 5, 3, [&](const TrainingSet &part) -> Predictor {
    ++trained;
    return [part](std::span<const float> row) {
      for (size_t i = 0; i < part.numRows(); ++i)
        if (part.row(i)[0] == row[0])
          return 1.0;
      return -1.0;
    };
  });
  CHECK(trained == 5);
  for (double value : predicted)
    CHECK(value == -1);
}

TEST_CASE("TPE finds what random draws of as many do not", "[optimize]") {
  // Each variable has one good choice of four.
  auto cost = [](const Choices &choices) {
    int64_t wrong = 0;
    for (size_t v = 0; v < choices.size(); ++v)
      wrong += choices[v] != v % 4;
    return wrong;
  };
  int64_t best = 100, random = 100;
  CategoricalTpe tpe(std::vector<uint8_t>(16, 4));
  CategoricalTpe blind(std::vector<uint8_t>(16, 4));
  Rng rng(5);
  for (int i = 0; i < 300; ++i) {
    Choices choices = tpe.suggest(rng);
    best = std::min(best, cost(choices));
    tpe.observe(choices, cost(choices));
    random = std::min(random, cost(blind.suggest(rng, 1)));
  }
  CHECK(best <= 2);
  CHECK(random >= 5);
  // A single choice is taken.
  CHECK(CategoricalTpe({1}).suggest(rng) == Choices{0});
}
