//===- KernelLoweringTest.cpp - Math and vectors in machine code -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TestModel.h"

#include "sluice/Codegen/KernelLowering.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr int64_t kCount = 128;

struct Case {
  std::string name, operation;
  std::function<double(double)> reference;
  double low, high;
};

std::vector<Case> cases() {
  auto sqr = [](double v) { return v * v; };
  return {
      {"exp", "math.exp", [](double v) { return std::exp(v); }, -80, 80},
      {"expm1", "math.expm1", [](double v) { return std::expm1(v); }, -4, 4},
      {"log", "math.log", [](double v) { return std::log(v); }, 1e-6, 1e6},
      {"log2", "math.log2", [](double v) { return std::log2(v); }, 1e-6, 1e6},
      {"log10", "math.log10", [](double v) { return std::log10(v); }, 1e-3, 1e3},
      {"log1p", "math.log1p", [](double v) { return std::log1p(v); }, -0.9, 10},
      {"tanh", "math.tanh", [](double v) { return std::tanh(v); }, -10, 10},
      {"erf", "math.erf", [](double v) { return std::erf(v); }, -4, 4},
      {"sqrt", "math.sqrt", [](double v) { return std::sqrt(v); }, 0, 100},
      {"rsqrt", "math.rsqrt", [](double v) { return 1 / std::sqrt(v); }, 0.01, 100},
      {"sin", "math.sin", [](double v) { return std::sin(v); }, -2000, 2000},
      {"cos", "math.cos", [](double v) { return std::cos(v); }, -2000, 2000},
      {"tan", "math.tan", [](double v) { return std::tan(v); }, -1.5, 1.5},
      {"sinh", "math.sinh", [](double v) { return std::sinh(v); }, -5, 5},
      {"cosh", "math.cosh", [](double v) { return std::cosh(v); }, -5, 5},
      {"asinh", "math.asinh", [](double v) { return std::asinh(v); }, -50, 50},
      {"acosh", "math.acosh", [](double v) { return std::acosh(v); }, 1, 50},
      {"atanh", "math.atanh", [](double v) { return std::atanh(v); }, -0.99, 0.99},
      {"asin", "math.asin", [](double v) { return std::asin(v); }, -1, 1},
      {"acos", "math.acos", [](double v) { return std::acos(v); }, -1, 1},
      {"atan", "math.atan", [](double v) { return std::atan(v); }, -20, 20},
      {"cbrt", "math.cbrt", [](double v) { return std::cbrt(v); }, -20, 20},
      {"floor", "math.floor", [](double v) { return std::floor(v); }, -5, 5},
      {"ceil", "math.ceil", [](double v) { return std::ceil(v); }, -5, 5},
      {"roundeven", "math.roundeven", [](double v) { return std::nearbyint(v); }, -5, 5},
      {"trunc", "math.trunc", [](double v) { return std::trunc(v); }, -5, 5},
      {"absf", "math.absf", [](double v) { return std::fabs(v); }, -5, 5},
      {"negf", "arith.negf", [](double v) { return -v; }, -5, 5},
      {"square", "", sqr, -5, 5},
  };
}

