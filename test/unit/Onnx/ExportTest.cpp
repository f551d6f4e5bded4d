//===- ExportTest.cpp - What the exporter promises beyond its text --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Models.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/ElementwiseKinds.h"
#include "lib/Onnx/Export/NodeWriter.h"
#include "sluice/Onnx/Export.h"
#include "sluice/Onnx/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <set>

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::Contains;

namespace {

mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context, const char *text) {
  context.loadDialect<dataflow::DataflowDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
  REQUIRE(module);
  return module;
}

/// 4 KiB of weights, not all alike.
const char *kWeighted = R"(
  func.func @main(%x: tensor<1024xf32> {dataflow.name = "x"}) -> (tensor<1024xf32> {dataflow.name = "y"}) {
    %w = dataflow.constant dense_resource<w> : tensor<1024xf32>
    %y = dataflow.binary add %x, %w : tensor<1024xf32>, tensor<1024xf32>
    return %y : tensor<1024xf32>
  }
)";

std::vector<float> *weights() {
  static std::vector<float> values = [] {
    std::vector<float> result(1024);
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = static_cast<float>(i);
    return result;
  }();
  return &values;
}

mlir::OwningOpRef<mlir::ModuleOp> weighted(mlir::MLIRContext &context) {
  auto module = parse(context, kWeighted);
  module->walk([](dataflow::ConstantOp op) {
    llvm::ArrayRef<char> bytes(reinterpret_cast<const char *>(weights()->data()), weights()->size() * sizeof(float));
    op.setValueAttr(dataflow::makeResource(llvm::cast<mlir::RankedTensorType>(op.getType()), "w", bytes, nullptr));
  });
  return module;
}

std::vector<float> weightsOf(const std::string &path) {
  Expected<ModelFile> model = ModelFile::open(path);
  REQUIRE(model);
  Expected<TensorData> data = model->tensor(model->graph().initializer(0));
  REQUIRE(data);
  std::vector<float> values(data->bytes.size() / sizeof(float));
  std::memcpy(values.data(), data->bytes.data(), data->bytes.size());
  return values;
}

} // namespace

TEST_CASE("Every operator has a form in ONNX, or is known to have none", "[onnx][export]") {
  mlir::MLIRContext context;
  context.loadDialect<dataflow::DataflowDialect>();
  // Groups and layouts, what training adds, numbers drawn by a seed, text, images, trees and collectives.
  const std::set<llvm::StringRef> kWithout = {"attention",
                                              "concurrent",
                                              "fused",
                                              "yield",
                                              "half_matmul",
                                              "half_conv",
                                              "pack_half_rhs",
                                              "packed_block_matmul",
                                              "pack_blocks",
                                              "pack_conv_weight",
                                              "pack_integer_rhs",
                                              "pack_matmul_rhs",
                                              "pack_winograd_weight",
                                              "quantize_blocks",
                                              "state",
                                              "dropout_mask",
                                              "conv_weight_gradient",
                                              "pool_gradient",
                                              "batch_norm_train",
                                              "random",
                                              "string_constant",
                                              "string_equal",
                                              "string_concat",
                                              "string_find",
                                              "string_normalize",
                                              "string_split",
                                              "string_match",
                                              "string_to_number",
                                              "string_from_number",
                                              "decode_image",
                                              "tree_ensemble",
                                              "couple_probabilities",
                                              "all_reduce",
                                              "all_gather",
                                              "reduce_scatter",
                                              "all_to_all",
                                              "shard",
                                              "halo",
                                              "receive",
                                              "send"};
  for (mlir::RegisteredOperationName name : context.getRegisteredOperationsByDialect("dataflow")) {
    if (name.stripDialect() == "constant")
      continue;
    INFO(name.getStringRef().str());
    CHECK((onnxexport::findExport(name.getStringRef()) == nullptr) == (kWithout.count(name.stripDialect()) != 0));
  }
}

namespace {

/// Exports the function, imports the model and returns the one operator of `OpTy` in it.
template <typename OpTy>
OpTy roundTrip(mlir::MLIRContext &context, mlir::OwningOpRef<mlir::ModuleOp> &module) {
  TemporaryDirectory directory;
  REQUIRE(exportModel(*module, directory / "model.onnx"));
  Expected<ModelFile> model = ModelFile::open(directory / "model.onnx");
  REQUIRE(model);
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> imported = importModel(context, *model);
  REQUIRE(imported);
  module = std::move(*imported);
  OpTy found;
  module->walk([&](OpTy op) { found = op; });
  REQUIRE(found);
  return found;
}

/// An element type of the row's that ONNX's operator takes: it shifts unsigned integers only.
std::string elementOf(dataflow::ElementClass elements) {
  return elements == dataflow::ElementClass::Bool ? "i1" : dataflow::admitsFloats(elements) ? "f32" : "ui8";
}

} // namespace

