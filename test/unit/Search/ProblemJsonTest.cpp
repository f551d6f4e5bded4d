//===- ProblemJsonTest.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/ProblemJson.h"

#include "RandomGraph.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;

static ProblemFile sample() {
  Instance instance = randomInstance(3, 10, 2);
  ProblemFile problem{instance.graph, instance.machine, instance.costs, {1 << 20, 4096, 8192}, {}};
  problem.placement.assign(10, DeviceId(1u));
  problem.placement[3] = DeviceId();
  return problem;
}

TEST_CASE("a problem survives its file", "[search]") {
  ProblemFile problem = sample();
  Json json = problemToJson(problem);
  Expected<ProblemFile> read = problemFromJson(JsonReader(json, "problem"));
  INFO((read ? std::string() : read.error().message));
  REQUIRE(read);
  CHECK(problemToJson(*read) == json);
  CHECK(read->costs.operatorNs == problem.costs.operatorNs);
  CHECK(read->capacities == problem.capacities);
  CHECK(read->placement == problem.placement);
}

TEST_CASE("absent parts of a problem have defaults", "[search]") {
  Json json = problemToJson(sample());
  json.erase("costs");
  json.erase("capacities");
  json.erase("placement");
  Expected<ProblemFile> read = problemFromJson(JsonReader(json, "problem"));
  REQUIRE(read);
  CHECK(read->placement.empty());
  CHECK(read->capacities[1] == read->machine.memories[1].capacityBytes);
  CHECK(read->costs.operatorNs == makeCostTable(read->graph, read->machine, RooflineCostModel()).operatorNs);
}

TEST_CASE("wrong problems are named by path", "[search]") {
  Json json = problemToJson(sample());
  auto message = [&] {
    Expected<ProblemFile> read = problemFromJson(JsonReader(json, "problem"));
    REQUIRE_FALSE(read);
    return read.error().message;
  };
  SECTION("schema of the future") {
    json["schema"] = 99;
    CHECK_THAT(message(), Catch::Contains("99"));
  }
  SECTION("no graph") {
    json.erase("graph");
    CHECK_THAT(message(), Catch::Contains("graph"));
  }
  SECTION("too few costs") {
    json["costs"].erase(0);
    CHECK_THAT(message(), Catch::Contains("costs") && Catch::Contains("10"));
  }
  SECTION("a time of zero") {
    json["costs"][2][1] = 0;
    CHECK_THAT(message(), Catch::Contains("costs[2][1]"));
  }
  SECTION("a memory that is not there") {
    json["capacities"]["gpu7"] = 1;
    CHECK_THAT(message(), Catch::Contains("gpu7"));
  }
  SECTION("a negative capacity") {
    json["capacities"]["accel0"] = -1;
    CHECK_THAT(message(), Catch::Contains("accel0"));
  }
  SECTION("a device that does not compute") {
    json["placement"][0] = "cpu";
    CHECK_THAT(message(), Catch::Contains("'cpu'"));
  }
  SECTION("an unknown key") {
    json["colour"] = "red";
    CHECK_THAT(message(), Catch::Contains("colour"));
  }
  SECTION("not an object") {
    json = Json::array();
    message();
  }
}
