//===- ContractionTest.cpp - Matmul and convolution kernels ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ContractionHarness.h"
#include "sluice/Support/Rng.h"
#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::emit;
using namespace sluice::test;

namespace {

MatmulSpec matmulOf(int64_t m, int64_t n, int64_t k, bool packed) {
  MatmulSpec spec;
  spec.m = m;
  spec.n = n;
  spec.k = k;
  spec.lda = k;
  spec.ldb = n;
  spec.packedB = packed;
  return spec;
}

MatmulSpec matmulOf(int64_t m, int64_t n, int64_t k, bool packed, bool transposeA, bool transposeB) {
  MatmulSpec spec = matmulOf(m, n, k, packed);
  spec.transposeA = transposeA;
  spec.transposeB = transposeB;
  // Rows longer than they need be, as in a slice of a larger matrix.
  spec.lda = (transposeA ? m : k) + 3;
  spec.ldb = (transposeB ? k : n) + 5;
  return spec;
}

ConvSpec convOf(int64_t inC, int64_t outC, int64_t size, int64_t kernel, int64_t stride, int64_t pad,
                int64_t dilation = 1, int64_t groups = 1) {
  ConvSpec spec;
  spec.inC = inC;
  spec.outC = outC;
  spec.inH = spec.inW = size;
  spec.kernelH = spec.kernelW = kernel;
  spec.strideH = spec.strideW = stride;
  spec.padTop = spec.padLeft = pad;
  spec.dilationH = spec.dilationW = dilation;
  spec.groups = groups;
  spec.outH = spec.outW = (size + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  return spec;
}

} // namespace

TEST_CASE("matmul with packed B equals the reference", "[emit]") {
  const VectorTarget &target = GENERATE(as<VectorTarget>{}, avx512, avx2, sse2);
  CAPTURE(target.lanesF32);
  for (auto [m, n, k] : {std::tuple{1, 1, 1},
                         {1, 100, 33},
                         {2, 16, 64},
                         {3, 40, 17},
                         {13, 33, 5},
                         {49, 24, 96},
                         {120, 64, 100},
                         {100, 70, 31}})
    for (SinkStyle style : {SinkStyle::Inline, SinkStyle::Looped}) {
      MatmulSpec spec = matmulOf(m, n, k, true);
      spec.sinkStyle = style;
      CAPTURE(m, n, k);
      checkMatmul<float>(spec, target);
    }
}

TEST_CASE("matmul of activations equals the reference", "[emit]") {
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true})
      for (auto [m, n, k] : {std::tuple{1, 50, 40}, {37, 29, 23}, {64, 77, 64}, {7, 3, 5}}) {
        CAPTURE(m, n, k, transposeA, transposeB);
        checkMatmul<float>(matmulOf(m, n, k, false, transposeA, transposeB), avx512);
      }
  checkMatmul<float>(matmulOf(30, 37, 19, false, false, true), sse2);
}

TEST_CASE("matmul cut along k keeps partial sums", "[emit]") {
  // A small L2 forces several depth blocks; 1021 does not divide by any unrolling.
  VectorTarget target{16, 32, 1 << 15};
  for (int64_t k : {1024, 1021}) {
    MatmulSpec packed = matmulOf(70, 45, k, true);
    REQUIRE(chooseBlocking(packed, target).depthBlocks > 1);
    checkMatmul<float>(packed, target);
    MatmulSpec plain = matmulOf(50, 40, k, false, false, true);
    REQUIRE(chooseBlocking(plain, target).depthBlocks > 1);
    checkMatmul<float>(plain, target);
  }
}

TEST_CASE("matmul by tuned tiles equals the reference", "[emit]") {
  const VectorTarget &target = GENERATE(as<VectorTarget>{}, avx512, avx2);
  for (const KernelTuning &tuning :
       {KernelTuning{.rows = 1}, KernelTuning{.rows = 5, .vectors = 3},
        KernelTuning{.rows = 3, .vectors = 4, .rowBlock = 7}, KernelTuning{.vectors = 1, .depthBlock = 32},
        KernelTuning{.rows = 32, .rowBlock = 4096, .depthBlock = 4096}})
    for (auto [m, n, k] : {std::tuple{1, 10, 64}, {13, 33, 5}, {49, 24, 96}, {70, 100, 131}})
      for (bool packed : {true, false}) {
        MatmulSpec spec = matmulOf(m, n, k, packed);
        spec.tuning = tuning;
        CAPTURE(m, n, k, packed, tuning.rows, tuning.vectors, tuning.rowBlock, tuning.depthBlock);
        checkMatmul<float>(spec, target);
      }
}

