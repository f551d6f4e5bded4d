//===- ExtentsTest.cpp - Extents that a step gives ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Extents.h"

#include "mlir/IR/MLIRContext.h"

#include <catch2/catch.hpp>
#include <random>

using namespace mlir;
using namespace sluice::dataflow;

namespace {
struct Fixture {
  Fixture() { context.loadDialect<DataflowDialect>(); }

  SymbolsAttr symbols(std::vector<std::array<int64_t, 3>> ranges) {
    SmallVector<StringAttr> names;
    SmallVector<int64_t> least, most, steps;
    for (auto [low, high, step] : ranges) {
      names.push_back(StringAttr::get(&context, "n" + std::to_string(names.size())));
      least.push_back(low);
      most.push_back(high);
      steps.push_back(step);
    }
    return SymbolsAttr::get(&context, names, least, most, steps, /*found=*/0);
  }
  Extent symbol(SymbolsAttr of, unsigned i) { return Extent(getAffineSymbolExpr(i, &context), of); }

  MLIRContext context;
};

/// What fitExtent finds for a function of the symbols, at points that it did not see too.
bool fits(SymbolsAttr symbols, llvm::function_ref<int64_t(const Point &)> function, ArrayRef<Extent> basis = {}) {
  std::vector<Point> points = samplePoints(symbols), ties;
  std::optional<Extent> found;
  int rounds = 0;
  do {
    llvm::append_range(points, ties);
    ties.clear();
    SmallVector<int64_t> values;
    for (const Point &point : points)
      values.push_back(function(point));
    found = fitExtent(symbols, points, values, basis, ties);
  } while (!ties.empty() && ++rounds < kMostTieRounds);
  if (!found || !ties.empty())
    return false;
  std::mt19937 random(3);
  for (int count = 0; count < 1000; ++count) {
    Point point;
    for (size_t i = 0; i < symbols.size(); ++i) {
      const int64_t steps = (symbols.getMost()[i] - symbols.getLeast()[i]) / symbols.getSteps()[i];
      point.push_back(symbols.getLeast()[i] +
                      std::uniform_int_distribution<int64_t>(0, steps)(random) * symbols.getSteps()[i]);
    }
    if (found->at(point) != function(point))
      return false;
  }
  return true;
}
} // namespace

TEST_CASE_METHOD(Fixture, "Extents compute as numbers do at every point", "[extents]") {
  SymbolsAttr of = symbols({{1, 8, 1}, {3, 500, 1}});
  const Extent a = symbol(of, 0), c = symbol(of, 1);
  for (const Point &point : samplePoints(of)) {
    CHECK((a + c).at(point) == point[0] + point[1]);
    CHECK((c - 3).at(point) == point[1] - 3);
    CHECK((a * c).at(point) == point[0] * point[1]);
    CHECK((c / 7).at(point) == point[1] / 7);
    CHECK((c / 7 / 3).at(point) == point[1] / 7 / 3);
    CHECK((c % 7).at(point) == point[1] % 7);
    CHECK(c.ceilDiv(16).at(point) == (point[1] + 15) / 16);
    CHECK(productOf({a, 4, c}).at(point) == 4 * point[0] * point[1]);
  }
  CHECK((a - a).is(0));
  CHECK((c * 16 / 16) == c);
  CHECK((Extent(17) / 4).is(4));
  CHECK(Extent(17).ceilDiv(4).is(5));
  CHECK((a * c).most() == 4000);
  CHECK_FALSE(a.is(8));
}

TEST_CASE_METHOD(Fixture, "Sample points have the bounds, keep the steps and are the same each time", "[extents]") {
  SymbolsAttr of = symbols({{32, 320, 32}, {0, 1, 1}, {5, 1 << 20, 1}});
  const std::vector<Point> points = samplePoints(of);
  CHECK(points == samplePoints(of));
  CHECK(points.front() == Point{320, 1, 1 << 20});
  CHECK(llvm::is_contained(points, Point{32, 0, 5}));
  for (const Point &point : points)
    for (size_t i = 0; i < point.size(); ++i) {
      CHECK(point[i] >= of.getLeast()[i]);
      CHECK(point[i] <= of.getMost()[i]);
      CHECK((point[i] - of.getLeast()[i]) % of.getSteps()[i] == 0);
    }
}

