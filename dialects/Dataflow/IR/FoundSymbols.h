//===- FoundSymbols.h - Where extents are found in a step -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// dataflow.take_first gives a symbol its value. Operators that compute with the
// symbol run behind it, though some of them read nothing that follows from it:
// a constant that is expanded to an extent that was found.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_FOUNDSYMBOLS_H
#define SLUICE_DATAFLOW_IR_FOUNDSYMBOLS_H

#include "dialects/Dataflow/IR/Dataflow.h"

namespace sluice::dataflow {

/// Bit s stands for symbol s.
using SymbolSet = uint32_t;

/// The symbols that types name.
SymbolSet symbolsOfTypes(mlir::TypeRange types);
/// The symbols that the types and expressions of an operator, and of those within it, name.
SymbolSet symbolsUsedBy(mlir::Operation *op);
/// The symbols that an operator, or one within it, finds.
SymbolSet symbolsFoundBy(mlir::Operation *op);

/// Moves operators of a program, and what reads them, behind those that find their symbols. Others keep their order.
void sortBehindFinders(mlir::Block &program);
/// Fails, with an error of `op`, where a member of its program computes with a symbol that is found behind it, and that
/// no operand of `op` has.
llvm::LogicalResult verifyFinders(mlir::Operation *op, mlir::Block &program);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_FOUNDSYMBOLS_H
