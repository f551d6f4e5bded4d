//===- Optimize.cpp - LLVM's pipeline and code generation -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Optimize.h"

#include "WasmOffsets.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace sluice {

Expected<std::string> optimizeAndEmit(llvm::Module &module, llvm::TargetMachine &machine, int optLevel,
                                      llvm::CodeGenFileType kind) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = optLevel >= 2;
  tuning.LoopInterleaving = optLevel >= 2;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::OptimizationLevel level = optLevel >= 3   ? llvm::OptimizationLevel::O3
                                  : optLevel == 2 ? llvm::OptimizationLevel::O2
                                                  : llvm::OptimizationLevel::O1;
  if (optLevel == 0)
    builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0).run(module, modules);
  else
    builder.buildPerModuleDefaultPipeline(level).run(module, modules);

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager plain;
  WasmEmissionPasses forWasm;
  llvm::legacy::PassManager &emission = machine.getTargetTriple().isWasm() ? forWasm : plain;
  if (machine.addPassesToEmitFile(emission, stream, nullptr, kind))
    return makeError(ErrorCode::Internal, "LLVM's code generator for '", machine.getTargetTriple().str(),
                     "' cannot write ", kind == llvm::CodeGenFileType::ObjectFile ? "objects" : "assembly",
                     ", this is a bug of Sluice, please report it");
  emission.run(module);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace sluice
