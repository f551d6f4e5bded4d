//===- Functions.h - The code of a kind of unary and binary -----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each kind has one entry in Unary.cpp or Binary.cpp. An entry without a function
// that the kind's row asks for does not compile: float functions where the row
// admits floats, integer functions where it admits integers, and a derivative where it admits floats (in `unary`,
// unless the derivative is zero).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_ELEMENTWISE_FUNCTIONS_H
#define SLUICE_DATAFLOW_ELEMENTWISE_FUNCTIONS_H

#include "dialects/Dataflow/Elementwise/Algebra.h"
#include "dialects/Dataflow/Elementwise/Floats.h"
#include "dialects/Dataflow/IR/ElementwiseKinds.h"

#include <array>
#include <utility>

namespace sluice::dataflow {

/// The parameters of a kind of `unary`.
struct Parameters {
  double alpha = 0, beta = 0;
};

struct UnaryFunction {
  UnaryKind kind;
  /// f(x) as IR, on scalars and vectors.
  mlir::Value (*emit)(const Floats &f, mlir::Value x) = nullptr;
  mlir::Value (*emitInteger)(const Integers &f, mlir::Value x) = nullptr;
  /// f(x) on the host, by C's own functions if C has them. Tests compare kernels with it.
  double (*evaluate)(double x, Parameters p) = nullptr;
  /// f(x) for an element extended to 64 bits; the result is truncated.
  int64_t (*evaluateInteger)(int64_t x, bool isUnsigned) = nullptr;
  /// f'(x) as dataflow operators, from x, or from y = f(x) if that suffices; both in f32 or f64.
  mlir::Value (*derivative)(const Algebra &a, mlir::Value x, mlir::Value y) = nullptr;
};

/// What the derivatives of y = f(a, c) are built from.
struct BinaryPoint {
  Algebra m;
  mlir::Value g;       ///< The derivative of the loss by y; it has y's type.
  mlir::Value a, c, y; ///< The operands, before broadcasting, and the result.
  mlir::Value zero;    ///< Zero, a scalar.
};

struct BinaryFunction {
  BinaryKind kind;
  mlir::Value (*emit)(const Floats &f, mlir::Value x, mlir::Value y) = nullptr;
  mlir::Value (*emitInteger)(const Integers &f, mlir::Value x, mlir::Value y) = nullptr;
  /// Computes `count` elements; `out` may be an operand.
  void (*evaluate)(const double *x, const double *y, double *out, int64_t count) = nullptr;
  /// f(x, y) for elements extended to 64 bits; `width` is the width of the element type in bits.
  int64_t (*evaluateInteger)(int64_t x, int64_t y, bool isUnsigned, unsigned width) = nullptr;
  /// g times the derivative by an operand, in the shape of y. The caller sums over broadcast dimensions.
  mlir::Value (*byLhs)(const BinaryPoint &p) = nullptr;
  mlir::Value (*byRhs)(const BinaryPoint &p) = nullptr;
};

const UnaryFunction &functionOf(UnaryKind kind);
const BinaryFunction &functionOf(BinaryKind kind);

/// The index of the only entry of a kind; the number of entries if there is none or more than one.
template <typename Function, size_t count, typename Kind>
constexpr size_t indexOf(const Function (&entries)[count], Kind kind) {
  size_t found = count;
  for (size_t i = 0; i < count; ++i)
    if (entries[i].kind == kind) {
      if (found != count)
        return count;
      found = i;
    }
  return found;
}

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_ELEMENTWISE_FUNCTIONS_H
