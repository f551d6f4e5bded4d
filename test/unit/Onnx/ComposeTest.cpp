//===- ComposeTest.cpp - Several models as one ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Onnx/Compose.h"
#include "Models.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::Contains;

namespace {

/// A pipeline of models in a directory of its own.
struct Files {
  void model(const std::string &name, const ::onnx::ModelProto &proto) {
    std::filesystem::create_directories(std::filesystem::path(directory / name).parent_path());
    writeFile(directory / name, proto.SerializeAsString());
  }
  std::string pipeline(const std::string &members) {
    writeFile(directory / "pipeline.json", "{\"schema\": 1, " + members + "}");
    return directory / "pipeline.json";
  }
  Expected<Composition> compose(const std::string &members, PinMode pins = PinMode::Check) {
    return composePipeline(pipeline(members), pins);
  }
  TemporaryDirectory directory;
};

const char *const kTwo = R"("services": [{"id": "a", "model": "a.onnx"}, {"id": "b", "model": "b.onnx"}],
                            "links": [{"from": "a.y", "to": "b.x"}])";

/// y = Relu(x) of [2, N] for both, with the shape of y declared.
::onnx::ModelProto typedRelu() {
  ::onnx::ModelProto model = reluModel();
  *model.mutable_graph()->mutable_output(0)->mutable_type() = model.graph().input(0).type();
  return model;
}

/// The model's y is a call of its function `F` = `op`.
::onnx::ModelProto callingModel(const std::string &op) {
  ::onnx::ModelProto model = typedRelu();
  model.mutable_graph()->mutable_node(0)->set_op_type("F");
  model.mutable_graph()->mutable_node(0)->set_domain("own");
  auto *import = model.add_opset_import();
  import->set_domain("own");
  import->set_version(1);
  auto *function = model.add_functions();
  function->set_name("F");
  function->set_domain("own");
  function->add_input("x");
  function->add_output("y");
  *function->add_opset_import() = model.opset_import(0);
  auto *node = function->add_node();
  node->set_op_type(op);
  node->add_input("x");
  node->add_output("y");
  return model;
}

std::vector<std::string> namesOf(const std::vector<DeclaredTensor> &tensors) {
  std::vector<std::string> names;
  for (const DeclaredTensor &tensor : tensors)
    names.push_back(tensor.name);
  return names;
}

} // namespace

TEST_CASE("Values, nodes and initializers have their service's id before their names", "[onnx]") {
  Files files;
  ::onnx::ModelProto second = typedRelu();
  addInitializer(second, "w", 4096);
  second.mutable_graph()->mutable_initializer(0)->mutable_raw_data()->assign(4096 * 4, 'w');
  files.model("a.onnx", typedRelu());
  files.model("b.onnx", second);
  Expected<Composition> composed = files.compose(kTwo);
  REQUIRE(composed);
  const ::onnx::GraphProto &graph = composed->model.graph();
  REQUIRE(graph.node_size() == 2);
  CHECK(graph.node(0).name() == "a.relu");
  CHECK(graph.node(0).input(0) == "a.x");
  CHECK(graph.node(1).input(0) == "a.y");
  CHECK(namesOf(composed->model.inputs()) == std::vector<std::string>{"a.x"});
  CHECK(namesOf(composed->model.outputs()) == std::vector<std::string>{"b.y"});
  REQUIRE(graph.initializer_size() == 1);
  CHECK(graph.initializer(0).name() == "b.w");
  CHECK(graph.initializer(0).raw_data().empty()); // It stays in the mapped file.
  Expected<TensorData> data = composed->model.tensor(graph.initializer(0));
  REQUIRE(data);
  CHECK(data->bytes.size() == 4096 * 4);
  CHECK(data->bytes.front() == std::byte('w'));

  const std::string path = files.directory / "out.onnx";
  SECTION("which are in the written model too") {
    REQUIRE(writeModel(composed->model, path));
    Expected<ModelFile> written = ModelFile::open(path);
    REQUIRE(written);
    CHECK(written->tensor(written->graph().initializer(0))->bytes.back() == std::byte('w'));
    CHECK_FALSE(std::filesystem::exists(path + ".data"));
  }
  SECTION("or beside it") {
    REQUIRE(writeModel(composed->model, path, {WeightStorage::External}));
    Expected<ModelFile> written = ModelFile::open(path);
    REQUIRE(written);
    CHECK(written->dataFiles() == std::vector<std::string>{"out.onnx.data"});
    CHECK(written->tensor(written->graph().initializer(0))->bytes.back() == std::byte('w'));
  }
}

