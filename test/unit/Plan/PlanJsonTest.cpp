//===- PlanJsonTest.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Plan/PlanJson.h"
#include "ExamplePlan.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace sluice;
using Catch::Contains;

TEST_CASE("plans survive the round trip", "[plan]") {
  Example e;
  Json json = planToJson(e.graph, e.machine, e.plan);
  Expected<Plan> again = planFromJson(e.graph, e.machine, JsonReader(*parseJson(json.dump(), "p"), "p"));
  REQUIRE(again);
  CHECK(validatePlan(e.graph, e.machine, *again));
  CHECK(again->seed == e.plan.seed);
  CHECK(again->solver == "by hand");
  CHECK(planToJson(e.graph, e.machine, *again) == json);
}

TEST_CASE("plans follow names, not indices", "[plan]") {
  Example e;
  Json json = planToJson(e.graph, e.machine, e.plan);
  // The same machine with its memories' devices listed in another order.
  Machine other = e.machine;
  std::swap(other.devices[0], other.devices[1]);
  Expected<Plan> plan = planFromJson(e.graph, other, JsonReader(json, "p"));
  REQUIRE(plan);
  CHECK(plan->placement[0] == DeviceId(0));
  CHECK(validatePlan(e.graph, other, *plan));
}

TEST_CASE("names that are no names are written as indices", "[plan]") {
  Example e;
  e.graph.mutableTensor(e.t).name = "";
  e.graph.mutableTensor(e.u).name = "x";
  e.graph.mutableTensor(e.y).name = "#1";
  Json json = planToJson(e.graph, e.machine, e.plan);
  Expected<Plan> plan = planFromJson(e.graph, e.machine, JsonReader(json, "p"));
  REQUIRE(plan);
  CHECK(validatePlan(e.graph, e.machine, *plan));
}

TEST_CASE("bytes moved are counted by direction", "[plan]") {
  Example e;
  CHECK(e.plan.bytesCopied(e.graph) == 5 * 64);
  CHECK(e.plan.bytesSwappedIn(e.graph) == 3 * 64);
  CHECK(e.plan.bytesSwappedOut(e.graph) == 2 * 64);
}

TEST_CASE("what is wrong in a plan's JSON is named by path", "[plan]") {
  struct Case {
    const char *pointer;
    Json value;
    const char *message;
  };
  const std::vector<Case> cases = {
      {"/schema", 2, "plan schema 2 is not known"},
      {"/extra", 2, "'extra' is unknown"},
      {"/seed", -1, "seed is not"},
      {"/placement/0/0", "zz", "operator 'zz' is not in the graph"},
      {"/placement/0/1", "zz", "device 'zz' is not in the machine"},
      {"/placement/0", Json::array(), "expected two elements"},
      {"/placement/0/0", "b", "operator 'b' is placed twice"},
      {"/placement", Json::array(), "operator 'a' is not placed"},
      {"/arenas/0/0", "zz", "memory 'zz' is not in the machine"},
      {"/arenas/0/1", "zz", "p.json:arenas[0][1]"},
      {"/streams/0/1", "sideways", "stream kind 'sideways' is unknown"},
      {"/residencies/0/tensor", "zz", "tensor 'zz' is not in the graph"},
      {"/residencies/0/tensor", "#99", "tensor '#99' is not in the graph"},
      {"/residencies/0/bytes", 0.5, "p.json:residencies[0].bytes"},
      {"/residencies/0/colour", 1, "'colour' is unknown"},
      {"/commands/0/launch", "a", "must have either 'launch' or 'copy'"},
      {"/commands/0/copy/0", "gpu0", "have no link"},
      {"/commands/1/launch", 7, "p.json:commands[1].launch"},
      {"/commands/0/stream", -1, "index -1 is out of range"},
      {"/commands/0/reads/0", 4294967295, "out of range"},
      {"/commands/2/waits", 5, "expected an array"},
  };
  Example e;
  for (const Case &c : cases) {
    CAPTURE(c.pointer);
    Json json = planToJson(e.graph, e.machine, e.plan);
    json[Json::json_pointer(c.pointer)] = c.value;
    Expected<Plan> plan = planFromJson(e.graph, e.machine, JsonReader(json, "p.json:"));
    REQUIRE_FALSE(plan);
    CHECK_THAT(plan.error().message, Contains(c.message));
  }
}
