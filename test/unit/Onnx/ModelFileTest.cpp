//===- ModelFileTest.cpp - Opening models, hostile ones included ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Models.h"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::Contains;

TEST_CASE("A small model opens and describes itself", "[onnx]") {
  Expected<ModelFile> model = openProto(reluModel());
  REQUIRE(model);
  CHECK(model->irVersion() == 8);
  CHECK(model->opset("") == 13);
  CHECK(model->opset("ai.onnx") == 13);
  CHECK(model->opset("com.microsoft") == 0);
  REQUIRE(model->inputs().size() == 1);
  CHECK(model->inputs()[0].name == "x");
  CHECK(model->inputs()[0].elementType == onnxtype::Float);
  CHECK(model->inputs()[0].dims->at(0).value == 2);
  CHECK(model->inputs()[0].dims->at(1).symbol == "N");
  REQUIRE(model->outputs().size() == 1);
  CHECK(model->outputs()[0].kind == "undeclared");
}

TEST_CASE("Initializers are not inputs, even where listed as such", "[onnx]") {
  ::onnx::ModelProto proto = reluModel();
  addInitializer(proto, "w", 3);
  *proto.mutable_graph()->add_input() = proto.graph().input(0);
  proto.mutable_graph()->mutable_input(1)->set_name("w");
  Expected<ModelFile> model = openProto(proto);
  REQUIRE(model);
  REQUIRE(model->inputs().size() == 1);
  CHECK(model->inputs()[0].name == "x");
}

TEST_CASE("Raw data of initializers is found again after stripping", "[onnx]") {
  ::onnx::ModelProto proto = reluModel();
  for (int i = 0; i < 3; ++i) {
    std::string data(i == 1 ? 8 : 8192, static_cast<char>('a' + i));
    auto *tensor = addInitializer(proto, std::string("w") + std::to_string(i), static_cast<int64_t>(data.size() / 4));
    tensor->set_raw_data(data);
  }
  TemporaryDirectory directory;
  writeFile(directory / "m.onnx", proto.SerializeAsString());
  Expected<ModelFile> model = ModelFile::open(directory / "m.onnx");
  REQUIRE(model);
  for (int i = 0; i < 3; ++i) {
    Expected<TensorData> data = model->tensor(model->graph().initializer(i));
    REQUIRE(data);
    CHECK(data->bytes.size() == (i == 1 ? 8u : 8192u));
    for (std::byte byte : data->bytes)
      REQUIRE(byte == static_cast<std::byte>('a' + i));
  }
  // The large ones are not in the protobuf at all.
  CHECK(model->graph().initializer(0).raw_data().empty());
}

TEST_CASE("A view of the weights outlives the model", "[onnx]") {
  ::onnx::ModelProto proto = reluModel();
  addInitializer(proto, "w", 4096)->set_raw_data(std::string(4096 * 4, 'w'));
  TensorData data;
  {
    Expected<ModelFile> model = openProto(proto);
    REQUIRE(model);
    data = *model->tensor(model->graph().initializer(0));
  }
  CHECK(data.bytes.back() == std::byte('w'));
}

TEST_CASE("Every truncation of a model is refused or opens, none crashes", "[onnx]") {
  ::onnx::ModelProto proto = reluModel();
  addInitializer(proto, "w", 300);
  std::string bytes = proto.SerializeAsString();
  int refused = 0;
  for (size_t length = 0; length < bytes.size(); length += length < 64 ? 1 : 7)
    refused += !ModelFile::fromBytes(std::string_view(bytes).substr(0, length), "cut.onnx").has_value();
  CHECK(refused > 100);
  CHECK_THAT(messageOf(ModelFile::fromBytes(std::string_view(bytes).substr(0, bytes.size() - 5), "cut.onnx")),
             Contains("'cut.onnx' is not an ONNX model"));
}

