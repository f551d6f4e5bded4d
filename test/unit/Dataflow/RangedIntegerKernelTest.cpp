//===- RangedIntegerKernelTest.cpp - Products of bytes of a step's extents ===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "IntegerForms.h"
#include "RangedKernels.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;
using namespace sluice::test::integers;

namespace {

const std::string kOne = R"("n" = 1 to 67)", kTwo = R"("b" = 0 to 3, "n" = 1 to 40)";

std::string typeOf(const std::string &shape, const std::string &element) {
  return "tensor<" + (shape.empty() ? "" : shape + "x") + element + ">";
}

struct Product {
  std::string symbols, lhs, rhs, out; ///< Shapes: "{s0}x40".
  int64_t columns, depth;             ///< At the upper bounds.
  std::string lhsElement = "ui8", rhsElement = "i8";
  std::string lhsZero = "", rhsZero = "none"; ///< Shapes; "none": no zero point.
  bool isConstant = true;                     ///< The right-hand side is packed before it is read.
};

/// With an epilogue, and prologue, where `isFused`: a group quantizes, multiplies and scales.
RangedCase caseOf(const Product &p, const Form &wanted, bool isFused = false) {
  const bool hasLhsZero = p.lhsZero != "none", hasRhsZero = p.rhsZero != "none";
  const bool needsZeros = hasRhsZero || p.rhsElement == "ui8";
  const Form form = usable(wanted, needsZeros);
  const std::string lhs = typeOf(p.lhs, p.lhsElement), rhs = typeOf(p.rhs, p.rhsElement), result = typeOf(p.out, "i32");
  const std::string lhsZero = hasLhsZero ? typeOf(p.lhsZero, "i32") : "",
                    rhsZero = hasRhsZero ? typeOf(p.rhsZero, "i32") : "";
  const std::string layout = panels(form, p.columns, 1, p.depth, needsZeros);
  RangedCase c{p.symbols, "%a: " + lhs + ", %b: " + rhs, "", {fillOf(p.lhsElement), fillOf(p.rhsElement)}};
  if (hasLhsZero) {
    c.arguments += ", %za: " + lhsZero;
    c.fills.push_back(fillOf(p.lhsElement));
  }
  if (hasRhsZero) {
    c.arguments += ", %zb: " + rhsZero;
    c.fills.push_back(fillOf(p.rhsElement));
  }
  std::string rhsName = "%b", rhsType = rhs, rhsLess = hasRhsZero ? " less %zb" : "";
  std::string zeroTypes = (hasLhsZero ? ", " + lhsZero : "") + (hasRhsZero ? ", " + rhsZero : "");
  if (p.isConstant) {
    const emit::IntegerPanels packed{dotOf(form), p.columns, 1, p.depth, panelOf(p.columns, form), needsZeros};
    rhsType = tensorOf({packed.bytes()}, "i8");
    c.body = "%p = dataflow.pack_integer_rhs %b" + rhsLess + " panels " + layout + " : (" + rhs +
             (hasRhsZero ? ", " + rhsZero : "") + ") -> " + rhsType + "\n";
    rhsName = "%p", rhsLess = "", zeroTypes = hasLhsZero ? ", " + lhsZero : "";
  }
  auto product = [&](const std::string &a, const std::string &b, const std::string &za) {
    return "dataflow.integer_matmul " + a + (hasLhsZero ? " less " + za : "") + ", " + b + rhsLess + " panels " +
           layout + " : (" + lhs + ", " + rhsType + zeroTypes + ") -> " + result;
  };
  if (!isFused) {
    c.body += product("%a", rhsName, "%za");
    return c;
  }
  // x in f32, its zero point a byte, scales a column; to bytes.
  const std::string x = typeOf(p.lhs, "f32"), scales = tensorOf({p.columns}, "f32"), scaled = typeOf(p.out, "f32");
  const std::string zeroByte = typeOf(p.lhsZero, p.lhsElement), bytes = typeOf(p.out, "ui8");
  c.arguments = "%x: " + x + ", %b: " + rhs + ", %za: " + zeroByte + ", %s: " + scales;
  c.fills = {{-300, 300}, fillOf(p.rhsElement), fillOf(p.lhsElement), {0.01, 0.02}};
  c.body += "dataflow.fused (%fx = %x : " + x + ", %fb = " + rhsName + " : " + rhsType + ", %fz = %za : " + zeroByte +
            ", %fs = %s : " + scales + ") -> (" + bytes + ") {\n%q = dataflow.cast %fx saturate : " + x + " -> " + lhs +
            "\n%z = dataflow.cast %fz : " + zeroByte + " -> " + lhsZero + "\n%c = " + product("%q", "%fb", "%z") +
            "\n%f = dataflow.cast %c : " + result + " -> " + scaled + "\n%m = dataflow.binary mul %f, %fs : " + scaled +
            ", " + scales + "\n%r = dataflow.unary round %m : " + scaled +
            "\n%y = dataflow.cast %r saturate : " + scaled + " -> " + bytes + "\ndataflow.yield %y : " + bytes + "\n}";
  return c;
}

std::vector<Product> products() {
  const std::string three = R"("b" = 0 to 3, "m" = 1 to 70, "n" = 1 to 75)";
  return {
      // Linear layers: rows alone are the step's.
      {kOne, "{s0}x33", "33x37", "{s0}x37", 37, 33},
      {kOne, "{s0}x64", "64x64", "{s0}x64", 64, 64, "ui8", "i8", "none"},
      {kOne, "{s0}x33", "33x37", "{s0}x37", 37, 33, "ui8", "ui8", "", ""},
      {kOne, "{s0}x130", "130x33", "{s0}x33", 33, 130, "i8", "i8", "{s0}x1", "33"},
      {kTwo, "{s0}x{s1}x40", "40x16", "{s0}x{s1}x16", 16, 40, "i8", "i8"},
      {kTwo, "{s0}x{s1}x64", "64x70", "{s0}x{s1}x70", 70, 64, "ui8", "i8", "{s1}x1"},
      {R"("n" = 0 to 9)", "{s0}x200", "200x40", "{s0}x40", 40, 200},
      {R"("n" = 1 to 25)", "{s0}x36", "36x20", "{s0}x20", 20, 36, "ui8", "i8", "{s0}x1"},
      {R"("n" = 1 to 12)", "{s0}x68", "68x33", "{s0}x33", 33, 68, "ui8", "i8"},
      // Several blocks of rows, and panels beyond a cache.
      {R"("n" = 1 to 300)", "{s0}x8", "8x400", "{s0}x400", 400, 8},
      // Products of activations: batches, columns and depth.
      {kTwo, "{s0}x5x12", "{s0}x12x40", "{s0}x5x40", 40, 12, "ui8", "i8", "", "none", false},
      {kTwo, "{s0}x1x{s1}x9", "3x9x18", "{s0}x3x{s1}x18", 18, 9, "i8", "ui8", "{s1}x1", "", false},
      {kOne, "3x{s0}x20", "3x20x{s0}", "3x{s0}x{s0}", 67, 20, "ui8", "i8", "", "none", false},
      {kOne, "2x{s0}x{s0}", "2x{s0}x20", "2x{s0}x20", 20, 67, "ui8", "i8", "", "none", false},
      {three, "{s0}x{s1}x{s2}", "{s2}x{s1}", "{s0}x{s1}x{s1}", 70, 75, "ui8", "ui8", "", "{s1}", false},
      {three, "{s1}x{s2}", "{s0}x{s2}x40", "{s0}x{s1}x40", 40, 75, "i8", "ui8", "none", "", false},
      {R"("k" = 1 to 300)", "20x{s0}", "{s0}x40", "20x40", 40, 300, "ui8", "i8", "", "none", false},
  };
}

void checkProducts(const std::string &dot) {
  for (const Form &form : forms()) {
    // Shorter vectors take the same loops.
    if (form.dot != dot || form.lanes != hostLanes())
      continue;
    INFO(form.dot << " on " << form.lanes << " lanes");
    std::vector<RangedCase> cases;
    for (const Product &product : products())
      cases.push_back(caseOf(product, form));
    for (const char *element : {"ui8", "i8"}) {
      cases.push_back(caseOf({kOne, "{s0}x33", "33x37", "{s0}x37", 37, 33, element}, form, /*isFused=*/true));
      cases.push_back(caseOf({kTwo, "{s0}x{s1}x40", "40x64", "{s0}x{s1}x64", 64, 40, element}, form, /*isFused=*/true));
    }
    checkRanged(cases, form.lanes);
  }
}

} // namespace

