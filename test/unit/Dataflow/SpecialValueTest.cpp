//===- SpecialValueTest.cpp - Functions at the ends of the numbers --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Kernels, on CPUs and as grids, against the evaluation on the host, which calls
// C's own functions in double precision.
//
//===----------------------------------------------------------------------===//
#include "ElementwiseTests.h"
#include "Reference.h"

#include "dialects/Dataflow/Models.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace sluice::dataflow;
using namespace sluice::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::vector<std::string> kElements = {"f32", "f64", "f16", "bf16"};

/// MLIR reads infinities and NaN as bits alone.
std::string literal(double value, const std::string &element) {
  if (std::isfinite(value)) {
    char text[64];
    std::snprintf(text, sizeof text, "%.17e", value);
    return text;
  }
  size_t row = element == "f32" ? 0 : element == "f64" ? 1 : element == "f16" ? 2 : 3;
  static const char *const kBits[][3] = {{"0x7F800000", "0xFF800000", "0x7FC00000"},
                                         {"0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000"},
                                         {"0x7C00", "0xFC00", "0x7E00"},
                                         {"0x7F80", "0xFF80", "0x7FC0"}};
  return kBits[row][std::isnan(value) ? 2 : value < 0 ? 1 : 0];
}

/// "dataflow.constant dense<[...]> : tensor<nxT>", or a column of them.
std::string constant(const std::vector<double> &values, const std::string &element, bool isColumn = false) {
  std::string list;
  for (double value : values)
    list += (list.empty() ? "" : ", ") + (isColumn ? "[" + literal(value, element) + "]" : literal(value, element));
  std::vector<int64_t> shape{static_cast<int64_t>(values.size())};
  if (isColumn)
    shape.push_back(1);
  return "dataflow.constant dense<[" + list + "]> : " + tensorOf(shape, element);
}

/// What is special to some function: both zeros, ones, infinities, NaN, numbers whole, odd and neither, the least
/// normal numbers of f16 and, subnormal in f32 and bf16, ones below.
std::vector<double> bases(const std::string &element) {
  std::vector<double> values = {0.0, -0.0, 1,    -1,    kInfinity, -kInfinity, NAN,  0.5,  -0.5, 2,   -2,  3,
                                -3,  4,    1e-4, -1e-4, 300,       -300,       0.25, -7.5, 10,   6e4, -6e4};
  if (element == "f32" || element == "bf16")
    values.insert(values.end(), {1e38, -1e38, 1.5e-38});
  if (element == "f64")
    values.insert(values.end(), {1e300, -1e300, 1e-310, -1e-310});
  return values;
}
const std::vector<double> kExponents = {0.0, -0.0, 1,  -1, kInfinity, -kInfinity, NAN,  0.5, -0.5,   0.75, 0.25, 2,
                                        -2,  3,    -3, 5,  -5,        1.5,        -1.5, 2.5, 0.3333, 1e-3, 1025};

} // namespace

/// A function of a column and a row of numbers, and then its reciprocal too, which tells a zero's sign.
static void addBinary(std::vector<Case> &cases, const std::string &kind, const std::vector<double> &x,
                      const std::vector<double> &y, const std::string &element) {
  auto rows = static_cast<int64_t>(x.size()), columns = static_cast<int64_t>(y.size());
  std::string left = tensorOf({rows, 1}, element), right = tensorOf({columns}, element),
              all = tensorOf({rows, columns}, element);
  std::string operands = "%x = " + constant(x, element, true) + "\n%y = " + constant(y, element) + "\n";
  cases.push_back({"", operands + "%p = dataflow.binary " + kind + " %x, %y : " + left + ", " + right});
  cases.push_back({"", operands + "%r = dataflow.fused (%a = %x : " + left + ", %b = %y : " + right + ") -> (" + all +
                           ") {\n%p = dataflow.binary " + kind + " %a, %b : " + left + ", " + right +
                           "\n%i = dataflow.unary reciprocal %p : " + all + "\ndataflow.yield %i : " + all + "\n}"});
}

TEST_CASE("powers to exponents known when they run are C's", "[special]") {
  std::vector<Case> cases;
  for (const std::string &element : kElements)
    addBinary(cases, "pow", bases(element), kExponents, element);
  checkKernels(cases);
}

