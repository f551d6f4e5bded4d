//===- ElementwiseKernelTest.cpp - Functions of elements ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ElementwiseTests.h"

#include "dialects/Dataflow/Elementwise/Functions.h"

#include <catch2/catch.hpp>

using namespace sluice::dataflow;
using namespace sluice::test;

/// An integer range that starts at 0 where the elements are unsigned.
static Fill forElement(Fill fill, const std::string &element) {
  if (element[0] == 'u')
    fill.low = std::max(fill.low, 0.0);
  return fill;
}

TEST_CASE("every kind of unary: kernels agree with the evaluation", "[dataflow][kinds]") {
  std::vector<Case> cases;
  for (const UnaryTest &test : kUnaryTests) {
    const UnaryRow &row = kUnaryRows[test.value];
    for (const std::string &element : elementsOf(row.elements)) {
      std::string type = tensorOf({3, 13}, element);
      Fill fill = isFloatName(element) ? test.fill : forElement({-9, 9}, element);
      fill.special = !test.isPeriodic;
      cases.push_back({"%x: " + type,
                       std::string("dataflow.unary ") + row.name + " %x " +
                           parametersOf(test.parameters.alpha, test.parameters.beta) + " : " + type,
                       {fill}});
    }
  }
  checkKernels(cases);
}

TEST_CASE("every kind of binary: kernels agree with the evaluation", "[dataflow][kinds]") {
  std::vector<Case> cases;
  for (const BinaryTest &test : kBinaryTests) {
    const BinaryRow &row = kBinaryRows[test.value];
    for (const std::string &element : elementsOf(row.elements)) {
      Fill fill = isFloatName(element) ? test.fill : forElement(test.integerFill, element);
      for (const std::string &lhs : {tensorOf({3, 21}, element), tensorOf({21}, element)}) {
        std::string rhs = tensorOf({21}, element);
        cases.push_back({"%x: " + lhs + ", %y: " + rhs,
                         std::string("dataflow.binary ") + row.name + " %x, %y : " + lhs + ", " + rhs,
                         {fill}});
      }
    }
  }
  checkKernels(cases);
}

TEST_CASE("every kind evaluates to a known number", "[dataflow][kinds]") {
  for (const UnaryTest &test : kUnaryTests) {
    const UnaryRow &row = kUnaryRows[test.value];
    INFO(row.name << " " << test.at);
    const UnaryFunction &function = functionOf(static_cast<UnaryKind>(test.value));
    if (function.evaluate)
      CHECK(function.evaluate(test.at, {test.parameters.alpha, test.parameters.beta}) ==
            Approx(test.gives).epsilon(1e-14));
    if (function.evaluateInteger && !admitsFloats(row.elements))
      CHECK((function.evaluateInteger(static_cast<int64_t>(test.at), false)) == static_cast<int64_t>(test.gives));
  }
  for (const BinaryTest &test : kBinaryTests) {
    INFO(kBinaryRows[test.value].name << " " << test.lhs << " " << test.rhs);
    const BinaryFunction &function = functionOf(static_cast<BinaryKind>(test.value));
    double result = test.gives;
    if (function.evaluate)
      function.evaluate(&test.lhs, &test.rhs, &result, 1);
    CHECK(result == Approx(test.gives).epsilon(1e-14));
    if (function.evaluateInteger)
      CHECK(function.evaluateInteger(static_cast<int64_t>(test.lhs), static_cast<int64_t>(test.rhs), false, 64) ==
            static_cast<int64_t>(test.gives));
  }
}

TEST_CASE("binary functions broadcast", "[dataflow]") {
  std::vector<Case> cases;
  auto add = [&](const std::string &kind, const std::string &lhs, const std::string &rhs, Fill fill = {}) {
    cases.push_back(
        {"%x: " + lhs + ", %y: " + rhs, "dataflow.binary " + kind + " %x, %y : " + lhs + ", " + rhs, {fill}});
  };
  add("add", "tensor<5x37xf32>", "tensor<5x37xf32>");
  add("pow", "tensor<37x1xf32>", "tensor<41xf32>", {-3, 3, true});
  add("add", "tensor<2x3x4x19xf32>", "tensor<3x1x1xf32>");
  add("add", "tensor<2x3x4x19xf32>", "tensor<19xf32>");
  add("add", "tensor<2x1x4x1xf32>", "tensor<3x1x19xf32>");
  add("add", "tensor<f32>", "tensor<2x35xf32>");
  add("add", "tensor<1x1xf32>", "tensor<f32>");
  add("mul", "tensor<33x1xf32>", "tensor<1x33xf32>");
  add("add", "tensor<0x7xf32>", "tensor<7xf32>");
  add("add", "tensor<40001xf32>", "tensor<40001xf32>");
  add("add", "tensor<300x67xf32>", "tensor<300x1xf32>");
  add("prelu", "tensor<2x5x3x3xf32>", "tensor<5x1x1xf32>");
  checkKernels(cases);
}

TEST_CASE("comparisons and choices", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
    for (const char *element : {"f32", "f16", "i8", "ui8", "i64", "i1"}) {
      std::string type = tensorOf({3, 21}, element), row = tensorOf({21}, element);
      cases.push_back({"%x: " + type + ", %y: " + row,
                       std::string("dataflow.compare ") + predicate + " %x, %y : " + type + ", " + row,
                       {{element[0] == 'u' || element[1] == '1' ? 0.0 : -2.0, 2, true}}});
    }
  for (const char *element : {"f32", "f64", "bf16", "i1", "i64", "ui8"}) {
    std::string type = tensorOf({3, 21}, element), row = tensorOf({21}, element);
    cases.push_back({"%c: tensor<3x1xi1>, %x: " + type + ", %y: " + row,
                     "dataflow.select %c, %x, %y : tensor<3x1xi1>, " + type + ", " + row,
                     {{0, 9}}});
  }
  checkKernels(cases);
}

TEST_CASE("casts between all element types, special values included", "[dataflow]") {
  const std::vector<std::string> elements = {"f32", "f64", "f16", "bf16", "i1",   "i8",  "i16",
                                             "i32", "i64", "ui8", "ui16", "ui32", "ui64"};
  for (const std::string &from : elements) {
    std::vector<Case> cases;
    for (const std::string &to : elements) {
      std::string source = tensorOf({45}, from), result = tensorOf({45}, to);
      cases.push_back({"%x: " + source,
                       "dataflow.cast %x : " + source + " -> " + result,
                       {{from[0] == 'u' ? 0.0 : -100.0, 100, true}}});
      if (from[0] == 'f' || from[0] == 'b')
        cases.push_back(
            {"%x: " + source, "dataflow.cast %x saturate : " + source + " -> " + result, {{-300, 300, true}}});
    }
    checkKernels(cases);
  }
}

TEST_CASE("narrow vectors emit the same functions", "[dataflow]") {
  checkKernels(
      {{"%x: tensor<2x21xf32>, %y: tensor<21xf32>", "dataflow.binary add %x, %y : tensor<2x21xf32>, tensor<21xf32>"},
       {"%x: tensor<2x21xf16>", "dataflow.unary tanh %x : tensor<2x21xf16>"},
       {"%x: tensor<5x21xf32>", "dataflow.reduce sum %x axes [1] : tensor<5x21xf32> -> tensor<5xf32>"}},
      4);
}
