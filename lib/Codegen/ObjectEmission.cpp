//===- ObjectEmission.cpp - LLVM dialect to ELF objects -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Codegen/ObjectEmission.h"

#include "Optimize.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "passes/ExecToLLVM/Passes.h"
#include "sluice/Plan/ParameterSection.h"
#include "sluice/Runtime/abi.h"
#include "sluice/Support/Units.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/SplitModule.h"
#include <atomic>
#include <mutex>
#include <thread>

namespace sluice {

namespace {

/// Functions a part, where the caller leaves the number of parts to us, and the
/// most parts: each repeats the work of declaring what others define.
constexpr size_t kFunctionsPerPart = 8;
constexpr size_t kMostParts = 32;

/// Registers the code generators of the architectures that resolveTarget knows, where this LLVM has them.
void initializeTargets() {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
  });
}

Expected<std::unique_ptr<llvm::TargetMachine>> createMachine(const TargetSpec &target, int optLevel) {
  initializeTargets();
  llvm::Triple triple(target.triple);
  std::string problem;
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!backend)
    return makeError(ErrorCode::Unsupported, "LLVM has no code generator for '", target.triple, "': ", problem,
                     ", give another --target");
  llvm::CodeGenOptLevel level = optLevel >= 3   ? llvm::CodeGenOptLevel::Aggressive
                                : optLevel == 2 ? llvm::CodeGenOptLevel::Default
                                : optLevel == 1 ? llvm::CodeGenOptLevel::Less
                                                : llvm::CodeGenOptLevel::None;
  llvm::TargetOptions options;
  if (triple.isRISCV64())
    options.MCOptions.ABIName = "lp64d"; // Linux's; LLVM's default passes no floating-point registers.
  // A WebAssembly module is loaded where it was linked.
  const llvm::Reloc::Model relocation = triple.isWasm() ? llvm::Reloc::Static : llvm::Reloc::PIC_;
  std::unique_ptr<llvm::TargetMachine> machine(
      backend->createTargetMachine(triple, target.cpu, target.features, options, relocation, std::nullopt, level));
  if (!machine)
    return makeError(ErrorCode::Unsupported, "LLVM has no code generator for '", target.triple, "' and CPU '",
                     target.cpu, "', give another --target");
  return machine;
}

/// One part.
Expected<std::string> compile(llvm::Module &module, const TargetSpec &target, int optLevel) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(target, optLevel));
  return optimizeAndEmit(module, *machine, optLevel, llvm::CodeGenFileType::ObjectFile);
}

/// RISC-V's calling convention keeps 32-bit integers sign-extended in registers, and LLVM leaves that to the attributes
/// of arguments and results. Other architectures' leave the upper bits open.
template <typename Callable>
void extendIntegers(Callable &callable, llvm::FunctionType *type) {
  if (type->getReturnType()->isIntegerTy(32))
    callable.addRetAttr(llvm::Attribute::SExt);
  for (unsigned i = 0; i < type->getNumParams(); ++i)
    if (type->getParamType(i)->isIntegerTy(32))
      callable.addParamAttr(i, llvm::Attribute::SExt);
}

void extendIntegers(llvm::Module &module) {
  for (llvm::Function &function : module.functions()) {
    if (!function.isIntrinsic())
      extendIntegers(function, function.getFunctionType());
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && !llvm::isa<llvm::IntrinsicInst>(call))
        extendIntegers(*call, call->getFunctionType());
  }
}

/// What is called or read from outside.
bool isVisible(llvm::StringRef name) {
  return name == kModelEntry || name == SLUICE_GRID_TABLE || llvm::is_contained(kFreestandingEntries, name);
}

/// What the whole library shares: who is visible, and how code is tuned.
void finishModule(llvm::Module &module, const TargetSpec &target) {
  // Without a name of its own, it would carry that of a buffer or a file.
  module.setSourceFileName("sluice");
  module.setModuleIdentifier("sluice");
  std::string width = std::to_string(target.vectorBits);
  for (llvm::GlobalObject &object : module.global_objects())
    if (!object.isDeclaration() && !object.hasLocalLinkage() && !isVisible(object.getName())) {
      object.setVisibility(llvm::GlobalValue::HiddenVisibility);
      object.setDSOLocal(true);
    }
  for (llvm::Function &function : module.functions()) {
    if (function.isDeclaration())
      continue;
    function.setDoesNotThrow();
    function.addFnAttr("tune-cpu", target.tune);
    function.addFnAttr("prefer-vector-width", width);
  }
}

unsigned chooseParts(const llvm::Module &module) {
  size_t defined = llvm::count_if(module.functions(), [](const llvm::Function &f) { return !f.isDeclaration(); });
  return std::clamp<size_t>(defined / kFunctionsPerPart, 1, kMostParts);
}

} // namespace

