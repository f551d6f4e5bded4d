//===- Contraction.cpp - Matrix products and convolutions on parts --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Tiling/Models.h"

#include <numeric>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

static constexpr int64_t kWhole = RuleList::kWhole;

/// Names the rule of spatial dimension d.
static std::string spatial(size_t d) { return "spatial " + std::to_string(d); }

static std::vector<TilingRule> rulesOfMatmul(MatmulOp op) {
  if (op.getPackedN()) // Laid out for a device already.
    return {};
  RuleList rules(op);
  int64_t lhs = typeOf(op.getLhs()).getRank(), rhs = typeOf(op.getRhs()).getRank(), rank = op.getType().getRank();
  ArrayRef<int64_t> shape = op.getType().getShape();
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    rules.split("batch " + std::to_string(dim),
                {alignedDim(op.getLhs(), shape, dim), alignedDim(op.getRhs(), shape, dim)}, {dim});
  int64_t m = op.getTransposeLhs() ? lhs - 1 : lhs - 2, k = op.getTransposeLhs() ? lhs - 2 : lhs - 1;
  bool transposed = op.getTransposeRhs();
  rules.split("rows", {m, kWhole}, {rank - 2});
  rules.split("columns", {kWhole, transposed ? rhs - 2 : rhs - 1}, {rank - 1});
  rules.partial("contraction", {k, transposed ? rhs - 1 : rhs - 2}, PartialKind::Sum, true);
  return rules.take();
}

/// Groups are split where there are some; else what `ungrouped` adds.
static void addChannels(RuleList &rules, int64_t groups, ArrayRef<int64_t> grouped, int64_t resultDim,
                        llvm::function_ref<void()> ungrouped) {
  if (groups == 1)
    return ungrouped();
  // Each device keeps whole groups.
  if (TilingRule *rule = rules.split("groups", grouped, {resultDim})) {
    const int64_t channels = std::exchange(rule->divisor, std::gcd(rule->divisor, groups));
    rule->uneven &= rule->divisor == channels;
    rule->pointwise &= rule->divisor == channels;
  }
}

/// The pads of those spatial dimensions that rules split are in the halo now.
static SmallVector<int64_t> padsOnPart(ArrayRef<int64_t> pads, ArrayRef<PartRule> rules, int64_t firstSpatial,
                                       size_t spatialRank) {
  SmallVector<int64_t> result(pads);
  for (size_t d = 0; d < spatialRank; ++d)
    if (isSplit(rules, 0, firstSpatial + static_cast<int64_t>(d)))
      for (size_t at = d; at < result.size(); at += spatialRank)
        result[at] = 0;
  return result;
}

static std::vector<TilingRule> rulesOfConv(ConvOp op) {
  if (op.getPackedChannels()) // Laid out for a device already.
    return {};
  RuleList rules(op);
  bool last = op.getLayout() == Layout::channels_last;
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = op.getType().getShape();
  int64_t channel = last ? static_cast<int64_t>(in.size()) - 1 : 1, first = last ? 1 : 2;
  SmallVector<int64_t> kernel = op.getKernelShape();
  rules.split("batch", {0, kWhole}, {0});
  addChannels(rules, op.getGroups(), {channel, 0}, channel, [&] {
    rules.split("output channels", {kWhole, 0}, {channel});
    rules.partial("input channels", {channel, op.getWeightChannelDim()}, PartialKind::Sum, true);
  });
  for (size_t d = 0; d < kernel.size(); ++d) {
    int64_t at = first + static_cast<int64_t>(d);
    SlidingWindow window{in[at], out[at], kernel[d], op.getStrides()[d], op.getPads()[d], op.getDilations()[d]};
    if (window.aligns())
      addHalo(rules.split(spatial(d), {at, kWhole}, {at}), in[at], window.halo(Halo::Fill::Zero));
  }
  return rules.take();
}

static SmallVector<Value> buildConvPart(ConvOp op, TensorBuilder &build, ArrayRef<PartRule> rules,
                                        ValueRange operands) {
  bool last = op.getLayout() == Layout::channels_last;
  SmallVector<int64_t> pads = padsOnPart(op.getPads(), rules, last ? 1 : 2, op.getStrides().size());
  ArrayRef<int64_t> in = shapeOf(op.getInput()), part = shapeOf(operands[0]);
  size_t channel = last ? in.size() - 1 : 1;
  int64_t groups = op.getGroups();
  if (groups > 1)
    groups = groups * part[channel] / in[channel];
  return buildPartWith(op, build, rules, operands, {build.list("pads", pads), build.integer("groups", groups)});
}

