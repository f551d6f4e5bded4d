//===- ContractionSpec.h - Shapes and blocking of contractions --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The facts that the emitters, the weight packers and the runtime's parallel-for share: shapes, the blocking chosen for
// a target, and the number of work items. Plain C++.
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
  Neon,      ///< AArch64: smlal, and sdot, which takes only signed bytes, so that unsigned ones need a correction.
  NeonMixed, ///< AArch64 with i8mm: usdot as well.
  Portable,  ///< LLVM's own multiplications; no quads.
};

/// The vector unit that code is emitted for: 16 lanes and 32 registers for AVX-512, 8 and 16 for AVX2, 4 and 16 for
/// SSE2, 4 and 32 for NEON.
struct VectorTarget {
  int64_t lanesF32 = 16;
  int64_t registers = 32;
  int64_t l2Bytes = 1 << 20;
  /// The best forms for products of bytes and of bf16 numbers. The target has the instructions of the earlier forms
  /// too.
  IntegerDot byteProducts = IntegerDot::Tiles, halfProducts = IntegerDot::Tiles;
  ByteInstructions bytes = ByteInstructions::X86;
  /// An engine compiles the code again and unrolls loops. Where a loop has several steps already, the engine orders
  /// their loads first and runs out of registers.
  bool isUnrolledLater = false;
};

/// A register tile: `rows` x `vectors` accumulators of `lanes` elements.
struct RegisterTile {
  int64_t rows = 1;
  int64_t vectors = 1;
  int64_t lanes = 1;
  int64_t block() const { return vectors * lanes; }
};

/// The tile for `rows` x `columns` outputs of elements of `elementBits`. Rows are spread evenly over the tiles, so the
/// last one is rarely much smaller. The rows and vectors of a tuning are used unchanged, up to the extents of the
/// product.
RegisterTile chooseTile(int64_t rows, int64_t columns, int64_t elementBits, const VectorTarget &target,
                        const KernelTuning &tuning = {});

/// How the code of the sink is emitted. The choice affects speed, never results.
enum class SinkStyle : uint8_t {
  Inline, ///< A copy for each accumulator of a tile, for a store or a few operations.
  Looped, ///< One or two copies, in a loop over a scratch tile, for long epilogues.
};

/// One matrix product; the caller loops over batches. Strides are in elements.
struct MatmulSpec {
  int64_t m = 1, n = 1, k = 1;
  int64_t lda = 0; ///< The stride between rows of A as stored: [m][k], or [k][m] when transposed.
  int64_t ldb = 0; ///< The stride between rows of B as stored: [k][n], or [n][k] when transposed. Unused when packed.
  bool transposeA = false;
  bool transposeB = false;  ///< Only when not packed.
  bool packedB = false;     ///< B is [ceil(n/block)][k][block], zero padded: see packMatmulB.
  int64_t elementBits = 32; ///< Bits of the accumulator: 32, or 64 for f64.
  /// Depth blocks begin at multiples of this number, and copied panels have room for a multiple.
  int64_t depthStep = 4;
  SinkStyle sinkStyle = SinkStyle::Inline;
  KernelTuning tuning = {};
};

/// How a matrix product is cut. A work item is rowBlock rows by one column panel, panels innermost.
struct MatmulBlocking {
  RegisterTile tile;
  int64_t rowBlock = 1;
  /// Elements of k in a block. If there are several blocks, partial sums are kept in the scratch tile.
  int64_t depthBlock = 1;
  int64_t rowBlocks = 1, panels = 1, depthBlocks = 1;
};
MatmulBlocking chooseBlocking(const MatmulSpec &spec, const VectorTarget &target);

/// The number of work items, which may be split among threads in any way.
int64_t parallelExtent(const MatmulSpec &spec, const VectorTarget &target);
/// The columns of a packed panel.
int64_t matmulPanel(const MatmulSpec &spec, const VectorTarget &target);
/// The number of elements of packed B.
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
  bool isTurned = false; ///< Whether height and width are exchanged: see turnColumn.
  KernelTuning tuning = {};

  int64_t groupInC() const { return inC / groups; }
  int64_t groupOutC() const { return outC / groups; }
};

/// An image of width 1, and its weights, have the same layout in memory as one of height 1. Register tiles extend along
/// the width, so this turns a column of pixels into a row. Sinks still get the image's own indices. Returns other
/// convolutions unchanged.
ConvSpec turnColumn(const ConvSpec &spec);

/// Whether each group has one input and one output channel; such convolutions have their own emitter and weight layout.
bool isDepthwise(const ConvSpec &spec);
/// Whether the convolution is a matrix product over all pixels of the batch.
bool isPointwise(const ConvSpec &spec);
MatmulSpec pointwiseMatmul(const ConvSpec &spec);

/// A convolution with fewer output channels than a vector has lanes, whose taps along the width become channels: for
/// each tap of a kernel's row and each output channel one sum over the rows and input channels, at every column where
/// some window begins, and then the sums of a window's taps, each from its own column. After Vasudevan, Anderson and
/// Gregg, "Parallel Multi Channel Convolution using General Matrix Multiplication" (ASAP 2017), who do the same for
/// both dimensions. For stride 1 along the width and one group.
struct ShiftAddSpec {
  ConvSpec image;

  /// The convolution that computes the first sums. It has kernelW times as many channels, [kernelW][outC], and a kernel
  /// of width 1.
  ConvSpec taps() const;
};
/// The distance in scratch between the taps of two columns, in elements: whole vectors.
int64_t shiftAddPitch(const ShiftAddSpec &spec, const VectorTarget &target);
/// Whether the shift-add form takes less time and its scratch fits the stack.
bool prefersShiftAdd(const ConvSpec &spec, const VectorTarget &target);
/// The number of work items: batch x row blocks of the taps' convolution.
int64_t parallelExtent(const ShiftAddSpec &spec, const VectorTarget &target);

/// The output channels of a weight block: those of the vectors of a register tile. Channels of a group are padded with
/// zeros to a multiple of it.
int64_t convOutputBlock(const ConvSpec &spec, const VectorTarget &target);
/// The number of groups whose channels fill one vector together. It is more than 1 if each group has as many outputs as
/// inputs, and their number is a power of two less than the lanes.
int64_t convGroupsTogether(const ConvSpec &spec, const VectorTarget &target);
/// The output rows of a work item, enough to reuse a block of weights from the cache.
int64_t convRowBlock(const ConvSpec &spec);
/// The number of work items of a block of rows: groups (those of one vector count once) x channel blocks.
int64_t convChannelItems(const ConvSpec &spec, const VectorTarget &target);
/// The number of work items: batch x row blocks x channel items, channels innermost.
int64_t parallelExtent(const ConvSpec &spec, const VectorTarget &target);
/// The number of elements of packed weights.
int64_t packedConvWeightsSize(const ConvSpec &spec, const VectorTarget &target);

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONSPEC_H