std::vector<float> inputsOf(const Case &c) {
  std::vector<float> x(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    x[i] = static_cast<float>(c.low + (c.high - c.low) * static_cast<double>(i) / (kCount - 1));
  return x;
}

/// One launch a case, output i being case i of the input.
std::string programOf(const std::vector<Case> &all) {
  std::string bytes = std::to_string(kCount * 4), declare, body;
  for (size_t i = 0; i < all.size(); ++i) {
    std::string n = std::to_string(i);
    declare += "exec.input \"x" + n + "\" : tensor<" + std::to_string(kCount) + "xf32>\n";
    declare += "exec.output \"y" + n + "\" : tensor<" + std::to_string(kCount) + "xf32>\n";
    body += "%x" + n + " = exec.home input " + n + " bytes " + bytes + " tensor \"x" + n + "\"\n";
    body += "%y" + n + " = exec.home output " + n + " bytes " + bytes + " tensor \"y" + n + "\"\n";
    body += "%e" + n + " = exec.launch @" + all[i].name + "_kernel \"" + all[i].name + "\" reads(%x" + n + ", %x" + n +
            ") writes(%y" + n + ") on @s\n";
  }
  return "exec.program @math parameters 4 state 0 {\nexec.memory @host\n"
         "exec.device @cpu cpu in @host threads 1 speed 1.0\nexec.stream @s compute of @cpu\n" +
         declare + "exec.step {\n" + body + "}\n}\n";
}

/// Runs every case with elements computed as `expression` says, which turns %a
/// of `type` into %r by way of OP.
void checkMath(const std::string &type, const std::function<std::string(const Case &)> &expression, double tolerance) {
  std::vector<Case> all = cases();
  std::string text;
  for (const Case &c : all)
    text += elementwiseKernel(c.name + "_kernel", type, kCount, expression(c));
  auto context = makeContext();
  TemporaryDirectory directory;
  auto module = parse(*context, text + programOf(all));
  compileTo(directory.path, *module, {0.0f});
  Session session(directory.path);
  std::vector<std::vector<float>> x, y(all.size(), std::vector<float>(kCount));
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  for (const Case &c : all)
    x.push_back(inputsOf(c));
  for (size_t i = 0; i < all.size(); ++i) {
    inputs.push_back(x[i].data());
    outputs.push_back(y[i].data());
  }
  REQUIRE(sluice_run(session.session, inputs.data(), outputs.data()) == 0);
  for (size_t i = 0; i < all.size(); ++i) {
    double worst = 0, largest = 0;
    for (int64_t k = 0; k < kCount; ++k) {
      double wanted = all[i].reference(x[i][k]);
      largest = std::max(largest, std::fabs(wanted));
      worst = std::max(worst, std::fabs(y[i][k] - wanted));
      if (!std::isfinite(y[i][k]))
        worst = INFINITY;
    }
    INFO(all[i].name << " on " << type);
    CHECK(worst <= tolerance * largest);
  }
}

std::string apply(const Case &c, const std::string &type, const std::string &from, const std::string &to) {
  if (c.operation.empty())
    return to + " = arith.mulf " + from + ", " + from + " : " + type + "\n";
  return to + " = " + c.operation + " " + from + " : " + type + "\n";
}

} // namespace

TEST_CASE("math on f32 vectors agrees with libm", "[codegen]") {
  checkMath(
      "vector<16xf32>", [](const Case &c) { return apply(c, "vector<16xf32>", "%a", "%r"); }, 2e-6);
}

TEST_CASE("math on f32 scalars agrees with libm", "[codegen]") {
  checkMath(
      "f32", [](const Case &c) { return apply(c, "f32", "%a", "%r"); }, 2e-6);
}

TEST_CASE("math on f64 keeps its digits", "[codegen]") {
  checkMath(
      "f32",
      [](const Case &c) {
        return "%wide = arith.extf %a : f32 to f64\n" + apply(c, "f64", "%wide", "%exact") +
               "%r = arith.truncf %exact : f64 to f32\n";
      },
      1e-7);
}

TEST_CASE("math on bf16 is computed in f32", "[codegen]") {
  // Through bf16 bits: what is lost is bf16's rounding of argument and result.
  checkMath(
      "f32",
      [](const Case &c) {
        // Kernels multiply bf16 as f32; LLVM's own product of bf16 needs a newer libgcc where the CPU has none.
        if (c.operation.empty() || c.high > 60 || c.name == "tan" || c.name == "atanh" || c.name == "floor" ||
            c.name == "ceil" || c.name == "trunc" || c.name == "roundeven" || c.name == "acosh" || c.name == "cosh" ||
            c.name == "sinh" || c.name == "expm1")
          return apply(c, "f32", "%a", "%r"); // Rounding the argument alone moves these far.
        return "%narrow = arith.truncf %a : f32 to bf16\n" + apply(c, "bf16", "%narrow", "%half") +
               "%r = arith.extf %half : bf16 to f32\n";
      },
      2e-2);
}