/// Where a transposed convolution's input and result split alike: what a part of the result needs of
/// its input's neighbours.
static std::optional<Halo> transposedHalo(ConvTransposeOp op, size_t d) {
  int64_t in = shapeOf(op.getInput())[2 + d], kernel = shapeOf(op.getWeight())[2 + d];
  SlidingWindow back{
      op.getType().getDimSize(2 + d), in, kernel, op.getStrides()[d], op.getPadsLow()[d], op.getDilations()[d]};
  if (!back.aligns())
    return std::nullopt;
  // Element q comes from inputs (q + pad - k * dilation) / stride.
  return Halo{(back.reach() - 1 - back.padLow) / back.stride, (back.padLow + back.stride - 1) / back.stride};
}

static std::vector<TilingRule> rulesOfConvTranspose(ConvTransposeOp op) {
  RuleList rules(op);
  rules.split("batch", {0, kWhole}, {0});
  addChannels(rules, op.getGroups(), {1, 0}, 1, [&] {
    rules.split("output channels", {kWhole, 1}, {1});
    rules.partial("input channels", {1, 0}, PartialKind::Sum, true);
  });
  for (size_t d = 0; d < op.getStrides().size(); ++d)
    if (std::optional<Halo> halo = transposedHalo(op, d)) {
      int64_t at = 2 + static_cast<int64_t>(d);
      addHalo(rules.split(spatial(d), {at, kWhole}, {at}), shapeOf(op.getInput())[at], *halo);
    }
  return rules.take();
}

static SmallVector<Value> buildConvTransposePart(ConvTransposeOp op, TensorBuilder &build, ArrayRef<PartRule> rules,
                                                 ValueRange operands) {
  SmallVector<int64_t> pads(op.getPadsLow());
  for (size_t d = 0; d < pads.size(); ++d)
    if (isSplit(rules, 0, 2 + static_cast<int64_t>(d)))
      pads[d] += transposedHalo(op, d)->low * op.getStrides()[d];
  int64_t groups = op.getGroups();
  if (groups > 1)
    groups = groups * shapeOf(operands[0])[1] / shapeOf(op.getInput())[1];
  return buildPartWith(op, build, rules, operands, {build.list("pads_low", pads), build.integer("groups", groups)});
}

static std::vector<TilingRule> rulesOfConvWeightGradient(ConvWeightGradientOp op) {
  RuleList rules(op);
  rules.partial("batch", {0, 0}, PartialKind::Sum, true);
  addChannels(rules, op.getGroups(), {1, 1}, 0, [&] {
    rules.split("output channels", {kWhole, 1}, {0});
    rules.split("input channels", {1, kWhole}, {1});
  });
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = shapeOf(op.getGradient()), kernel = op.getType().getShape();
  for (size_t d = 0; d < op.getStrides().size(); ++d) {
    int64_t at = 2 + static_cast<int64_t>(d);
    SlidingWindow window{in[at], out[at], kernel[at], op.getStrides()[d], op.getPadsLow()[d], op.getDilations()[d]};
    if (window.aligns())
      addHalo(rules.partial(spatial(d), {at, at}, PartialKind::Sum, true), in[at], window.halo(Halo::Fill::Zero));
  }
  return rules.take();
}

static SmallVector<Value> buildConvWeightGradientPart(ConvWeightGradientOp op, TensorBuilder &build,
                                                      ArrayRef<PartRule> rules, ValueRange operands) {
  SmallVector<int64_t> pads = padsOnPart(op.getPadsLow(), rules, 2, op.getStrides().size());
  int64_t groups = op.getGroups();
  if (groups > 1)
    groups = groups * shapeOf(operands[0])[1] / shapeOf(op.getInput())[1];
  return buildPartWith(op, build, rules, operands, {build.list("pads_low", pads), build.integer("groups", groups)});
}

