//===- ProfileTest.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Cost/Profile.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace sluice;
using Catch::Contains;

static const char *const kText = R"({
  "schema": 4,
  "origin": "sluice 0, a processor",
  "operators": [{"signature": "abc", "device": "cpu/2t", "medianNs": 1234, "spreadNs": 5, "samples": 9, "kind": "conv",
                 "flops": 100, "bytesMoved": 60, "inputBytes": 10, "parameterBytes": 20, "outputBytes": 30,
                 "workspaceBytes": 0}],
  "links": [{"between": ["host", "gpu0"], "latencyNs": 7, "bytesPerSec": 1e10, "duplexBytesPerSec": 2.5e10,
             "eventLatencyNs": 3,
             "spread": 0.25, "samples": 40, "setting": "free"}]})";

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
  CHECK(measured.links[0].eventLatencyNs == 3);
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
      {"/schema", 5, "profile schema 5 is not known"},
      {"/origin", 1, "p.json:origin"},
      {"/extra", 2, "'extra' is unknown"},
      {"/operators", 2, "expected an array"},
      {"/operators/0/medianNs", 0, "medianNs 0 is out of range"},
      {"/operators/0/spreadNs", -1, "spreadNs -1 is out of range"},
      {"/operators/0/samples", 0, "samples 0 is out of range"},
      {"/operators/0/flops", -1, "flops -1 is out of range"},
      {"/operators/0/kind", 3, "p.json:operators[0].kind"},
      {"/links/0/setting", 3, "p.json:links[0].setting"},
      {"/operators/0/device", 0, "p.json:operators[0].device"},
      {"/operators/0/note", 0, "'note' is unknown"},
      {"/links/0/bytesPerSec", 0, "bytesPerSec 0 is out of range"},
      {"/links/0/bytesPerSec", 1e308, "write a number from 1 to 1e21"},
      {"/links/0/bytesPerSec", 5e-324, "write a number from 1 to 1e21"},
      {"/links/0/latencyNs", 3'600'000'000'001, "write at most 3600000000000 (one hour)"},
      {"/links/0/eventLatencyNs", 3'600'000'000'000, "are more than one hour together"},
      {"/links/0/duplexBytesPerSec", -2, "duplexBytesPerSec -2 is out of range"},
      {"/links/0/between", Json::array(), "must name two memories"},
      {"/links/0/latencyNs", -1, "latencyNs -1 is out of range"},
      {"/links/0/eventLatencyNs", -1, "eventLatencyNs -1 is out of range"},
      {"/links/0/spread", -1, "spread -1 is negative"},
      {"/links/0/samples", 0, "samples 0 is out of range"},
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

TEST_CASE("profiles of schema 1 know no spread of links and no shapes", "[cost]") {
  Json json = *parseJson(kText, "");
  json["schema"] = 1;
  json.erase("origin");
  for (const char *key : {"spread", "samples", "setting", "eventLatencyNs"})
    json["links"][0].erase(key);
  for (const char *key :
       {"kind", "flops", "bytesMoved", "inputBytes", "parameterBytes", "outputBytes", "workspaceBytes"})
    json["operators"][0].erase(key);
  Expected<Profile> profile = read(json);
  REQUIRE(profile);
  CHECK(profile->links.begin()->second.samples == 0);
  CHECK(profile->operators.begin()->second.shape.kind.empty());
  json["schema"] = kProfileSchema;
  CHECK(profileToJson(*profile) == json);
}

TEST_CASE("a link's key tells what its machine enforces", "[cost]") {
  Link link;
  CHECK(linkKey(link) == "free");
  link.throttle = true;
  Link slower = link;
  slower.latencyNs *= 2;
  CHECK(linkKey(link) != linkKey(slower));
}

TEST_CASE("an operator's shape counts what it reads by kind", "[cost]") {
  Graph graph;
  Tensor input, weight, out;
  input.kind = TensorKind::Input;
  input.bytes = 100;
  weight.kind = TensorKind::Parameter;
  weight.bytes = 30;
  out.bytes = 7;
  Operator op;
  op.kind = "matmul";
  op.inputs = {graph.addTensor(input), graph.addTensor(weight)};
  op.outputs = {graph.addTensor(out)};
  op.flops = 5;
  const OperatorId id = graph.addOperator(op);
  const OperatorShape shape = shapeOf(graph, id);
  CHECK(shape.kind == "matmul");
  CHECK((shape.inputBytes == 100 && shape.parameterBytes == 30 && shape.outputBytes == 7));
  CHECK(shape.bytesMoved == 137);
  CHECK(rooflineTimeNs(shape, Device()) == RooflineCostModel().operatorTimeNs(graph, id, Device()));
}

TEST_CASE("a link's latency and rate are the line through its copies", "[cost]") {
  std::vector<CopySample> samples;
  auto add = [&](int64_t bytes, double factor) {
    samples.push_back({bytes, std::llround((5000 + static_cast<double>(bytes) / 4) * factor)});
  };
  const std::vector<int64_t> sizes = {1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22};
  SECTION("exactly") {
    for (int64_t bytes : sizes)
      add(bytes, 1);
    const LinkMeasurement fit = fitLink(samples);
    CHECK(fit.latencyNs == 5000);
    CHECK(fit.bytesPerSec == Approx(4e9).epsilon(1e-4));
    CHECK(fit.duplexBytesPerSec == fit.bytesPerSec);
    CHECK(fit.samples == 5);
    CHECK(fit.spread < 1e-3);
  }
  SECTION("whatever a few disturbed copies took") {
    for (int64_t bytes : sizes)
      for (double factor : {0.98, 1.0, 1.0, 1.02, 30.0})
        add(bytes, factor);
    const LinkMeasurement fit = fitLink(samples);
    CHECK(fit.latencyNs == 5000);
    CHECK(fit.bytesPerSec == Approx(4e9).epsilon(1e-4));
    CHECK(fit.samples == 25);
    CHECK(fit.spread == Approx(0.02).margin(0.01));
  }
  SECTION("through zero where the latency would be negative") {
    samples = {{1000, 100}, {2000, 400}};
    const LinkMeasurement fit = fitLink(samples);
    CHECK(fit.latencyNs == 0);
    CHECK(fit.bytesPerSec > 5e9);
    CHECK(fit.bytesPerSec < 1e10);
  }
  SECTION("of one size, and of times that do not grow") {
    CHECK(fitLink({{1000, 100}}).bytesPerSec == Approx(1e10));
    const LinkMeasurement flat = fitLink({{1000, 100}, {4000, 50}});
    CHECK(flat.latencyNs == 0);
    CHECK(flat.bytesPerSec > 0);
  }
}
