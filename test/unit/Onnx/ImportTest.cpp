//===- ImportTest.cpp - What the importer promises beyond its text --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Models.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "sluice/Onnx/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <cstring>

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::Contains;

namespace {

HostTensor integers(std::vector<int64_t> values) {
  HostTensor tensor = *makeTensor("shape", ElementType::Int64, {static_cast<int64_t>(values.size())});
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

mlir::func::FuncOp mainOf(mlir::ModuleOp module) { return module.lookupSymbol<mlir::func::FuncOp>("main"); }

} // namespace

TEST_CASE("Large initializers are views of the model, small ones are inline", "[onnx][import]") {
  ::onnx::ModelProto proto = reluModel();
  addInitializer(proto, "large", 20000); // Too large to fold what follows from it.
  addInitializer(proto, "small", 1);
  auto *graph = proto.mutable_graph();
  for (const char *name : {"large", "small"}) {
    auto *node = graph->add_node();
    node->set_op_type("Neg");
    node->add_input(name);
    node->add_output(std::string("-") + name);
    graph->add_output()->set_name(std::string("-") + name);
  }
  Expected<ModelFile> model = openProto(proto);
  REQUIRE(model);
  ImportOptions options;
  options.dims.values["N"] = 3;
  mlir::MLIRContext context;
  auto module = importModel(context, *model, options);
  REQUIRE(module);
  CHECK(mlir::succeeded(mlir::verify(**module)));
  const std::byte *inFile = model->tensor(model->graph().initializer(0))->bytes.data();
  bool found = false;
  (*module)->walk([&](dataflow::ConstantOp constant) {
    dataflow::TensorView view;
    bool isSplat = false;
    if (dataflow::getConstantBytes(constant.getValue(), view, isSplat) && !isSplat)
      found |= reinterpret_cast<const std::byte *>(view.data) == inFile;
  });
  CHECK(found);
}

TEST_CASE("Inputs with fixed data specialise the program", "[onnx][import]") {
  Expected<ModelFile> model = ModelFile::fromText("<ir_version: 7, opset_import: [\"\" : 13]>\n"
                                                  "g (float[12] x, int64[R] shape) => (float[A, B] y)\n"
                                                  "{ y = Reshape(x, shape) }",
                                                  "reshape.onnxtxt");
  REQUIRE(model);
  mlir::MLIRContext context;
  ImportOptions options;
  const auto shapeOfResult = [](const mlir::OwningOpRef<mlir::ModuleOp> &module) {
    return llvm::cast<mlir::RankedTensorType>(mainOf(*module).getResultTypes()[0]).getShape().vec();
  };
  // Without them there is room for all that 12 elements can become.
  options.dims.values["R"] = 2;
  auto open = importModel(context, *model, options);
  REQUIRE(open);
  CHECK(shapeOfResult(*open) == std::vector<int64_t>{12, 12});

  options.dims.values.clear();
  options.fixedInputs["shape"] = integers({3, 4});
  auto module = importModel(context, *model, options);
  REQUIRE(module);
  CHECK(shapeOfResult(*module) == std::vector<int64_t>{3, 4});
  // The argument stays.
  CHECK(mainOf(**module).getNumArguments() == 2);

  options.fixedInputs["shape"] = *makeTensor("shape", ElementType::Float32, {2});
  CHECK_THAT(messageOf(importModel(context, *model, options)), Contains("the data of input 'shape' is"));
}

TEST_CASE("Sparse initializers become dense", "[onnx][import]") {
  ::onnx::ModelProto proto = reluModel();
  auto *sparse = proto.mutable_graph()->add_sparse_initializer();
  for (int64_t dim : {2, 3})
    sparse->add_dims(dim);
  auto *values = sparse->mutable_values(), *indices = sparse->mutable_indices();
  values->set_name("w");
  values->set_data_type(onnxtype::Float);
  values->add_dims(2);
  for (float value : {5.0f, 7.0f})
    values->add_float_data(value);
  indices->set_data_type(onnxtype::Int64);
  indices->add_dims(2);
  for (int64_t index : {1, 5})
    indices->add_int64_data(index);
  auto *node = proto.mutable_graph()->add_node();
  node->set_op_type("Add");
  node->add_input("x");
  node->add_input("w");
  node->add_output("z");
  proto.mutable_graph()->mutable_output(0)->set_name("z");
  auto imported = [&](mlir::MLIRContext &context) {
    Expected<ModelFile> model = openProto(proto);
    REQUIRE(model);
    ImportOptions options;
    options.dims.values["N"] = 3;
    return importModel(context, *model, options);
  };
  mlir::MLIRContext context;
  auto module = imported(context);
  REQUIRE(module);
  std::vector<float> dense;
  (*module)->walk([&](dataflow::ConstantOp op) {
    for (float value : llvm::cast<mlir::DenseElementsAttr>(op.getValue()).getValues<float>())
      dense.push_back(value);
  });
  CHECK(dense == std::vector<float>{0, 5, 0, 0, 0, 7});

  indices->set_int64_data(1, 6);
  CHECK_THAT(messageOf(imported(context)), Contains("index"));
  indices->set_int64_data(1, 5);
  sparse->set_dims(0, int64_t(1) << 40);
  sparse->set_dims(1, 3);
  CHECK_THAT(messageOf(imported(context)), Contains("when dense"));
}

TEST_CASE("Operators keep their nodes' names as locations", "[onnx][import]") {
  Expected<ModelFile> model = openProto(reluModel());
  REQUIRE(model);
  ImportOptions options;
  options.dims.values["N"] = 3;
  mlir::MLIRContext context;
  auto module = importModel(context, *model, options);
  REQUIRE(module);
  bool found = false;
  (*module)->walk([&](dataflow::UnaryOp op) {
    auto name = llvm::dyn_cast<mlir::NameLoc>(op.getLoc());
    found |= name && name.getName() == "relu";
  });
  CHECK(found);
}
