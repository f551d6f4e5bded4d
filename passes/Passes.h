//===- Passes.h - Passes over the dataflow dialect --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_PASSES_H
#define SLUICE_PASSES_PASSES_H

#include "dialects/Dataflow/IR/Dataflow.h"
#include "passes/OptionText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace sluice {

struct Profile;

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

/// The pass dataflow-ask-libraries with a profile in memory, in the place of one that it reads from a file. The profile
/// must outlive the pass.
std::unique_ptr<mlir::Pass> createAskLibrariesPass(const AskLibrariesPassOptions &options, const Profile *profile);

} // namespace sluice

#endif // SLUICE_PASSES_PASSES_H
