//===- Origins.h - The nodes that a value follows from ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Where a size is not known, or has no bound, the node that asks for it is
// often far from the one that makes it so. Messages name the nodes between.
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
  /// The operator of a node that is about to be imported.
  void note(llvm::StringRef node, llvm::StringRef op) { operators[node] = op.str(); }

  /// " (input 'n' -> Mul 'm' -> Range 'r')", where node 'r' asks for a value that is not known: the nodes on one way to
  /// it from an input, each of which is not known, or has no bound, because the one before is not. Where only a part of
  /// the value holds, the way begins at the node that says how much: " (NonZero 'nz' -> Gather 'g' -> Reshape 'r')".
  std::string describe(mlir::Value value, const Extents &extents, llvm::StringRef node) const;

private:
  std::string nameOf(llvm::StringRef node) const;

  llvm::StringMap<std::string> operators;
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_ORIGINS_H
