//===- Algebra.h - Arithmetic of tensors with numbers -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_ELEMENTWISE_ALGEBRA_H
#define SLUICE_DATAFLOW_ELEMENTWISE_ALGEBRA_H

#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/IR/TensorBuilder.h"

namespace sluice::dataflow {

/// The number as a scalar tensor of x's element type.
inline mlir::Value number(TensorBuilder &build, mlir::Value x, double value) {
  return build.splat(elementOf(x), value);
}

/// Builds tensor operators. Numbers become scalar tensors of the operand's element type. A null operand, which
/// TensorBuilder returns on an error, makes the result null.
struct Algebra {
  using Value = mlir::Value;

  TensorBuilder &build;
  double alpha = 0, beta = 0; ///< The parameters of a kind of `unary`.

  Value like(Value x, double value) const { return x ? number(build, x, value) : Value(); }
  Value plus(Value x, double value) const { return build.add(x, like(x, value)); }
  Value times(Value x, double value) const { return build.mul(x, like(x, value)); }
  Value minusFrom(double value, Value x) const { return build.sub(like(x, value), x); }
  Value square(Value x) const { return build.mul(x, x); }
  Value apply(UnaryKind kind, Value x) const { return build.unary(kind, x); }
  Value inverse(Value x) const { return apply(UnaryKind::reciprocal, x); }
  Value isLess(Value x, double value) const { return build.compare(ComparePredicate::lt, x, like(x, value)); }
  Value isMore(Value x, double value) const { return build.compare(ComparePredicate::gt, x, like(x, value)); }
  Value choose(Value condition, Value x, double otherwise) const {
    return build.select(condition, x, like(x, otherwise));
  }
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_ELEMENTWISE_ALGEBRA_H
