//===- GraphTest.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Graph/Graph.h"
#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace sluice;
using Catch::Contains;

static TensorId add(Graph &graph, std::string name, TensorKind kind = TensorKind::Activation, int64_t bytes = 100) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.kind = kind;
  tensor.bytes = bytes;
  return graph.addTensor(tensor);
}

static OperatorId add(Graph &graph, std::string name, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
  Operator op;
  op.name = std::move(name);
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  return graph.addOperator(op);
}

/// x -> a -> {b, c} -> d, with a parameter read by b.
static Graph diamond() {
  Graph graph;
  TensorId x = add(graph, "x", TensorKind::Input), w = add(graph, "w", TensorKind::Parameter, 1);
  TensorId ta = add(graph, "ta"), tb = add(graph, "tb"), tc = add(graph, "tc"), td = add(graph, "td");
  add(graph, "a", {x}, {ta});
  add(graph, "b", {ta, w}, {tb});
  add(graph, "c", {ta}, {tc});
  add(graph, "d", {tb, tc}, {td});
  return graph;
}

static std::string problem(const Graph &graph) {
  Status status = graph.check();
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::InvalidInput);
  return status.error().message;
}

TEST_CASE("neighbours are linked as operators are added", "[graph]") {
  Graph graph = diamond();
  REQUIRE(graph.check());
  CHECK(graph.predecessors(OperatorId(3)) == std::vector{OperatorId(1), OperatorId(2)});
  CHECK(graph.successors(OperatorId(0)) == std::vector{OperatorId(1), OperatorId(2)});
  CHECK(graph.predecessors(OperatorId(0)).empty());
  CHECK(graph.tensor(TensorId(2)).producer == OperatorId(0));
  CHECK(graph.tensor(TensorId(2)).consumers == std::vector{OperatorId(1), OperatorId(2)});
}

TEST_CASE("the working set is aligned and counts the workspace", "[graph]") {
  Graph graph = diamond();
  graph.mutableOp(OperatorId(1)).workspaceBytes = 65;
  CHECK(graph.workingSetBytes(OperatorId(1)) == 128 + 64 + 128 + 128);
}

TEST_CASE("topological order prefers the model's own", "[graph]") {
  Graph graph = diamond();
  std::vector<OperatorId> order = *graph.topologicalOrder();
  CHECK(order == std::vector{OperatorId(0), OperatorId(1), OperatorId(2), OperatorId(3)});
  CHECK(graph.isTopological(order));
  std::swap(order[1], order[2]);
  CHECK(graph.isTopological(order));
  std::swap(order[2], order[3]);
  CHECK_FALSE(graph.isTopological(order));
  CHECK_FALSE(graph.isTopological(std::vector{OperatorId(0)}));
  CHECK_FALSE(graph.isTopological(std::vector{OperatorId(0), OperatorId(0), OperatorId(1), OperatorId(2)}));
  CHECK_FALSE(graph.isTopological(std::vector{OperatorId(9), OperatorId(0), OperatorId(1), OperatorId(2)}));
}

TEST_CASE("an operator listed before its producers is still ordered", "[graph]") {
  Graph graph;
  TensorId x = add(graph, "x", TensorKind::Input), t = add(graph, "t"), u = add(graph, "u");
  add(graph, "late", {t}, {u});
  add(graph, "early", {x}, {t});
  REQUIRE(graph.check());
  CHECK(*graph.topologicalOrder() == std::vector{OperatorId(1), OperatorId(0)});
}

TEST_CASE("a cycle is named", "[graph]") {
  Graph graph;
  TensorId a = add(graph, "a"), b = add(graph, "b"), c = add(graph, "c"), d = add(graph, "d");
  add(graph, "tail", {c}, {d});
  add(graph, "p", {c}, {a});
  add(graph, "q", {a}, {b});
  add(graph, "r", {b}, {c});
  Expected<std::vector<OperatorId>> order = graph.topologicalOrder();
  REQUIRE_FALSE(order);
  CHECK(order.error().operators.size() == 3);
  CHECK_THAT(order.error().message, Contains("'p'") && Contains("'q'") && Contains("'r'") && !Contains("'tail'"));
  CHECK_THAT(problem(graph), Contains("cycle"));
}

TEST_CASE("an operator that reads its own output is a cycle", "[graph]") {
  Graph graph;
  TensorId a = add(graph, "a");
  add(graph, "self", {a}, {a});
  CHECK_THAT(problem(graph), Contains("'self' -> 'self'"));
}

