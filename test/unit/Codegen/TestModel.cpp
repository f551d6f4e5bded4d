//===- TestModel.cpp - From text to a running model -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TestModel.h"

#include "dialects/Exec/Exec.h"
#include "sluice/Codegen/CompileProgram.h"
#include "sluice/Codegen/KernelLowering.h"

#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

using namespace mlir;

namespace sluice::test {

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "sluice-codegen-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()));
  path = pattern;
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path); }

std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registerCodegenDialects(registry);
  registry.insert<exec::ExecDialect>();
  return std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
}

OwningOpRef<ModuleOp> parse(MLIRContext &context, const std::string &text) {
  auto module = parseSourceString<ModuleOp>(text, &context);
  REQUIRE(module);
  return module;
}

void compileTo(const std::string &directory, ModuleOp module, const std::vector<float> &parameters,
               const EmissionParams &params) {
  auto need = [](const auto &result) {
    if (!result)
      FAIL(result.error().message);
  };
  auto target = resolveTarget("native");
  need(target);
  auto writer = ParameterFileWriter::create(directory + "/" + kParameterFile);
  need(writer);
  need(writer->append(std::as_bytes(std::span(parameters))));
  auto summary = writer->finish();
  need(summary);
  need(compileProgram(module, *target, *summary, directory, params));
}

std::string elementwiseKernel(const std::string &name, const std::string &type, int64_t count,
                              const std::string &expression) {
  int64_t lanes = type.starts_with("vector<") ? std::stoll(type.substr(7)) : 1;
  std::string element = lanes > 1 ? type.substr(type.find('x') + 1, type.size() - type.find('x') - 2) : type;
  return "func.func @" + name + "(%env: !llvm.ptr, %args: !llvm.ptr) -> i32 {\n" + R"(
    %pa = llvm.load %args : !llvm.ptr -> !llvm.ptr
    %slot1 = llvm.getelementptr %args[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %pb = llvm.load %slot1 : !llvm.ptr -> !llvm.ptr
    %slot2 = llvm.getelementptr %args[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %pr = llvm.load %slot2 : !llvm.ptr -> !llvm.ptr
    %lower = arith.constant 0 : index
    %upper = arith.constant )" +
         std::to_string(count) + " : index\n    %step = arith.constant " + std::to_string(lanes) + R"( : index
    scf.for %i = %lower to %upper step %step {
      %at = arith.index_cast %i : index to i64
      %ea = llvm.getelementptr %pa[%at] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
         element + "\n      %eb = llvm.getelementptr %pb[%at] : (!llvm.ptr, i64) -> !llvm.ptr, " + element +
         "\n      %er = llvm.getelementptr %pr[%at] : (!llvm.ptr, i64) -> !llvm.ptr, " + element +
         "\n      %a = llvm.load %ea {alignment = 4 : i64} : !llvm.ptr -> " + type +
         "\n      %b = llvm.load %eb {alignment = 4 : i64} : !llvm.ptr -> " + type + "\n      " + expression +
         "\n      llvm.store %r, %er {alignment = 4 : i64} : " + type + R"(, !llvm.ptr
    }
    %ok = arith.constant 0 : i32
    return %ok : i32
  }
)";
}

Session::Session(const std::string &directory, uint32_t threads) {
  sluice_options options{};
  options.size = sizeof(options);
  options.threads = threads;
  session = sluice_open(directory.c_str(), &options);
  if (!session)
    FAIL(sluice_last_error());
}

std::vector<float> Session::run(const std::vector<float> &input, size_t outputElements) {
  std::vector<float> output(outputElements, -1.0f);
  const void *inputs[] = {input.data()};
  void *outputs[] = {output.data()};
  if (sluice_run(session, inputs, outputs))
    FAIL(sluice_last_error());
  return output;
}

} // namespace sluice::test
