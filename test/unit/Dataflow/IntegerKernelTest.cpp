//===- IntegerKernelTest.cpp - Products of bytes --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "IntegerForms.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;
using namespace sluice::test::integers;

namespace {
struct Product {
  std::vector<int64_t> lhs, rhs;
  std::string lhsElement = "ui8", rhsElement = "i8";
  std::vector<int64_t> lhsZero = {}, rhsZero = {}; ///< Shapes; {-1}: none.
  bool isConstant = true;                          ///< The right-hand side is packed before it is read.
};

/// With an epilogue, and prologue, where `isFused`: a group quantizes, multiplies and scales.
Case caseOf(const Product &p, const Form *form, bool isFused = false) {
  const bool hasLhsZero = p.lhsZero != std::vector<int64_t>{-1}, hasRhsZero = p.rhsZero != std::vector<int64_t>{-1};
  const int64_t columns = p.rhs.back(), depth = p.lhs.back();
  std::string lhs = tensorOf(p.lhs, p.lhsElement), rhs = tensorOf(p.rhs, p.rhsElement);
  std::string lhsZero = tensorOf(p.lhsZero, "i32"), rhsZero = tensorOf(p.rhsZero, "i32"), result, body;
  // Batches of the result.
  std::vector<int64_t> out(std::max(p.lhs.size(), p.rhs.size()), 1);
  for (const std::vector<int64_t> *shape : {&p.lhs, &p.rhs})
    for (size_t i = 2; i < shape->size(); ++i)
      out[out.size() - 1 - i] = std::max(out[out.size() - 1 - i], (*shape)[shape->size() - 1 - i]);
  out[out.size() - 2] = p.lhs[p.lhs.size() - 2];
  out.back() = columns;
  result = tensorOf(out, "i32");
  Case c;
  c.arguments = "%a: " + lhs + ", %b: " + rhs;
  c.fills = {fillOf(p.lhsElement), fillOf(p.rhsElement)};
  if (hasLhsZero) {
    c.arguments += ", %za: " + lhsZero;
    c.fills.push_back(fillOf(p.lhsElement));
  }
  if (hasRhsZero) {
    c.arguments += ", %zb: " + rhsZero;
    c.fills.push_back(fillOf(p.rhsElement));
  }
  const bool needsZeros = hasRhsZero || p.rhsElement == "ui8";
  Form own;
  if (form) {
    own = usable(*form, needsZeros);
    form = &own;
  }
  std::string layout = form ? panels(*form, columns, 1, depth, needsZeros) : "";
  std::string rhsName = "%b", rhsLess = hasRhsZero ? " less %zb" : "", rhsType = rhs;
  std::string zeroTypes = (hasLhsZero ? ", " + lhsZero : "") + (hasRhsZero ? ", " + rhsZero : "");
  if (form && p.isConstant) {
    emit::IntegerPanels packed{dotOf(*form), columns, 1, depth, panelOf(columns, *form), needsZeros};
    rhsType = tensorOf({packed.bytes()}, "i8");
    body = "%p = dataflow.pack_integer_rhs %b" + rhsLess + " panels " + layout + " : (" + rhs +
           (hasRhsZero ? ", " + rhsZero : "") + ") -> " + rhsType + "\n";
    rhsName = "%p";
    rhsLess = "";
    zeroTypes = hasLhsZero ? ", " + lhsZero : "";
  }
  auto product = [&](const std::string &a, const std::string &b, const std::string &za, const std::string &zb) {
    return "dataflow.integer_matmul " + a + (hasLhsZero ? " less " + za : "") + ", " + b +
           (rhsLess.empty() ? "" : " less " + zb) + (form ? " panels " + layout : "") + " : (" + lhs + ", " + rhsType +
           zeroTypes + ") -> " + result;
  };
  if (!isFused) {
    c.body = body + product("%a", rhsName, "%za", "%zb");
    return c;
  }
  // x in f32, its zero point a byte, scales a column; to bytes.
  std::string x = tensorOf(p.lhs, "f32"), scales = tensorOf({columns}, "f32"), scaled = tensorOf(out, "f32");
  std::string zeroByte = tensorOf(p.lhsZero, p.lhsElement), bytes = tensorOf(out, "ui8");
  c.arguments = "%x: " + x + ", %b: " + rhs + ", %za: " + zeroByte + ", %s: " + scales;
  c.fills = {{-300, 300}, fillOf(p.rhsElement), fillOf(p.lhsElement), {0.01, 0.02}};
  REQUIRE(hasLhsZero);
  REQUIRE(!hasRhsZero);
  c.body = body + "dataflow.fused (%fx = %x : " + x + ", %fb = " + rhsName + " : " + rhsType +
           ", %fz = %za : " + zeroByte + ", %fs = %s : " + scales + ") -> (" + bytes +
           ") {\n%q = dataflow.cast %fx saturate : " + x + " -> " + lhs + "\n%z = dataflow.cast %fz : " + zeroByte +
           " -> " + lhsZero + "\n%c = " + product("%q", "%fb", "%z", "") + "\n%f = dataflow.cast %c : " + result +
           " -> " + scaled + "\n%m = dataflow.binary mul %f, %fs : " + scaled + ", " + scales +
           "\n%r = dataflow.unary round %m : " + scaled + "\n%y = dataflow.cast %r saturate : " + scaled + " -> " +
           bytes + "\ndataflow.yield %y : " + bytes + "\n}";
  return c;
}

const std::vector<int64_t> kNone{-1};

/// Rows, columns and depths around tiles and panels; pairs of signs; zero points one for all, a row, a column, or none.
std::vector<Product> products() {
  return {
      {{7, 33}, {33, 37}, "ui8", "i8", {}, kNone},
      {{7, 32}, {32, 64}, "ui8", "i8", kNone, kNone},
      {{7, 33}, {33, 37}, "ui8", "ui8", {}, {}},
      {{7, 33}, {33, 37}, "i8", "i8", {}, {37}},
      {{7, 36}, {36, 37}, "i8", "ui8", kNone, kNone},
      {{1, 260}, {260, 130}, "ui8", "i8", {}, kNone},
      {{1, 261}, {261, 17}, "ui8", "ui8", {}, {17}},
      {{2, 300}, {300, 16}, "ui8", "i8", {2, 1}, {1}},
      {{3, 64}, {64, 1}, "i8", "i8", {3, 1}, {}},
      {{15, 4}, {4, 33}, "ui8", "i8", {}, {33}},
      {{29, 3}, {3, 5}, "ui8", "i8", {1, 1}, kNone},
      {{70, 1}, {1, 40}, "i8", "ui8", {70, 1}, {40}},
      {{200, 68}, {68, 96}, "ui8", "i8", {}, kNone},
      {{197, 40}, {40, 70}, "ui8", "ui8", {}, {70}},
      // Rows, columns and depths around tile registers.
      {{16, 64}, {64, 16}, "ui8", "i8", {}, kNone},
      {{32, 128}, {128, 32}, "ui8", "i8", kNone, kNone},
      {{47, 130}, {130, 33}, "i8", "i8", {47, 1}, kNone},
      {{31, 63}, {63, 50}, "ui8", "i8", {}, kNone},
      {{9, 200}, {200, 17}, "i8", "i8", kNone, kNone},
      {{70, 192}, {192, 40}, "ui8", "i8", {}, kNone},
      // Batches: one right-hand side for all, one each, broadcast.
      {{2, 3, 5, 12}, {12, 18}, "ui8", "i8", {}, kNone},
      {{2, 3, 5, 9}, {9, 18}, "i8", "i8", {3, 1, 1}, {18}},
      {{3, 5, 12}, {3, 12, 40}, "ui8", "i8", {}, kNone, false},
      {{2, 1, 5, 9}, {3, 9, 18}, "i8", "ui8", {5, 1}, {}, false},
      {{5, 9}, {4, 9, 33}, "ui8", "ui8", {}, {33}, false},
      {{20, 31, 40}, {20, 40, 33}, "ui8", "i8", {}, kNone, false},
      {{6, 5, 9}, {1, 9, 18}, "ui8", "i8", {}, kNone, false},
      {{17, 66}, {66, 64}, "ui8", "i8", {}, {64}, false},
  };
}
} // namespace

