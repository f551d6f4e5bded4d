//===- ParametersTest.cpp - The work that constants ask for ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "lib/Compiler/Parameters.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace sluice;

TEST_CASE("a constant of several ranks' pieces is work for each piece", "[parameters]") {
  // 1000 operators read and write 64 MiB each: 125 GiB, of the 256 GiB that a model without data may ask for.
  std::string text = "func.func @main() -> tensor<16777216xf32> {\n"
                     "  %c0 = dataflow.constant dense<1.0> : tensor<16777216xf32>\n";
  constexpr int kOperators = 1000;
  for (int i = 0; i < kOperators; ++i)
    text += concat("  %c", i + 1, " = dataflow.unary sin %c", i, " : tensor<16777216xf32>\n");
  text += concat("  return %c", kOperators, " : tensor<16777216xf32>\n}\n");
  mlir::MLIRContext context;
  context.loadDialect<dataflow::DataflowDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  ParameterLayout layout;
  layout.values = {function.getBody().front().getTerminator()->getOperand(0)};
  layout.offsets = {0};
  CHECK(checkEvaluationBudget(layout));
  layout.sectionOf = {0};
  layout.sections = {ParameterSection{.bytes = 64 << 20, .pieces = {0, 0}}};
  CHECK(checkEvaluationBudget(layout)); // Two ranks, one piece.
  layout.sections = {ParameterSection{.bytes = 64 << 20, .pieces = {0, 1, 2}}};
  Status refused = checkEvaluationBudget(layout);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Catch::Contains("computing the constants reads and writes more than 256.00 GiB"));
}
