//===- Passes.h - Targets, device code and objects --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_PASSES_H
#define SLUICE_CODEGEN_PASSES_H

#include "dialects/Exec/Exec.h"
#include "passes/OptionText.h"
#include "sluice/Codegen/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sluice {

#define GEN_PASS_DECL
#include "lib/Codegen/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Codegen/Passes.h.inc"

/// The name of object file number `index`.
std::string objectFileName(llvm::StringRef prefix, size_t index);

/// Convert a target to the attribute `exec.target` and back. The attribute has all fields that code generation reads.
exec::TargetAttr targetToAttribute(mlir::MLIRContext *context, const TargetSpec &target);
TargetSpec targetFromAttribute(exec::TargetAttr attribute);
/// The text from which resolveTarget makes this target.
std::string targetName(const TargetSpec &target);

} // namespace sluice

#endif // SLUICE_CODEGEN_PASSES_H
