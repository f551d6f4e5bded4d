//===- Lists.h - Sequences and optionals while importing --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A sequence is a list of tensors that the importer takes apart, and no operator
// ever sees. It stands as a value of tuple type, the result of a builtin cast of
// its elements, which is dead when the import is over. Where only the data says
// how long a sequence is, the list has all elements there may be, and a length:
// the first elements are there.
//
// An optional with a value is that value; one without is a value of none type.
// Where only the data says whether it has a value, it is a cast of that value
// and of a condition.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_LISTS_H
#define SLUICE_LIB_ONNX_IMPORT_LISTS_H

#include "mlir/IR/Builders.h"

#include <string>

namespace sluice::onnximport {

/// What a program calls an element of an input or output that is a sequence: "x[0]".
inline std::string elementName(const std::string &name, size_t index) {
  return name + "[" + std::to_string(index) + "]";
}

/// `length`, an i64 scalar, is at most the number of elements, and not negative; null: all are there.
mlir::Value makeList(mlir::OpBuilder &builder, mlir::Location location, mlir::ValueRange elements,
                     mlir::Value length = {});
/// An optional without a value.
mlir::Value makeAbsent(mlir::OpBuilder &builder, mlir::Location location);
/// An optional that has a value, a tensor or a sequence, where `present`, an i1 scalar, is true.
mlir::Value makePossible(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value, mlir::Value present);

/// A sequence.
bool isList(mlir::Value value);
bool isAbsent(mlir::Value value);
bool isPossible(mlir::Value value);
inline bool isTensor(mlir::Value value) { return !isList(value) && !isAbsent(value) && !isPossible(value); }
/// All elements there may be.
llvm::SmallVector<mlir::Value> elementsOf(mlir::Value list);
/// Null where all elements are there.
mlir::Value lengthOf(mlir::Value list);
mlir::Value heldBy(mlir::Value possible);
mlir::Value presenceOf(mlir::Value possible);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_LISTS_H
