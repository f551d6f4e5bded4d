//===- ProgramWriter.h - A dataflow function as an ONNX graph ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_EXPORT_PROGRAMWRITER_H
#define SLUICE_LIB_ONNX_EXPORT_PROGRAMWRITER_H

#include "NodeWriter.h"
#include "SymbolNodes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace sluice::onnxexport {

class ProgramWriter {
public:
  ProgramWriter(mlir::func::FuncOp function, int64_t opset);

  /// Fills `model`. Fails and lists all operators that cannot be written.
  Status run();

  const int64_t opset;
  /// The opset that the program needs. If it is newer than `opset`, the program must be written again.
  int64_t needed;
  ::onnx::ModelProto model;
  /// A constant whose data is not in its initializer yet.
  struct Weight {
    int initializer; ///< The initializer's index in the graph.
    mlir::ElementsAttr value;
    int64_t bytes;
  };
  std::vector<Weight> weights;

private:
  friend class NodeWriter;

  /// The graph that nodes are added to: the model's, or that of an attribute.
  ::onnx::GraphProto &graph() { return current ? *current : *model.mutable_graph(); }
  /// Adds the constants of a block, and of the blocks within it, to the model's graph.
  Status addConstants(mlir::Block &block);
  void addOperators(mlir::Block &block);
  void addSubgraph(::onnx::GraphProto &into, mlir::Operation &op, mlir::Block &block, bool isLoop,
                   mlir::ValueRange captured);
  void declareInputs();
  void nameOutputs(mlir::Operation *terminator);
  /// Defines the symbols that inputs give.
  void defineSymbols();
  void defineSymbol(unsigned symbol, const std::string &tensor, int64_t dim);
  /// The name of a vector with the values of extents.
  std::string addExtents(llvm::ArrayRef<dataflow::Extent> extents);
  /// The name of a symbol that an operator needs and that no earlier operator or input defines; empty if there is none.
  std::string missingSymbol(mlir::Operation &op);
  /// Writes constants whose extents a step has found by now.
  void addFoundConstants();
  Status addConstant(dataflow::ConstantOp constant);
  void addFilled(const std::string &name, const std::string &shape, mlir::Type elementType,
                 llvm::ArrayRef<char> element);
  void addOutputs(mlir::Operation *terminator);
  ::onnx::TensorProto &addInitializer(const std::string &name, int32_t elementType, llvm::ArrayRef<int64_t> dims);
  ::onnx::NodeProto &addNode(llvm::StringRef type, std::vector<std::string> inputs, int64_t since, mlir::Operation *op);
  /// The name of an operator's first node; the others add their number.
  std::string nodeBase(mlir::Operation &op);

  mlir::func::FuncOp function;
  ::onnx::GraphProto *current = nullptr;
  std::string refused; ///< The lines of the error, one for each operator that ONNX cannot express.
  size_t numRefused = 0;
  SymbolNodes symbolNodes;
  /// Constants with extents that no input gives and no operator has found so far.
  llvm::SmallVector<dataflow::ConstantOp> waiting;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::StringMap<int> valueNames, nodeNames;
  llvm::DenseMap<mlir::Operation *, std::string> bases;
};

/// Copies of the names, made unique: "conv", "conv#1" and so on.
std::string uniqueName(const std::string &name, llvm::StringMap<int> &taken);

} // namespace sluice::onnxexport

#endif // SLUICE_LIB_ONNX_EXPORT_PROGRAMWRITER_H
