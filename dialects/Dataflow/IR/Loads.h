//===- Loads.h - Operators that cost what a load costs ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_LOADS_H
#define SLUICE_DATAFLOW_IR_LOADS_H

#include "mlir/IR/Operation.h"

namespace sluice::dataflow {

/// Whether computing an element of an elemental operator's result costs about as much as loading it: the element is one
/// of an operand, found without a division, or a number that its position gives.
bool isAsCheapAsLoad(mlir::Operation *op);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_LOADS_H
