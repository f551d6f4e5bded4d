//===- PtxEmission.cpp - LLVM dialect to PTX --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "PtxEmission.h"

#include "Optimize.h"
#include "dialects/Dataflow/IR/FirstError.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <regex>

extern "C" {
void LLVMInitializeNVPTXTargetInfo(void);
void LLVMInitializeNVPTXTarget(void);
void LLVMInitializeNVPTXTargetMC(void);
void LLVMInitializeNVPTXAsmPrinter(void);
}

namespace sluice {

namespace {

constexpr const char *kPtxTriple = "nvptx64-nvidia-cuda";

/// The oldest PTX that has the architecture: any driver that knows the one knows the other.
struct Architecture {
  unsigned number;
  const char *features;
};
constexpr std::array kArchitectures = {Architecture{70, "+ptx63"}, Architecture{75, "+ptx63"},
                                       Architecture{80, "+ptx70"}, Architecture{86, "+ptx71"},
                                       Architecture{89, "+ptx78"}, Architecture{90, "+ptx78"}};
constexpr auto kNumbers = [] {
  std::array<unsigned, kArchitectures.size()> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = kArchitectures[i].number;
  return numbers;
}();

Expected<std::unique_ptr<llvm::TargetMachine>> createMachine(unsigned number) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  auto known = std::find_if(kArchitectures.begin(), kArchitectures.end(),
                            [&](const Architecture &a) { return a.number == number; });
  std::string problem;
  llvm::Triple triple(kPtxTriple);
  const llvm::Target *backend =
      known == kArchitectures.end() ? nullptr : llvm::TargetRegistry::lookupTarget(triple, problem);
  std::unique_ptr<llvm::TargetMachine> machine(
      backend
          ? backend->createTargetMachine(triple, "sm_" + std::to_string(number), known->features, llvm::TargetOptions(),
                                         std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive)
          : nullptr);
  if (!machine)
    return makeError(ErrorCode::Unsupported, "this build of LLVM generates no code for 'sm_", number, "'",
                     problem.empty() ? "" : ": ", problem, ", give another --target");
  return machine;
}

/// Math that NVPTX selects no instruction for.
bool isMissing(llvm::Intrinsic::ID id) {
  switch (id) {
  case llvm::Intrinsic::sin:
  case llvm::Intrinsic::cos:
  case llvm::Intrinsic::tan:
  case llvm::Intrinsic::asin:
  case llvm::Intrinsic::acos:
  case llvm::Intrinsic::atan:
  case llvm::Intrinsic::atan2:
  case llvm::Intrinsic::sinh:
  case llvm::Intrinsic::cosh:
  case llvm::Intrinsic::tanh:
  case llvm::Intrinsic::exp:
  case llvm::Intrinsic::exp2:
  case llvm::Intrinsic::exp10:
  case llvm::Intrinsic::log:
  case llvm::Intrinsic::log2:
  case llvm::Intrinsic::log10:
  case llvm::Intrinsic::pow:
  case llvm::Intrinsic::powi:
    return true;
  default:
    return false;
  }
}

/// Says which operator calls something that will not be there.
Status checkResolved(llvm::Module &module, const llvm::StringMap<const GridFunction *> &grids) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
      if (!callee || !callee->isDeclaration() || (callee->isIntrinsic() && !isMissing(callee->getIntrinsicID())))
        continue;
      const GridFunction *grid = grids.lookup(function.getName());
      return makeError(ErrorCode::Unsupported, "operator '", grid ? grid->op : function.getName().str(), "' calls '",
                       callee->getName().str(), "', which has no implementation for GPUs, place the operator on a CPU");
    }
  return {};
}

} // namespace

std::span<const unsigned> deviceArchitectures() { return kNumbers; }

std::vector<std::string> unresolvedInPtx(const std::string &ptx) {
  std::vector<std::string> names;
  static const std::regex declared("\\.extern\\s+\\.func\\s+(?:\\([^)]*\\)\\s*)?([A-Za-z_$][\\w$]*)");
  for (std::sregex_iterator it(ptx.begin(), ptx.end(), declared), end; it != end; ++it)
    if (std::find(names.begin(), names.end(), (*it)[1].str()) == names.end())
      names.push_back((*it)[1].str());
  return names;
}

Expected<std::vector<DeviceCode>> emitPtx(mlir::gpu::GPUModuleOp source, std::span<const GridFunction> functions,
                                          std::span<const unsigned> architectures) {
  llvm::LLVMContext context;
  const FirstError problem(source.getContext());
  std::unique_ptr<llvm::Module> module = mlir::translateModuleToLLVMIR(source, context, "sluice");
  if (!module)
    return makeError(ErrorCode::Internal, "device code has operations outside the LLVM dialect: ", problem.message());
  llvm::StringMap<const GridFunction *> grids;
  for (const GridFunction &function : functions)
    grids[function.name] = &function;
  module->setSourceFileName("sluice");
  module->setTargetTriple(llvm::Triple(kPtxTriple));
  std::vector<DeviceCode> codes;
  for (unsigned number : architectures) {
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(number));
    std::unique_ptr<llvm::Module> own = llvm::CloneModule(*module);
    own->setDataLayout(machine->createDataLayout());
    if (llvm::GlobalVariable *global = own->getGlobalVariable(kArchitectureGlobal)) {
      global->setInitializer(llvm::ConstantInt::get(global->getValueType(), number));
      global->setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    SLUICE_RETURN_IF_ERROR(checkResolved(*own, grids));
    SLUICE_ASSIGN_OR_RETURN(std::string text, optimizeAndEmit(*own, *machine, 3, llvm::CodeGenFileType::AssemblyFile));
    // What code generation itself may have called.
    if (std::vector<std::string> missing = unresolvedInPtx(text); !missing.empty())
      return makeError(ErrorCode::Unsupported, "code for 'sm_", number, "' calls '", missing.front(),
                       "', which does not exist, this is a bug of Sluice, please report it");
    codes.push_back({number, std::move(text)});
  }
  return codes;
}

} // namespace sluice
