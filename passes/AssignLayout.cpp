//===- AssignLayout.cpp - Channels-last images, packed weights ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Packing.h"
#include "passes/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_ASSIGNLAYOUTPASS
#include "passes/Passes.h.inc"
} // namespace sluice

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static constexpr int64_t kToLast[] = {0, 2, 3, 1};
static constexpr int64_t kToFirst[] = {0, 3, 1, 2};

static Value reshape(OpBuilder &b, Value value, ArrayRef<int64_t> shape) {
  return b.createOrFold<ReshapeOp>(value.getLoc(), RankedTensorType::get(shape, typeOf(value).getElementType()), value);
}

/// Types the image and panel kernels accumulate in f32.
static bool isKernelElement(Type type) { return type.isF32() || type.isF16() || type.isBF16(); }

namespace {

/// Signals are images of height 1.
struct ConvToImage : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvOp op, PatternRewriter &b) const override {
    auto input = typeOf(op.getInput()), weight = typeOf(op.getWeight());
    if (input.getRank() != 3 || op.getLayout() != Layout::channels_first || op.getPackedChannels())
      return failure();
    auto flat = [&](RankedTensorType type) {
      return SmallVector<int64_t>{type.getDimSize(0), type.getDimSize(1), 1, type.getDimSize(2)};
    };
    Value conv = ConvOp::create(b, op.getLoc(), reshape(b, op.getInput(), flat(input)),
                                reshape(b, op.getWeight(), flat(weight)), ArrayRef<int64_t>{1, op.getStrides()[0]},
                                ArrayRef<int64_t>{0, op.getPads()[0], 0, op.getPads()[1]},
                                ArrayRef<int64_t>{1, op.getDilations()[0]}, op.getGroups(), Layout::channels_first,
                                IntegerAttr(), DenseI64ArrayAttr());
    b.replaceOp(op, reshape(b, conv, op.getType().getShape()));
    return success();
  }
};

/// conv -> transpose back(conv channels_last packed (transpose there, pack)).
struct PackConv : OpRewritePattern<ConvOp> {
  PackConv(MLIRContext *context, const emit::VectorTarget &target) : OpRewritePattern(context), target(target) {}
  emit::VectorTarget target;

  LogicalResult matchAndRewrite(ConvOp op, PatternRewriter &b) const override {
    auto input = typeOf(op.getInput());
    if (input.getRank() != 4 || op.getLayout() != Layout::channels_first || op.getPackedChannels() ||
        !isKernelElement(input.getElementType()) || !isConstantExpression(op.getWeight()) ||
        elementCount(op.getType()) == 0 || elementCount(input) == 0)
      return failure();
    Location loc = op.getLoc();
    emit::ConvSpec spec = describeConv(op);
    Value packed = PackConvWeightOp::create(b, loc, op.getWeight(), op.getGroups(), emit::convOutputBlock(spec, target),
                                            emit::isDepthwise(spec));
    Value image = b.createOrFold<TransposeOp>(loc, op.getInput(), ArrayRef(kToLast));
    Value conv = ConvOp::create(b, loc, image, packed, op.getStrides(), op.getPads(), op.getDilations(), op.getGroups(),
                                Layout::channels_last, b.getI64IntegerAttr(op.getOutputChannels()),
                                b.getDenseI64ArrayAttr(op.getKernelShape()));
    b.replaceOpWithNewOp<TransposeOp>(op, conv, ArrayRef(kToFirst));
    return success();
  }
};

struct PackMatmul : OpRewritePattern<MatmulOp> {
  PackMatmul(MLIRContext *context, const emit::VectorTarget &target) : OpRewritePattern(context), target(target) {}
  emit::VectorTarget target;

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &b) const override {
    auto rhs = typeOf(op.getRhs());
    if (op.getPackedN() || !isKernelElement(rhs.getElementType()) || !isConstantExpression(op.getRhs()) ||
        elementCount(op.getType()) == 0 || elementCount(rhs) == 0)
      return failure();
    emit::MatmulSpec spec = describeMatmul(op);
    Value packed =
        PackMatmulRhsOp::create(b, op.getLoc(), op.getRhs(), op.getTransposeRhs(), emit::matmulPanel(spec, target));
    b.replaceOpWithNewOp<MatmulOp>(op, op.getLhs(), packed, op.getTransposeLhsAttr(), UnitAttr(),
                                   b.getI64IntegerAttr(op.getType().getShape().back()));
    return success();
  }
};