TEST_CASE("Every kind of unary with an ONNX operator imports as it is exported", "[onnx][export][kinds]") {
  for (const dataflow::UnaryRow &row : dataflow::kUnaryRows) {
    INFO(row.name);
    if (!*row.onnx)
      continue;
    std::string type = "tensor<5x" + elementOf(row.elements) + ">", result = row.isTest ? "tensor<5xi1>" : type;
    // Where a kind has no parameter, its attributes are zero; is_inf's are flags.
    bool isInf = row.value == static_cast<uint32_t>(dataflow::UnaryKind::is_inf);
    double alpha = *row.alpha ? 0.75 : isInf ? 1 : 0, beta = *row.beta ? 0.25 : 0;
    std::string text = "func.func @main(%x: " + type + " {dataflow.name = \"x\"}) -> (" + result +
                       " {dataflow.name = \"y\"}) {\n%y = dataflow.unary " + row.name +
                       " %x {alpha = " + std::to_string(alpha) + " : f64, beta = " + std::to_string(beta) +
                       " : f64} : " + type + "\nreturn %y : " + result + "\n}\n";
    mlir::MLIRContext context;
    auto module = parse(context, text.c_str());
    auto op = roundTrip<dataflow::UnaryOp>(context, module);
    CHECK(static_cast<uint32_t>(op.getKind()) == row.value);
    CHECK(op.getAlpha().convertToDouble() == alpha);
    CHECK(op.getBeta().convertToDouble() == beta);
  }
}

TEST_CASE("Every kind of binary with an ONNX operator imports as it is exported", "[onnx][export][kinds]") {
  for (const dataflow::BinaryRow &row : dataflow::kBinaryRows) {
    INFO(row.name);
    // ONNX composes a float mod of others.
    bool isMod = row.value == static_cast<uint32_t>(dataflow::BinaryKind::mod);
    if (!*row.onnx)
      continue;
    std::string type = "tensor<5x" + (isMod ? "i32" : elementOf(row.elements)) + ">";
    std::string text = "func.func @main(%x: " + type + " {dataflow.name = \"x\"}, %y: " + type +
                       " {dataflow.name = \"y\"}) -> (" + type + " {dataflow.name = \"z\"}) {\n%z = dataflow.binary " +
                       row.name + " %x, %y : " + type + ", " + type + "\nreturn %z : " + type + "\n}\n";
    mlir::MLIRContext context;
    auto module = parse(context, text.c_str());
    auto op = roundTrip<dataflow::BinaryOp>(context, module);
    CHECK(static_cast<uint32_t>(op.getKind()) == row.value);
  }
}

TEST_CASE("Weights go where the options say", "[onnx][export]") {
  mlir::MLIRContext context;
  auto module = weighted(context);
  TemporaryDirectory directory;
  std::string path = directory / "model.onnx";
  ExportOptions options;
  SECTION("inside below the limit") {
    REQUIRE(exportModel(*module, path, options));
    CHECK_FALSE(std::filesystem::exists(path + ".data"));
    CHECK(weightsOf(path) == *weights());
  }
  SECTION("beside above it") {
    options.inlineLimitBytes = 4095;
    REQUIRE(exportModel(*module, path, options));
    CHECK(std::filesystem::file_size(path + ".data") == 4096);
    CHECK(weightsOf(path) == *weights());
  }
  SECTION("beside when asked") {
    options.weights = WeightStorage::External;
    REQUIRE(exportModel(*module, path, options));
    CHECK(weightsOf(path) == *weights());
  }
  SECTION("nowhere") {
    options.weights = WeightStorage::Omit;
    REQUIRE(exportModel(*module, path, options));
    CHECK(std::filesystem::file_size(path) < 1024);
  }
  // Nothing else stays behind.
  for (const auto &entry : std::filesystem::directory_iterator(directory.path))
    CHECK(entry.path().filename().string().find(".tmp") == std::string::npos);
}

TEST_CASE("A file that cannot be written leaves nothing half-written", "[onnx][export]") {
  mlir::MLIRContext context;
  auto module = weighted(context);
  TemporaryDirectory directory;
  ExportOptions options;
  options.weights = WeightStorage::External;
  std::filesystem::create_directory(directory / "model.onnx");
  Status status = exportModel(*module, directory / "model.onnx", options);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Contains("cannot write"));
  for (const auto &entry : std::filesystem::directory_iterator(directory.path))
    CHECK(entry.path().filename().string().find(".tmp") == std::string::npos);
}

TEST_CASE("Elements of 4 bits are packed", "[onnx][export]") {
  mlir::MLIRContext context;
  auto module = parse(context, R"(
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %w = dataflow.constant dense<[1, -2, 7]> : tensor<3xi4>
      %c = dataflow.cast %w : tensor<3xi4> -> tensor<3xf32>
      %y = dataflow.binary add %x, %c : tensor<3xf32>, tensor<3xf32>
      return %y : tensor<3xf32>
    }
  )");
  Expected<std::string> bytes = exportModelBytes(*module);
  REQUIRE(bytes);
  ::onnx::ModelProto model;
  REQUIRE(model.ParseFromString(*bytes));
  CHECK(model.opset_import(0).version() == 21);
  CHECK(model.ir_version() == 10);
  CHECK(model.graph().initializer(0).raw_data() == std::string("\xe1\x07", 2));
}
