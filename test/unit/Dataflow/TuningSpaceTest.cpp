//===- TuningSpaceTest.cpp - Operators that can be tuned ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Models.h"
#include "passes/Tuning.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

using namespace sluice;

namespace {

const emit::VectorTarget avx512{16, 32, 1 << 20};

constexpr const char *kProgram = R"(
func.func @main(%x: tensor<64x256xf32>, %y: tensor<64x256xf32>, %r: tensor<256x100xf32>, %i: tensor<1x64x56x56xf32>,
                %d: tensor<1x32x8x8xf32>)
    -> (tensor<64x100xf32>, tensor<64x100xf32>, tensor<64x100xf32>, tensor<1x64x56x56xf32>, tensor<1x32x8x8xf32>) {
  %w = dataflow.constant dense<1.0> : tensor<256x100xf32>
  %0 = dataflow.matmul %x, %w : tensor<64x256xf32>, tensor<256x100xf32>
  %1 = dataflow.matmul %y, %w : tensor<64x256xf32>, tensor<256x100xf32>
  %2 = dataflow.matmul %y, %r : tensor<64x256xf32>, tensor<256x100xf32>
  %f = dataflow.constant dense<1.0> : tensor<64x64x3x3xf32>
  %3 = dataflow.conv %i, %f strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  %g = dataflow.constant dense<1.0> : tensor<32x1x3x3xf32>
  %4 = dataflow.conv %d, %g strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 32 : i64} : tensor<1x32x8x8xf32>, tensor<32x1x3x3xf32> -> tensor<1x32x8x8xf32>
  return %0, %1, %2, %3, %4 : tensor<64x100xf32>, tensor<64x100xf32>, tensor<64x100xf32>, tensor<1x64x56x56xf32>, tensor<1x32x8x8xf32>
})";

std::vector<TunableKernel> kernelsOf(const char *text) {
  mlir::DialectRegistry registry;
  dataflow::registerDataflow(registry);
  registry.insert<mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  return tunableKernels(*module->getOps<mlir::func::FuncOp>().begin(), avx512);
}

} // namespace

TEST_CASE("operators that are alike are one kernel to tune", "[tuning]") {
  const std::vector<TunableKernel> kernels = kernelsOf(kProgram);
  REQUIRE(kernels.size() == 4);
  // Whether a matrix is constant decides whether it is packed.
  CHECK(kernels[0].kind == "matmul");
  CHECK(kernels[0].shape == "64x256xf32 * 256x100xf32 -> 64x100xf32");
  CHECK(kernels[0].key != kernels[1].key);
  CHECK(kernels[0].shape == kernels[1].shape);
  CHECK(kernels[0].hasDepthBlock);
  CHECK(kernels[0].chosen.rows == 13);
  CHECK(kernels[0].chosen.vectors == 2);
  CHECK(kernels[2].allowsWinograd);
  CHECK(!kernels[3].allowsWinograd);
  CHECK(!kernels[3].hasTile);
  // Names of values are no part of a key.
  const std::vector<TunableKernel> again = kernelsOf(kProgram);
  for (size_t i = 0; i < kernels.size(); ++i)
    CHECK(kernels[i].key == again[i].key);
}

TEST_CASE("a search starts from the compiler's choice, the other algorithms and tiles of each width", "[tuning]") {
  std::vector<TunableKernel> kernels = kernelsOf(kProgram);
  // Of 64 rows 5 tiles of 14 are 5 of 13, 7 of 10 as many.
  CHECK(tuningStarts(kernels[0], avx512) == std::vector<KernelTuning>{{},
                                                                      {.rows = 14, .vectors = 1},
                                                                      {.vectors = 1},
                                                                      {.rows = 14},
                                                                      {.rows = 9, .vectors = 3},
                                                                      {.rows = 8, .vectors = 3},
                                                                      {.rows = 6, .vectors = 4}});
  // Of a depthwise convolution the compiler's alone.
  CHECK(tuningStarts(kernels[3], avx512) == std::vector<KernelTuning>{{}});
  kernels[2].chosen.algorithm = TunedAlgorithm::Winograd4;
  const std::vector<KernelTuning> starts = tuningStarts(kernels[2], avx512);
  CHECK(starts.front() == KernelTuning());
  CHECK(std::set<KernelTuning>(starts.begin(), starts.end()).size() == starts.size());
  auto count = [&](TunedAlgorithm algorithm) {
    return std::count_if(starts.begin(), starts.end(),
                         [&](const KernelTuning &start) { return start.algorithm == algorithm; });
  };
  CHECK(count(TunedAlgorithm::Winograd4) == 0);
  CHECK(count(TunedAlgorithm::Winograd2) == 3);
  CHECK(count(TunedAlgorithm::Any) == 3);
  CHECK(count(TunedAlgorithm::Direct) > 4);
}

