//===- RangedHalfKernelTest.cpp - Half precision at a step's extents ------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HalfForms.h"
#include "RangedKernels.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;
using namespace sluice::test::halves;

namespace {

const std::string kOne = R"("n" = 1 to 67)", kTwo = R"("b" = 0 to 3, "n" = 1 to 40)";

std::string typeOf(const std::string &shape, const std::string &element) {
  return "tensor<" + shape + "x" + element + ">";
}

/// With an epilogue, a bias and relu, where `isFused`.
RangedCase matmul(const std::string &symbols, const std::string &rows, int64_t depth, int64_t columns,
                  const std::string &element, const Form &form, bool isFused = false) {
  const Panels panels = panelsOf(form, element, columns, 1, depth);
  const std::string a = typeOf(rows + "x" + std::to_string(depth), element), w = tensorOf({depth, columns}, element);
  const std::string y = typeOf(rows + "x" + std::to_string(columns), element), bias = tensorOf({columns}, element);
  auto product = [&](const std::string &left, const std::string &right) {
    return "dataflow.half_matmul " + left + ", " + right + " panels " + panels.text + " : (" + a + ", " + panels.type +
           ") -> " + y;
  };
  if (!isFused)
    return {symbols, "%a: " + a + ", %w: " + w, packed(w, panels) + product("%a", "%p")};
  return {symbols, "%a: " + a + ", %w: " + w + ", %b: " + bias,
          packed(w, panels) + "dataflow.fused (%fa = %a : " + a + ", %fp = %p : " + panels.type + ", %fb = %b : " +
              bias + ") -> (" + y + ") {\n%c = " + product("%fa", "%fp") + "\n%s = dataflow.binary add %c, %fb : " + y +
              ", " + bias + "\n%r = dataflow.unary relu %s : " + y + "\ndataflow.yield %r : " + y + "\n}"};
}

struct Conv {
  std::string symbols, input, out; ///< [N, H, W, C]
  int64_t channels, filters;
  std::vector<int64_t> kernel;
  std::string strides, pads, dilations;
};

RangedCase caseOf(const Conv &c, const std::string &element, const Form &form) {
  const int64_t taps = c.kernel[0] * c.kernel[1];
  const Panels panels = panelsOf(form, element, c.filters, taps, c.channels);
  const std::string x = typeOf(c.input, element), w = tensorOf({taps * c.channels, c.filters}, element);
  return {c.symbols, "%x: " + x + ", %w: " + w,
          packed(w, panels) + "dataflow.half_conv %x, %p kernel [" + std::to_string(c.kernel[0]) + ", " +
              std::to_string(c.kernel[1]) + "] strides [" + c.strides + "] pads [" + c.pads + "] dilations [" +
              c.dilations + "] panels " + panels.text + " : (" + x + ", " + panels.type + ") -> " +
              typeOf(c.out, element)};
}

/// The vectors that models are compiled for, and a form for any host.
std::vector<Form> testedForms() {
  std::vector<Form> tested;
  for (const Form &form : forms())
    if (isHosts(form) || form.lanes == 1)
      tested.push_back(form);
  return tested;
}

} // namespace

TEST_CASE("matrix products in half precision of a step's extents", "[dataflow][ranged][half]") {
  for (const Form &form : testedForms()) {
    INFO(form.dot << " on " << form.lanes << " lanes");
    std::vector<RangedCase> cases;
    for (const char *element : {"f16", "bf16", "f32"}) {
      if (form.lanes == 1 && element != std::string("f16"))
        continue;
      cases.push_back(matmul(kOne, "{s0}", 40, 35, element, form, /*isFused=*/true));
      cases.push_back(matmul(kTwo, "{s0}x{s1}", 18, 8, element, form));
      cases.push_back(matmul(kOne, "{s0}", 64, 64, element, form));
      cases.push_back(matmul(R"("n" = 1 to 12)", "{s0}", 130, 17, element, form));
      cases.push_back(matmul(R"("n" = 0 to 25)", "1x{s0}", 200, 40, element, form));
    }
    checkRanged(cases, form.lanes);
  }
}

TEST_CASE("convolutions in half precision of a step's extents", "[dataflow][ranged][half][conv]") {
  const std::string image = R"("b" = 0 to 2, "h" = 3 to 5, "w" = 3 to 19)";
  const std::vector<Conv> convolutions = {
      {image, "{s0}x{s1}x{s2}x32", "{s0}x{s1}x{s2}x24", 32, 24, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"},
      {image,
       "{s0}x{s1}x{s2}x18",
       "{s0}x{(s1 - 2) floordiv 2 + 1}x{(s2 - 2) floordiv 2 + 1}x37",
       18,
       37,
       {3, 3},
       "2, 2",
       "0, 1, 1, 0",
       "1, 1"},
      {image, "{s0}x{s1}x{s2}x32", "{s0}x{s1}x{s2}x8", 32, 8, {3, 3}, "1, 1", "2, 2, 2, 2", "2, 2"},
      {image, "{s0}x{s1}x{s2}x32", "{s0}x{s1}x{s2}x33", 32, 33, {1, 1}, "1, 1", "0, 0, 0, 0", "1, 1"},
      {image, "{s0}x{s1}x{s2}x20", "{s0}x{s1 - 2}x{s2 - 1}x16", 20, 16, {3, 2}, "1, 1", "0, 0, 0, 0", "1, 1"},
      {R"("n" = 1 to 9)", "{s0}x5x7x32", "{s0}x5x7x16", 32, 16, {3, 3}, "1, 1", "1, 1, 1, 1", "1, 1"},
      {kOne, "1x1x{s0}x40", "1x1x{s0}x16", 40, 16, {1, 5}, "1, 1", "0, 2, 0, 2", "1, 1"},
  };
  for (const Form &form : testedForms()) {
    INFO(form.dot << " on " << form.lanes << " lanes");
    std::vector<RangedCase> cases;
    for (const Conv &conv : convolutions)
      for (const char *element : {"f16", "bf16"})
        if (form.lanes > 1 || cases.size() < 3)
          cases.push_back(caseOf(conv, element, form));
    checkRanged(cases, form.lanes);
  }
}

TEST_CASE("convolutions in half precision refuse a step's extents that pads crop", "[dataflow][ranged][half][conv]") {
  const Form form{"pairs", 1};
  const Conv cropped{kOne, "1x4x{s0 + 4}x16", "1x4x{s0 + 1}x8", 16, 8, {1, 3}, "1, 1", "0, -1, 0, 0", "1, 1"};
  CHECK_THAT(refusalOf(caseOf(cropped, "bf16", form)),
             Catch::Contains("has negative pads along a dimension with a range"));
}
