//===- PipelineTest.cpp - Passes as text ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Compiler/Pipeline.h"
#include "sluice/Compiler/Compilation.h"
#include "sluice/Compiler/Options.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/Models.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/OptionText.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using namespace sluice;

static mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context, const char *text) {
  dataflow::loadDataflow(context);
  context.loadDialect<mlir::func::FuncDialect>();
  return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
}

TEST_CASE("a pipeline's text nests passes on functions and leaves out options without a value", "[pipeline]") {
  Pipeline passes;
  passes.onFunctions("dataflow-simplify", {{"differentiable", optionText(true)}}).onFunctions("dataflow-fuse");
  passes.onModule("exec-attach-machine", {{"machine", "host"}, {"ranks", optionText(int64_t(2))}});
  passes.onFunctions("dataflow-train", {{"output", ""}});
  CHECK(passes.text() == "builtin.module(func.func(dataflow-simplify{differentiable=true},dataflow-fuse),"
                         "exec-attach-machine{machine=host ranks=2},func.func(dataflow-train))");
}

TEST_CASE("a pipeline's text is MLIR's own, whatever characters its options have", "[pipeline]") {
  registerCompilerPasses();
  Pipeline passes;
  passes.onFunctions("dataflow-prune", {{"parts", "2"}, {"layers", "(fc|out) [0-9]{1,2}"}});
  passes.onModule("dataflow-to-exec", {{"name", "it's a model"}});
  passes.onModule("lower-kernels");
  mlir::MLIRContext context;
  mlir::PassManager manager(&context, mlir::ModuleOp::getOperationName());
  std::string text = passes.text();
  REQUIRE(text.starts_with("builtin.module("));
  REQUIRE(text.ends_with(")"));
  text = text.substr(15, text.size() - 16);
  CHECK(mlir::succeeded(mlir::parsePassPipeline(text, manager)));
}

TEST_CASE("every text goes through a textual pipeline as it is", "[pipeline]") {
  std::string bytes;
  for (int byte = 1; byte < 256; ++byte)
    bytes += static_cast<char>(byte);
  mlir::MLIRContext context;
  for (const std::string &text : {std::string("/tmp/it's \"here\"/plan.json"), std::string("} {"), std::string("{{("),
                                  std::string("  spaces around  "), std::string("100%.json"), std::string("%41%zz%4"),
                                  std::string("a=b,c=d"), std::string("'"), std::string("\xc3\xa4.json"), bytes}) {
    INFO(text);
    CHECK(decodeOption(encodeOption(text)) == text);
    // A machine that does not exist: the error shows what the pass read.
    auto module = parse(context, "module {}");
    REQUIRE(module);
    const Pipeline passes = Pipeline().onModule("exec-attach-machine", {{"machine", text}});
    Status failed = passes.run(*module);
    REQUIRE_FALSE(failed);
    CHECK_THAT(failed.error().message, Catch::Contains("machine '" + text + "' is neither a preset nor a file"));
    CHECK(failed.error().code == ErrorCode::NotFound);
    // sluice-opt parses the text that is printed, and prints it alike.
    mlir::PassManager manager(&context, mlir::ModuleOp::getOperationName());
    const std::string printed = passes.text();
    REQUIRE(mlir::succeeded(mlir::parsePassPipeline(printed.substr(15, printed.size() - 16), manager)));
    std::string again;
    llvm::raw_string_ostream out(again);
    manager.printAsTextualPipeline(out);
    CHECK_THAT(again, Catch::Contains("machine=" + encodeOption(text)));
    CHECK(mlir::failed(manager.run(*module)));
  }
  // What a user writes by hand needs no encoding, but for what MLIR itself takes.
  CHECK(decodeOption("fc%d 100%") == "fc%d 100%");
}

TEST_CASE("numbers as options are read as they are", "[pipeline]") {
  for (double value : {0.1, 1e-8, 0.00123456789, 1.0 / 3, 0.0, 12345678.9})
    CHECK(std::stod(optionText(value)) == value);
  CHECK(optionText(int64_t(-1)) == "-1");
}