TEST_CASE_METHOD(Fixture, "Functions of sizes are found from their values", "[extents]") {
  SymbolsAttr one = symbols({{1, 512, 1}}), two = symbols({{1, 8, 1}, {2, 300, 1}}), steps = symbols({{32, 320, 32}});
  CHECK(fits(one, [](const Point &) { return 7; }));
  CHECK(fits(one, [](const Point &p) { return p[0]; }));
  CHECK(fits(one, [](const Point &p) { return 12 * p[0] + 5; }));
  CHECK(fits(one, [](const Point &p) { return (p[0] + 1) / 2; }));
  CHECK(fits(one, [](const Point &p) { return (p[0] + 126) / 64 + 3; }));
  CHECK(fits(one, [](const Point &p) { return p[0] * p[0]; }));
  CHECK(fits(steps, [](const Point &p) { return p[0] / 32; }));
  CHECK(fits(steps, [](const Point &p) { return p[0] / 4 * 3; }));
  CHECK(fits(steps, [](const Point &p) { return 100 - p[0] / 32 * 5; }));
  CHECK(fits(two, [](const Point &p) { return p[0] * p[1]; }));
  CHECK(fits(two, [](const Point &p) { return 3 * p[0] + 2 * p[1] - 4; }));
  CHECK(fits(two, [](const Point &p) { return p[0] + p[1]; }));
  // Quotients that 20 points do not tell apart.
  SymbolsAttr wide = symbols({{800, 16000, 1}}), images = symbols({{1, 4, 1}, {300, 20000, 4}});
  for (int64_t by : {7, 31, 63, 160, 256, 511})
    for (int64_t shift : {-512, -400, -1, 0, 3, 97}) {
      CHECK(fits(wide, [&](const Point &p) { return (p[0] + shift) / by + 1; }));
      CHECK(fits(images, [&](const Point &p) { return (p[1] + shift / 4) / by + 2; }));
    }
  // Of any number of sizes.
  SymbolsAttr four = symbols({{0, 12, 1}, {1, 30, 1}, {0, 8, 2}, {0, 7, 1}});
  CHECK(fits(four, [](const Point &p) { return 3 * p[0] * p[1] * p[2] * p[3] + 2; }));
  CHECK(fits(four, [](const Point &p) { return p[0] + p[1] + 5 * p[2] - p[3]; }));
  CHECK_FALSE(fits(four, [](const Point &p) { return p[0] * p[1] * p[2] * std::min<int64_t>(p[3], 5); }));
  // Of two functions of sizes that are known already.
  const Extent half = (symbol(two, 1) + 1) / 2;
  CHECK(fits(two, [](const Point &p) { return p[0] * ((p[1] + 1) / 2); }, {half}));
  // Neither sums nor products nor quotients.
  CHECK_FALSE(fits(one, [](const Point &p) { return std::min<int64_t>(p[0], 100); }));
  CHECK_FALSE(fits(one, [](const Point &p) { return p[0] % 2; }));
  CHECK_FALSE(fits(one, [](const Point &p) { return p[0] == 1 ? 2 : p[0]; }));
}

TEST_CASE_METHOD(Fixture, "A type with symbols is a static type at each point", "[extents]") {
  SymbolsAttr of = symbols({{1, 8, 1}, {1, 512, 1}});
  const Type f32 = Float32Type::get(&context);
  auto type = tensorOf({symbol(of, 0), 12, symbol(of, 1) / 2}, f32);
  CHECK(type.getShape() == ArrayRef<int64_t>{8, 12, 256});
  CHECK(typeAt(type, {3, 9}) == RankedTensorType::get({3, 12, 4}, f32));
  CHECK(tensorOf({3, 4}, f32) == RankedTensorType::get({3, 4}, f32));
  CHECK(permutedType(type, {2, 0, 1}) == tensorOf({symbol(of, 1) / 2, symbol(of, 0), 12}, f32));
  // The same extents in another form.
  auto other = RankedTensorType::get(
      {8, 12, 256}, f32,
      ExtentsAttr::get(&context,
                       AffineMap::get(0, 2,
                                      {getAffineSymbolExpr(0, &context), getAffineConstantExpr(12, &context),
                                       (getAffineSymbolExpr(1, &context) * 2).floorDiv(4)},
                                      &context),
                       of));
  CHECK(haveSameExtents(type, other));
  CHECK_FALSE(haveSameExtents(type, RankedTensorType::get({8, 12, 256}, f32)));
  CHECK_FALSE(haveSameShape(type, RankedTensorType::get({8, 12, 256}, f32)));
  CHECK(haveSameShape(type, withElement(type, IntegerType::get(&context, 1))));
}