TEST_CASE("products of bytes of a step's extents by vectors of numbers", "[dataflow][ranged][integer]") {
  checkProducts("plain");
}
TEST_CASE("products of bytes of a step's extents by pairs", "[dataflow][ranged][integer]") { checkProducts("pairs"); }
TEST_CASE("products of bytes of a step's extents by quads", "[dataflow][ranged][integer]") { checkProducts("quads"); }
TEST_CASE("products of bytes of a step's extents by tiles", "[dataflow][ranged][integer]") { checkProducts("tiles"); }

TEST_CASE("products of bytes of a step's extents in their plain form", "[dataflow][ranged][integer]") {
  const std::string type = "(tensor<{s0}x{s1}x9xui8>, tensor<9x18xi8>, tensor<{s1}x1xi32>) -> tensor<{s0}x{s1}x18xi32>";
  checkRanged({{kTwo,
                "%a: tensor<{s0}x{s1}x9xui8>, %b: tensor<9x18xi8>, %z: tensor<{s1}x1xi32>",
                "dataflow.integer_matmul %a less %z, %b : " + type,
                {kUnsigned, kBytes, kUnsigned}},
               {R"("k" = 0 to 40)",
                "%a: tensor<5x{s0}xui8>, %b: tensor<{s0}x7xi8>",
                "dataflow.integer_matmul %a, %b : (tensor<5x{s0}xui8>, tensor<{s0}x7xi8>) -> tensor<5x7xi32>",
                {kUnsigned, kBytes}}});
}

