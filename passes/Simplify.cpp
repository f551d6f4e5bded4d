//===- Simplify.cpp - Inference-time simplification -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "passes/Passes.h"
#include "passes/SimplifyTransposes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_SIMPLIFYPASS
#include "passes/Passes.h.inc"
} // namespace sluice

/// `value` under another shape of as many elements.
static Value reshape(OpBuilder &b, Location loc, Value value, ArrayRef<Extent> shape) {
  return b.createOrFold<ReshapeOp>(loc, tensorOf(shape, typeOf(value).getElementType()), value);
}

static Value binary(OpBuilder &b, Location loc, BinaryKind kind, Value lhs, Value rhs) {
  return b.createOrFold<BinaryOp>(loc, lhs, rhs, kind);
}

static Value number(OpBuilder &b, Location loc, FloatType element, double value) {
  APFloat rounded(value);
  bool loses;
  rounded.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
  return ConstantOp::create(b, loc, DenseElementsAttr::get(RankedTensorType::get({1}, element), rounded));
}

namespace {

/// y = x * (scale / sqrt(variance + epsilon)) + (bias - mean * that).
struct DecomposeBatchNorm : OpRewritePattern<BatchNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BatchNormOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto input = typeOf(op.getInput());
    auto channel = typeOf(op.getScale());
    double value = op.getEpsilon().convertToDouble();
    Value epsilon = number(b, loc, cast<FloatType>(channel.getElementType()), value);
    Value deviation =
        b.createOrFold<UnaryOp>(loc, binary(b, loc, BinaryKind::add, op.getVariance(), epsilon), UnaryKind::sqrt);
    Value scale = binary(b, loc, BinaryKind::div, op.getScale(), deviation);
    Value shift = binary(b, loc, BinaryKind::sub, op.getBias(), binary(b, loc, BinaryKind::mul, op.getMean(), scale));
    dataflow::Extents shape(input.getRank(), 1);
    shape[1] = extentsOf(channel)[0];
    Value scaled = binary(b, loc, BinaryKind::mul, op.getInput(), reshape(b, loc, scale, shape));
    b.replaceOpWithNewOp<BinaryOp>(op, scaled, reshape(b, loc, shift, shape), BinaryKind::add);
    return success();
  }
};

/// mean and variance over all but the channels; y = x * a + (bias - mean * a), a
/// = scale / sqrt(variance + epsilon).
struct DecomposeBatchNormTrain : OpRewritePattern<BatchNormTrainOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BatchNormTrainOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value x = op.getInput();
    auto input = typeOf(x);
    SmallVector<int64_t> axes{0};
    dataflow::Extents shape(input.getRank(), 1);
    for (int64_t d = 2; d < input.getRank(); ++d)
      axes.push_back(d);
    shape[1] = extentsOf(input)[1];
    auto mean = [&](Value value) -> Value {
      return ReduceOp::create(b, loc, ReduceKind::mean, value, axes, /*keep_dims=*/false);
    };
    Value average = mean(x);
    Value centered = binary(b, loc, BinaryKind::sub, x, reshape(b, loc, average, shape));
    Value variance = mean(binary(b, loc, BinaryKind::mul, centered, centered));
    Value epsilon = number(b, loc, cast<FloatType>(input.getElementType()), op.getEpsilon().convertToDouble());
    Value deviation = b.createOrFold<UnaryOp>(loc, binary(b, loc, BinaryKind::add, variance, epsilon), UnaryKind::sqrt);
    Value scale = binary(b, loc, BinaryKind::div, op.getScale(), deviation);
    Value shift = binary(b, loc, BinaryKind::sub, op.getBias(), binary(b, loc, BinaryKind::mul, average, scale));
    Value scaled = binary(b, loc, BinaryKind::mul, x, reshape(b, loc, scale, shape));
    Value result = binary(b, loc, BinaryKind::add, scaled, reshape(b, loc, shift, shape));
    b.replaceOp(op, {result, average, variance});
    return success();
  }
};

/// Whether an operand is one number, or one a channel of dimension
/// `channelFromEnd` of `result`, counted from the last.
bool isPerChannel(Value factor, RankedTensorType result, int64_t channelFromEnd) {
  auto type = typeOf(factor);
  if (symbolsOf(type))
    return false;
  int64_t count = elementCount(type);
  if (count == 1)
    return true;
  int64_t position = type.getRank() - 1 - channelFromEnd;
  int64_t channels = result.getDimSize(result.getRank() - 1 - channelFromEnd);
  return position >= 0 && count == channels && type.getDimSize(position) == channels;
}

/// Its elements as a vector of [channels] or [1].
Value channelVector(OpBuilder &b, Value factor) {
  return reshape(b, factor.getLoc(), factor, Extent(elementCount(factor.getType())));
}

/// conv(x, W), W constant, and c a factor of the output channels.
bool foldsIntoConv(ConvOp conv, Value factor) {
  return conv->hasOneUse() && !conv.isLaidOut() && isPerChannel(factor, conv.getType(), conv.getType().getRank() - 2) &&
         isConstantExpression(factor) && isConstantExpression(conv.getWeight());
}

