//===- EmitKernels.cpp - From outlined operators to loops -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "passes/Bridge/PlanAttributes.h"
#include "passes/EmitKernels/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace sluice {
#define GEN_PASS_DEF_EMITKERNELSPASS
#include "passes/EmitKernels/Passes.h.inc"
} // namespace sluice

using namespace sluice;
using namespace sluice::dataflow;

namespace {

/// The operator that an outlined function holds; null, and an error, where there is
/// anything else than reshapes beside it.
Operation *operatorOf(func::FuncOp function) {
  Operation *found = nullptr;
  const bool isOne = function.getBody().hasOneBlock() &&
                     llvm::all_of(function.getBody().front().without_terminator(), [&](Operation &op) {
                       if (isa<ReshapeOp>(op) && isa<BlockArgument>(op.getOperand(0)))
                         return true;
                       return !std::exchange(found, &op);
                     });
  if (!isOne || !found || !isa<DataflowDialect>(found->getDialect()) || !isa<CostOpInterface>(found) ||
      !llvm::equal(function.getBody().front().getTerminator()->getOperands(), found->getResults())) {
    function.emitError()
        << "is not a kernel, attribute '" << DataflowDialect::KernelAttrHelper::getNameStr()
        << "', write exactly one operator of the dataflow dialect, not counting reshapes of arguments, and return the "
        << "results of the operator";
    return nullptr;
  }
  return found;
}

VectorTarget vectorsOf(exec::TargetAttr attribute) {
  SmallVector<StringRef> features;
  attribute.getFeatures().split(features, ',');
  auto has = [&](StringRef feature) { return llvm::is_contained(features, feature); };
  VectorTarget target;
  target.lanesF32 = attribute.getVectorBits() / 32;
  target.registers = attribute.getRegisters();
  target.l2Bytes = attribute.getL2Bytes();
  const llvm::Triple triple(attribute.getTriple());
  if (!triple.isX86()) {
    const bool isMixed = has("+i8mm"), isVector = triple.isAArch64() || has("+v") || has("+simd128");
    target.bytes = !triple.isAArch64() ? emit::ByteInstructions::Portable
                   : isMixed           ? emit::ByteInstructions::NeonMixed
                                       : emit::ByteInstructions::Neon;
    target.byteProducts = triple.isAArch64() && (isMixed || has("+dotprod")) ? emit::IntegerDot::Quads
                          : isVector                                         ? emit::IntegerDot::Pairs
                                                                             : emit::IntegerDot::Plain;
    target.halfProducts = emit::IntegerDot::Plain;
    target.isUnrolledLater = triple.isWasm();
    return target;
  }
  const bool isWide = attribute.getVectorBits() == 512;
  target.byteProducts = !has(isWide ? "+avx512vnni" : "+avxvnni") ? emit::IntegerDot::Pairs
                        : isWide && has("+amx-int8")              ? emit::IntegerDot::Tiles
                                                                  : emit::IntegerDot::Quads;
  target.halfProducts = !isWide || !has("+avx512bf16") ? emit::IntegerDot::Plain
                        : has("+amx-bf16")             ? emit::IntegerDot::Tiles
                                                       : emit::IntegerDot::Quads;
  return target;
}

struct EmitKernels : sluice::impl::EmitKernelsPassBase<EmitKernels> {
  using EmitKernelsPassBase::EmitKernelsPassBase;

  void runOnOperation() override {
    std::optional<KernelForm> otherForm = symbolizeKernelForm(form);
    std::optional<MatmulPrecision> rounded = symbolizeMatmulPrecision(precision);
    if (!otherForm || !rounded) {
      getOperation().emitError() << "'" << (otherForm ? precision.getValue() : form.getValue())
                                 << "' is unknown, option '" << (otherForm ? "precision" : "form") << "', use "
                                 << (otherForm ? "f32, tf32, bf16 or f16" : "chunks or grids");
      return signalPassFailure();
    }
    std::optional<ChunkTimes> times = ChunkTimes::parse(chunks);
    if (!times) {
      getOperation().emitError()
          << "'" << chunks.getValue()
          << "' is not a list of times, option 'chunks', write RATE=NANOSECONDS or RATE=never, as in "
             "vectors=9000,products=never";
      return signalPassFailure();
    }
    VectorTarget target;
    if (auto attribute = exec::ExecDialect::TargetAttrHelper(&getContext()).getAttr(getOperation()))
      target = vectorsOf(attribute);
    // Kernels come before what launches them, in the order of their operators.
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(getOperation().getLoc());
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!function->hasAttr(DataflowDialect::KernelAttrHelper::getNameStr()))
        continue;
      Operation *op = operatorOf(function);
      if (!op || failed(emit(op, function.getSymName(), *kernels, target, *otherForm, *rounded, *times)))
        return signalPassFailure();
      function.erase();
    }
    getOperation().getBody()->getOperations().splice(getOperation().getBody()->begin(),
                                                     kernels->getBody()->getOperations());
  }

private:
  LogicalResult emit(Operation *op, StringRef symbol, ModuleOp kernels, const VectorTarget &target,
                     KernelForm otherForm, MatmulPrecision rounded, const ChunkTimes &times) {
    auto device = DataflowDialect::DeviceAttrHelper(op->getContext()).getAttr(op);
    SmallVector<unsigned> slots;
    for (Value operand : op->getOperands())
      slots.push_back(cast<BlockArgument>(viewedValue(operand)).getArgNumber());
    return KernelEmitter::emit(
        op, symbol, kernels, target, slots,
        {device ? device.getForm() : otherForm, rounded, times, op->getParentOfType<func::FuncOp>().getNumArguments()});
  }
};

} // namespace
