//===- AssignHalfLayout.cpp - Packed weights in half precision ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/AssignLayout.h"

#include "dialects/Dataflow/Emit/IntegerProductSpec.h"
#include "dialects/Dataflow/IR/HalfShapes.h"
#include "dialects/Dataflow/IR/IntegerShapes.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace {

/// The choice of a form, which both patterns share.
struct Forms {
  emit::VectorTarget target;
  HalfDot dot;
  bool rounds;

  /// The panels of a product of `rows` rows of elements of a type; null where another kernel is faster,
  /// and where extents are unknown or larger than those of panels may be. An f16 takes
  /// four products of bf16 numbers, which only tiles make up for. Taps are filled up to the tiles' 32 numbers.
  HalfPanelsAttr panels(Type element, int64_t rows, int64_t columns, int64_t segments, int64_t length) const {
    constexpr int64_t leastLength = 16, leastColumns = 8;
    const int64_t parts = halfParts(element);
    // A tile takes the same time for any number of rows.
    const int64_t leastRows = parts > 1 ? 6 : 3;
    if (!(element.isF16() || element.isBF16() || (rounds && element.isF32())) || length < leastLength ||
        columns < leastColumns)
      return {};
    const bool isTiled = dot == HalfDot::tiles && rows >= leastRows;
    // Where there are tiles, vdpbf16ps is no faster than f32's products: it pays by bytes alone, those of rounded f32.
    if (!isTiled && (parts > 1 || (dot == HalfDot::tiles && !element.isF32())))
      return {};
    const int64_t panel = emit::integerPanel(columns, target);
    if (!findPanelsProblem(columns, segments, length, panel, kMostHalfExtent).empty())
      return {};
    return HalfPanelsAttr::get(element.getContext(), isTiled ? HalfDot::tiles : HalfDot::pairs, parts, columns,
                               segments, length, panel);
  }
};

struct PackHalfMatmul : OpRewritePattern<MatmulOp> {
  PackHalfMatmul(MLIRContext *context, const Forms &forms) : OpRewritePattern(context, /*benefit=*/2), forms(forms) {}
  Forms forms;

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &b) const override {
    auto lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs());
    if (op.getPackedN() || op.getLibrary() || op.getTransposeLhs() || !isConstantExpression(op.getRhs()) ||
        elementCount(op.getType()) == 0 || elementCount(rhs) == 0)
      return failure();
    int64_t depth = rhs.getShape()[rhs.getRank() - 2], columns = rhs.getShape().back();
    Extents matrix{depth, columns};
    if (op.getTransposeRhs())
      std::swap(depth, columns);
    // One right-hand side for all rows, of which there are as many as in the result.
    if (elementCount(rhs) != depth * columns ||
        ArrayRef(extentsOf(op.getResult())).drop_back() != ArrayRef(extentsOf(op.getLhs())).drop_back())
      return failure();
    const int64_t rows = product(lhs.getShape().drop_back());
    // Few rows wait for their weights, of which two numbers an f16 are twice the bytes; windows read them again.
    constexpr int64_t leastRowsOfF16 = 8;
    if (lhs.getElementType().isF16() && rows < leastRowsOfF16)
      return failure();
    HalfPanelsAttr panels = forms.panels(lhs.getElementType(), rows, columns, /*segments=*/1, depth);
    if (!panels)
      return failure();
    Value weight = reshape(b, op.getRhs(), matrix);
    if (op.getTransposeRhs())
      weight = b.createOrFold<TransposeOp>(op.getLoc(), weight, ArrayRef<int64_t>{1, 0});
    Value packed = PackHalfRhsOp::create(b, op.getLoc(), weight, panels);
    b.replaceOpWithNewOp<HalfMatmulOp>(op, op.getLhs(), packed, panels);
    return success();
  }
};

/// conv -> transpose back(half_conv (transpose there, pack)).
struct PackHalfConv : OpRewritePattern<ConvOp> {
  PackHalfConv(MLIRContext *context, const Forms &forms) : OpRewritePattern(context, /*benefit=*/2), forms(forms) {}
  Forms forms;

  LogicalResult matchAndRewrite(ConvOp op, PatternRewriter &b) const override {
    auto input = typeOf(op.getInput());
    if (input.getRank() != 4 || op.isLaidOut() || op.getLibrary() || op.getGroups() != 1 ||
        !isConstantExpression(op.getWeight()) || elementCount(op.getType()) == 0 || elementCount(input) == 0)
      return failure();
    ArrayRef<int64_t> filter = shapeOf(op.getWeight()), out = op.getType().getShape();
    const int64_t filters = filter[0], channels = filter[1], taps = product(filter.drop_front(2));
    const bool isPointwise =
        taps == 1 && product(op.getStrides()) == 1 &&
        ArrayRef(extentsOf(op.getResult())).drop_front(2) == ArrayRef(extentsOf(op.getInput())).drop_front(2);
    const int64_t rows = isPointwise ? product({out[0], out[2], out[3]}).value() : out[3];
    HalfPanelsAttr panels = forms.panels(input.getElementType(), rows, filters, taps, channels);
    if (!panels)
      return failure();
    constexpr int64_t kFiltersLast[] = {2, 3, 1, 0};
    Location loc = op.getLoc();
    Value turned = b.createOrFold<TransposeOp>(loc, op.getWeight(), ArrayRef(kFiltersLast));
    Value packed = PackHalfRhsOp::create(b, loc, reshape(b, turned, {taps * channels, filters}), panels);
    Value image = b.createOrFold<TransposeOp>(loc, op.getInput(), ArrayRef(kToLast));
    Value conv = HalfConvOp::create(b, loc, image, packed, op.getKernelShape(), op.getStrides(), op.getPads(),
                                    op.getDilations(), panels);
    b.replaceOpWithNewOp<TransposeOp>(op, conv, ArrayRef(kToFirst));
    return success();
  }
};

} // namespace

void sluice::populateHalfLayoutPatterns(RewritePatternSet &patterns, const emit::VectorTarget &target, HalfDot dot,
                                        bool rounds) {
  patterns.add<PackHalfMatmul, PackHalfConv>(patterns.getContext(), Forms{target, dot, rounds});
}
