//===- Scalars.h - Element functions as IR ----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Everything here works on scalars and on vectors alike; types are compute
// types (see computeType), signedness is said by `isUnsigned`.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_ELEMENTWISE_SCALARS_H
#define SLUICE_DATAFLOW_ELEMENTWISE_SCALARS_H

#include "dialects/Dataflow/IR/Dataflow.h"

namespace sluice::dataflow {

/// A float or integer constant, splat over a vector type.
mlir::Value emitConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, double value);
mlir::Value emitIntConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, int64_t value);

/// The lowest (or highest) value of a compute type, infinite where it can be.
mlir::Value emitExtreme(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, bool isUnsigned, bool lowest);

/// How an element type lies in memory: bf16 as its bits (its conversions are
/// integer shifts); floats and integers of less than a byte, small floats and
/// bool in one.
mlir::Type storageType(mlir::Type elementType);

/// Loads `lanes` elements of a tensor's element type as its compute type.
/// `whole`: the address is a multiple of their size, not of an element's alone.
mlir::Value emitLoad(mlir::OpBuilder &b, mlir::Location loc, mlir::Value address, mlir::Type elementType, int64_t lanes,
                     bool whole = false);
/// Converts a value of compute type to the element type and stores it.
void emitStore(mlir::OpBuilder &b, mlir::Location loc, mlir::Value address, mlir::Type elementType, mlir::Value value,
               bool whole = false);
/// Rounds a value of compute type as storing it and loading it again would.
mlir::Value emitRoundTrip(mlir::OpBuilder &b, mlir::Location loc, mlir::Type elementType, mlir::Value value);

/// The bits of an element of type `from` as one of type `to`, of the same size;
/// both values are of compute type.
mlir::Value emitBitcast(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type from, mlir::Type to);

mlir::Value emitUnary(mlir::OpBuilder &b, mlir::Location loc, UnaryKind kind, mlir::Value x, bool isUnsigned,
                      double alpha, double beta);
mlir::Value emitBinary(mlir::OpBuilder &b, mlir::Location loc, BinaryKind kind, mlir::Value x, mlir::Value y,
                       bool isUnsigned);
mlir::Value emitCompare(mlir::OpBuilder &b, mlir::Location loc, ComparePredicate predicate, mlir::Value x,
                        mlir::Value y, bool isUnsigned);
/// From the compute type of `from` to that of `to`. Never undefined: floats out
/// of an integer's range clamp (`saturate`) or wrap through 64 bits; those out of
/// a small float's clamp to its largest (`saturate`) or become infinity or NaN.
mlir::Value emitCast(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Type from, mlir::Type to,
                     bool saturate);

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014): the state's step from number to number, and the
/// finalizer that makes 64 random bits of a state, an i64. Integers alone, so
/// every device agrees.
inline constexpr uint64_t kSplitMix64Step = 0x9e3779b97f4a7c15;
mlir::Value emitSplitMix64(mlir::OpBuilder &b, mlir::Location loc, mlir::Value state);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_ELEMENTWISE_SCALARS_H
