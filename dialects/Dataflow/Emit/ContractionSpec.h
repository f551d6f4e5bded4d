//===- ContractionSpec.h - Shapes and blocking of contractions --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the emitters, the weight packers and the runtime's parallel-for must
// agree on: shapes, the blocking chosen for a target, and the number of work
// items. Plain C++.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONSPEC_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONSPEC_H

#include "dialects/Dataflow/IR/IntegerPanels.h"
#include "sluice/Support/KernelTuning.h"
#include <cstdint>

namespace sluice::emit {

/// The instructions that products of bytes become. Forms that an instruction set lacks are never chosen for it.
enum class ByteInstructions : uint8_t {
  X86,       ///< pmaddwd, vpdpbusd, AMX.
  Neon,      ///< AArch64: smlal; sdot, of signed bytes only, with a correction of unsigned ones.
  NeonMixed, ///< AArch64 with i8mm: usdot as well.
  Portable,  ///< LLVM's own multiplications; no quads.
};

/// The vector unit code is emitted for: 16 lanes and 32 registers for AVX-512, 8 and 16 for AVX2, 4 and 16 for SSE2, 4
/// and 32 for NEON.
struct VectorTarget {
  int64_t lanesF32 = 16;
  int64_t registers = 32;
  int64_t l2Bytes = 1 << 20;
  /// The best instructions for products of bytes, and of bf16 numbers; it has those of the forms before them too.
  IntegerDot byteProducts = IntegerDot::Tiles, halfProducts = IntegerDot::Tiles;
  ByteInstructions bytes = ByteInstructions::X86;
};

/// A register tile: `rows` x `vectors` accumulators of `lanes` elements.
struct RegisterTile {
  int64_t rows = 1;
  int64_t vectors = 1;
  int64_t lanes = 1;
  int64_t block() const { return vectors * lanes; }
};

/// The tile for `rows` x `columns` outputs of elements of `elementBits`. Rows are spread evenly over the tiles, so the
/// last one is seldom much smaller. A tuning's rows and vectors are taken as they are, up to those that there are.
RegisterTile chooseTile(int64_t rows, int64_t columns, int64_t elementBits, const VectorTarget &target,
                        const KernelTuning &tuning = {});

/// How the sink is used. The answer changes speed, never results.
enum class SinkStyle : uint8_t {
  Inline, ///< Copied for every accumulator of a tile: for a store, or a few operations.
  Looped, ///< Emitted once or twice and called in a loop over a scratch tile: for long epilogues.
};

/// One matrix product; batches are the caller's loop. Strides are in elements.
struct MatmulSpec {
  int64_t m = 1, n = 1, k = 1;
  int64_t lda = 0; ///< Between rows of A as stored: [m][k], or [k][m] when transposed.
  int64_t ldb = 0; ///< Between rows of B as stored: [k][n], or [n][k] when transposed. Unused when packed.
  bool transposeA = false;
  bool transposeB = false;  ///< Only when not packed.
  bool packedB = false;     ///< B is [ceil(n/block)][k][block], zero padded: see packMatmulB.
  int64_t elementBits = 32; ///< Of the accumulator: 32, or 64 for f64.
  int64_t depthStep = 4;    ///< Depth blocks begin at multiples of it, and copied panels have room for a multiple.
  SinkStyle sinkStyle = SinkStyle::Inline;
  KernelTuning tuning = {};
};

/// How a matrix product is cut. A work item is rowBlock rows by one column panel, panels innermost.
struct MatmulBlocking {
  RegisterTile tile;
  int64_t rowBlock = 1;
  int64_t depthBlock = 1; ///< Of k; below k, partial sums rest in the scratch tile.
  int64_t rowBlocks = 1, panels = 1, depthBlocks = 1;
};
MatmulBlocking chooseBlocking(const MatmulSpec &spec, const VectorTarget &target);

/// Work items, to split among threads at will.
int64_t parallelExtent(const MatmulSpec &spec, const VectorTarget &target);
/// Columns of a packed panel.
int64_t matmulPanel(const MatmulSpec &spec, const VectorTarget &target);
/// Elements of packed B.
int64_t packedMatmulBSize(const MatmulSpec &spec, const VectorTarget &target);

/// A 2-D convolution over NHWC activations; bottom and right padding follow from the output size. One spatial dimension
/// is the same with height 1.
struct ConvSpec {
  int64_t batch = 1;
  int64_t inH = 1, inW = 1, inC = 1;
  int64_t outH = 1, outW = 1, outC = 1;
  int64_t kernelH = 1, kernelW = 1;
  int64_t strideH = 1, strideW = 1;
  int64_t padTop = 0, padLeft = 0;
  int64_t dilationH = 1, dilationW = 1;
  int64_t groups = 1;
  SinkStyle sinkStyle = SinkStyle::Inline;
  bool isTurned = false; ///< Height and width are exchanged: see turnColumn.
  KernelTuning tuning = {};

  int64_t groupInC() const { return inC / groups; }
  int64_t groupOutC() const { return outC / groups; }
};

/// An image of width 1 lies in memory as one of height 1 does, and so do its weights. Register tiles extend along the
/// width: a column of pixels becomes a row, and sinks are still told the image's own indices. Other images stay.
ConvSpec turnColumn(const ConvSpec &spec);

/// One input and one output channel a group: has its own emitter and weight layout.
bool isDepthwise(const ConvSpec &spec);
/// A matrix product over all pixels of the batch.
bool isPointwise(const ConvSpec &spec);
MatmulSpec pointwiseMatmul(const ConvSpec &spec);

/// A convolution with fewer output channels than a vector has lanes, whose taps along the width become channels: for
/// each tap of a kernel's row and each output channel one sum over the rows and input channels, at every column where
/// some window begins, and then the sums of a window's taps, each from its own column. After Vasudevan, Anderson and
/// Gregg, "Parallel Multi Channel Convolution using General Matrix Multiplication" (ASAP 2017), who do the same for
/// both dimensions. For stride 1 along the width and one group.
struct ShiftAddSpec {
  ConvSpec image;

  /// The convolution of the first sums: kernelW times as many channels [kernelW][outC], a kernel of width 1.
  ConvSpec taps() const;
};
/// Elements of scratch between the taps of two columns: whole vectors.
int64_t shiftAddPitch(const ShiftAddSpec &spec, const VectorTarget &target);
/// Whether a convolution takes less time in this way, and its scratch fits the stack.
bool prefersShiftAdd(const ConvSpec &spec, const VectorTarget &target);
/// Work items: batch x row blocks of the taps' convolution.
int64_t parallelExtent(const ShiftAddSpec &spec, const VectorTarget &target);

/// Output channels of a weight block: vectors of a register tile. Channels of a group are padded up to it with zeros.
int64_t convOutputBlock(const ConvSpec &spec, const VectorTarget &target);
/// Groups whose channels fill one vector together: more than 1 where each has as many outputs as inputs, a power of two
/// of them below the lanes.
int64_t convGroupsTogether(const ConvSpec &spec, const VectorTarget &target);
/// Output rows of a work item: enough pixels to reuse a block of weights from the cache.
int64_t convRowBlock(const ConvSpec &spec);
/// Groups (those that go together count once) x channel blocks: work items of a block of rows.
int64_t convChannelItems(const ConvSpec &spec, const VectorTarget &target);
/// Work items: batch x row blocks x channel items, channels innermost.
int64_t parallelExtent(const ConvSpec &spec, const VectorTarget &target);
/// Elements of packed weights.
int64_t packedConvWeightsSize(const ConvSpec &spec, const VectorTarget &target);

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONSPEC_H
