//===- Passes.h - From outlined operators to loops --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_EMITKERNELS_PASSES_H
#define SLUICE_PASSES_EMITKERNELS_PASSES_H

#include "passes/OptionText.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sluice {

#define GEN_PASS_DECL
#include "passes/EmitKernels/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/EmitKernels/Passes.h.inc"

} // namespace sluice

#endif // SLUICE_PASSES_EMITKERNELS_PASSES_H
