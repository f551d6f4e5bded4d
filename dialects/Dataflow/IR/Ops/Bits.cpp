//===- Bits.cpp - bitcast, random -----------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// bitcast
//===----------------------------------------------------------------------===//

LogicalResult BitcastOp::verify() {
  auto from = typeOf(getInput()), to = getType();
  if (from.getShape() != to.getShape())
    return emitOpError("result shape differs from that of the input");
  if (elementBytes(from.getElementType()) != elementBytes(to.getElementType()))
    return emitOpError("elements of ") << from.getElementType() << " and " << to.getElementType() << " differ in size";
  return success();
}

int64_t BitcastOp::getFlops() { return 0; }