TEST_CASE("check names what is wrong", "[graph]") {
  Graph graph = diamond();
  SECTION("tensor out of range") {
    add(graph, "e", {TensorId(99)}, {add(graph, "te")});
    CHECK_THAT(problem(graph), Contains("tensor 99 does not exist") && Contains("'e'"));
  }
  SECTION("two producers") {
    add(graph, "e", {}, {TensorId(2)});
    CHECK_THAT(problem(graph), Contains("'ta' has two producers"));
  }
  SECTION("written parameter") {
    add(graph, "e", {}, {TensorId(1)});
    CHECK_THAT(problem(graph), Contains("'w' is a parameter"));
  }
  SECTION("no output") {
    add(graph, "e", {TensorId(2)}, {});
    CHECK_THAT(problem(graph), Contains("no output"));
  }
  SECTION("operand twice") {
    add(graph, "e", {TensorId(2), TensorId(2)}, {add(graph, "te")});
    CHECK_THAT(problem(graph), Contains("'ta' is listed twice"));
  }
  SECTION("negative size") {
    graph.mutableTensor(TensorId(2)).bytes = -1;
    CHECK_THAT(problem(graph), Contains("size of -1"));
  }
  SECTION("size that would overflow") {
    graph.mutableTensor(TensorId(2)).bytes = std::numeric_limits<int64_t>::max();
    CHECK_THAT(problem(graph), Contains("2^56"));
  }
  SECTION("negative work") {
    graph.mutableOp(OperatorId(1)).flops = -1;
    CHECK_THAT(problem(graph), Contains("negative"));
  }
  SECTION("negative workspace") {
    graph.mutableOp(OperatorId(1)).workspaceBytes = -1;
    CHECK_THAT(problem(graph), Contains("workspace of -1"));
  }
  SECTION("equal names") {
    graph.mutableOp(OperatorId(1)).name = "a";
    CHECK_THAT(problem(graph), Contains("two operators are named 'a'"));
  }
  SECTION("activation from nowhere") {
    add(graph, "e", {add(graph, "t")}, {add(graph, "te")});
    CHECK_THAT(problem(graph), Contains("no operator writes"));
  }
  SECTION("in-place pair out of range") {
    graph.mutableOp(OperatorId(1)).inPlace = {{2, 0}};
    CHECK_THAT(problem(graph), Contains("in-place pair (2, 0)"));
  }
  SECTION("stale links") {
    graph.mutableTensor(TensorId(2)).consumers.pop_back();
    CHECK_THAT(problem(graph), Contains("does not list this operator as a consumer"));
  }
  SECTION("update of what is no state") {
    graph.setUpdates(TensorId(5), TensorId(1));
    CHECK_THAT(problem(graph), Contains("is not a state"));
  }
}

TEST_CASE("states and their new values", "[graph]") {
  Graph graph;
  TensorId state = add(graph, "s", TensorKind::State), next = add(graph, "s'", TensorKind::State);
  graph.setUpdates(next, state);
  add(graph, "step", {state}, {next});
  REQUIRE(graph.check());
  SECTION("readers of the old value come before the new one") {
    TensorId copy = add(graph, "copy", TensorKind::Activation);
    OperatorId reader = add(graph, "reader", {state}, {copy});
    CHECK(graph.predecessors(OperatorId(0)) == std::vector{reader});
    CHECK(graph.successors(reader) == std::vector{OperatorId(0)});
    CHECK(graph.topologicalOrder() == std::vector{reader, OperatorId(0)});
    CHECK(graph.isTopological(std::vector{reader, OperatorId(0)}));
    CHECK_FALSE(graph.isTopological(std::vector{OperatorId(0), reader}));
  }
  SECTION("a reader of both values") {
    add(graph, "reader", {state, next}, {add(graph, "copy", TensorKind::Activation)});
    CHECK_THAT(problem(graph), Contains("cycle"));
  }
  SECTION("sizes differ") {
    graph.mutableTensor(next).bytes = 101;
    CHECK_THAT(problem(graph), Contains("size differs"));
  }
  SECTION("updated twice") {
    TensorId other = add(graph, "s''", TensorKind::State);
    graph.setUpdates(other, state);
    add(graph, "again", {state}, {other});
    CHECK_THAT(problem(graph), Contains("'s' is updated by two"));
  }
  SECTION("written but updating nothing") {
    graph.mutableTensor(next).updates = TensorId();
    CHECK_THAT(problem(graph), Contains("must name the state whose next value it is"));
  }
}

TEST_CASE("orders of random graphs are topological", "[graph]") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    Graph graph;
    std::vector<TensorId> written{add(graph, "x", TensorKind::Input)};
    for (int i = 0; i < 40; ++i) {
      std::vector<TensorId> inputs{written[rng.below(written.size())]};
      if (TensorId other = written[rng.below(written.size())]; other != inputs[0])
        inputs.push_back(other);
      TensorId output = add(graph, "t" + std::to_string(i));
      add(graph, "op" + std::to_string(i), inputs, {output});
      written.push_back(output);
    }
    REQUIRE(graph.check());
    CHECK(graph.isTopological(*graph.topologicalOrder()));
  }
}

TEST_CASE("a chain of 100000 operators is ordered quickly", "[graph]") {
  Graph graph;
  TensorId last = add(graph, "x", TensorKind::Input);
  for (int i = 0; i < 100000; ++i) {
    TensorId next = add(graph, "");
    add(graph, std::to_string(i), {last}, {next});
    last = next;
  }
  CHECK(graph.check());
}
