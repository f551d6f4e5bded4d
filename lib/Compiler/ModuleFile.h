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

/// Reads a module that has one function of dataflow operators on tensors of static shape, in the form that the import
/// makes. Arguments and results without names get "inputN" and "outputN"; names must be unique. A result that updates a
/// state must name a state of its type. Fails with the message of the parser or the verifier, or names what is wrong.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> readModuleFile(mlir::MLIRContext &context, const std::string &path);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_MODULEFILE_H
