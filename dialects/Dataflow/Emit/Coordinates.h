//===- Coordinates.h - Positions between elements ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_COORDINATES_H
#define SLUICE_DATAFLOW_EMIT_COORDINATES_H

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace sluice::dataflow {

/// Scalar f32 arithmetic for coordinates.
struct Coordinates {
  KernelEmitter &kernel;
  mlir::OpBuilder &b = kernel.builder();
  mlir::Location loc = kernel.loc();

  mlir::Value c(double value) const { return emitConstant(b, loc, b.getF32Type(), value); }
  mlir::Value add(mlir::Value x, mlir::Value y) const { return mlir::arith::AddFOp::create(b, loc, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) const { return mlir::arith::SubFOp::create(b, loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) const { return mlir::arith::MulFOp::create(b, loc, x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) const { return mlir::arith::DivFOp::create(b, loc, x, y); }
  mlir::Value lt(mlir::Value x, mlir::Value y) const {
    return mlir::arith::CmpFOp::create(b, loc, mlir::arith::CmpFPredicate::OLT, x, y);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) const {
    return mlir::arith::SelectOp::create(b, loc, condition, x, y);
  }
  mlir::Value fromIndex(mlir::Value i) const {
    mlir::Value integer = mlir::arith::IndexCastOp::create(b, loc, b.getI64Type(), i);
    return mlir::arith::SIToFPOp::create(b, loc, b.getF32Type(), integer);
  }
  /// Numbers so large that conversion would be undefined become other indices out of range.
  mlir::Value toIndex(mlir::Value x) const {
    constexpr double kFar = 1 << 30;
    x = select(lt(x, c(kFar)), x, c(kFar)); // NaN too.
    x = select(lt(c(-kFar), x), x, c(-kFar));
    mlir::Value integer = mlir::arith::FPToSIOp::create(b, loc, b.getI64Type(), x);
    return mlir::arith::IndexCastOp::create(b, loc, b.getIndexType(), integer);
  }
  mlir::Value floor(mlir::Value x) const { return mlir::math::FloorOp::create(b, loc, x); }
  mlir::Value ceil(mlir::Value x) const { return mlir::math::CeilOp::create(b, loc, x); }
  mlir::Value clamp(mlir::Value i, const Extent &extent) const {
    mlir::Value low = mlir::arith::MaxSIOp::create(b, loc, i, kernel.index(0));
    return mlir::arith::MinSIOp::create(b, loc, low, kernel.index(extent - 1));
  }
  /// Factors and offsets that follow from extents are computed in f64 and rounded once, when compiling or in the step.
  struct Factor {
    const Coordinates &f;
    double number = 0;
    mlir::Value value; ///< An f64, if the step gives it.

    Factor(const Coordinates &f, double number) : f(f), number(number) {}
    Factor(const Coordinates &f, const Extent &extent) : f(f), number(static_cast<double>(extent.most())) {
      if (!extent.isConstant())
        value = f.kernel.number(f.b.getF64Type(), extent);
    }
    Factor operator+(double other) const { return apply<mlir::arith::AddFOp>({f, other}, number + other); }
    Factor operator*(const Factor &other) const { return apply<mlir::arith::MulFOp>(other, number * other.number); }
    Factor operator*(double other) const { return *this * Factor(f, other); }
    Factor operator/(const Factor &other) const { return apply<mlir::arith::DivFOp>(other, number / other.number); }
    /// The factor as f32.
    mlir::Value rounded() const {
      return value ? mlir::Value(mlir::arith::TruncFOp::create(f.b, f.loc, f.b.getF32Type(), value)) : f.c(number);
    }

  private:
    mlir::Value wide() const { return value ? value : emitConstant(f.b, f.loc, f.b.getF64Type(), number); }
    template <typename OpTy>
    Factor apply(const Factor &other, double result) const {
      Factor made(f, result);
      if (value || other.value)
        made.value = OpTy::create(f.b, f.loc, wide(), other.wide());
      return made;
    }
  };
  Factor factor(const Extent &extent) const { return {*this, extent}; }
  /// The first value if an extent is above 1, else the second.
  mlir::Value ifSeveral(const Extent &extent, llvm::function_ref<mlir::Value()> several,
                        llvm::function_ref<mlir::Value()> one) const {
    if (extent.isConstant())
      return extent.most() > 1 ? several() : one();
    mlir::Value first = several(), second = one();
    mlir::Value isSeveral =
        mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::sgt, kernel.index(extent), kernel.index(1));
    return select(isSeveral, first, second);
  }
};

/// Keys' cubic convolution (1981) with coefficient `a`: the weights of the four elements around a position that lies
/// `fraction` after the second.
inline llvm::SmallVector<mlir::Value> cubicWeights(const Coordinates &f, mlir::Value fraction, double coefficient) {
  mlir::Value a = f.c(coefficient);
  auto far = [&](mlir::Value t) {
    // a t^3 - 5a t^2 + 8a t - 4a
    mlir::Value inner = f.add(f.mul(f.sub(t, f.c(5)), t), f.c(8));
    return f.mul(a, f.sub(f.mul(inner, t), f.c(4)));
  };
  auto near = [&](mlir::Value t) {
    // (a + 2) t^3 - (a + 3) t^2 + 1
    mlir::Value inner = f.sub(f.mul(f.add(a, f.c(2)), t), f.add(a, f.c(3)));
    return f.add(f.mul(f.mul(inner, t), t), f.c(1));
  };
  mlir::Value rest = f.sub(f.c(1), fraction);
  return {far(f.add(fraction, f.c(1))), near(fraction), near(rest), far(f.add(rest, f.c(1)))};
}

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_COORDINATES_H