TEST_CASE("products of bytes in their plain form", "[dataflow][integer]") {
  std::vector<Case> cases;
  for (const Product &product : products())
    cases.push_back(caseOf(product, nullptr));
  // Nothing to sum, nothing to compute.
  cases.push_back(caseOf({{3, 0}, {0, 4}, "ui8", "i8", {}, {}}, nullptr));
  cases.push_back(caseOf({{0, 3}, {3, 4}, "ui8", "i8", {}, {}}, nullptr));
  checkKernels(cases);
}

namespace {
void checkProducts(const std::string &dot) {
  for (const Form &form : forms()) {
    if (form.dot != dot)
      continue;
    INFO(form.dot << " on " << form.lanes << " lanes");
    std::vector<Case> cases;
    for (const Product &product : products())
      cases.push_back(caseOf(product, &form));
    // Sums that leave 32 bits wrap.
    Case most = caseOf({{2, 140000}, {140000, 3}, "ui8", "i8", kNone, kNone}, &form);
    most.fills = {{255, 255}, {-128, -128}};
    cases.push_back(most);
    // Tile registers need more work for a second chunk.
    Case split = caseOf({{form.dot == "tiles" ? 600 : 160, 24}, {24, 400}, "ui8", "i8", {}, kNone}, &form);
    split.isChunked = true;
    cases.push_back(split);
    checkKernels(cases, form.lanes);
  }
}
} // namespace

