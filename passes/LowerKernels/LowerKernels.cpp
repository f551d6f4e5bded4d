//===- LowerKernels.cpp - Kernels to the LLVM dialect ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/LowerKernels/Passes.h"
#include "passes/LowerKernels/Patterns.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace sluice {

#define GEN_PASS_DEF_SIMPLIFYKERNELPASS
#define GEN_PASS_DEF_CALLLIBMPASS
#define GEN_PASS_DEF_KERNELSTOLLVMPASS
#define GEN_PASS_DEF_GRIDSTONVVMPASS
#include "passes/LowerKernels/Passes.h.inc"

namespace {

/// Approximated well over the whole range. Sine and cosine are not: their range
/// reduction in f32 loses all digits for large arguments; powers lose some.
bool isApproximated(StringRef name) {
  static const llvm::StringSet<> names = {
      math::ExpOp::getOperationName(),   math::ExpM1Op::getOperationName(), math::LogOp::getOperationName(),
      math::Log2Op::getOperationName(),  math::Log1pOp::getOperationName(), math::TanhOp::getOperationName(),
      math::ErfOp::getOperationName(),   math::ErfcOp::getOperationName(),  math::AtanOp::getOperationName(),
      math::Atan2Op::getOperationName(), math::CbrtOp::getOperationName(),  math::AcosOp::getOperationName(),
      math::AsinOp::getOperationName()};
  return names.contains(name);
}

/// x to a constant power by multiplications and roots: libm's pow is a hundred times slower.
/// MLIR's own pattern takes roots of -0 and -infinity, where C's pow has +0 and infinity for -0
/// and -infinity to a positive power that is no whole number.
struct ReducePower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &rewriter) const override {
    const std::optional<double> exponent = floatConstant(op.getRhs());
    if (!exponent)
      return failure();
    Location loc = op.getLoc();
    Value x = op.getLhs();
    Type type = x.getType();
    auto real = [&](double value) { return makeFloatConstant(rewriter, loc, type, value); };
    auto times = [&](Value a, Value b) -> Value { return arith::MulFOp::create(rewriter, loc, a, b); };
    auto root = [&](Value a) -> Value { return math::SqrtOp::create(rewriter, loc, a); };
    auto withoutSign = [&]() -> Value {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      Value isLowest = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OEQ, x, real(-kInfinity));
      Value sum = arith::AddFOp::create(rewriter, loc, x, real(0));
      return arith::SelectOp::create(rewriter, loc, isLowest, real(kInfinity), sum);
    };
    const double power = *exponent;
    if (power == 1)
      rewriter.replaceOp(op, x);
    else if (power == 2)
      rewriter.replaceOp(op, times(x, x));
    else if (power == 3)
      rewriter.replaceOp(op, times(times(x, x), x));
    else if (power == -1)
      rewriter.replaceOpWithNewOp<arith::DivFOp>(op, real(1), x);
    else if (power == 0.5)
      rewriter.replaceOp(op, root(withoutSign()));
    else if (power == -0.5)
      rewriter.replaceOpWithNewOp<math::RsqrtOp>(op, withoutSign());
    else if (power == 0.75) {
      Value square = root(withoutSign());
      rewriter.replaceOp(op, times(square, root(square)));
    } else
      return failure();
    return success();
  }
};

struct SimplifyKernel : impl::SimplifyKernelPassBase<SimplifyKernel> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<ReducePower>(context);
    auto module = getOperation()->getParentOfType<ModuleOp>();
    populateRoundedQuotientPatterns(patterns, module && hasFusedMultiplyAdd(module));
    if (isa<func::FuncOp>(getOperation()) && module && lacksFusedMultiplyAdd(module))
      populateExponentialPatterns(patterns);
    populateMathF32ExpansionPatterns(
        patterns, [](StringRef) { return true; }, /*benefit=*/2);
    populateMathPolynomialApproximationPatterns(patterns, isApproximated);
    math::populateExpansionPatterns(patterns, {"clampf", "rsqrt"});
    arith::populateArithExpandOpsPatterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);

    vector::populateVectorContractLoweringPatterns(patterns, vector::VectorContractLowering::OuterProduct);
    vector::populateVectorOuterProductLoweringPatterns(patterns);
    vector::populateVectorMultiReductionLoweringPatterns(patterns, vector::VectorMultiReductionLowering::InnerParallel);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorMaskOpLoweringPatterns(patterns);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    vector::populateVectorTransposeLoweringPatterns(patterns, vector::VectorTransposeLowering::Shuffle1D);
    vector::populateVectorInterleaveLoweringPatterns(patterns);
    vector::populateVectorBitCastLoweringPatterns(patterns);
    vector::populateVectorStepLoweringPatterns(patterns);
    vector::populateVectorRankReducingFMAPattern(patterns);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

