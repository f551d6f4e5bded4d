//===- Loads.cpp - Operators that cost what a load costs ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Dataflow/IR/Loads.h"

#include "dialects/Dataflow/IR/Dataflow.h"

namespace sluice::dataflow {

bool isAsCheapAsLoad(mlir::Operation *op) { return mlir::isa<ExtentsOp, GatherOp, RangeOp, SliceOp>(op); }

} // namespace sluice::dataflow