namespace {

struct Conv {
  std::string symbols, input, out; ///< [N, H, W, C]
  int64_t channels, filters;
  std::vector<int64_t> kernel;
  std::string strides, pads, dilations;
  bool areTapsJoined = true; ///< Those of a row, where they are neighbours.
  int64_t groups = 1;
  std::string inputElement = "ui8", weightElement = "i8";
};

RangedCase caseOf(const Conv &c, const Form &wanted) {
  const bool isDepthwise = c.groups > 1 && c.groups == c.channels, zeros = c.weightElement == "ui8";
  const int64_t taps = c.kernel[0] * c.kernel[1], inputs = c.channels / c.groups;
  const int64_t columns = isDepthwise ? c.filters : c.filters / c.groups;
  const bool isRow = c.groups == 1 && c.areTapsJoined;
  const Form form = isDepthwise ? Form{"plain", wanted.lanes} : usable(wanted, zeros);
  const int64_t segments = isRow && !isDepthwise ? c.kernel[0] : taps;
  const int64_t length = isDepthwise ? 1 : isRow ? c.kernel[1] * inputs : inputs;
  const emit::IntegerPanels packed{dotOf(form), columns, segments, length, panelOf(columns, form), zeros};
  const std::string how = panels(form, columns, segments, length, zeros), x = typeOf(c.input, c.inputElement);
  const std::string w = tensorOf(isDepthwise ? std::vector<int64_t>{taps, c.filters}
                                             : std::vector<int64_t>{c.groups, taps * inputs, columns},
                                 c.weightElement);
  const std::string weight = tensorOf({packed.bytes() * (isDepthwise ? 1 : c.groups)}, "i8");
  return {c.symbols,
          "%x: " + x + ", %w: " + w + ", %zx: tensor<i32>",
          "%p = dataflow.pack_integer_rhs %w panels " + how + " : (" + w + ") -> " + weight +
              "\ndataflow.integer_conv %x less %zx, %p strides [" + c.strides + "] pads [" + c.pads + "] dilations [" +
              c.dilations + "] panels " + how + " {groups = " + std::to_string(c.groups) +
              " : i64, layout = #dataflow<layout channels_last>, kernel = array<i64: " + std::to_string(c.kernel[0]) +
              ", " + std::to_string(c.kernel[1]) + ">, filters = " + std::to_string(c.filters) + " : i64} : (" + x +
              ", " + weight + ", tensor<i32>) -> " + typeOf(c.out, "i32"),
          {fillOf(c.inputElement), fillOf(c.weightElement), fillOf(c.inputElement)}};
}

std::vector<Conv> convolutions() {
  const std::string image = R"("b" = 0 to 2, "h" = 3 to 5, "w" = 3 to 19)";
  return {
      {image, "{s0}x{s1}x{s2}x3", "{s0}x{s1}x{s2}x21", 3, 21, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"},
      {image,
       "{s0}x{s1}x{s2}x16",
       "{s0}x{(s1 - 2) floordiv 2 + 1}x{(s2 - 2) floordiv 2 + 1}x32",
       16,
       32,
       {3, 3},
       "2, 2",
       "0, 1, 1, 0",
       "1, 1"},
      {image,
       "{s0}x{s1}x{s2}x12",
       "{s0}x{s1}x{s2}x34",
       12,
       34,
       {3, 3},
       "1, 1",
       "2, 2, 2, 2",
       "2, 2",
       false,
       1,
       "i8",
       "ui8"},
      {image, "{s0}x{s1}x{s2}x16", "{s0}x{s1}x{s2}x24", 16, 24, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", true, 4, "i8"},
      {image, "{s0}x{s1}x{s2}x8", "{s0}x{s1 - 2}x{s2 - 1}x40", 8, 40, {3, 2}, "1, 1", "0, 0, 0, 0", "1, 1"},
      // Pointwise: all pixels are rows.
      {image, "{s0}x{s1}x{s2}x19", "{s0}x{s1}x{s2}x37", 19, 37, {1, 1}, "1, 1", "0, 0, 0, 0", "1, 1"},
      {image, "{s0}x{s1}x{s2}x64", "{s0}x{s1}x{s2}x32", 64, 32, {1, 1}, "1, 1", "0, 0, 0, 0", "1, 1"},
      {image,
       "{s0}x{s1}x{s2}x20",
       "{s0}x{(s1 - 1) floordiv 2 + 1}x{(s2 - 1) floordiv 2 + 1}x33",
       20,
       33,
       {1, 1},
       "2, 2",
       "0, 0, 0, 0",
       "1, 1"},
      // The batch alone, and one spatial dimension.
      {R"("n" = 1 to 9)", "{s0}x5x7x16", "{s0}x5x7x24", 16, 24, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"},
      {kOne, "1x{s0}x6x16", "1x{s0}x6x24", 16, 24, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"},
      {kOne, "2x1x{s0}x16", "2x1x{s0}x24", 16, 24, {1, 5}, "1, 1", "0, 2, 0, 2", "1, 1"},
      // One channel: pixels are neighbours.
      {image, "{s0}x{s1}x{s2}x1", "{s0}x{s1}x{s2}x5", 1, 5, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"},
      // Depthwise.
      {image, "{s0}x{s1}x{s2}x21", "{s0}x{s1}x{s2}x21", 21, 21, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", true, 21},
      {image,
       "{s0}x{s1}x{s2}x33",
       "{s0}x{(s1 - 1) floordiv 2 + 1}x{(s2 - 1) floordiv 2 + 1}x33",
       33,
       33,
       {5, 5},
       "2, 2",
       "2, 2, 2, 2",
       "1, 1",
       true,
       33,
       "i8",
       "ui8"},
      {image, "{s0}x{s1}x{s2}x64", "{s0}x{s1 - 2}x{s2 - 2}x64", 64, 64, {3, 3}, "1, 1", "0, 0, 0, 0", "1, 1", true, 64},
  };
}

} // namespace

TEST_CASE("convolutions of bytes of a step's extents", "[dataflow][ranged][integer][conv]") {
  // All of this host's best instructions, some without any.
  for (const Form &form : {forms().back(), Form{"plain", 1}}) {
    INFO(form.dot << " on " << form.lanes << " lanes");
    std::vector<RangedCase> cases;
    for (const Conv &conv : convolutions())
      if (form.lanes > 1 || cases.size() < 3)
        cases.push_back(caseOf(conv, form));
    checkRanged(cases, form.lanes);
  }
}

TEST_CASE("convolutions of bytes that need constant extents refuse symbols", "[dataflow][ranged][integer][conv]") {
  auto conv = [](const std::string &input, const std::string &pads, const std::string &result) {
    return RangedCase{kOne, "%x: " + input + ", %w: tensor<4x3x3xi8>",
                      "dataflow.integer_conv %x, %w strides [1] pads [" + pads + "] dilations [1] : (" + input +
                          ", tensor<4x3x3xi8>) -> " + result};
  };
  CHECK(refusalOf(conv("tensor<2x3x{s0 + 2}xui8>", "0, 0", "tensor<2x4x{s0}xi32>")).empty());
  CHECK_THAT(refusalOf(conv("tensor<2x3x{s0 + 4}xui8>", "-1, -1", "tensor<2x4x{s0}xi32>")),
             Catch::Contains("has negative pads along a dimension with a range"));
}
