//===- ModelsTest.cpp - What operators promise, and who keeps it ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Dataflow/Models.h"
#include "dialects/Dataflow/IR/Dataflow.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/ErrorHandling.h"

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace sluice::dataflow;

/// Checks that operators have models where they promise them, and nowhere else. Returns how many there are.
template <typename Interface>
static size_t checkModels(MLIRContext &context) {
  size_t numModels = 0;
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("dataflow")) {
    INFO(name.getStringRef().str() << " and " << llvm::getTypeName<Interface>().str());
    CHECK(name.hasTrait<Promises<Interface>::template Impl>() == name.hasInterface<Interface>());
    numModels += name.hasInterface<Interface>();
  }
  return numModels;
}

TEST_CASE("every operator has the models that it promises", "[dataflow]") {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDataflow(context);
  CHECK(checkModels<EmitElementOpInterface>(context) > 0);
  CHECK(checkModels<EmitKernelOpInterface>(context) > 0);
  CHECK(checkModels<EmitScalarOpInterface>(context) > 0);
  CHECK(checkModels<EvaluateOpInterface>(context) > 0);
  CHECK(checkModels<GradientOpInterface>(context) > 0);
  CHECK(checkModels<LibraryCallOpInterface>(context) > 0);
  CHECK(checkModels<TilingRulesOpInterface>(context) > 0);
  CHECK(checkModels<TuningSpaceOpInterface>(context) > 0);
  // Costs are mostly the operators' own.
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("dataflow")) {
    INFO(name.getStringRef().str());
    if (name.hasTrait<Promises<CostOpInterface>::Impl>())
      CHECK(name.hasInterface<CostOpInterface>());
    // What an operator is, its definition says, with models or without.
    CHECK(name.hasInterface<KernelOpInterface>() == name.hasInterface<EmitKernelOpInterface>());
    CHECK(name.hasInterface<ElementalOpInterface>() == name.hasInterface<EmitElementOpInterface>());
    CHECK(name.hasInterface<ElementwiseOpInterface>() == name.hasInterface<EmitScalarOpInterface>());
    CHECK(name.hasInterface<TunableOpInterface>() == name.hasInterface<TuningSpaceOpInterface>());
  }
}

TEST_CASE("a library that is not registered ends the program by name", "[dataflow]") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    llvm::install_fatal_error_handler([](void *, const char *message, bool) {
      (void)!write(STDERR_FILENO, message, strlen(message));
      _exit(3);
    });
    MLIRContext context(MLIRContext::Threading::DISABLED);
    context.loadDialect<DataflowDialect>();
    OpBuilder builder(&context);
    Operation *op =
        RandomOp::create(builder, builder.getUnknownLoc(), RankedTensorType::get({2}, builder.getF32Type()), 1);
    modelOf<EmitElementOpInterface>(op);
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char part[256];
  for (ssize_t bytes; (bytes = read(ends[0], part, sizeof part)) > 0;)
    said.append(part, static_cast<size_t>(bytes));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 3));
  CHECK_THAT(said, Catch::Contains("dataflow") && Catch::Contains("EmitElementOpInterface"));
}
