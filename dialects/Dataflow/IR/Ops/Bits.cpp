//===- Bits.cpp - bitcast, random -----------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// bitcast
//===----------------------------------------------------------------------===//

LogicalResult BitcastOp::verify() {
  auto from = typeOf(getInput()), to = getType();
  if (from.getShape() != to.getShape())
    return emitOpError("result shape differs from the input's");
  if (elementBytes(from.getElementType()) != elementBytes(to.getElementType()))
    return emitOpError("elements of ") << from.getElementType() << " and " << to.getElementType() << " differ in size";
  return success();
}

Value BitcastOp::emitScalar(OpBuilder &b, Location loc, ValueRange operands) {
  return emitBitcast(b, loc, operands[0], typeOf(getInput()).getElementType(), getType().getElementType());
}

LogicalResult BitcastOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  std::copy_n(operands[0].data, tensorBytes(results[0].type), results[0].data);
  return success();
}

int64_t BitcastOp::getFlops() { return 0; }

//===----------------------------------------------------------------------===//
// random
//===----------------------------------------------------------------------===//

/// SplitMix64 of the seed and the element's position, its upper 24 bits as a fraction.
Value RandomOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type i64 = b.getI64Type();
  auto c = [&](uint64_t value) { return emitIntConstant(b, loc, i64, static_cast<int64_t>(value)); };
  Value position = arith::IndexCastOp::create(b, loc, i64, kernel.linearize(indices, getType().getShape()));
  Value step = arith::MulIOp::create(b, loc, arith::AddIOp::create(b, loc, position, c(1)), c(kSplitMix64Step));
  // The seed through one round of its own, so that neighbouring seeds share no run of values.
  uint64_t seed = (static_cast<uint64_t>(getSeed()) + kSplitMix64Step) * 0xbf58476d1ce4e5b9;
  Value bits = emitSplitMix64(b, loc, arith::AddIOp::create(b, loc, c(seed ^ seed >> 31), step));
  Value top = arith::ShRUIOp::create(b, loc, bits, c(40));
  Value fraction = arith::SIToFPOp::create(b, loc, b.getF32Type(), top);
  return arith::MulFOp::create(b, loc, fraction, emitConstant(b, loc, b.getF32Type(), 0x1p-24));
}
