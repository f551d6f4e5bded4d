//===- Lists.h - Sequences and optionals while importing --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A sequence is a list of tensors that the importer takes apart; no operator gets one. It is represented as a value of
// tuple type, the result of a builtin cast of its elements, which is dead after the import. If only the data determines
// the length of a sequence, the list has the most elements that there may be, and a length: the first elements exist.
//
// An optional with a value is that value; one without is a value of none type.
// If only the data determines whether it has a value, it is a cast of that value and of a condition.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_LISTS_H
#define SLUICE_LIB_ONNX_IMPORT_LISTS_H

#include "mlir/IR/Builders.h"

#include <string>

namespace sluice::onnximport {

/// The program's name for an element of an input or output that is a sequence: "x[0]".
inline std::string elementName(const std::string &name, size_t index) {
  return name + "[" + std::to_string(index) + "]";
}

/// `length` is an i64 scalar between 0 and the number of elements; null if all elements exist.
mlir::Value makeList(mlir::OpBuilder &builder, mlir::Location location, mlir::ValueRange elements,
                     mlir::Value length = {});
/// An optional without a value.
mlir::Value makeAbsent(mlir::OpBuilder &builder, mlir::Location location);
/// An optional that has the value, a tensor or a sequence, if `present`, an i1 scalar, is true.
mlir::Value makePossible(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value, mlir::Value present);

/// A sequence.
bool isList(mlir::Value value);
bool isAbsent(mlir::Value value);
bool isPossible(mlir::Value value);
inline bool isTensor(mlir::Value value) { return !isList(value) && !isAbsent(value) && !isPossible(value); }
/// All elements that may exist.
llvm::SmallVector<mlir::Value> elementsOf(mlir::Value list);
/// The length; null if all elements exist.
mlir::Value lengthOf(mlir::Value list);
mlir::Value heldBy(mlir::Value possible);
mlir::Value presenceOf(mlir::Value possible);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_LISTS_H
