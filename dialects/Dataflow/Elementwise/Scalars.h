//===- Scalars.h - Element functions as IR ----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The functions work on scalars and on vectors. Types are compute types (see computeType), and `isUnsigned` gives the
// signedness.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_ELEMENTWISE_SCALARS_H
#define SLUICE_DATAFLOW_ELEMENTWISE_SCALARS_H

#include "dialects/Dataflow/IR/Dataflow.h"

namespace sluice::dataflow {

/// A float or integer constant, repeated in all lanes of a vector type.
mlir::Value emitConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, double value);
mlir::Value emitIntConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, int64_t value);

/// The lowest (or highest) value of a compute type: an infinity if the type has one.
mlir::Value emitExtreme(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, bool isUnsigned, bool lowest);

/// The type of an element in memory. bf16 is an integer of its bits, because its conversions are integer shifts. Bool,
/// small floats, and types of less than a byte take one byte.
mlir::Type storageType(mlir::Type elementType);

/// Loads `lanes` elements of a tensor's element type as its compute type.
/// `whole`: whether the address is a multiple of the size of all these elements, not only of one.
mlir::Value emitLoad(mlir::OpBuilder &b, mlir::Location loc, mlir::Value address, mlir::Type elementType, int64_t lanes,
                     bool whole = false);
/// Converts a value of compute type to the element type and stores it.
void emitStore(mlir::OpBuilder &b, mlir::Location loc, mlir::Value address, mlir::Type elementType, mlir::Value value,
               bool whole = false);
/// Rounds a value of compute type as if it were stored and loaded.
mlir::Value emitRoundTrip(mlir::OpBuilder &b, mlir::Location loc, mlir::Type elementType, mlir::Value value);

/// Reinterprets the bits of an element of type `from` as an element of type `to`, which has the same size. Both values
/// are of compute type.
mlir::Value emitBitcast(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type from, mlir::Type to);

mlir::Value emitUnary(mlir::OpBuilder &b, mlir::Location loc, UnaryKind kind, mlir::Value x, bool isUnsigned,
                      double alpha, double beta);
mlir::Value emitBinary(mlir::OpBuilder &b, mlir::Location loc, BinaryKind kind, mlir::Value x, mlir::Value y,
                       bool isUnsigned);
mlir::Value emitCompare(mlir::OpBuilder &b, mlir::Location loc, ComparePredicate predicate, mlir::Value x,
                        mlir::Value y, bool isUnsigned);
/// Converts from the compute type of `from` to that of `to`. The result is never undefined. Floats out of the range of
/// an integer type are clamped if `saturate`, else wrapped through 64 bits. Floats out of the range of a small float
/// type are clamped if `saturate`, else they become infinity or NaN.
mlir::Value emitCast(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Type from, mlir::Type to,
                     bool saturate);

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014): the step of the state from number to number, and the finalizer that makes 64 random bits
/// from a state, an i64. It uses only integers, so all devices give the same numbers.
inline constexpr uint64_t kSplitMix64Step = 0x9e3779b97f4a7c15;
mlir::Value emitSplitMix64(mlir::OpBuilder &b, mlir::Location loc, mlir::Value state);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_ELEMENTWISE_SCALARS_H
