//===- ElementwiseKernelTest.cpp - Functions of elements ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <catch2/catch.hpp>

using namespace sluice::test;

TEST_CASE("every float function agrees with its evaluation", "[dataflow]") {
  struct Function {
    std::string kind;
    Fill fill;
    std::string attributes;
  };
  const std::vector<Function> functions = {{"abs", {}, ""},
                                           {"neg", {}, ""},
                                           {"exp", {-5, 5}, ""},
                                           {"log", {0.01, 9}, ""},
                                           {"sqrt", {0, 9}, ""},
                                           {"reciprocal", {0.1, 4}, ""},
                                           {"sin", {-7, 7}, ""},
                                           {"cos", {-7, 7}, ""},
                                           {"tan", {-1.3, 1.3}, ""},
                                           {"asin", {}, ""},
                                           {"acos", {}, ""},
                                           {"atan", {-5, 5}, ""},
                                           {"sinh", {-3, 3}, ""},
                                           {"cosh", {-3, 3}, ""},
                                           {"tanh", {-5, 5}, ""},
                                           {"asinh", {-5, 5}, ""},
                                           {"acosh", {1, 9}, ""},
                                           {"atanh", {-0.9, 0.9}, ""},
                                           {"erf", {-3, 3}, ""},
                                           {"sigmoid", {-9, 9}, ""},
                                           {"relu", {}, ""},
                                           {"leaky_relu", {}, "alpha = 0.1 : f64"},
                                           {"elu", {-3, 3}, "alpha = 1.5 : f64"},
                                           {"selu", {-3, 3}, "alpha = 1.67 : f64, beta = 1.05 : f64"},
                                           {"celu", {-3, 3}, "alpha = 2.0 : f64"},
                                           {"thresholded_relu", {-2, 2}, "alpha = 0.7 : f64"},
                                           {"hard_sigmoid", {-5, 5}, "alpha = 0.2 : f64, beta = 0.5 : f64"},
                                           {"hard_swish", {-5, 5}, ""},
                                           {"softplus", {-9, 9}, ""},
                                           {"softsign", {-5, 5}, ""},
                                           {"gelu", {-4, 4}, ""},
                                           {"gelu_tanh", {-4, 4}, ""},
                                           {"mish", {-5, 5}, ""},
                                           {"swish", {-5, 5}, "alpha = 1.5 : f64"},
                                           {"sign", {}, ""},
                                           {"floor", {-5, 5}, ""},
                                           {"ceil", {-5, 5}, ""},
                                           {"round", {-5, 5}, ""},
                                           {"is_nan", {}, ""},
                                           {"is_inf", {}, "alpha = 1.0 : f64"},
                                           {"shrink", {-2, 2}, "alpha = 0.5 : f64, beta = 0.2 : f64"}};
  for (const char *element : {"f32", "f64", "bf16"}) {
    std::vector<Case> cases;
    for (const Function &f : functions) {
      std::string type = tensorOf({3, 13}, element);
      Fill fill = f.fill;
      // Whole-number results, relu and the like say what NaN and infinity give.
      fill.special = f.kind == "is_nan" || f.kind == "is_inf" || f.kind == "relu" || f.kind == "sign" ||
                     f.kind == "abs" || f.kind == "round" || f.kind == "exp" || f.kind == "tanh" ||
                     f.kind == "sigmoid" || f.kind == "sqrt";
      cases.push_back(
          {"%x: " + type,
           "dataflow.unary " + f.kind + " %x " + (f.attributes.empty() ? "" : "{" + f.attributes + "}") + " : " + type,
           {fill}});
    }
    checkKernels(cases);
  }
}

TEST_CASE("binary functions broadcast", "[dataflow]") {
  std::vector<Case> cases;
  auto add = [&](const std::string &kind, const std::string &lhs, const std::string &rhs, Fill fill = {}) {
    cases.push_back(
        {"%x: " + lhs + ", %y: " + rhs, "dataflow.binary " + kind + " %x, %y : " + lhs + ", " + rhs, {fill}});
  };
  for (const char *kind : {"add", "sub", "mul", "div", "max", "min", "mod", "fmod", "prelu"}) {
    add(kind, "tensor<5x37xf32>", "tensor<5x37xf32>", {-3, 3});
    add(kind, "tensor<40xf32>", "tensor<40xf32>", {-3, 3, kind[0] == 'm' && kind[1] != 'o'});
  }
  add("pow", "tensor<5x37xf32>", "tensor<37xf32>", {0.1, 3});
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
  for (const char *element : {"f16", "bf16", "f64"})
    for (const char *kind : {"add", "div", "max"})
      add(kind, tensorOf({3, 21}, element), tensorOf({21}, element), {0.5, 3});
  for (const char *element : {"i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"}) {
    for (const char *kind :
         {"add", "sub", "mul", "div", "mod", "fmod", "max", "min", "bitwise_and", "bitwise_xor", "prelu"})
      add(kind, tensorOf({3, 21}, element), tensorOf({21}, element), {element[0] == 'u' ? 0.0 : -9.0, 9, true});
    for (const char *kind : {"shift_left", "shift_right"})
      add(kind, tensorOf({3, 21}, element), tensorOf({21}, element), {0, 70});
    add("pow", tensorOf({3, 21}, element), tensorOf({21}, element), {0, 5});
  }
  for (const char *kind : {"logical_and", "logical_or", "logical_xor", "bitwise_or"})
    add(kind, "tensor<3x21xi1>", "tensor<21xi1>");
  checkKernels(cases);
}

TEST_CASE("integer and bool functions of one tensor", "[dataflow]") {
  std::vector<Case> cases;
  for (const char *element : {"i8", "i32", "i64", "ui8", "ui64"})
    for (const char *kind : {"abs", "neg", "relu", "sign", "bitwise_not", "floor"}) {
      std::string type = tensorOf({37}, element);
      cases.push_back({"%x: " + type,
                       std::string("dataflow.unary ") + kind + " %x : " + type,
                       {{element[0] == 'u' ? 0.0 : -9.0, 9, true}}});
    }
  cases.push_back({"%x: tensor<37xi1>", "dataflow.unary logical_not %x : tensor<37xi1>"});
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
