//===- Window.cpp - Pooling, resampling and detection on parts ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Tiling/Models.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

static constexpr int64_t kWhole = RuleList::kWhole;

static std::vector<TilingRule> rulesOfPool(PoolOp op) {
  RuleList rules(op);
  bool last = op.getLayout() == Layout::channels_last;
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = op.getType().getShape();
  int64_t channel = last ? static_cast<int64_t>(in.size()) - 1 : 1;
  rules.split("batch", {0}, {0});
  rules.split("channels", {channel}, {channel});
  for (size_t d = 0; d < op.getKernel().size(); ++d) {
    int64_t at = (last ? 1 : 2) + static_cast<int64_t>(d);
    SlidingWindow window{
        in[at], out[at], op.getKernel()[d], op.getStrides()[d], op.getPadsLow()[d], op.getDilations()[d]};
    if (!window.aligns())
      continue;
    Halo halo = window.halo(op.getKind() == PoolKind::max ? Halo::Fill::Lowest : Halo::Fill::Zero);
    // On a part nothing tells the tensor's ends from its neighbours' elements: averages divide by whole windows.
    if (op.getKind() == PoolKind::average && !halo.empty() &&
        !(op.getCountIncludePad() && op.getPadsHigh()[d] >= halo.high))
      continue;
    addHalo(rules.split("spatial " + std::to_string(d), {at}, {at}), in[at], halo);
  }
  return rules.take();
}

static SmallVector<Value> buildPoolPart(PoolOp op, TensorBuilder &build, ArrayRef<PartRule> rules,
                                        ValueRange operands) {
  SmallVector<int64_t> low(op.getPadsLow()), high(op.getPadsHigh());
  for (size_t d = 0; d < low.size(); ++d)
    if (isSplit(rules, 0, (op.getLayout() == Layout::channels_last ? 1 : 2) + static_cast<int64_t>(d)))
      low[d] = high[d] = 0;
  return buildPartWith(op, build, rules, operands, {build.list("pads_low", low), build.list("pads_high", high)});
}

static std::vector<TilingRule> rulesOfPoolGradient(PoolGradientOp op) {
  RuleList rules(op);
  auto everywhere = [&](const std::string &name, int64_t dim) {
    SmallVector<int64_t> operands(op->getNumOperands(), dim);
    rules.split(name, operands, {dim});
  };
  everywhere("batch", 0);
  everywhere("channels", 1);
  ArrayRef<int64_t> in = op.getType().getShape(), out = shapeOf(op.getGradient());
  for (size_t d = 0; d < op.getKernel().size(); ++d) {
    int64_t at = 2 + static_cast<int64_t>(d);
    SlidingWindow window{
        in[at], out[at], op.getKernel()[d], op.getStrides()[d], op.getPadsLow()[d], op.getDilations()[d]};
    if (window.aligns() && window.halo(Halo::Fill::Zero).empty())
      everywhere("spatial " + std::to_string(d), at);
  }
  return rules.take();
}

static std::vector<TilingRule> rulesOfResize(ResizeOp op) {
  RuleList rules(op);
  rules.aligned([&](int64_t dim) {
    return op.getScales()[dim] == 1 && shapeOf(op.getInput())[dim] == op.getType().getDimSize(dim) && !op.getRoi();
  });
  return rules.take();
}

static std::vector<TilingRule> rulesOfGridSample(GridSampleOp op) {
  RuleList rules(op);
  rules.split("batch", {0, 0}, {0});
  rules.split("channels", {1, kWhole}, {1});
  for (int64_t dim = 2; dim < op.getType().getRank(); ++dim)
    rules.split("position " + std::to_string(dim - 2), {kWhole, dim - 1}, {dim});
  return rules.take();
}

static std::vector<TilingRule> rulesOfRoiAlign(RoiAlignOp op) {
  RuleList rules(op);
  rules.split("regions", {kWhole, 0, 0}, {0});
  rules.split("channels", {1, kWhole, kWhole}, {1});
  return rules.take();
}

void sluice::dataflow::attachWindowRules(MLIRContext *context) {
  attach<TilingModel<rulesOfPool, buildPoolPart>, TilingModel<rulesOfPoolGradient>, TilingModel<rulesOfResize>,
         TilingModel<rulesOfGridSample>, TilingModel<rulesOfRoiAlign>>(context);
}