static std::vector<TilingRule> rulesOfIntegerMatmul(IntegerMatmulOp op) {
  if (op.getPanels()) // Laid out for a device already.
    return {};
  RuleList rules(op);
  const int64_t lhs = typeOf(op.getLhs()).getRank(), rhs = typeOf(op.getRhs()).getRank(), rank = op.getType().getRank();
  ArrayRef<int64_t> shape = op.getType().getShape();
  auto operands = [&](int64_t a, int64_t b, int64_t lhsZero, int64_t rhsZero) {
    SmallVector<int64_t> dims{a, b};
    if (op.getLhsZeroPoint())
      dims.push_back(lhsZero);
    if (op.getRhsZeroPoint())
      dims.push_back(rhsZero);
    return dims;
  };
  auto lhsZeroAlong = [&](int64_t dim) {
    return op.getLhsZeroPoint() ? alignedDim(op.getLhsZeroPoint(), shape, dim) : kWhole;
  };
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    rules.split(
        "batch " + std::to_string(dim),
        operands(alignedDim(op.getLhs(), shape, dim), alignedDim(op.getRhs(), shape, dim), lhsZeroAlong(dim), kWhole),
        {dim});
  rules.split("rows", operands(lhs - 2, kWhole, lhsZeroAlong(rank - 2), kWhole), {rank - 2});
  const bool perColumn = op.getRhsZeroPoint() && elementCount(op.getRhsZeroPoint().getType()) != 1;
  rules.split("columns", operands(kWhole, rhs - 1, kWhole, perColumn ? 0 : kWhole), {rank - 1});
  rules.partial("contraction", operands(lhs - 1, rhs - 2, kWhole, kWhole), PartialKind::Sum);
  return rules.take();
}

static std::vector<TilingRule> rulesOfIntegerConv(IntegerConvOp op) {
  if (op.getPanels()) // Laid out for a device already.
    return {};
  RuleList rules(op);
  auto operands = [&](int64_t input, int64_t weight, int64_t weightZero) {
    SmallVector<int64_t> dims{input, weight};
    if (op.getInputZeroPoint())
      dims.push_back(kWhole);
    if (op.getWeightZeroPoint())
      dims.push_back(weightZero);
    return dims;
  };
  rules.split("batch", operands(0, kWhole, kWhole), {0});
  const bool perFilter = op.getWeightZeroPoint() && elementCount(op.getWeightZeroPoint().getType()) != 1;
  if (op.getGroups() == 1) {
    rules.split("output channels", operands(kWhole, 0, perFilter ? 0 : kWhole), {op.getChannelDim()});
    rules.partial("input channels", operands(op.getChannelDim(), 1, kWhole), PartialKind::Sum);
  }
  return rules.take();
}

static std::vector<TilingRule> rulesOfBlockMatmul(BlockMatmulOp op) {
  RuleList rules(op);
  const int64_t lhs = typeOf(op.getLhs()).getRank(), depth = shapeOf(op.getLhs()).back();
  const auto bits = static_cast<int64_t>(op.getBits()), block = static_cast<int64_t>(op.getBlock());
  // The weight, its scales and its zero points have a row for each column of the result, along their first dimension.
  auto operands = [&](int64_t of, int64_t weight) {
    SmallVector<int64_t> dims{of, weight, weight};
    if (op.getZeroPoints())
      dims.push_back(weight);
    return dims;
  };
  for (int64_t dim = 0; dim < lhs - 2; ++dim)
    rules.split("batch " + std::to_string(dim), operands(dim, kWhole), {dim});
  rules.split("rows", operands(lhs - 2, kWhole), {lhs - 2});
  rules.split("columns", operands(kWhole, 0), {lhs - 1});
  // Parts have whole blocks, and zero points whole bytes.
  const bool isWhole = depth % block == 0 && (!op.getZeroPoints() || isa<FloatType>(elementOf(op.getZeroPoints())) ||
                                              depth / block * bits % 8 == 0);
  if (isWhole)
    rules.partial("contraction", operands(lhs - 1, 1), PartialKind::Sum);
  return rules.take();
}

static std::vector<TilingRule> rulesOfRoundBlocks(RoundBlocksOp op) {
  RuleList rules(op);
  const int64_t rank = typeOf(op.getInput()).getRank(), depth = shapeOf(op.getInput()).back();
  const auto block = static_cast<int64_t>(op.getBlock());
  for (int64_t dim = 0; dim < rank - 1; ++dim)
    rules.split("dimension " + std::to_string(dim), {dim}, {dim});
  // Parts have whole blocks.
  if (depth % block == 0)
    if (TilingRule *rule = rules.split("blocks", {rank - 1}, {rank - 1})) {
      rule->divisor = depth / block;
      rule->uneven = rule->pointwise = false;
    }
  return rules.take();
}

void sluice::dataflow::attachContractionRules(MLIRContext *context) {
  attach<TilingModel<rulesOfMatmul>, TilingModel<rulesOfConv, buildConvPart>,
         TilingModel<rulesOfConvTranspose, buildConvTransposePart>,
         TilingModel<rulesOfConvWeightGradient, buildConvWeightGradientPart>, TilingModel<rulesOfIntegerMatmul>,
         TilingModel<rulesOfIntegerConv>, TilingModel<rulesOfBlockMatmul>, TilingModel<rulesOfRoundBlocks>>(context);
}
