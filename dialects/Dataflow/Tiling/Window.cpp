//===- Window.cpp - Pooling, resampling and detection on parts ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Tiling/Rules.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

static constexpr int64_t kWhole = RuleList::kWhole;

std::vector<TilingRule> PoolOp::getTilingRules() {
  RuleList rules(*this);
  bool last = getLayout() == Layout::channels_last;
  ArrayRef<int64_t> in = shapeOf(getInput()), out = getType().getShape();
  int64_t channel = last ? static_cast<int64_t>(in.size()) - 1 : 1;
  rules.split("batch", {0}, {0});
  rules.split("channels", {channel}, {channel});
  for (size_t d = 0; d < getKernel().size(); ++d) {
    int64_t at = (last ? 1 : 2) + static_cast<int64_t>(d);
    SlidingWindow window{in[at], out[at], getKernel()[d], getStrides()[d], getPadsLow()[d], getDilations()[d]};
    if (!window.aligns())
      continue;
    Halo halo = window.halo(getKind() == PoolKind::max ? Halo::Fill::Lowest : Halo::Fill::Zero);
    // On a part nothing tells the tensor's ends from its neighbours' elements: averages divide by whole windows.
    if (getKind() == PoolKind::average && !halo.empty() && !(getCountIncludePad() && getPadsHigh()[d] >= halo.high))
      continue;
    addHalo(rules.split("spatial " + std::to_string(d), {at}, {at}), in[at], halo);
  }
  return rules.take();
}

SmallVector<Value> PoolOp::buildPart(TensorBuilder &build, ArrayRef<PartRule> rules, ValueRange operands) {
  SmallVector<int64_t> low(getPadsLow()), high(getPadsHigh());
  for (size_t d = 0; d < low.size(); ++d)
    if (isSplit(rules, 0, (getLayout() == Layout::channels_last ? 1 : 2) + static_cast<int64_t>(d)))
      low[d] = high[d] = 0;
  return buildPartWith(*this, build, rules, operands, {build.list("pads_low", low), build.list("pads_high", high)});
}

std::vector<TilingRule> PoolGradientOp::getTilingRules() {
  RuleList rules(*this);
  auto everywhere = [&](const std::string &name, int64_t dim) {
    SmallVector<int64_t> operands((*this)->getNumOperands(), dim);
    rules.split(name, operands, {dim});
  };
  everywhere("batch", 0);
  everywhere("channels", 1);
  ArrayRef<int64_t> in = getType().getShape(), out = shapeOf(getGradient());
  for (size_t d = 0; d < getKernel().size(); ++d) {
    int64_t at = 2 + static_cast<int64_t>(d);
    SlidingWindow window{in[at], out[at], getKernel()[d], getStrides()[d], getPadsLow()[d], getDilations()[d]};
    if (window.aligns() && window.halo(Halo::Fill::Zero).empty())
      everywhere("spatial " + std::to_string(d), at);
  }
  return rules.take();
}

std::vector<TilingRule> ResizeOp::getTilingRules() {
  RuleList rules(*this);
  rules.aligned([&](int64_t dim) {
    return getScales()[dim] == 1 && shapeOf(getInput())[dim] == getType().getDimSize(dim) && !getRoi();
  });
  return rules.take();
}

std::vector<TilingRule> GridSampleOp::getTilingRules() {
  RuleList rules(*this);
  rules.split("batch", {0, 0}, {0});
  rules.split("channels", {1, kWhole}, {1});
  for (int64_t dim = 2; dim < getType().getRank(); ++dim)
    rules.split("position " + std::to_string(dim - 2), {kWhole, dim - 1}, {dim});
  return rules.take();
}

std::vector<TilingRule> RoiAlignOp::getTilingRules() {
  RuleList rules(*this);
  rules.split("regions", {kWhole, 0, 0}, {0});
  rules.split("channels", {1, kWhole, kWhole}, {1});
  return rules.take();
}
