//===- Origins.h - The nodes that a value follows from ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// If a size is unknown or has no bound, the node that needs it is often far from the node that causes this. Messages
// name the nodes between them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_ORIGINS_H
#define SLUICE_LIB_ONNX_IMPORT_ORIGINS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace sluice::onnximport {

class Extents;

class Origins {
public:
  /// Sets the operator of the node that is imported next.
  void note(llvm::StringRef node, llvm::StringRef op) { operators[node] = op.str(); }

  /// The text " (input 'n' -> Mul 'm' -> Range 'r')" if node 'r' needs a value that is unknown: the nodes on one path
  /// to it from an input. Each of them is unknown, or has no bound, because the one before is. If only a part of the
  /// value is valid, the path begins at the node that decides how much: " (NonZero 'nz' -> Gather 'g' -> Reshape 'r')".
  std::string describe(mlir::Value value, const Extents &extents, llvm::StringRef node) const;

private:
  std::string nameOf(llvm::StringRef node) const;

  llvm::StringMap<std::string> operators;
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_ORIGINS_H
