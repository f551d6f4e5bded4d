//===- AssignBlockLayout.cpp - Packed weights of 2, 4 and 8 bits ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/AssignLayout.h"

#include "dialects/Dataflow/Emit/BlockProduct.h"
#include "dialects/Dataflow/IR/BlockShapes.h"
#include "dialects/Dataflow/IR/Extents.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace {

struct PackBlockMatmul : OpRewritePattern<BlockMatmulOp> {
  PackBlockMatmul(MLIRContext *context, const emit::VectorTarget &target, int64_t roundedBits)
      : OpRewritePattern(context), target(target), roundedBits(roundedBits) {}
  emit::VectorTarget target;
  int64_t roundedBits;

  LogicalResult matchAndRewrite(BlockMatmulOp op, PatternRewriter &b) const override {
    Value zeros = op.getZeroPoints();
    if (!isConstantExpression(op.getWeight()) || !isConstantExpression(op.getScales()) ||
        (zeros && !isConstantExpression(zeros)) || elementCount(op.getType()) == 0)
      return failure();
    const int64_t columns = shapeOf(op.getWeight())[0], depth = shapeOf(op.getLhs()).back();
    emit::BlockPanels panels{static_cast<int64_t>(op.getBits()),
                             static_cast<int64_t>(op.getBlock()),
                             columns,
                             depth,
                             emit::blockPanel(columns, target),
                             static_cast<int64_t>(elementOf(op.getScales()).getIntOrFloatBitWidth() / 8),
                             zerosOf(zeros)};
    if (!findPanelsProblem(panels).empty())
      return failure();
    auto attribute = BlockPanelsAttr::get(b.getContext(), panels.bits, panels.block, panels.n, panels.k, panels.panel,
                                          elementOf(op.getScales()), static_cast<BlockZeros>(panels.zeros));
    Value packed = PackBlocksOp::create(b, op.getLoc(), op.getWeight(), op.getScales(), zeros, attribute);
    auto rounded = op.getLhs().getDefiningOp<RoundBlocksOp>();
    // There are no instructions for fewer columns than a vector has lanes.
    if (!rounded || rounded.getBlock() != op.getBlock() || columns < target.lanesF32 ||
        panels.block > emit::RoundedRows::kMostBlock || panels.bits > roundedBits) {
      b.replaceOpWithNewOp<PackedBlockMatmulOp>(op, op.getType(), op.getLhs(), packed, attribute);
      return success();
    }
    // Products by weights of the same bits share the rows: common subexpressions are eliminated.
    Extents rows = extentsOf(rounded.getInput());
    rows.back() = panels.roundedRows().rowBytes();
    Value bytes = QuantizeBlocksOp::create(b, op.getLoc(), tensorOf(rows, b.getI8Type()), rounded.getInput(),
                                           op.getBits(), op.getBlock());
    const auto floats = withElement(op.getType(), b.getF32Type());
    Value product = PackedBlockMatmulOp::create(b, op.getLoc(), floats, bytes, packed, attribute);
    if (product.getType() != op.getType())
      product = CastOp::create(b, op.getLoc(), op.getType(), product);
    b.replaceOp(op, product);
    return success();
  }
};

} // namespace

void sluice::populateBlockLayoutPatterns(RewritePatternSet &patterns, const emit::VectorTarget &target,
                                         int64_t roundedBits) {
  patterns.add<PackBlockMatmul>(patterns.getContext(), target, roundedBits);
}
