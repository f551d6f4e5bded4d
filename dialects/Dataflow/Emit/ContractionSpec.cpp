//===- ContractionSpec.cpp - Shapes and blocking of contractions ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/ContractionSpec.h"
#include <algorithm>
#include <bit>

namespace sluice::emit {

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// What a tuning's row block may take of the stack, and its depth block as well.
static constexpr int64_t kTunedScratchBytes = 256 << 10;

RegisterTile chooseTile(int64_t rows, int64_t columns, int64_t elementBits, const VectorTarget &target,
                        const KernelTuning &tuning) {
  int64_t maxLanes = std::max<int64_t>(1, target.lanesF32 * 32 / elementBits);
  RegisterTile tile;
  tile.lanes = std::min<int64_t>(maxLanes, std::bit_ceil(static_cast<uint64_t>(columns)));
  tile.vectors = columns > maxLanes ? 2 : 1;
  if (tuning.vectors > 0)
    tile.vectors = std::min(tuning.vectors, ceilDiv(columns, maxLanes));
  // Besides the accumulators: the weights of one step and a broadcast, and without FMA (SSE2) the product.
  int64_t reserved = tile.vectors + (target.registers < 32 && maxLanes <= 4 ? 4 : 2);
  if (tuning.rows > 0) {
    tile.rows = std::min(tuning.rows, rows);
    return tile;
  }
  int64_t maxRows = std::clamp<int64_t>((target.registers - reserved) / tile.vectors, 1, 14);
  tile.rows = ceilDiv(rows, ceilDiv(rows, maxRows));
  return tile;
}

MatmulBlocking chooseBlocking(const MatmulSpec &spec, const VectorTarget &target) {
  MatmulBlocking blocking;
  RegisterTile &tile = blocking.tile = chooseTile(spec.m, spec.n, spec.elementBits, target, spec.tuning);
  int64_t elementBytes = spec.elementBits / 8;
  blocking.panels = ceilDiv(spec.n, tile.block());
  // A panel is reused by every tile of a row block: some 100 rows hide what reading it costs, fewer where there would
  // be too few work items.
  constexpr int64_t minRows = 64, maxRows = 144, itemsWanted = 32;
  const int64_t mostTuned = kTunedScratchBytes / (tile.block() * elementBytes);
  int64_t rowsInL2 = target.l2Bytes / 2 / (spec.k * elementBytes);
  int64_t rows = std::clamp(std::min(spec.m * blocking.panels / itemsWanted, rowsInL2), minRows, maxRows);
  if (spec.tuning.rowBlock > 0)
    rows = std::min(spec.tuning.rowBlock, mostTuned);
  blocking.rowBlocks = ceilDiv(spec.m, rows);
  blocking.rowBlock = ceilDiv(ceilDiv(spec.m, blocking.rowBlocks), tile.rows) * tile.rows;
  blocking.rowBlocks = ceilDiv(spec.m, blocking.rowBlock);
  // A copied panel lives on the stack. Otherwise the rows of A wait in half of L2 for the next panel, and the panel in
  // a quarter for the next rows; a single tile reads it once only.
  int64_t depth = spec.k;
  if (!spec.packedB)
    depth = 65536 / (tile.block() * elementBytes);
  else if (spec.m > tile.rows)
    depth = target.l2Bytes / std::max(2 * blocking.rowBlock, 4 * tile.block()) / elementBytes;
  if (spec.tuning.depthBlock > 0)
    depth = spec.packedB ? spec.tuning.depthBlock : std::min(spec.tuning.depthBlock, mostTuned);
  blocking.depthBlocks = ceilDiv(spec.k, std::max<int64_t>(depth, spec.depthStep));
  blocking.depthBlock = ceilDiv(ceilDiv(spec.k, blocking.depthBlocks), spec.depthStep) * spec.depthStep;
  blocking.depthBlocks = ceilDiv(spec.k, blocking.depthBlock);
  if (blocking.depthBlocks == 1)
    blocking.depthBlock = spec.k;
  return blocking;
}

int64_t parallelExtent(const MatmulSpec &spec, const VectorTarget &target) {
  MatmulBlocking blocking = chooseBlocking(spec, target);
  return blocking.rowBlocks * blocking.panels;
}

int64_t matmulPanel(const MatmulSpec &spec, const VectorTarget &target) {
  return chooseTile(spec.m, spec.n, spec.elementBits, target, spec.tuning).block();
}

int64_t packedMatmulBSize(const MatmulSpec &spec, const VectorTarget &target) {
  int64_t panel = matmulPanel(spec, target);
  return ceilDiv(spec.n, panel) * spec.k * panel;
}

ConvSpec turnColumn(const ConvSpec &spec) {
  if (spec.inW != 1 || spec.outW != 1 || spec.kernelW != 1 || spec.padLeft != 0 || spec.inH == 1)
    return spec;
  ConvSpec turned = spec;
  std::swap(turned.inH, turned.inW);
  std::swap(turned.outH, turned.outW);
  std::swap(turned.kernelH, turned.kernelW);
  std::swap(turned.strideH, turned.strideW);
  std::swap(turned.padTop, turned.padLeft);
  std::swap(turned.dilationH, turned.dilationW);
  turned.isTurned = true;
  return turned;
}

bool isDepthwise(const ConvSpec &spec) {
  return spec.groups > 1 && spec.groups == spec.inC && spec.groups == spec.outC;
}

bool isPointwise(const ConvSpec &spec) {
  return spec.kernelH == 1 && spec.kernelW == 1 && spec.strideH == 1 && spec.strideW == 1 && spec.padTop == 0 &&
         spec.padLeft == 0 && spec.groups == 1 && spec.outH == spec.inH && spec.outW == spec.inW;
}

MatmulSpec pointwiseMatmul(const ConvSpec &spec) {
  MatmulSpec matmul;
  matmul.m = spec.batch * spec.outH * spec.outW;
  matmul.n = spec.outC;
  matmul.k = spec.inC;
  matmul.lda = spec.inC;
  matmul.packedB = true;
  matmul.sinkStyle = spec.sinkStyle;
  matmul.tuning = spec.tuning;
  return matmul;
}

ConvSpec ShiftAddSpec::taps() const {
  ConvSpec taps = image;
  taps.outW += (image.kernelW - 1) * image.dilationW;
  taps.outC *= image.kernelW;
  taps.kernelW = taps.dilationW = 1;
  taps.tuning.rowBlock = 0; // The scratch decides.
  taps.sinkStyle = SinkStyle::Inline;
  return taps;
}

int64_t shiftAddPitch(const ShiftAddSpec &spec, const VectorTarget &target) {
  return ceilDiv(spec.taps().outC, target.lanesF32) * target.lanesF32;
}

bool prefersShiftAdd(const ConvSpec &spec, const VectorTarget &target) {
  constexpr int64_t kMostScratch = 65536; // Elements.
  constexpr double kWorthwhile = 0.7;
  if (spec.groups != 1 || spec.strideW != 1 || spec.kernelW == 1 || spec.isTurned || spec.outC >= target.lanesF32)
    return false;
  const ConvSpec taps = ShiftAddSpec{spec}.taps();
  const int64_t pitch = shiftAddPitch({spec}, target);
  if (pitch > kMostScratch || taps.outW > kMostScratch || convRowBlock(taps) * taps.outW * pitch > kMostScratch)
    return false;
  // Vector operations of a row: of the taps' products, of their sums, and of direct convolution.
  const double depth = static_cast<double>(spec.kernelH) * static_cast<double>(spec.inC);
  const double products = depth * static_cast<double>(taps.outW * ceilDiv(taps.outC, target.lanesF32));
  const double sums = static_cast<double>(2 * (spec.kernelW + 1) * spec.outW);
  return products + sums < kWorthwhile * depth * static_cast<double>(spec.kernelW * spec.outW);
}

int64_t convOutputBlock(const ConvSpec &spec, const VectorTarget &target) {
  if (isDepthwise(spec))
    return std::min<int64_t>(target.lanesF32, std::bit_ceil(static_cast<uint64_t>(spec.outC)));
  return chooseTile(1, spec.groupOutC(), 32, target, spec.tuning).block();
}

int64_t convGroupsTogether(const ConvSpec &spec, const VectorTarget &target) {
  int64_t channels = spec.groupOutC();
  if (isDepthwise(spec) || channels != spec.groupInC() || channels >= target.lanesF32 ||
      !std::has_single_bit(static_cast<uint64_t>(channels)) || spec.groups % (target.lanesF32 / channels))
    return 1;
  return target.lanesF32 / channels;
}

int64_t convRowBlock(const ConvSpec &spec) {
  const int64_t pixelsWanted = spec.tuning.rowBlock > 0 ? spec.tuning.rowBlock : 96;
  if (isDepthwise(spec))
    return 1;
  int64_t rows = std::clamp<int64_t>(ceilDiv(pixelsWanted, spec.outW), 1, spec.outH);
  return ceilDiv(spec.outH, ceilDiv(spec.outH, rows));
}

int64_t convChannelItems(const ConvSpec &spec, const VectorTarget &target) {
  return spec.groups / convGroupsTogether(spec, target) * ceilDiv(spec.groupOutC(), convOutputBlock(spec, target));
}

int64_t parallelExtent(const ConvSpec &spec, const VectorTarget &target) {
  if (isPointwise(spec))
    return parallelExtent(pointwiseMatmul(spec), target);
  if (isDepthwise(spec))
    return spec.batch * spec.outH;
  return spec.batch * ceilDiv(spec.outH, convRowBlock(spec)) * convChannelItems(spec, target);
}

int64_t parallelExtent(const ShiftAddSpec &spec, const VectorTarget &) {
  return spec.image.batch * ceilDiv(spec.image.outH, convRowBlock(spec.taps()));
}

int64_t packedConvWeightsSize(const ConvSpec &spec, const VectorTarget &target) {
  int64_t block = convOutputBlock(spec, target);
  int64_t taps = spec.kernelH * spec.kernelW;
  if (isDepthwise(spec))
    return taps * ceilDiv(spec.outC, block) * block;
  return spec.groups * ceilDiv(spec.groupOutC(), block) * taps * spec.groupInC() * block;
}

} // namespace sluice::emit