Expected<std::vector<std::string>> emitObjects(mlir::ModuleOp source, const TargetSpec &target,
                                               const EmissionParams &params) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(target, params.optLevel));
  std::vector<llvm::SmallVector<char, 0>> parts;
  {
    llvm::LLVMContext context;
    const FirstError problem(source.getContext());
    std::unique_ptr<llvm::Module> module = mlir::translateModuleToLLVMIR(source, context, "sluice");
    if (!module)
      return makeError(ErrorCode::Internal, "the module has operations outside the LLVM dialect: ", problem.message(),
                       ", lower kernels and program before you emit the module");
    module->setTargetTriple(llvm::Triple(target.triple));
    module->setDataLayout(machine->createDataLayout());
    if (machine->getTargetTriple().isRISCV64())
      extendIntegers(*module);
    finishModule(*module, target);
    unsigned count = params.parts ? params.parts : chooseParts(*module);
    if (count == 1) {
      SLUICE_ASSIGN_OR_RETURN(std::string object, compile(*module, target, params.optLevel));
      return std::vector<std::string>{std::move(object)};
    }
    // Each part gets a context of its own, by way of bitcode: contexts are not
    // shared between threads.
    llvm::SplitModule(
        *module, count,
        [&](std::unique_ptr<llvm::Module> part) {
          llvm::raw_svector_ostream stream(parts.emplace_back());
          llvm::WriteBitcodeToFile(*part, stream);
        },
        /*PreserveLocals=*/true);
  }

  std::vector<Expected<std::string>> objects(parts.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < parts.size(); i = next++) {
      llvm::LLVMContext context;
      llvm::StringRef bitcode(parts[i].data(), parts[i].size());
      auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "sluice"), context);
      if (!module)
        objects[i] =
            makeError(ErrorCode::Internal, "LLVM rejects its own bitcode: ", llvm::toString(module.takeError()),
                      ", this is a bug of Sluice, please report it");
      else
        objects[i] = compile(**module, target, params.optLevel);
    }
  };
  size_t wanted = params.threads ? params.threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> helpers;
  for (size_t i = 1; i < std::min(wanted, parts.size()); ++i)
    helpers.emplace_back(work);
  work();
  helpers.clear();

  std::vector<std::string> result;
  for (Expected<std::string> &object : objects) {
    if (!object)
      return propagate(object);
    result.push_back(std::move(*object));
  }
  return result;
}

namespace {

/// A module that `fill` makes, as an object.
Expected<std::string> emitModule(const TargetSpec &target, llvm::function_ref<void(llvm::Module &)> fill) {
  constexpr int optLevel = 1;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, createMachine(target, optLevel));
  llvm::LLVMContext context;
  llvm::Module module("sluice", context);
  module.setSourceFileName("sluice");
  module.setTargetTriple(llvm::Triple(target.triple));
  module.setDataLayout(machine->createDataLayout());
  fill(module);
  return optimizeAndEmit(module, *machine, optLevel, llvm::CodeGenFileType::ObjectFile);
}

llvm::GlobalVariable *addParameters(llvm::Module &module, llvm::StringRef name, std::string_view data,
                                    llvm::GlobalValue::LinkageTypes linkage) {
  auto *bytes = llvm::ConstantDataArray::getRaw(data, data.size(), llvm::Type::getInt8Ty(module.getContext()));
  auto *global = new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true, linkage, bytes, name);
  global->setAlignment(llvm::Align(kArenaAlignment));
  return global;
}

void addOpenFunction(llvm::Module &module, const OpenFunction &open) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::Value *parameters = llvm::ConstantPointerNull::get(b.getPtrTy());
  if (!open.parameters.empty())
    parameters = addParameters(module, "parameters", open.parameters, llvm::GlobalValue::InternalLinkage);
  auto *function = llvm::Function::Create(llvm::FunctionType::get(b.getPtrTy(), {b.getPtrTy()}, false),
                                          llvm::GlobalValue::ExternalLinkage, open.name, module);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
  llvm::Value *model =
      b.CreateCall(module.getOrInsertFunction(open.model, llvm::FunctionType::get(b.getPtrTy(), false)));
  llvm::Value *size = b.getInt64(open.parameters.size());
  auto *type = llvm::FunctionType::get(b.getPtrTy(), {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty(), b.getPtrTy()}, false);
  b.CreateRet(b.CreateCall(module.getOrInsertFunction("sluice_open_model", type),
                           {model, parameters, size, function->getArg(0)}));
}

} // namespace

Expected<std::string> emitOpenFunction(const OpenFunction &open, const TargetSpec &target) {
  return emitModule(target, [&](llvm::Module &module) { addOpenFunction(module, open); });
}

Expected<std::string> emitParameters(const std::string &name, std::string_view data, const TargetSpec &target) {
  return emitModule(target, [&](llvm::Module &module) {
    addParameters(module, name, data, llvm::GlobalValue::ExternalLinkage)
        ->setVisibility(llvm::GlobalValue::HiddenVisibility);
  });
}

} // namespace sluice
