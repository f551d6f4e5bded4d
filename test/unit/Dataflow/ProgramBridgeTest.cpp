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
