//===- FunctionCheck.h - What the bridges can read --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_BRIDGE_FUNCTIONCHECK_H
#define SLUICE_PASSES_BRIDGE_FUNCTIONCHECK_H

#include "sluice/Support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {

/// Fails unless the function is one block of operators of the dataflow dialect on tensors of static shape whose
/// elements have a size in bytes, each symbol is found or is the extent of an argument or the length of a state, its
/// states have names of their own, each result that updates a state has the type of that state, and no two inputs and
/// no two outputs have one name. `where` ends the first part of the message: "function 'main'". The cost is linear in
/// the function's size.
Status checkFunction(mlir::func::FuncOp function, const std::string &where);
/// The same, for a function that the message names.
Status checkFunction(mlir::func::FuncOp function);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_FUNCTIONCHECK_H
