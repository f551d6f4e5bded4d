//===- AssignIntegerLayout.cpp - Packed weights of products of bytes ------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/AssignLayout.h"

#include "dialects/Dataflow/Emit/IntegerProductSpec.h"
#include "dialects/Dataflow/IR/IntegerShapes.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

/// Whether some column's zero point, as packed bytes have it, may be other than 0.
static bool hasZeroPoints(Value zero, Type element) {
  const int64_t shift = element.isUnsignedInteger() ? 128 : 0;
  if (!zero)
    return shift != 0;
  auto values = dyn_cast_if_present<DenseElementsAttr>(getConstant(zero));
  return !values ||
         llvm::any_of(values.getValues<APInt>(), [&](const APInt &value) { return value.getSExtValue() != shift; });
}

/// Null where extents are unknown, or larger than those of panels may be.
static IntegerPanelsAttr attributeOf(MLIRContext *context, const emit::IntegerPanels &wanted) {
  if (!findPanelsProblem(wanted.n, wanted.segments, wanted.length, wanted.panel, kMostByteExtent).empty())
    return {};
  return IntegerPanelsAttr::get(context, static_cast<IntegerDot>(wanted.dot), wanted.n, wanted.segments, wanted.length,
                                wanted.panel, wanted.hasZeroPoints);
}

/// The panels of a product of `rows` rows, by the instructions that serve it best of those that `wanted` names; null
/// where attributeOf is.
static IntegerPanelsAttr panelsOf(MLIRContext *context, int64_t rows, emit::IntegerPanels wanted) {
  wanted.dot = emit::chooseDot(wanted.dot, rows, wanted.length, wanted.hasZeroPoints);
  return attributeOf(context, wanted);
}

/// Whether no byte of a type is the zero point. One that is not constant is taken to be a byte.
static bool isBeyondBytes(Value zero, Type element) {
  auto values = dyn_cast_if_present<DenseElementsAttr>(zero ? getConstant(zero) : ElementsAttr());
  return values && llvm::any_of(values.getValues<APInt>(), [&](const APInt &value) {
           return element.isUnsignedInteger() ? !value.isIntN(8) : !value.isSignedIntN(8);
         });
}

/// The zero points of a constant, if all columns have the same.
static DenseElementsAttr uniformZeroPoints(Value zero) {
  auto values = dyn_cast_if_present<DenseElementsAttr>(zero ? getConstant(zero) : ElementsAttr());
  return values && values.isSplat() ? values : DenseElementsAttr();
}

static bool isConstantOrNone(Value value) { return !value || isConstantExpression(value); }

namespace {

struct PackIntegerMatmul : OpRewritePattern<IntegerMatmulOp> {
  PackIntegerMatmul(MLIRContext *context, const emit::VectorTarget &target, IntegerDot dot)
      : OpRewritePattern(context), target(target), dot(dot) {}
  emit::VectorTarget target;
  IntegerDot dot;

  LogicalResult matchAndRewrite(IntegerMatmulOp op, PatternRewriter &b) const override {
    auto rhs = typeOf(op.getRhs());
    if (op.getPanels() || elementCount(op.getType()) == 0 || elementCount(rhs) == 0)
      return failure();
    ArrayRef<int64_t> shape = rhs.getShape();
    const int64_t columns = shape.back(), rows = shape[shape.size() - 2];
    const bool isOne = llvm::all_of(shape.drop_back(2), [](int64_t extent) { return extent == 1; });
    ArrayRef<int64_t> lhs = typeOf(op.getLhs()).getShape();
    const int64_t taller = isOne ? elementCount(op.getLhs().getType()).value() / rows : lhs[lhs.size() - 2];
    auto panels =
        panelsOf(b.getContext(), taller,
                 {static_cast<emit::IntegerDot>(dot), columns, /*segments=*/1, rows,
                  emit::integerPanel(columns, target), hasZeroPoints(op.getRhsZeroPoint(), rhs.getElementType())});
    if (!panels)
      return failure();
    if (isOne && isConstantExpression(op.getRhs()) && isConstantOrNone(op.getRhsZeroPoint())) {
      Value packed = PackIntegerRhsOp::create(b, op.getLoc(), op.getRhs(), op.getRhsZeroPoint(), panels);
      b.replaceOpWithNewOp<IntegerMatmulOp>(op, op.getType(), op.getLhs(), packed, op.getLhsZeroPoint(), Value(),
                                            panels);
      return success();
    }
    // In each step; the kernel does so itself.
    b.modifyOpInPlace(op, [&] { op.setPanelsAttr(panels); });
    return success();
  }
};

/// Signals are images of height 1.
struct IntegerConvToImage : OpRewritePattern<IntegerConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(IntegerConvOp op, PatternRewriter &b) const override {
    auto input = typeOf(op.getInput()), weight = typeOf(op.getWeight());
    if (input.getRank() != 3 || op.getPanels() || op.getLayout() != Layout::channels_first)
      return failure();
    const Value flatWeight = reshape(b, op.getWeight(), imageOfSignal(weight));
    const Value flatInput = reshape(b, op.getInput(), imageOfSignal(input));
    Value conv = IntegerConvOp::create(
        b, op.getLoc(), tensorOf(imageOfSignal(op.getType()), op.getType().getElementType()), flatInput, flatWeight,
        op.getInputZeroPoint(), op.getWeightZeroPoint(), b.getDenseI64ArrayAttr({1, op.getStrides()[0]}),
        b.getDenseI64ArrayAttr({0, op.getPads()[0], 0, op.getPads()[1]}),
        b.getDenseI64ArrayAttr({1, op.getDilations()[0]}), op.getGroupsAttr(), op.getLayoutAttr(), nullptr, nullptr,
        nullptr);
    b.replaceOp(op, reshape(b, conv, extentsOf(op.getResult())));
    return success();
  }
};