TEST_CASE("A symbol is one dimension of a service, and of those linked with it", "[onnx]") {
  Files files;
  files.model("a.onnx", typedRelu());
  files.model("b.onnx", typedRelu());
  auto symbols = [&](const std::string &members) {
    Expected<Composition> composed = files.compose(members);
    REQUIRE(composed);
    std::vector<std::string> names;
    for (const auto *ports : {&composed->model.inputs(), &composed->model.outputs()})
      for (const DeclaredTensor &port : *ports)
        names.push_back((*port.dims)[1].symbol);
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(symbols(kTwo) == Names{"N", "N"});
  // Without a link both go by the symbol N, and differ.
  CHECK(symbols(R"("services": [{"id": "a", "model": "a.onnx"}, {"id": "b", "model": "b.onnx"}])") ==
        Names{"a.N", "b.N", "a.N", "b.N"});
  // An input that both read links them too.
  CHECK(symbols(R"("services": [{"id": "a", "model": "a.onnx"}, {"id": "b", "model": "b.onnx"}],
                   "inputs": {"both": ["a.x", "b.x"]})") == Names{"N", "N", "N"});
}

TEST_CASE("A constant extent replaces the symbols that it is linked with", "[onnx]") {
  Files files;
  files.model("a.onnx", typedRelu());
  ::onnx::ModelProto fixed = typedRelu();
  fixed.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_value(7);
  files.model("b.onnx", fixed);
  Expected<Composition> composed = files.compose(kTwo);
  REQUIRE(composed);
  CHECK((*composed->model.inputs()[0].dims)[1].value == 7);
}

TEST_CASE("Denotations of the models must agree where both have one", "[onnx]") {
  Files files;
  ::onnx::ModelProto first = typedRelu(), second = typedRelu();
  first.mutable_graph()->mutable_output(0)->mutable_type()->set_denotation("IMAGE");
  files.model("a.onnx", first);
  files.model("b.onnx", second);
  CHECK(files.compose(kTwo));
  second.mutable_graph()->mutable_input(0)->mutable_type()->set_denotation("TEXT");
  files.model("b.onnx", second);
  CHECK_THAT(messageOf(files.compose(kTwo)),
             Contains("the denotation of 'a.y' is 'IMAGE' and that of 'b.x' is 'TEXT'"));
}

TEST_CASE("Functions of two services may have one name", "[onnx]") {
  Files files;
  files.model("a.onnx", callingModel("Relu"));
  files.model("b.onnx", callingModel("Neg"));
  Expected<Composition> composed = files.compose(kTwo);
  REQUIRE(composed);
  const ::onnx::ModelProto &model = composed->model.proto();
  REQUIRE(model.functions_size() == 2);
  CHECK(model.functions(0).name() == "a.F");
  CHECK(model.functions(1).name() == "b.F");
  CHECK(model.functions(1).node(0).op_type() == "Neg");
  CHECK(model.functions(1).node(0).input(0) == "x");
  CHECK(model.graph().node(1).op_type() == "b.F");
}

TEST_CASE("A value can be several outputs, and an input one", "[onnx]") {
  Files files;
  ::onnx::ModelProto passing = typedRelu();
  passing.mutable_graph()->clear_node();
  *passing.mutable_graph()->mutable_output(0) = passing.graph().input(0);
  files.model("a.onnx", passing);
  files.model("b.onnx", typedRelu());
  Expected<Composition> composed =
      files.compose(R"("services": [{"id": "a", "model": "a.onnx"}, {"id": "b", "model": "b.onnx"}],
                       "links": [{"from": "a.x", "to": "b.x"}], "inputs": {"image": "a.x"},
                       "outputs": {"same": "a.x", "one": "b.y", "two": "b.y"})");
  REQUIRE(composed);
  const ::onnx::GraphProto &graph = composed->model.graph();
  CHECK(namesOf(composed->model.outputs()) == std::vector<std::string>{"same", "one", "two"});
  REQUIRE(graph.node_size() == 3);
  CHECK(graph.node(0).input(0) == "image");
  CHECK(graph.node(0).output(0) == "one");
  CHECK(graph.node(1).op_type() == "Identity");
  CHECK(graph.node(1).input(0) == "image");
  CHECK(graph.node(2).input(0) == "one");
}

TEST_CASE("External data stays where it is, below the pipeline's directory, and is pinned", "[onnx]") {
  Files files;
  ::onnx::ModelProto model = typedRelu();
  ::onnx::TensorProto *tensor = addInitializer(model, "w", 4);
  tensor->clear_raw_data();
  tensor->set_data_location(::onnx::TensorProto::EXTERNAL);
  auto *entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("w.bin");
  files.model("sub/a.onnx", model);
  const std::string members = R"("services": [{"id": "a", "model": "sub/a.onnx"}])";

  SECTION("which is enough to look at, and not to pin, where it is missing") {
    CHECK(files.compose(members)->model.missingData().front().file == "sub/w.bin");
    CHECK_THAT(messageOf(files.compose(members, PinMode::Create)), Contains("'sub/w.bin' of tensor 'a.w' does not"));
  }
  SECTION("and a change of it is refused") {
    writeFile(files.directory / "sub/w.bin", std::string(16, 'w'));
    Expected<Composition> composed = files.compose(members, PinMode::Create);
    REQUIRE(composed);
    CHECK(composed->model.tensor(composed->model.graph().initializer(0))->bytes.front() == std::byte('w'));
    CHECK(files.compose(members));
    writeFile(files.directory / "sub/w.bin", std::string(16, 'v'));
    // sha256sum of 16 times 'v', and of 16 times 'w'.
    CHECK_THAT(messageOf(files.compose(members)),
               Contains("external data 'w.bin' of service 'a' has changed: its SHA-256 is ") &&
                   Contains("015d8fc69bf093358d6ff92a13d6658ca0546e3bf8a86130b724394046eea1e5") &&
                   Contains("a001e4691b15b87ad88cf4cfe63ddad37c6e0a9317b155d29d6bc47a4a7a43e7"));
    CHECK(files.compose(members, PinMode::Renew));
    CHECK(files.compose(members));
  }
}

TEST_CASE("A model that the lock file does not name is refused", "[onnx]") {
  Files files;
  files.model("a.onnx", typedRelu());
  files.model("b.onnx", typedRelu());
  REQUIRE(files.compose(R"("services": [{"id": "a", "model": "a.onnx"}])", PinMode::Create));
  CHECK_THAT(messageOf(files.compose(kTwo)), Contains("model 'b.onnx' of service 'b' is not pinned"));
  CHECK_THAT(messageOf(files.compose(R"("services": [{"id": "a", "model": "b.onnx"}])")),
             Contains("model 'b.onnx' of service 'a' is not pinned"));
  writeFile(lockPath(files.directory / "pipeline.json"), "{\"schema\": 2, \"services\": {}}");
  CHECK_THAT(messageOf(files.compose(kTwo)), Contains("the lock file has schema 2"));
}
