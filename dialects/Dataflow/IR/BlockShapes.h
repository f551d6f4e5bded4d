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

/// Why there are no panels of that form; empty where there are.
std::string findPanelsProblem(const emit::BlockPanels &panels);

/// The zero points that an operand is: none where it is null, numbers of `bits` packed in bytes, or floats.
emit::BlockZeros zerosOf(mlir::Value zeroPoints);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_BLOCKSHAPES_H
