//===- SymbolNodes.h - Extents of a step, as ONNX nodes ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// ONNX has no expressions of dimensions: an extent that a step gives is computed
// by nodes, from the shapes of the inputs or of the tensor that has found it.
// All values are vectors of one int64, the form that Reshape and other operators take.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_EXPORT_SYMBOLNODES_H
#define SLUICE_LIB_ONNX_EXPORT_SYMBOLNODES_H

#include "dialects/Dataflow/IR/Extents.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <string>
#include <vector>

namespace sluice::onnxexport {

/// Writes each expression only once in a graph and the graphs within it.
class SymbolNodes {
public:
  /// Adds a node of a type to the current graph, and returns the name of its output.
  using AddNode = std::function<std::string(llvm::StringRef type, std::vector<std::string> inputs)>;
  /// Adds a constant of one int64 to the model.
  using AddConstant = std::function<std::string(int64_t value)>;

  SymbolNodes(AddNode addNode, AddConstant addConstant)
      : addNode(std::move(addNode)), addConstant(std::move(addConstant)) {}

  /// Begin and end a graph within the current one.
  void enter() { scopes.emplace_back(); }
  void leave() { scopes.pop_back(); }

  /// Sets the vector that has a symbol's value in the current graph.
  void define(unsigned symbol, std::string vector) { scopes.back().symbols[symbol] = std::move(vector); }
  /// Whether all symbols of an extent are defined.
  bool knows(const dataflow::Extent &extent) const;
  /// The vector that has the value of an extent. Its symbols must be defined.
  std::string vectorOf(const dataflow::Extent &extent);

private:
  struct Scope {
    llvm::DenseMap<unsigned, std::string> symbols;
    llvm::DenseMap<mlir::AffineExpr, std::string> values;
  };

  std::string numberOf(int64_t value);
  std::string compute(mlir::AffineExpr expression, dataflow::SymbolsAttr symbols);
  std::string valueOf(mlir::AffineExpr expression, dataflow::SymbolsAttr symbols);
  /// The quotient rounded down; ONNX's Div rounds towards 0.
  std::string quotient(const std::string &a, const std::string &by, bool mayBeNegative);

  AddNode addNode;
  AddConstant addConstant;
  std::vector<Scope> scopes{1};
  llvm::DenseMap<int64_t, std::string> constants;
};

} // namespace sluice::onnxexport

#endif // SLUICE_LIB_ONNX_EXPORT_SYMBOLNODES_H
