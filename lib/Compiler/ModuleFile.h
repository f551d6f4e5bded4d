//===- ModuleFile.h - Programs written in the dialect -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_MODULEFILE_H
#define SLUICE_LIB_COMPILER_MODULEFILE_H

#include "sluice/Support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sluice {

/// A module of one function of dataflow operators on tensors of static shape, as
/// import makes them: arguments and results have names (those without get
/// "inputN" and "outputN"), each once; a result that updates names a state of its
/// type. Fails with the parser's or verifier's words, or naming what is amiss.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> readModuleFile(mlir::MLIRContext &context, const std::string &path);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_MODULEFILE_H
