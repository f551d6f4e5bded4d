//===- WasmOffsets.h - Offsets in WebAssembly's accesses --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_WASMOFFSETS_H
#define SLUICE_CODEGEN_WASMOFFSETS_H

#include "llvm/IR/LegacyPassManager.h"

#include <cstdint>

namespace sluice {

/// The stack of a module for browsers, which lies at address 0, below all data.
inline constexpr int64_t kWasmStackBytes = int64_t(1) << 20;

/// Holds LLVM's passes that emit code. Before the passes that select instructions, it inserts one that marks those
/// addresses `base + constant` of loads and stores that cannot wrap. Loads and stores of WebAssembly have a constant
/// offset and do not wrap. LLVM's loop passes drop the marks of the kernels, and LLVM adds an unmarked constant by an
/// instruction of its own.
class WasmEmissionPasses : public llvm::legacy::PassManager {
public:
  void add(llvm::Pass *pass) override;
};

} // namespace sluice

#endif // SLUICE_CODEGEN_WASMOFFSETS_H