// Of the instructions that this host has.
TEST_CASE("products of bytes by vectors of numbers", "[dataflow][integer]") { checkProducts("plain"); }
TEST_CASE("products of bytes by pairs", "[dataflow][integer]") { checkProducts("pairs"); }
TEST_CASE("products of bytes by quads", "[dataflow][integer]") { checkProducts("quads"); }
TEST_CASE("products of bytes by tiles", "[dataflow][integer]") { checkProducts("tiles"); }

TEST_CASE("packed products of bytes in grids", "[dataflow][integer]") {
  const Form form = forms().back();
  std::vector<Case> cases;
  for (const Product &product : products())
    cases.push_back(caseOf(product, &form));
  checkKernels(cases);
}

TEST_CASE("quantize, multiply, scale and round in one kernel", "[dataflow][integer]") {
  for (const Form &form : forms()) {
    INFO(form.dot << " on " << form.lanes << " lanes");
    std::vector<Case> cases;
    for (const char *element : {"ui8", "i8"}) {
      cases.push_back(caseOf({{7, 33}, {33, 37}, element, "i8", {}, kNone}, &form, true));
      cases.push_back(caseOf({{2, 3, 20}, {20, 64}, element, "i8", {}, kNone}, &form, true));
      cases.push_back(caseOf({{1, 40}, {40, 33}, element, "i8", {}, kNone}, &form, true));
    }
    checkKernels(cases, form.lanes);
  }
}

