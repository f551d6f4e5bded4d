//===- KernelJit.cpp - Runs one emitted kernel ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "KernelJit.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <ctime>

using namespace mlir;

namespace sluice::bench {

Kernel::Kernel() = default;
Kernel::~Kernel() = default;

void Kernel::dumpObject(const std::string &path) const { engine->dumpToObjectFile(path); }

static double threadMs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

static llvm::Error optimize(llvm::Module *module, llvm::TargetMachine *machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager passes;
  if (auto error =
          builder.parsePassPipeline(passes, "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-"
                                            "mssa(licm),gvn,instcombine<no-verify-fixpoint>,dse)"))
    return error;
  passes.run(*module, modules);
  return llvm::Error::success();
}

std::unique_ptr<Kernel> Kernel::compile(const KernelBody &body) {
  std::unique_ptr<Kernel> kernel(new Kernel);
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  kernel->context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  MLIRContext &context = *kernel->context;
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                      scf::SCFDialect, vector::VectorDialect>();
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  double started = threadMs();

  OpBuilder b(&context);
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  Type pointer = LLVM::LLVMPointerType::get(&context), i64 = b.getI64Type();
  b.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(b, loc, "kernel", b.getFunctionType({pointer, pointer, pointer, i64, i64}, {}));
  Block *entry = function.addEntryBlock();
  // The operands do not overlap: without this, a store to the output would make LLVM read the others again.
  for (unsigned i = 0; i < 3; ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  b.setInsertionPointToStart(entry);
  auto arguments = entry->getArguments();
  body(b, loc, ValueRange(arguments).take_front(3), arguments[3], arguments[4]);
  func::ReturnOp::create(b, loc);

  if (failed(verify(*module)))
    return nullptr;
  PassManager passes(&context);
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(*module)))
    return nullptr;

  auto hostBuilder = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  hostBuilder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  auto machine = llvm::cantFail(hostBuilder.createTargetMachine());
  llvm::TargetMachine *machinePointer = machine.get();
  auto transformer = [machinePointer](llvm::Module *m) { return optimize(m, machinePointer); };
  ExecutionEngineOptions options;
  options.transformer = transformer;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
  options.enableObjectDump = true;
  auto engine = ExecutionEngine::create(*module, options, std::move(machine));
  if (!engine) {
    llvm::consumeError(engine.takeError());
    return nullptr;
  }
  kernel->engine = std::move(*engine);
  auto address = kernel->engine->lookup("kernel");
  if (!address) {
    llvm::consumeError(address.takeError());
    return nullptr;
  }
  kernel->function = reinterpret_cast<decltype(kernel->function)>(*address);
  kernel->milliseconds = threadMs() - started;
  return kernel;
}

} // namespace sluice::bench