TEST_CASE("a tuned tile is as it was asked for, within what there is", "[emit]") {
  KernelTuning tuning{.rows = 20, .vectors = 3};
  const RegisterTile whole = chooseTile(100, 100, 32, avx512, tuning);
  CHECK(whole.rows == 20);
  CHECK(whole.vectors == 3);
  const RegisterTile small = chooseTile(7, 20, 32, avx512, tuning);
  CHECK(small.rows == 7);
  CHECK(small.vectors == 2);
  MatmulSpec spec = matmulOf(100, 100, 300, true);
  spec.tuning = {.rows = 5, .rowBlock = 12, .depthBlock = 100};
  const MatmulBlocking blocking = chooseBlocking(spec, avx512);
  CHECK(blocking.rowBlock == 15);
  CHECK(blocking.depthBlock == 100);
}

TEST_CASE("tuned blocks keep within the stack", "[emit]") {
  for (const VectorTarget &target : {avx512, avx2})
    for (int64_t bits : {32, 64})
      for (bool packed : {true, false}) {
        MatmulSpec spec = matmulOf(100'000, 1000, 100'000, packed);
        spec.elementBits = bits;
        spec.tuning = {.rows = 32, .vectors = 4, .rowBlock = 4096, .depthBlock = 4096};
        const MatmulBlocking blocking = chooseBlocking(spec, target);
        const int64_t lineBytes = blocking.tile.block() * bits / 8;
        CAPTURE(target.lanesF32, bits, packed);
        CHECK(blocking.tile.vectors == 4);
        CHECK(blocking.rowBlock * lineBytes <= (256 << 10) + 32 * lineBytes);
        if (packed) // Panels are read where they lie.
          CHECK(blocking.depthBlock > 3900);
        else
          CHECK(blocking.depthBlock * lineBytes <= 256 << 10);
      }
  // The taps of shift_add are as large as their scratch allows, whatever the tuning says.
  ConvSpec conv = convOf(32, 3, 540, 9, 1, 4);
  const int64_t rows = convRowBlock(ShiftAddSpec{conv}.taps());
  conv.tuning.rowBlock = 4096;
  CHECK(convRowBlock(ShiftAddSpec{conv}.taps()) == rows);
  CHECK(prefersShiftAdd(conv, avx512));
}

TEST_CASE("long sums are cut, so that their error stays small", "[emit]") {
  const VectorTarget &target = GENERATE(as<VectorTarget>{}, avx512, avx2);
  CAPTURE(target.lanesF32);
  constexpr int64_t sumLength = 128;
  for (int64_t k : {4096, 4098}) {
    // Depth blocks are cut too, and few outputs, which take turns with partial sums.
    checkLongMatmul(matmulOf(20, 40, k, true), target, sumLength);
    checkLongMatmul(matmulOf(20, 40, k, false), target, sumLength);
    checkLongMatmul(matmulOf(1, 10, k, true), target, sumLength);
  }
  checkLongConv(convOf(1024, 40, 4, 2, 1, 0), target, sumLength);
}

TEST_CASE("matmul in double precision", "[emit]") {
  for (bool packed : {false, true}) {
    MatmulSpec spec = matmulOf(29, 35, 50, packed);
    spec.elementBits = 64;
    checkMatmul<double>(spec, avx512);
  }
}

TEST_CASE("convolution by tuned tiles equals the reference", "[emit]") {
  const VectorTarget &target = GENERATE(as<VectorTarget>{}, avx512, avx2);
  ConvSpec grouped = convOf(32, 32, 12, 3, 1, 1);
  grouped.groups = 8;
  ConvSpec depthwise = convOf(24, 24, 12, 3, 1, 1);
  depthwise.groups = 24;
  for (const KernelTuning &tuning : {KernelTuning{.rows = 1}, KernelTuning{.rows = 5, .vectors = 3},
                                     KernelTuning{.rows = 32, .vectors = 4, .rowBlock = 1},
                                     KernelTuning{.vectors = 1, .rowBlock = 4096, .depthBlock = 32}})
    for (ConvSpec spec :
         {convOf(3, 64, 23, 7, 2, 3), convOf(16, 50, 14, 3, 1, 1), convOf(20, 70, 14, 1, 1, 0), grouped, depthwise}) {
      spec.tuning = tuning;
      CAPTURE(describe(spec), tuning.rows, tuning.vectors, tuning.rowBlock);
      checkConv(spec, target);
    }
}

