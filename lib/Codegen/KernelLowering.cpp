//===- KernelLowering.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Codegen/KernelLowering.h"

#include "dialects/Dataflow/IR/FirstError.h"
#include "passes/LowerKernels/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

using namespace mlir;

namespace sluice {

void registerCodegenDialects(DialectRegistry &registry) {
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                  gpu::GPUDialect, index::IndexDialect, math::MathDialect, scf::SCFDialect, ub::UBDialect,
                  vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

static Status runPasses(PassManager &passes, Operation *module) {
  const FirstError problem(module->getContext());
  if (failed(passes.run(module)))
    return makeError(ErrorCode::Internal, "a kernel cannot be lowered: ", problem.message(),
                     ", this is a bug of Sluice, please report it");
  return {};
}

Status lowerKernelsToLLVM(ModuleOp module) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  addLowerKernels(passes);
  return runPasses(passes, module);
}

Status lowerGridsToNVVM(gpu::GPUModuleOp module) {
  PassManager passes(module.getContext(), gpu::GPUModuleOp::getOperationName());
  addLowerGridKernels(passes);
  return runPasses(passes, module);
}

} // namespace sluice
