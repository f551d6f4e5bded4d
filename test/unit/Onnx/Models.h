//===- Models.h - Small models and files for tests --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_ONNX_MODELS_H
#define SLUICE_TEST_ONNX_MODELS_H

#include "sluice/Onnx/ModelFile.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <onnx/onnx_pb.h>
#include <string>
#include <unistd.h>

namespace sluice::test {

/// A directory that goes away with the test.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sluice-onnx-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string &name) const { return (path / name).string(); }
  std::filesystem::path path;
};

inline void writeFile(const std::string &path, const std::string &contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

/// y = Relu(x) over [2, N], opset 13.
inline ::onnx::ModelProto reluModel() {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  auto *opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(13);
  auto *graph = model.mutable_graph();
  graph->set_name("g");
  auto *input = graph->add_input();
  input->set_name("x");
  auto *type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnxtype::Float);
  type->mutable_shape()->add_dim()->set_dim_value(2);
  type->mutable_shape()->add_dim()->set_dim_param("N");
  auto *node = graph->add_node();
  node->set_op_type("Relu");
  node->set_name("relu");
  node->add_input("x");
  node->add_output("y");
  graph->add_output()->set_name("y");
  return model;
}

/// A float initializer [count] with `count` zeros of raw data.
inline ::onnx::TensorProto *addInitializer(::onnx::ModelProto &model, const std::string &name, int64_t count) {
  auto *tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnxtype::Float);
  tensor->add_dims(count);
  tensor->set_raw_data(std::string(count * 4, '\0'));
  return tensor;
}

inline Expected<ModelFile> openProto(const ::onnx::ModelProto &model) {
  return ModelFile::fromBytes(model.SerializeAsString(), "test.onnx");
}

/// The message of an expected failure.
template <typename T>
std::string messageOf(const Expected<T> &result) {
  REQUIRE_FALSE(result.has_value());
  return result.error().message;
}

} // namespace sluice::test

#endif // SLUICE_TEST_ONNX_MODELS_H
