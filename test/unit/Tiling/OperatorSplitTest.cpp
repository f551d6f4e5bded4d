//===- OperatorSplitTest.cpp ----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/OperatorSplit.h"

#include "Programs.h"
#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>
#include <map>
#include <tuple>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr uint32_t kRows = 1, kColumns = 2, kContraction = 3;

/// relu(x) w, then tanh: operators 0, 1, 2, and a small one behind them.
TensorProgram layer() {
  ProgramMaker maker;
  TensorId x = maker.input("x", 8, 12), w = maker.tensor("w", {12, 6}, TensorRole::Parameter);
  TensorId y = maker.elementwise("tanh", {maker.matmul("product", maker.elementwise("relu", {x}), w)});
  TensorId v = maker.tensor("v", {6, 1}, TensorRole::Parameter);
  maker.matmul("small", y, v);
  return maker.program;
}

const std::vector<OperatorId> kGroup{OperatorId(0), OperatorId(1), OperatorId(2)};

/// As if `devices` ran parts side by side, each for its share and 20 ns more.
Expected<SplitTrial> timed(const TensorProgram &program, const std::vector<OperatorSplit> &splits, int64_t devices) {
  SplitTrial trial;
  for (size_t i = 0; i < program.operators.size(); ++i) {
    int64_t ns = program.operators[i].flops;
    for (const OperatorSplit &split : splits)
      if (split.op == OperatorId(i))
        ns = (ns / split.parts + 20) * ((split.parts + devices - 1) / devices);
    trial.makespanNs += ns;
    trial.critical.push_back({{OperatorId(i)}, ns});
  }
  return trial;
}

} // namespace

TEST_CASE("what reads or makes parts is split with an operator", "[tiling]") {
  const TensorProgram program = layer();
  using Splits = std::vector<OperatorSplit>;
  const OperatorId relu(0), product(1), tanh(2);
  CHECK(spreadSplit(program, kGroup, {product, kRows, 4}) ==
        Splits{{relu, kRows, 4}, {product, kRows, 4}, {tanh, kRows, 4}});
  // Columns are the weight's: what is before stays whole.
  CHECK(spreadSplit(program, kGroup, {product, kColumns, 3}) == Splits{{product, kColumns, 3}, {tanh, kColumns, 3}});
  // Partial sums are joined first.
  CHECK(spreadSplit(program, kGroup, {product, kContraction, 2}) ==
        Splits{{relu, kColumns, 2}, {product, kContraction, 2}});
  // Who is of another group stays as it is.
  CHECK(spreadSplit(program, {product}, {product, kRows, 2}) == Splits{{product, kRows, 2}});
  for (const Splits &splits :
       {spreadSplit(program, kGroup, {product, kRows, 4}), spreadSplit(program, kGroup, {tanh, kColumns, 6})})
    CHECK(checkSplits(program, splits));
}

TEST_CASE("splits that cannot be are refused", "[tiling]") {
  TensorProgram program = layer();
  auto why = [&](std::vector<OperatorSplit> splits) {
    Status status = checkSplits(program, splits);
    REQUIRE_FALSE(status);
    return status.error().message;
  };
  const OperatorId product(1);
  CHECK_THAT(why({{OperatorId(9), kRows, 2}}), Catch::Contains("no operator 9"));
  CHECK_THAT(why({{product, 7, 2}}), Catch::Contains("operator 'product' has no rule number 7"));
  CHECK_THAT(why({{product, 0, 2}}), Catch::Contains("rule 'replicated', whose parts each do all of the work"));
  CHECK_THAT(why({{product, kRows, 3}}),
             Catch::Contains("3 parts by rule 'rows', use a number of at least 2 that divides 8"));
  CHECK_THAT(why({{product, kRows, 1}}), Catch::Contains("1 parts"));
  CHECK_THAT(why({{product, kRows, -2}}), Catch::Contains("-2 parts"));
  CHECK_THAT(why({{product, kRows, 0}}), Catch::Contains("0 parts"));
  CHECK_THAT(why({{product, kRows, 2}, {product, kColumns, 2}}), Catch::Contains("is split twice"));
  program.operators[1].rules[kRows].halos.assign(2, {});
  CHECK(checkSplits(program, {{product, kRows, 2}}));
  program.operators[1].rules[kRows].halos[0].high = 1;
  CHECK_THAT(why({{product, kRows, 2}}), Catch::Contains("read elements of neighbouring parts"));
}