TEST_CASE("convolution equals the reference", "[emit]") {
  const VectorTarget &target = GENERATE(as<VectorTarget>{}, avx512, avx2);
  CAPTURE(target.lanesF32);
  auto check = [&](ConvSpec spec) {
    CAPTURE(describe(spec));
    checkConv(spec, target);
  };
  check(convOf(3, 64, 23, 7, 2, 3));
  check(convOf(16, 32, 14, 3, 1, 1));
  check(convOf(5, 33, 29, 3, 1, 1));
  check(convOf(8, 48, 30, 3, 2, 1));
  check(convOf(7, 7, 9, 3, 1, 4));        // more padding than kernel
  check(convOf(4, 16, 26, 3, 1, 2, 2));   // dilation
  check(convOf(6, 20, 40, 3, 1, 12, 12)); // dilation as wide as a tile
  check(convOf(12, 40, 8, 1, 2, 0));
  check(convOf(24, 36, 7, 1, 1, 0)); // as a matrix product
  check(convOf(16, 32, 12, 3, 1, 1, 1, 4));
  check(convOf(8, 24, 10, 5, 2, 2, 1, 8)); // depth multiplier
  check(convOf(2, 3, 37, 11, 1, 5));
  // Cropped on the left, and so many border steps on the right that its columns go one at a time.
  for (int64_t channels : {4, 8}) {
    ConvSpec cropped = convOf(4, channels, 40, 21, 1, 0, 1, channels == 4 ? 4 : 1);
    cropped.padLeft = -2;
    cropped.outW = 48;
    check(cropped);
  }
}

TEST_CASE("a column of pixels is convolved as a row", "[emit]") {
  const VectorTarget &target = GENERATE(as<VectorTarget>{}, avx512, avx2);
  CAPTURE(target.lanesF32);
  auto check = [&](ConvSpec spec) {
    spec.batch = 2;
    spec.inW = spec.outW = spec.kernelW = 1;
    spec.padLeft = 0;
    CAPTURE(describe(spec));
    CHECK(turnColumn(spec).outW == spec.outH);
    checkConv(spec, target);
  };
  check(convOf(24, 40, 65, 5, 1, 0));
  check(convOf(3, 17, 50, 7, 2, 3, 2));
  check(convOf(16, 16, 33, 3, 1, 1, 1, 16)); // depthwise
  check(convOf(16, 32, 21, 3, 1, 1, 1, 4));
  // Padding beside the column leaves it an image.
  ConvSpec image = convOf(4, 8, 9, 3, 1, 1);
  image.inW = 1;
  image.outW = 1;
  CHECK(!turnColumn(image).isTurned);
}

TEST_CASE("small groups share vectors", "[emit]") {
  for (auto [channels, target] : {std::pair{4, avx512}, {8, avx512}, {2, avx512}, {4, avx2}, {2, sse2}}) {
    ConvSpec spec = convOf(32, 32, 17, 3, 1, 1, 1, 32 / channels);
    CAPTURE(channels, target.lanesF32);
    REQUIRE(convGroupsTogether(spec, target) == target.lanesF32 / channels);
    checkConv(spec, target);
    spec = convOf(32, 32, 19, 3, 2, 2, 2, 32 / channels);
    spec.sinkStyle = SinkStyle::Looped;
    checkConv(spec, target);
  }
  CHECK(convGroupsTogether(convOf(12, 12, 8, 3, 1, 1, 1, 3), avx512) == 1);
  CHECK(convGroupsTogether(convOf(32, 64, 8, 3, 1, 1, 1, 8), avx512) == 1);
}

TEST_CASE("long kernels clip their taps column by column", "[emit]") {
  ConvSpec spec = convOf(4, 16, 70, 1, 1, 0);
  spec.inH = spec.outH = 1;
  spec.kernelW = 64;
  spec.padLeft = 32;
  spec.outW = 71;
  REQUIRE(parallelExtent(spec, avx512) == 1);
  checkConv(spec, avx512);
  spec.groups = spec.inC = spec.outC = 20;
  checkConv(spec, avx512);
}

TEST_CASE("depthwise convolution equals the reference", "[emit]") {
  const VectorTarget &target = GENERATE(as<VectorTarget>{}, avx512, sse2);
  CAPTURE(target.lanesF32);
  for (ConvSpec spec :
       {convOf(32, 32, 20, 3, 1, 1, 1, 32), convOf(27, 27, 13, 3, 2, 1, 1, 27), convOf(6, 6, 17, 5, 1, 2, 1, 6),
        convOf(16, 16, 15, 3, 1, 2, 2, 16), convOf(48, 48, 31, 9, 1, 4, 1, 48)})
    for (SinkStyle style : {SinkStyle::Inline, SinkStyle::Looped}) {
      spec.sinkStyle = style;
      CAPTURE(describe(spec));
      checkConv(spec, target);
    }
}