TEST_CASE("Garbage is refused", "[onnx]") {
  CHECK_THAT(messageOf(ModelFile::fromBytes("", "empty.onnx")), Contains("has no graph and is not an ONNX model"));
  CHECK_FALSE(ModelFile::fromBytes(std::string(4096, '\xff'), "ff.onnx"));
  CHECK_FALSE(ModelFile::fromBytes("PK\x03\x04 not a model at all, a zip archive perhaps", "zip.onnx"));
  CHECK_THAT(messageOf(ModelFile::open("/nonexistent/model.onnx")), Contains("cannot open"));
  CHECK_THAT(messageOf(ModelFile::open("/dev/null")), Contains("not a regular file"));
}

TEST_CASE("Deep nesting is refused", "[onnx]") {
  ::onnx::ModelProto proto = reluModel();
  ::onnx::GraphProto inner = proto.graph();
  for (int depth = 0; depth < 60; ++depth) {
    ::onnx::GraphProto outer;
    auto *node = outer.add_node();
    node->set_op_type("If");
    auto *attribute = node->add_attribute();
    attribute->set_name("then_branch");
    attribute->mutable_g()->Swap(&inner);
    inner.Swap(&outer);
  }
  proto.mutable_graph()->Swap(&inner);
  CHECK_THAT(messageOf(openProto(proto)), Contains("nested too deeply"));
  std::string text = "<ir_version: 7, opset_import: [\"\" : 13]> g (float[N] x) => (float[N] y) { y = ";
  for (int depth = 0; depth < 100000; ++depth)
    text += "If <then_branch = g (";
  CHECK_THAT(messageOf(ModelFile::fromText(text, "deep.onnxtxt")), Contains("nested too deeply"));
}

static std::string repeated(std::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i)
    result += text;
  return result;
}