/// integer_conv -> transpose back(integer_conv channels_last packed (transpose there, pack)).
struct PackIntegerConv : OpRewritePattern<IntegerConvOp> {
  PackIntegerConv(MLIRContext *context, const emit::VectorTarget &target, IntegerDot dot)
      : OpRewritePattern(context), target(target), dot(dot) {}
  emit::VectorTarget target;
  IntegerDot dot;

  LogicalResult matchAndRewrite(IntegerConvOp op, PatternRewriter &b) const override {
    auto input = typeOf(op.getInput()), weight = typeOf(op.getWeight());
    Value zero = op.getWeightZeroPoint();
    const auto groups = static_cast<int64_t>(op.getGroups());
    if (input.getRank() != 4 || op.getPanels() || op.getLayout() != Layout::channels_first ||
        !isConstantExpression(op.getWeight()) || !isConstantOrNone(zero) || elementCount(op.getType()) == 0 ||
        elementCount(input) == 0)
      return failure();
    // The border of a padded image holds the zero point.
    if (isBeyondBytes(op.getInputZeroPoint(), input.getElementType()))
      return failure();
    const bool isDepthwise = op.isDepthwise();
    // The matrices of groups share their columns' zero points.
    Location loc = op.getLoc();
    DenseElementsAttr uniform = uniformZeroPoints(zero);
    if (groups > 1 && !isDepthwise && zero && !uniform && elementCount(zero.getType()) != 1)
      return failure();
    ArrayRef<int64_t> shape = weight.getShape();
    const int64_t filters = shape[0] / groups, inputs = shape[1], height = shape[2], width = shape[3];
    const Count taps = Count(height) * width;
    const bool needsZeros = hasZeroPoints(zero, weight.getElementType());
    // Taps of a row lie side by side in the image.
    const bool isRow = groups == 1 && op.getDilations()[1] == 1;
    ArrayRef<int64_t> pixels = op.getType().getShape();
    IntegerPanelsAttr panels =
        isDepthwise ? attributeOf(b.getContext(), {emit::IntegerDot::Plain, groups, taps, /*length=*/1,
                                                   emit::integerPanel(groups, target), needsZeros})
                    : panelsOf(b.getContext(), taps == 1 ? Count(pixels[2]) * pixels[3] : Count(pixels[3]),
                               {static_cast<emit::IntegerDot>(dot), filters, isRow ? height : taps.value(),
                                isRow ? Count(width) * inputs : Count(inputs), emit::integerPanel(filters, target),
                                needsZeros});
    if (!panels)
      return failure();
    if (uniform)
      zero = ConstantOp::create(b, loc, uniform.resizeSplat(RankedTensorType::get({}, uniform.getElementType())));
    Value matrices;
    if (isDepthwise) {
      constexpr int64_t kExchange[] = {1, 0};
      matrices =
          b.createOrFold<TransposeOp>(loc, reshape(b, op.getWeight(), {groups, taps.value()}), ArrayRef(kExchange));
    } else {
      constexpr int64_t kFiltersLast[] = {0, 3, 4, 2, 1};
      Value split = reshape(b, op.getWeight(), {groups, filters, inputs, height, width});
      Value turned = b.createOrFold<TransposeOp>(loc, split, ArrayRef(kFiltersLast));
      matrices = reshape(b, turned, {groups, (taps * inputs).value(), filters});
    }
    Value packed = PackIntegerRhsOp::create(b, loc, matrices, zero, panels);
    Value image = b.createOrFold<TransposeOp>(loc, op.getInput(), ArrayRef(kToLast));
    auto type = permutedType(op.getType(), kToLast);
    Value conv = IntegerConvOp::create(b, loc, type, image, packed, op.getInputZeroPoint(), Value(),
                                       op.getStridesAttr(), op.getPadsAttr(), op.getDilationsAttr(), op.getGroupsAttr(),
                                       LayoutAttr::get(b.getContext(), Layout::channels_last), panels,
                                       b.getDenseI64ArrayAttr({height, width}), b.getI64IntegerAttr(filters * groups));
    b.replaceOpWithNewOp<TransposeOp>(op, conv, ArrayRef(kToFirst));
    return success();
  }
};
} // namespace

void sluice::populateIntegerLayoutPatterns(RewritePatternSet &patterns, const emit::VectorTarget &target,
                                           IntegerDot dot) {
  patterns.add<IntegerConvToImage>(patterns.getContext());
  patterns.add<PackIntegerMatmul, PackIntegerConv>(patterns.getContext(), target, dot);
}
