//===- Floats.h - Short names for scalar arithmetic as IR -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_ELEMENTWISE_FLOATS_H
#define SLUICE_DATAFLOW_ELEMENTWISE_FLOATS_H

#include "dialects/Dataflow/Elementwise/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

namespace sluice::dataflow {

/// `type` with another element type: vector<nxT> -> vector<nxE>, T -> E.
inline mlir::Type withElement(mlir::Type type, mlir::Type element) {
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
    return mlir::VectorType::get(vector.getShape(), element);
  return element;
}

/// Builds instructions on scalars, or vectors, of one type.
struct Instructions {
  using Value = mlir::Value;

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type type;

  template <typename OpTy>
  Value make(Value x) const {
    return OpTy::create(b, loc, x);
  }
  template <typename OpTy>
  Value make(Value x, Value y) const {
    return OpTy::create(b, loc, x, y);
  }
  Value select(Value condition, Value x, Value y) const {
    return mlir::arith::SelectOp::create(b, loc, condition, x, y);
  }
};

/// Arithmetic on scalars, or vectors, of one float type.
struct Floats : Instructions {
  using Predicate = mlir::arith::CmpFPredicate;

  double alpha = 0, beta = 0; ///< The parameters of a kind of `unary`.

  Value c(double value) const { return emitConstant(b, loc, type, value); }
  Value add(Value x, Value y) const { return make<mlir::arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) const { return make<mlir::arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) const { return make<mlir::arith::MulFOp>(x, y); }
  Value div(Value x, Value y) const { return make<mlir::arith::DivFOp>(x, y); }
  Value exp(Value x) const { return make<mlir::math::ExpOp>(x); }
  Value log1p(Value x) const { return make<mlir::math::Log1pOp>(x); }
  Value erf(Value x) const { return make<mlir::math::ErfOp>(x); }
  Value tanh(Value x) const { return make<mlir::math::TanhOp>(x); }
  Value abs(Value x) const { return make<mlir::math::AbsFOp>(x); }
  Value neg(Value x) const { return make<mlir::arith::NegFOp>(x); }
  Value compare(Predicate predicate, Value x, Value y) const {
    return mlir::arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value lt(Value x, Value y) const { return compare(Predicate::OLT, x, y); }
  Value gt(Value x, Value y) const { return compare(Predicate::OGT, x, y); }
  /// max(x, 0) as one instruction on x86. The result of NaN is NaN.
  Value relu(Value x) const { return select(lt(x, c(0)), c(0), x); }
  Value clamp(Value x, double low, double high) const {
    Value raised = select(lt(x, c(low)), c(low), x);
    return select(gt(raised, c(high)), c(high), raised);
  }
  Value sigmoid(Value x) const { return div(c(1), add(c(1), exp(neg(x)))); }
  /// max(x, 0) + log1p(exp(-|x|)), which cannot overflow.
  Value softplus(Value x) const { return add(relu(x), log1p(exp(neg(abs(x))))); }
};

/// Arithmetic on scalars, or vectors, of one integer type.
struct Integers : Instructions {
  using Predicate = mlir::arith::CmpIPredicate;

  bool isUnsigned;

  Value c(int64_t value) const { return emitIntConstant(b, loc, type, value); }
  unsigned width() const { return mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth(); }
  Value compare(Predicate predicate, Value x, Value y) const {
    return mlir::arith::CmpIOp::create(b, loc, predicate, x, y);
  }
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_ELEMENTWISE_FLOATS_H