/// Math that LLVM has no intrinsic for, or only one that loses digits.
struct CallLibm : impl::CallLibmPassBase<CallLibm> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathToLibmConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<math::ErfOp, math::ErfcOp, math::CbrtOp, math::ExpM1Op, math::Log1pOp, math::SinhOp,
                        math::CoshOp, math::TanhOp, math::AsinhOp, math::AcoshOp, math::AtanhOp, math::TanOp,
                        math::AsinOp, math::AcosOp, math::AtanOp, math::Atan2Op>();
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

/// What kernels of both forms have in their bodies.
void populateBodyPatterns(LLVMTypeConverter &types, RewritePatternSet &patterns) {
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  index::populateIndexToLLVMConversionPatterns(types, patterns);
  ub::populateUBToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns, /*approximateLog1p=*/false);
  // The order of a vector's lanes is fixed when it is compiled, so that sums
  // by halves are as reproducible as sums in sequence, and quicker.
  populateVectorToLLVMConversionPatterns(types, patterns, /*reassociateFPReductions=*/true,
                                         /*force32BitVectorIndices=*/true);
}

/// What is left, in one conversion.
struct KernelsToLLVM : impl::KernelsToLLVMPassBase<KernelsToLLVM> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    LLVMTypeConverter types(context);
    RewritePatternSet patterns(context);
    populateBodyPatterns(types, patterns);
    populateFuncToLLVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(*context);
    target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, index::IndexDialect,
                             math::MathDialect, ub::UBDialect, vector::VectorDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    llvm::StringSet<> internal;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPrivate() && !function.isExternal())
        internal.insert(function.getSymName());
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      return signalPassFailure();
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (internal.contains(function.getSymName()))
        function.setLinkage(LLVM::Linkage::Internal);
  }
};

struct GridsToNVVM : impl::GridsToNVVMPassBase<GridsToNVVM> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    LLVMTypeConverter types(context);
    configureGpuToNVVMTypeConverter(types);
    RewritePatternSet patterns(context);
    populateBodyPatterns(types, patterns);
    // Upstream's patterns hold calls of libdevice too: what comes first has an instruction.
    populateGpuToNVVMConversionPatterns(types, patterns, /*benefit=*/0);
    LLVMConversionTarget target(*context);
    target.addLegalDialect<NVVM::NVVMDialect>();
    target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, gpu::GPUDialect, index::IndexDialect,
                             math::MathDialect, ub::UBDialect, vector::VectorDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void addLowerKernels(OpPassManager &passes) {
  passes.addNestedPass<func::FuncOp>(createSimplifyKernelPass());
  passes.addNestedPass<func::FuncOp>(createExpandHalfPass());
  passes.addPass(createCallLibmPass());
  passes.addNestedPass<func::FuncOp>(createSCFToControlFlowPass());
  passes.addPass(createKernelsToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

void addLowerGridKernels(OpPassManager &passes) {
  passes.addNestedPass<gpu::GPUFuncOp>(createSimplifyKernelPass());
  passes.addNestedPass<gpu::GPUFuncOp>(createSCFToControlFlowPass());
  passes.addPass(createGridsToNVVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

void registerLowerKernelsPipeline() {
  static PassPipelineRegistration<> registration("lower-kernels", "Lower kernels to the LLVM dialect, calling libm",
                                                 [](OpPassManager &passes) { addLowerKernels(passes); });
}

} // namespace sluice