/// op(transpose(x)) -> transpose(op'(x)): a transposition to channels_first
/// moves below an operator that commutes with it.
struct SinkTranspose : OpInterfaceRewritePattern<PermutableOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  static TransposeOp layoutTranspose(Value value) {
    auto transpose = value.getDefiningOp<TransposeOp>();
    return transpose && transpose.getPermutation() == ArrayRef(kToFirst) ? transpose : TransposeOp();
  }

  /// An operand of a 4-dimensional operator under four dimensions.
  static SmallVector<int64_t> imageShape(Value operand) {
    ArrayRef<int64_t> own = typeOf(operand).getShape();
    SmallVector<int64_t> shape(4 - own.size(), 1);
    llvm::append_range(shape, own);
    return shape;
  }

  /// Its channels-last form costs nothing at run time.
  static bool isFree(Value operand) {
    if (layoutTranspose(operand) || elementCount(operand.getType()) == 1)
      return true;
    if (typeOf(operand).getRank() > 4)
      return false;
    SmallVector<int64_t> shape = imageShape(operand);
    return isConstantExpression(operand) || shape[1] == 1 || (shape[2] == 1 && shape[3] == 1);
  }

  static Value toLast(OpBuilder &b, Value operand) {
    if (auto transpose = layoutTranspose(operand))
      return transpose.getInput();
    if (elementCount(operand.getType()) == 1)
      return operand;
    return b.createOrFold<TransposeOp>(operand.getLoc(), reshape(b, operand, imageShape(operand)), ArrayRef(kToLast));
  }

  LogicalResult matchAndRewrite(PermutableOpInterface op, PatternRewriter &b) const override {
    if (op->getNumResults() != 1 || typeOf(op->getResult(0)).getRank() != 4)
      return failure();
    // Look before building anything: a pattern that fails must leave no trace.
    bool sinks = false;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!op.isPermutedOperand(i))
        continue;
      if (!isFree(operand))
        return failure();
      sinks |= static_cast<bool>(layoutTranspose(operand));
    }
    if (!sinks)
      return failure();
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      operands.push_back(op.isPermutedOperand(i) ? toLast(b, operand) : operand);
    FailureOr<Operation *> permuted = op.permute(b, kToLast, operands);
    if (failed(permuted))
      return failure();
    b.replaceOpWithNewOp<TransposeOp>(op, (*permuted)->getResult(0), ArrayRef(kToFirst));
    return success();
  }
};

struct AssignLayout : sluice::impl::AssignLayoutPassBase<AssignLayout> {
  using AssignLayoutPassBase::AssignLayoutPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    constexpr int64_t kMost = 1024;
    if (lanes < 1 || lanes > kMost || !llvm::isPowerOf2_64(lanes))
      return emitError(UnknownLoc::get(context))
             << "lanes = " << lanes.getValue() << " of dataflow-assign-layout is not a power of two from 1 to "
             << kMost;
    if (registers < 1 || registers > kMost)
      return emitError(UnknownLoc::get(context))
             << "registers = " << registers.getValue() << " of dataflow-assign-layout is not from 1 to " << kMost;
    return success();
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    MLIRContext *context = &getContext();
    emit::VectorTarget target;
    target.lanesF32 = lanes;
    target.registers = registers;
    RewritePatternSet patterns(context);
    patterns.add<ConvToImage, SinkTranspose>(context);
    patterns.add<PackConv, PackMatmul>(context, target);
    TransposeOp::getCanonicalizationPatterns(patterns, context);
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
