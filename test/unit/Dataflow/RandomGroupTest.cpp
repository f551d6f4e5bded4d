//===- RandomGroupTest.cpp - Groups nobody thought of ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

using Shape = std::vector<int64_t>;

/// Builds the text of a group: arguments of random broadcast shapes, a random
/// expression over them, then perhaps a reduction and another expression.
class GroupWriter {
public:
  explicit GroupWriter(uint64_t seed) : rng(seed) {
    for (int64_t extent : {3, 2, 5, 19})
      if (full.empty() || rng.chance(0.7))
        full.push_back(extent);
  }

  Case write() {
    std::vector<Value> values;
    for (size_t i = 0, count = 2 + rng.below(3); i < count; ++i)
      values.push_back(argument(i == 0 ? full : broadcastOf(full)));
    Value result = expression(values, full);
    if (rng.chance(0.6)) {
      result = reduction(result);
      // Arguments serve again where they broadcast to what is left.
      std::vector<Value> behind = {result, argument(broadcastOf(result.shape))};
      for (const Value &value : values)
        if (isArgument(value) && broadcasts(value.shape, result.shape))
          behind.push_back(value);
      result = chain(behind, result, 1 + rng.below(4));
    }
    std::string type = tensorOf(result.shape, "f32");
    return {arguments,
            "dataflow.fused (" + inputs + ") -> (" + type + ") {\n" + members + "dataflow.yield " + result.name +
                " : " + type + "\n}",
            {{-1, 1}},
            1e-4};
  }

private:
  struct Value {
    std::string name;
    Shape shape;
  };

  static bool isArgument(const Value &value) { return value.name[1] == 'a'; }

  Shape broadcastOf(const Shape &shape) {
    Shape result(shape.begin() + static_cast<int64_t>(rng.below(shape.size() + 1)), shape.end());
    for (int64_t &extent : result)
      if (rng.chance(0.3))
        extent = 1;
    return result;
  }

  static bool broadcasts(const Shape &from, const Shape &to) {
    if (from.size() > to.size())
      return false;
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] != 1 && from[i] != to[to.size() - from.size() + i])
        return false;
    return true;
  }

  static Shape joined(const Shape &a, const Shape &b) {
    Shape result = a.size() > b.size() ? a : b;
    const Shape &other = a.size() > b.size() ? b : a;
    for (size_t i = 0; i < other.size(); ++i) {
      int64_t &extent = result[result.size() - other.size() + i];
      extent = std::max(extent, other[i]);
    }
    return result;
  }

  Value argument(const Shape &shape) {
    std::string n = std::to_string(numArguments++), type = tensorOf(shape, "f32");
    std::string comma = numArguments > 1 ? ", " : "";
    arguments += comma + "%x" + n + ": " + type;
    inputs += comma + "%a" + n + " = %x" + n + " : " + type;
    return {"%a" + n, shape};
  }

  Value define(const std::string &text, const Shape &shape) {
    std::string name = "%v" + std::to_string(numMembers++);
    members += name + " = " + text + "\n";
    return {name, shape};
  }

  Value unary(const Value &x) {
    const char *kinds[] = {"abs", "neg", "tanh", "sigmoid", "relu"};
    return define(std::string("dataflow.unary ") + kinds[rng.below(5)] + " " + x.name + " : " +
                      tensorOf(x.shape, "f32"),
                  x.shape);
  }

  Value binary(const Value &x, const Value &y) {
    const char *kinds[] = {"add", "sub", "mul", "max", "min"};
    return define(std::string("dataflow.binary ") + kinds[rng.below(5)] + " " + x.name + ", " + y.name + " : " +
                      tensorOf(x.shape, "f32") + ", " + tensorOf(y.shape, "f32"),
                  joined(x.shape, y.shape));
  }

  /// `length` operators in a row from `start` on, each keeping its shape.
  Value chain(const std::vector<Value> &others, Value start, size_t length) {
    for (size_t i = 0; i < length; ++i)
      start = rng.chance(0.3) ? unary(start) : binary(start, others[rng.below(others.size())]);
    return start;
  }

  Value expression(std::vector<Value> values, const Shape &shape) {
    // Small values combine among themselves first: broadcast expressions.
    for (size_t i = 0, count = rng.below(5); i < count; ++i) {
      const Value x = values[rng.below(values.size())], y = values[rng.below(values.size())];
      values.push_back(rng.chance(0.4) ? unary(x) : binary(x, y));
    }
    Value result = chain(values, values.front(), 1 + rng.below(4));
    REQUIRE(result.shape == shape);
    return result;
  }

  Value reduction(const Value &x) {
    const char *kinds[] = {"sum", "mean", "max", "l1"};
    bool keep = rng.chance(0.5);
    std::string axes;
    Shape result;
    for (size_t d = 0; d < x.shape.size(); ++d)
      if (rng.chance(0.5)) {
        axes += (axes.empty() ? "" : ", ") + std::to_string(d);
        if (keep)
          result.push_back(1);
      } else {
        result.push_back(x.shape[d]);
      }
    return define(std::string("dataflow.reduce ") + kinds[rng.below(4)] + " " + x.name + " axes [" + axes + "]" +
                      (keep ? " {keep_dims = true}" : "") + " : " + tensorOf(x.shape, "f32") + " -> " +
                      tensorOf(result, "f32"),
                  result);
  }

  Rng rng;
  Shape full;
  std::string arguments, inputs, members;
  size_t numArguments = 0, numMembers = 0;
};

} // namespace

TEST_CASE("random groups compute what their members do", "[dataflow]") {
  std::vector<Case> cases;
  for (uint64_t seed = 1; seed <= 60; ++seed)
    cases.push_back(GroupWriter(seed).write());
  checkKernels(cases);
}