namespace {
struct Conv {
  std::vector<int64_t> input; ///< [N, C, spatial...]
  int64_t filters;
  std::vector<int64_t> kernel;
  std::string strides, pads, dilations;
  int64_t groups = 1;
  std::string inputElement = "ui8", weightElement = "i8";
  int64_t inputZeros = 0, weightZeros = 0; ///< How many.
};

std::vector<int64_t> numbers(const std::string &list) {
  std::vector<int64_t> values;
  for (size_t at = 0; at < list.size();
       at = list.find(',', at) == std::string::npos ? list.size() : list.find(',', at) + 1)
    values.push_back(std::stoll(list.substr(at)));
  return values;
}

Case caseOf(const Conv &c, const Form *form) {
  std::vector<int64_t> strides = numbers(c.strides), pads = numbers(c.pads), dilations = numbers(c.dilations);
  std::vector<int64_t> image{c.input[0]}, out{c.input[0]}, weight{c.filters, c.input[1] / c.groups};
  int64_t taps = 1;
  for (size_t d = 0; d < c.kernel.size(); ++d) {
    int64_t reach = (c.kernel[d] - 1) * dilations[d] + 1;
    out.push_back((c.input[2 + d] + pads[d] + pads[d + c.kernel.size()] - reach) / strides[d] + 1);
    image.push_back(c.input[2 + d]);
    weight.push_back(c.kernel[d]);
    taps *= c.kernel[d];
  }
  const bool last = form != nullptr, isDepthwise = c.groups > 1 && c.groups == c.input[1] && c.groups == c.filters;
  out.insert(last ? out.end() : out.begin() + 1, c.filters);
  image.insert(last ? image.end() : image.begin() + 1, c.input[1]);
  const int64_t inputs = c.input[1] / c.groups, columns = isDepthwise ? c.filters : c.filters / c.groups;
  if (form)
    weight =
        isDepthwise ? std::vector<int64_t>{taps, c.filters} : std::vector<int64_t>{c.groups, taps * inputs, columns};
  std::string x = tensorOf(image, c.inputElement), w = tensorOf(weight, c.weightElement);
  std::string zx = tensorOf({}, "i32"), zw = tensorOf({c.weightZeros}, "i32"), result = tensorOf(out, "i32");
  Case made;
  made.arguments =
      "%x: " + x + ", %w: " + w + (c.inputZeros ? ", %zx: " + zx : "") + (c.weightZeros ? ", %zw: " + zw : "");
  made.fills = {fillOf(c.inputElement), fillOf(c.weightElement)};
  if (c.inputZeros)
    made.fills.push_back(fillOf(c.inputElement));
  if (c.weightZeros)
    made.fills.push_back(fillOf(c.weightElement));
  std::string how, weightName = "%w", weightType = w, weightLess = c.weightZeros ? " less %zw" : "";
  std::string types = (c.inputZeros ? ", " + zx : "") + (c.weightZeros ? ", " + zw : "");
  std::string attributes = "{groups = " + std::to_string(c.groups) + " : i64";
  if (form) {
    const bool isRow = c.groups == 1 && dilations[1] == 1, zeros = c.weightZeros || c.weightElement == "ui8";
    const Form own = isDepthwise ? Form{"plain", form->lanes} : usable(*form, zeros);
    emit::IntegerPanels packed{dotOf(own),
                               columns,
                               isRow && !isDepthwise ? c.kernel[0] : taps,
                               isDepthwise ? 1
                               : isRow     ? c.kernel[1] * inputs
                                           : inputs,
                               panelOf(columns, own),
                               zeros};
    how = panels(own, columns, packed.segments, packed.length, zeros);
    weightType = tensorOf({packed.bytes() * (isDepthwise ? 1 : c.groups)}, "i8");
    made.body = "%p = dataflow.pack_integer_rhs %w" + weightLess + " panels " + how + " : (" + w +
                (c.weightZeros ? ", " + zw : "") + ") -> " + weightType + "\n";
    weightName = "%p";
    weightLess = "";
    types = c.inputZeros ? ", " + zx : "";
    how = " panels " + how;
    attributes += ", layout = #dataflow<layout channels_last>, kernel = array<i64: " + std::to_string(c.kernel[0]) +
                  ", " + std::to_string(c.kernel[1]) + ">, filters = " + std::to_string(c.filters) + " : i64";
  }
  made.body += "dataflow.integer_conv %x" + std::string(c.inputZeros ? " less %zx" : "") + ", " + weightName +
               weightLess + " strides [" + c.strides + "] pads [" + c.pads + "] dilations [" + c.dilations + "]" + how +
               " " + attributes + "} : (" + x + ", " + weightType + types + ") -> " + result;
  return made;
}

std::vector<Conv> images() {
  return {
      {{2, 3, 9, 11}, 21, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 1, "ui8", "i8", 1},
      {{1, 16, 14, 15}, 32, {3, 3}, "2, 2", "0, 1, 1, 0", "1, 1", 1, "ui8", "i8", 1},
      {{1, 8, 9, 9}, 40, {3, 2}, "1, 1", "0, 0, 0, 0", "1, 1"},
      {{2, 12, 7, 8}, 34, {3, 3}, "1, 1", "1, 1, 1, 1", "2, 2", 1, "i8", "ui8", 1, 34},
      {{1, 6, 14, 15}, 12, {3, 2}, "1, 2", "2, 0, 1, 1", "2, 3", 2, "ui8", "i8", 1, 1},
      {{1, 16, 8, 9}, 24, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 4, "i8", "i8"},
      {{2, 19, 5, 7}, 37, {1, 1}, "1, 1", "0, 0, 0, 0", "1, 1", 1, "ui8", "ui8", 1, 37},
      {{2, 20, 5, 7}, 37, {1, 1}, "1, 1", "0, 0, 0, 0", "1, 1", 1, "ui8", "i8", 1},
      {{2, 20, 5, 7}, 33, {1, 1}, "2, 2", "0, 0, 0, 0", "1, 1", 1, "ui8", "i8"},
      // Windows altogether in the padding; pads that crop.
      {{1, 2, 3, 3}, 5, {2, 2}, "1, 1", "3, 3, 3, 3", "1, 1", 1, "ui8", "i8", 1},
      {{1, 2, 8, 8}, 3, {3, 3}, "1, 1", "-1, -2, 0, -1", "1, 1", 1, "i8", "i8", 1},
      // One channel: pixels are neighbours.
      {{2, 1, 7, 40}, 5, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 1, "ui8", "i8", 1},
      {{1, 1, 6, 21}, 17, {2, 2}, "1, 1", "0, 0, 0, 0", "1, 1", 1, "i8", "ui8", 1, 17},
      {{1, 1, 5, 8}, 1, {1, 1}, "1, 1", "0, 0, 0, 0", "1, 1", 1, "i8", "i8", 1},
      // Depthwise.
      {{2, 21, 7, 9}, 21, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 21, "ui8", "i8", 1},
      {{1, 33, 9, 9}, 33, {5, 5}, "2, 2", "2, 2, 2, 2", "1, 1", 33, "i8", "ui8", 1, 33},
      {{1, 64, 8, 8}, 64, {3, 3}, "1, 1", "0, 0, 0, 0", "1, 1", 64},
      {{1, 40, 40, 41}, 24, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1", 1, "ui8", "i8", 1},
  };
}
} // namespace

TEST_CASE("convolutions of bytes", "[dataflow][integer]") {
  std::vector<Case> cases;
  for (const Conv &conv : images())
    if (conv.groups == 1)
      cases.push_back(caseOf(conv, nullptr));
  checkKernels(cases);
}

TEST_CASE("convolutions of bytes of several groups, and of any rank", "[dataflow][integer]") {
  std::vector<Case> cases;
  for (const Conv &conv : images())
    if (conv.groups > 1)
      cases.push_back(caseOf(conv, nullptr));
  cases.push_back(caseOf(Conv{{2, 3, 29}, 4, {5}, "2", "2, 1", "2", 1, "ui8", "i8", 1, 4}, nullptr));
  cases.push_back(caseOf(
      Conv{{1, 2, 5, 6, 7}, 3, {2, 3, 3}, "1, 2, 1", "1, 0, 1, 0, 1, 2", "2, 1, 1", 1, "i8", "ui8", 1, 1}, nullptr));
  checkKernels(cases);
}

TEST_CASE("packed convolutions of bytes by every instruction of this host", "[dataflow][integer]") {
  for (const Form &form : forms()) {
    // Products are tested on all numbers of lanes.
    if (form.lanes != hostLanes() && (form.dot != "pairs" || form.lanes != 4))
      continue;
    INFO(form.dot << " on " << form.lanes << " lanes");
    std::vector<Case> cases;
    for (const Conv &conv : images())
      cases.push_back(caseOf(conv, &form));
    checkKernels(cases, form.lanes);
  }
  const Form form = forms().back();
  std::vector<Case> cases;
  for (const Conv &conv : images())
    cases.push_back(caseOf(conv, &form));
  checkKernels(cases);
}
