//===- HalfKernelTest.cpp - Products in half precision --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HalfForms.h"

#include "dialects/Dataflow/Emit/HalfPacking.h"

#include "llvm/ADT/APFloat.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace sluice;
using namespace sluice::test;
using namespace sluice::test::halves;

namespace {
/// With an epilogue, a bias and relu, where `isFused`.
Case matmul(const std::vector<int64_t> &lhs, int64_t columns, const std::string &element, const Form &form,
            bool isFused = false) {
  const int64_t depth = lhs.back();
  const Panels panels = panelsOf(form, element, columns, 1, depth);
  std::vector<int64_t> out(lhs);
  out.back() = columns;
  const std::string a = tensorOf(lhs, element), w = tensorOf({depth, columns}, element), y = tensorOf(out, element);
  const std::string bias = tensorOf({columns}, element);
  Case c;
  c.arguments = "%a: " + a + ", %w: " + w;
  c.body = packed(w, panels);
  auto product = [&](const std::string &left, const std::string &right) {
    return "dataflow.half_matmul " + left + ", " + right + " panels " + panels.text + " : (" + a + ", " + panels.type +
           ") -> " + y;
  };
  if (!isFused) {
    c.body += product("%a", "%p");
    return c;
  }
  c.arguments += ", %b: " + bias;
  c.body += "dataflow.fused (%fa = %a : " + a + ", %fp = %p : " + panels.type + ", %fb = %b : " + bias + ") -> (" + y +
            ") {\n%c = " + product("%fa", "%fp") + "\n%s = dataflow.binary add %c, %fb : " + y + ", " + bias +
            "\n%r = dataflow.unary relu %s : " + y + "\ndataflow.yield %r : " + y + "\n}";
  return c;
}

struct Conv {
  std::vector<int64_t> input; ///< [N, H, W, C]
  int64_t filters;
  std::vector<int64_t> kernel, strides, pads, dilations;
};

std::string listOf(const std::vector<int64_t> &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

Case conv(const Conv &c, const std::string &element, const Form &form) {
  std::vector<int64_t> out(c.input);
  out[3] = c.filters;
  for (size_t d = 0; d < 2; ++d)
    out[1 + d] =
        (c.input[1 + d] + c.pads[d] + c.pads[2 + d] - (c.kernel[d] - 1) * c.dilations[d] - 1) / c.strides[d] + 1;
  const int64_t taps = c.kernel[0] * c.kernel[1], channels = c.input[3];
  const Panels panels = panelsOf(form, element, c.filters, taps, channels);
  const std::string x = tensorOf(c.input, element), w = tensorOf({taps * channels, c.filters}, element);
  Case made;
  made.arguments = "%x: " + x + ", %w: " + w;
  made.body = packed(w, panels) + "dataflow.half_conv %x, %p kernel " + listOf(c.kernel) + " strides " +
              listOf(c.strides) + " pads " + listOf(c.pads) + " dilations " + listOf(c.dilations) + " panels " +
              panels.text + " : (" + x + ", " + panels.type + ") -> " + tensorOf(out, element);
  return made;
}

constexpr const char *kElements[] = {"f16", "bf16", "f32"};
} // namespace

TEST_CASE("matrix products in half precision by every instruction of this host", "[dataflow][half]") {
  for (const Form &form : forms()) {
    INFO(form.dot << " on " << form.lanes << " lanes");
    std::vector<Case> cases;
    for (const char *element : kElements) {
      // Rows, columns and depths around tiles and panels; segments of one, some and many of the tiles' steps.
      cases.push_back(matmul({33, 40}, 35, element, form, /*isFused=*/true));
      cases.push_back(matmul({2, 3, 5, 18}, 8, element, form));
      // Other numbers of lanes take the same loops, and f32 those of bf16.
      if (!isHosts(form) || std::string(element) == "f32")
        continue;
      for (const auto &[lhs, columns] : {std::pair(std::vector<int64_t>{32, 64}, 32),
                                         {{7, 33}, 37},
                                         {{1, 130}, 17},
                                         {{47, 65}, 33},
                                         {{31, 31}, 50},
                                         {{70, 300}, 40},
                                         {{35, 512}, 16},
                                         {{9, 1}, 1},
                                         {{200, 16}, 96}})
        cases.push_back(matmul(lhs, columns, element, form));
      cases.push_back(matmul({5, 40}, 64, element, form, /*isFused=*/true));
    }
    cases.push_back(matmul({0, 3}, 4, "f16", form));
    // Special values in one operand alone, beside numbers that bf16 has exactly; channels are filled up to the tiles'.
    // Extremes of other types than f16 leave no sums to compare.
    for (const char *element : kElements) {
      Case c = matmul({40, std::string(element) == "f16" ? 5 : 1}, 35, element, form);
      c.fills = {{-1, 1, true}, {1, 1}};
      cases.push_back(c);
      c.fills = {{2, 2}, {-1, 1, true}};
      cases.push_back(c);
    }
    Case split = matmul({form.dot == "tiles" ? 600 : 100, 48}, 400, "bf16", form);
    split.isChunked = true;
    cases.push_back(split);
    checkKernels(cases, form.lanes);
  }
}

TEST_CASE("convolutions in half precision by every instruction of this host", "[dataflow][half]") {
  const std::vector<Conv> images = {
      {{1, 9, 20, 16}, 24, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{2, 7, 13, 48}, 34, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{1, 14, 35, 32}, 16, {3, 3}, {2, 2}, {0, 1, 1, 0}, {1, 1}},
      {{1, 9, 19, 20}, 40, {3, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{1, 14, 15, 6}, 12, {3, 2}, {1, 2}, {2, 0, 1, 1}, {2, 3}},
      {{2, 5, 7, 64}, 37, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{2, 5, 7, 19}, 37, {1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
      {{1, 8, 64, 32}, 33, {3, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      // Windows altogether in the padding; pads that crop.
      {{1, 3, 3, 2}, 5, {2, 2}, {1, 1}, {3, 3, 3, 3}, {1, 1}},
      {{1, 8, 12, 2}, 3, {3, 3}, {1, 1}, {-1, -2, 0, -1}, {1, 1}},
      {{1, 3, 41, 160}, 16, {1, 3}, {1, 1}, {0, 1, 0, 1}, {1, 1}},
      // Rows lie apart.
      {{1, 3, 20, 256}, 16, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{1, 3, 20, 256}, 16, {1, 2}, {1, 1}, {0, 1, 0, 1}, {1, 2}},
  };
  for (const Form &form : forms()) {
    if (!isHosts(form) && form.lanes != 2)
      continue;
    INFO(form.dot << " on " << form.lanes << " lanes");
    std::vector<Case> cases;
    cases.push_back(conv(images[0], "f32", form));
    for (const char *element : {"f16", "bf16"})
      for (const Conv &image : form.dot == "tiles" ? images : std::vector(images.begin() + 3, images.begin() + 6))
        cases.push_back(conv(image, element, form));
    // A window sees no infinities of its neighbours.
    Case c = conv({{1, 5, 17, 3}, 20, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}}, "f16", form);
    c.fills = {{-1, 1, true}, {0.5, 0.5}};
    cases.push_back(c);
    checkKernels(cases, form.lanes);
  }
}

TEST_CASE("every f16 is the sum of two numbers of bf16", "[dataflow][half]") {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    llvm::APFloat half(llvm::APFloat::IEEEhalf(), llvm::APInt(16, code));
    const float x = half.convertToFloat();
    const emit::HalfParts parts = emit::splitHalf(x);
    const float first = std::bit_cast<float>(uint32_t(parts.first) << 16);
    const float second = std::bit_cast<float>(uint32_t(parts.second) << 16);
    if (std::isnan(x)) {
      CHECK(std::isnan(first));
      CHECK(std::isnan(second));
      continue;
    }
    if (first + second != x || (x != 0 && (first == 0 || second == 0 || (first < 0) != (second < 0))))
      FAIL(x << " became " << first << " and " << second);
  }
}

TEST_CASE("f32 rounds to bf16 as LLVM's soft floats do", "[dataflow][half]") {
  for (float x : {0.0F, -0.0F, 1.0F, 1.00390625F, 1.01171875F, -3.14159274F, 3.39e38F, 1e-39F,
                  std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    llvm::APFloat rounded(x);
    bool loses;
    rounded.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &loses);
    CHECK(emit::roundToBf16(x) == rounded.bitcastToAPInt().getZExtValue());
  }
}
