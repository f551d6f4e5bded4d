//===- Alternatives.h - Values that a step chooses from ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The results of an If's branches, the states of a loop after 0, 1, ...
// iterations, and the elements of a sequence are alternatives: the data decides which of them a value is. All of them
// are computed, and selects choose one. Tensors of different extents are padded to the largest, and the value has the
// extents of the chosen one (Extents.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_ALTERNATIVES_H
#define SLUICE_LIB_ONNX_IMPORT_ALTERNATIVES_H

#include "Extents.h"
#include "NodeContext.h"

#include <string>

namespace sluice::onnximport {

class Alternatives {
public:
  /// Chooses among alternatives for the results of a node.
  explicit Alternatives(NodeContext &node) : build(node), extents(*node.extents) {}

  /// `one` if the condition (an i1 scalar) is true, else `other`. They may be tensors, sequences (Lists.h) or
  /// optionals. Null if they differ in kind, in element type, or in rank by more than leading dimensions of extent 1
  /// (Ranks.h); problem() then says how.
  mlir::Value choose(mlir::Value condition, mlir::Value one, mlir::Value other);
  /// Value number `number` (an i64 scalar); numbers out of range are clamped.
  mlir::Value choose(mlir::Value number, llvm::ArrayRef<mlir::Value> values);

  const std::string &problem() const { return message.empty() ? build.message() : message; }

private:
  mlir::Value raised(mlir::Value x, mlir::Value other);
  mlir::Value chooseTensor(mlir::Value condition, mlir::Value one, mlir::Value other);
  mlir::Value chooseList(mlir::Value condition, mlir::Value one, mlir::Value other);
  mlir::Value chooseOptional(mlir::Value condition, mlir::Value one, mlir::Value other);
  /// Appends zeros along dimension `dimension`, whose extent becomes `room`.
  mlir::Value padded(mlir::Value x, int64_t dimension, int64_t room);
  mlir::Value scalar(int64_t value) { return build.reshape(build.integers({value}), {}); }
  mlir::Value fail(const std::string &what);

  NodeContext &build;
  Extents &extents;
  std::string message;
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_ALTERNATIVES_H
