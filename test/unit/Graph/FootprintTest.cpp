//===- FootprintTest.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Graph/Footprint.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace sluice;

namespace {

/// Names tensors as they come.
struct Builder {
  Graph graph;

  TensorId tensor(TensorKind kind, int64_t bytes, TensorId updates = {}) {
    Tensor made;
    made.name = "t" + std::to_string(graph.numTensors());
    made.kind = kind;
    made.bytes = bytes;
    made.updates = updates;
    return graph.addTensor(std::move(made));
  }
  TensorId op(std::string name, std::string kind, std::vector<TensorId> inputs, int64_t bytes, TensorId updates = {}) {
    TensorId output = tensor(updates.valid() ? TensorKind::State : TensorKind::Activation, bytes, updates);
    Operator made;
    made.name = std::move(name);
    made.kind = std::move(kind);
    if (made.kind == "elementwise")
      for (uint32_t i = 0; i < inputs.size(); ++i)
        if (graph.tensor(inputs[i]).bytes == bytes)
          made.inPlace.emplace_back(i, 0);
    made.inputs = std::move(inputs);
    made.outputs = {output};
    graph.addOperator(std::move(made));
    return output;
  }
  Footprint count() {
    if (Status checked = graph.check(); !checked)
      FAIL(checked.error().message);
    Expected<Footprint> counted = countFootprint(graph);
    REQUIRE(counted);
    return *counted;
  }
};

} // namespace

TEST_CASE("a node's pieces count once, and what lies between them not at all", "[graph]") {
  Builder b;
  TensorId x = b.tensor(TensorKind::Input, 10), w = b.tensor(TensorKind::Parameter, 40);
  TensorId product = b.op("linear", "matmul", {x, w}, 30);
  b.op("linear#1", "elementwise", {product}, 20); // Not of the product's size.
  Footprint found = b.count();
  CHECK(found.operators == 1);
  CHECK(found.bytes == 10 + 40 + 20);
  CHECK(found.stateBytes == 40);
  CHECK(found.tensorSizes == std::vector<int64_t>{10, 20, 40});
}

TEST_CASE("an operator writes over what it may and nobody else reads", "[graph]") {
  Builder b;
  TensorId x = b.tensor(TensorKind::Input, 8);
  SECTION("its operand") {
    b.op("relu", "elementwise", {b.op("conv", "conv", {x}, 100)}, 100);
    CHECK(b.count().bytes == 108);
  }
  SECTION("through a piece of its own node") {
    TensorId conv = b.op("conv", "conv", {x}, 100);
    b.op("gelu#1", "elementwise", {b.op("gelu", "elementwise", {conv}, 100)}, 100);
    CHECK(b.count().bytes == 108);
  }
  SECTION("not an operand that is read again") {
    TensorId conv = b.op("conv", "conv", {x}, 100);
    b.op("relu", "elementwise", {conv}, 100);
    b.op("pool", "pool", {conv}, 25);
    CHECK(b.count().bytes == 8 + 100 + 100 + 25);
  }
  SECTION("not an operand that it may not write over") {
    b.op("cast", "elementwise", {b.op("conv", "conv", {x}, 100)}, 50);
    CHECK(b.count().bytes == 158);
  }
  SECTION("not the caller's input") {
    b.op("relu", "elementwise", {x}, 8);
    CHECK(b.count().bytes == 16);
  }
  SECTION("not a place that is taken") {
    // Two pieces of one node; only one can have the operand's place.
    TensorId conv = b.op("conv", "conv", {x}, 100);
    TensorId centered = b.op("norm", "elementwise", {conv}, 100), scaled = b.op("norm#1", "elementwise", {conv}, 100);
    b.op("next", "matmul", {centered, scaled}, 10);
    CHECK(b.count().bytes == 8 + 100 + 100 + 10);
  }
  SECTION("not an output") {
    TensorId conv = b.op("conv", "conv", {x}, 100);
    b.graph.mutableTensor(conv).isOutput = true;
    b.op("relu", "elementwise", {conv}, 100);
    CHECK(b.count().bytes == 208);
  }
}

TEST_CASE("a shared weight is there three times: value, gradient, momentum", "[graph]") {
  // Two steps read one weight; each adds its share to the gradient.
  Builder b;
  TensorId x = b.tensor(TensorKind::Input, 1);
  TensorId weight = b.tensor(TensorKind::State, 1000), momentum = b.tensor(TensorKind::State, 1000);
  TensorId first = b.op("t0", "matmul", {x, weight}, 10);
  TensorId second = b.op("t1", "matmul", {first, weight}, 10);
  TensorId seed = b.op("loss.gradient", "softmax", {second}, 10);
  TensorId late = b.op("t1.gradient", "matmul", {first, seed}, 1000);
  TensorId back = b.op("t1.gradient#1", "matmul", {seed, weight}, 10);
  TensorId early = b.op("t0.gradient", "matmul", {x, back}, 1000);
  TensorId sum = b.op("t0.gradient#1", "elementwise", {late, early}, 1000);
  TensorId newMomentum = b.op("update", "elementwise", {momentum, sum}, 1000, momentum);
  b.op("update#1", "elementwise", {weight, newMomentum}, 1000, weight);
  Footprint found = b.count();
  CHECK(found.stateBytes == 2000);
  CHECK(found.bytes == 3000 + 1 + 4 * 10); // x; first, second, seed, back.
  // t0, t1, three backward nodes, the update; and the weight's two gradients are added.
  CHECK(found.operators == 6 + 1);
}

TEST_CASE("from eight readers on, gradients are added one by one", "[graph]") {
  for (size_t readers : {7, 8}) {
    Builder b;
    TensorId weight = b.tensor(TensorKind::State, 4);
    for (size_t i = 0; i < readers; ++i) {
      std::string name = "t" + std::to_string(i);
      b.op(name + ".gradient", "matmul", {b.op(name, "matmul", {weight}, 2)}, 2);
    }
    CHECK(b.count().operators == 2 * readers + (readers == 7 ? 1 : 8));
  }
}

TEST_CASE("hostile graphs are counted or refused", "[graph]") {
  Builder b;
  CHECK(b.count().operators == 0);
  TensorId most = b.tensor(TensorKind::Input, int64_t(1) << 56);
  for (int i = 0; i < 300; ++i)
    b.tensor(TensorKind::Parameter, int64_t(1) << 56);
  TensorId chain = b.op("#", "elementwise", {most}, 7);
  for (int i = 0; i < 100000; ++i)
    chain = b.op("#" + std::to_string(i), "elementwise", {chain}, 7);
  CHECK(b.count().bytes == std::numeric_limits<int64_t>::max());
}

TEST_CASE("a cycle has no footprint", "[graph]") {
  Builder b;
  TensorId x = b.tensor(TensorKind::Input, 1);
  TensorId first = b.op("a", "matmul", {x}, 1);
  TensorId second = b.op("b", "matmul", {first}, 1);
  b.graph.mutableOp(OperatorId(0)).inputs.push_back(second);
  b.graph.mutableTensor(second).consumers.push_back(OperatorId(0));
  CHECK_FALSE(countFootprint(b.graph));
}
