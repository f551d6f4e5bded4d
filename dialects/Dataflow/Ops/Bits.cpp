//===- Bits.cpp - bitcast, random -----------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Scalars.h"
#include "dialects/Dataflow/Ops/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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
  std::memcpy(results[0].data, operands[0].data, tensorBytes(results[0].type));
  return success();
}

int64_t BitcastOp::getFlops() { return 0; }

//===----------------------------------------------------------------------===//
// random
//===----------------------------------------------------------------------===//

/// SplitMix64 (Steele, Lea, Flood 2014) of the seed and the element's position, its upper 24 bits as a fraction.
Value RandomOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type i64 = b.getI64Type();
  auto c = [&](uint64_t value) { return emitIntConstant(b, loc, i64, static_cast<int64_t>(value)); };
  auto mixed = [&](Value x, int64_t shift, uint64_t factor) -> Value {
    Value folded = arith::XOrIOp::create(b, loc, x, arith::ShRUIOp::create(b, loc, x, c(shift)));
    return arith::MulIOp::create(b, loc, folded, c(factor));
  };
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  Value position = arith::IndexCastOp::create(b, loc, i64, kernel.linearize(indices, getType().getShape()));
  Value step = arith::MulIOp::create(b, loc, arith::AddIOp::create(b, loc, position, c(1)), c(kStep));
  // The seed through one round of its own, so that neighbouring seeds share no run of values.
  uint64_t seed = (static_cast<uint64_t>(getSeed()) + kStep) * 0xbf58476d1ce4e5b9;
  Value x = arith::AddIOp::create(b, loc, c(seed ^ seed >> 31), step);
  x = mixed(mixed(x, 30, 0xbf58476d1ce4e5b9), 27, 0x94d049bb133111eb);
  x = arith::XOrIOp::create(b, loc, x, arith::ShRUIOp::create(b, loc, x, c(31)));
  Value top = arith::ShRUIOp::create(b, loc, x, c(40));
  Value fraction = arith::SIToFPOp::create(b, loc, b.getF32Type(), top);
  return arith::MulFOp::create(b, loc, fraction, emitConstant(b, loc, b.getF32Type(), 0x1p-24));
}
