//===- DimensionsTest.cpp - Binding symbolic dimensions -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Models.h"

#include "sluice/Onnx/Dimensions.h"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::Contains;

namespace {
/// Inputs a[batch, 3], b[batch, length], c[?] and d without a shape.
ModelFile fourInputs() {
  ::onnx::ModelProto proto = reluModel();
  auto *graph = proto.mutable_graph();
  graph->clear_input();
  auto add = [&](const std::string &name) {
    auto *input = graph->add_input();
    input->set_name(name);
    input->mutable_type()->mutable_tensor_type()->set_elem_type(onnxtype::Float);
    return input->mutable_type()->mutable_tensor_type();
  };
  auto *a = add("a")->mutable_shape();
  a->add_dim()->set_dim_param("batch");
  a->add_dim()->set_dim_value(3);
  auto *b = add("b")->mutable_shape();
  b->add_dim()->set_dim_param("batch");
  b->add_dim()->set_dim_param("length");
  add("c")->mutable_shape()->add_dim();
  add("d");
  graph->mutable_node(0)->set_input(0, "a");
  return *openProto(proto);
}
} // namespace

TEST_CASE("Symbols are listed in order of first use", "[onnx]") {
  std::vector<SymbolUse> uses = symbolicDims(fourInputs());
  REQUIRE(uses.size() == 3);
  CHECK(uses[0].symbol == "batch");
  CHECK(uses[0].input == "a");
  CHECK(uses[1].symbol == "length");
  CHECK(uses[2].symbol == "c.0");
}

TEST_CASE("Options and data bind dimensions", "[onnx]") {
  DimBindings bindings;
  bindings.values = {{"batch", 8}, {"c.0", 5}};
  bindings.inputShapes = {{"b", {8, 7}}, {"d", {2, 2}}};
  Expected<BoundInputs> bound = bindDims(fourInputs(), bindings);
  REQUIRE(bound);
  CHECK(bound->shapes == std::vector<std::vector<int64_t>>{{8, 3}, {8, 7}, {5}, {2, 2}});
  CHECK(bound->symbols.at("length") == 7);
}

TEST_CASE("Bindings that do not fit are named", "[onnx]") {
  ModelFile model = fourInputs();
  DimBindings bindings;
  bindings.inputShapes["d"] = {1};
  CHECK_THAT(messageOf(bindDims(model, bindings)),
             Contains("'batch' (dimension 0 of input 'a'), 'length' (dimension 1 of input 'b'), 'c.0'"));
  bindings.values = {{"bath", 8}};
  CHECK_THAT(messageOf(bindDims(model, bindings)),
             Contains("has the dimension 'bath', option '--dim', use 'batch', 'length' or 'c.0'"));
  bindings.values = {{"batch", 8}};
  bindings.ties = {{"length", "btach"}};
  CHECK_THAT(messageOf(bindDims(model, bindings)),
             Contains("has the dimension 'btach', option '--dim', use 'batch', 'length' or 'c.0'"));
  bindings.ties = {{"length", "c.0"}, {"c.0", "batch"}};
  REQUIRE(bindDims(model, bindings));
  CHECK(bindDims(model, bindings)->symbols.at("length") == 8);
  bindings.values["length"] = 7;
  CHECK_THAT(messageOf(bindDims(model, bindings)), Contains("option '--dim length=c.0', give both the same size"));
  bindings.values = {{"batch", 8}};
  bindings.ties.clear();
  bindings.inputShapes["b"] = {4, 7};
  CHECK_THAT(messageOf(bindDims(model, bindings)),
             Contains("'batch' has size 8 according to the option, and size 4 according to"));
  bindings.inputShapes = {{"a", {8, 4}}};
  CHECK_THAT(messageOf(bindDims(model, bindings)),
             Contains("extent 4 in dimension 1, and the model declares extent 3"));
  bindings.inputShapes = {{"a", {8}}};
  CHECK_THAT(messageOf(bindDims(model, bindings)), Contains("has rank 1, and the model declares rank 2"));
  bindings.inputShapes = {{"e", {8}}};
  CHECK_THAT(messageOf(bindDims(model, bindings)), Contains("no input 'e'"));
  bindings = {};
  bindings.values = {{"batch", 8}, {"length", 1}, {"c.0", 1}};
  CHECK_THAT(messageOf(bindDims(model, bindings)), Contains("input 'd' declares no shape"));
  bindings.inputShapes = {{"d", {int64_t(1) << 40, int64_t(1) << 40}}};
  CHECK_THAT(messageOf(bindDims(model, bindings)), Contains("more than 2^59 elements"));
}