/// matmul(x, W), W constant, and c a factor of the columns.
bool foldsIntoMatmul(MatmulOp matmul, Value factor) {
  return matmul->hasOneUse() && !matmul.getPackedN() && isPerChannel(factor, matmul.getType(), 0) &&
         isConstantExpression(factor) && isConstantExpression(matmul.getRhs());
}

/// conv(x, W) * c -> conv(x, W * c), for c constant per output channel.
struct FoldScaleIntoConv : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &b) const override {
    if (op.getKind() != BinaryKind::mul)
      return failure();
    auto conv = op.getLhs().getDefiningOp<ConvOp>();
    Value factor = op.getRhs();
    if (!conv) {
      conv = op.getRhs().getDefiningOp<ConvOp>();
      factor = op.getLhs();
    }
    if (!conv || op.getType() != conv.getType() || !foldsIntoConv(conv, factor))
      return failure();
    auto weight = typeOf(conv.getWeight());
    Value scale = channelVector(b, factor);
    dataflow::Extents shape(weight.getRank(), 1);
    shape[0] = typeOf(scale).getDimSize(0);
    Value scaled = binary(b, op.getLoc(), BinaryKind::mul, conv.getWeight(), reshape(b, op.getLoc(), scale, shape));
    b.replaceOpWithNewOp<ConvOp>(op, conv.getInput(), scaled, conv.getStrides(), conv.getPads(), conv.getDilations(),
                                 conv.getGroups(), Layout::channels_first, IntegerAttr(), DenseI64ArrayAttr(),
                                 conv.getLibraryAttr(), ConvAlgorithmAttr(), FloatAttr());
    return success();
  }
};

/// matmul(x, W) * c -> matmul(x, W * c), for c constant per column.
struct FoldScaleIntoMatmul : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &b) const override {
    auto matmul = op.getLhs().getDefiningOp<MatmulOp>();
    if (op.getKind() != BinaryKind::mul || !matmul || op.getType() != matmul.getType() ||
        !foldsIntoMatmul(matmul, op.getRhs()))
      return failure();
    Value scale = channelVector(b, op.getRhs());
    Value column = matmul.getTransposeRhs()
                       ? reshape(b, op.getLoc(), scale, {Extent(elementCount(scale.getType())), Extent(1)})
                       : scale;
    Value scaled = binary(b, op.getLoc(), BinaryKind::mul, matmul.getRhs(), column);
    b.replaceOpWithNewOp<MatmulOp>(op, matmul.getLhs(), scaled, matmul.getTransposeLhsAttr(),
                                   matmul.getTransposeRhsAttr(), IntegerAttr(), IntegerAttr());
    return success();
  }
};

/// (y + b) * c -> y * c + b * c, where y is a contraction that c can fold into.
struct DistributeScale : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &b) const override {
    auto sum = op.getLhs().getDefiningOp<BinaryOp>();
    if (op.getKind() != BinaryKind::mul || !sum || sum.getKind() != BinaryKind::add || !sum->hasOneUse() ||
        !isa<FloatType>(op.getType().getElementType()))
      return failure();
    auto conv = sum.getLhs().getDefiningOp<ConvOp>();
    auto matmul = sum.getLhs().getDefiningOp<MatmulOp>();
    bool folds = (conv && foldsIntoConv(conv, op.getRhs())) || (matmul && foldsIntoMatmul(matmul, op.getRhs()));
    if (!folds || !isConstantExpression(sum.getRhs()) || op.getType() != sum.getLhs().getType())
      return failure();
    Value scaled = binary(b, op.getLoc(), BinaryKind::mul, sum.getLhs(), op.getRhs());
    Value shift = binary(b, op.getLoc(), BinaryKind::mul, sum.getRhs(), op.getRhs());
    b.replaceOpWithNewOp<BinaryOp>(op, scaled, shift, BinaryKind::add);
    return success();
  }
};

struct Simplify : sluice::impl::SimplifyPassBase<Simplify> {
  using SimplifyPassBase::SimplifyPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<DecomposeBatchNorm, FoldScaleIntoConv, FoldScaleIntoMatmul, DistributeScale>(context);
    addTransposePatterns(patterns);
    if (!differentiable)
      patterns.add<DecomposeBatchNormTrain>(context);
    for (auto *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(patterns);
    for (RegisteredOperationName name : context->getRegisteredOperations())
      if (name.getDialectNamespace() == DataflowDialect::getDialectNamespace())
        name.getCanonicalizationPatterns(patterns, context);
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    if (failed(applyPatternsGreedily(function, std::move(patterns), config)))
      return signalPassFailure();
    OpPassManager cse("func.func");
    cse.addPass(createCSEPass());
    if (failed(runPipeline(cse, function)))
      signalPassFailure();
  }
};
} // namespace
