//===- Lists.h - Sequences and optionals while importing --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// All shapes are static, and so are the lengths of sequences: a sequence is a
// list of tensors that the importer takes apart, and no operator ever sees. It
// stands as a value of tuple type, the result of a builtin cast of its
// elements, which is dead when the import is over. An optional with a value is
// that value; one without is a value of none type.
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

mlir::Value makeList(mlir::OpBuilder &builder, mlir::Location location, mlir::ValueRange elements);
/// An optional without a value.
mlir::Value makeAbsent(mlir::OpBuilder &builder, mlir::Location location);

/// A sequence.
bool isList(mlir::Value value);
bool isAbsent(mlir::Value value);
inline bool isTensor(mlir::Value value) { return !isList(value) && !isAbsent(value); }
llvm::SmallVector<mlir::Value> elementsOf(mlir::Value list);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_LISTS_H
