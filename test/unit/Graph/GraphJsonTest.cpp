//===- GraphJsonTest.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Graph/GraphJson.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace sluice;
using Catch::Contains;

static const char *const kText = R"({
  "schema": 1, "name": "g",
  "tensors": [
    {"name": "x", "kind": "input", "bytes": 8, "type": "f32[2]"},
    {"name": "s", "kind": "state", "bytes": 8},
    {"name": "y", "kind": "activation", "bytes": 8, "output": true},
    {"name": "n", "kind": "state", "bytes": 8, "updates": 1},
    {"name": "w", "kind": "parameter", "bytes": 80, "touchedBytes": 16, "pooled": true}],
  "operators": [
    {"name": "f", "kind": "add", "inputs": [0, 1], "outputs": [2, 3], "flops": 2, "bytesMoved": 30,
     "workspaceBytes": 5, "demandBytes": 40, "signature": "abc", "inPlace": [[1, 1]], "colocation": 0, "communicates": true}]})";

static Expected<Graph> read(const Json &json) { return graphFromJson(JsonReader(json, "g.json:")); }

TEST_CASE("graphs survive the round trip", "[graph]") {
  Json json = *parseJson(kText, "");
  Expected<Graph> graph = read(json);
  REQUIRE(graph);
  CHECK(graph->tensor(TensorId(3)).updates == TensorId(1));
  CHECK(graph->tensor(TensorId(2)).isOutput);
  CHECK(graph->tensor(TensorId(4)).homeBytes() == 16);
  CHECK(graph->tensor(TensorId(3)).homeBytes() == 8);
  CHECK(graph->op(OperatorId(0)).inPlace == std::vector{std::pair(1u, 1u)});
  CHECK(graph->op(OperatorId(0)).communicates);
  CHECK(graph->tensor(TensorId(4)).isPooled);
  CHECK_FALSE(graph->tensor(TensorId(3)).isPooled);
  CHECK(graph->op(OperatorId(0)).demandBytes == 40);
  CHECK(graphToJson(*graph) == json);
}

TEST_CASE("what is wrong in a graph's JSON is named by path", "[graph]") {
  struct Case {
    const char *pointer;
    Json value;
    const char *message;
  };
  const std::vector<Case> cases = {
      {"/schema", 2, "graph schema 2 is not known"},
      {"/schema", "1", "g.json:schema"},
      {"/surprise", 1, "'surprise' is unknown"},
      {"/tensors", 3, "expected an array"},
      {"/tensors/0/kind", "weird", "tensor kind 'weird' is unknown"},
      {"/tensors/0/bytes", -8, "size of -8 bytes"},
      {"/tensors/0/bytes", "8", "g.json:tensors[0].bytes"},
      {"/tensors/0/touchedBytes", 4, "the tensor has 'touchedBytes', which only parameters can have, tensor 'x'"},
      {"/tensors/4/touchedBytes", 81, "'touchedBytes' is 81 and must be in [0, 80], tensor 'w'"},
      {"/tensors/4/touchedBytes", 0,
       "the tensor is pooled and has no 'touchedBytes', which pooled tensors need, tensor 'w'"},
      {"/tensors/4/pooled", 1, "g.json:tensors[4].pooled"},
      {"/operators/0/demandBytes", -1, "may not be negative"},
      {"/tensors/0/extra", 1, "'extra' is unknown, at 'g.json:tensors[0]'"},
      {"/tensors/3/updates", 9, "tensor 9 does not exist"},
      {"/tensors/3/updates", -1, "tensor -1 does not exist"},
      {"/operators/0/inputs/0", 5, "g.json:operators[0].inputs[0]"},
      {"/operators/0/inputs/0", 4294967296, "does not exist"},
      {"/operators/0/inPlace/0/0", 2, "input 2 does not exist"},
      {"/operators/0/inPlace/0", Json::array({1}), "expected two numbers"},
      {"/operators/0/colocation", 4294967296, "out of range"},
      {"/operators/0/outputs", Json::array(), "output 1 does not exist, at 'g.json:operators[0].inPlace[0][1]'"},
      {"/operators/0/outputs/0", 0, "is a parameter or an input"},
  };
  for (const Case &c : cases) {
    CAPTURE(c.pointer);
    Json json = *parseJson(kText, "");
    json[Json::json_pointer(c.pointer)] = c.value;
    Expected<Graph> graph = read(json);
    REQUIRE_FALSE(graph);
    CHECK_THAT(graph.error().message, Contains(c.message));
  }
  CHECK_FALSE(read(Json::array()));
  CHECK_FALSE(read(Json()));
}
