//===- BlockKernelTest.cpp - Products by weights in blocks ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "BlockForms.h"
#include "RangedKernels.h"

#include "dialects/Dataflow/Emit/BlockPacking.h"

#include <cstring>

using namespace sluice;
using namespace sluice::test;
using namespace sluice::test::blocks;

namespace {

/// Vectors of this host's length and of those that any host has.
std::vector<int64_t> testedLanes() {
  auto host = resolveTarget("native");
  REQUIRE(host);
  std::vector<int64_t> all{1, 2};
  for (int64_t lanes = 4; lanes <= host->vectorLanes(32); lanes *= 2)
    all.push_back(lanes);
  return all;
}

/// Every width of elements with every kind of zero points, few rows and many; and blocks of every size, where the depth
/// ends within a block and a word, with an odd number of columns.
std::vector<Case> formsOf(int64_t lanes, bool isRounded) {
  std::vector<Case> cases;
  for (int64_t bits : {2, 4, 8}) {
    for (const char *zeros : {"", "ui8", "f32"})
      for (int64_t rows : {1, 3, 19})
        cases.push_back(caseOf({rows}, "f32", {100, 37, bits, 32, "f32", zeros, isRounded}, lanes));
    for (int64_t block : {16, 48, 64, 128, 256})
      for (int64_t rows : {1, 7})
        cases.push_back(caseOf({rows}, "f32", {block * 2 + 19, 35, bits, block, "f16", "ui8", isRounded}, lanes));
  }
  return cases;
}

} // namespace

TEST_CASE("products by weights in blocks on vectors of every length", "[dataflow][blocks]") {
  for (int64_t lanes : testedLanes()) {
    INFO(lanes << " lanes");
    std::vector<Case> cases = formsOf(lanes, /*isRounded=*/false);
    for (const auto &[depth, columns] :
         {std::pair<int64_t, int64_t>{1, 1}, {3, 2}, {7, 5}, {16, 16}, {31, 33}, {32, 32}, {33, 64}, {600, 17}})
      for (int64_t rows : {1, 2, 5})
        cases.push_back(caseOf({rows}, "f32", {depth, columns}, lanes));
    checkKernels(cases, lanes);
  }
}

TEST_CASE("products by weights in blocks of other types, batches and epilogues", "[dataflow][blocks]") {
  std::vector<Case> cases;
  const int64_t lanes = resolveTarget("native")->vectorLanes(32);
  for (const char *element : {"f16", "bf16", "f32"})
    for (const char *scale : {"f16", "bf16", "f32"})
      for (int64_t rows : {1, 4, 40})
        cases.push_back(caseOf({rows}, element, {90, 50, 4, 16, scale, scale}, lanes, /*isFused=*/true));
  for (const auto &rows : {std::vector<int64_t>{2, 3, 5}, {2, 1, 1}, {1, 1, 1}, {0}, {2, 2, 9}})
    cases.push_back(caseOf(rows, "f32", {70, 40, 8, 64, "f32", "ui8"}, lanes, /*isFused=*/true));
  // Not packed, and packed for vectors that the target does not have.
  for (const char *zeros : {"", "ui8", "f16"})
    for (int64_t bits : {2, 4, 8})
      cases.push_back(caseOf({3}, "f32", {50, 21, bits, 16, "f16", zeros}, 0, /*isFused=*/bits == 4));
  checkKernels(cases);
  checkKernels({caseOf({3}, "f32", {50, 21, 4, 16, "f16", "ui8"}, 4), caseOf({9}, "f32", {50, 1, 2, 32}, 2)}, 1);
}

TEST_CASE("rows in blocks are rounded as ONNX Runtime rounds them", "[dataflow][blocks]") {
  std::vector<Case> cases;
  for (const char *element : {"f32", "f16", "bf16"})
    for (int64_t depth : {1, 16, 31, 100}) {
      Case made;
      const std::string type = tensorOf({3, depth}, element);
      made.arguments = "%a: " + type;
      made.body = "dataflow.round_blocks %a block 32 : " + type;
      made.fills = {{-3, 3}};
      cases.push_back(made);
      for (int64_t bits : {2, 4, 8}) {
        const int64_t bytes = emit::RoundedRows{bits, 48, depth}.rowBytes();
        made.body = "dataflow.quantize_blocks %a bits " + std::to_string(bits) + " block 48 : (" + type + ") -> " +
                    tensorOf({3, bytes}, "i8");
        cases.push_back(made);
      }
    }
  checkKernels(cases);
}

TEST_CASE("products of rounded rows by weights in blocks", "[dataflow][blocks]") {
  for (int64_t lanes : testedLanes()) {
    INFO(lanes << " lanes");
    std::vector<Case> cases = formsOf(lanes, /*isRounded=*/true);
    for (const char *element : {"f16", "bf16"})
      cases.push_back(caseOf({2, 9}, element, {90, 50, 4, 16, "bf16", "f16", true}, lanes, /*isFused=*/true));
    // The largest sums that there are.
    for (int64_t bits : {2, 4, 8})
      for (int64_t rows : {1, 7}) {
        Case largest = caseOf({rows}, "f32", {256, 33, bits, 128, "f32", "f32", true}, lanes);
        largest.fills = {{1, 1}, {255, 255}, {1, 1}, {0, 0}};
        cases.push_back(largest);
      }
    checkKernels(cases, lanes);
  }
  // As floats; and packed for vectors that the target does not have.
  checkKernels({caseOf({3}, "f32", {50, 21, 4, 16, "f16", "ui8", true}, 0),
                caseOf({2, 3}, "f16", {64, 21, 8, 32, "f32", "", true}, 0, /*isFused=*/true)});
  checkKernels({caseOf({3}, "f32", {50, 21, 4, 16, "f16", "ui8", true}, 4),
                caseOf({9}, "f32", {50, 1, 2, 32, "f32", "", true}, 2)},
               1);
}