TEST_CASE("an option's value may be replaced, and files put into a directory", "[pipeline]") {
  Pipeline passes;
  passes.onModule("dataflow-apply-plan", {{"plan", "plan.json"}, {"phase", "place"}});
  passes.onModule("emit-objects", {{"prefix", "here"}});
  CHECK(passes.inDirectory("out").with("emit-objects", "prefix", "there").text() ==
        "builtin.module(dataflow-apply-plan{plan=out/plan.json phase=place},emit-objects{prefix=there})");
}

TEST_CASE("a pipeline runs with the verifier, and fails with a diagnostic", "[pipeline]") {
  mlir::MLIRContext context;
  auto module = parse(context, R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = dataflow.unary tanh %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    })");
  REQUIRE(module);
  CHECK(Pipeline().onFunctions("dataflow-fuse").run(*module));
  Status failed = Pipeline().onModule("dataflow-to-exec").run(*module);
  REQUIRE_FALSE(failed);
  CHECK_THAT(failed.error().message, Catch::Contains("the module has no attribute 'exec.machine'"));
  // The pass's own code, and not that of a failed pipeline.
  CHECK(failed.error().code == ErrorCode::InvalidInput);
  Status unknown = Pipeline().onModule("no-such-pass").run(*module);
  REQUIRE_FALSE(unknown);
  CHECK_THAT(unknown.error().message, Catch::Contains("pass 'no-such-pass' does not exist or rejects its options"));
}

TEST_CASE("a compilation after a phase that failed fails alike, and its getters are defined", "[compilation]") {
  const std::string path = (std::filesystem::temp_directory_path() / "sluice-failed-phase.mlir").string();
  std::ofstream(path) << "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                         "  %0 = dataflow.unary tanh %x : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n";
  CompilerOptions options;
  options.machine = "emulated";
  options.prune.parts = 2;
  options.prune.layers = "none";
  auto compilation = Compilation::create(path, options);
  std::filesystem::remove(path);
  REQUIRE(compilation);
  Status first = (*compilation)->run(Phase::Fuse), second = (*compilation)->run(Phase::Place);
  REQUIRE_FALSE(first);
  REQUIRE_FALSE(second);
  CHECK_THAT(first.error().message, Catch::Contains("no layer's name matches 'none'"));
  CHECK(first.error().code == ErrorCode::NotFound);
  CHECK(second.error().message == first.error().message);
  CHECK((*compilation)->name() == "sluice-failed-phase");
  CHECK((*compilation)->machine().name == "emulated");
  CHECK((*compilation)->options().prune.parts == 2);
}

TEST_CASE("options are parsed into enumerations, and refused with what there is", "[options]") {
  CHECK(parsePhase("fuse") == Phase::Fuse);
  CHECK(parsePhase("fuze").error().message == "'fuze' is not a phase, use 'import', 'simplify', 'differentiate', "
                                              "'partition', 'fuse', 'place', 'schedule', 'exec', "
                                              "'codegen' or 'link'");
  CHECK(parseGpuLibraries("on") == GpuLibraries::On);
  CHECK(parseGpuLibraries("maybe").error().message ==
        "'maybe' is not a choice of GPU libraries, use 'auto', 'on' or 'off'");
  CHECK(parseMatmulPrecision("tf32") == dataflow::MatmulPrecision::TF32);
  CHECK(matmulPrecisionName(dataflow::MatmulPrecision::BF16) == "bf16");
  CHECK(parseMatmulPrecision("f8").error().message ==
        "'f8' is not a precision of products, use 'f32', 'tf32', 'bf16' or 'f16'");
  Expected<SolverChoices> solvers = parseSolvers("search=greedy,place=heft");
  REQUIRE(solvers);
  CHECK(solvers->at(SolverStep::Search) == "greedy");
  CHECK(solvers->at(SolverStep::Place) == "heft");
  CHECK_FALSE(solvers->contains(SolverStep::Tile));
  CHECK_THAT(parseSolvers("sort=fast").error().message, Catch::Contains("'sort' is not a step with solvers"));
}