TEST_CASE("powers to constant exponents are C's", "[special]") {
  std::vector<Case> cases;
  for (const std::string &element : kElements)
    for (double exponent : {0.0, 1.0, 2.0, 3.0, -1.0, 0.5, -0.5, 0.75, 0.25, -2.0, 1.5, 5.0}) {
      std::vector<double> x = bases(element);
      std::string type = tensorOf({static_cast<int64_t>(x.size())}, element), scalar = tensorOf({}, element);
      // In a group a splat is a constant of the code. A reciprocal tells a zero's sign.
      for (const char *kind : {"neg", "reciprocal"})
        cases.push_back({"", "%x = " + constant(x, element) + "\n%r = dataflow.fused (%a = %x : " + type + ") -> (" +
                                 type + ") {\n%c = dataflow.constant dense<" + literal(exponent, element) +
                                 "> : " + scalar + "\n%p = dataflow.binary pow %a, %c : " + type + ", " + scalar +
                                 "\n%n = dataflow.unary " + kind + " %p : " + type + "\ndataflow.yield %n : " + type +
                                 "\n}"});
    }
  checkKernels(cases);
}

TEST_CASE("simplification keeps the special values of powers", "[special]") {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDataflow(context);
  context.loadDialect<func::FuncDialect>();
  for (const std::string &element : kElements)
    for (double exponent : kExponents) {
      std::vector<double> x = bases(element);
      std::string type = tensorOf({static_cast<int64_t>(x.size())}, element), scalar = tensorOf({}, element);
      std::string text = "func.func @main(%x: " + type + ") -> " + type + " {\n%c = dataflow.constant dense<" +
                         literal(exponent, element) + "> : " + scalar + "\n%p = dataflow.binary pow %x, %c : " + type +
                         ", " + scalar + "\nreturn %p : " + type + "\n}\n";
      INFO(text);
      auto module = parseSourceString<ModuleOp>(text, &context);
      REQUIRE(module);
      PassManager manager(&context);
      manager.addPass(createCanonicalizerPass());
      REQUIRE(succeeded(manager.run(*module)));
      Block &block = (*module->getOps<func::FuncOp>().begin()).getBody().front();
      Tensor input(block.getArgument(0).getType());
      for (int64_t i = 0; i < input.size(); ++i)
        input.set(i, x[i]);
      Environment values;
      values.insert({block.getArgument(0), input});
      for (Operation &op : block.without_terminator())
        interpret(&op, values);
      Tensor power = values.at(block.getTerminator()->getOperand(0)), expected = power;
      // As the kernel reads it.
      Tensor rounded(RankedTensorType::get({1}, input.element()));
      rounded.set(0, exponent);
      for (int64_t i = 0; i < input.size(); ++i)
        expected.set(i, std::pow(input.get(i), rounded.get(0)));
      CHECK(difference(power, expected, defaultTolerance(power.element())) == "");
      for (int64_t i = 0; i < input.size(); ++i)
        CHECK((power.get(i) != 0 || std::signbit(power.get(i)) == std::signbit(expected.get(i))));
    }
}

TEST_CASE("functions of one number at special ones are C's", "[special]") {
  std::vector<Case> cases;
  for (const std::string &element : kElements)
    for (const UnaryTest &test : kUnaryTests) {
      if (!admitsFloats(kUnaryRows[test.value].elements))
        continue;
      std::string kind = kUnaryRows[test.value].name;
      std::vector<double> x = bases(element);
      // On GPUs f32's range reduction ends at 2^52.
      if (test.isPeriodic)
        llvm::erase_if(x, [](double value) { return std::isfinite(value) && std::abs(value) > 0x1p52; });
      std::string type = tensorOf({static_cast<int64_t>(x.size())}, element);
      cases.push_back({"", "%x = " + constant(x, element) + "\n%y = dataflow.unary " + kind +
                               " %x {alpha = 0.5 : f64, beta = 0.25 : f64} : " + type});
    }
  checkKernels(cases);
}

TEST_CASE("functions of two numbers at special ones are C's", "[special]") {
  std::vector<Case> cases;
  for (const std::string &element : kElements)
    for (const BinaryTest &test : kBinaryTests)
      if (admitsFloats(kBinaryRows[test.value].elements) && test.fill.special)
        addBinary(cases, kBinaryRows[test.value].name, bases(element), bases(element), element);
  checkKernels(cases);
}
