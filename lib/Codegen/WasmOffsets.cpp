//===- WasmOffsets.cpp - Offsets in WebAssembly's accesses ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "WasmOffsets.h"

#include "llvm/CodeGen/StackProtector.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Pass.h"

namespace sluice {

namespace {

/// The module is linked with its stack first, so data begin at kWasmStackBytes: if base + offset is the address of data
/// and the offset is smaller than this, the base is not below zero. Addresses of the stack are high too as long as half
/// of it is free. In a fuller stack, an access whose base is below zero traps, as an overflow does.
constexpr uint64_t kGreatestOffset = kWasmStackBytes / 2;

bool isAddressOf(const llvm::User *user, const llvm::Value *address) {
  if (const auto *store = llvm::dyn_cast<llvm::StoreInst>(user))
    return store->getPointerOperand() == address && store->getValueOperand() != address;
  return llvm::isa<llvm::LoadInst>(user);
}

class MarkOffsets : public llvm::FunctionPass {
public:
  static char ID; // NOLINT(readability-identifier-naming): passes of LLVM name it so.
  MarkOffsets() : FunctionPass(ID) {}
  llvm::StringRef getPassName() const override { return "Mark offsets that do not wrap"; }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override { usage.setPreservesAll(); }

  bool runOnFunction(llvm::Function &function) override {
    const llvm::DataLayout &layout = function.getParent()->getDataLayout();
    bool changed = false;
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
      if (!address || address->hasNoUnsignedWrap())
        continue;
      llvm::APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
      if (!address->accumulateConstantOffset(layout, offset) || offset.ugt(kGreatestOffset) ||
          !llvm::all_of(address->users(), [&](const llvm::User *user) { return isAddressOf(user, address); }))
        continue;
      address->setNoWrapFlags(address->getNoWrapFlags() | llvm::GEPNoWrapFlags::noUnsignedWrap());
      changed = true;
    }
    return changed;
  }
};
char MarkOffsets::ID = 0;

} // namespace

void WasmEmissionPasses::add(llvm::Pass *pass) {
  // The last of LLVM's passes over its IR; the manager may delete a pass that it has already.
  const bool isLast = pass->getPassID() == &llvm::StackProtector::ID;
  PassManager::add(pass);
  if (isLast)
    PassManager::add(new MarkOffsets());
}

} // namespace sluice