TEST_CASE("rows of a product by weights in blocks are cut into chunks", "[dataflow][blocks]") {
  const int64_t lanes = resolveTarget("native")->vectorLanes(32);
  std::vector<Case> cases;
  for (int64_t rows : {1, 4, 150}) {
    Case split = caseOf({rows}, "f32", {320, 1200, 4, 32, "f32", "ui8"}, lanes, /*isFused=*/true);
    split.isChunked = true;
    cases.push_back(split);
    split = caseOf({rows}, "f32", {320, 1200, 4, 32, "f32", "", /*isRounded=*/true}, lanes, /*isFused=*/true);
    split.isChunked = true;
    cases.push_back(split);
  }
  checkKernels(cases);
}

TEST_CASE("products by weights in blocks of a step's rows", "[dataflow][ranged][blocks]") {
  std::vector<RangedCase> cases;
  const int64_t lanes = resolveTarget("native")->vectorLanes(32);
  auto add = [&](const std::string &symbols, const std::string &rows, const Weight &weight, bool isFused,
                 int64_t packedFor) {
    auto typeOf = [&](const std::string &last) { return "tensor<" + rows + "x" + last + "xf32>"; };
    const Text text = productOf(typeOf(std::to_string(weight.depth)), typeOf(std::to_string(weight.columns)),
                                tensorOf({weight.columns}, "f32"), weight, packedFor, isFused);
    RangedCase made{symbols, text.arguments, text.body};
    made.fills = {{-1, 1}};
    for (const Fill &fill : weight.fills())
      made.fills.push_back(fill);
    made.fills.push_back({-1, 1});
    cases.push_back(made);
  };
  const std::string one = R"("n" = 1 to 67)", few = R"("n" = 0 to 2)", two = R"("b" = 0 to 3, "n" = 1 to 40)";
  add(one, "{s0}", {70, 37, 4, 32, "f32", "ui8"}, true, lanes);
  add(few, "{s0}", {70, 37, 4, 32, "f32", ""}, false, lanes);
  add(two, "{s0}x{s1}", {33, 20, 8, 16, "f16", "f16"}, true, lanes);
  add(two, "{s0}x3x{s1}", {33, 20, 2, 16, "f32", ""}, false, lanes);
  add(one, "{s0}", {33, 20, 4, 16, "f32", ""}, false, 0);
  add(one, "{s0}", {70, 37, 4, 32, "f32", "ui8", true}, true, lanes);
  add(two, "{s0}x{s1}", {33, 20, 4, 16, "f16", "", true}, false, lanes);
  add(one, "{s0}", {33, 20, 4, 16, "f32", "", true}, false, 0);
  checkRanged(cases);
}

TEST_CASE("a word of packed blocks has one column's elements, zeros beyond the last", "[dataflow][blocks]") {
  // Two blocks of 16 elements of 4 bits, three columns in panels of two: element k of column n is (k + n) % 16.
  emit::BlockPanels panels{4, 16, 3, 32, 2, 4, emit::BlockZeros::Bytes};
  std::string weights, zeros;
  std::vector<float> scales;
  for (int n = 0; n < 3; ++n) {
    for (int k = 0; k < 32; k += 2)
      weights.push_back(static_cast<char>((k + n) % 16 | (k + 1 + n) % 16 << 4));
    zeros.push_back(static_cast<char>(n | (n + 5) << 4));
    scales.push_back(static_cast<float>(n));
    scales.push_back(static_cast<float>(n) + 0.5F);
  }
  REQUIRE(panels.blockBytes() == 2 * 4 + 2 + 2 * 8);
  REQUIRE(panels.bytes() == 2 * 2 * panels.blockBytes());
  std::string packed(panels.bytes(), '?');
  emit::packBlockPanels(
      panels, weights.data(), reinterpret_cast<const char *>(scales.data()), zeros.data(),
      [](int64_t, int64_t) { return 0.0F; }, packed.data());
  for (int64_t n = 0; n < 4; ++n)
    for (int64_t b = 0; b < 2; ++b) {
      INFO("column " << n << ", block " << b);
      const char *block = packed.data() + n / 2 * panels.panelBytes() + b * panels.blockBytes();
      float scale;
      std::memcpy(&scale, block + n % 2 * 4, 4);
      CHECK(scale == (n < 3 ? static_cast<float>(n) + 0.5F * static_cast<float>(b) : 0));
      CHECK(block[panels.zerosAt() + n % 2] == (n < 3 ? n + 5 * b : 0));
      for (int64_t w = 0; w < 2; ++w) {
        uint32_t word;
        std::memcpy(&word, block + panels.wordsAt() + (w * 2 + n % 2) * 4, 4);
        for (int64_t i = 0; i < 8; ++i)
          CHECK((word >> (4 * i) & 15) == (n < 3 ? (16 * b + 8 * w + i + n) % 16 : 0));
      }
    }
}
