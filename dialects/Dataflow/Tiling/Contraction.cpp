//===- Contraction.cpp - Matrix products and convolutions on parts --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Tiling/Rules.h"

#include <numeric>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

static constexpr int64_t kWhole = RuleList::kWhole;

/// Names the rule of spatial dimension d.
static std::string spatial(size_t d) { return "spatial " + std::to_string(d); }

std::vector<TilingRule> MatmulOp::getTilingRules() {
  if (getPackedN()) // Laid out for a device already.
    return {};
  RuleList rules(*this);
  int64_t lhs = typeOf(getLhs()).getRank(), rhs = typeOf(getRhs()).getRank(), rank = getType().getRank();
  ArrayRef<int64_t> shape = getType().getShape();
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    rules.split("batch " + std::to_string(dim), {alignedDim(getLhs(), shape, dim), alignedDim(getRhs(), shape, dim)},
                {dim});
  int64_t m = getTransposeLhs() ? lhs - 1 : lhs - 2, k = getTransposeLhs() ? lhs - 2 : lhs - 1;
  bool transposed = getTransposeRhs();
  rules.split("rows", {m, kWhole}, {rank - 2});
  rules.split("columns", {kWhole, transposed ? rhs - 2 : rhs - 1}, {rank - 1});
  rules.partial("contraction", {k, transposed ? rhs - 1 : rhs - 2}, PartialKind::Sum);
  return rules.take();
}

/// Groups are split where there are some; else what `ungrouped` adds.
static void addChannels(RuleList &rules, int64_t groups, ArrayRef<int64_t> grouped, int64_t resultDim,
                        llvm::function_ref<void()> ungrouped) {
  if (groups == 1)
    return ungrouped();
  // Each device keeps whole groups.
  if (TilingRule *rule = rules.split("groups", grouped, {resultDim}))
    rule->divisor = std::gcd(rule->divisor, groups);
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

std::vector<TilingRule> ConvOp::getTilingRules() {
  if (getPackedChannels()) // Laid out for a device already.
    return {};
  RuleList rules(*this);
  bool last = getLayout() == Layout::channels_last;
  ArrayRef<int64_t> in = shapeOf(getInput()), out = getType().getShape();
  int64_t channel = last ? static_cast<int64_t>(in.size()) - 1 : 1, first = last ? 1 : 2;
  SmallVector<int64_t> kernel = getKernelShape();
  rules.split("batch", {0, kWhole}, {0});
  addChannels(rules, getGroups(), {channel, 0}, channel, [&] {
    rules.split("output channels", {kWhole, 0}, {channel});
    rules.partial("input channels", {channel, getWeightChannelDim()}, PartialKind::Sum);
  });
  for (size_t d = 0; d < kernel.size(); ++d) {
    int64_t at = first + static_cast<int64_t>(d);
    SlidingWindow window{in[at], out[at], kernel[d], getStrides()[d], getPads()[d], getDilations()[d]};
    if (window.aligns())
      addHalo(rules.split(spatial(d), {at, kWhole}, {at}), in[at], window.halo(Halo::Fill::Zero));
  }
  return rules.take();
}

SmallVector<Value> ConvOp::buildPart(TensorBuilder &build, ArrayRef<PartRule> rules, ValueRange operands) {
  bool last = getLayout() == Layout::channels_last;
  SmallVector<int64_t> pads = padsOnPart(getPads(), rules, last ? 1 : 2, getStrides().size());
  ArrayRef<int64_t> in = shapeOf(getInput()), part = shapeOf(operands[0]);
  size_t channel = last ? in.size() - 1 : 1;
  int64_t groups = getGroups();
  if (groups > 1)
    groups = groups * part[channel] / in[channel];
  return buildPartWith(*this, build, rules, operands, {build.list("pads", pads), build.integer("groups", groups)});
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

std::vector<TilingRule> ConvTransposeOp::getTilingRules() {
  RuleList rules(*this);
  rules.split("batch", {0, kWhole}, {0});
  addChannels(rules, getGroups(), {1, 0}, 1, [&] {
    rules.split("output channels", {kWhole, 1}, {1});
    rules.partial("input channels", {1, 0}, PartialKind::Sum);
  });
  for (size_t d = 0; d < getStrides().size(); ++d)
    if (std::optional<Halo> halo = transposedHalo(*this, d)) {
      int64_t at = 2 + static_cast<int64_t>(d);
      addHalo(rules.split(spatial(d), {at, kWhole}, {at}), shapeOf(getInput())[at], *halo);
    }
  return rules.take();
}

SmallVector<Value> ConvTransposeOp::buildPart(TensorBuilder &build, ArrayRef<PartRule> rules, ValueRange operands) {
  SmallVector<int64_t> pads(getPadsLow());
  for (size_t d = 0; d < pads.size(); ++d)
    if (isSplit(rules, 0, 2 + static_cast<int64_t>(d)))
      pads[d] += transposedHalo(*this, d)->low * getStrides()[d];
  int64_t groups = getGroups();
  if (groups > 1)
    groups = groups * shapeOf(operands[0])[1] / shapeOf(getInput())[1];
  return buildPartWith(*this, build, rules, operands, {build.list("pads_low", pads), build.integer("groups", groups)});
}

std::vector<TilingRule> ConvWeightGradientOp::getTilingRules() {
  RuleList rules(*this);
  rules.partial("batch", {0, 0}, PartialKind::Sum);
  addChannels(rules, getGroups(), {1, 1}, 0, [&] {
    rules.split("output channels", {kWhole, 1}, {0});
    rules.split("input channels", {1, kWhole}, {1});
  });
  ArrayRef<int64_t> in = shapeOf(getInput()), out = shapeOf(getGradient()), kernel = getType().getShape();
  for (size_t d = 0; d < getStrides().size(); ++d) {
    int64_t at = 2 + static_cast<int64_t>(d);
    SlidingWindow window{in[at], out[at], kernel[at], getStrides()[d], getPadsLow()[d], getDilations()[d]};
    if (window.aligns())
      addHalo(rules.partial(spatial(d), {at, at}, PartialKind::Sum), in[at], window.halo(Halo::Fill::Zero));
  }
  return rules.take();
}

SmallVector<Value> ConvWeightGradientOp::buildPart(TensorBuilder &build, ArrayRef<PartRule> rules,
                                                   ValueRange operands) {
  SmallVector<int64_t> pads = padsOnPart(getPadsLow(), rules, 2, getStrides().size());
  int64_t groups = getGroups();
  if (groups > 1)
    groups = groups * shapeOf(operands[0])[1] / shapeOf(getInput())[1];
  return buildPartWith(*this, build, rules, operands, {build.list("pads_low", pads), build.integer("groups", groups)});
}
