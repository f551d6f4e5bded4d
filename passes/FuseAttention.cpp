//===- FuseAttention.cpp - Products around a softmax as one kernel --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/Attention.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "passes/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "passes/Passes.h.inc"
} // namespace sluice

namespace {

/// The operand of softmax: query * key^T, scaled and masked.
struct Scores {
  MatmulOp product;
  Value mask;
  std::optional<APFloat> scale;
  bool divides = false;

  /// Reads the expression from its end; its parts have no other users.
  static std::optional<Scores> match(Value value);

private:
  bool takeMask(Value &value);
  bool takeScale(Value &value);
};

/// The operand of a binary operator that has its result's shape, and the other one.
std::optional<std::pair<Value, Value>> wholeAndOther(BinaryOp op, bool commutes) {
  if (op.getLhs().getType() == op.getType())
    return std::pair(op.getLhs(), op.getRhs());
  if (commutes && op.getRhs().getType() == op.getType())
    return std::pair(op.getRhs(), op.getLhs());
  return std::nullopt;
}

bool isProduct(Value value) {
  auto scale = value.getDefiningOp<BinaryOp>();
  return value.getDefiningOp<MatmulOp>() ||
         (scale && (scale.getKind() == BinaryKind::mul || scale.getKind() == BinaryKind::div) &&
          (scale.getLhs().getDefiningOp<MatmulOp>() || scale.getRhs().getDefiningOp<MatmulOp>()));
}

bool Scores::takeMask(Value &value) {
  auto sum = value.getDefiningOp<BinaryOp>();
  if (!sum || sum.getKind() != BinaryKind::add || !sum->hasOneUse())
    return false;
  for (auto [whole, other] : {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())})
    if (whole.getType() == sum.getType() && isProduct(whole)) {
      mask = other;
      value = whole;
      return true;
    }
  return false;
}

bool Scores::takeScale(Value &value) {
  auto scaled = value.getDefiningOp<BinaryOp>();
  if (!scaled || !scaled->hasOneUse() || (scaled.getKind() != BinaryKind::mul && scaled.getKind() != BinaryKind::div))
    return false;
  auto parts = wholeAndOther(scaled, scaled.getKind() == BinaryKind::mul);
  DenseElementsAttr number;
  if (!parts || !matchPattern(parts->second, m_Constant(&number)) || number.getNumElements() != 1)
    return false;
  value = parts->first;
  scale = number.getSplatValue<APFloat>();
  divides = scaled.getKind() == BinaryKind::div;
  return true;
}

std::optional<Scores> Scores::match(Value value) {
  Scores scores;
  scores.takeMask(value);
  scores.takeScale(value);
  scores.product = value.getDefiningOp<MatmulOp>();
  if (!scores.product || !scores.product->hasOneUse() || scores.product.getTransposeLhs() ||
      scores.product.getPackedN() || scores.product.getLibrary())
    return std::nullopt;
  return scores;
}

/// Whether the batch dimensions of the others are those of `first`, or 1.
bool haveBatchOf(Value first, ValueRange others) {
  const Extents of = extentsOf(first);
  const ArrayRef<Extent> batch = ArrayRef(of).drop_back(2);
  return llvm::all_of(others, [&](Value other) {
    const Extents own = extentsOf(other);
    return own.size() == of.size() && llvm::all_of(llvm::zip(ArrayRef(own).drop_back(2), batch), [](auto extents) {
             auto [mine, its] = extents;
             return mine == its || mine.is(1);
           });
  });
}

struct FuseAttention : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &b) const override {
    auto softmax = op.getLhs().getDefiningOp<SoftmaxOp>();
    if (!softmax || !softmax->hasOneUse() || softmax.getLog() || op.getTransposeLhs() || op.getTransposeRhs() ||
        op.getPackedN() || op.getLibrary() || !op.getType().getElementType().isF32() ||
        static_cast<int64_t>(softmax.getAxis()) + 1 != softmax.getType().getRank())
      return failure();
    std::optional<Scores> scores = Scores::match(softmax.getInput());
    if (!scores)
      return failure();
    MatmulOp product = scores->product;
    const Extents query = extentsOf(product.getLhs()), result = extentsOf(op.getResult());
    // Keys are packed once for each block of rows: fewer rows than these would not pay for it.
    constexpr int64_t kLeastRows = 8;
    const int64_t keys = softmax.getType().getShape().back();
    if (!haveBatchOf(product.getLhs(), {product.getRhs(), op.getRhs()}) ||
        ArrayRef(result).drop_back() != ArrayRef(query).drop_back() || keys < 1 || query.back().most() < 1 ||
        keys > kMostAttentionScores / kLeastRows)
      return failure();
    // What hides later positions is zero where a step has one token.
    if (scores->mask && matchPattern(scores->mask, m_AnyZeroFloat()))
      scores->mask = {};
    b.replaceOpWithNewOp<AttentionOp>(op, product.getLhs(), product.getRhs(), op.getRhs(), scores->mask,
                                      product.getTransposeRhs() ? UnitAttr() : b.getUnitAttr(),
                                      b.getF32FloatAttr(scores->scale ? scores->scale->convertToFloat() : 1.0f),
                                      scores->divides ? b.getUnitAttr() : UnitAttr());
    return success();
  }
};

struct FuseAttentionRun : sluice::impl::FuseAttentionPassBase<FuseAttentionRun> {
  using FuseAttentionPassBase::FuseAttentionPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseAttention>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
