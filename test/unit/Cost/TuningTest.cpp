//===- TuningTest.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Cost/Tuning.h"

#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>

using namespace sluice;
using Catch::Contains;

static const char *const kText = R"({
  "schema": 1,
  "origin": "sluice 0, a processor",
  "device": "cpu/2t",
  "kernels": [{"key": "abc", "kind": "conv", "shape": "1x1x28x28xf32",
               "tuning": {"algorithm": "winograd4", "rows": 7, "chunk_ns": 9000},
               "ns": 1200, "defaultNs": 1500, "trials": 17, "finished": true},
              {"key": "abd", "kind": "matmul", "shape": "", "tuning": {}, "ns": 1, "defaultNs": 1, "trials": 1,
               "finished": false}],
  "thresholds": [{"rate": "products", "state": "at", "ns": 12001}, {"rate": "scalars", "state": "unknown"},
                 {"rate": "vectors", "state": "never"}],
  "profile": {"schema": 4,
              "operators": [{"signature": "s", "device": "cpu/2t", "medianNs": 5, "spreadNs": 1, "samples": 3}],
              "links": []}})";

static Expected<Tuning> read(const Json &json) { return tuningFromJson(JsonReader(json, "t.json:")); }

TEST_CASE("a tuning is written as it is read", "[cost]") {
  const Json json = Json::parse(kText);
  Expected<Tuning> tuning = read(json);
  REQUIRE(tuning);
  CHECK(tuning->device == "cpu/2t");
  const TunedKernel &kernel = tuning->kernels.at("abc");
  CHECK(kernel.tuning == KernelTuning{.algorithm = TunedAlgorithm::Winograd4, .rows = 7, .chunkNs = 9000});
  CHECK(kernel.ns == 1200);
  CHECK(kernel.defaultNs == 1500);
  CHECK(kernel.trials == 17);
  CHECK(kernel.isFinished);
  CHECK(tuning->kernels.at("abd").tuning == KernelTuning());
  CHECK(tuning->thresholds.at("products") == Threshold{CrossingState::At, 12'001});
  CHECK(tuning->thresholds.at("vectors").state == CrossingState::Never);
  CHECK(tuning->thresholds.at("scalars").state == CrossingState::Unknown);
  CHECK(tuning->profile.operators.at({"s", "cpu/2t"}).medianNs == 5);
  CHECK(tuningToJson(*tuning) == json);
  // Unknown thresholds are left to the compiler; a loop that is cut has two chunks.
  CHECK(chunkTimes(*tuning) == "products=6000,vectors=never");
  CHECK(chunkTimes(Tuning()).empty());
}

TEST_CASE("a malformed tuning is refused, and the error says where", "[cost]") {
  struct Case {
    std::function<void(Json &)> change;
    const char *message;
  };
  const std::vector<Case> cases = {
      {[](Json &json) { json["schema"] = 2; }, "tuning schema 2 is not known, at 't.json:"},
      {[](Json &json) { json.erase("schema"); }, "schema"},
      {[](Json &json) { json.erase("device"); }, "device"},
      {[](Json &json) { json["speed"] = 1; }, "speed"},
      {[](Json &json) { json["kernels"] = 3; }, "kernels"},
      {[](Json &json) { json["kernels"][0]["tuning"]["rows"] = 33; }, "rows 33 is out of range"},
      {[](Json &json) { json["kernels"][0]["tuning"]["rows"] = -1; }, "rows -1 is out of range"},
      {[](Json &json) { json["kernels"][0]["tuning"]["rows"] = 1.5; }, "rows"},
      {[](Json &json) { json["kernels"][0]["tuning"]["columns"] = 1; }, "columns"},
      {[](Json &json) { json["kernels"][0]["tuning"]["depth_block"] = 4097; }, "write 0 to 4096"},
      {[](Json &json) { json["kernels"][0]["tuning"]["algorithm"] = "fft"; },
       "algorithm 'fft' is not known, at 't.json:kernels[0].tuning', write 'any', 'direct', 'winograd2' or "
       "'winograd4'"},
      {[](Json &json) { json["kernels"][0]["tuning"] = 1; }, "tuning"},
      {[](Json &json) { json["kernels"][0]["ns"] = 0; }, "ns 0 is out of range"},
      {[](Json &json) { json["kernels"][0].erase("trials"); }, "trials"},
      {[](Json &json) { json["kernels"][1]["key"] = "abc"; }, "kernel 'abc' is tuned twice"},
      {[](Json &json) { json["thresholds"][0]["rate"] = "halves"; }, "rate 'halves' is not known"},
      {[](Json &json) { json["thresholds"][0]["state"] = "often"; }, "state 'often' is not known"},
      {[](Json &json) { json["thresholds"][0]["ns"] = 0; }, "ns 0 is out of range"},
      {[](Json &json) { json["thresholds"][0].erase("ns"); }, "ns"},
      {[](Json &json) { json["thresholds"][2]["ns"] = 5; }, "a threshold in state 'never' cannot have a time"},
      {[](Json &json) { json["thresholds"][1]["rate"] = "products"; }, "rate 'products' has two thresholds"},
      {[](Json &json) { json["profile"]["schema"] = 99; }, "profile schema 99 is not known"},
      {[](Json &json) { json.erase("profile"); }, "profile"},
      {[](Json &json) { json = Json::array(); }, "t.json:"},
  };
  for (const Case &each : cases) {
    Json json = Json::parse(kText);
    each.change(json);
    CAPTURE(json.dump());
    Expected<Tuning> tuning = read(json);
    REQUIRE(!tuning);
    CHECK_THAT(tuning.error().message, Contains(each.message));
  }
}

TEST_CASE("a tuning belongs to one compiler, processor and device", "[cost]") {
  Tuning tuning;
  tuning.origin = "here";
  tuning.device = "cpu/2t";
  CHECK(checkTuning(tuning, "here", "cpu/2t", "t.json"));
  Status other = checkTuning(tuning, "there", "cpu/2t", "t.json");
  REQUIRE(!other);
  CHECK_THAT(
      other.error().message,
      Contains(
          "the tuning in 't.json' was measured with compiler and processor 'here', and this computer has 'there'"));
  // Of long texts the part that differs.
  const std::string features(200, '+');
  tuning.origin = "sluice 1, " + features;
  Status precision = checkTuning(tuning, tuning.origin + ", bf16", "cpu/2t", "t.json");
  REQUIRE(!precision);
  CHECK_THAT(precision.error().message, Contains("'..." + features.substr(0, 40) + "', and this computer has '..." +
                                                 features.substr(0, 40) + ", bf16'"));
  tuning.origin = "here";
  Status device = checkTuning(tuning, "here", "cpu/8t", "t.json");
  REQUIRE(!device);
  CHECK_THAT(device.error().message, Contains("on device 'cpu/2t', and this computer has 'cpu/8t'"));
}