TEST_CASE("kernels of all dialects lower to the llvm dialect alone", "[codegen]") {
  auto context = makeContext();
  auto module = parse(*context, R"(
func.func private @helper(%a: vector<4x8xf32>, %b: vector<4x8xf32>) -> vector<4x8xf32> {
  %0 = vector.fma %a, %b, %a : vector<4x8xf32>
  %1 = vector.transpose %0, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
  %2 = vector.shape_cast %1 : vector<8x4xf32> to vector<4x8xf32>
  return %2 : vector<4x8xf32>
}
func.func @kernel(%env: !llvm.ptr, %args: !llvm.ptr) -> i32 {
  %p = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %v = llvm.load %p : !llvm.ptr -> vector<8xf32>
  %s = llvm.load %p : !llvm.ptr -> f32
  %b = vector.broadcast %v : vector<8xf32> to vector<4x8xf32>
  %h = func.call @helper(%b, %b) : (vector<4x8xf32>, vector<4x8xf32>) -> vector<4x8xf32>
  %m = vector.multi_reduction <add>, %h, %v [0] : vector<4x8xf32> to vector<8xf32>
  %l = vector.shuffle %m, %v [0, 2, 4, 6, 8, 10, 12, 14] : vector<8xf32>, vector<8xf32>
  %r = vector.reduction <maximumf>, %l : vector<8xf32> into f32
  %i = arith.constant 7 : index
  %j = arith.constant 3 : index
  %k = arith.ceildivsi %i, %j : index
  %n = index.add %k, %i
  %w = scf.while (%x = %n) : (index) -> index {
    %c = arith.cmpi ult, %x, %i : index
    scf.condition(%c) %x : index
  } do {
  ^bb0(%x: index):
    %y = arith.addi %x, %j : index
    scf.yield %y : index
  }
  %bits = arith.index_cast %w : index to i32
  %f = arith.sitofp %bits : i32 to f32
  %t = arith.addf %f, %r fastmath<contract> : f32
  llvm.store %t, %p : f32, !llvm.ptr
  %ok = arith.constant 0 : i32
  return %ok : i32
})");
  Status lowered = lowerKernelsToLLVM(*module);
  if (!lowered)
    FAIL(lowered.error().message);
  module->walk([&](mlir::Operation *op) {
    INFO(op->getName().getStringRef().str());
    CHECK((op == module->getOperation() || op->getName().getDialectNamespace() == "llvm"));
  });
  CHECK(module->lookupSymbol<mlir::LLVM::LLVMFuncOp>("helper").getLinkage() == mlir::LLVM::Linkage::Internal);
  CHECK(module->lookupSymbol<mlir::LLVM::LLVMFuncOp>("kernel").getLinkage() == mlir::LLVM::Linkage::External);
}

TEST_CASE("a module that is not lowered is not emitted", "[codegen]") {
  auto context = makeContext();
  auto module = parse(*context, "func.func @f() { return }");
  auto target = resolveTarget("x86-64-v3");
  REQUIRE(target);
  auto objects = emitObjects(*module, *target);
  REQUIRE(!objects);
  CHECK_THAT(objects.error().message, Catch::Contains("has operations outside the LLVM dialect: "));
}

TEST_CASE("what cannot be lowered is an error, not a crash", "[codegen]") {
  auto context = makeContext();
  auto module = parse(*context, R"(
func.func @kernel(%env: !llvm.ptr, %args: !llvm.ptr) -> tensor<4xf32> {
  %0 = arith.constant dense<0.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
})");
  Status lowered = lowerKernelsToLLVM(*module);
  REQUIRE(!lowered);
  CHECK_THAT(lowered.error().message, Catch::Contains("cannot be lowered"));
}
