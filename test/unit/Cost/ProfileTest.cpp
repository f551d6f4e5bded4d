//===- ProfileTest.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Cost/Profile.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace sluice;
using Catch::Contains;

static const char *const kText = R"({
  "schema": 1,
  "operators": [{"signature": "abc", "device": "cpu/2t", "medianNs": 1234, "spreadNs": 5, "samples": 9}],
  "links": [{"between": ["host", "gpu0"], "latencyNs": 7, "bytesPerSec": 1e10, "duplexBytesPerSec": 2.5e10}]})";

static Expected<Profile> read(const Json &json) { return profileFromJson(JsonReader(json, "p.json:")); }

static Graph twoOperators() {
  Graph graph;
  for (const char *signature : {"abc", ""}) {
    Tensor out;
    out.bytes = 100;
    Operator op;
    op.name = concat("op-", signature);
    op.signature = signature;
    op.outputs = {graph.addTensor(out)};
    graph.addOperator(op);
  }
  return graph;
}

TEST_CASE("profiles survive the round trip", "[cost]") {
  Json json = *parseJson(kText, "");
  Expected<Profile> profile = read(json);
  REQUIRE(profile);
  CHECK(profile->operators.at({"abc", "cpu/2t"}).medianNs == 1234);
  CHECK(profileToJson(*profile) == json);
}

TEST_CASE("measured operators use the profile, others the fallback", "[cost]") {
  Json json = *parseJson(kText, "");
  Profile profile = *read(json);
  RooflineCostModel roofline;
  ProfiledCostModel model(profile, roofline);
  Graph graph = twoOperators();
  Device cpu;
  cpu.threads = 2;
  CHECK(model.operatorTimeNs(graph, OperatorId(0), cpu) == 1234);
  CHECK(model.isMeasured(graph, OperatorId(0), cpu));
  CHECK(model.operatorTimeNs(graph, OperatorId(1), cpu) == roofline.operatorTimeNs(graph, OperatorId(1), cpu));
  CHECK_FALSE(model.isMeasured(graph, OperatorId(1), cpu));
  cpu.threads = 4;
  CHECK(model.operatorTimeNs(graph, OperatorId(0), cpu) == roofline.operatorTimeNs(graph, OperatorId(0), cpu));
}

TEST_CASE("device keys tell apart what runs differently", "[cost]") {
  Device cpu, emulated, gpu;
  emulated.kind = DeviceKind::Emulated;
  gpu.kind = DeviceKind::Cuda;
  CHECK(deviceKey(cpu) == "cpu/1t");
  CHECK(deviceKey(emulated) == "emulated/1t/1x");
  emulated.speed = 0.5;
  CHECK(deviceKey(emulated) == "emulated/1t/0.5x");
  Device faster = gpu;
  faster.flopsPerSec *= 2;
  CHECK(deviceKey(gpu) != deviceKey(faster));
  faster = gpu;
  faster.name = "gpu1";
  CHECK(deviceKey(gpu) == deviceKey(faster));
}

TEST_CASE("measured links replace a machine's, whichever end is first", "[cost]") {
  Json json = *parseJson(kText, "");
  Profile profile = *read(json);
  Machine machine = *machinePreset("h200x2");
  std::swap(machine.links[0].a, machine.links[0].b);
  Machine measured = withMeasuredLinks(machine, profile);
  CHECK(measured.links[0].bytesPerSec == 1e10);
  CHECK(measured.links[0].latencyNs == 7);
  CHECK(measured.links[0].duplexBytesPerSec == 2e10); // Noise above twice one way is cut off.
  CHECK(measured.links[1].bytesPerSec == machine.links[1].bytesPerSec);
  CHECK(measured.check());
}

TEST_CASE("what is wrong in a profile is named by path", "[cost]") {
  struct Case {
    const char *pointer;
    Json value;
    const char *message;
  };
  const std::vector<Case> cases = {
      {"/schema", 2, "profile schema 2 is not known"},
      {"/extra", 2, "'extra' is unknown"},
      {"/operators", 2, "expected an array"},
      {"/operators/0/medianNs", 0, "medianNs 0 is out of range"},
      {"/operators/0/spreadNs", -1, "spreadNs -1 is out of range"},
      {"/operators/0/samples", 0, "samples 0 is out of range"},
      {"/operators/0/device", 0, "p.json:operators[0].device"},
      {"/operators/0/note", 0, "'note' is unknown"},
      {"/links/0/bytesPerSec", 0, "is not positive"},
      {"/links/0/duplexBytesPerSec", -2, "is not positive"},
      {"/links/0/between", Json::array(), "joins two memories"},
      {"/links/0/latencyNs", -1, "latencyNs -1 is out of range"},
  };
  for (const Case &c : cases) {
    CAPTURE(c.pointer);
    Json json = *parseJson(kText, "");
    json[Json::json_pointer(c.pointer)] = c.value;
    Expected<Profile> profile = read(json);
    REQUIRE_FALSE(profile);
    CHECK_THAT(profile.error().message, Contains(c.message));
  }
  Json twice = *parseJson(kText, "");
  twice["operators"].push_back(twice["operators"][0]);
  CHECK_THAT(read(twice).error().message, Contains("measured twice"));
}
