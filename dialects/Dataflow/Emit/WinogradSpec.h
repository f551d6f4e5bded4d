//===- WinogradSpec.h - Convolutions by transformed tiles -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Winograd's minimal filtering F(m x m, 3 x 3), m = 2 or 4, after Lavin and
// Gray, "Fast Algorithms for Convolutional Neural Networks" (CVPR 2016): a tile
// of m x m outputs is A^T [(G g G^T) . (B^T d B)] A, where d is the tile of
// (m + 2) x (m + 2) inputs, g the filter, and . multiplies (m + 2)^2 points one
// by one. Over many tiles and channels each point is a matrix product. Plain
// C++.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_WINOGRADSPEC_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_WINOGRADSPEC_H

#include "dialects/Dataflow/Emit/ContractionSpec.h"
#include "dialects/Dataflow/IR/WinogradLimits.h"
#include <array>
#include <optional>

namespace sluice::emit {

/// Where the polynomials of F(4, 3) are evaluated: 0, +-near, +-far and infinity. These fractions have the least error
/// (winogradErrorBound) of all pairs of multiples of 1/16; every entry of A and B is exact in f32. The usual 1 and 2
/// have four times their error.
inline constexpr double kNearPoint = 11.0 / 16, kFarPoint = 23.0 / 16;

/// The rows of B^T, of G and the columns of A^T that belong to one point of F(m, 3), m + 2 points in all.
struct WinogradPoint {
  std::array<double, 6> input;  ///< m + 2 entries.
  std::array<double, 3> filter; ///< 3 entries.
  std::array<double, 4> output; ///< m entries.
};
WinogradPoint winogradPoint(int64_t outputs, int64_t point);

/// A 3x3 convolution of stride 1 in f32, dilation 1 and one group, by F(outputs x outputs, 3 x 3).
struct WinogradSpec {
  ConvSpec image;
  int64_t outputs = 4; ///< Along each side of a tile: 2 or 4.
  int64_t depth = 1;   ///< Input channels that are transformed and multiplied at a time.
  int64_t panel = 1;   ///< Output channels that lie together in memory: convOutputBlock.

  int64_t extent() const { return outputs + 2; }
  int64_t points() const { return extent() * extent(); }
  int64_t tileRows() const { return (image.outH + outputs - 1) / outputs; }
  int64_t tileColumns() const { return (image.outW + outputs - 1) / outputs; }
  int64_t tiles() const { return image.batch * tileRows() * tileColumns(); }
  int64_t depthBlocks() const { return (image.inC + depth - 1) / depth; }
  int64_t panels() const { return (image.outC + panel - 1) / panel; }
};

/// How the tiles are cut. A work item is `tiles` tiles by `panels` panels; blocks of tiles are innermost.
struct WinogradBlocking {
  int64_t tiles = 1, blocks = 1; ///< Tiles of a block, which are consecutive; blocks.
  int64_t panels = 1, groups = 1;
};

/// Bytes of stack that a work item uses at most.
inline constexpr int64_t kWinogradScratchBytes = 512 << 10;

/// Whether the convolution is one that these algorithms compute.
bool allowsWinograd(const ConvSpec &spec);
/// With the depth and the panels that suit the target.
WinogradSpec describeWinograd(const ConvSpec &spec, int64_t outputs, const VectorTarget &target);
WinogradBlocking chooseBlocking(const WinogradSpec &spec, const VectorTarget &target);
int64_t parallelExtent(const WinogradSpec &spec, const VectorTarget &target);
/// Elements of scratch of a work item, each between two points: rows are spread over the cache's sets.
int64_t winogradInputStride(const WinogradSpec &spec, const WinogradBlocking &blocking);
int64_t winogradSumStride(const WinogradSpec &spec, const WinogradBlocking &blocking);
int64_t winogradScratchBytes(const WinogradSpec &spec, const WinogradBlocking &blocking);

/// Elements of packed weights, which lie as [C/depth][M/panel][points][depth][panel], zero padded.
int64_t packedWinogradWeightsSize(const WinogradSpec &spec);
/// ONNX weights [M][C][3][3] -> G g G^T, computed in f64 and rounded once.
void packWinogradWeights(const WinogradSpec &spec, const float *weights, float *packed);

/// Six standard deviations of an output's rounding error, in units of the outputs' root mean square, at the worst
/// position of a tile: for inputs and weights that are independent and of mean 0, and roundings that are independent
/// (docs/rationale/winograd.md).
double winogradErrorBound(const WinogradSpec &spec);

/// Estimates of one execution on one core, in vector operations: for comparing the algorithms.
double directWork(const ConvSpec &spec, const VectorTarget &target);
double winogradWork(const WinogradSpec &spec, const VectorTarget &target);

/// How to compute a convolution: the least work of those whose error bound is `tolerance` at most. Nothing where that
/// is direct convolution; with `isWanted` Winograd's algorithm wherever the bound allows it.
std::optional<WinogradSpec> chooseWinograd(const ConvSpec &spec, const VectorTarget &target, double tolerance,
                                           bool isWanted);

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_WINOGRADSPEC_H
