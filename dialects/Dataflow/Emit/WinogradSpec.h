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

/// The polynomials of F(4, 3) are evaluated at 0, +-near, +-far and infinity. These fractions have the least error
/// (winogradErrorBound) of all pairs of multiples of 1/16, and all entries of A and B are exact in f32. The usual
/// points 1 and 2 have four times that error.
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
  int64_t outputs = 4; ///< The outputs along each side of a tile: 2 or 4.
  int64_t depth = 1;   ///< The input channels that are transformed and multiplied at a time.
  int64_t panel = 1;   ///< The output channels that are together in memory: convOutputBlock.

  int64_t extent() const { return outputs + 2; }
  int64_t points() const { return extent() * extent(); }
  int64_t tileRows() const { return (image.outH + outputs - 1) / outputs; }
  int64_t tileColumns() const { return (image.outW + outputs - 1) / outputs; }
  int64_t tiles() const { return image.batch * tileRows() * tileColumns(); }
  int64_t depthBlocks() const { return (image.inC + depth - 1) / depth; }
  int64_t panels() const { return (image.outC + panel - 1) / panel; }
};

/// How the work is cut. A work item is `tiles` tiles by `panels` panels; blocks of tiles are innermost.
struct WinogradBlocking {
  int64_t tiles = 1, blocks = 1; ///< The consecutive tiles of a block, and the number of blocks.
  int64_t panels = 1, groups = 1;
};

/// The most bytes of stack that a work item uses.
inline constexpr int64_t kWinogradScratchBytes = 512 << 10;

/// Whether Winograd's algorithm can compute the convolution.
bool allowsWinograd(const ConvSpec &spec);
/// Describes the algorithm with the depth and the panels that suit the target.
WinogradSpec describeWinograd(const ConvSpec &spec, int64_t outputs, const VectorTarget &target);
WinogradBlocking chooseBlocking(const WinogradSpec &spec, const VectorTarget &target);
int64_t parallelExtent(const WinogradSpec &spec, const VectorTarget &target);
/// The distances between two points in the scratch of a work item, in elements. They spread rows over the sets of the
/// cache.
int64_t winogradInputStride(const WinogradSpec &spec, const WinogradBlocking &blocking);
int64_t winogradSumStride(const WinogradSpec &spec, const WinogradBlocking &blocking);
int64_t winogradScratchBytes(const WinogradSpec &spec, const WinogradBlocking &blocking);

/// The number of elements of packed weights, [C/depth][M/panel][points][depth][panel], padded with zeros.
int64_t packedWinogradWeightsSize(const WinogradSpec &spec);
/// Packs G g G^T of ONNX weights g, [M][C][3][3], computed in f64 and rounded once.
void packWinogradWeights(const WinogradSpec &spec, const float *weights, float *packed);

/// Six standard deviations of an output's rounding error, relative to the root mean square of the outputs, at the worst
/// position of a tile. Assumes independent inputs and weights of mean 0, and independent roundings
/// (docs/rationale/winograd.md).
double winogradErrorBound(const WinogradSpec &spec);

/// Estimates of the work of one execution on one core, in vector operations, to compare the algorithms.
double directWork(const ConvSpec &spec, const VectorTarget &target);
double winogradWork(const WinogradSpec &spec, const VectorTarget &target);

/// Chooses the algorithm of least work whose error bound is at most `tolerance`. Returns nothing if that is direct
/// convolution. With `isWanted`, chooses Winograd's algorithm whenever the bound allows it.
std::optional<WinogradSpec> chooseWinograd(const ConvSpec &spec, const VectorTarget &target, double tolerance,
                                           bool isWanted);

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_WINOGRADSPEC_H
