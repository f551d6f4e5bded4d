//===- FoundSymbols.h - Where extents are found in a step -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// dataflow.take_first gives a symbol its value. Operators that compute with the symbol must run after it, even if they
// read nothing that follows from it: for example, the expansion of a constant to the extent that was found.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_FOUNDSYMBOLS_H
#define SLUICE_DATAFLOW_IR_FOUNDSYMBOLS_H

#include "dialects/Dataflow/IR/Dataflow.h"

namespace sluice::dataflow {

/// A set of symbols; bit s is symbol s.
using SymbolSet = uint32_t;

/// The symbols that types name.
SymbolSet symbolsOfTypes(mlir::TypeRange types);
/// The symbols that the types and expressions of an operator, and of those within it, name.
SymbolSet symbolsUsedBy(mlir::Operation *op);
/// The symbols that an operator, or one within it, finds.
SymbolSet symbolsFoundBy(mlir::Operation *op);

/// Moves operators of a program, and their readers, after the operators that find their symbols. Others keep their
/// order.
void sortBehindFinders(mlir::Block &program);
/// Emits an error on `op` and fails if a member of its program computes with a symbol that a later member finds and
/// that no operand of `op` has.
llvm::LogicalResult verifyFinders(mlir::Operation *op, mlir::Block &program);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_FOUNDSYMBOLS_H