TEST_CASE("Comments, strings and arrows hide no nesting", "[onnx]") {
  const std::string header = "<ir_version: 7, opset_import: [\"\" : 13]>\n", deep = repeated("seq(", 100'000);
  auto message = [&](const std::string &before) {
    return messageOf(ModelFile::fromText(header + before + "g (" + deep, "deep.onnxtxt"));
  };
  CHECK_THAT(message(""), Contains("nested too deeply"));
  CHECK_THAT(message("# " + repeated(")", 200'000) + "\n"), Contains("nested too deeply"));
  CHECK_THAT(message("# \" a quote opens no string in a comment\n"), Contains("nested too deeply"));
  CHECK_THAT(messageOf(ModelFile::fromText("<ir_version: 7, producer_name: \"" + repeated(">})", 100'000) +
                                               "\", opset_import: [\"\" : 13]> g (" + deep,
                                           "deep.onnxtxt")),
             Contains("nested too deeply"));
  const std::string function = "<domain: \"d\", opset_import: [\"\" : 13]> f (a) => (b) { b = Relu(a) }\n";
  CHECK_THAT(messageOf(ModelFile::fromText(
                 header + "g (float x) => (float y) { y = Relu(x) }\n" + repeated(function, 1000) +
                     "<domain: \"d\"> h (a) => (b) { b = If <t = " + repeated("k () => (z) { z = If <t = ", 500),
                 "deep.onnxtxt")),
             Contains("nested too deeply"));
  CHECK_THAT(message(repeated("[", 1000)), Contains("nested too deeply"));
}

TEST_CASE("Brackets in comments and strings nest nothing", "[onnx]") {
  const std::string open = repeated("({<[", 1000);
  CHECK(ModelFile::fromText("# " + open + "\n<ir_version: 7, producer_name: \"" + open +
                                "\", opset_import: [\"\" : 13]>\ng (float[4] x) => (float[4] y) {\n# " + open +
                                "\ny = Relu(x) }",
                            "shallow.onnxtxt"));
}

TEST_CASE("A parse error quotes little of its line", "[onnx]") {
  const std::string header = "<ir_version: 7, opset_import: [\"\" : 13]> g (float[4] x) => (float[4] y) { y = ";
  const std::string many = repeated("1, ", 500'000);
  for (const std::string &text :
       {header + "Sum <axes = [" + many + "], ?> (x) }", header + "Sum <axes = [" + many + "%]",
        header + std::string(1'500'000, 'n') + "(x) } ?", header + "Relu(x) } " + many,
        header + "Sum <axis = " + std::string(1'500'000, '9') + "> (x) }"}) {
    const std::string message = messageOf(ModelFile::fromText(text, "long.onnxtxt"));
    CHECK_THAT(message, Contains("cannot parse textual model 'long.onnxtxt'") && Contains("line: 1 column: "));
    CHECK(message.size() < 400);
  }
  CHECK_THAT(messageOf(ModelFile::fromText(header + "Sum <axis = 99999999999999999999> (x) }", "b.onnxtxt")),
             Contains("A number is out of range") && Contains("Sum <axis = 99999999999999999999"));
}

TEST_CASE("Versions outside the tables are refused", "[onnx]") {
  ::onnx::ModelProto proto = reluModel();
  proto.mutable_opset_import(0)->set_version(0);
  CHECK_THAT(messageOf(openProto(proto)), Contains("uses opset 0, opsets 1 to"));
  proto.mutable_opset_import(0)->set_version(kNewestOpset + 1);
  CHECK_THAT(messageOf(openProto(proto)), Contains("opsets 1 to"));
  proto = reluModel();
  proto.set_ir_version(99);
  CHECK_THAT(messageOf(openProto(proto)), Contains("IR version 99"));
  proto = reluModel();
  auto *again = proto.add_opset_import();
  again->set_domain("ai.onnx");
  again->set_version(12);
  CHECK_THAT(messageOf(openProto(proto)), Contains("twice"));
}

TEST_CASE("Names must be defined, once, and without cycles", "[onnx]") {
  ::onnx::ModelProto proto = reluModel();
  auto *graph = proto.mutable_graph();
  auto *relu = graph->mutable_node(0);

  SECTION("undefined input") {
    relu->set_input(0, "ghost");
    CHECK_THAT(messageOf(openProto(proto)),
               Contains("node 'relu' reads 'ghost', which no node, input or initializer defines"));
  }
  SECTION("undefined graph output") {
    graph->mutable_output(0)->set_name("ghost");
    CHECK_THAT(messageOf(openProto(proto)), Contains("no node, input or initializer defines the graph output 'ghost'"));
  }
  SECTION("a node feeds itself") {
    relu->set_input(0, "y");
    CHECK_THAT(messageOf(openProto(proto)), Contains("cycle: 'relu' -> 'relu'"));
  }
  SECTION("a cycle of two") {
    relu->set_input(0, "z");
    auto *back = graph->add_node();
    back->set_name("back");
    back->set_op_type("Neg");
    back->add_input("y");
    back->add_output("z");
    CHECK_THAT(messageOf(openProto(proto)), Contains("cycle: 'relu' -> 'back' -> 'relu'"));
  }
  SECTION("out of order is no error") {
    relu->set_input(0, "z");
    auto *late = graph->add_node();
    late->set_name("late");
    late->set_op_type("Neg");
    late->add_input("x");
    late->add_output("z");
    CHECK(openProto(proto));
  }
  SECTION("produced twice") {
    *graph->add_node() = *relu;
    CHECK_THAT(messageOf(openProto(proto)), Contains("'y' is produced twice"));
  }
  SECTION("produced over an input") {
    relu->set_output(0, "x");
    CHECK_THAT(messageOf(openProto(proto)), Contains("already an input or initializer"));
  }
  SECTION("input twice") {
    *graph->add_input() = graph->input(0);
    CHECK_THAT(messageOf(openProto(proto)), Contains("graph input 'x' is defined twice"));
  }
  SECTION("initializer twice") {
    addInitializer(proto, "w", 1);
    addInitializer(proto, "w", 1);
    CHECK_THAT(messageOf(openProto(proto)), Contains("initializer 'w' is defined twice"));
  }
  SECTION("no operator") {
    relu->clear_op_type();
    CHECK_THAT(messageOf(openProto(proto)), Contains("has no operator type"));
  }
  SECTION("attribute twice") {
    relu->add_attribute()->set_name("alpha");
    relu->add_attribute()->set_name("alpha");
    CHECK_THAT(messageOf(openProto(proto)), Contains("attribute 'alpha' twice"));
  }
  SECTION("a subgraph may read outer names, and must not read unknown ones") {
    auto *body = relu->add_attribute();
    body->set_name("body");
    auto *inner = body->mutable_g()->add_node();
    inner->set_op_type("Neg");
    inner->add_input("x");
    inner->add_output("inner");
    CHECK(openProto(proto));
    inner->set_input(0, "ghost");
    CHECK_THAT(messageOf(openProto(proto)), Contains("'ghost'"));
  }
}

TEST_CASE("Constant nodes may repeat a name; other nodes may not", "[onnx]") {
  ::onnx::ModelProto proto = reluModel();
  for (int i = 0; i < 2; ++i) {
    auto *node = proto.mutable_graph()->add_node();
    node->set_op_type("Constant");
    node->add_output("c");
  }
  CHECK(openProto(proto));
  proto.mutable_graph()->mutable_node(2)->set_op_type("Neg");
  CHECK_THAT(messageOf(openProto(proto)), Contains("'c' is produced twice"));
}

TEST_CASE("Initializer sizes are checked", "[onnx]") {
  ::onnx::ModelProto proto = reluModel();
  auto *tensor = addInitializer(proto, "w", 4);
  SECTION("too little data") {
    tensor->set_raw_data("abc");
    CHECK_THAT(messageOf(openProto(proto)), Contains("tensor 'w' holds 3 bytes of data"));
  }
  SECTION("negative dimension") {
    tensor->set_dims(0, -4);
    CHECK_THAT(messageOf(openProto(proto)), Contains("negative dimension -4"));
  }
  SECTION("overflowing product") {
    tensor->clear_dims();
    for (int i = 0; i < 8; ++i)
      tensor->add_dims(int64_t(1) << 40);
    CHECK_THAT(messageOf(openProto(proto)), Contains("more than 2^59 elements"));
  }
  SECTION("overflow hidden behind a zero") {
    tensor->clear_dims();
    for (int64_t dim : {int64_t(1) << 62, int64_t(1) << 62, int64_t(0)})
      tensor->add_dims(dim);
    CHECK_THAT(messageOf(openProto(proto)), Contains("more than 2^59 elements"));
  }
  SECTION("unknown element type") {
    tensor->set_data_type(77);
    CHECK_THAT(messageOf(openProto(proto)), Contains("unknown element type 77"));
  }
  SECTION("in an attribute of a subgraph") {
    auto *body = proto.mutable_graph()->mutable_node(0)->add_attribute();
    body->set_name("body");
    auto *inner = body->mutable_g()->add_node();
    inner->set_op_type("Constant");
    inner->add_output("c");
    auto *value = inner->add_attribute();
    value->set_name("value");
    value->mutable_t()->set_data_type(onnxtype::Int64);
    value->mutable_t()->add_dims(1000);
    CHECK_THAT(messageOf(openProto(proto)), Contains("needs 8000"));
  }
}

TEST_CASE("Textual models open, and their errors are ours", "[onnx]") {
  Expected<ModelFile> model = ModelFile::fromText(
      "<ir_version: 7, opset_import: [\"\" : 13]> g (float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }", "a.onnxtxt");
  REQUIRE(model);
  CHECK(model->inputs()[0].dims->at(0).symbol == "N");
  CHECK_THAT(messageOf(ModelFile::fromText("<ir_version: 7", "b.onnxtxt")), Contains("cannot parse textual model"));
  CHECK_THAT(messageOf(ModelFile::fromText("<ir_version: 99999999999999999999999999>", "c.onnxtxt")),
             Contains("cannot parse"));
  CHECK_THAT(messageOf(ModelFile::fromText("\xc3\xa9", "d.onnxtxt")), Contains("ASCII"));
}