TEST_CASE("A dimension may be a sum of others", "[onnx]") {
  ModelFile model = fourInputs();
  DimBindings bindings;
  bindings.values = {{"batch", 8}, {"c.0", 5}};
  bindings.inputShapes = {{"d", {1}}};
  bindings.sums = {{"length", {"batch", "c.0", "2"}}};
  REQUIRE(bindDims(model, bindings));
  CHECK(bindDims(model, bindings)->symbols.at("length") == 15);
  bindings.values["length"] = 14;
  CHECK_THAT(messageOf(bindDims(model, bindings)),
             Contains("dimension 'length' has size 14 according to the option, and the sum in option '--dim' is 15"));
  bindings.values.erase("length");
  bindings.sums = {{"length", {"batch", "depth"}}};
  CHECK_THAT(messageOf(bindDims(model, bindings)), Contains("has the dimension 'depth'"));
  // A sum of what has no size has none.
  bindings.sums = {{"length", {"batch", "c.0"}}};
  bindings.values.erase("c.0");
  CHECK_THAT(messageOf(bindDims(model, bindings)), Contains("'length' (dimension 1 of input 'b'), 'c.0'"));
}

TEST_CASE("A dimension that is named as a sum is one", "[onnx]") {
  ::onnx::ModelProto proto = reluModel();
  auto *input = proto.mutable_graph()->add_input();
  input->set_name("mask");
  auto *type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnxtype::Float);
  type->mutable_shape()->add_dim()->set_dim_param("N + 1");
  DimBindings bindings;
  bindings.values = {{"N", 4}};
  Expected<BoundInputs> bound = bindDims(*openProto(proto), bindings);
  REQUIRE(bound);
  CHECK(bound->symbols.at("N + 1") == 5);
  bindings.values["N + 1"] = 7;
  CHECK(bindDims(*openProto(proto), bindings)->symbols.at("N + 1") == 7);
}

TEST_CASE("Inputs that are no tensors are refused", "[onnx]") {
  ::onnx::ModelProto proto = reluModel();
  auto *input = proto.mutable_graph()->add_input();
  input->set_name("s");
  input->mutable_type()->mutable_sequence_type();
  CHECK_THAT(messageOf(bindDims(*openProto(proto), DimBindings{{{"N", 1}}, {}, {}})),
             Contains("input 's' has type 'sequence', and only tensors"));
}

TEST_CASE("Bindings on the command line parse", "[onnx]") {
  using Binding = std::pair<std::string, DimRange>;
  CHECK(*parseDimBinding("batch=8") == Binding("batch", {8, 8}));
  CHECK(*parseDimBinding("a=b=8") == Binding("a=b", {8, 8}));
  CHECK(*parseDimBinding("batch=1..8") == Binding("batch", {1, 8}));
  CHECK(*parseDimBinding("height=32..320:32") == Binding("height", {32, 320, 32}));
  CHECK(*parseDimBinding("sequence=16,64,512") == Binding("sequence", {1, 512, 1, {16, 64}}));
  CHECK(*parseDimBinding("sequence=0..16,64") == Binding("sequence", {0, 64, 1, {16}}));
  CHECK(*parseDimBinding("height=64,320:32") == Binding("height", {32, 320, 32, {64}}));
  CHECK(*parseDimBinding("height=96..128,320:32") == Binding("height", {96, 320, 32, {128}}));
  for (const char *bad : {"batch=1,", "batch=,1", "batch=4,4", "batch=4,2", "batch=2..1,4", "batch=1,x", "batch=5,8:4",
                          "batch=1,2..4", "batch=4,8:0"})
    CHECK_FALSE(parseDimBinding(bad));
  for (const char *bad :
       {"batch", "=8", "batch=", "batch=-1", "batch=x", "batch=99999999999999999999", "batch=1..", "batch=..8",
        "batch=8..1", "batch=1..8:", "batch=1..8:0", "batch=1..8:2", "batch=1..8:-1", "batch=1..8..9", "batch=-1..8"})
    CHECK_FALSE(parseDimBinding(bad));
  DimBindings bindings;
  REQUIRE(addDimBinding("batch=1..8", bindings));
  REQUIRE(addDimBinding("sequence=3..3", bindings));
  CHECK(bindings.ranges == std::map<std::string, DimRange>{{"batch", {1, 8}}});
  CHECK(bindings.values == std::map<std::string, int64_t>{{"sequence", 3}});
  REQUIRE(addDimBinding("rows=batch", bindings));
  REQUIRE(addDimBinding("columns=rows", bindings));
  CHECK(bindings.tiedTo("columns") == "batch");
  CHECK(bindings.tiedTo("batch") == "batch");
  CHECK_THAT(addDimBinding("batch=columns", bindings).error().message, Contains("'batch' is tied to itself"));
  bindings.ties.clear();
  bindings.ranges["batch"] = {1, 8};
  REQUIRE(addDimBinding("total=batch+sequence + 1", bindings));
  CHECK(bindings.sums == std::map<std::string, std::vector<std::string>>{{"total", {"batch", "sequence", "1"}}});
  CHECK_THAT(addDimBinding("total=total+1", bindings).error().message, Contains("is the sum of itself and others"));
  REQUIRE(addDimBinding("total=5", bindings));
  CHECK(bindings.sums.empty());
  // The last one holds.
  REQUIRE(addDimBinding("batch=2", bindings));
  CHECK(bindings.ranges.empty());
}