TEST_CASE("a kernel by shift_add competes with direct convolution", "[tuning]") {
  std::vector<TunableKernel> kernels = kernelsOf(R"(
func.func @main(%x: tensor<1x32x540x540xf32>) -> tensor<1x3x540x540xf32> {
  %w = dataflow.constant dense<1.0> : tensor<3x32x9x9xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [4, 4, 4, 4] dilations [1, 1] : tensor<1x32x540x540xf32>, tensor<3x32x9x9xf32> -> tensor<1x3x540x540xf32>
  return %0 : tensor<1x3x540x540xf32>
})");
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].allowsShiftAdd);
  // Three columns have one width of tiles, which the compiler chooses.
  CHECK(tuningStarts(kernels[0], avx512) == std::vector<KernelTuning>{{}, {TunedAlgorithm::Direct}});
  // A block of rows is what the scratch allows: no step changes it, nor the algorithm.
  setChosenAlgorithm(kernels[0], dataflow::ConvAlgorithm::shift_add);
  const std::vector<KernelTuning> steps = tuningNeighbours(kernels[0], {}, avx512);
  CHECK(!steps.empty());
  for (const KernelTuning &step : steps) {
    CHECK(step.rowBlock == 0);
    CHECK(step.algorithm == TunedAlgorithm::Any);
  }
  setChosenAlgorithm(kernels[0], dataflow::ConvAlgorithm::winograd2);
  CHECK(kernels[0].chosen.algorithm == TunedAlgorithm::Winograd2);
  setChosenAlgorithm(kernels[0], std::nullopt);
  CHECK(kernels[0].chosen.algorithm == TunedAlgorithm::Direct);
}

TEST_CASE("steps are other tunings that the kernels allow", "[tuning]") {
  std::vector<TunableKernel> kernels = kernelsOf(kProgram);
  kernels[2].chosen.algorithm = TunedAlgorithm::Winograd4;
  for (const TunableKernel &kernel : kernels)
    for (const KernelTuning &from :
         {KernelTuning{}, KernelTuning{.rows = 1, .vectors = 1},
          KernelTuning{.rows = 4, .vectors = 4, .rowBlock = 4096},
          KernelTuning{.algorithm = TunedAlgorithm::Direct, .depthBlock = 32, .chunkNs = kMostChunkNs}}) {
      const std::vector<KernelTuning> steps = tuningNeighbours(kernel, from, avx512);
      for (const KernelTuning &step : steps) {
        CHECK(step != from);
        CHECK(step.algorithm == from.algorithm);
        for (const TuningField &field : kTuningFields) {
          CAPTURE(field.name);
          CHECK(step.*field.value >= 0);
          CHECK(step.*field.value <= field.most);
          // A field as the compiler has it is left to the compiler.
          CHECK((step.*field.value == 0 || step.*field.value != kernel.chosen.*field.value));
        }
        const int64_t rows = step.rows > 0 ? step.rows : kernel.chosen.rows;
        const int64_t vectors = step.vectors > 0 ? step.vectors : kernel.chosen.vectors;
        if (kernel.hasTile && (step.rows != from.rows || step.vectors != from.vectors))
          CHECK(rows * vectors + vectors + 1 <= avx512.registers);
      }
    }
  // A depthwise convolution has chunks alone.
  CHECK(tuningNeighbours(kernels[3], {}, avx512).empty());
  CHECK(chunkNeighbours({.rows = 7}) == std::vector<KernelTuning>{{.rows = 7, .chunkNs = 2250},
                                                                  {.rows = 7, .chunkNs = 9000},
                                                                  {.rows = 7, .chunkNs = kMostChunkNs}});
  CHECK(chunkNeighbours({.chunkNs = 9000}).front() == KernelTuning());
  CHECK(chunkNeighbours({.chunkNs = kMostChunkNs}).empty());
  // Of a product the register tiles of the next widths and heights.
  const std::vector<KernelTuning> steps = tuningNeighbours(kernels[0], {}, avx512);
  auto has = [&](const KernelTuning &tuning) { return std::find(steps.begin(), steps.end(), tuning) != steps.end(); };
  CHECK(has({.rows = 14, .vectors = 1}));
  CHECK(has({.rows = 9, .vectors = 3}));
  CHECK(has({.rows = 12}));
}

TEST_CASE("a grid has every tuning that steps could reach, but for chunks, once", "[tuning]") {
  for (const TunableKernel &kernel : kernelsOf(kProgram)) {
    const std::vector<KernelTuning> grid = tuningGrid(kernel, avx512);
    INFO(kernel.kind << " " << kernel.shape << ", " << grid.size());
    CHECK(grid.front() == KernelTuning());
    const std::set<KernelTuning> known(grid.begin(), grid.end());
    CHECK(known.size() == grid.size());
    // A step that changes a tile leads to another tile of the grid, and so does the step back.
    for (const KernelTuning &tuning : grid) {
      CHECK(tuning.chunkNs == 0);
      for (const KernelTuning &next : tuningNeighbours(kernel, tuning, avx512))
        CHECK(known.contains(next));
    }
    // Tiles of any height up to what the registers hold, for each width.
    std::set<std::pair<int64_t, int64_t>> tiles;
    for (const KernelTuning &tuning : grid)
      tiles.emplace(tuning.vectors > 0 ? tuning.vectors : kernel.chosen.vectors,
                    tuning.rows > 0 ? tuning.rows : kernel.chosen.rows);
    if (kernel.kind == "matmul")
      for (int64_t vectors = 1; vectors <= 4; ++vectors)
        for (int64_t rows = 1; rows <= std::min<int64_t>((32 - vectors - 1) / vectors, 14); ++rows)
          CHECK(tiles.contains({vectors, rows}));
  }
}
