//===- ImportTest.cpp - What the importer promises beyond its text --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Models.h"

#include "dialects/Dataflow/Dataflow.h"
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
  options.dims.values["R"] = 2;
  CHECK_THAT(messageOf(importModel(context, *model, options)), Contains("its shape is not known"));

  options.dims.values.clear();
  options.fixedInputs["shape"] = integers({3, 4});
  auto module = importModel(context, *model, options);
  REQUIRE(module);
  auto type = llvm::cast<mlir::RankedTensorType>(mainOf(**module).getResultTypes()[0]);
  CHECK(type.getShape().vec() == std::vector<int64_t>{3, 4});
  // The argument stays.
  CHECK(mainOf(**module).getNumArguments() == 2);

  options.fixedInputs["shape"] = *makeTensor("shape", ElementType::Float32, {2});
  CHECK_THAT(messageOf(importModel(context, *model, options)), Contains("data given for input 'shape' is"));
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
