//===- BlockShapes.h - Products by weights in blocks ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_BLOCKSHAPES_H
#define SLUICE_DATAFLOW_IR_BLOCKSHAPES_H

#include "dialects/Dataflow/IR/BlockPanels.h"
#include "dialects/Dataflow/IR/Dataflow.h"

namespace sluice::dataflow {

emit::BlockPanels describePanels(BlockPanelsAttr panels);

/// Why panels of that form cannot exist; empty if they can.
std::string findPanelsProblem(const emit::BlockPanels &panels);

/// The form of the zero points of an operand: none if it is null, else numbers of `bits` bits packed in bytes, or
/// floats.
emit::BlockZeros zerosOf(mlir::Value zeroPoints);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_BLOCKSHAPES_H
