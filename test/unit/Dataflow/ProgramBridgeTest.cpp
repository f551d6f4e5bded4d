//===- ProgramBridgeTest.cpp - Functions as tensor programs ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/Bridge/ProgramBridge.h"
#include "dialects/Dataflow/Models.h"

#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace {
struct Parsed {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;

  explicit Parsed(const std::string &text) {
    loadDataflow(context);
    context.loadDialect<func::FuncDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    REQUIRE(module);
  }
  func::FuncOp main() { return *module->getOps<func::FuncOp>().begin(); }
};
} // namespace

TEST_CASE("a training step becomes a tensor program", "[bridge][tiling]") {
  Parsed parsed(R"(
    func.func @main(%x: tensor<4x6xf32> {dataflow.name = "image"})
        -> (tensor<4x2xf32>, tensor<6x2xf32> {dataflow.updates = "w"}) {
      %w = dataflow.state "w" trainable dense<1.0> : tensor<6x2xf32>
      %c = dataflow.constant dense<0.5> : tensor<f32>
      %wide = dataflow.expand %c : tensor<f32> -> tensor<6x2xf32>
      %y = dataflow.matmul %x, %w : tensor<4x6xf32>, tensor<6x2xf32>
      %next = dataflow.binary sub %w, %wide : tensor<6x2xf32>, tensor<6x2xf32>
      return %y, %next : tensor<4x2xf32>, tensor<6x2xf32>
    })");
  auto bridged = buildTensorProgram(parsed.main());
  REQUIRE(bridged);
  const TensorProgram &program = bridged->program;
  REQUIRE(program.check());
  // The expanded constant is a parameter, no operator.
  REQUIRE(program.operators.size() == 2);
  REQUIRE(program.tensors.size() == 5);
  CHECK(program.tensors[0].name == "image");
  CHECK(program.tensors[0].role == TensorRole::Input);
  CHECK(program.tensors[0].shape == std::vector<int64_t>{4, 6});
  CHECK(program.tensors[0].bytes() == 96);
  CHECK(program.tensors[1].role == TensorRole::State);
  const ProgramOperator &matmul = program.operators[0], &update = program.operators[1];
  CHECK(matmul.flops == 2 * 4 * 6 * 2);
  REQUIRE(matmul.rules.size() == 4);
  CHECK(matmul.rules[1].name == "rows");
  CHECK(program.tensors[matmul.results[0].index()].role == TensorRole::Output);
  CHECK(program.tensors[update.operands[1].index()].role == TensorRole::Parameter);
  CHECK(program.tensors[update.results[0].index()].updates == update.operands[0]);
  CHECK(bridged->operators[0]->getName().getStringRef() == "dataflow.matmul");
  CHECK(bridged->values[matmul.results[0].index()] == bridged->operators[0]->getResult(0));
}

TEST_CASE("convolutions have kinds by the rates that libraries reach", "[bridge]") {
  Parsed parsed(R"(
    func.func @main(%x: tensor<2x6x8x8xf32>, %point: tensor<4x6x1x1xf32>, %three: tensor<4x6x3x3xf32>,
                    %depth: tensor<6x1x3x3xf32>, %grouped: tensor<4x3x3x3xf32>, %row: tensor<2x6x8xf32>,
                    %taps: tensor<4x6x3xf32>) -> tensor<2x4x8x8xf32> {
      %a = dataflow.conv %x, %point strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1]
          : tensor<2x6x8x8xf32>, tensor<4x6x1x1xf32> -> tensor<2x4x8x8xf32>
      %b = dataflow.conv %x, %three strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]
          : tensor<2x6x8x8xf32>, tensor<4x6x3x3xf32> -> tensor<2x4x8x8xf32>
      %c = dataflow.conv %x, %three strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1]
          : tensor<2x6x8x8xf32>, tensor<4x6x3x3xf32> -> tensor<2x4x4x4xf32>
      %d = dataflow.conv %x, %three strides [1, 1] pads [2, 2, 2, 2] dilations [2, 2]
          : tensor<2x6x8x8xf32>, tensor<4x6x3x3xf32> -> tensor<2x4x8x8xf32>
      %e = dataflow.conv %x, %depth strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 6 : i64}
          : tensor<2x6x8x8xf32>, tensor<6x1x3x3xf32> -> tensor<2x6x8x8xf32>
      %f = dataflow.conv %x, %grouped strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 2 : i64}
          : tensor<2x6x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<2x4x8x8xf32>
      %g = dataflow.conv %row, %taps strides [1] pads [1, 1] dilations [1]
          : tensor<2x6x8xf32>, tensor<4x6x3xf32> -> tensor<2x4x8xf32>
      %h = dataflow.conv_weight_gradient %x, %b strides [1, 1] pads_low [1, 1] dilations [1, 1]
          : (tensor<2x6x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<4x6x3x3xf32>
      %i = dataflow.conv_weight_gradient %x, %e strides [1, 1] pads_low [1, 1] dilations [1, 1] {groups = 6 : i64}
          : (tensor<2x6x8x8xf32>, tensor<2x6x8x8xf32>) -> tensor<6x1x3x3xf32>
      %j = dataflow.conv_transpose %a, %point strides [1, 1] pads_low [0, 0] dilations [1, 1]
          : (tensor<2x4x8x8xf32>, tensor<4x6x1x1xf32>) -> tensor<2x6x8x8xf32>
      %k = dataflow.conv_transpose %c, %three strides [2, 2] pads_low [1, 1] dilations [1, 1]
          : (tensor<2x4x4x4xf32>, tensor<4x6x3x3xf32>) -> tensor<2x6x8x8xf32>
      return %a : tensor<2x4x8x8xf32>
    })");
  auto bridged = buildTensorProgram(parsed.main());
  REQUIRE(bridged);
  std::vector<std::string> kinds;
  for (const ProgramOperator &op : bridged->program.operators)
    kinds.push_back(op.kind);
  CHECK(kinds == std::vector<std::string>{"conv.pointwise", "conv.3x3", "conv", "conv", "conv.depthwise", "conv",
                                          "conv", "conv_weight_gradient.3x3", "conv_weight_gradient.depthwise",
                                          "conv_transpose.pointwise", "conv_transpose"});
}

TEST_CASE("one value cannot be two states' next", "[bridge][tiling]") {
  Parsed parsed(R"(
    func.func @main() -> (tensor<2xf32> {dataflow.updates = "a"}, tensor<2xf32> {dataflow.updates = "b"}) {
      %a = dataflow.state "a" dense<1.0> : tensor<2xf32>
      %b = dataflow.state "b" dense<1.0> : tensor<2xf32>
      %s = dataflow.binary add %a, %b : tensor<2xf32>, tensor<2xf32>
      return %s, %s : tensor<2xf32>, tensor<2xf32>
    })");
  auto bridged = buildTensorProgram(parsed.main());
  REQUIRE(!bridged);
  CHECK(bridged.error().message.find("'a' and 'b'") != std::string::npos);
}