TEST_CASE("the operator that dominates is split as is fastest", "[tiling]") {
  const TensorProgram program = layer();
  SplitProblem problem;
  problem.program = &program;
  problem.mostParts = 8;
  problem.run = [&](const std::vector<OperatorSplit> &splits) { return timed(program, splits, 3); };
  int64_t least = timed(program, {}, 3)->makespanNs;
  for (uint32_t rule = kRows; rule <= kContraction; ++rule)
    for (int64_t parts = 2; parts <= problem.mostParts; ++parts)
      if (program.operators[1].rules[rule].dividesEvenly(parts))
        least = std::min(least, timed(program, {{OperatorId(1), rule, parts}}, 3)->makespanNs);
  auto solution = solveSplits(problem);
  REQUIRE(solution);
  // The product takes most of the step: three devices share it, and then what is left.
  CHECK(solution->unsplitNs == timed(program, {}, 3)->makespanNs);
  CHECK(solution->makespanNs <= least);
  CHECK(solution->makespanNs == timed(program, solution->splits, 3)->makespanNs);
  auto product = std::find_if(solution->splits.begin(), solution->splits.end(),
                              [](const OperatorSplit &split) { return split.op == OperatorId(1); });
  REQUIRE(product != solution->splits.end());
  CHECK(product->parts == 3);
  // With one trial beside the unsplit one nothing but the product is tried.
  SplitParams two;
  two.budget.evaluations = 2;
  solution = solveSplits(problem, two);
  REQUIRE(solution);
  CHECK(solution->trials == 2);
  for (const OperatorSplit &split : solution->splits)
    CHECK(split.op == OperatorId(1));
  // Where one device runs all there is nothing to gain.
  problem.run = [&](const std::vector<OperatorSplit> &splits) { return timed(program, splits, 1); };
  solution = solveSplits(problem);
  REQUIRE(solution);
  CHECK(solution->splits.empty());
  CHECK(solution->makespanNs == solution->unsplitNs);
}

TEST_CASE("splits are never slower than none, whatever trials say", "[tiling]") {
  const TensorProgram program = layer();
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    int64_t trials = 0;
    std::map<std::vector<std::tuple<size_t, uint32_t, int64_t>>, int64_t> said;
    SplitProblem problem;
    problem.program = &program;
    problem.mostParts = 6;
    problem.run = [&](const std::vector<OperatorSplit> &splits) -> Expected<SplitTrial> {
      ++trials;
      CHECK(checkSplits(program, splits));
      if (!splits.empty() && rng.chance(0.2))
        return makeError(ErrorCode::Infeasible, "too large");
      std::vector<std::tuple<size_t, uint32_t, int64_t>> key;
      for (const OperatorSplit &split : splits)
        key.emplace_back(split.op.index(), split.rule, split.parts);
      SplitTrial trial;
      trial.makespanNs = said.try_emplace(key, 1000 + static_cast<int64_t>(rng.below(1000))).first->second;
      trial.critical = {{kGroup, 600}, {{OperatorId(3)}, 300}, {{}, 500}};
      return trial;
    };
    SplitParams params;
    params.budget.evaluations = 1 + static_cast<int64_t>(rng.below(30));
    auto solution = solveSplits(problem, params);
    REQUIRE(solution);
    CHECK(solution->makespanNs <= solution->unsplitNs);
    CHECK(solution->trials == trials);
    CHECK(trials <= params.budget.evaluations);
    CHECK((solution->makespanNs < solution->unsplitNs) == !solution->splits.empty());
  }
}

TEST_CASE("a trial that fails ends the splitting, one that does not fit does not", "[tiling]") {
  const TensorProgram program = layer();
  ErrorCode code = ErrorCode::Infeasible;
  SplitProblem problem;
  problem.program = &program;
  problem.run = [&](const std::vector<OperatorSplit> &splits) -> Expected<SplitTrial> {
    if (!splits.empty())
      return makeError(code, "no");
    return timed(program, splits, 2);
  };
  auto solution = solveSplits(problem);
  REQUIRE(solution);
  CHECK(solution->splits.empty());
  code = ErrorCode::Internal;
  CHECK_FALSE(solveSplits(problem));
}