TEST_CASE("convolutions of random shapes equal the reference", "[emit]") {
  Rng rng(20);
  auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng.below(static_cast<uint64_t>(high - low + 1)));
  };
  for (int trial = 0; trial < 30; ++trial) {
    ConvSpec spec;
    spec.batch = pick(1, 2);
    spec.groups = pick(0, 2) ? 1 : pick(2, 5);
    spec.inC = spec.groups * pick(1, 9);
    spec.outC = spec.groups * pick(1, 40);
    spec.inH = pick(1, 12);
    spec.inW = pick(1, 40);
    spec.kernelH = pick(1, 4);
    spec.kernelW = pick(1, 5);
    spec.strideH = pick(1, 3);
    spec.strideW = pick(1, 3);
    spec.dilationH = pick(1, 2);
    spec.dilationW = pick(1, 3);
    spec.padTop = pick(0, 3);
    spec.padLeft = pick(0, 4);
    // Bottom and right padding differ from the top's and left's.
    int64_t spanH = spec.inH + spec.padTop + pick(0, 3) - (spec.kernelH - 1) * spec.dilationH - 1;
    int64_t spanW = spec.inW + spec.padLeft + pick(0, 4) - (spec.kernelW - 1) * spec.dilationW - 1;
    if (spanH < 0 || spanW < 0)
      continue;
    spec.outH = spanH / spec.strideH + 1;
    spec.outW = spanW / spec.strideW + 1;
    spec.sinkStyle = trial % 2 ? SinkStyle::Inline : SinkStyle::Looped;
    VectorTarget target = trial % 3 == 0 ? sse2 : trial % 3 == 1 ? avx2 : avx512;
    CAPTURE(describe(spec), target.lanesF32);
    checkConv(spec, target);
  }
}

TEST_CASE("half precision operands are widened and load hooks are called", "[emit]") {
  MatmulSpec spec = matmulOf(9, 20, 30, true);
  checkMatmulF16Weights(spec, avx512);
}

TEST_CASE("a large batch splits into many work items of whole weight blocks", "[emit]") {
  ConvSpec spec = convOf(64, 64, 56, 3, 1, 1);
  CHECK(convOutputBlock(spec, avx512) == 32);
  CHECK(convOutputBlock(spec, avx2) == 16);
  CHECK(parallelExtent(spec, avx512) == 2 * 28);
  CHECK(packedConvWeightsSize(spec, avx512) == 9 * 64 * 64);
  CHECK(convOutputBlock(convOf(4, 4, 8, 3, 1, 1), avx512) == 4);
  CHECK(packedMatmulBSize(matmulOf(1, 33, 10, true), avx512) == 640);
}

TEST_CASE("convolutions to few channels equal the reference", "[emit]") {
  const VectorTarget &target = GENERATE(as<VectorTarget>{}, avx512, avx2, sse2);
  CAPTURE(target.lanesF32);
  ConvSpec dilated = convOf(5, 3, 37, 3, 1, 2, 3);
  dilated.padLeft = 7; // More than a kernel reaches.
  for (ConvSpec spec : {convOf(32, 3, 40, 9, 1, 4), convOf(7, 1, 21, 5, 1, 0), convOf(3, 5, 130, 2, 1, 1), dilated})
    for (SinkStyle style : {SinkStyle::Inline, SinkStyle::Looped}) {
      spec.sinkStyle = style;
      CAPTURE(describe(spec));
      checkShiftAdd(spec, target);
    }
}

TEST_CASE("the taps of a row are channels where that fills the vectors", "[emit]") {
  CHECK(prefersShiftAdd(convOf(32, 3, 540, 9, 1, 4), avx512));
  CHECK(prefersShiftAdd(convOf(64, 3, 128, 3, 1, 1), avx512));
  CHECK_FALSE(prefersShiftAdd(convOf(32, 16, 540, 9, 1, 4), avx512));  // Full vectors already.
  CHECK_FALSE(prefersShiftAdd(convOf(32, 3, 540, 9, 2, 4), avx512));   // A stride would compute sums nobody reads.
  CHECK_FALSE(prefersShiftAdd(convOf(1, 3, 128, 3, 1, 1), avx512));    // Adding costs more than the products.
  CHECK_FALSE(prefersShiftAdd(convOf(32, 3, 40000, 9, 1, 4), avx512)); // Too much scratch.
  // No extent overflows the estimates.
  ConvSpec huge = convOf(1 << 30, 3, 540, 9, 1, 4);
  huge.kernelH = huge.kernelW = huge.dilationW = int64_t(1) << 31;
  huge.outW = int64_t(1) << 40;
  CHECK_FALSE(prefersShiftAdd(huge, avx512));
}
